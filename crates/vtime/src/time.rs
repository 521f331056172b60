//! Host time and virtual time as different types.
//!
//! A deadline of a program is virtual, a timeout given to the kernel is host time, and mixing
//! them is the classic bug of virtual time systems. So they are distinct integers of
//! nanoseconds; only a [`Line`](crate::line::Line) converts between them.
//!
//! ```compile_fail
//! use vtime::{HostTime, VirtualTime};
//! let wrong = HostTime::from_ns(1) == VirtualTime::from_ns(1);
//! ```
//! ```compile_fail
//! use vtime::{HostSpan, VirtualTime};
//! let wrong = VirtualTime::ZERO + HostSpan::from_ns(1);
//! ```
//!
//! All arithmetic saturates: an `i64` of nanoseconds reaches 292 years either way, farther than
//! any experiment, and a saturated deadline still means "never" while a wrapped one would mean
//! "long ago".

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NS_PER_S: i64 = 1_000_000_000;

macro_rules! time_and_span {
    ($(#[$time_doc:meta])* $time:ident, $(#[$span_doc:meta])* $span:ident) => {
        $(#[$time_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $time(i64);

        $(#[$span_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $span(i64);

        impl $time {
            /// The origin of this scale.
            pub const ZERO: Self = Self(0);
            /// The latest time; stands for "never".
            pub const MAX: Self = Self(i64::MAX);

            /// The time `ns` nanoseconds after the origin.
            pub const fn from_ns(ns: i64) -> Self {
                Self(ns)
            }

            /// Nanoseconds since the origin.
            pub const fn as_ns(self) -> i64 {
                self.0
            }
        }

        impl $span {
            /// No time at all.
            pub const ZERO: Self = Self(0);
            /// The longest span; stands for "for ever".
            pub const MAX: Self = Self(i64::MAX);

            /// A span of `ns` nanoseconds.
            pub const fn from_ns(ns: i64) -> Self {
                Self(ns)
            }

            /// A span of `ms` milliseconds.
            pub const fn from_ms(ms: i64) -> Self {
                Self(ms.saturating_mul(1_000_000))
            }

            /// A span of `s` seconds.
            pub const fn from_s(s: i64) -> Self {
                Self(s.saturating_mul(NS_PER_S))
            }

            /// Nanoseconds of this span; negative when it points back.
            pub const fn as_ns(self) -> i64 {
                self.0
            }
        }

        impl Add<$span> for $time {
            type Output = Self;
            fn add(self, span: $span) -> Self {
                Self(self.0.saturating_add(span.0))
            }
        }

        impl Sub<$span> for $time {
            type Output = Self;
            fn sub(self, span: $span) -> Self {
                Self(self.0.saturating_sub(span.0))
            }
        }

        impl Sub for $time {
            type Output = $span;
            fn sub(self, earlier: Self) -> $span {
                $span(self.0.saturating_sub(earlier.0))
            }
        }

        impl Add for $span {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $span {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $span {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl fmt::Display for $time {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_seconds(out, self.0)
            }
        }

        impl fmt::Display for $span {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_seconds(out, self.0)
            }
        }
    };
}

time_and_span!(
    /// A reading of the host's `CLOCK_MONOTONIC`.
    HostTime,
    /// A span of host time.
    HostSpan
);
time_and_span!(
    /// Virtual time since the start of a time domain. The clocks that programs see
    /// (`CLOCK_MONOTONIC`, `CLOCK_REALTIME` and so on) are this plus an epoch of their own, where
    /// a program has no line of its own ([`ProgramTime`]).
    VirtualTime,
    /// A span of virtual time.
    VirtualSpan
);

time_and_span!(
    /// Time of one program since the start of its domain: virtual time while the program has no
    /// line of its own. The clocks that the program sees are this plus an epoch.
    ProgramTime,
    /// A span of the time of one program.
    ProgramSpan
);

impl VirtualTime {
    /// The same time of a program that follows its domain, or whose own line begins here.
    #[inline]
    pub const fn of_program(self) -> ProgramTime {
        ProgramTime(self.0)
    }
}

impl ProgramTime {
    /// The time of the clock that a program follows, for one without a line of its own.
    #[inline]
    pub const fn of_domain(self) -> VirtualTime {
        VirtualTime(self.0)
    }
}

/// Writes nanoseconds as seconds: three decimals where they say it all, nine otherwise.
fn write_seconds(out: &mut fmt::Formatter<'_>, ns: i64) -> fmt::Result {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let (whole, rest) = (ns / NS_PER_S.unsigned_abs(), ns % NS_PER_S.unsigned_abs());
    if rest.is_multiple_of(1_000_000) {
        write!(out, "{sign}{whole}.{:03} s", rest / 1_000_000)
    } else {
        write!(out, "{sign}{whole}.{rest:09} s")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn seconds_are_written_with_their_unit() {
        assert_eq!(VirtualTime::from_ns(22_500_000_000).to_string(), "22.500 s");
        assert_eq!(VirtualTime::from_ns(1).to_string(), "0.000000001 s");
        assert_eq!(VirtualSpan::from_ms(-1500).to_string(), "-1.500 s");
    }

    #[test]
    fn arithmetic_saturates_at_never() {
        assert_eq!(VirtualTime::MAX + VirtualSpan::from_s(1), VirtualTime::MAX);
        assert_eq!(HostTime::MAX - HostTime::from_ns(-1), HostSpan::MAX);
    }
}
