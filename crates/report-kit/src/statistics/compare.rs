//! Are two samples of latencies different, and by how much?
//!
//! Two questions, as one does not answer the other. How large: the probability that a latency of
//! the second is greater than one of the first (0.5: no difference), and the difference of the
//! medians. How sure: the rank test of Mann and Whitney (1947) with the correction for ties, and
//! the two-sample test of Kolmogorov and Smirnov. With a million samples each difference is
//! significant, so look at the first before the second. Both tests assume independent samples.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::Distribution;
use super::summary::quantile;

/// A comparison of a second sample with a first one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Median of the second less that of the first, ns.
    pub median_difference: f64,
    /// Probability that one of the second is greater than one of the first, ties halved.
    pub greater: f64,
    /// Of the rank test, two-sided: how likely ranks this different are if nothing differs.
    pub rank_p: f64,
    /// Greatest distance between the two cumulative distributions.
    pub distance: f64,
    /// Of the Kolmogorov-Smirnov test.
    pub distance_p: f64,
}

impl Comparison {
    /// Of two samples; `None` if one is empty.
    pub fn of(first: &Distribution, second: &Distribution) -> Option<Self> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let merged = merge(first, second);
        let (n1, n2) = (first.count() as f64, second.count() as f64);
        let greater = merged.wins / (n1 * n2);
        Some(Self {
            median_difference: quantile(second, 0.5) - quantile(first, 0.5),
            greater,
            rank_p: rank_p(n1, n2, merged.wins, merged.ties),
            distance: merged.distance,
            distance_p: distance_p(n1, n2, merged.distance),
        })
    }
}

/// What one walk through both samples finds.
struct Merged {
    /// Pairs in which the second is greater, and half of those that are equal (Mann-Whitney's U).
    wins: f64,
    /// The sum of `t^3 - t` over groups of `t` equal values.
    ties: f64,
    distance: f64,
}

fn merge(first: &Distribution, second: &Distribution) -> Merged {
    let mut merged = Merged { wins: 0.0, ties: 0.0, distance: 0.0 };
    let (n1, n2) = (first.count() as f64, second.count() as f64);
    let (mut a, mut b) = (0.0, 0.0);
    let (mut ours, mut theirs) = (first.counts().peekable(), second.counts().peekable());
    while let Some(value) = ours.peek().into_iter().chain(theirs.peek()).map(|of| of.0).min() {
        let same = |of: &(u32, u64)| of.0 == value;
        let in_first = ours.next_if(same).map_or(0.0, |of| of.1 as f64);
        let in_second = theirs.next_if(same).map_or(0.0, |of| of.1 as f64);
        let equal = in_first + in_second;
        merged.wins += in_second * (a + in_first / 2.0);
        merged.ties += equal.powi(3) - equal;
        a += in_first;
        b += in_second;
        merged.distance = merged.distance.max((a / n1 - b / n2).abs());
    }
    merged
}

/// By the normal approximation with correction for ties and for continuity, as scipy's
/// `mannwhitneyu(method="asymptotic")`.
fn rank_p(n1: f64, n2: f64, wins: f64, ties: f64) -> f64 {
    let n = n1 + n2;
    let variance = n1 * n2 / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let off = ((wins - n1 * n2 / 2.0).abs() - 0.5).max(0.0);
    let normal = Normal::standard();
    (2.0 * normal.sf(off / variance.sqrt())).min(1.0)
}

/// By the limit distribution of Kolmogorov, as scipy's `ks_2samp(method="asymp")` up to its
/// correction for few samples.
fn distance_p(n1: f64, n2: f64, distance: f64) -> f64 {
    let root = (n1 * n2 / (n1 + n2)).sqrt();
    let x = root * distance;
    if x < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=100)
        .map(|k| {
            let k = f64::from(k);
            let sign = if k % 2.0 == 1.0 { 1.0 } else { -1.0 };
            sign * (-2.0 * k * k * x * x).exp()
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sample_twice_does_not_differ() {
        let sample = Distribution::of(&(0..500).map(|i| i % 37).collect::<Vec<u32>>());
        let same = Comparison::of(&sample, &sample).unwrap();
        assert_eq!((same.greater, same.distance, same.median_difference), (0.5, 0.0, 0.0));
        assert_eq!((same.rank_p, same.distance_p), (1.0, 1.0));
    }

    #[test]
    fn samples_that_do_not_overlap_differ_wholly() {
        let of = |values: std::ops::Range<u32>| Distribution::of_counts(values.map(|v| (v, 1)));
        let (low, high) = (of(0..50), of(100..150));
        let up = Comparison::of(&low, &high).unwrap();
        assert_eq!((up.greater, up.distance, up.median_difference), (1.0, 1.0, 100.0));
        assert!(up.rank_p < 1e-15 && up.distance_p < 1e-15);
        assert_eq!(Comparison::of(&high, &low).unwrap().greater, 0.0);
        assert!(Comparison::of(&Distribution::default(), &low).is_none());
    }

    #[test]
    fn ranks_are_counted_as_by_hand() {
        // Pairs (1,2) (1,3) (2,3) are won, (2,2) is a tie, (3,2) is lost, (3,3) is a tie.
        let found =
            Comparison::of(&Distribution::of(&[1, 2, 3]), &Distribution::of(&[2, 3])).unwrap();
        assert_eq!(found.greater, 4.0 / 6.0);
    }
}
