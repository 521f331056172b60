//! `qcycle ps` and `query` wait for nobody: not for an agent that was stopped, not for a process
//! that keeps its memory back, and obey nothing that a program has put into its name.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::common::guests::{Domain, In, Link, Printed, Running, c, qcycle, run, sleep_ms};
use crate::common::patience::{LONGEST, within};
use crate::common::processes::signal;

fn in_time(what: &str, mut command: std::process::Command) -> Printed {
    let begun = Instant::now();
    let printed = run(&mut command);
    assert!(begun.elapsed() < LONGEST, "{what} took {:?}", begun.elapsed());
    printed
}

#[test]
fn an_agent_that_was_stopped_keeps_nobody_from_seeing_the_others() {
    let start = |name| Running::start(In::Virtual("1"), name, "sleep".as_ref(), &["1000"]);
    let (stopped, lively) = (start("stopped"), start("lively"));
    let process = Domain::of("stopped").ask(runtime::agent::protocol::Call::Status).agent_pid;
    let _lively = Domain::of("lively");
    signal(process, libc::SIGSTOP);
    let table = in_time("ps", qcycle(&["ps"])).out;
    let json = in_time("ps --json", qcycle(&["ps", "--json"])).out;
    let asked = in_time("query", qcycle(&["query", "stopped"]));
    let foreign = Running::start(In::Native, "", "sleep".as_ref(), &["20"]);
    let attach = qcycle(&["attach", "--name", "foreign", &foreign.child.id().to_string()]);
    let attached = in_time("attach", attach);
    signal(process, libc::SIGCONT);
    assert!(attached.out.starts_with("attached foreign: "), "{attached:?}");
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(row("lively ").contains("running"), "{table}");
    let silent = row("stopped ");
    assert!(silent.contains("silent") && silent.contains(&process.to_string()), "{table}");
    assert!(silent.contains("may have been stopped"), "{table}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let domain = |name: &str| json.as_array().unwrap().iter().find(|told| told["name"] == name);
    assert!(domain("stopped").unwrap()["silent"].is_string(), "{json:#}");
    assert_eq!(domain("stopped").unwrap()["agent_pid"], process);
    assert_eq!(domain("lively").unwrap()["state"], "running");
    assert_eq!(asked.end, 69, "{}", asked.err);
    assert!(asked.err.contains("has not answered"), "{}", asked.err);
    drop((stopped, lively, foreign));
}

/// The kernel waits for a page of the process when somebody reads its command line, and waits for
/// ever, as who serves the page never answers.
#[test]
fn a_process_that_keeps_its_command_line_back_is_told_by_its_name() {
    let mut guest = Running::start(In::Virtual("1"), "stubborn", &c("stubborn", Link::Static), &[]);
    if guest.line() != "ready" {
        println!("not measured: this user may mount no file system of its own here");
        return;
    }
    // Until the memory is in place.
    sleep_ms(100);
    for _ in 0..2 {
        let table = in_time("ps", qcycle(&["ps"])).out;
        let row = table.lines().find(|line| line.starts_with("stubborn/")).unwrap_or_default();
        assert!(row.ends_with("  stubborn-Static"), "{table}");
    }
    let query = in_time("query", qcycle(&["query", "--json", "stubborn"]));
    let told: Value = serde_json::from_str(&query.out).unwrap();
    assert_eq!(told["programs"][0]["command"], "stubborn-Static");
    assert_eq!(in_time("hold", qcycle(&["hold", "stubborn"])).end, 0);
    // Its first process cannot die before the other one has, which serves what it waits for.
    let processes = told["programs"][0]["pids"].as_array().unwrap();
    let processes: Vec<u64> = processes.iter().map(|process| process.as_u64().unwrap()).collect();
    assert!(!processes.is_empty(), "{told:#}");
    drop(guest);
    let is_there = |process: &u64| Path::new(&format!("/proc/{process}")).exists();
    let left = format!("a killed exec leaves {processes:?} behind");
    within(LONGEST, left, || !processes.iter().any(is_there));
}

#[test]
fn a_terminal_obeys_nothing_that_a_program_says_of_itself() {
    const EVIL: &str = "\x1b[2J\x07evil\nlab  1 running\u{9b}31m\u{202e}";
    let mut command = qcycle(&["exec", "--name", "evil", "--", "sh", "-c"]);
    command.args(["echo ready; read -r _; exit 0", EVIL]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _domain = Domain::of("evil");
    let harmless = |text: &str| {
        let obeyed = |c: &char| c.is_control() && *c != '\n' || matches!(c, '\u{202e}');
        assert!(!text.chars().any(|c| obeyed(&c)), "{text:?}");
    };
    for arguments in
        [&["ps"][..], &["query", "evil"], &["ps", "--json"], &["query", "--json", "evil"]]
    {
        let printed = run(&mut qcycle(arguments));
        assert_eq!(printed.end, 0, "{}", printed.err);
        harmless(&printed.out);
        assert!(printed.out.contains("evil"));
        if arguments.contains(&"--json") {
            let told: Value = serde_json::from_str(&printed.out).unwrap();
            let told = told
                .as_array()
                .and_then(|all| all.iter().find(|one| one["name"] == "evil"))
                .unwrap_or(&told);
            assert!(told["title"].as_str().unwrap().ends_with(EVIL), "{told:#}");
        }
    }
    // A domain has one line, whatever its title.
    let table = run(&mut qcycle(&["ps"])).out;
    assert!(!table.lines().any(|line| line.starts_with("lab ")), "{table}");
    drop(child.stdin.take());
    child.wait().unwrap();
    // Errors repeat what was asked for.
    for arguments in
        [&["query", EVIL][..], &["report", EVIL], &["run", EVIL], &[EVIL], &["exec", "--", EVIL]]
    {
        let printed = run(&mut qcycle(arguments));
        assert_ne!(printed.end, 0);
        harmless(&printed.err);
        assert!(printed.err.contains("\\u{9b}31m"), "{}", printed.err);
    }
}

/// `qcycle … | true`: a reader that has stopped has seen enough.
#[test]
fn a_closed_output_is_no_reason_to_fail() {
    let folder = tempfile::tempdir().unwrap();
    let guest = Running::start(In::Virtual("1"), "piped", "sleep".as_ref(), &["1000"]);
    let _domain = Domain::of("piped");
    let missing = folder.path().join("missing").display().to_string();
    let commands: [(&[&str], i32); 12] = [
        (&["ps"], 0),
        (&["ps", "--json"], 0),
        (&["query", "piped"], 0),
        (&["hold", "piped"], 0),
        (&["release", "--json", "piped"], 0),
        (&["dilate", "--tdf", "2", "piped"], 0),
        (&["detach", "piped"], 0),
        (&["clean"], 0),
        (&["latency", "--list"], 0),
        (&["--help"], 0),
        (&["report", &missing], 69),
        (&["check", "--duration", "10 ms", "--json"], -1),
    ];
    for (arguments, end) in commands {
        // Below 0: what this host lets `check` find, also nothing in so short a time.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let errors = writer.try_clone().unwrap();
        let mut command = qcycle(arguments);
        let status = command.stdout(writer).stderr(errors).status().unwrap();
        let code = status.code();
        assert!(code.is_some(), "{arguments:?}: {status}");
        assert!(
            end < 0 && [Some(0), Some(10), Some(11)].contains(&code) || code == Some(end),
            "{arguments:?}: {status}"
        );
    }
    // A full disk is another matter.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = qcycle(&["ps"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("qcycle: cannot write to standard output: "), "{told}");
    drop(guest);
}
