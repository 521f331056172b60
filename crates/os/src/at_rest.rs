//! Whether a thread sleeps, and whether it has run since: what the kernel says of it in two files that
//! stay open, as looks are frequent. proc_pid_stat(5), `Documentation/scheduler/sched-stats.rst`.
//!
//! Of threads that all slept, and of which none has run until each was found asleep once more, none
//! was about to run in between: who wakes one makes it runnable before going to sleep itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use libc::pid_t;

use crate::process::text_of;

/// One thread, looked at again and again. It cannot be mistaken for a later one of its number.
#[derive(Debug)]
pub struct Looked {
    stat: File,
    schedstat: File,
    process: pid_t,
    thread: pid_t,
}

/// What a look has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It sleeps until somebody wakes it, and was put on a processor so many times before.
    Asleep(u64),
    /// It runs, is about to, reads a disk, or was stopped by a signal or a tracer: its state in one
    /// letter, as [`crate::process::state_of`].
    Awake(char),
    /// There is no such thread any more.
    Gone,
}

impl Looked {
    /// Descriptors that one takes.
    pub const DESCRIPTORS: u64 = 2;

    /// # Errors
    /// That there is no such thread, no descriptors are left, or the kernel does not count how often a
    /// thread runs (`CONFIG_SCHED_INFO`).
    pub fn open(process: pid_t, thread: pid_t) -> io::Result<Self> {
        let open = |file| File::open(format!("/proc/{process}/task/{thread}/{file}"));
        Ok(Self { stat: open("stat")?, schedstat: open("schedstat")?, process, thread })
    }

    /// Its number, as this process sees it.
    pub const fn thread(&self) -> pid_t {
        self.thread
    }

    /// Looks at it now.
    pub fn look(&self) -> Found {
        let Some(state) = self.state() else { return Found::Gone };
        match state {
            'Z' | 'X' => Found::Gone,
            'S' | 'I' | 'D' if state != 'D' || self.waits_for_its_child() => {
                self.runs().map_or(Found::Gone, Found::Asleep)
            }
            _ => Found::Awake(state),
        }
    }

    /// Whether it is still asleep, and has not run since it was `before`.
    pub fn sleeps_on(&self, before: u64) -> bool {
        self.runs() == Some(before) && self.look() == Found::Asleep(before)
    }

    fn state(&self) -> Option<char> {
        let mut octets = [0; 128];
        let count = self.stat.read_at(&mut octets, 0).ok()?;
        // The name in parentheses, of at most 64 octets, may contain anything but what follows it.
        let end = octets[..count].iter().rposition(|octet| *octet == b')')?;
        octets[..count].get(end + 2).map(|state| char::from(*state))
    }

    fn runs(&self) -> Option<u64> {
        let mut octets = [0; 64];
        let count = self.schedstat.read_at(&mut octets, 0).ok()?;
        let text = std::str::from_utf8(&octets[..count]).ok()?;
        text.split_ascii_whitespace().nth(2)?.parse().ok()
    }

    /// Whether it sleeps in vfork(2), which shows as if it read a disk.
    fn waits_for_its_child(&self) -> bool {
        const CLONE3: i64 = 435;
        let call = text_of(self.process, self.thread, "syscall").unwrap_or_default();
        let mut words = call.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse::<i64>().ok());
        let flags = words.next().and_then(|word| i64::from_str_radix(word.get(2..)?, 16).ok());
        let forks = |flags: i64| flags & i64::from(libc::CLONE_VFORK) != 0;
        match number {
            Some(libc::SYS_clone) => flags.is_some_and(forks),
            Some(CLONE3) => true,
            #[cfg(target_arch = "x86_64")]
            Some(libc::SYS_vfork) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn found(look: &Looked, is: impl Fn(Found) -> bool) {
        let begun = Instant::now();
        while !is(look.look()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", look.look());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_thread_that_sleeps_computes_stands_and_ends_is_seen_to() {
        let mut child = Command::new("sh")
            .args(["-c", "read line; while :; do :; done"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let number = child.id().cast_signed();
        let look = Looked::open(number, number).unwrap();
        found(&look, |found| matches!(found, Found::Asleep(_)));
        let Found::Asleep(runs) = look.look() else { panic!("it sleeps on") };
        assert!(look.sleeps_on(runs) && !look.sleeps_on(runs - 1));
        drop(child.stdin.take());
        found(&look, |found| found == Found::Awake('R'));
        assert!(!look.sleeps_on(runs));
        crate::signals::send(child.id(), libc::SIGSTOP);
        found(&look, |found| found == Found::Awake('T'));
        child.kill().unwrap();
        found(&look, |found| found == Found::Gone);
        child.wait().unwrap();
        assert_eq!(look.look(), Found::Gone);
    }

    #[test]
    fn a_parent_in_vfork_sleeps_and_who_has_a_strange_name_too() {
        let script =
            "import os, sys\nopen('/proc/self/comm', 'w').write(') R (x) D')\nos.read(0, 1)";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let number = child.id().cast_signed();
        found(&Looked::open(number, number).unwrap(), |found| matches!(found, Found::Asleep(_)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
