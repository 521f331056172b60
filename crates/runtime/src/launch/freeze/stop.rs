//! Stopping threads of programs with ptrace(2), and restarting what that or a freeze has cut short.
//!
//! `PTRACE_SEIZE` and `PTRACE_INTERRUPT` stop a thread without a signal: neither its parent nor a
//! shell is notified. A stop with them is not the stop of job control. If the agent dies, the kernel
//! detaches from all.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

use vtime::image::FROZEN_CALL;

use super::calls::{self, SyscallState};
use crate::launch::tracee::{ptrace, registers_of, set_registers_of};

/// Threads that this thread of the agent traces, for a moment or for a hold.
#[derive(Debug, Default)]
pub(super) struct Stopper {
    threads: BTreeMap<pid_t, Traced>,
    restarted: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Traced {
    Requested,
    /// Asked to stop, but it is not the one that was meant: detached as soon as it stops.
    Mistaken,
    /// Asked to stop in this wait of the image, which is to be computed again.
    RequestedInWait(SyscallState),
    /// Has stopped, about to get this signal (0: none).
    Stopped(c_int),
}

impl Stopper {
    /// Asks a thread to stop. Not if it is gone, or traced by somebody else: then it is theirs.
    /// `is_meant` says whether the thread that has this number now is the one that had it when it
    /// was looked up: from here on nobody else can be given the number. Not for one whose process is
    /// in an exec ([`calls::is_in_exec`]).
    pub(super) fn request_stop(&mut self, thread: pid_t, is_meant: impl Fn(pid_t) -> bool) {
        self.request(thread, Traced::Requested, is_meant);
    }

    /// Asks a thread to stop in a wait of the image. If it still is in it then, the image learns
    /// that it has waited in vain; nobody else could be.
    pub(super) fn request_stop_in_wait(&mut self, thread: pid_t, wait: SyscallState) {
        self.request(thread, Traced::RequestedInWait(wait), |_| true);
    }

    fn request(&mut self, thread: pid_t, requested: Traced, is_meant: impl Fn(pid_t) -> bool) {
        if self.threads.contains_key(&thread) || ptrace(libc::PTRACE_SEIZE, thread, 0, 0).is_err() {
            return;
        }
        // If it is gone, waiting for it says so.
        let _ = ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0);
        let requested = if is_meant(thread) { requested } else { Traced::Mistaken };
        self.threads.insert(thread, requested);
    }

    /// Whether some were asked and have not stopped yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.threads.values().any(|traced| !matches!(traced, Traced::Stopped(_)))
    }

    pub(super) fn has(&self, thread: pid_t) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Takes note of those that have stopped or ended, and restarts the calls of those that have.
    pub(super) fn look(&mut self) {
        let requested = self.threads.iter();
        let requested = requested.filter(|(_, traced)| !matches!(traced, Traced::Stopped(_)));
        self.look_at(requested.map(|(thread, _)| *thread).collect());
    }

    /// As [`Self::look`], also at those that have stopped: their parents are not notified of the end
    /// of one that was killed since before this thread is.
    pub(super) fn look_at_all(&mut self) {
        self.look_at(self.threads.keys().copied().collect());
    }

    fn look_at(&mut self, threads: Vec<pid_t>) {
        for thread in threads {
            match stop_of(thread) {
                None => {}
                Some(Stop::Gone) => drop(self.threads.remove(&thread)),
                Some(Stop::For(signal)) if self.threads.get(&thread) == Some(&Traced::Mistaken) => {
                    let _ = ptrace(libc::PTRACE_DETACH, thread, 0, signal as usize);
                    self.threads.remove(&thread);
                }
                Some(Stop::For(signal)) => {
                    let restarted = match self.threads.get(&thread) {
                        Some(Traced::RequestedInWait(wait)) => end_wait(thread, *wait),
                        _ => restart_call(thread),
                    };
                    self.restarted += u64::from(restarted.unwrap_or(false));
                    self.threads.insert(thread, Traced::Stopped(signal));
                }
            }
        }
    }

    /// Waits until all who were asked have stopped, at most so long: one may wait in the kernel
    /// for something that does not come.
    pub(super) fn wait(&mut self, longest: Duration) {
        let begun = Instant::now();
        self.look();
        while self.is_waiting() && begun.elapsed() < longest {
            std::thread::sleep(Duration::from_micros(20));
            self.look();
        }
    }

    pub(super) fn detach_stopped(&mut self) {
        self.threads.retain(|thread, traced| {
            let Traced::Stopped(signal) = *traced else { return true };
            // Fails if it is gone.
            let _ = ptrace(libc::PTRACE_DETACH, *thread, 0, signal as usize);
            false
        });
    }

    pub(super) fn take_restarted(&mut self) -> u64 {
        std::mem::take(&mut self.restarted)
    }
}

enum Stop {
    For(c_int),
    Gone,
}

fn stop_of(thread: pid_t) -> Option<Stop> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    // SAFETY: `status` is a valid int.
    let changed = unsafe { libc::waitpid(thread, &raw mut status, flags) };
    match changed {
        0 => None,
        number if number == thread && libc::WIFSTOPPED(status) => {
            let event = status >> 16;
            let signal = if event == 0 { libc::WSTOPSIG(status) } else { 0 };
            Some(Stop::For(signal))
        }
        _ => Some(Stop::Gone),
    }
}

/// Lets a stopped thread make its call again if the stop has cut it short. Returns whether.
fn restart_call(thread: pid_t) -> io::Result<bool> {
    let mut registers = registers_of(thread)?;
    let result = registers.result();
    let call = calls::call_of(thread);
    let Some((call, number)) = call.and_then(|call| Some((call, calls::again(call, result)?)))
    else {
        return Ok(false);
    };
    registers.make_again(number, call.args[0]);
    set_registers_of(thread, &registers)?;
    Ok(true)
}

/// Lets a thread that has stopped in a wait of the image learn that it has waited in vain. Returns
/// whether.
fn end_wait(thread: pid_t, wait: SyscallState) -> io::Result<bool> {
    let mut registers = registers_of(thread)?;
    let has_ended = registers.waited_in_vain(wait.number, wait.address, FROZEN_CALL as i64);
    if has_ended {
        set_registers_of(thread, &registers)?;
    }
    Ok(has_ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::process::state_of;
    use std::process::{Command, Stdio};

    #[test]
    fn a_stopped_thread_is_stopped_and_nobody_is_notified() {
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let process = busy.id().cast_signed();
        let mut stopper = Stopper::default();
        // Another one than was meant goes on.
        stopper.request_stop(process, |_| false);
        stopper.wait(Duration::from_secs(10));
        assert!(!stopper.is_waiting() && !stopper.has(process));
        stopper.request_stop(process, |_| true);
        stopper.wait(Duration::from_secs(10));
        assert!(!stopper.is_waiting());
        assert_eq!(state_of(process), Some('t'));
        assert!(matches!(busy.try_wait(), Ok(None)));
        stopper.detach_stopped();
        assert!(!stopper.has(process));
        assert_ne!(state_of(process), Some('t'));
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
}
