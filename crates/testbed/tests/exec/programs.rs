//! Programs of one domain: one is dilated by itself while the others and the domain go their way,
//! and each is told apart by `qcycle ps` and `qcycle query`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use runtime::agent::protocol::{Call, Detail, ProgramStatus, Selector};

use crate::common::guests::{
    Domain, In, Link, Running, c, folder, is_there, json, listed, sleep_ms,
};
use crate::exec::outside::{Published, say};
use crate::exec::waits::{CALLS, not_early, waits};

/// The program whose command line ends so.
fn of_command<'d>(detail: &'d Detail, end: &str) -> &'d ProgramStatus {
    let found = detail.programs.iter().find(|program| program.command.ends_with(end));
    found.unwrap_or_else(|| panic!("no program {end} in {:?}", detail.programs))
}

fn dilate(domain: &mut Domain, tdf: &str, program: Selector) -> Detail {
    domain.detail(Call::DilateProgram { tdf: tdf.into(), program })
}

fn all(domain: &mut Domain) -> Detail {
    domain.detail(Call::Query { program: None, hosts: false })
}

/// Two guests that read the clock all the time, both in one domain.
fn two_that_spin(name: &str) -> (Running, [std::path::PathBuf; 2]) {
    let files = [1, 2].map(|number| folder().join(format!("{name}-{number}")));
    let script = "exec 3<&0; $0 $1 <&3 & $0 $2 || exit; wait $!";
    let spin = c("spin", Link::Dynamic);
    let [one, two] = files.each_ref().map(|file| file.to_str().unwrap());
    let arguments = ["-c", script, spin.to_str().unwrap(), one, two];
    let mut guest = Running::start(In::Virtual("1"), name, Path::new("/bin/sh"), &arguments);
    assert_eq!([guest.line(), guest.line()], ["ready", "ready"]);
    (guest, files)
}

/// What is told of a program is what it reads, to the nanosecond, as the clock is stopped.
fn reads_what_is_told(detail: &Detail, files: &[std::path::PathBuf; 2]) -> [i64; 2] {
    files.each_ref().map(|file| {
        let told = of_command(detail, &format!("spin-Dynamic {}", file.display())).virtual_ns;
        assert_eq!(Published::map(file).fresh() - detail.epochs_ns["monotonic"], told);
        told
    })
}

#[test]
fn one_of_two_programs_is_dilated_and_both_are_held_together() {
    let (guest, files) = two_that_spin("ratio");
    let mut domain = Domain::of("ratio");
    domain.ask(Call::Hold);
    let detail = all(&mut domain);
    let slow = of_command(&detail, &format!("Dynamic {}", files[0].display())).pid;
    let before = reads_what_is_told(&detail, &files);
    assert_eq!(before, [detail.status.clock.virtual_ns; 2], "all are as the domain");
    let told = dilate(&mut domain, "10", Selector::Pid(slow));
    assert_eq!((told.programs.len(), told.programs[0].tdf_millionths), (1, 10_000_000));
    assert_eq!(told.programs[0].virtual_ns, before[0], "a change does not move it");
    // The ratio of the two stays whatever the domain does.
    for tdf in ["1", "3", "0.5"] {
        domain.ask(Call::Dilate { tdf: tdf.into() });
        domain.ask(Call::Release);
        sleep_ms(20);
        domain.ask(Call::Hold);
        let detail = all(&mut domain);
        let [of_slow, of_plain] = reads_what_is_told(&detail, &files);
        assert_eq!(of_plain, detail.status.clock.virtual_ns);
        let (passed_slow, passed) = (of_slow - before[0], of_plain - before[1]);
        assert!(passed > 0 && (passed_slow - passed / 10).abs() <= 1, "{passed_slow} of {passed}");
        sleep_ms(3);
        assert_eq!(reads_what_is_told(&all(&mut domain), &files), [of_slow, of_plain]);
    }
    domain.ask(Call::Release);
    assert_eq!(guest.finish().end, 0, "time went back");
}

#[test]
fn no_program_sees_time_go_back_whatever_is_changed() {
    let (guest, files) = two_that_spin("changes");
    let mut domain = Domain::of("changes");
    let pids = files
        .each_ref()
        .map(|file| of_command(&all(&mut domain), &format!("Dynamic {}", file.display())).pid);
    for round in 0..300 {
        let tdf = ["0.01", "1", "7.5", "1000", "0.3"][round % 5];
        match round % 4 {
            0 => drop(domain.ask(Call::Hold)),
            1 => drop(dilate(&mut domain, tdf, Selector::Pid(pids[round % 2]))),
            2 => drop(domain.ask(Call::Release)),
            _ => drop(domain.ask(Call::Dilate { tdf: tdf.into() })),
        }
    }
    for file in &files {
        // It still reads.
        Published::map(file).fresh();
    }
    assert_eq!(guest.finish().end, 0, "time went back");
}

/// A guest that waits in all ways at once, in a domain that is there as long as it is asked for.
fn that_waits(name: &str, ms: &str) -> Running {
    let waits = c("waits", Link::Dynamic);
    let arguments = ["-c", "$0 plain $1; cat", waits.to_str().unwrap(), ms];
    Running::start(In::Virtual("1"), name, Path::new("/bin/sh"), &arguments).ready()
}

/// Waits that would take 20 s are over a hundred times sooner. A wait that is only looked after
/// every 50 ms ends 50 ms late at most; what this machine adds shows in the pure sleeps, which are
/// woken.
#[test]
fn waits_in_progress_see_a_change_of_their_program() {
    const ASKED_MS: &str = "20000";
    let guest = that_waits("hastened", ASKED_MS);
    let mut domain = Domain::of("hastened");
    let changed = Instant::now();
    dilate(&mut domain, "0.01", Selector::Name("sh".into()));
    let found = waits(&guest.finish());
    let took = changed.elapsed();
    not_early("own tdf 0.01 in the middle", CALLS, &found);
    assert!(took.as_secs_f64() < 10.0, "none waited as long as it would have: {took:?}");
    let late_ms = |sleeps: bool| {
        let of_kind = found.iter().filter(|(name, _)| name.contains("sleep") == sleeps);
        // A hundredth of it in host time.
        let mut late: Vec<f64> = of_kind
            .map(|(_, wait)| (wait.waited_ns - wait.asked_ns) as f64 / 100.0 / 1e6)
            .collect();
        late.sort_by(f64::total_cmp);
        late
    };
    let (woken, looked_after) = (late_ms(true), late_ms(false));
    println!("late by, in host ms: sleeps {woken:.1?}, others {looked_after:.1?}");
    let machine = woken[woken.len() - 1];
    assert!(looked_after[looked_after.len() / 2] <= 50.0 + 2.0 * machine.max(10.0));
}

#[test]
fn a_program_that_is_slowed_while_it_waits_and_is_held_is_not_early() {
    let guest = that_waits("slowed", "300");
    let mut domain = Domain::of("slowed");
    let name = || Selector::Name("sh".into());
    dilate(&mut domain, "4", name());
    let held = domain.ask(Call::Hold).clock.virtual_ns;
    let before = domain.detail(Call::Query { program: Some(name()), hosts: false });
    sleep_ms(100);
    dilate(&mut domain, "2", name());
    let after = domain.detail(Call::Query { program: Some(name()), hosts: false });
    assert_eq!(after.status.clock.virtual_ns, held);
    assert_eq!(after.programs[0].virtual_ns, before.programs[0].virtual_ns);
    domain.ask(Call::Release);
    not_early("own tdf 4, held, 2", CALLS, &waits(&guest.finish()));
}

#[test]
fn what_a_program_starts_goes_on_as_it_stands() {
    let sh = "read a; cat; (read b; echo sub); exec sh -c 'read c; echo last'";
    let python = "import os, subprocess; os.read(0, 6); subprocess.run(['cat'])";
    // The first starts a program by fork, the second by vfork.
    for (name, program, script) in
        [("child-sh", "/bin/sh", sh), ("child-python", "/usr/bin/python3", python)]
    {
        if !is_there(program) {
            continue;
        }
        let mut guest = Running::start(In::Virtual("1"), name, Path::new(program), &["-c", script]);
        let mut domain = Domain::of(name);
        let tree = Path::new(program).file_name().unwrap().to_str().unwrap();
        while all(&mut domain).programs.is_empty() {
            sleep_ms(2);
        }
        let parent = dilate(&mut domain, "10", Selector::Name(tree.into())).programs[0].pid;
        guest.say("begin");
        guest.say("through cat");
        assert_eq!(guest.line(), "through cat");
        domain.ask(Call::Hold);
        let detail = all(&mut domain);
        let cat = detail.programs.last().unwrap();
        assert_eq!((&*cat.command, &*cat.name), ("cat", tree));
        assert_eq!(cat.tdf_millionths, 10_000_000);
        let of_parent = detail.programs.iter().find(|told| told.pid == parent).unwrap();
        assert_eq!(cat.virtual_ns, of_parent.virtual_ns, "they never part");
        // The parent's later changes are the parent's, and a name means all of them.
        dilate(&mut domain, "5", Selector::Pid(parent));
        let tdfs = |detail: &Detail| detail.programs.iter().map(|p| p.tdf_millionths).collect();
        let told: Vec<u64> = tdfs(&all(&mut domain));
        assert_eq!(told, [5_000_000, 10_000_000]);
        let told: Vec<u64> = tdfs(&dilate(&mut domain, "2", Selector::Name(tree.into())));
        assert_eq!(told, [2_000_000, 2_000_000]);
        domain.ask(Call::Release);
        assert_eq!(guest.finish().end, 0);
    }
}

#[test]
fn a_fork_shares_the_line_of_its_program_and_an_exec_keeps_it() {
    let script = "read a; (read b; echo sub; read c); exec sh -c 'echo new; read d'";
    let mut guest = Running::shell("forks", script);
    let mut domain = Domain::of("forks");
    guest.say("a");
    guest.say("b");
    assert_eq!(guest.line(), "sub");
    let told = dilate(&mut domain, "10", Selector::Name("sh".into()));
    let [program] = &*told.programs else { panic!("one program: {:?}", told.programs) };
    assert_eq!((program.pids.len(), program.tdf_millionths), (2, 10_000_000));
    let child = *program.pids.iter().find(|pid| **pid != program.pid).unwrap();
    let of_child = domain.detail(Call::Query { program: Some(Selector::Pid(child)), hosts: false });
    assert_eq!(of_child.programs[0].pids, program.pids, "a process of the same program");
    guest.say("c");
    assert_eq!(guest.line(), "new");
    domain.ask(Call::Hold);
    let after = all(&mut domain);
    let [after] = &*after.programs else { panic!("one program: {:?}", after.programs) };
    assert_eq!((after.pid, after.tdf_millionths), (program.pid, 10_000_000));
    assert!(after.virtual_ns >= program.virtual_ns);
    domain.ask(Call::Release);
    guest.say("d");
    assert_eq!(guest.finish().end, 0);
}

#[test]
fn the_columns_of_the_table_stand_below_each_other_however_long_a_name_is() {
    let name = "a-domain-with-a-rather-long-name";
    let guest = Running::cat(name);
    let table = say(&["ps"]).out;
    let column = table.find("PROGRAM").expect("its heading");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with(name)).collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(rows.iter().all(|row| row.get(column..) == Some("/bin/cat")), "{table}");
    assert_eq!(guest.finish().end, 0);
}

#[test]
fn the_commands_name_programs_and_processes_and_say_what_is_wrong() {
    let mut guest = Running::start(In::Virtual("2"), "named", Path::new("/bin/cat"), &[]);
    guest.say("there");
    assert_eq!(guest.line(), "there");
    say(&["hold", "named"]);
    let table = say(&["ps"]).out;
    let row = table.lines().find(|line| line.starts_with("named/cat ")).expect("its program");
    let words: Vec<&str> = row.split_whitespace().collect();
    let pid = words[1];
    assert_eq!((words[2], words[3], words.last()), ("held", "x1", Some(&"/bin/cat")));
    assert!(!say(&["ps", "--domains"]).out.contains("named/cat"));
    let dilated = say(&["dilate", "--tdf", "2.5", pid]);
    let told = format!("named/cat ({pid}) is held at ");
    assert!(dilated.out.starts_with(&told), "{}{}", dilated.out, dilated.err);
    assert!(dilated.out.ends_with(", tdf 2.5 within a domain at tdf 2\n"), "{}", dilated.out);
    for whom in [pid, "named/cat"] {
        let asked = say(&["query", whom]).out;
        assert!(asked.starts_with("program named/cat: /bin/cat\n"), "{asked}");
        assert!(asked.contains("2.5 within a domain at tdf 2\n"), "{asked}");
    }
    let whole = say(&["query", "named"]).out;
    assert!(
        whole.starts_with("domain named: /bin/cat\n  state         held, holds 1\n"),
        "{whole}"
    );
    assert!(whole.contains("\nprogram named/cat: /bin/cat\n"), "{whole}");
    let own = std::process::id().to_string();
    for (whom, error) in [
        (
            &*own,
            format!(
                "process {own} is not in one of your time domains; `qcycle ps` lists those that \
                 are"
            ),
        ),
        (
            "999999999",
            "there is no process 999999999; `qcycle ps` lists those in time domains".into(),
        ),
        ("named/dog", "there is no program `named/dog`; there are: named/cat".into()),
    ] {
        for command in [vec!["query", whom], vec!["dilate", "--tdf", "3", whom]] {
            let wrong = say(&command);
            assert_eq!((wrong.err, wrong.end), (format!("qcycle: {error}\n"), 69), "{command:?}");
        }
    }
    for (wrong, why) in [
        (vec!["dilate", "--tdf", "0", pid], "between 0.01 and 1000"),
        (vec!["dilate", "--tdf", "1e3", pid], "plain decimal number"),
        (vec!["dilate", "--tdf", "1001", "named"], "between 0.01 and 1000"),
        (vec!["dilate", pid], "--tdf"),
        (vec!["query", "named/"], "DOMAIN/PROGRAM"),
        (vec!["query", "0"], "there is no process 0"),
        (vec!["exec", "--name", "4711", "--", "true"], "numbers stand for processes"),
    ] {
        let refused = say(&wrong);
        assert!(refused.end != 0 && refused.err.contains(why), "{wrong:?}: {}", refused.err);
    }
    say(&["release", "named"]);
    assert_eq!(guest.finish().end, 0);
}

/// Scripts read these; a name that goes is a new major version.
#[test]
fn the_names_in_json_stay() {
    let guest = Running::cat("json");
    let has = |value: &serde_json::Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} in {value}");
        }
    };
    let asked = json(&["query", "--json", "json"]);
    let pid = asked["programs"][0]["pid"].to_string();
    let program = json(&["query", "--json", &pid]);
    let dilated = json(&["dilate", "--tdf", "2", "--json", "json/cat"]);
    for detail in [&listed("json"), &asked, &program, &dilated] {
        has(
            detail,
            &["name", "agent_pid", "title", "clock", "calls", "warnings", "state", "epochs_ns"],
        );
        let clock = ["virtual_ns", "realtime_ns", "holds", "tdf_millionths", "paused_ns", "stops"];
        has(&detail["clock"], &clock);
        has(&detail["clock"], &["offset_ns"]);
        let epochs = ["realtime", "monotonic", "monotonic_raw", "boottime", "tai"];
        has(&detail["epochs_ns"], &epochs);
        let one = ["name", "pid", "pids", "command", "state", "virtual_ns", "offset_ns"];
        has(&detail["programs"][0], &one);
        let two = ["tdf_millionths", "paused_ns", "calls", "warnings"];
        has(&detail["programs"][0], &two);
    }
    assert_eq!(dilated["programs"][0]["tdf_millionths"], 2_000_000);
    assert_eq!(guest.finish().end, 0);
}

#[test]
fn calls_are_counted_for_each_program_and_for_all_that_ever_were() {
    let script = "sleep 0.01; sleep 0.01; exec 3<&0; (exec sleep 1000 <&3) & read a";
    let mut guest = Running::shell("counts", script);
    let mut domain = Domain::of("counts");
    let slept = |calls: &BTreeMap<String, u64>| calls.get("sleep").copied().unwrap_or(0);
    loop {
        let detail = all(&mut domain);
        let waiting = detail.programs.iter().find(|program| program.command == "sleep 1000");
        if waiting.is_some_and(|program| slept(&program.calls) == 1) {
            break;
        }
        sleep_ms(5);
    }
    // The sum is taken before the parts, so the last call may have come in between.
    let last = all(&mut domain);
    assert_eq!(slept(&last.programs[0].calls), 0, "the shell");
    assert_eq!(slept(&last.status.calls), 3, "of those that have ended too");
    guest.say("end");
    drop(guest);
}
