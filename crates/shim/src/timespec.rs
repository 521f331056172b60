//! Times as the kernel has them: `struct timespec` and `struct timeval`.

use vtime::time::NS_PER_S;

/// `struct timespec` of a 64-bit Linux.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

impl Timespec {
    /// The largest span that fits nanoseconds in 64 bits; more means "for ever" anyway.
    pub(crate) fn saturating_ns(self) -> i64 {
        self.seconds.saturating_mul(NS_PER_S).saturating_add(self.nanoseconds)
    }

    /// What the kernel demands of a time: no negative part, less than a second of nanoseconds.
    pub(crate) fn is_valid(self) -> bool {
        self.seconds >= 0 && (0..NS_PER_S).contains(&self.nanoseconds)
    }

    #[inline(never)]
    pub(crate) fn from_ns(ns: i64) -> Self {
        Self { seconds: ns.div_euclid(NS_PER_S), nanoseconds: ns.rem_euclid(NS_PER_S) }
    }
}

/// `struct timeval`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Timeval {
    pub(crate) seconds: i64,
    pub(crate) microseconds: i64,
}

impl Timeval {
    /// As [`Timespec::saturating_ns`]; the kernel takes any number of microseconds in some places.
    pub(crate) fn saturating_ns(self) -> i64 {
        let ns = self.microseconds.saturating_mul(1000);
        self.seconds.saturating_mul(NS_PER_S).saturating_add(ns)
    }
}

impl From<Timespec> for Timeval {
    fn from(time: Timespec) -> Self {
        Self { seconds: time.seconds, microseconds: time.nanoseconds / 1000 }
    }
}
