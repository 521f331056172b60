//! The time dilation factor, and the exact rate at which virtual time runs.
//!
//! A time dilation factor (tdf) is host seconds per virtual second, held as a whole number of
//! millionths so that what a user writes is what is computed with. The rate is its reciprocal
//! as a 64.64 fixed-point number, rounded *up* to the next 2^-64. Ten years are less than 2^59
//! ns, so the excess stays below 2^59 * 2^-64 = 1/32 ns, and cutting the result off to whole
//! nanoseconds keeps it within 1 ns of the exact quotient.

use core::fmt;
use core::str::FromStr;

/// Millionths of a tdf in one.
const MILLION: u64 = 1_000_000;

/// Time dilation factor: host seconds per virtual second, from 0.01 to 1000.
///
/// Above one, programs see everything happen faster than it does; below one, virtual time
/// overtakes host time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tdf {
    millionths: u64,
}

impl Tdf {
    /// Virtual time runs as fast as host time.
    pub const ONE: Self = Self { millionths: MILLION };
    /// The smallest factor: virtual time runs 100 times as fast as host time.
    pub const MIN: Self = Self { millionths: MILLION / 100 };
    /// The largest factor: virtual time runs 1000 times slower than host time.
    pub const MAX: Self = Self { millionths: MILLION * 1000 };

    /// The factor of `millionths` millionths.
    ///
    /// # Errors
    /// [`TdfError::OutOfRange`] outside 0.01 to 1000.
    pub const fn from_millionths(millionths: u64) -> Result<Self, TdfError> {
        if millionths < Self::MIN.millionths || millionths > Self::MAX.millionths {
            return Err(TdfError::OutOfRange);
        }
        Ok(Self { millionths })
    }

    /// This factor in millionths.
    pub const fn millionths(self) -> u64 {
        self.millionths
    }

    /// The rate at which virtual time runs under this factor.
    pub const fn rate(self) -> Rate {
        let scaled = (MILLION as u128) << 64;
        let rate = scaled.div_ceil(self.millionths as u128);
        Rate { whole: (rate >> 64) as u64, fraction: rate as u64 }
    }
}

/// How long a host time of this length is in virtual time at this factor, in millionths. Not the exact
/// image of an interval, which a line gives: for what is measured in host time, such as waits.
pub fn virtual_ns(host_ns: i64, tdf_millionths: u64) -> i64 {
    let ns = i128::from(host_ns) * i128::from(MILLION) / i128::from(tdf_millionths.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

impl Default for Tdf {
    fn default() -> Self {
        Self::ONE
    }
}

/// Why a text is no time dilation factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TdfError {
    /// Not a plain decimal number such as `0.5` or `10`.
    NotANumber,
    /// More than six decimals; the factor would not be kept as written.
    TooPrecise,
    /// Outside 0.01 to 1000.
    OutOfRange,
}

impl fmt::Display for TdfError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotANumber => {
                "a time dilation factor is a plain decimal number, such as 0.5 or 10"
            }
            Self::TooPrecise => "a time dilation factor has at most six decimals",
            Self::OutOfRange => "a time dilation factor is between 0.01 and 1000",
        })
    }
}

impl core::error::Error for TdfError {}

impl FromStr for Tdf {
    type Err = TdfError;

    fn from_str(text: &str) -> Result<Self, TdfError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) {
            return Err(TdfError::NotANumber);
        }
        if decimals.trim_end_matches('0').len() > 6 {
            return Err(TdfError::TooPrecise);
        }
        let whole: u64 = whole.parse().map_err(|_| TdfError::OutOfRange)?;
        let mut millionths = whole.checked_mul(MILLION).ok_or(TdfError::OutOfRange)?;
        let mut place = MILLION / 10;
        for digit in decimals.bytes().take(6) {
            millionths = millionths.saturating_add(u64::from(digit - b'0') * place);
            place /= 10;
        }
        Self::from_millionths(millionths)
    }
}

impl fmt::Display for Tdf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.millionths / MILLION, self.millionths % MILLION);
        if rest == 0 {
            return write!(out, "{whole}");
        }
        let mut width = 6;
        while rest.is_multiple_of(10) {
            rest /= 10;
            width -= 1;
        }
        write!(out, "{whole}.{rest:0width$}")
    }
}

/// Virtual nanoseconds per host nanosecond, as `whole + fraction / 2^64`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub whole: u64,
    pub fraction: u64,
}

impl Rate {
    /// The rate of a clock that is stopped.
    pub const STILL: Self = Self { whole: 0, fraction: 0 };

    /// Whether a clock with this rate is stopped.
    pub const fn is_still(self) -> bool {
        self.whole == 0 && self.fraction == 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    pub(crate) fn any_tdf() -> impl Strategy<Value = Tdf> {
        (Tdf::MIN.millionths()..=Tdf::MAX.millionths())
            .prop_map(|m| Tdf::from_millionths(m).unwrap())
    }

    #[test]
    fn a_factor_is_kept_as_written() {
        for text in ["0.01", "0.5", "1", "2.5", "10", "999.999999", "1000"] {
            assert_eq!(text.parse::<Tdf>().unwrap().to_string(), text);
        }
        assert_eq!("1.500".parse::<Tdf>().unwrap().to_string(), "1.5");
    }

    #[test]
    fn what_is_no_factor_is_refused_with_the_reason() {
        for text in ["", "x", "-1", "1e3", "1.", ".5", "NaN", "+1", "1,5"] {
            assert_eq!(text.parse::<Tdf>(), Err(TdfError::NotANumber), "{text:?}");
        }
        for text in ["0", "0.009999", "1000.000001", "99999999999999999999", "18446744073710"] {
            assert_eq!(text.parse::<Tdf>(), Err(TdfError::OutOfRange), "{text:?}");
        }
        assert_eq!("0.0123456".parse::<Tdf>(), Err(TdfError::TooPrecise));
    }
}
