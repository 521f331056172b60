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
use domain::Work;
use os::seccomp::Notification;

/// Most workers at a time; beyond, execs of the tree wait for each other. Each exec that fails before
/// its program waits in `vfork` for another one takes one.
const WORKERS_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct NotifiedCall {
    pub(super) listener: Arc<Listener>,
    pub(super) notification: Notification,
    /// That it is not answered yet.
    pub(super) _work: Work,
}

#[derive(Debug, Default)]
pub(super) struct ExecQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: VecDeque<NotifiedCall>,
    workers: usize,
    idle: usize,
    /// Stopped programs that make a call which is reported as if it were an exec.
    subscribers: BTreeMap<libc::pid_t, Sender<u64>>,
    closed: bool,
}

impl ExecQueue {
    /// Hands a notification to who expects it, or else queues it as a call. Returns whether
    /// another worker is wanted; the caller starts it and says so with [`Self::worker_started`].
    pub(super) fn push(&self, call: NotifiedCall) -> bool {
        let mut state = self.state.lock();
        if state.deliver(&call.notification) {
            return false;
        }
        state.calls.push_back(call);
        self.changed.notify_one();
        state.calls.len() > state.idle && state.workers < WORKERS_MAX
    }

    pub(super) fn worker_started(&self) {
        self.state.lock().workers += 1;
    }

    /// The next call; `None` when there will be no more.
    pub(super) fn pop(&self) -> Option<NotifiedCall> {
        let mut state = self.state.lock();
        state.idle += 1;
        loop {
            if let Some(call) = state.calls.pop_front() {
                state.idle -= 1;
                return Some(call);
            }
            if state.closed {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Lets the notifications of a thread go to the caller instead of becoming calls, until the
    /// answer is dropped.
    pub(super) fn subscribe(&self, thread: libc::pid_t) -> Subscription<'_> {
        let (sender, ids) = channel();
        self.state.lock().subscribers.insert(thread, sender);
        Subscription { queue: self, thread, ids }
    }

    /// Hands a notification that has become a call to who has begun to expect it since. Returns
    /// whether somebody has.
    pub(super) fn deliver(&self, notification: &Notification) -> bool {
        self.state.lock().deliver(notification)
    }

    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}

impl State {
    fn deliver(&self, notification: &Notification) -> bool {
        let subscriber = self.subscribers.get(&notification.thread.cast_signed());
        subscriber.is_some_and(|subscriber| subscriber.send(notification.id).is_ok())
    }
}

#[derive(Debug)]
pub(super) struct Subscription<'d> {
    queue: &'d ExecQueue,
    thread: libc::pid_t,
    ids: Receiver<u64>,
}

impl Subscription<'_> {
    pub(super) fn receive_within(&self, time: Duration) -> Option<u64> {
        self.ids.recv_timeout(time).ok()
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().subscribers.remove(&self.thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u32, id: u64) -> NotifiedCall {
        let fd = std::fs::File::open("/dev/null").unwrap().into();
        let mut notification = Notification::default();
        (notification.id, notification.thread) = (id, thread);
        let listener = Arc::new(Listener { fd, name: "test".to_owned() });
        NotifiedCall { listener, notification, _work: Work::default() }
    }

    #[test]
    fn notifications_go_to_who_expects_them_and_all_others_become_jobs() {
        let queue = ExecQueue::default();
        let subscription = queue.subscribe(7);
        assert!(!queue.push(call(7, 1)));
        assert!(!queue.push(call(7, 2)));
        assert_eq!([1, 2].map(|_| subscription.receive_within(Duration::ZERO)), [Some(1), Some(2)]);
        assert_eq!(subscription.receive_within(Duration::ZERO), None);
        drop(subscription);
        assert!(queue.push(call(7, 3)), "no worker is idle");
        queue.worker_started();
        assert_eq!(queue.pop().unwrap().notification.id, 3);
    }

    #[test]
    fn a_job_that_somebody_expects_after_all_is_passed_on() {
        let queue = ExecQueue::default();
        queue.push(call(7, 1));
        let call = queue.pop().unwrap();
        assert!(!queue.deliver(&call.notification));
        let subscription = queue.subscribe(7);
        assert!(queue.deliver(&call.notification));
        assert_eq!(subscription.receive_within(Duration::ZERO), Some(1));
    }

    #[test]
    fn work_that_is_there_is_done_before_the_desk_closes() {
        let queue = ExecQueue::default();
        queue.push(call(7, 1));
        queue.close();
        assert_eq!(queue.pop().unwrap().notification.id, 1);
        assert!(queue.pop().is_none());
    }
}
