//! A current that steps up and down again and again, and which sample it is that crosses a limit:
//! what the time of whole actions is measured with.
//!
//! Only samples that are sent count: where a host lets some be left out, the step comes with the
//! next one that is sent, and the one after that as much later. So no step is ever lost, however
//! bad the host.

use random::Random;

/// A step, in the order of their numbers from 1: odd ones up (trip), even ones down (close).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) number: u64,
    /// Whether the current is high from now on.
    pub(crate) is_up: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Alternation {
    /// Samples from one step to the next, at least and at most.
    interval: [u64; 2],
    /// The first sample that may be the next step.
    next: u64,
    pub(crate) steps: u64,
    random: Random,
}

impl Alternation {
    /// Steps from the sample `first` on, each `interval[0]` to `interval[1]` samples after the one
    /// before, evenly spread by chance that follows from the seed.
    pub(crate) const fn new(first: u64, interval: [u64; 2], seed: u64) -> Self {
        Self { interval, next: first, steps: 0, random: Random::new(seed) }
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.steps % 2 == 1
    }

    pub(crate) const fn is_due(&self, number: u64) -> bool {
        number >= self.next
    }

    /// A sample is about to be sent; the step, if it is one.
    pub(crate) fn sample(&mut self, number: u64) -> Option<Step> {
        if !self.is_due(number) {
            return None;
        }
        self.steps += 1;
        let [least, most] = self.interval;
        self.next = number + self.random.within(least, most);
        Some(Step { number: self.steps, is_up: self.is_up() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_alternate_and_none_is_lost_with_its_sample(
            seed: u64, least in 1u64..50, spread in 0u64..50,
            gaps in prop::collection::vec(1u64..80, 1..400),
        ) {
            let most = least + spread;
            let mut alternation = Alternation::new(10, [least, most], seed);
            let (mut sample, mut last) = (0, None);
            let mut steps = 0;
            for gap in gaps {
                sample += gap;
                if let Some(step) = alternation.sample(sample) {
                    steps += 1;
                    prop_assert_eq!((step.number, step.is_up), (steps, steps % 2 == 1));
                    prop_assert!(last.is_none_or(|last| sample - last >= least));
                    last = Some(sample);
                } else if let Some(last) = last {
                    prop_assert!(sample - last < most);
                }
                prop_assert_eq!(alternation.is_up(), steps % 2 == 1);
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_steps() {
        let steps = |seed| {
            let mut alternation = Alternation::new(0, [10, 20], seed);
            (0..10_000).filter(|sample| alternation.sample(*sample).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
        let gaps: std::collections::BTreeSet<_> =
            steps(3).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, (10..=20).collect());
    }
}
