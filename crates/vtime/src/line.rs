//! One straight piece of the map from host time to virtual time, and its inverse.
//!
//! The base keeps a fraction of a nanosecond (in 2^-64 ns), so a clock whose rate changes a
//! million times drifts by nothing: each piece begins exactly where the last one ended, and
//! only what is handed out is cut off to whole nanoseconds (towards minus infinity).

use crate::rate::Rate;
use crate::time::{HostSpan, HostTime, VirtualTime};

/// `virtual = base_virtual + base_fraction / 2^64 + (host - base_host) * rate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub base_host: HostTime,
    /// Virtual time at which this piece begins, cut off to nanoseconds.
    pub base_virtual: VirtualTime,
    /// What was cut off, in 2^-64 ns.
    pub base_fraction: u64,
    pub rate: Rate,
}

impl Line {
    /// Virtual time at `host`, cut off to whole nanoseconds, and the fraction cut off.
    ///
    /// A host time before the base counts as the base. Saturates at [`VirtualTime::MAX`].
    #[inline]
    pub const fn at_exactly(&self, host: HostTime) -> (VirtualTime, u64) {
        let elapsed = host.as_ns().saturating_sub(self.base_host.as_ns());
        let elapsed = if elapsed < 0 { 0 } else { elapsed as u64 as u128 };
        let low = elapsed * self.rate.fraction as u128 + self.base_fraction as u128;
        let gained = elapsed * self.rate.whole as u128 + (low >> 64);
        let gained = if gained > i64::MAX as u128 { i64::MAX } else { gained as i64 };
        (VirtualTime::from_ns(self.base_virtual.as_ns().saturating_add(gained)), low as u64)
    }

    /// Virtual time at `host`, cut off to whole nanoseconds.
    #[inline]
    pub const fn at(&self, host: HostTime) -> VirtualTime {
        self.at_exactly(host).0
    }

    /// The first host nanosecond at which this line has reached `when`; `None` if it never does.
    pub const fn reaches(&self, when: VirtualTime) -> Option<HostTime> {
        let missing = when.as_ns().saturating_sub(self.base_virtual.as_ns());
        if missing <= 0 {
            return Some(self.base_host);
        }
        if self.rate.is_still() {
            return None;
        }
        let missing = ((missing as u128) << 64) - self.base_fraction as u128;
        let rate = ((self.rate.whole as u128) << 64) + self.rate.fraction as u128;
        let elapsed = div_ceil(missing, rate);
        if elapsed > i64::MAX as u128 {
            return None;
        }
        match self.base_host.as_ns().checked_add(elapsed as i64) {
            Some(host) => Some(HostTime::from_ns(host)),
            None => None,
        }
    }

    /// The piece that goes on from `host` at another rate, without a jump.
    pub const fn turned(&self, host: HostTime, rate: Rate) -> Self {
        let (base_virtual, base_fraction) = self.at_exactly(host);
        Self { base_host: host, base_virtual, base_fraction, rate }
    }

    /// The same piece `by` later in host time: what a pause of that length does to it.
    pub fn delayed(&self, by: HostSpan) -> Self {
        Self { base_host: self.base_host + by, ..*self }
    }
}

/// `dividend / divisor`, rounded up, bit by bit. The image in programs cannot call the function
/// of the compiler's run-time library that a plain division of 128 bits becomes.
pub(crate) const fn div_ceil(dividend: u128, divisor: u128) -> u128 {
    let mut quotient = 0;
    let mut rest = dividend;
    if dividend >= divisor {
        let mut shift = divisor.leading_zeros() - dividend.leading_zeros();
        loop {
            if rest >= divisor << shift {
                rest -= divisor << shift;
                quotient |= 1 << shift;
            }
            if shift == 0 {
                break;
            }
            shift -= 1;
        }
    }
    if rest == 0 { quotient } else { quotient + 1 }
}

/// `dividend / divisor`, cut off.
pub(crate) const fn div_floor(dividend: u128, divisor: u128) -> u128 {
    div_ceil(dividend + 1, divisor) - 1
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::rate::tests::any_tdf;
    use proptest::prelude::*;

    const TEN_YEARS_NS: i64 = 10 * 366 * 86_400 * 1_000_000_000;

    fn from_zero(rate: Rate) -> Line {
        Line { base_host: HostTime::ZERO, base_virtual: VirtualTime::ZERO, base_fraction: 0, rate }
    }

    proptest! {
        /// Rounding: never more than 1 ns from the exact quotient, over ten years of host time
        /// (as far as the result fits 292 years of virtual time).
        #[test]
        fn equals_the_quotient_within_a_nanosecond(host in 0..TEN_YEARS_NS, tdf in any_tdf()) {
            let numerator = i128::from(host) * 1_000_000;
            let tdf_millionths = i128::from(tdf.millionths());
            let virtual_ns = i128::from(from_zero(tdf.rate()).at(HostTime::from_ns(host)).as_ns());
            if numerator / tdf_millionths >= i128::from(i64::MAX) {
                prop_assert_eq!(virtual_ns, i128::from(i64::MAX));
            } else {
                // |virtual - numerator/tdf| <= 1 ns, without rounding in the test itself.
                let error = virtual_ns * tdf_millionths - numerator;
                prop_assert!(error.abs() <= tdf_millionths, "{} ns", error as f64 / tdf_millionths as f64);
            }
        }

        /// The inverse is exact: the line has arrived at that nanosecond and not one before.
        #[test]
        fn reaches_is_the_first_nanosecond(when in 1..TEN_YEARS_NS, fraction: u64, tdf in any_tdf()) {
            let line = Line { base_fraction: fraction, ..from_zero(tdf.rate()) };
            let when = VirtualTime::from_ns(when);
            if let Some(host) = line.reaches(when) {
                prop_assert!(line.at(host) >= when);
                prop_assert!(line.at(host - HostSpan::from_ns(1)) < when);
            }
        }

        #[test]
        fn division_bit_by_bit_divides(dividend: u128, divisor in 1..u128::MAX, shift in 0..127u32) {
            let (dividend, divisor) = (dividend >> 1, (divisor >> shift).max(1));
            prop_assert_eq!(div_ceil(dividend, divisor), dividend.div_ceil(divisor));
        }

        /// Turning neither jumps nor loses a fraction: a line turned to its own rate a hundred
        /// times still is the same line.
        #[test]
        fn turning_loses_nothing(steps in proptest::collection::vec(0..1_000_000_007i64, 1..100), tdf in any_tdf()) {
            let straight = from_zero(tdf.rate());
            let mut line = straight;
            let mut host = HostTime::ZERO;
            for step in steps {
                host = host + HostSpan::from_ns(step);
                line = line.turned(host, tdf.rate());
                prop_assert_eq!(line.at_exactly(host), straight.at_exactly(host));
            }
        }
    }

    #[test]
    fn a_still_line_never_arrives() {
        let line = from_zero(Rate::STILL);
        assert_eq!(line.at(HostTime::MAX), VirtualTime::ZERO);
        assert_eq!(line.reaches(VirtualTime::from_ns(1)), None);
        assert_eq!(line.reaches(VirtualTime::ZERO), Some(HostTime::ZERO));
    }
}
