//! Quartiles, whiskers, mean and spread, as the published tables give them.
//!
//! Quartiles are of type 7 of Hyndman and Fan (1996), the default of R and NumPy. Whiskers are
//! Tukey's: the outermost samples within 1.5 interquartile ranges of the box. Queiroz et al. (2023)
//! call the distance between the whiskers the maximum jitter; so do we.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{CONFIDENCE, Distribution};

/// A box plot in figures, ns.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub count: u64,
    pub minimum: f64,
    /// The outermost sample not below the box by more than 1.5 times its height.
    pub lower_whisker: f64,
    pub lower_quartile: f64,
    pub median: f64,
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean; it assumes independent samples.
    pub mean_confidence: f64,
    /// Standard deviation of the sample (divided by count - 1).
    pub deviation: f64,
    pub upper_quartile: f64,
    /// The outermost sample not above the box by more than 1.5 times its height.
    pub upper_whisker: f64,
    pub maximum: f64,
    pub maximum_jitter: f64,
}

impl Summary {
    /// Of samples; `None` of none.
    pub fn of(samples: &Distribution) -> Option<Self> {
        let (minimum, maximum) = (f64::from(samples.min()?), f64::from(samples.max()?));
        let [lower_quartile, median, upper_quartile] =
            [0.25, 0.5, 0.75].map(|share| quantile(samples, share));
        let reach = 1.5 * (upper_quartile - lower_quartile);
        let (lower_whisker, upper_whisker) =
            whiskers(samples, lower_quartile - reach, upper_quartile + reach);
        let (mean, deviation) = moments(samples);
        Some(Self {
            count: samples.count(),
            minimum,
            lower_whisker,
            lower_quartile,
            median,
            mean,
            mean_confidence: mean_confidence(samples.count(), deviation),
            deviation,
            upper_quartile,
            upper_whisker,
            maximum,
            maximum_jitter: upper_whisker - lower_whisker,
        })
    }
}

/// The quantile of type 7: between the two samples round `share * (count - 1)`.
///
/// # Panics
/// If there are no samples, or `share` is not within 0 to 1.
pub fn quantile(samples: &Distribution, share: f64) -> f64 {
    assert!((0.0..=1.0).contains(&share), "a share is within 0 to 1");
    let last = samples.count() - 1;
    let place = share * last as f64;
    let below = (place.floor() as u64).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (f64::from(samples.at(below)), f64::from(samples.at(above)));
    low + (place - below as f64) * (high - low)
}

/// The outermost samples within the fences. The box lies between them, so there are such.
fn whiskers(samples: &Distribution, lower_fence: f64, upper_fence: f64) -> (f64, f64) {
    let within = |value: &u32| (lower_fence..=upper_fence).contains(&f64::from(*value));
    let mut inside = samples.counts().map(|(value, _)| value).filter(within);
    let lower = inside.next().expect("the box lies between the fences");
    (f64::from(lower), f64::from(inside.last().unwrap_or(lower)))
}

/// Mean and standard deviation by the recursion of Welford (1962) with weights (West 1979), which
/// loses nothing to cancellation.
fn moments(samples: &Distribution) -> (f64, f64) {
    let (mut mean, mut squares, mut total) = (0.0, 0.0, 0.0);
    for (value, count) in samples.counts() {
        let (value, count) = (f64::from(value), count as f64);
        total += count;
        let before = value - mean;
        mean += before * count / total;
        squares += count * before * (value - mean);
    }
    (mean, (squares / (total - 1.0).max(1.0)).sqrt())
}

/// From so many degrees of freedom on the expansion of Student's t is used: the first term that it
/// leaves out is below 1e-13 there, and the search of statrs, whose starting point lies ever
/// further off, ends at none.
const EXPANDED_FROM: f64 = 5_000.0;

/// Half the width of the interval of Student's t.
fn mean_confidence(count: u64, deviation: f64) -> f64 {
    if count < 2 {
        return f64::INFINITY;
    }
    students_t(0.5 + CONFIDENCE / 2.0, (count - 1) as f64) * deviation / (count as f64).sqrt()
}

/// The quantile of Student's t.
fn students_t(level: f64, freedom: f64) -> f64 {
    if freedom < EXPANDED_FROM {
        let student = StudentsT::new(0.0, 1.0, freedom)
            .expect("a positive number of degrees of freedom makes a distribution");
        return student.inverse_cdf(level);
    }
    // Abramowitz and Stegun, 26.7.5.
    let z = Normal::standard().inverse_cdf(level);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_are_those_of_r() {
        // quantile(c(1, 2, 3, 4)) of R: 1.00 1.75 2.50 3.25 4.00
        let four = Distribution::of(&[1, 2, 3, 4]);
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&four, share)),
            [1.0, 1.75, 2.5, 3.25, 4.0]
        );
        assert_eq!(quantile(&Distribution::of(&[7]), 0.99), 7.0);
    }

    #[test]
    fn a_spike_is_outside_the_whiskers_and_in_the_maximum() {
        let samples = Distribution::of(&[5, 6, 7, 8, 9, 10, 600]);
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.lower_whisker, summary.upper_whisker), (5.0, 10.0));
        assert_eq!((summary.maximum, summary.maximum_jitter), (600.0, 5.0));
        assert_eq!(summary.count, 7);
        assert!(Summary::of(&Distribution::default()).is_none());
    }

    #[test]
    fn one_sample_says_nothing_of_the_mean() {
        let one = Summary::of(&Distribution::of(&[4])).unwrap();
        assert_eq!((one.mean, one.deviation), (4.0, 0.0));
        assert!(one.mean_confidence.is_infinite());
    }

    #[test]
    fn students_t_is_known_for_any_number_of_samples() {
        // scipy.stats.t.ppf(0.975, [10, 1000, 4999, 5000, 1e6, 3e7, 1e12])
        let known = [
            (10.0, 2.228_138_851_964_938_5),
            (1000.0, 1.962_339_080_826_407_4),
            (4999.0, 1.960_438_646_661_524_2),
            (5000.0, 1.960_438_551_706_507_5),
            (1e6, 1.959_966_356_814_106_6),
            (3e7, 1.959_964_063_615_764_7),
            (1e12, 1.959_963_984_542_426_2),
        ];
        for (freedom, expected) in known {
            let found = students_t(0.975, freedom);
            assert!((found / expected - 1.0).abs() < 1e-9, "{freedom}: {found}, not {expected}");
        }
    }

    proptest! {
        #[test]
        fn figures_are_in_order(samples in prop::collection::vec(any::<u32>(), 1..200)) {
            let s = Summary::of(&Distribution::of(&samples)).unwrap();
            let order = [
                s.minimum, s.lower_whisker, s.lower_quartile, s.median, s.upper_quartile,
            ];
            // With few samples a whisker may lie within the box; the rest is always in order.
            prop_assert!(s.minimum <= s.lower_whisker && s.upper_whisker <= s.maximum);
            prop_assert!(order[2] <= order[3] && order[3] <= order[4]);
            prop_assert!(s.minimum <= s.mean && s.mean <= s.maximum + 1e-6);
            prop_assert!(s.maximum_jitter >= 0.0);
        }
    }
}
