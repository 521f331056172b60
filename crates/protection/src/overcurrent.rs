//! Overcurrent: instantaneous or after a fixed time (50, PIOC; 51 with definite time, PTOC), or
//! after an inverse time (51, PTOC). Of phases, it looks at the largest; of earth (50N, 51N), at
//! the residual current, which the caller computes or measures.
//!
//! A second harmonic above its share of the fundamental blocks, where the setting asks for it: a
//! transformer that is switched on draws such a current and is not faulty.

use std::time::Duration;

use iec61850::SampleTime;

use super::curve::{Curve, Disc, Reset};
use super::timing::{Delay, Level};
use super::{Complex, Decision, PhaseSet};

/// Drop-off as a share of the pick-up: what relays of today are built to.
const DROP_OFF_RATIO: f64 = 0.95;

/// How long it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Timing {
    /// A fixed time; zero for instantaneous.
    Definite(Duration),
    /// A curve with its factor `k`, and how it is forgotten.
    Inverse(Curve, f64, Reset),
}

/// Limits and times of an overcurrent element (50, 51).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub pick_up_a: f64,
    /// How long it takes.
    pub timing: Timing,
    /// Share of the second harmonic from which it is blocked.
    pub second_harmonic_max: Option<f64>,
}

/// What it looks at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Current {
    /// Fundamental, in A: the largest of the phases, or the residual.
    pub fundamental_a: f64,
    /// Second harmonic of the same current, in A.
    pub second_harmonic_a: f64,
}

impl Current {
    /// Whether its second harmonic is above this share, as when a transformer is switched on.
    pub(super) fn is_inrush(&self, share_max: f64) -> bool {
        self.second_harmonic_a > share_max * self.fundamental_a
    }
}

/// An overcurrent element (50, 51).
#[derive(Clone, PartialEq, Debug)]
pub struct Overcurrent {
    settings: Settings,
    level: Level,
    wait: Wait,
    before: Option<SampleTime>,
}

#[derive(Clone, PartialEq, Debug)]
enum Wait {
    Definite(Delay),
    Inverse(Disc),
}

impl Overcurrent {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let wait = match settings.timing {
            Timing::Definite(span) => Wait::Definite(Delay::new(span)),
            Timing::Inverse(curve, k, reset) => Wait::Inverse(Disc::new(curve, k, reset)),
        };
        let level = Level::new(settings.pick_up_a, DROP_OFF_RATIO);
        Self { settings, level, wait, before: None }
    }

    /// Looks at a current.
    pub fn update(&mut self, now: SampleTime, current: Option<Current>) -> Decision {
        let share_max = self.settings.second_harmonic_max;
        let is_inrush = |current: &Current| share_max.is_some_and(|max| current.is_inrush(max));
        let Some(current) = current.filter(|current| !is_inrush(current)) else {
            self.level.reset();
            self.before = None;
            match &mut self.wait {
                Wait::Definite(delay) => delay.reset(),
                Wait::Inverse(disc) => disc.reset(),
            }
            return Decision::NONE;
        };
        let start = self.level.update(current.fundamental_a);
        let span = self.before.map_or(Duration::ZERO, |before| now.since(before));
        self.before = Some(now);
        match &mut self.wait {
            Wait::Definite(delay) => delay.update(now, start),
            Wait::Inverse(disc) => {
                let multiple = current.fundamental_a / self.settings.pick_up_a;
                // Between drop-off and pick-up the disc stands: the formula has no time there.
                let is_between = start && multiple <= 1.0;
                let has_come_round =
                    if is_between { disc.turned() >= 1.0 } else { disc.turn(span, multiple) };
                Decision::new(start, start && has_come_round)
            }
        }
    }

    /// The phases in which a current is above the drop-off.
    #[must_use]
    pub fn phases(&self, currents: [Complex; 3]) -> PhaseSet {
        let drop_off_a = DROP_OFF_RATIO * self.settings.pick_up_a;
        PhaseSet::of(currents.map(|current| current.norm() > drop_off_a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    fn amperes(fundamental_a: f64) -> Option<Current> {
        Some(Current { fundamental_a, second_harmonic_a: 0.0 })
    }

    fn element(timing: Timing) -> Overcurrent {
        Overcurrent::new(Settings { pick_up_a: 100.0, timing, second_harmonic_max: Some(0.15) })
    }

    /// The millisecond at which it operates.
    fn operates(element: &mut Overcurrent, current: Option<Current>) -> Option<u64> {
        (0..100_000).find(|ms| element.update(at(*ms), current).operate)
    }

    #[test]
    fn load_does_not_start_it_and_a_fault_operates_it_in_its_time() {
        let timing = Timing::Definite(Duration::from_millis(40));
        assert_eq!(operates(&mut element(timing), amperes(99.9)), None);
        assert_eq!(operates(&mut element(timing), amperes(100.1)), Some(40));
        assert_eq!(
            operates(&mut element(Timing::Definite(Duration::ZERO)), amperes(101.0)),
            Some(0)
        );
    }

    #[test]
    fn it_drops_off_at_95_percent() {
        let mut element = element(Timing::Definite(Duration::ZERO));
        assert!(element.update(at(0), amperes(101.0)).operate);
        assert!(element.update(at(1), amperes(95.5)).operate);
        assert!(!element.update(at(2), amperes(94.5)).start);
        assert!(!element.update(at(3), amperes(99.0)).start);
    }

    #[test]
    fn inverse_times_are_those_of_the_curve() {
        for curve in Curve::ALL {
            for multiple in [1.2, 2.0, 5.0, 10.0, 20.0] {
                let mut element = element(Timing::Inverse(curve, 1.0, Reset::Instantaneous));
                let expected_ms = curve.operate_s(1.0, multiple).unwrap() * 1e3;
                if expected_ms > 99_000.0 {
                    continue;
                }
                let taken_ms = operates(&mut element, amperes(100.0 * multiple)).unwrap() as f64;
                let error_ms = (taken_ms - expected_ms).abs();
                assert!(
                    error_ms <= (0.01 * expected_ms).max(1.01),
                    "{curve:?} at {multiple}: {taken_ms}"
                );
            }
        }
    }

    #[test]
    fn inrush_blocks_and_a_stream_that_is_not_to_be_trusted_does() {
        let timing = Timing::Definite(Duration::from_millis(20));
        let inrush = Some(Current { fundamental_a: 800.0, second_harmonic_a: 200.0 });
        assert_eq!(operates(&mut element(timing), inrush), None);
        let mut element = element(timing);
        for ms in 0..20 {
            assert!(element.update(at(ms), amperes(800.0)).start);
        }
        assert_eq!(element.update(at(20), None), Decision::NONE);
        // It starts again: what it saw before the gap says nothing.
        assert!(!element.update(at(21), amperes(800.0)).operate);
        assert!(element.update(at(41), amperes(800.0)).operate);
    }
}
