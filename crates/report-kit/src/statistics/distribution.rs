//! Latencies by size: how many there are of each.
//!
//! All statistics but those over time ask only this. A sorted list would do, but a histogram of
//! others (cyclictest prints one) has a hundred million samples in a few hundred bins, and a clock
//! that ticks each nanosecond still gives far fewer different latencies than samples.

/// Samples by size, ns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distribution {
    /// Each latency that occurred, rising.
    values: Vec<u32>,
    /// How many samples are at most as long as each.
    ends: Vec<u64>,
}

impl Distribution {
    /// Of samples in any order.
    pub fn of(samples: &[u32]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let mut all = Self::default();
        sorted.chunk_by(|a, b| a == b).for_each(|same| all.push(same[0], same.len() as u64));
        all
    }

    /// Of latencies and how often each occurred, in any order; the same latency may come again.
    pub fn of_counts(counts: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
        // The stable sort merges counts that rise already, such as those of two distributions.
        counts.sort_by_key(|(value, _)| *value);
        let mut all = Self::default();
        counts.into_iter().for_each(|(value, count)| all.push(value, count));
        all
    }

    /// Adds the greatest latency so far, or the same one again.
    fn push(&mut self, value: u32, count: u64) {
        if count == 0 {
            return;
        }
        let total = self.count().checked_add(count).expect("nobody has 2^64 samples");
        match (self.values.last(), self.ends.last_mut()) {
            (Some(last), Some(end)) if *last == value => *end = total,
            _ => {
                self.values.push(value);
                self.ends.push(total);
            }
        }
    }

    /// The samples of both together.
    pub fn merged(&self, other: &Self) -> Self {
        Self::of_counts(self.counts().chain(other.counts()))
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The least sample; `None` of none.
    pub fn min(&self) -> Option<u32> {
        self.values.first().copied()
    }

    /// The greatest sample; `None` of none.
    pub fn max(&self) -> Option<u32> {
        self.values.last().copied()
    }

    /// The sample at this place in rising order, from 0.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn at(&self, place: u64) -> u32 {
        self.values[self.ends.partition_point(|end| *end <= place)]
    }

    /// How many samples are at most this long.
    pub fn up_to(&self, value: u32) -> u64 {
        let behind = self.values.partition_point(|other| *other <= value);
        behind.checked_sub(1).map_or(0, |index| self.ends[index])
    }

    /// Each latency that occurred, rising, and how often.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        self.values
            .iter()
            .zip(&self.ends)
            .zip(begins)
            .map(|((value, end), begin)| (*value, end - begin))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_is_as_in_a_sorted_list(
            first in prop::collection::vec(0..50_u32, 0..80),
            second in prop::collection::vec(0..50_u32, 0..80),
            asked in 0..60_u32,
        ) {
            let merged = Distribution::of(&first).merged(&Distribution::of(&second));
            let mut list = [first, second].concat();
            prop_assert_eq!(&merged, &Distribution::of(&list));
            prop_assert_eq!(&merged, &Distribution::of_counts(list.iter().map(|value| (*value, 1))));
            list.sort_unstable();
            prop_assert_eq!(merged.count(), list.len() as u64);
            prop_assert_eq!((merged.min(), merged.max()), (list.first().copied(), list.last().copied()));
            for (place, value) in list.iter().enumerate() {
                prop_assert_eq!(merged.at(place as u64), *value);
            }
            prop_assert_eq!(merged.up_to(asked) as usize, list.partition_point(|value| *value <= asked));
            let counted: u64 = merged.counts().map(|(_, count)| count).sum();
            prop_assert_eq!(counted, merged.count());
        }
    }
}
