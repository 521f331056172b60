//! The timers of all programs of a domain: which tree a call belongs to, and its thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use libc::{c_int, c_long, pid_t};
use parking_lot::Mutex;

use super::pool::Pool;
use super::tree::{TimerCall, Timers, epoch_of};
use super::worker::Tree;
use crate::launch::arch::nr;
use crate::launch::exec_queue::NotifiedCall;
use domain::Domain;
use os::seccomp;

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

pub(in crate::launch) struct Service {
    domain: Arc<Domain>,
    pool: Arc<Pool>,
    /// By the name under which a tree of programs was started.
    names: Mutex<BTreeMap<String, Name>>,
}

/// What is known of the trees of one name, which share their timers: processes that were attached
/// together have a listener each.
#[derive(Default)]
struct Name {
    /// `None` until there is a timer.
    tree: Option<Arc<Tree>>,
    listeners: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::launch) struct KernelTimer {
    pub(in crate::launch) number: c_int,
    /// The signal and its value; `None` for a timer that only counts.
    pub(in crate::launch) signal: Option<(c_int, i64)>,
    pub(in crate::launch) thread: Option<pid_t>,
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

    /// Returns a call. What it waits for is the tree that it came from.
    pub(in crate::launch) fn call(&self, notified: &NotifiedCall) {
        let notification = &notified.notification;
        let call = TimerCall {
            number: notification.call(),
            thread: notification.thread.cast_signed(),
            words: notification.args,
        };
        let answer = match self.tree(&notified.listener.name) {
            Ok(tree) => tree.answer(call),
            Err(_) => {
                self.domain.lateness().note_refused(&notified.listener.name);
                Err(io::Error::from_raw_os_error(libc::ENOMEM))
            }
        };
        let (listener, id) = (notified.listener.as_fd(), notification.id);
        // Fails only if the program is gone.
        let _ = match answer {
            Ok(value) => seccomp::return_value(listener, id, value),
            Err(error) => seccomp::fail(listener, id, error.raw_os_error().unwrap_or(libc::EINVAL)),
        };
    }

    /// Lets `act` take timers of a process over from the kernel.
    pub(in crate::launch) fn take_over(
        &self,
        tree: &str,
        act: impl FnOnce(&mut Timers) -> io::Result<()>,
    ) -> io::Result<()> {
        self.tree(tree)?.with_timers(act)
    }

    pub(in crate::launch) fn exec(&self, tree: &str, process: pid_t, program: u64) {
        let tree = self.names.lock().get(tree).and_then(|name| name.tree.clone());
        if let Some(tree) = tree {
            tree.with_timers(|timers| timers.exec(process, program));
        }
    }

    pub(in crate::launch) fn begin(&self, tree: &str) {
        self.names.lock().entry(tree.to_owned()).or_default().listeners += 1;
    }

    /// Of all that reported to a listener nobody is left.
    pub(in crate::launch) fn end(&self, tree: &str) {
        let mut names = self.names.lock();
        let Some(name) = names.get_mut(tree) else { return };
        name.listeners = name.listeners.saturating_sub(1);
        // Those of a process that is being attached are there before its listener is.
        let has_live_owner = |tree: &Arc<Tree>| tree.with_timers(|timers| timers.have_live_owner());
        if name.listeners == 0
            && !name.tree.as_ref().is_some_and(has_live_owner)
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
