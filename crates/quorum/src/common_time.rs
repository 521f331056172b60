//! The time that all nodes of a station have in common: nanoseconds since 1970, which PTP keeps equal
//! on their hosts. It is a type of its own, so that it is never compared with the time of one host
//! alone, which is that of samples.

use std::time::Duration;

/// A moment of the nodes' common time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CommonTime(u64);

impl CommonTime {
    /// 1970, which stands for never.
    pub const ZERO: Self = Self(0);

    /// A moment this many nanoseconds after 1970.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// The nanoseconds that have passed since 1970.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// How much later this is than `other`; zero if it is not.
    pub const fn since(self, other: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(other.0))
    }

    /// The moment `span` later.
    pub const fn plus(self, span: Duration) -> Self {
        Self(self.0.wrapping_add(span.as_nanos() as u64))
    }
}
