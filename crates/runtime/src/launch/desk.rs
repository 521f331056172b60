//! Who works on which exec of a tree of programs.
//!
//! Following one exec takes a quarter of a millisecond, but the program may take any time: its
//! file may lie on a slow disk, it may fail the exec and then wait in `vfork` for a child whose
//! exec is to be followed as well. So each exec has a worker to itself, and no program waits
//! until another one gets on. Workers are threads, because ptrace(2) binds a tracee to one; they
//! are started when there are none to spare, and stay.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::program::Listener;
use super::seccomp::Notification;

/// Most workers at a time; beyond, execs of the tree wait for each other. Each exec that fails before
/// its program waits in `vfork` for another one takes one.
const WORKERS_MAX: usize = 256;

/// An exec to be followed.
#[derive(Debug)]
pub(super) struct Job {
    /// Where it was reported, and is answered.
    pub(super) listener: Arc<Listener>,
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
        let mut state = self.state.lock();
        if state.pass_on(&job.notification) {
            return false;
        }
        state.jobs.push_back(job);
        self.called.notify_one();
        state.jobs.len() > state.idle && state.workers < WORKERS_MAX
    }

    /// Counts a worker that was started.
    pub(super) fn hired(&self) {
        self.state.lock().workers += 1;
    }

    /// The next job; `None` when there will be no more.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        state.idle += 1;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                return Some(job);
            }
            if state.closed {
                return None;
            }
            self.called.wait(&mut state);
        }
    }

    /// Lets the notifications of a thread go to the caller instead of becoming jobs, until the
    /// answer is dropped.
    pub(super) fn expect(&self, thread: libc::pid_t) -> Expected<'_> {
        let (sender, ids) = channel();
        self.state.lock().expected.insert(thread, sender);
        Expected { desk: self, thread, ids }
    }

    /// Hands a notification that has become a job to who has begun to expect it since. Answers
    /// whether somebody has.
    pub(super) fn pass_on(&self, notification: &Notification) -> bool {
        self.state.lock().pass_on(notification)
    }

    /// Sends the workers home.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.called.notify_all();
    }
}

impl State {
    fn pass_on(&self, notification: &Notification) -> bool {
        let expecting = self.expected.get(&notification.thread.cast_signed());
        expecting.is_some_and(|expecting| expecting.send(notification.id).is_ok())
    }
}

/// The notifications of one thread.
#[derive(Debug)]
pub(super) struct Expected<'d> {
    desk: &'d Desk,
    thread: libc::pid_t,
    ids: Receiver<u64>,
}

impl Expected<'_> {
    /// The next one, if it comes within this time.
    pub(super) fn within(&self, time: Duration) -> Option<u64> {
        self.ids.recv_timeout(time).ok()
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.desk.state.lock().expected.remove(&self.thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    fn job(thread: u32, id: u64) -> Job {
        let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
        let mut notification = Notification::default();
        (notification.id, notification.thread) = (id, thread);
        Job { listener: Arc::new(null.into()), notification }
    }

    #[test]
    fn notifications_go_to_who_expects_them_and_all_others_become_jobs() {
        let desk = Desk::default();
        let expected = desk.expect(7);
        assert!(!desk.hand_in(job(7, 1)));
        assert!(!desk.hand_in(job(7, 2)));
        assert_eq!([1, 2].map(|_| expected.within(Duration::ZERO)), [Some(1), Some(2)]);
        assert_eq!(expected.within(Duration::ZERO), None);
        drop(expected);
        assert!(desk.hand_in(job(7, 3)), "no worker is idle");
        desk.hired();
        assert_eq!(desk.next().unwrap().notification.id, 3);
    }

    #[test]
    fn a_job_that_somebody_expects_after_all_is_passed_on() {
        let desk = Desk::default();
        desk.hand_in(job(7, 1));
        let job = desk.next().unwrap();
        assert!(!desk.pass_on(&job.notification));
        let expected = desk.expect(7);
        assert!(desk.pass_on(&job.notification));
        assert_eq!(expected.within(Duration::ZERO), Some(1));
    }

    #[test]
    fn work_that_is_there_is_done_before_the_desk_closes() {
        let desk = Desk::default();
        desk.hand_in(job(7, 1));
        desk.close();
        assert_eq!(desk.next().unwrap().notification.id, 1);
        assert!(desk.next().is_none());
    }
}
