//! What a sample of latencies says, and how surely.
//!
//! Latencies are not normal: a mean with a standard deviation hides the one wake-up in a million
//! that misses its deadline. So each figure comes with what it rests on: quartiles and whiskers as
//! the published studies give them ([`summary`]), high percentiles with confidence intervals that
//! assume no distribution ([`percentile`]), an estimate of the maximum to be expected in a longer
//! time ([`extremes`]), and a comparison of two samples ([`compare`]).
//!
//! All but the estimate of the maximum ask only how many samples there are of each length, which a
//! [`Distribution`] tells. Nothing here knows clocks, files or threads.

pub mod binomial;
pub mod compare;
pub mod distribution;
pub mod extremes;
pub mod percentile;
pub mod summary;

pub use compare::Comparison;
pub use distribution::Distribution;
pub use extremes::ReturnLevel;
pub use percentile::Percentile;
pub use summary::Summary;

/// The share of samples of the same kind that hold the true value within their interval.
pub const CONFIDENCE: f64 = 0.95;
/// What may lie beyond each end of such an interval.
const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;
