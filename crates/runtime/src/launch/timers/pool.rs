//! How many timers one program tree may have the agent keep, and the descriptors of the agent, of
//! which the timers of all trees take some.
//!
//! What a program asks for costs its agent memory, and a descriptor for each timerfd. Natively the
//! kernel has limits of its own for both. The agent's descriptors belong to all: a tree may take
//! half of those that others have left, and of these a program half of those that others of the tree
//! have left, so that however many take all they can get, there are some left for the next.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::pid_t;

/// POSIX timers that a tree may have whatever its limit of pending signals: as many as Linux allows
/// on a machine with some 32 GiB.
const POSIX_MAX: usize = 1 << 17;
/// Descriptors of the agent that no timer takes: for programs that are started, files, sockets.
const RESERVED: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Pool {
    descriptors: AtomicUsize,
}

impl Pool {
    /// Whether one more POSIX timer may be made for a process of a tree that has so many.
    pub(super) fn allows_posix(&self, own: usize, process: pid_t) -> bool {
        let pending_max = limit_of(process, libc::RLIMIT_SIGPENDING).unwrap_or(u64::MAX);
        allows_posix(own, pending_max)
    }

    /// Takes one descriptor for a program that has so many, of a tree that has so many. Returns
    /// whether it may have it.
    pub(super) fn take_descriptor(&self, program: usize, tree: usize) -> bool {
        let open_max = limit_of(0, libc::RLIMIT_NOFILE).unwrap_or(1024);
        let open_max = usize::try_from(open_max).unwrap_or(usize::MAX);
        let all = self.descriptors.load(Ordering::Relaxed);
        let takes = allows_descriptor(DescriptorUse { program, tree, all }, open_max);
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

/// Whether one more POSIX timer may be made by a tree that has `posix`, where its process may have
/// so many signals pending (`RLIMIT_SIGPENDING`), which is what the kernel goes by.
fn allows_posix(posix: usize, pending_max: u64) -> bool {
    posix < usize::try_from(pending_max).unwrap_or(POSIX_MAX).min(POSIX_MAX)
}

#[derive(Clone, Copy, Debug)]
struct DescriptorUse {
    program: usize,
    tree: usize,
    all: usize,
}

/// Whether a program may have one more descriptor taken for it, where the agent may open `open_max`.
fn allows_descriptor(taken: DescriptorUse, open_max: usize) -> bool {
    let of_all = share(open_max.saturating_sub(RESERVED), taken.all, taken.tree);
    taken.program < share(of_all, taken.tree, taken.program)
}

/// Half of what others have left of `most`, of which all have taken `all`.
fn share(most: usize, all: usize, own: usize) -> usize {
    most.saturating_sub(all.saturating_sub(own)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_all_it_can_get_leaves_half_to_the_next() {
        let open_max = 20_000;
        let (mut all, mut trees) = (0, Vec::new());
        for _ in 0..6 {
            let (mut tree, mut programs) = (0, Vec::new());
            for _ in 0..4 {
                let mut program = 0;
                while allows_descriptor(DescriptorUse { program, tree, all }, open_max) {
                    (program, tree, all) = (program + 1, tree + 1, all + 1);
                }
                programs.push(program);
            }
            assert!(programs.is_sorted_by(|one, next| one > next) && programs[3] > 10);
            trees.push(programs);
        }
        assert_eq!(trees[0][0], (20_000 - 256) / 4);
        assert!(trees.is_sorted_by(|one, next| one[0] > next[0]), "{trees:?}");
        assert!(all < open_max - 256);
    }

    #[test]
    fn a_limit_of_pending_signals_is_kept_and_without_one_there_is_ours() {
        assert!(allows_posix(9, 10) && !allows_posix(10, 10) && !allows_posix(0, 0));
        assert!(allows_posix(POSIX_MAX - 1, u64::MAX) && !allows_posix(POSIX_MAX, u64::MAX));
    }
}
