//! How late frames were sent: from the time at which each was due until the kernel had it.
//!
//! Counted while it runs, without asking for memory: a histogram of three digits up to a minute.

use hdrhistogram::Histogram;

/// Longest lateness that is told apart.
const LATENESS_NS_MAX: u64 = 60_000_000_000;
/// Digits of a value that are kept.
const DIGITS: u8 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Lateness(Histogram<u64>);

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENESS_NS_MAX, DIGITS);
        Self(histogram.expect("the bounds are constants that fit"))
    }
}

impl Lateness {
    /// Counts frames that were sent this late.
    pub(crate) fn count(&mut self, lateness_ns: u64, frames: u64) {
        self.0.saturating_record_n(lateness_ns.max(1), frames);
    }

    /// How many frames were counted.
    pub(crate) fn frames(&self) -> u64 {
        self.0.len()
    }

    /// The lateness that this share of the frames did not exceed, in ns.
    pub(crate) fn quantile_ns(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share)
    }

    /// The worst, in ns.
    pub(crate) fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The mean, in ns.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.0.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_frames() {
        let mut lateness = Lateness::default();
        for us in 1..=100 {
            lateness.count(us * 1000, 10);
        }
        assert_eq!(lateness.frames(), 1000);
        assert!(lateness.quantile_ns(0.5).abs_diff(50_000) <= 100);
        assert!(lateness.quantile_ns(0.99).abs_diff(99_000) <= 100);
        assert!(lateness.max_ns().abs_diff(100_000) <= 100);
        lateness.count(u64::MAX, 1);
        assert!(lateness.max_ns() >= LATENESS_NS_MAX);
    }
}
