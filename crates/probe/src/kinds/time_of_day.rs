//! Stamps of the kernel's network in the time of day (`CLOCK_REALTIME`), as moments of the clock
//! that samples are taken with (`CLOCK_MONOTONIC`).
//!
//! Both clocks are steered alike, so their distance is constant but for steps of the time of day:
//! one that is set, a leap second, a suspended machine. A reading of one clock between two of the
//! other says between which bounds the distance lies, and each further reading narrows them. Two
//! readings that contradict each other prove a step between them: what was stamped meanwhile is not
//! known, and the search begins again. So no step is ever part of a sample. Two steps between two
//! readings that undo each other would not be seen; what they make of a stamp lies outside its
//! sample and is thrown away there, unless they are shorter than that.
//!
//! `Documentation/core-api/timekeeping.rst` of the kernel; `tk->offs_real` in
//! `kernel/time/timekeeping.c`.

use crate::clock::{self, HostSpan, HostTime};

/// Both clocks may round their last nanosecond differently.
const ROUNDING_NS: i64 = 1;
/// A reading with the thread taken away in the middle says little, so it is repeated so often.
const TRIES: usize = 3;
/// A reading this narrow is not repeated: three calls of a fast clock.
const NARROW: HostSpan = HostSpan::from_ns(200);

/// How far the time of day is ahead of the monotonic clock: not less and not more than this, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Distance {
    least_ns: i64,
    most_ns: i64,
}

/// One reading of the time of day between two of the monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reading {
    before: HostTime,
    realtime_ns: i64,
    after: HostTime,
}

impl Reading {
    fn now() -> Self {
        let take = || {
            let before = clock::now();
            let realtime_ns = os::realtime::realtime_ns();
            Self { before, realtime_ns, after: clock::now() }
        };
        let mut best = take();
        for _ in 1..TRIES {
            if best.width() <= NARROW {
                break;
            }
            let next = take();
            if next.width() < best.width() {
                best = next;
            }
        }
        best
    }

    fn width(&self) -> HostSpan {
        self.after - self.before
    }

    const fn distance(&self) -> Distance {
        Distance {
            least_ns: self.realtime_ns - self.after.as_ns() - ROUNDING_NS,
            most_ns: self.realtime_ns - self.before.as_ns() + ROUNDING_NS,
        }
    }
}

impl Distance {
    /// By a first reading.
    pub(super) fn read() -> Self {
        Reading::now().distance()
    }

    /// Reads once more; whether the time of day has not been set since the last reading.
    pub(super) fn holds(&mut self) -> bool {
        self.learn(Reading::now().distance())
    }

    fn learn(&mut self, read: Self) -> bool {
        let both = Self {
            least_ns: self.least_ns.max(read.least_ns),
            most_ns: self.most_ns.min(read.most_ns),
        };
        let is_one = both.least_ns <= both.most_ns;
        *self = if is_one { both } else { read };
        is_one
    }

    /// A moment of the time of day on the monotonic clock: the middle of what it can be.
    pub(super) const fn monotonic(&self, realtime_ns: i64) -> HostTime {
        HostTime::from_ns(realtime_ns - self.least_ns - (self.most_ns - self.least_ns) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading that took 60 ns, with the time of day this much ahead, read this long after its
    /// begin.
    fn reading(before_ns: i64, ahead_ns: i64, within_ns: i64) -> Distance {
        let realtime_ns = before_ns + within_ns + ahead_ns;
        let [before, after] = [before_ns, before_ns + 60].map(HostTime::from_ns);
        Reading { before, realtime_ns, after }.distance()
    }

    #[test]
    fn readings_narrow_the_distance_and_never_lose_it() {
        let mut distance = reading(0, 5_000, 30);
        assert_eq!((distance.least_ns, distance.most_ns), (4_969, 5_031));
        for within_ns in [0, 60, 31, 29] {
            assert!(distance.learn(reading(1_000, 5_000, within_ns)));
        }
        assert_eq!((distance.least_ns, distance.most_ns), (4_999, 5_001));
        assert_eq!(distance.monotonic(105_000), HostTime::from_ns(100_000));
    }

    #[test]
    fn a_step_is_noticed_once_and_then_reckoned_with() {
        let mut distance = reading(0, 5_000, 30);
        for step_ns in [-1_000_000_000, 200, -200] {
            let ahead_ns = distance.least_ns + 31 + step_ns;
            assert!(!distance.learn(reading(9_000, ahead_ns, 30)), "{step_ns}");
            assert!(distance.learn(reading(9_500, ahead_ns, 30)), "{step_ns}");
            assert_eq!(distance.monotonic(ahead_ns + 7), HostTime::from_ns(7));
        }
    }

    #[test]
    fn clocks_of_this_machine_keep_their_distance() {
        let mut distance = Distance::read();
        let held = (0..100).filter(|_| distance.holds()).count();
        // Somebody may set the time of day meanwhile, but not a hundred times.
        assert!(held > 90, "{held} of 100");
        assert!(distance.least_ns <= distance.most_ns);
    }
}
