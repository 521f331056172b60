//! The timers of all programs of a domain: which tree a call belongs to, and its thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use libc::{c_int, c_long, pid_t};
use parking_lot::Mutex;

use super::pool::Pool;
use super::tree::Ask;
use super::tree::epoch_of;
use super::worker::Tree;
use crate::domain::Domain;
use crate::launch::arch::nr;
use crate::launch::desk::Job;
use crate::launch::seccomp;

/// Whether a reported call belongs here.
pub(in crate::launch) fn is_timer_call(number: c_long) -> bool {
    CALLS.contains(&number)
}

const CALLS: [c_long; 10] = [
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_setitimer,
    libc::SYS_getitimer,
    nr::ALARM,
];

/// The timers of all programs of a domain.
pub(in crate::launch) struct Service {
    domain: Arc<Domain>,
    pool: Arc<Pool>,
    /// By the name under which a tree of programs was started.
    names: Mutex<BTreeMap<String, Name>>,
}

/// What is known of the trees of one name, which share their timers: processes that were taken in
/// together have a listener each.
#[derive(Default)]
struct Name {
    /// `None` until there is a timer.
    tree: Option<Arc<Tree>>,
    listeners: usize,
}

/// A POSIX timer that the kernel keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::launch) struct KernelTimer {
    /// Its number.
    pub(in crate::launch) number: c_int,
    /// The signal and its value; `None` for a timer that only counts.
    pub(in crate::launch) signal: Option<(c_int, i64)>,
    /// The thread that gets it.
    pub(in crate::launch) thread: Option<pid_t>,
    /// The clock that it counts on.
    pub(in crate::launch) clock: c_int,
}

impl KernelTimer {
    /// Whether it counts on a clock that is virtual.
    pub(in crate::launch) fn is_virtual(&self) -> bool {
        epoch_of(self.clock).is_some()
    }
}

impl Service {
    /// Timers for the programs of a domain; there are none so far.
    pub(in crate::launch) fn new(domain: Arc<Domain>) -> Self {
        Self { domain, pool: Arc::default(), names: Mutex::default() }
    }

    /// Answers a call. What it waits for is the tree that it came from.
    pub(in crate::launch) fn call(&self, job: &Job) {
        let notification = &job.notification;
        let ask = Ask {
            call: notification.call(),
            thread: notification.thread.cast_signed(),
            words: notification.args,
        };
        let answer = match self.tree(&job.listener.name) {
            Ok(tree) => tree.answer(ask),
            Err(_) => {
                self.domain.lateness().note_refused(&job.listener.name);
                Err(io::Error::from_raw_os_error(libc::ENOMEM))
            }
        };
        let (listener, id) = (job.listener.as_fd(), notification.id);
        // Fails only if the program is gone.
        let _ = match answer {
            Ok(value) => seccomp::answer(listener, id, value),
            Err(error) => seccomp::fail(listener, id, error.raw_os_error().unwrap_or(libc::EINVAL)),
        };
    }

    /// Takes over a timerfd of a process from the kernel. What is no timerfd stays.
    pub(in crate::launch) fn take_over_descriptor(
        &self,
        tree: &str,
        process: pid_t,
        fd: c_int,
    ) -> io::Result<()> {
        self.tree(tree)?.with_timers(|timers| timers.take_over_descriptor(process, fd))
    }

    /// Takes over the interval timer of a process, with nanoseconds left and period.
    pub(in crate::launch) fn take_over_interval(
        &self,
        tree: &str,
        process: pid_t,
        setting: [i64; 2],
    ) -> io::Result<()> {
        self.tree(tree)?.with_timers(|timers| timers.take_over_interval(process, setting))
    }

    /// Takes over a POSIX timer of a process, which keeps its number.
    pub(in crate::launch) fn take_over_posix(
        &self,
        tree: &str,
        process: pid_t,
        timer: &KernelTimer,
        setting: [i64; 2],
    ) -> io::Result<()> {
        self.tree(tree)?.with_timers(|timers| timers.take_over_posix(process, timer, setting))
    }

    /// A process of a tree runs another program.
    pub(in crate::launch) fn exec(&self, tree: &str, process: pid_t, program: u64) {
        let tree = self.names.lock().get(tree).and_then(|name| name.tree.clone());
        if let Some(tree) = tree {
            tree.with_timers(|timers| timers.exec(process, program));
        }
    }

    /// A listener is attended.
    pub(in crate::launch) fn begin(&self, tree: &str) {
        self.names.lock().entry(tree.to_owned()).or_default().listeners += 1;
    }

    /// Of all that reported to a listener nobody is left.
    pub(in crate::launch) fn end(&self, tree: &str) {
        let mut names = self.names.lock();
        let Some(name) = names.get_mut(tree) else { return };
        name.listeners = name.listeners.saturating_sub(1);
        // Those of a process that is being taken in are there before its listener is.
        let is_wanted = |tree: &Arc<Tree>| tree.with_timers(|timers| timers.are_wanted());
        if name.listeners == 0
            && !name.tree.as_ref().is_some_and(is_wanted)
            && let Some(tree) = names.remove(tree).and_then(|name| name.tree)
        {
            tree.end();
        }
    }

    /// The timers of the trees of a name, made if they are new.
    fn tree(&self, name: &str) -> io::Result<Arc<Tree>> {
        let mut names = self.names.lock();
        let known = names.get(name).and_then(|name| name.tree.clone());
        if let Some(tree) = known {
            return Ok(tree);
        }
        let tree = Tree::start(name, &self.domain, &self.pool)?;
        names.entry(name.to_owned()).or_default().tree = Some(Arc::clone(&tree));
        Ok(tree)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.names
            .lock()
            .values()
            .filter_map(|name| name.tree.as_ref())
            .for_each(|tree| tree.end());
    }
}
