//! What is random follows from a seed where runs are to be the same, and is the kernel's elsewhere.

use std::collections::BTreeSet;

use crate::common::guests::{In, Link, c, command, qcycle, run};

fn lines(link: Link, options: &[&str]) -> Vec<String> {
    let mut exec = qcycle(&["exec"]);
    exec.args(options).arg("--").arg(c("random", link)).arg("all");
    let printed = run(&mut exec);
    assert_eq!(printed.end, 0, "{}", printed.err);
    printed.out.lines().map(str::to_owned).collect()
}

#[test]
fn it_is_the_same_in_each_run_where_time_moves_by_jumps_alone() {
    for link in [Link::Dynamic, Link::Static] {
        let events = ["--pace", "events"];
        let first = lines(link, &events);
        assert_eq!(first, lines(link, &events));
        let other = lines(link, &["--pace", "events", "--seed", "1"]);
        assert_eq!(first.len(), other.len());
        for (one, two) in first.iter().zip(&other) {
            assert_eq!(one == two, one.starts_with("places "), "{one}");
        }
    }
}

/// Processes that are forked, programs that they run, and what is asked for twice.
#[test]
fn nobody_gets_what_another_one_has() {
    for options in [&["--pace", "events"][..], &[]] {
        let lines = lines(Link::Dynamic, options);
        let numbers: BTreeSet<&str> =
            lines.iter().map(|line| line.rsplit_once(' ').unwrap().1).collect();
        assert_eq!(numbers.len(), lines.len(), "{lines:?}");
        let count = |what| lines.iter().filter(|line| line.starts_with(what)).count();
        assert_eq!([count("child "), count("vfork "), count("exec ")], [24, 4, 2], "{lines:?}");
    }
}

#[test]
fn it_is_the_kernels_where_the_clock_runs() {
    for options in [&["--pace", "skip", "--seed", "1"][..], &[]] {
        let (one, two) = (lines(Link::Dynamic, options), lines(Link::Dynamic, options));
        // The host may lay out all programs at the same addresses.
        let numbers = one.len() - one.iter().filter(|line| line.starts_with("places ")).count();
        let differ = one.iter().zip(&two).filter(|(one, two)| one != two).count();
        assert!(differ >= numbers, "{one:?} {two:?}");
    }
}

#[test]
fn a_call_answers_what_the_kernel_would() {
    for link in [Link::Dynamic, Link::Static] {
        let native = run(&mut command(In::Native, c("random", link), &["calls"]));
        assert!(native.out.contains("forbidden EPERM"), "{}", native.out);
        for pace in ["real", "events"] {
            let mut exec = qcycle(&["exec", "--pace", pace, "--"]);
            assert_eq!(run(exec.arg(c("random", link)).arg("calls")).out, native.out, "{pace}");
        }
    }
}
