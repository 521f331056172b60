//! The descriptors of the agent, of which the timers of all trees take some.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::pid_t;

use super::limits::{self, DescriptorUse};

#[derive(Debug, Default)]
pub(super) struct Pool {
    descriptors: AtomicUsize,
}

impl Pool {
    /// Whether one more POSIX timer may be made for a process of a tree that has so many.
    pub(super) fn allows_posix(&self, own: usize, process: pid_t) -> bool {
        let pending_max = limit_of(process, libc::RLIMIT_SIGPENDING).unwrap_or(u64::MAX);
        limits::allows_posix(own, pending_max)
    }

    /// Takes one descriptor for a program that has so many, of a tree that has so many. Answers
    /// whether it may have it.
    pub(super) fn take_descriptor(&self, program: usize, tree: usize) -> bool {
        let open_max = limit_of(0, libc::RLIMIT_NOFILE).unwrap_or(1024);
        let open_max = usize::try_from(open_max).unwrap_or(usize::MAX);
        let all = self.descriptors.load(Ordering::Relaxed);
        let takes = limits::allows_descriptor(DescriptorUse { program, tree, all }, open_max);
        self.descriptors.fetch_add(usize::from(takes), Ordering::Relaxed);
        takes
    }

    pub(super) fn give_back(&self, count: usize) {
        self.descriptors.fetch_sub(count, Ordering::Relaxed);
    }
}

/// The present limit of a process; of the agent itself for number 0.
fn limit_of(process: pid_t, resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the kernel fills the structure where the call succeeds, and it is read only then.
    unsafe {
        let none = std::ptr::null();
        let result = libc::prlimit(process, resource, none, limit.as_mut_ptr());
        (result == 0).then(|| limit.assume_init().rlim_cur)
    }
}
