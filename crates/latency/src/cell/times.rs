//! Rising times as stretches of equal steps.
//!
//! A probe that is due each 10 ms has times that follow from the first one, but where it left out
//! periods that were over. So a stretch (first, step, count) stands for thousands of times, and
//! three million of them take some hundred octets. Times without any regularity take more than they
//! would in a list; no probe makes such.

/// Times in rising order, ns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    stretches: Vec<Stretch>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    /// Number of the first time among all.
    begin: usize,
    first_ns: i64,
    /// Zero while there is one time only.
    step_ns: i64,
    count: usize,
}

impl Stretch {
    fn at(&self, index: usize) -> i64 {
        self.first_ns + self.step_ns * index as i64
    }

    fn last(&self) -> i64 {
        self.at(self.count - 1)
    }
}

impl Times {
    /// Adds a time, and tells whether it could: one that lies before the last one is not taken.
    pub fn push(&mut self, at_ns: i64) -> bool {
        let begin = self.len();
        if let Some(last) = self.stretches.last_mut() {
            let step_ns = at_ns.checked_sub(last.last()).filter(|step_ns| *step_ns >= 0);
            let Some(step_ns) = step_ns else { return false };
            if last.count == 1 {
                last.step_ns = step_ns;
            }
            if last.step_ns == step_ns {
                last.count += 1;
                return true;
            }
        }
        self.stretches.push(Stretch { begin, first_ns: at_ns, step_ns: 0, count: 1 });
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.stretches.last().map_or(0, |last| last.begin + last.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// The time with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn at(&self, index: usize) -> i64 {
        assert!(index < self.len(), "no time {index} of {}", self.len());
        let behind = self.stretches.partition_point(|stretch| stretch.begin <= index);
        let stretch = &self.stretches[behind - 1];
        stretch.at(index - stretch.begin)
    }

    /// The latest of them.
    pub fn last(&self) -> Option<i64> {
        self.stretches.last().map(Stretch::last)
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.stretches.iter().flat_map(|stretch| (0..stretch.count).map(|index| stretch.at(index)))
    }

    /// How many lie before a time.
    pub fn before(&self, at_ns: i64) -> usize {
        let behind = self.stretches.partition_point(|stretch| stretch.first_ns < at_ns);
        let Some(stretch) = behind.checked_sub(1).map(|index| &self.stretches[index]) else {
            return 0;
        };
        if stretch.last() < at_ns {
            return stretch.begin + stretch.count;
        }
        // The last one does not lie before it, so the step is not zero.
        let steps = (at_ns - stretch.first_ns - 1) / stretch.step_ns + 1;
        stretch.begin + usize::try_from(steps).expect("the first one lies before it")
    }
}

impl FromIterator<i64> for Times {
    /// # Panics
    /// If they do not rise.
    fn from_iter<I: IntoIterator<Item = i64>>(all: I) -> Self {
        let mut times = Self::default();
        all.into_iter().for_each(|at_ns| assert!(times.push(at_ns), "times rise"));
        times
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_period_is_one_stretch_and_a_gap_begins_another() {
        let times: Times = [10, 20, 30, 60, 70, 80].into_iter().collect();
        // 30 to 60 is a stretch of another step, up to where the period begins again.
        assert_eq!(times.stretches.len(), 2);
        assert_eq!((times.len(), times.at(2), times.at(3), times.last()), (6, 30, 60, Some(80)));
    }

    #[test]
    fn a_time_that_does_not_rise_is_not_taken() {
        let mut times: Times = [i64::MIN].into_iter().collect();
        assert!(!times.push(i64::MAX), "further than a difference reaches");
        assert!(times.push(-7) && !times.push(-8) && times.push(-7));
        assert_eq!((times.len(), times.at(1), times.at(2)), (3, -7, -7));
    }

    proptest! {
        #[test]
        fn all_is_as_in_a_list(steps in prop::collection::vec(0..4_i64, 0..60), asked in -2..200_i64) {
            let list: Vec<i64> = steps
                .iter()
                .scan(0, |at, step| {
                    *at += step;
                    Some(*at)
                })
                .collect();
            let times: Times = list.iter().copied().collect();
            prop_assert_eq!(times.iter().collect::<Vec<_>>(), list.clone());
            prop_assert_eq!((times.len(), times.is_empty()), (list.len(), list.is_empty()));
            for (index, at_ns) in list.iter().enumerate() {
                prop_assert_eq!(times.at(index), *at_ns);
            }
            prop_assert_eq!(times.before(asked), list.partition_point(|at_ns| *at_ns < asked));
        }
    }
}
