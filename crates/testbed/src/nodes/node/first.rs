//! The first process in a node's namespace of processes: it makes the file system of the node,
//! collects orphans, as the first process of a namespace must, and signals all others when the
//! process outside says so.
//!
//! Programs of root can do to it what they like, as to any process that they see. So it has no
//! descriptor that leads out of the node, and nothing that it says is believed after it has made
//! the file system, before any program runs.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use anyhow::Context;

use crate::devices;
use domain::{poll_until, readable};
use os::namespaces;
use os::signals;

/// From the process outside: ask all programs to end.
pub(super) const ASK: i32 = libc::SIGTERM;
/// From the process outside: kill them.
pub(super) const KILL: i32 = libc::SIGUSR1;

/// What it reports when the file system is made.
pub(super) const MADE: &str = "made";

/// The process, from its start to its end. It says on `report` that it is ready, or what went
/// wrong.
pub(super) fn main(mut report: File) -> ! {
    keep_only(&report);
    // Before it says anything, so that no signal of the process outside comes too early.
    let signals = signals::descriptor(&[libc::SIGCHLD, ASK, KILL]);
    let made = namespaces::private_root(&[devices::FOLDER]);
    let made = made.context("cannot make the file system of the node");
    // If nobody listens any more, this process is about to be killed.
    match made.and_then(|()| signals.context("cannot receive signals")) {
        Ok(signals) => {
            let _ = report.write_all(MADE.as_bytes());
            drop(report);
            run(&signals)
        }
        Err(error) => {
            let _ = write!(report, "{error:#}");
            std::process::exit(1)
        }
    }
}

/// Closes all that the process outside has open, but for its standard input, output and errors.
/// close_range(2)
fn keep_only(report: &File) {
    const FIRST: libc::c_uint = 3;
    let kept = report.as_raw_fd().unsigned_abs();
    for (from, to) in [(FIRST, kept.saturating_sub(1)), (kept + 1, libc::c_uint::MAX)] {
        if from <= to {
            // SAFETY: takes numbers; this process uses none of what it closes any more.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    }
}

fn run(signals: &OwnedFd) -> ! {
    loop {
        poll_until(&mut [readable(signals.as_fd())], None).expect("polling an open descriptor");
        while let Some((number, sender)) = signals::take(signals) {
            match number {
                libc::SIGCHLD => collect(),
                // From within it is the program's own affair; who is outside has no number here.
                ASK if sender == 0 => signal_all(libc::SIGTERM),
                KILL if sender == 0 => signal_all(libc::SIGKILL),
                _ => {}
            }
        }
    }
}

fn collect() {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

fn signal_all(signal: i32) {
    // With -1 a signal reaches everything in the namespace but this process.
    // SAFETY: the first process of a namespace signals the others in it.
    unsafe { libc::kill(-1, signal) };
}
