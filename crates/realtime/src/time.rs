//! The one place at which a relay reads the time, in two types that nobody can mix: [`SampleTime`] is
//! that of this host alone (`CLOCK_MONOTONIC`), which never jumps, and [`CommonTime`] that of all nodes
//! (`CLOCK_REALTIME`).
//!
//! A common time that is off by more than the protocol forgives costs votes, and is a warning. What is
//! measured of it: what the kernel knows of its error, and each jump against this host's own time.

use std::time::Duration;

use iec61850::SampleTime;
use quorum::CommonTime;
use quorum::parameters::CLOCK_ERROR_MAX;

/// The time of this host alone.
#[must_use]
pub fn own() -> SampleTime {
    SampleTime::from_ns(os::realtime::now_ns().max(0) as u64)
}

/// The time of all nodes, and of records.
#[must_use]
pub fn common() -> CommonTime {
    stamp(os::realtime::realtime_ns())
}

/// The time at which the kernel stamped a frame.
#[must_use]
pub const fn stamp(realtime_ns: i64) -> CommonTime {
    CommonTime::from_ns(if realtime_ns < 0 { 0 } else { realtime_ns as u64 })
}

/// Sleeps until this time of the host's own; signals do not end the sleep.
pub fn sleep_until(at: SampleTime) {
    os::realtime::sleep_until(at.ns() as i64);
}

/// A span as records and counters write it, ns.
#[must_use]
pub const fn ns(span: Duration) -> u64 {
    let ns = span.as_nanos();
    if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 }
}

/// How far apart two readings of one clock may be that stand around one of the other: more than that is
/// no time of the kernel, but a thread that did not run between them.
const APART_MAX: Duration = Duration::from_micros(100);
/// Readings of both clocks at most: on a host that is overloaded the best one counts.
const READINGS_MAX: usize = 8;

/// One reading of both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// That of all nodes.
    pub common: CommonTime,
    /// That of this host alone.
    pub own: SampleTime,
}

impl Now {
    /// Reads both clocks at one moment.
    #[must_use]
    pub fn read() -> Self {
        Self::read_by(own, common).0
    }

    /// Reads the own clock before and after the common one, and again where the thread did not run
    /// between them; the reading, and how far apart its clocks may be.
    fn read_by(
        mut own: impl FnMut() -> SampleTime,
        mut common: impl FnMut() -> CommonTime,
    ) -> (Self, Duration) {
        let mut reading = || {
            let (before, common, after) = (own(), common(), own());
            let apart = after.since(before);
            (Self { common, own: before.plus(apart / 2) }, apart)
        };
        let mut best = reading();
        for _ in 1..READINGS_MAX {
            if best.1 <= APART_MAX {
                break;
            }
            let next = reading();
            if next.1 < best.1 {
                best = next;
            }
        }
        best
    }

    /// The common time of an own time.
    #[must_use]
    pub const fn common_at(self, own: SampleTime) -> CommonTime {
        let age_ns = self.own.ns() as i64 - own.ns() as i64;
        CommonTime::from_ns(self.common.ns().saturating_sub_signed(age_ns))
    }

    /// The own time at which the kernel stamped something with common time; nothing comes later than
    /// now.
    #[must_use]
    pub const fn own_at(self, stamp: CommonTime) -> SampleTime {
        SampleTime::from_ns(self.own.ns().saturating_sub(ns(self.common.since(stamp))))
    }
}

/// Reads the time, and watches whether it jumps.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ns: Option<i64>,
    /// How often common time has jumped by more than a node's clock may be off.
    pub jumps: u64,
}

impl Clock {
    /// Reads both clocks, and counts a jump since the last reading.
    pub fn read(&mut self) -> Now {
        let (now, apart) = Now::read_by(own, common);
        let offset_ns = now.common.ns() as i64 - now.own.ns() as i64;
        self.watch(offset_ns, apart);
        now
    }

    /// Looks at one reading, whose clocks were read within `apart` of each other.
    fn watch(&mut self, offset_ns: i64, apart: Duration) {
        let known_ns = self.offset_ns.replace(offset_ns).unwrap_or(offset_ns);
        self.jumps += u64::from(offset_ns.abs_diff(known_ns) > ns(CLOCK_ERROR_MAX + apart));
    }
}

/// Why nobody can say that this host's clock is within its bound; nothing if it is.
#[must_use]
pub fn doubt() -> Option<String> {
    let fix = "run ptp4l with phc2sys, or chronyd, against the clock of the station";
    let estimate = |state: os::clock::ClockState| Duration::from_micros(state.error_us_estimate);
    match os::clock::state() {
        Err(error) => {
            Some(format!("the kernel does not report the accuracy of its clock ({error})"))
        }
        Ok(known) if !known.is_synchronised => Some(format!(
            "the clock is not synchronized: nodes on other hosts may reject all votes; {fix}"
        )),
        Ok(known) if estimate(known) > CLOCK_ERROR_MAX => Some(format!(
            "the clock error may be {:?}, and nodes tolerate {CLOCK_ERROR_MAX:?}; {fix}",
            estimate(known)
        )),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_counted_and_a_drift_is_not() {
        let mut clock = Clock::default();
        for offset_ns in (0..10_000_000).step_by(400_000) {
            clock.watch(offset_ns, Duration::ZERO);
        }
        assert_eq!(clock.jumps, 0);
        clock.watch(20_000_000, Duration::ZERO);
        clock.watch(20_100_000, Duration::ZERO);
        clock.watch(5_000_000, Duration::ZERO);
        assert_eq!(clock.jumps, 2);
        // Read with a pause between the clocks, this says nothing.
        clock.watch(9_000_000, Duration::from_millis(5));
        assert_eq!(clock.jumps, 2);
    }

    /// The reading of a thread that does not run for so long before each reading of a clock: common time
    /// is a second ahead of its own; and how often it read.
    fn read_with(pauses_us: &[u64]) -> (i64, Duration, usize) {
        let at_us = std::cell::Cell::new(0);
        let mut pauses = pauses_us.iter();
        let read = std::cell::RefCell::new(|| {
            at_us.set(at_us.get() + pauses.next().expect("it reads no more"));
            at_us.get() * 1000
        });
        let own = || SampleTime::from_ns(read.borrow_mut()());
        let common = || CommonTime::from_ns(read.borrow_mut()() + 1_000_000_000);
        let (now, apart) = Now::read_by(own, common);
        let left = pauses.len();
        let ahead_ns = now.common.ns() as i64 - now.own.ns() as i64;
        (ahead_ns - 1_000_000_000, apart, pauses_us.len() - left)
    }

    #[test]
    fn a_thread_that_does_not_run_between_both_clocks_reads_them_again() {
        let us = Duration::from_micros;
        assert_eq!(read_with(&[1, 1, 1]), (0, us(2), 3));
        assert_eq!(read_with(&[1, 30_000, 1, 1, 2, 1]), (500, us(3), 6));
        assert_eq!(read_with(&[1, 1, 30_000, 30_000, 1, 1]), (0, us(2), 6));
        // A host that never lets it: the best, within how far apart it was.
        let mut pauses = [1000; 3 * READINGS_MAX];
        pauses[7] = 200;
        pauses[8] = 0;
        assert_eq!(read_with(&pauses), (100_000, us(200), 3 * READINGS_MAX));
    }

    #[test]
    fn both_clocks_are_of_one_moment() {
        let now = Clock::default().read();
        let age = Duration::from_micros(5);
        let stamp = CommonTime::from_ns(now.common.ns() - ns(age));
        assert_eq!(now.own.since(now.own_at(stamp)), age);
        assert_eq!(now.own_at(now.common.plus(age)), now.own, "nothing comes later than now");
    }
}
