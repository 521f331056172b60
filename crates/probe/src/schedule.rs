//! When a thread shall wake up next; it has no clock of its own.
//!
//! Times are absolute, as with cyclictest: a late wake-up does not move those after it. One that is
//! later than a whole period leaves out the periods that are over, which are counted: the next time
//! asked for lies in the future again.

use crate::clock::{HostSpan, HostTime};

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    next: HostTime,
    end: HostTime,
    period: HostSpan,
}

impl Schedule {
    /// From `first` on, and not after `end`.
    pub(crate) fn new(first: HostTime, period: HostSpan, end: HostTime) -> Self {
        assert!(period > HostSpan::ZERO, "a plan has a period");
        Self { next: first, end, period }
    }

    /// The next time; `None` after the end.
    pub(crate) fn next(&self) -> Option<HostTime> {
        (self.next <= self.end).then_some(self.next)
    }

    /// Leaves out what is over already; returns how many times that are.
    pub(crate) fn skip_to(&mut self, now: HostTime) -> u64 {
        match self.next() {
            Some(next) if next <= now => 1 + self.woke(now),
            _ => 0,
        }
    }

    /// It woke up for the next time; returns how many periods were over besides it.
    pub(crate) fn woke(&mut self, now: HostTime) -> u64 {
        let periods = |span: HostSpan| span.as_ns().max(0) / self.period.as_ns();
        // Those after the end would never have been asked for.
        let (over, to_the_end) = (periods(now - self.next), periods(self.end - self.next));
        self.next = self.next + HostSpan::from_ns((over + 1) * self.period.as_ns());
        over.min(to_the_end).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: i64) -> HostTime {
        HostTime::from_ns(ns)
    }

    fn each_us_up_to_ten() -> Schedule {
        Schedule::new(at(1000), HostSpan::from_ns(1000), at(10_000))
    }

    #[test]
    fn times_are_absolute_and_a_late_one_leaves_out_what_is_over() {
        let mut schedule = each_us_up_to_ten();
        for (next_ns, woke_ns, over) in
            [(1000, 1300, 0), (2000, 5400, 3), (6000, 9000, 3), (10_000, 99_000, 0)]
        {
            assert_eq!((schedule.next(), schedule.woke(at(woke_ns))), (Some(at(next_ns)), over));
        }
        assert_eq!((schedule.next(), schedule.skip_to(at(99_000))), (None, 0));
    }

    #[test]
    fn who_begins_late_leaves_out_what_is_over() {
        let mut schedule = each_us_up_to_ten();
        for (begin_ns, over, next_ns) in
            [(999, 0, Some(1000)), (3000, 3, Some(4000)), (99_000, 7, None)]
        {
            let next = next_ns.map(at);
            assert_eq!((schedule.skip_to(at(begin_ns)), schedule.next()), (over, next));
        }
    }

    proptest! {
        #[test]
        fn each_period_is_a_sample_or_a_miss(
            period_ns in 1i64..1000,
            periods in 0i64..200,
            rest_ns in 0i64..1000,
            late in proptest::collection::vec(0i64..5000, 200),
        ) {
            let end_ns = 500 + (periods - 1).max(0) * period_ns + rest_ns % period_ns;
            let mut schedule = Schedule::new(at(500), HostSpan::from_ns(period_ns), at(end_ns));
            let (mut count, mut late) = (0, late.into_iter().cycle());
            while let Some(at) = schedule.next() {
                count += 1 + schedule.woke(at + HostSpan::from_ns(late.next().unwrap()));
            }
            prop_assert_eq!(count, periods.max(1).unsigned_abs());
        }
    }
}
