//! Whether an instant has gone on for too long, where the clock stands while a program can run.
//!
//! A program that looks at the clock again and again until a time has come would do so for ever, and so would
//! one that looks for a frame in the same way. So a thread may only compute for so long in an instant: 20 ms if its
//! program looks at the clock all the time, 1 s otherwise. These are processor times, not times of the host: how
//! fast threads get on, and what else the host does, decides nothing. Nor does it matter how many threads compute
//! in the same instant.

use std::collections::BTreeMap;

use libc::pid_t;
use vtime::{HostSpan, HostTime};

/// What a thread may compute in an instant whose program looks at the clock all the time.
const BOUND_OF_LOOKING: HostSpan = HostSpan::from_ms(20);
/// What each other one may: a loop that does something else as well, or does not look at the clock.
const BOUND: HostSpan = HostSpan::from_ms(1000);
/// All the time is at least once in so much processor time. A look takes a tenth of that.
const LOOKING: HostSpan = HostSpan::from_ns(2_000);
/// From one look at the threads to the next.
const EVERY: HostSpan = HostSpan::from_ms(5);

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) thread: pid_t,
    pub(super) ran_ns: u64,
    /// How often its program has looked at the clock.
    pub(super) looks: u64,
}

/// The instant at which the clock stands, and what each thread has done in it.
#[derive(Debug)]
pub(super) struct Instant {
    looked: HostTime,
    /// What each thread had done when it was first looked at.
    before: BTreeMap<pid_t, Spent>,
    has_overrun: bool,
    /// The clock runs meanwhile, as a kernel has set a timer.
    pub(super) runs_for_kernels: bool,
}

impl Instant {
    pub(super) const fn begin(now: HostTime) -> Self {
        Self { looked: now, before: BTreeMap::new(), has_overrun: false, runs_for_kernels: false }
    }

    /// Whether a look has found that it has gone on for too long.
    pub(super) const fn has_overrun(&self) -> bool {
        self.has_overrun
    }

    /// Takes in what threads have done by now, if it is time to. Returns the one that has run for longest of
    /// those that have run for too long.
    pub(super) fn look(
        &mut self,
        now: HostTime,
        threads: impl Iterator<Item = Spent>,
    ) -> Option<pid_t> {
        if now - self.looked < if self.before.is_empty() { BOUND_OF_LOOKING } else { EVERY } {
            return None;
        }
        self.looked = now;
        let too_long = threads.filter_map(|spent| {
            let before = self.before.entry(spent.thread).or_insert(spent);
            let ran_ns = spent.ran_ns.saturating_sub(before.ran_ns);
            let looks = spent.looks.saturating_sub(before.looks);
            let is_looking = looks.saturating_mul(LOOKING.as_ns().unsigned_abs()) >= ran_ns;
            let bound = if is_looking { BOUND_OF_LOOKING } else { BOUND };
            (ran_ns > bound.as_ns().unsigned_abs()).then_some((ran_ns, spent.thread))
        });
        let longest = too_long.max();
        self.has_overrun |= longest.is_some();
        longest.map(|(_, thread)| thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: i64) -> HostTime {
        HostTime::ZERO + HostSpan::from_ms(ms)
    }

    fn ran(thread: pid_t, ms: u64, looks: u64) -> Spent {
        Spent { thread, ran_ns: ms * MS, looks }
    }

    #[test]
    fn an_instant_is_over_when_a_thread_that_looks_at_the_clock_computes_for_too_long() {
        let mut instant = Instant::begin(at(100));
        let mut look = |ms, one, looks| {
            instant.look(at(ms), [ran(1, one, looks), ran(2, one + 3, 70)].into_iter())
        };
        assert_eq!(look(120, 500, 1_000_000), None, "what was before does not count");
        assert_eq!(
            look(124, 900, 2_000_000).or_else(|| look(125, 520, 1_010_000)),
            None,
            "not yet"
        );
        assert_eq!(look(10_000, 520, 1_010_000), None, "nor does the time of the host");
        assert_eq!(look(10_005, 521, 1_010_499), None, "it looks more seldom");
        assert_eq!(look(10_010, 521, 1_010_500), Some(1));
    }

    #[test]
    fn others_may_take_longer_each() {
        let mut instant = Instant::begin(at(0));
        let mut look =
            |ms, one, other| instant.look(at(ms), [ran(1, one, 0), ran(2, other, 90)].into_iter());
        assert_eq!(look(50, 0, 0), None);
        assert_eq!(look(60, 1000, 1000), None);
        assert_eq!(look(70, 1000, 1001), Some(2));
        assert!(instant.has_overrun());
    }
}
