//! When a sample was taken: nanoseconds on the scale of its publisher, host time and virtual time
//! alike, so no time of this crate can be mistaken for a clock of the host.
//!
//! Spans are [`std::time::Duration`]: whole nanoseconds, never negative.

use std::time::Duration;

/// A moment on the scale of the samples. Wraps after 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SampleTime {
    ns: u64,
}

impl SampleTime {
    /// The begin of the scale.
    pub const ZERO: Self = Self { ns: 0 };

    /// A moment this many nanoseconds after the begin of the scale.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// The moment of a sample, counted from the begin of the scale.
    #[must_use]
    pub const fn of_sample(number: u64, rate: u32) -> Self {
        Self { ns: (number as u128 * 1_000_000_000 / rate as u128) as u64 }
    }

    /// Nanoseconds since the begin of the scale.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// How much later this is than `other`; zero if it is not.
    #[must_use]
    pub const fn since(self, other: Self) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(other.ns))
    }

    /// The moment `span` later.
    #[must_use]
    pub const fn plus(self, span: Duration) -> Self {
        Self { ns: self.ns.wrapping_add(span.as_nanos() as u64) }
    }
}
