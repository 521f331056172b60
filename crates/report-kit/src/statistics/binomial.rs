//! Quantiles of the binomial distribution, for any number of draws and at the same cost for all.
//!
//! Searching the cumulative distribution costs more the more draws there are, and its evaluation by
//! the incomplete beta function ends to converge somewhere above ten million. There are two ways
//! that do not. Where success, or failure, is rare, the few terms of that tail are added up: exact
//! but for rounding. Where both are common the distribution is nearly normal, and its quantile is the
//! normal one with the corrections for skewness and kurtosis (Cornish and Fisher 1938; Johnson, Kemp
//! and Kotz, Univariate Discrete Distributions, 3.6.1). Their error falls with the variance; at
//! the least variance for which they are used it is below [`ERROR`] of one draw, and both ends of an
//! interval are moved outward by that much before they become whole. So an interval is never narrower
//! than the exact one, and at most one draw wider at each end.

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to so many rare outcomes to be expected, terms are added up: `exp(-RARE)` is a number still,
/// and the variance beyond is at least half of it.
const RARE: f64 = 500.0;

/// Bound on the error of the corrected normal quantile, in draws, where it is used. The first terms
/// left out are a third of a draw divided by the variance; a test compares with sums of terms and
/// finds a tenth of the bound.
const ERROR: f64 = 0.01;

/// The numbers of successes that enclose all but `tail` at each end: the quantiles of `tail` and of
/// `1 - tail`, or beyond.
///
/// # Panics
/// If `share` is not between 0 and 1, or `tail` not between 0 and 0.5.
pub fn enclosing(draws: u64, share: f64, tail: f64) -> (u64, u64) {
    assert!(0.0 < share && share < 1.0, "a share is between 0 and 1");
    assert!(0.0 < tail && tail < 0.5, "a tail is less than half");
    if share > 0.5 {
        // The failures are the successes of the other outcome.
        let (low, high) = enclosing_rare(draws, 1.0 - share, tail);
        return (draws - high, draws - low);
    }
    enclosing_rare(draws, share, tail)
}

/// As [`enclosing`], for a share of at most a half.
fn enclosing_rare(draws: u64, share: f64, tail: f64) -> (u64, u64) {
    if draws as f64 * share <= RARE {
        return added_up(draws, share, tail);
    }
    let normal = Normal::standard();
    // Counts above 2^52 have no fractions.
    let error = ERROR + draws as f64 * f64::EPSILON;
    let [low, high] = [(tail, -error), (1.0 - tail, error)]
        .map(|(level, outward)| corrected(draws, share, normal.inverse_cdf(level)) + outward);
    // The quantile of a count is the least one whose step reaches the level.
    let whole = |place: f64| ((place - 0.5).ceil().max(0.0) as u64).min(draws);
    (whole(low), whole(high))
}

/// Where a smooth curve through the cumulative distribution, drawn at the upper edge of each count's
/// step (`count + 1/2`), has the level of the standard normal quantile `z`.
fn corrected(draws: u64, share: f64, z: f64) -> f64 {
    let other = 1.0 - share;
    let variance = draws as f64 * share * other;
    let deviation = variance.sqrt();
    let skewness = (other - share) / deviation;
    let kurtosis = (1.0 - 6.0 * share * other) / variance;
    let w = z
        + (z * z - 1.0) / 6.0 * skewness
        + (z.powi(3) - 3.0 * z) / 24.0 * kurtosis
        - (2.0 * z.powi(3) - 5.0 * z) / 36.0 * skewness * skewness
        // Steps are sums of terms in place of an integral: the midpoint rule.
        - z / 24.0 / variance;
    draws as f64 * share + deviation * w
}

/// By the terms themselves, each from the one before.
fn added_up(draws: u64, share: f64, tail: f64) -> (u64, u64) {
    let odds = share / (1.0 - share);
    let mut term = (draws as f64 * (-share).ln_1p()).exp();
    let (mut below, mut low) = (term, None);
    for count in 0..draws {
        if below >= tail {
            low.get_or_insert(count);
        }
        if below >= 1.0 - tail {
            return (low.unwrap_or(count), count);
        }
        term *= (draws - count) as f64 / (count + 1) as f64 * odds;
        below += term;
    }
    (low.unwrap_or(draws), draws)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAIL: f64 = 0.025;

    /// The cumulative distribution from its first count that matters on, in a way of its own: terms
    /// by logarithms, each by itself, so that none is too small whatever the number of draws.
    fn cumulative(draws: u64, share: f64) -> (u64, Vec<f64>) {
        let ln_term = |count: u64| {
            statrs::function::factorial::ln_binomial(draws, count)
                + count as f64 * share.ln()
                + (draws - count) as f64 * (-share).ln_1p()
        };
        let mean = draws as f64 * share;
        let reach = 12.0 * (mean * (1.0 - share)).sqrt() + 20.0;
        let first = (mean - reach).max(0.0) as u64;
        let last = ((mean + reach) as u64).min(draws);
        let terms: Vec<f64> = (first..=last).map(|count| ln_term(count).exp()).collect();
        // Logarithms of great numbers lose digits, the same for all terms.
        let total: f64 = terms.iter().sum();
        let mut sum = 0.0;
        let sums = terms.iter().map(|term| {
            sum += term / total;
            sum
        });
        (first, sums.collect())
    }

    fn exact(draws: u64, share: f64, tail: f64) -> (u64, u64) {
        let (first, levels) = cumulative(draws, share);
        let reaches = |wanted: f64| levels.partition_point(|level| *level < wanted) as u64;
        (first + reaches(tail), first + reaches(1.0 - tail))
    }

    #[test]
    fn beyond_the_switch_the_error_is_below_what_is_allowed_for() {
        let normal = Normal::standard();
        let mut greatest: f64 = 0.0;
        for share in [0.5, 0.4, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4] {
            for times in [1.0, 1.7, 4.0, 11.0] {
                let draws = ((RARE + 1.0) / share * times) as u64;
                let (first, levels) = cumulative(draws, share);
                for (index, level) in levels.iter().enumerate() {
                    let is_tail = |level: f64| (0.005..0.1).contains(&level);
                    if is_tail(*level) || is_tail(1.0 - level) {
                        let edge = (first + index as u64) as f64 + 0.5;
                        let place = corrected(draws, share, normal.inverse_cdf(*level));
                        greatest = greatest.max((place - edge).abs());
                    }
                }
            }
        }
        assert!(greatest > 0.0 && greatest < ERROR / 5.0, "{greatest}");
    }

    #[test]
    fn as_many_draws_as_anybody_has_take_no_time() {
        let begun = std::time::Instant::now();
        for draws in [29_000_000, 30_000_000, 1_000_000_000_000, u64::MAX / 4096] {
            for share in [0.5, 0.99, 0.999, 0.9999, 0.999_99, 1e-12] {
                let (low, high) = enclosing(draws, share, TAIL);
                let (mean, variance) = (draws as f64 * share, draws as f64 * share * (1.0 - share));
                let reach = Normal::standard().inverse_cdf(1.0 - TAIL) * variance.sqrt();
                // Within a few draws, and as many as the skewness of rare ones makes.
                let slack = 4.0 + draws as f64 * 1e-14;
                assert!((low as f64 - (mean - reach)).abs() < slack, "{draws} {share}: {low}");
                assert!((high as f64 - (mean + reach)).abs() < slack, "{draws} {share}: {high}");
            }
        }
        // A search of the distribution takes for ever; this takes microseconds.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// On both sides of the switch, whatever the share.
        #[test]
        fn never_narrower_than_exact_and_at_most_one_draw_wider(
            expected in 0.05..2.5_f64,
            share in prop_oneof![1e-4..0.02_f64, 0.02..0.98_f64, 0.98..0.9999_f64],
        ) {
            let rare = share.min(1.0 - share);
            let draws = (expected * RARE / rare).ceil() as u64;
            let (low, high) = enclosing(draws, share, TAIL);
            let (exact_low, exact_high) = exact(draws, share, TAIL);
            prop_assert!(low <= exact_low && exact_low - low <= 1, "{low} {exact_low} of {draws}");
            prop_assert!(exact_high <= high && high - exact_high <= 1, "{high} {exact_high} of {draws}");
        }
    }
}
