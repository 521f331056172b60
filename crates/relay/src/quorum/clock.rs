//! The one place at which a node reads the time.
//!
//! Ticks are those of `CLOCK_REALTIME`, which PTP keeps equal on all nodes; a clock that is off by
//! more than the protocol forgives costs votes, and is told. What is measured of it: what the
//! kernel knows of its error, and each jump against `CLOCK_MONOTONIC`, which never jumps.

use iec61850::SampleTime;
use quorum::parameters::CLOCK_ERROR_MAX;

/// One reading of both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Now {
    /// Common time of all nodes: nanoseconds since 1970.
    pub(crate) common: SampleTime,
    /// Time of this host alone: nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) own: SampleTime,
}

impl Now {
    /// Common time as records write it.
    pub(crate) const fn realtime_ns(self) -> i64 {
        self.common.ns() as i64
    }

    /// The own time at which the kernel stamped something with common time.
    pub(crate) const fn own_at(self, stamp_realtime_ns: i64) -> SampleTime {
        let age_ns = self.realtime_ns().saturating_sub(stamp_realtime_ns);
        let age_ns = if age_ns < 0 { 0 } else { age_ns as u64 };
        SampleTime::from_ns(self.own.ns().saturating_sub(age_ns))
    }
}

/// Reads the time, and watches whether it jumps.
#[derive(Debug)]
pub(crate) struct Clock {
    offset_ns: Option<i64>,
    jumps: u64,
}

impl Clock {
    /// Nothing was read yet.
    pub(crate) const fn new() -> Self {
        Self { offset_ns: None, jumps: 0 }
    }

    /// What time it is.
    pub(crate) fn read(&mut self) -> Now {
        let before_ns = os::realtime::now_ns();
        let realtime_ns = os::realtime::realtime_ns();
        let own_ns = os::realtime::now_ns();
        self.watch(realtime_ns - own_ns, own_ns - before_ns);
        let time = |ns: i64| SampleTime::from_ns(ns.max(0) as u64);
        Now { common: time(realtime_ns), own: time(own_ns) }
    }

    /// How often common time has jumped by more than a node's clock may be off.
    pub(crate) const fn jumps(&self) -> u64 {
        self.jumps
    }

    /// Looks at one reading, whose clocks were read within `apart_ns` of each other.
    fn watch(&mut self, offset_ns: i64, apart_ns: i64) {
        let allowed_ns = CLOCK_ERROR_MAX.as_nanos() as i64 + apart_ns;
        let known_ns = self.offset_ns.replace(offset_ns).unwrap_or(offset_ns);
        self.jumps += u64::from((offset_ns - known_ns).abs() > allowed_ns);
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Why nobody can say that this host's clock is within its bound; nothing if it is.
pub(crate) fn doubt() -> Option<String> {
    let way_out = "run ptp4l with phc2sys, or chronyd, against the clock of the station";
    match os::clock::discipline() {
        Err(error) => {
            Some(format!("the kernel does not report the accuracy of its clock ({error})"))
        }
        Ok(known) if !known.is_synchronised => Some(format!(
            "the clock is not synchronized: nodes on other hosts may reject all votes; {way_out}"
        )),
        Ok(known) if known.error_estimate > CLOCK_ERROR_MAX => Some(format!(
            "the clock error may be {:?}, and nodes tolerate {CLOCK_ERROR_MAX:?}; {way_out}",
            known.error_estimate
        )),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_counted_and_a_drift_is_not() {
        let mut clock = Clock::new();
        for offset_ns in (0..10_000_000).step_by(400_000) {
            clock.watch(offset_ns, 0);
        }
        assert_eq!(clock.jumps(), 0);
        clock.watch(20_000_000, 0);
        clock.watch(20_100_000, 0);
        clock.watch(5_000_000, 0);
        assert_eq!(clock.jumps(), 2);
        // Read with a pause between the clocks, this says nothing.
        clock.watch(9_000_000, 5_000_000);
        assert_eq!(clock.jumps(), 2);
    }

    #[test]
    fn both_clocks_are_of_one_moment() {
        let now = Clock::new().read();
        assert_eq!(now.own_at(now.realtime_ns() - 5000).ns(), now.own.ns() - 5000);
        assert_eq!(now.own_at(now.realtime_ns() + 5000), now.own, "nothing comes later than now");
    }
}
