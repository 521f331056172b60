//! The end of a line with little behind it, or with an open breaker (weak infeed, 27WI): it sees no
//! fault of the line by its currents, and the strong end, which waits for its permission, would not
//! trip either. So it sends back (echoes) what it hears, and may trip by low voltage.
//!
//! ```text
//! idle --heard, quiet--> heard --for `delay`--> echoing --for 100 ms, or not quiet--> locked
//! heard --silence, or not quiet--> idle
//! locked --silence, 250 ms after the echo began--> idle
//! ```
//!
//! Quiet is an end that can see, and has seen a fault neither ahead nor behind for 200 ms: what it
//! hears of a fault behind it is no permission to ask for. `delay` is for its elements to see that
//! fault. An echo is one pulse and locks itself out, so that two weak ends do not answer each
//! other for ever. Duration and lock-out are those of the POTT scheme of GE's UR relays; ABB's
//! ZCRWPSCH has the same logic.

use std::time::Duration;

use iec61850::SampleTime;

use super::PhaseSet;

/// How long an echo lasts at most: until the strong end has tripped.
const ECHO: Duration = Duration::from_millis(100);
/// How long after the begin of an echo there is no other.
const LOCKOUT: Duration = Duration::from_millis(250);
/// How long after a fault was seen signals of it may still come.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// Delay and limit of a weak end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// From a signal to its echo.
    pub delay: Duration,
    /// Voltage of a phase below which it trips, in V; `None` to echo only.
    pub trip_below_v: Option<f64>,
}

/// An end that echoes what it hears and cannot see.
#[derive(Clone, PartialEq, Debug)]
pub struct WeakEnd {
    settings: Settings,
    state: State,
    /// When a fault was last seen, ahead or behind.
    fault: Option<SampleTime>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Idle,
    Heard(SampleTime),
    Echoing(SampleTime),
    /// Since the begin of the echo.
    Locked(SampleTime),
}

impl WeakEnd {
    /// An end at rest.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, state: State::Idle, fault: None }
    }

    /// Looks at what it hears, whether it can see, and whether it sees a fault; answers whether it
    /// echoes.
    pub fn update(&mut self, now: SampleTime, hears: bool, can_see: bool, fault: bool) -> bool {
        if fault {
            self.fault = Some(now);
        }
        let is_quiet = can_see && self.fault.is_none_or(|fault| now.since(fault) >= AFTERWARDS);
        if self.state == State::Idle && hears && is_quiet {
            self.state = State::Heard(now);
        }
        self.state = match self.state {
            State::Heard(_) if !hears || !is_quiet => State::Idle,
            State::Heard(since) if now.since(since) >= self.settings.delay => State::Echoing(now),
            State::Echoing(since) if !is_quiet || now.since(since) >= ECHO => State::Locked(since),
            State::Locked(since) if !hears && now.since(since) >= LOCKOUT => State::Idle,
            state => state,
        };
        matches!(self.state, State::Echoing(_))
    }

    /// Phases whose voltage is low enough for a trip: one alone is that of a fault to earth.
    #[must_use]
    pub fn low(&self, phases_v: [f64; 3]) -> PhaseSet {
        let is_low = |v: f64| self.settings.trip_below_v.is_some_and(|limit_v| v < limit_v);
        let low = PhaseSet::of(phases_v.map(is_low));
        if low.count() == 1 { low | PhaseSet::EARTH } else { low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end() -> WeakEnd {
        WeakEnd::new(Settings { delay: Duration::from_millis(40), trip_below_v: Some(40_000.0) })
    }

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    /// Milliseconds in which it echoes.
    fn echoes(hears: impl Fn(u64) -> bool, sees: bool, fault: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut end = end();
        (0..1500).filter(|ms| end.update(at(*ms), hears(*ms), sees, fault(*ms))).collect()
    }

    #[test]
    fn what_lasts_is_echoed_once() {
        let expected: Vec<u64> = (140..240).collect();
        assert_eq!(echoes(|ms| ms >= 100, true, |_| false), expected, "it stays");
        assert_eq!(echoes(|ms| (100..150).contains(&ms), true, |_| false), expected, "it ends");
        assert!(echoes(|ms| (100..140).contains(&ms), true, |_| false).is_empty(), "too short");
    }

    #[test]
    fn there_is_no_echo_of_a_fault_that_is_seen_or_could_not_be() {
        let hears = |ms| ms >= 100;
        assert!(echoes(hears, false, |_| false).is_empty(), "it is blind");
        let late = echoes(hears, true, |ms| ms == 139);
        assert_eq!(late.first(), Some(&379), "200 ms after the fault, and its delay");
        let cut = echoes(hears, true, |ms| ms == 150);
        assert_eq!(cut, (140..150).collect::<Vec<u64>>());
    }

    #[test]
    fn an_echo_locks_itself_out() {
        let hears = |ms| (100..200).contains(&ms) || ms == 300 || (360..700).contains(&ms);
        let all = echoes(hears, true, |_| false);
        let second = all.iter().find(|ms| **ms >= 240);
        assert_eq!(second, None, "what is heard from 360 on came before the lock-out had ended");
        let hears = |ms| (100..200).contains(&ms) || ms >= 400;
        assert!(echoes(hears, true, |_| false).contains(&440));
    }

    #[test]
    fn phases_with_low_voltage_are_known() {
        let low = |phases_v| end().low(phases_v).to_string();
        assert_eq!(low([63_000.0, 39_000.0, 41_000.0]), "BN");
        assert_eq!(low([39_000.0, 39_000.0, 63_000.0]), "AB");
        assert_eq!((low([0.0; 3]), low([63_000.0; 3])), ("ABC".into(), String::new()));
        let echo_only = Settings { trip_below_v: None, ..end().settings };
        assert_eq!(WeakEnd::new(echo_only).low([0.0; 3]), PhaseSet::NONE);
    }
}
