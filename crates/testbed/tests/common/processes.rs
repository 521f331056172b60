//! What the processes of this host say of themselves: command lines and variables.
//!
//! The kernel keeps both in the memory of the process itself. One that keeps its memory back, as
//! guests of these tests do on purpose, makes a reader wait for as long as it lives: also a test
//! of something else that only looks whether its own processes are gone. So threads read, and one that
//! gets no answer is left behind; nothing more is asked of that process.

use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Sends a signal to a process that a test has started and is not done with, or to a group (below 0).
#[track_caller]
pub(crate) fn signal(process: impl TryInto<i32>, number: i32) {
    let process = process.try_into().ok().expect("processes have positive numbers below 2^22");
    // SAFETY: takes numbers.
    assert_eq!(unsafe { libc::kill(process, number) }, 0);
}

/// How long one may take, which is microseconds of work and a turn on a busy processor.
const LONGEST: Duration = Duration::from_secs(10);

/// Processes that do not answer.
static SILENT: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Each process of this host with what these files of it contain, one after another.
pub(crate) fn processes(files: &'static [&'static str]) -> Vec<(u32, Vec<u8>)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let read = move |process| {
        let of = |file: &&str| fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
        files.iter().flat_map(of).collect()
    };
    answers(numbers.collect(), &SILENT, LONGEST, read)
}

/// What `read` answers of each, without those that are silent.
fn answers(
    mut left: Vec<u32>,
    silent: &Mutex<BTreeSet<u32>>,
    longest: Duration,
    read: impl Fn(u32) -> Vec<u8> + Send + Clone + 'static,
) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !left.is_empty() {
        left.retain(|process| !known(silent).contains(process));
        let (say, said) = channel();
        let (numbers, read) = (left.clone(), read.clone());
        thread::spawn(move || {
            // Nobody listens any more to one that was left behind.
            numbers.into_iter().map(|one| (one, read(one))).all(|told| say.send(told).is_ok())
        });
        loop {
            match said.recv_timeout(longest) {
                Ok(told) => {
                    left.remove(0);
                    found.push(told);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    println!("process {} keeps its memory back and is left out", left[0]);
                    known(silent).insert(left.remove(0));
                    break;
                }
            }
        }
    }
    found
}

fn known(silent: &Mutex<BTreeSet<u32>>) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
    // A test that has failed is told as itself.
    silent.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_process_that_keeps_its_memory_back_keeps_no_test_waiting() {
    let read = |process: u32| {
        if process == 2 {
            thread::sleep(Duration::from_secs(3600));
        }
        vec![7]
    };
    let silent = Mutex::new(BTreeSet::new());
    for _ in 0..2 {
        let found = answers(vec![1, 2, 3], &silent, Duration::from_secs(1), read);
        assert_eq!(found, [(1, vec![7]), (3, vec![7])]);
    }
    let own = std::process::id();
    assert!(processes(&["comm", "cmdline"]).iter().any(|(process, _)| *process == own));
}
