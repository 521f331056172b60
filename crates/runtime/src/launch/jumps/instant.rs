//! Whether an instant has gone on for too long, where the clock stands while a program can run.
//!
//! A program that looks at the clock again and again until a time has come would do so for ever. So an
//! instant has a bound. It is one on the processor time of programs, not on the time of the host: how
//! fast they get on, and what else the host does, decides nothing. A thread that has not waited for a time yet
//! gets more, as interpreters and loaders take long to start.

use std::collections::BTreeMap;

use libc::pid_t;
use vtime::{HostSpan, HostTime};

/// What all threads that have waited before may compute in an instant, together.
const BOUND: HostSpan = HostSpan::from_ms(20);
/// What each other one may.
const BOUND_AT_START: HostSpan = HostSpan::from_ms(1000);
/// From one look to the next.
const EVERY: HostSpan = HostSpan::from_ms(5);

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) thread: pid_t,
    /// Whether the clock has jumped since it was first seen.
    pub(super) has_waited: bool,
    pub(super) ran_ns: u64,
}

/// The instant at which the clock stands, and what each thread has computed in it.
#[derive(Debug)]
pub(super) struct Instant {
    looked: HostTime,
    /// What each thread had run when it was first looked at.
    ran_before: BTreeMap<pid_t, u64>,
    has_overrun: bool,
}

impl Instant {
    pub(super) const fn begin(now: HostTime) -> Self {
        Self { looked: now, ran_before: BTreeMap::new(), has_overrun: false }
    }

    /// Whether a look has found that it has gone on for too long.
    pub(super) const fn has_overrun(&self) -> bool {
        self.has_overrun
    }

    /// Takes in what threads have run by now, if it is time to. Returns the one that has run longest, if that is
    /// too long.
    pub(super) fn look(
        &mut self,
        now: HostTime,
        threads: impl Iterator<Item = Spent>,
    ) -> Option<pid_t> {
        if now - self.looked < if self.ran_before.is_empty() { BOUND } else { EVERY } {
            return None;
        }
        self.looked = now;
        let (mut together, mut is_over, mut most) = (0, false, None);
        for Spent { thread, has_waited, ran_ns } in threads {
            let ran_ns = ran_ns.saturating_sub(*self.ran_before.entry(thread).or_insert(ran_ns));
            if has_waited {
                together += ran_ns;
            } else {
                is_over |= ran_ns > BOUND_AT_START.as_ns().unsigned_abs();
            }
            most = most.max(Some((ran_ns, thread)));
        }
        is_over |= together > BOUND.as_ns().unsigned_abs();
        self.has_overrun |= is_over;
        most.filter(|_| is_over).map(|(_, thread)| thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: i64) -> HostTime {
        HostTime::ZERO + HostSpan::from_ms(ms)
    }

    fn ran(thread: pid_t, ms: u64, has_waited: bool) -> Spent {
        Spent { thread, has_waited, ran_ns: ms * MS }
    }

    #[test]
    fn an_instant_is_over_when_those_that_have_waited_compute_for_too_long_together() {
        let mut instant = Instant::begin(at(100));
        let mut look = |ms, one, other| {
            instant.look(at(ms), [ran(1, one, true), ran(2, other, true)].into_iter())
        };
        assert_eq!(look(120, 500, 700), None, "what was before does not count");
        assert_eq!(look(124, 900, 900).or_else(|| look(125, 511, 709)), None, "not at once");
        assert_eq!(look(10_000, 511, 709), None, "nor does the time of the host");
        assert_eq!(look(10_005, 511, 710), Some(1));
    }

    #[test]
    fn who_starts_may_take_longer() {
        let mut instant = Instant::begin(at(0));
        let mut look = |ms, starts, other| {
            instant.look(at(ms), [ran(1, starts, false), ran(2, other, true)].into_iter())
        };
        assert_eq!(look(50, 0, 0), None);
        assert_eq!(look(60, 1000, 20), None);
        assert_eq!(look(70, 1001, 0), Some(1));
    }
}
