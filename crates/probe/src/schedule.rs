//! When a thread shall wake up next; it has no clock of its own.
//!
//! Times are absolute, as with cyclictest: a late wake-up does not move those after it. One that is
//! later than a whole period leaves out the periods that are over, which are counted: the next time
//! asked for lies in the future again.

/// The times of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    next_ns: i64,
    end_ns: i64,
    period_ns: i64,
}

impl Schedule {
    /// From `first_ns` on, and not after `end_ns`.
    pub(crate) fn new(first_ns: i64, period_ns: i64, end_ns: i64) -> Self {
        assert!(period_ns > 0, "a plan has a period");
        Self { next_ns: first_ns, end_ns, period_ns }
    }

    /// The next time; `None` after the end.
    pub(crate) fn next_ns(&self) -> Option<i64> {
        (self.next_ns <= self.end_ns).then_some(self.next_ns)
    }

    /// Leaves out what is over already; returns how many times that are.
    pub(crate) fn skip_to(&mut self, now_ns: i64) -> u64 {
        match self.next_ns() {
            Some(next_ns) if next_ns <= now_ns => 1 + self.woke(now_ns),
            _ => 0,
        }
    }

    /// It woke up for the next time; returns how many periods were over besides it.
    pub(crate) fn woke(&mut self, now_ns: i64) -> u64 {
        let over = (now_ns - self.next_ns).max(0) / self.period_ns;
        // Those after the end would never have been asked for.
        let to_the_end = (self.end_ns - self.next_ns).max(0) / self.period_ns;
        self.next_ns += (over + 1) * self.period_ns;
        over.min(to_the_end).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_absolute_and_a_late_one_leaves_out_what_is_over() {
        let mut schedule = Schedule::new(1000, 1000, 10_000);
        assert_eq!((schedule.next_ns(), schedule.woke(1300)), (Some(1000), 0));
        assert_eq!((schedule.next_ns(), schedule.woke(5400)), (Some(2000), 3));
        assert_eq!((schedule.next_ns(), schedule.woke(9000)), (Some(6000), 3));
        assert_eq!((schedule.next_ns(), schedule.woke(99_000)), (Some(10_000), 0));
        assert_eq!((schedule.next_ns(), schedule.skip_to(99_000)), (None, 0));
    }

    #[test]
    fn who_begins_late_leaves_out_what_is_over() {
        let mut schedule = Schedule::new(1000, 1000, 10_000);
        assert_eq!((schedule.skip_to(999), schedule.next_ns()), (0, Some(1000)));
        assert_eq!((schedule.skip_to(3000), schedule.next_ns()), (3, Some(4000)));
        assert_eq!((schedule.skip_to(99_000), schedule.next_ns()), (7, None));
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
            let mut schedule = Schedule::new(500, period_ns, end_ns);
            let (mut count, mut late) = (0, late.into_iter().cycle());
            while let Some(at_ns) = schedule.next_ns() {
                count += 1 + schedule.woke(at_ns + late.next().unwrap());
            }
            prop_assert_eq!(count, periods.max(1).unsigned_abs());
        }
    }
}
