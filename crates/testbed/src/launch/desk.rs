//! Who works on which exec.
//!
//! Following one exec takes a quarter of a millisecond, but the program may take any time: its
//! file may lie on a slow disk, it may fail the exec and then wait in `vfork` for a child whose
//! exec is to be followed as well. So each exec has a worker to itself, and no program waits
//! until another one gets on. Workers are threads, because ptrace(2) binds a tracee to one; they
//! are started when there are none to spare, and stay.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::seccomp::Notification;

/// Most workers at a time; beyond, execs wait for each other.
const WORKERS_MAX: usize = 64;

/// An exec to be followed.
#[derive(Debug)]
pub(super) struct Job {
    /// Where it was reported, and is answered.
    pub(super) listener: Arc<OwnedFd>,
    /// The report.
    pub(super) notification: Notification,
}

/// Hands out notifications.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    workers: usize,
    idle: usize,
    /// Stopped programs that make a call which is reported as if it were an exec.
    expected: BTreeMap<libc::pid_t, Sender<u64>>,
    closed: bool,
}

impl Desk {
    /// Hands a notification to who expects it, or else queues it as a job. Answers whether
    /// another worker is wanted; the caller starts it and says so with [`Self::hired`].
    pub(super) fn hand_in(&self, job: Job) -> bool {
        let mut state = self.lock();
        let thread = job.notification.thread.cast_signed();
        if let Some(expecting) = state.expected.remove(&thread) {
            // A worker that no longer listens has found its tracee gone.
            let _ = expecting.send(job.notification.id);
            return false;
        }
        state.jobs.push_back(job);
        self.called.notify_one();
        state.jobs.len() > state.idle && state.workers < WORKERS_MAX
    }

    /// Counts a worker that was started.
    pub(super) fn hired(&self) {
        self.lock().workers += 1;
    }

    /// The next job; `None` when there will be no more.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        state.idle += 1;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the next notification of a thread go to the caller instead of becoming a job.
    pub(super) fn expect(&self, thread: libc::pid_t) -> Receiver<u64> {
        let (sender, receiver) = channel();
        self.lock().expected.insert(thread, sender);
        receiver
    }

    /// Takes back [`Self::expect`].
    pub(super) fn expect_no_more(&self, thread: libc::pid_t) {
        self.lock().expected.remove(&thread);
    }

    /// Sends the workers home.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.called.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic aborts the process, so a poisoned lock cannot be seen; the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(thread: u32, id: u64) -> Job {
        let null = std::fs::File::open("/dev/null").unwrap();
        let mut notification = Notification::default();
        (notification.id, notification.thread) = (id, thread);
        Job { listener: Arc::new(null.into()), notification }
    }

    #[test]
    fn a_notification_goes_to_who_expects_it_and_the_next_one_becomes_a_job() {
        let desk = Desk::default();
        let mail = desk.expect(7);
        assert!(!desk.hand_in(job(7, 1)));
        assert_eq!(mail.try_recv(), Ok(1));
        assert!(desk.hand_in(job(7, 2)), "no worker is idle");
        desk.hired();
        assert_eq!(desk.next().unwrap().notification.id, 2);
    }

    #[test]
    fn who_does_not_expect_any_more_gets_nothing() {
        let desk = Desk::default();
        let mail = desk.expect(7);
        desk.expect_no_more(7);
        desk.hand_in(job(7, 1));
        assert!(mail.try_recv().is_err());
        desk.close();
        assert_eq!(desk.next().unwrap().notification.id, 1, "work that is there is done");
        assert!(desk.next().is_none());
    }
}
