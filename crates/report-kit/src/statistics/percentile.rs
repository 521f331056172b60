//! High percentiles, with an interval that assumes no distribution.
//!
//! The number of samples below the true percentile is binomial, whatever the latencies look like,
//! so two samples enclose it with known probability (David and Nagaraja, Order Statistics, 7.1). If
//! even the greatest sample may be below it, the run was too short to speak of that percentile,
//! and [`samples_needed`] says how long it would have to be.

use serde::{Deserialize, Serialize};

use super::summary::quantile;
use super::{Distribution, TAIL, binomial};

/// The percentiles that are reported.
pub const SHARES: [f64; 4] = [0.99, 0.999, 0.9999, 0.999_99];

/// A percentile in ns, with its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Percentile {
    /// The share of samples below, as 0.999.
    pub share: f64,
    pub value: f64,
    /// Lower end of its confidence interval.
    pub lower: f64,
    /// Upper end of its confidence interval; `None` if there are too few samples to give one.
    pub upper: Option<f64>,
}

impl Percentile {
    /// Of samples; `None` of none.
    pub fn of(samples: &Distribution, share: f64) -> Option<Self> {
        let last = samples.count().checked_sub(1)?;
        let (lower, upper) = binomial::enclosing(samples.count(), share, TAIL);
        // The value lies between two samples, which of few samples may be further out than the interval.
        let place = last as f64 * share;
        let lower = lower.saturating_sub(1).min(place.floor() as u64);
        let upper = upper.max(place.ceil() as u64);
        Some(Self {
            share,
            value: quantile(samples, share),
            lower: f64::from(samples.at(lower)),
            upper: (upper <= last).then(|| f64::from(samples.at(upper))),
        })
    }
}

/// So many samples give a percentile an upper end: fewer may all lie below it.
pub fn samples_needed(share: f64) -> u64 {
    (TAIL.ln() / share.ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn too_few_samples_give_no_upper_end() {
        let share = 0.999;
        let needed = samples_needed(share);
        // ln 0.025 / ln 0.999
        assert_eq!(needed, 3688);
        let of = |count: u64| Distribution::of_counts((0..count as u32).map(|value| (value, 1)));
        assert!(Percentile::of(&of(needed), share).unwrap().upper.is_some());
        assert!(Percentile::of(&of(needed - 50), share).unwrap().upper.is_none());
        assert!(Percentile::of(&of(0), share).is_none());
    }

    #[test]
    fn the_median_of_many_is_enclosed_tightly() {
        let samples = Distribution::of(&(0..10_001).collect::<Vec<u32>>());
        let median = Percentile::of(&samples, 0.5).unwrap();
        assert_eq!(median.value, 5_000.0);
        // 1.96 standard deviations of a binomial: 98 samples to each side.
        let (lower, upper) = (median.lower, median.upper.unwrap());
        assert!((4_900.0..4_905.0).contains(&lower) && (5_095.0..5_101.0).contains(&upper));
    }

    /// Eight hours at one sample a millisecond and far more: the figures of a second.
    #[test]
    fn a_day_and_a_century_of_samples_have_their_intervals() {
        for count in [29_000_000, 30_000_000, 1_000_000_000_000] {
            let in_each = count / 1000;
            let samples = Distribution::of_counts((0..1000).map(|value| (value, in_each)));
            for share in SHARES {
                let found = Percentile::of(&samples, share).unwrap();
                let upper = found.upper.unwrap();
                assert!(found.lower <= found.value && found.value <= upper, "{found:?}");
                assert!(upper - found.lower <= 2.0, "{found:?}");
            }
        }
    }

    #[test]
    fn between_two_samples_the_interval_reaches_both() {
        let found = Percentile::of(&Distribution::of(&[0, 1]), 0.01).unwrap();
        assert_eq!((found.lower, found.value, found.upper), (0.0, 0.01, Some(1.0)));
    }

    /// The promise of the interval, tried: of many samples of a known distribution, at least 95 %
    /// enclose the true percentile.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut random = random::Random::new(0x2545_F491_4F6C_DD1D);
        let truth = 0.99 * f64::from(1 << 24);
        let enclosed = (0..1000)
            .filter(|_| {
                let samples: Vec<u32> = (0..600).map(|_| (random.number() >> 40) as u32).collect();
                let found = Percentile::of(&Distribution::of(&samples), 0.99).unwrap();
                found.lower <= truth && found.upper.is_none_or(|upper| truth <= upper)
            })
            .count();
        assert!(enclosed >= 940, "{enclosed} of 1000");
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_value(
            samples in prop::collection::vec(any::<u32>(), 1..500),
            share in 0.01..0.9999_f64,
        ) {
            let found = Percentile::of(&Distribution::of(&samples), share).unwrap();
            prop_assert!(found.lower <= found.value + 1e-6);
            prop_assert!(found.upper.is_none_or(|upper| found.value <= upper + 1e-6));
        }
    }
}
