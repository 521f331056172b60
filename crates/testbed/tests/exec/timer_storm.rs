//! A program that does to timers what it can keeps nobody else waiting: another one of its domain
//! still has timers, and its agent lives. A thread of the other one works as much as the agent does: a
//! busy host, which lets those wait that take much of a processor, shows in both of its figures, and the
//! agent in one.

use crate::common::guests::{In, Link, c, command, run};

/// Runs the storm beside the measuring program. Answers the medians by which timers and the worker
/// of the latter were late, in microseconds.
fn beside(storm: &str) -> Option<(i64, i64)> {
    let guest = c("timer_storm", Link::Dynamic);
    let script = "\"$1\" \"$2\" 60 > \"$3\" & storm=$!
        while ! grep -q storm \"$3\"; do sleep 0.02; done
        \"$1\"; code=$?; kill -9 $storm; cat \"$3\"; exit $code";
    let said = tempfile::NamedTempFile::new().unwrap();
    let arguments = [guest.to_str().unwrap(), storm, said.path().to_str().unwrap()];
    let shell = [&["-c", script, "sh"][..], &arguments[..]].concat();
    // A testbed that hangs is ended, and says nothing.
    let mut all = std::process::Command::new("timeout");
    let domain = command(In::Virtual("1"), "/bin/sh", &shell);
    all.args(["-k", "5", "60"]).arg(domain.get_program()).args(domain.get_args());
    all.envs(domain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let printed = run(&mut all);
    let out = &printed.out;
    if out.contains("not measured") {
        println!("{storm}: {out}");
        return None;
    }
    assert_eq!(printed.end, 0, "{storm}: {out} {}", printed.err);
    let measured = out.lines().find_map(|line| line.strip_prefix("measured ")).unwrap();
    println!("{storm}: timers and worker late by, in µs: {measured}");
    let (timers, worker) = measured.split_once(' ').unwrap();
    Some((timers.parse().unwrap(), worker.parse().unwrap()))
}

#[test]
fn timers_that_are_always_due_delay_others_by_little() {
    let (timers, worker) = beside("fast").unwrap();
    assert!(timers <= 2000 + 5 * worker, "late by {timers} µs, its worker by {worker} µs");
}

#[test]
fn timers_without_number_leave_some_to_others() {
    beside("many");
}

#[test]
fn memory_that_never_comes_keeps_its_own_program_waiting() {
    beside("faults");
}
