//! The command line of a process, without waiting for the process.
//!
//! The kernel keeps command lines in the memory of the processes themselves, and a process may have
//! put memory there that is long in coming (of a FUSE file, of userfaultfd): a reader then
//! waits, in a way that nobody can end. So it is read on threads that can be left behind, a few at
//! most, and the name of a process, which is in the memory of the kernel, has to do in its place. Two
//! who look at one process at the same time look one after the other.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Longest command line, in letters; the rest is cut off.
const LENGTH_MAX: usize = 200;
/// How long one may take; it is microseconds of work.
const LONGEST: Duration = Duration::from_millis(250);
/// Processes that may keep a thread waiting at a time; of further ones the name is shown.
const WAITING_MAX: usize = 8;

static GLANCES: Glances = Glances::new();

/// The command line of a process, or its name where it has none or does not give it at once.
pub fn command_of(process: i32) -> String {
    GLANCES.command_of(process)
}

/// Looks at processes, not too many of which keep a thread waiting.
struct Glances {
    /// Whether a process that is looked at has taken too long already.
    waiting: Mutex<BTreeMap<i32, bool>>,
    changed: Condvar,
}

impl Glances {
    const fn new() -> Self {
        Self { waiting: Mutex::new(BTreeMap::new()), changed: Condvar::new() }
    }

    fn command_of(&'static self, process: i32) -> String {
        let line = self.within(process, LONGEST, move || read(process, "cmdline"));
        let line = line.unwrap_or_default().replace(char::is_control, " ");
        let line = if line.trim().is_empty() { read(process, "comm") } else { line };
        line.trim().chars().take(LENGTH_MAX).collect()
    }

    /// What `look` answers within this time.
    fn within(
        &'static self,
        process: i32,
        longest: Duration,
        look: impl FnOnce() -> String + Send + 'static,
    ) -> Option<String> {
        {
            let looked_at = |waiting: &mut BTreeMap<_, _>| waiting.get(&process) == Some(&false);
            let turn = self.changed.wait_timeout_while(self.waiting(), longest, looked_at);
            let (mut waiting, _) = turn.unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= WAITING_MAX || waiting.contains_key(&process) {
                return None;
            }
            waiting.insert(process, false);
        }
        let (sender, receiver) = sync_channel(1);
        let started = thread::Builder::new().name("glance".into()).spawn(move || {
            let line = look();
            self.end(process);
            // Fails if it came too late.
            let _ = sender.send(line);
        });
        if started.is_err() {
            self.end(process);
            return None;
        }
        let line = receiver.recv_timeout(longest).ok();
        if line.is_none() {
            self.waiting().entry(process).and_modify(|is_late| *is_late = true);
            self.changed.notify_all();
        }
        line
    }

    fn end(&self, process: i32) {
        self.waiting().remove(&process);
        self.changed.notify_all();
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<i32, bool>> {
        // A panic aborts the process, so a poisoned lock cannot be seen.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(process: i32, file: &str) -> String {
    let octets = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
    String::from_utf8_lossy(&octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_process_that_keeps_its_command_line_back_keeps_nobody_waiting() {
        let own = std::process::id().cast_signed();
        let glances: &Glances = Box::leak(Box::new(Glances::new()));
        assert!(!glances.command_of(own).is_empty());
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let stuck = |process| {
            let gate = Arc::clone(&gate);
            let look = move || {
                drop(gate.lock());
                String::new()
            };
            glances.within(process, Duration::from_millis(1), look)
        };
        for process in -8..0 {
            assert_eq!(stuck(process), None);
        }
        let name = read(own, "comm");
        assert_eq!(glances.command_of(own), name.trim(), "as many wait as may");
        assert_eq!(glances.waiting().len(), WAITING_MAX);
        drop(closed);
        while !glances.waiting().is_empty() {
            thread::yield_now();
        }
        assert!(!glances.command_of(own).is_empty());
    }

    #[test]
    fn all_who_look_at_the_same_time_are_answered() {
        let glances: &Glances = Box::leak(Box::new(Glances::new()));
        let look = || {
            thread::sleep(Duration::from_millis(1));
            "line".to_owned()
        };
        thread::scope(|scope| {
            let lookers: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| glances.within(1, Duration::from_secs(60), look)))
                .collect();
            for looker in lookers {
                assert_eq!(looker.join().unwrap().as_deref(), Some("line"));
            }
        });
    }
}
