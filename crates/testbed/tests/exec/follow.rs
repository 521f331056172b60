//! Whatever a program starts, in whatever way, is in virtual time as well: the domains here begin
//! in 2001, and guests say on which side of 2002 they find themselves.

use std::process::Command;

use crate::common::guests::{
    In, Link, Printed, QCYCLE, c, command, is_there, qcycle, run, runtime, set_mode,
};
use crate::common::machine::beside_others;

/// Makes sure that the guest, run so, finds itself and what it starts at home. Returns the errors that
/// were printed in virtual time.
fn is_at_home(link: Link, arguments: &[&str]) -> String {
    let [native, virtually] = both(link, arguments);
    let said = (native.out.as_str(), native.end);
    assert_eq!(said, ("host\n", 0), "{arguments:?} {link:?}");
    let said = (virtually.out.as_str(), virtually.end);
    assert_eq!(said, ("virtual\n", 0), "{arguments:?} {link:?}: {}", virtually.err);
    virtually.err
}

/// Runs a guest where its children are expected to be at home.
fn both(link: Link, arguments: &[&str]) -> [Printed; 2] {
    let native = run(Command::new(c("programs", link)).args(arguments).env("EXPECT", "host"));
    let virtually =
        run(in_2001().arg(c("programs", link)).args(arguments).env("EXPECT", "virtual"));
    [native, virtually]
}

fn in_2001() -> Command {
    qcycle(&["exec", "--start", "2001-01-01T00:00:00Z", "--"])
}

#[test]
fn every_way_to_start_a_program() {
    for link in [Link::Dynamic, Link::Static] {
        for way in ["say", "fork", "fork-exec", "vfork", "spawn", "fexecve", "thread"] {
            assert_eq!(is_at_home(link, &[way]), "");
        }
    }
}

#[test]
fn an_exec_that_fails_fails_as_natively() {
    let [native, virtually] = both(Link::Dynamic, &["missing"]);
    let errors = format!("{} {} {} {}", libc::ENOENT, libc::EACCES, libc::EFAULT, libc::EFAULT);
    assert_eq!(native.out, format!("{errors} host\n"));
    assert_eq!(virtually.out, format!("{errors} virtual\n"));
    for place in [In::Native, In::Virtual("1")] {
        let path = "/nowhere:/also/nowhere:/usr/bin:/bin";
        let mut shell = command(place, "/bin/sh", &["-c", "uname; no-such-program; echo $?"]);
        assert_eq!(run(shell.env("PATH", path)).out, "Linux\n127\n", "{place:?}");
    }
}

#[test]
fn scripts_run_by_their_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        set_mode(&path, 0o755);
        path
    };
    let shell = script("year", "#!/bin/sh\ndate -u +%Y\n");
    let nested = script("nested", &format!("#!{} ignored\n", shell.display()));
    let python =
        script("year.py", "#!/usr/bin/env python3\nimport time; print(time.gmtime().tm_year)\n");
    let no_interpreter = script("none", "#!/nowhere/at/all\n");
    for path in [&shell, &nested, &python] {
        assert_eq!(run(in_2001().arg(path)).out, "2001\n", "{}", path.display());
    }
    assert_eq!(run(in_2001().arg(&no_interpreter)).end, 127);
    assert_eq!(
        run(in_2001().args(["sh", "-c", "(date +%Y; date +%Y | cat) | sort -u"])).out,
        "2001\n"
    );
}

#[test]
fn a_deep_tree_and_many_programs_at_once() {
    is_at_home(Link::Dynamic, &["deep", "40"]);
    for printed in both(Link::Static, &["many", "8", "25"]) {
        assert_eq!((printed.out.as_str(), printed.end), ("0 failures\n", 0));
    }
}

#[test]
fn threads_that_exec_at_the_same_time() {
    for _ in 0..10 {
        for arguments in [&["race"][..], &["race", "missing"]] {
            is_at_home(Link::Dynamic, arguments);
        }
    }
}

/// Children that exec, spawn and fail while signals rain on them, so that each step of following
/// meets a program that is killed, stopped or continued. The seeds make different storms.
#[test]
fn no_signal_at_any_moment_makes_a_program_hang_or_end_wrongly() {
    for seed in ["1", "2", "3"] {
        let arguments = ["16", "4", seed];
        for place in [In::Native, In::Virtual("1")] {
            let printed = run(&mut command(place, c("storm", Link::Dynamic), &arguments));
            assert_eq!(printed.end, 0, "{place:?}: {} {}", printed.out, printed.err);
            println!("{place:?}, seed {seed}: {}", printed.out.trim());
        }
    }
}

/// What qcycle said of refusals, and how it ended. Not waited for without end: it is killed then.
fn refusals(arguments: &[&str]) -> (Vec<String>, Printed) {
    beside_others();
    let mut limited = Command::new("timeout");
    limited.args(["--signal=KILL", "60", QCYCLE, "exec", "--start", "2001-01-01T00:00:00Z", "--"]);
    let begun = std::time::Instant::now();
    let printed = run(limited.env("XDG_RUNTIME_DIR", runtime()).env("LC_ALL", "C").args(arguments));
    assert!(begun.elapsed().as_secs() < 60, "it did not end: {}", printed.err);
    let lines = printed.err.lines().filter(|line| line.starts_with("qcycle: refused"));
    (lines.map(str::to_owned).collect(), printed)
}

/// Whether a refusal is said before these words of a program, which it says when it learns of it: so
/// the refusal is a line of its own, however the two share standard error.
fn is_said_before(printed: &Printed, words: &str) -> bool {
    let at = |words| printed.err.find(words);
    at("qcycle: refused").zip(at(words)).is_some_and(|(refused, learned)| refused < learned)
}

#[test]
fn a_program_that_is_started_under_a_tracer_is_refused_in_one_line_that_names_it() {
    const TRACES: &str = "starts a program to trace it";
    let tracers: [(&str, &[&str], &str, &str); 3] = [
        (
            "strace",
            &["-f", "-o", "/dev/null", "/bin/true"],
            "refused /bin/true: it is traced by `strace`",
            "strace: exec",
        ),
        ("gdb", &["-nx", "-batch", "-ex", "run", "/bin/true"], TRACES, "Could not trace"),
        (
            "gdb",
            &["-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "run", "/bin/true"],
            TRACES,
            "Could not trace",
        ),
    ];
    for (tracer, arguments, expected, learned) in tracers {
        if is_there(tracer) {
            let (lines, printed) = refusals(&[&[tracer], arguments].concat());
            assert!(lines.len() == 1 && lines[0].contains(expected), "{}", printed.err);
            assert!(lines[0].contains("attach to it when it runs"), "{}", lines[0]);
            assert!(is_said_before(&printed, learned), "{}", printed.err);
        }
    }
}

/// As it runs, a program can be looked at by anybody.
#[test]
fn a_debugger_attaches_to_a_program_that_runs() {
    if !is_there("gdb") {
        return;
    }
    let script = "sleep 600 & gdb -nx -batch -ex 'handle SIGSYS nostop noprint pass' \
                  -ex 'print (long) 6 * 7' -ex detach -p $! 2>&1; kill $!; wait";
    let printed = run(in_2001().args(["sh", "-c", script]));
    assert!(printed.out.contains("$1 = 42"), "{}", printed.out);
}

#[test]
fn a_program_traces_what_it_forks() {
    for place in [In::Native, In::Virtual("1")] {
        let printed = run(&mut command(place, c("hostile", Link::Dynamic), &["trace"]));
        assert_eq!((printed.out.as_str(), printed.end), ("traced\n", 0), "{place:?}");
    }
}

#[test]
fn a_domain_in_a_domain_is_refused_in_one_line() {
    let (lines, printed) = refusals(&[QCYCLE, "exec", "--", "/bin/true"]);
    let said = (printed.err.lines().count(), lines.len());
    assert_eq!(said, (1, 0), "{}", printed.err);
    assert!(printed.err.contains("a program can be in only one"), "{}", printed.err);
    assert_ne!(printed.end, 0);
}

#[test]
fn valgrind_is_refused_in_one_line() {
    if !is_there("valgrind") {
        return;
    }
    let (lines, printed) = refusals(&["valgrind", "-q", "/bin/true"]);
    assert!(printed.end != 0 && lines.len() == 1, "{}", printed.err);
    assert!(lines[0].contains("run it outside the domain"), "{}", lines[0]);
}

#[test]
fn a_32_bit_program_is_refused_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("small");
    std::fs::write(&program, elf_32()).unwrap();
    set_mode(&program, 0o755);
    let native = run(&mut Command::new(&program));
    if native.end != 0 {
        println!("not measured: this kernel runs no 32-bit programs");
        return;
    }
    let printed = run(in_2001().arg(&program));
    assert_eq!(printed.end, -libc::SIGKILL);
    assert!(printed.err.contains("32-bit programs cannot run in virtual time"), "{}", printed.err);
    let script = "\"$0\"; echo ended with $? >&2";
    let printed = run(in_2001().args(["sh", "-c", script]).arg(&program));
    assert!(is_said_before(&printed, "ended with 137"), "{}", printed.err);
}

/// A program that exits with 0, for the 32-bit relative of this processor.
fn elf_32() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    // i386: `mov eax, 1; xor ebx, ebx; int 0x80`. Arm: `mov r7, #1; mov r0, #0; svc #0`.
    let (machine, flags, code): (u16, u32, &[u8]) = if cfg!(target_arch = "aarch64") {
        (40, 0x0500_0000, &[1, 0x70, 0xa0, 0xe3, 0, 0, 0xa0, 0xe3, 0, 0, 0, 0xef])
    } else {
        (3, 0, &[0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80])
    };
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let words = |file: &mut Vec<u8>, values: &[u32]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    halves(&mut file, &[2, machine]);
    words(&mut file, &[1, BASE + 84, 52, 0, flags]);
    halves(&mut file, &[52, 32, 1, 0, 0, 0]);
    let length = 84 + code.len() as u32;
    words(&mut file, &[1, 0, BASE, BASE, length, length, 5, 4096]);
    file.extend(code);
    file
}
