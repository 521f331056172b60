//! How late something happened that was to happen at a virtual time: a timed wait of a program that
//! ends, a frame that is handed over, a timer that expires.
//!
//! What is some ten microseconds late is as on time as it is natively, and is not counted. What is
//! counted says that somebody was kept from acting in time: by others who had the processor, by a
//! host that was gone, or by a time dilation factor that leaves too little host time.
//!
//! One thread notes it, and another takes it from time to time. It may lie in memory that a
//! program can write; then it is what the program says of itself, and no more.

use core::sync::atomic::{AtomicI64, Ordering};

/// What is less late than this is on time: timers of the kernel have a slack of 50 us, and waking up
/// takes as long again.
pub const ON_TIME_NS: i64 = 250_000;

/// The largest lateness since it was last taken, and the sum of all.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Lateness {
    largest_ns: AtomicI64,
    sum_ns: AtomicI64,
}

/// What was taken from a [`Lateness`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Late {
    pub largest_ns: i64,
    pub sum_ns: i64,
}

impl Late {
    /// What was later than by this, which was to be expected of each; nothing if none was. The sum is then still that of
    /// all, as it is not known how many there were.
    #[must_use]
    pub fn beyond(self, expected_ns: i64) -> Self {
        let largest_ns = self.largest_ns.saturating_sub(expected_ns.max(0));
        if largest_ns < ON_TIME_NS { Self::default() } else { Self { largest_ns, ..self } }
    }
}

impl Lateness {
    /// Something was so late. One comparison for what is on time.
    #[inline]
    pub fn note(&self, late_ns: i64) {
        if late_ns >= ON_TIME_NS {
            self.largest_ns.fetch_max(late_ns, Ordering::Relaxed);
            self.sum_ns.fetch_add(late_ns, Ordering::Relaxed);
        }
    }

    /// What was noted since the last call; never negative, whatever others have written. What is
    /// noted in this very moment may be reported in two halves.
    pub fn take(&self) -> Late {
        let take = |value: &AtomicI64| value.swap(0, Ordering::Relaxed).max(0);
        Late { largest_ns: take(&self.largest_ns), sum_ns: take(&self.sum_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_late_is_reported_and_once() {
        let lateness = Lateness::default();
        for late_ns in [i64::MIN, 0, ON_TIME_NS - 1, 3 * ON_TIME_NS, ON_TIME_NS] {
            lateness.note(late_ns);
        }
        let late = Late { largest_ns: 3 * ON_TIME_NS, sum_ns: 4 * ON_TIME_NS };
        assert_eq!(lateness.take(), late);
        assert_eq!(lateness.take(), Late::default());
    }

    #[test]
    fn what_was_to_be_expected_is_not_late() {
        let late = Late { largest_ns: 25_000_000, sum_ns: 90_000_000 };
        assert_eq!(late.beyond(0), late);
        assert_eq!(late.beyond(-1), late);
        assert_eq!(late.beyond(25_000_000), Late::default());
        assert_eq!(late.beyond(25_000_001 - ON_TIME_NS), Late::default());
        let beyond = Late { largest_ns: ON_TIME_NS, sum_ns: 90_000_000 };
        assert_eq!(late.beyond(25_000_000 - ON_TIME_NS), beyond);
        assert_eq!(Late::default().beyond(i64::MAX), Late::default());
    }

    #[test]
    fn what_others_have_written_is_no_negative_lateness() {
        let lateness = Lateness::default();
        lateness.largest_ns.store(-1, Ordering::Relaxed);
        lateness.sum_ns.store(i64::MIN, Ordering::Relaxed);
        assert_eq!(lateness.take(), Late::default());
    }
}
