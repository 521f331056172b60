//! Whether a thread sleeps, and whether it has run since: what the kernel says of it in files that
//! stay open, as looks are frequent. proc_pid_stat(5), `Documentation/scheduler/sched-stats.rst`.
//!
//! Its state alone does not say that it sleeps: a thread has that of a sleeper from shortly before, when it
//! still looks whether it has to, and keeps it if it loses its processor then. Of the call in which
//! it is the kernel tells only when it has left the processor for good (`wait_task_inactive`).
//!
//! Of threads that all slept, and of which none has run until each was found asleep once more, none
//! was about to run in between: who wakes one makes it runnable before going to sleep itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use libc::pid_t;

/// One thread, looked at again and again. It cannot be mistaken for a later one of its number.
#[derive(Debug)]
pub struct Looked {
    stat: File,
    schedstat: File,
    /// `None` of threads of the kernel, and of programs that hide, for who is not root.
    syscall: Option<File>,
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
    /// It has ended, waited for or not.
    Gone,
}

impl Looked {
    /// Descriptors that one takes.
    pub const DESCRIPTORS: u64 = 3;

    /// # Errors
    /// That there is no such thread, no descriptors are left, or the kernel does not count how often a
    /// thread runs (`CONFIG_SCHED_INFO`).
    pub fn open(process: pid_t, thread: pid_t) -> io::Result<Self> {
        let open = |file| File::open(format!("/proc/{process}/task/{thread}/{file}"));
        let (stat, schedstat) = (open("stat")?, open("schedstat")?);
        let syscall = match open("syscall") {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            opened => Some(opened?),
        };
        Ok(Self { stat, schedstat, syscall, thread })
    }

    /// The number under which it was opened, which another one may have by now.
    pub const fn thread(&self) -> pid_t {
        self.thread
    }

    /// Looks at it now.
    pub fn look(&self) -> Found {
        let Some(state) = self.state() else { return Found::Gone };
        if matches!(state, 'Z' | 'X') {
            return Found::Gone;
        }
        if !is_of_a_sleeper(state) {
            return Found::Awake(state);
        }
        let Some(runs) = self.runs() else { return Found::Gone };
        let mut octets = [0; 256];
        let call = match &self.syscall {
            Some(file) => file.read_at(&mut octets, 0),
            None => Err(io::ErrorKind::PermissionDenied.into()),
        };
        match call {
            Ok(count) => {
                let call = String::from_utf8_lossy(&octets[..count]);
                let sleeps = !call.starts_with("running");
                // It may have lost its processor on its way to sleep, and have come back to leave it for good.
                let has_slept = self.runs() == Some(runs);
                match sleeps && has_slept && (state != 'D' || waits_for_its_child(&call)) {
                    true => Found::Asleep(runs),
                    false => Found::Awake(state),
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Found::Gone,
            // The state is all there is.
            Err(_) if state == 'D' => Found::Awake(state),
            Err(_) => Found::Asleep(runs),
        }
    }

    /// Whether it is still asleep, and has not run since it was `before`: then it is still in what it
    /// slept in, and one that somebody has woken meanwhile shows another state at once.
    pub fn sleeps_on(&self, before: u64) -> bool {
        self.state().is_some_and(is_of_a_sleeper) && self.runs() == Some(before)
    }

    /// How long it has run so far, in nanoseconds; `None` if it has ended.
    pub fn ran_ns(&self) -> Option<u64> {
        self.counted(0)
    }

    fn state(&self) -> Option<char> {
        let mut octets = [0; 128];
        let count = self.stat.read_at(&mut octets, 0).ok()?;
        // The name in parentheses, of at most 64 octets, may contain anything but what follows it.
        let end = octets[..count].iter().rposition(|octet| *octet == b')')?;
        octets[..count].get(end + 2).map(|state| char::from(*state))
    }

    fn runs(&self) -> Option<u64> {
        self.counted(2)
    }

    fn counted(&self, which: usize) -> Option<u64> {
        let mut octets = [0; 64];
        let count = self.schedstat.read_at(&mut octets, 0).ok()?;
        let text = std::str::from_utf8(&octets[..count]).ok()?;
        text.split_ascii_whitespace().nth(which)?.parse().ok()
    }
}

/// `I` is that of idle threads of the kernel.
const fn is_of_a_sleeper(state: char) -> bool {
    matches!(state, 'S' | 'I' | 'D')
}

/// Whether a call is vfork(2), in which a thread sleeps as if it read a disk.
fn waits_for_its_child(call: &str) -> bool {
    const CLONE3: i64 = 435;
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
