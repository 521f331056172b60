//! The maximum to be expected in a longer time than was measured.
//!
//! The run is cut into blocks of equal length, and the maxima of the blocks are fitted by a
//! generalised extreme-value distribution (Coles, An Introduction to Statistical Modeling of
//! Extreme Values, chapter 3), by probability-weighted moments (Hosking, Wallis and Wood 1985),
//! which are stable for the few tens of blocks that a run has. How uncertain the answer is, is found
//! by drawing the blocks again (bootstrap), from a fixed seed: the same samples give the same
//! answer. It extrapolates, and it assumes that the load stays as it was.

use random::Random;
use serde::{Deserialize, Serialize};
use statrs::function::gamma::gamma;

use super::summary::quantile;
use super::{Distribution, TAIL};

/// Fewer maxima than this are not fitted.
const BLOCKS_MIN: usize = 20;
/// As many blocks as a run is cut into, if it has the samples.
const BLOCKS: usize = 50;
/// A block of fewer samples has a maximum that says nothing of extremes.
const BLOCK_SAMPLES_MIN: usize = 50;
/// So many samples of a thread are enough for an estimate.
pub const SAMPLES_NEEDED: usize = BLOCKS_MIN * BLOCK_SAMPLES_MIN;
/// Times that the blocks are drawn again.
const DRAWS: usize = 400;

/// A maximum that is exceeded once in so many blocks, on average.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReturnLevel {
    pub blocks: usize,
    pub block_samples: usize,
    /// The maximum of so many blocks together is asked for.
    pub period_blocks: f64,
    pub level: f64,
    /// Ends of its confidence interval, ns.
    pub lower: f64,
    pub upper: f64,
}

impl ReturnLevel {
    /// From samples of several threads, each in the order in which they were taken, for a time that
    /// is `times` as long as all of them together. Blocks with the same number were taken at the
    /// same time, and have one maximum. `None` if there are too few samples.
    pub fn of(threads: &[&[u32]], times: f64) -> Option<Self> {
        let shortest = threads.iter().map(|samples| samples.len()).min()?;
        let block_samples = (shortest / BLOCKS).max(BLOCK_SAMPLES_MIN);
        let maxima: Vec<f64> = (0..shortest / block_samples)
            .map(|block| block * block_samples..(block + 1) * block_samples)
            .map(|block| threads.iter().flat_map(|samples| &samples[block.clone()]).max())
            .map(|max| f64::from(max.copied().unwrap_or(0)))
            .collect();
        if maxima.len() < BLOCKS_MIN {
            return None;
        }
        let period_blocks = times * maxima.len() as f64;
        let level = ExtremeValue::fit(&maxima).level(period_blocks);
        let drawn = Distribution::of(&levels_of_draws(&maxima, period_blocks));
        Some(Self {
            blocks: maxima.len(),
            block_samples: block_samples * threads.len(),
            period_blocks,
            level,
            lower: quantile(&drawn, TAIL).min(level),
            upper: quantile(&drawn, 1.0 - TAIL).max(level),
        })
    }
}

/// What other runs like this one would have answered, in whole ns.
fn levels_of_draws(maxima: &[f64], period_blocks: f64) -> Vec<u32> {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut again = vec![0.0; maxima.len()];
    (0..DRAWS)
        .map(|_| {
            again.fill_with(|| random.pick(maxima));
            // The conversion saturates, as an extrapolation may be absurdly large.
            ExtremeValue::fit(&again).level(period_blocks) as u32
        })
        .collect()
}

/// Generalised extreme-value distribution: `F(x) = exp(-(1 - k (x - location) / scale)^(1/k))`,
/// with Hosking's sign of the shape `k`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct ExtremeValue {
    location: f64,
    scale: f64,
    shape: f64,
}

impl ExtremeValue {
    /// By probability-weighted moments, equations 3.1 and 3.5 of Hosking et al. 1985.
    fn fit(maxima: &[f64]) -> Self {
        let mut sorted = maxima.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let [b0, b1, b2] = weighted_moments(&sorted);
        if sorted.first() == sorted.last() {
            return Self { location: b0, scale: 0.0, shape: 0.0 };
        }
        let c = (2.0 * b1 - b0) / (3.0 * b2 - b0) - 2_f64.ln() / 3_f64.ln();
        let shape = 7.8590 * c + 2.9554 * c * c;
        // At a shape of 0 the formulas are 0 / 0: the limit is Gumbel's distribution.
        if shape.abs() < 1e-6 {
            let scale = (2.0 * b1 - b0) / 2_f64.ln();
            return Self { location: b0 - 0.577_215_664_9 * scale, scale, shape: 0.0 };
        }
        let g = gamma(1.0 + shape);
        let scale = (2.0 * b1 - b0) * shape / (g * (1.0 - 2_f64.powf(-shape)));
        Self { location: b0 + scale * (g - 1.0) / shape, scale, shape }
    }

    /// The value that is exceeded once in so many maxima.
    fn level(self, period: f64) -> f64 {
        let y = -(1.0 - 1.0 / period.max(1.000_001)).ln();
        if self.shape == 0.0 {
            return self.location - self.scale * y.ln();
        }
        self.location + self.scale * (1.0 - y.powf(self.shape)) / self.shape
    }
}

/// The unbiased estimates of `E[X F^r]` for r = 0, 1, 2.
fn weighted_moments(sorted: &[f64]) -> [f64; 3] {
    let n = sorted.len() as f64;
    let mut sums = [0.0; 3];
    for (index, value) in sorted.iter().enumerate() {
        let j = index as f64;
        let first = j / (n - 1.0);
        let second = first * (j - 1.0) / (n - 2.0);
        sums[0] += value;
        sums[1] += value * first;
        sums[2] += value * second;
    }
    sums.map(|sum| sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of a known distribution in place of random draws.
    fn of_known(known: ExtremeValue, count: usize) -> Vec<f64> {
        (0..count).map(|i| known.level(1.0 / (1.0 - (i as f64 + 0.5) / count as f64))).collect()
    }

    #[test]
    fn a_known_distribution_is_found_again() {
        for shape in [-0.2, 0.0, 0.15] {
            let known = ExtremeValue { location: 50_000.0, scale: 4_000.0, shape };
            let found = ExtremeValue::fit(&of_known(known, 2_000));
            assert!((found.location / known.location - 1.0).abs() < 0.01, "{found:?}");
            assert!((found.scale / known.scale - 1.0).abs() < 0.03, "{found:?}");
            assert!((found.shape - known.shape).abs() < 0.02, "{found:?}");
        }
    }

    #[test]
    fn a_longer_time_has_a_higher_level_and_the_same_samples_the_same_answer() {
        let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
        let samples: Vec<u32> = (0..20_000).map(|_| random.below(100_000) as u32).collect();
        let once = ReturnLevel::of(&[&samples], 1.0).unwrap();
        assert_eq!((once.blocks, once.block_samples), (50, 400));
        assert!(once.lower <= once.level && once.level <= once.upper, "{once:?}");
        let longer = ReturnLevel::of(&[&samples], 100.0).unwrap();
        assert!(longer.level >= once.level, "{longer:?}");
        assert_eq!(Some(once), ReturnLevel::of(&[&samples], 1.0));
    }

    #[test]
    fn threads_that_ran_together_have_their_maxima_together() {
        let quiet = [10; 2_000];
        let mut spiky = quiet;
        spiky.iter_mut().step_by(50).for_each(|sample| *sample = 99);
        let both = ReturnLevel::of(&[&quiet, &spiky[..1_900]], 1.0).unwrap();
        assert_eq!((both.blocks, both.block_samples, both.level), (38, 100, 99.0));
        assert_eq!(ReturnLevel::of(&[], 1.0), None);
    }

    #[test]
    fn too_few_samples_and_constant_ones() {
        assert_eq!(ReturnLevel::of(&[&[5; 999]], 1.0), None);
        assert!(ReturnLevel::of(&[&vec![5; SAMPLES_NEEDED]], 1.0).is_some());
        let constant = ReturnLevel::of(&[&[5; 5_000]], 10.0).unwrap();
        assert_eq!((constant.level, constant.upper), (5.0, 5.0));
    }
}
