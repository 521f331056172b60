//! Who has a timerfd. The agent has each that is armed as well, so the kernel does not report when the
//! last program has closed one: whether one has it is asked when it is due, and when there are too many.
//!
//! As a rule it is where it was set. If not, it may be anywhere that forks and sockets lead to, so all
//! that comes from the agent is looked at. One that is on its way in a socket nobody has.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;

use libc::{c_int, pid_t};

use super::descriptor::{TIMERFD, TimerFd};
use super::table::Lane;
use os::process::{self, Identity, live_thread_of};

/// A timerfd, and a process that has it: first the one that set it.
pub(super) struct Descriptor {
    pub(super) timer: TimerFd,
    pub(super) owner: Identity,
    pub(super) fd: c_int,
    pub(super) program: Lane,
}

impl Descriptor {
    /// Whether it is where it was. Of a process that is closed to this user nobody can know.
    pub(super) fn is_in_place(&self) -> bool {
        match self.timer.order_with(self.owner.number, self.fd) {
            Ok(order) => order == Ordering::Equal,
            Err(error) => error.raw_os_error() == Some(libc::EPERM),
        }
    }

    /// Whether any process has it; it is taken to be there from now on.
    pub(super) fn is_held(&mut self) -> bool {
        if self.is_in_place() {
            return true;
        }
        let is_it = |(process, fd): &(Identity, c_int)| {
            self.timer.order_with(process.number, *fd).is_ok_and(|order| order == Ordering::Equal)
        };
        let found = all([self.owner].into_iter()).into_iter().find(is_it);
        if let Some((process, fd)) = found {
            (self.owner, self.fd) = (process, fd);
        }
        found.is_some()
    }
}

/// All timerfds of what comes from this agent, of these processes, and of what comes from them, which
/// were attached to.
pub(super) fn all(owners: impl Iterator<Item = Identity>) -> Vec<(Identity, c_int)> {
    let mut roots: BTreeSet<Identity> = owners.collect();
    let mut processes = roots.clone();
    roots.extend(Identity::of_process(std::process::id().cast_signed()));
    processes.extend(process::descendants(&roots));
    let of =
        |process: Identity| timerfds_of(process.number).into_iter().map(move |fd| (process, fd));
    processes.into_iter().flat_map(of).collect()
}

/// The numbers under which a process has timerfds; none if it is gone, or closed to this user.
pub(in crate::launch) fn timerfds_of(process: pid_t) -> Vec<c_int> {
    let folder = fs::read_dir(format!("/proc/{}/fd", live_thread_of(process)));
    let entries = folder.into_iter().flatten().flatten();
    let timers = entries
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == TIMERFD));
    timers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
