//! How many timers one program tree may have the agent keep. Pure.
//!
//! What a program asks for costs its agent memory, and a descriptor for each timerfd. Natively the
//! kernel has limits of its own for both. The agent's descriptors belong to all: a tree may take
//! half of those that others have left, so that however many take all they can get, there are some
//! left for the next.

/// POSIX timers that a tree may have whatever its limit of pending signals: as many as Linux allows
/// on a machine with some 32 GiB.
const POSIX_MAX: usize = 1 << 17;
/// Descriptors of the agent that no timer takes: for programs that are started, files, sockets.
const RESERVED: usize = 256;

/// Whether one more POSIX timer may be made by a tree that has `posix`, where its process may have
/// so many signals pending (`RLIMIT_SIGPENDING`), which is what the kernel goes by.
pub(super) fn allows_posix(posix: usize, pending_max: u64) -> bool {
    posix < usize::try_from(pending_max).unwrap_or(POSIX_MAX).min(POSIX_MAX)
}

/// Whether a tree that has `own` of the `all` descriptors that timers take may take one more, where
/// the agent may open `open_max`.
pub(super) fn allows_descriptor(own: usize, all: usize, open_max: usize) -> bool {
    let others = all.saturating_sub(own);
    let left = open_max.saturating_sub(RESERVED).saturating_sub(others);
    own < left / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_all_it_can_get_leaves_half_to_the_next() {
        let (open_max, mut taken) = (20_000, Vec::new());
        for _ in 0..8 {
            let others: usize = taken.iter().sum();
            let mut own = 0;
            while allows_descriptor(own, others + own, open_max) {
                own += 1;
            }
            taken.push(own);
        }
        assert_eq!(taken[0], (20_000 - 256) / 2);
        assert!(taken.is_sorted_by(|one, next| one >= next) && taken[7] > 50, "{taken:?}");
        assert!(taken.iter().sum::<usize>() < open_max - 256);
    }

    #[test]
    fn a_limit_of_pending_signals_is_kept_and_without_one_there_is_ours() {
        assert!(allows_posix(9, 10) && !allows_posix(10, 10) && !allows_posix(0, 0));
        assert!(allows_posix(POSIX_MAX - 1, u64::MAX) && !allows_posix(POSIX_MAX, u64::MAX));
    }
}
