//! The time stamp of IEC 61850 (8-1, clause 8.1.3.6): seconds since 1970 without leap seconds,
//! a fraction of 24 bits, and an octet about the clock.

use std::fmt;

/// A moment, and how good the clock was that read it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct UtcTime {
    /// Seconds since the begin of 1970.
    pub seconds: u32,
    /// What is over, in 2^-24 s; the upper 8 bits do not exist on the wire and are zero.
    pub fraction: u32,
    /// Leap second known, clock failure, clock not synchronised, and bits of accuracy.
    pub quality: u8,
}

impl UtcTime {
    /// The stamp of a moment in nanoseconds since 1970, rounded down to 60 ns. Seconds wrap in
    /// 2106, as the format does.
    #[must_use]
    pub const fn from_realtime_ns(realtime_ns: u64, quality: u8) -> Self {
        let fraction = ((realtime_ns % 1_000_000_000) << 24) / 1_000_000_000;
        Self { seconds: (realtime_ns / 1_000_000_000) as u32, fraction: fraction as u32, quality }
    }

    /// Nanoseconds since 1970, rounded down.
    #[must_use]
    pub const fn realtime_ns(self) -> u64 {
        let rest = (self.fraction as u64 * 1_000_000_000) >> 24;
        self.seconds as u64 * 1_000_000_000 + rest
    }

    pub(super) const fn from_octets([a, b, c, d, e, f, g, quality]: [u8; 8]) -> Self {
        let seconds = u32::from_be_bytes([a, b, c, d]);
        Self { seconds, fraction: u32::from_be_bytes([0, e, f, g]), quality }
    }

    pub(super) const fn to_octets(self) -> [u8; 8] {
        let [a, b, c, d] = self.seconds.to_be_bytes();
        let [_, e, f, g] = self.fraction.to_be_bytes();
        [a, b, c, d, e, f, g, self.quality]
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest_ns = self.realtime_ns() - u64::from(self.seconds) * 1_000_000_000;
        write!(out, "{}.{rest_ns:09}", self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_moment_is_kept_to_60_ns(seconds: u32, rest_ns in 0u64..1_000_000_000) {
            let moment_ns = u64::from(seconds) * 1_000_000_000 + rest_ns;
            let stamp = UtcTime::from_realtime_ns(moment_ns, 0x0a);
            prop_assert_eq!(UtcTime::from_octets(stamp.to_octets()), stamp);
            prop_assert!((0..=60).contains(&(moment_ns - stamp.realtime_ns())));
        }
    }
}
