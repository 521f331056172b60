//! How far the clock of a domain may go, from the beats of all processors.
//!
//! Each processor that programs may run on beats at short intervals. Where the last beat of every
//! one is young, all of them run programs, and time may pass. Where one is silent, the host (a
//! hypervisor, firmware, a kernel busy with itself) has taken it, and what runs there cannot act:
//! so the clock goes on for `allowed` after the oldest of the last beats, and no further.
//!
//! What is allowed adds up: a host that takes slices of just that length, one after the other, makes
//! everybody late and no stall. So silence in which the clock went on is owed: once all processors
//! beat again the clock is to stand for as long, while programs make up for it.

use vtime::{HostSpan, HostTime};

/// Beats within the time allowed: one may be late by half of it before the clock is stopped. More would
/// find no more stalls, and each costs some ten microseconds of its processor.
const BEATS: i64 = 2;
/// This part of the time allowed is no silence: so late beats are on a host that takes nothing.
const USUAL: i64 = 10;

#[derive(Clone, Debug)]
pub(super) struct Beats {
    last: Vec<HostTime>,
    allowed: HostSpan,
    /// Silence up to here has been reported: that of several processors at once counts once.
    reported: HostTime,
    /// For how long the clock went on in silence and has not stood since.
    owed: HostSpan,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beat {
    pub(super) limit: HostTime,
    /// For how long the processor was silent, unless that was reported of another one.
    pub(super) silence: HostSpan,
    /// For how long the clock is to stand now; the next beat of this processor is due later by that.
    pub(super) owed: HostSpan,
}

impl Beats {
    /// All of them have just beaten.
    pub(super) fn new(processors: usize, now: HostTime, allowed: HostSpan) -> Self {
        Self { last: vec![now; processors], allowed, reported: now, owed: HostSpan::ZERO }
    }

    /// From one beat to the next.
    pub(super) fn interval(allowed: HostSpan) -> HostSpan {
        HostSpan::from_ns((allowed.as_ns() / BEATS).max(1))
    }

    /// A processor beats, by its place among them, while the clock may go to `reached`.
    pub(super) fn beat(&mut self, processor: usize, now: HostTime, reached: HostTime) -> Beat {
        let due = self.last[processor] + Self::interval(self.allowed);
        let from = due.max(self.reported);
        let mut silence = HostSpan::ZERO;
        if (now - from).as_ns() > self.allowed.as_ns() / USUAL {
            silence = now - from;
            self.reported = now;
            self.owed += (reached.min(now) - from).max(HostSpan::ZERO);
        }
        self.last[processor] = now;
        let limit = *self.last.iter().min().expect("there is a processor") + self.allowed;
        let owed = if limit > now { std::mem::take(&mut self.owed) } else { HostSpan::ZERO };
        self.last[processor] = now + owed;
        Beat { limit, silence, owed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: HostSpan = HostSpan::ZERO;

    fn ns(ns: i64) -> HostTime {
        HostTime::from_ns(ns)
    }

    fn beats(processors: usize) -> Beats {
        Beats::new(processors, ns(0), HostSpan::from_ns(1000))
    }

    #[test]
    fn the_oldest_of_the_last_beats_counts() {
        let mut beats = beats(2);
        let (limit, far) = (|beat: Beat| beat.limit, HostTime::MAX);
        assert_eq!(limit(beats.beat(0, ns(500), far)), ns(1000));
        assert_eq!(limit(beats.beat(1, ns(520), far)), ns(1500));
        assert_eq!(limit(beats.beat(1, ns(1020), far)), ns(1500), "the other one is silent");
        assert_eq!(limit(beats.beat(1, ns(9000), far)), ns(1500));
        assert_eq!(limit(beats.beat(0, ns(9010), far)), ns(10_000));
    }

    #[test]
    fn a_beat_that_is_late_as_usual_owes_nothing() {
        let mut beats = beats(1);
        for beat in 1..100 {
            let Beat { silence, owed, .. } = beats.beat(0, ns(beat * 600), HostTime::MAX);
            assert_eq!((silence, owed), (NONE, NONE));
        }
    }

    #[test]
    fn what_passed_in_silence_is_owed_once_and_only_what_passed() {
        let span = HostSpan::from_ns;
        let mut beats = beats(2);
        // Both are silent, and the clock is stopped from 1000 on. The first one cannot pay yet.
        let first = beats.beat(0, ns(5000), ns(1000));
        assert_eq!(first, Beat { limit: ns(1000), silence: span(4500), owed: NONE });
        let second = beats.beat(1, ns(5010), ns(1000));
        assert_eq!(second, Beat { limit: ns(6000), silence: NONE, owed: span(500) });
        // The next one of who pays is due after that.
        let next = beats.beat(1, ns(6010), ns(6000));
        assert_eq!((next.silence, next.owed), (NONE, NONE));
    }

    #[test]
    fn each_slice_that_is_allowed_is_owed() {
        let mut beats = beats(1);
        let (mut now, mut owed) = (ns(0), 0);
        for _ in 0..100 {
            now = now + HostSpan::from_ns(500 + 400);
            let beat = beats.beat(0, now, HostTime::MAX);
            owed += beat.owed.as_ns();
            now = now + beat.owed;
        }
        assert_eq!(owed, 100 * 400);
    }
}
