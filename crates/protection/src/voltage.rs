//! Undervoltage and overvoltage (27, PTUV; 59, PTOV; IEC 60255-127), of phases or of what is left of
//! them: between phases, the positive sequence (27D), the negative sequence (47) or the residual
//! voltage (59N).
//!
//! Of three voltages, the settings say whether any or all of them must be wrong. Undervoltage is blocked
//! while they are all so low that the line is dead: a feeder that is switched off is not faulty.
//!
//! The time is fixed, or depends on how far the voltage is beyond the limit. As with currents
//! ([`super::curve`]), a voltage that changes is integrated: it turns by `dt / t(U)`, and operates after
//! one turn.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::{Delay, Level};
use super::{Complex, Decision, PhaseSet, Sequence};

/// Drop-off as a share of the pick-up, for overvoltage; as much on the other side for undervoltage.
const DROP_OFF_RATIOS: [f64; 2] = [0.95, 1.05];

/// Which side of the threshold is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Operates below the limit: undervoltage (27).
    Under,
    /// Operates above the limit: overvoltage (59).
    Over,
}

/// How many of the phases must be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phases {
    /// One phase beyond the limit suffices.
    Any,
    /// All three phases must be beyond the limit.
    All,
}

/// Which voltages are compared with the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Each phase to earth.
    PhaseToEarth,
    /// Between two phases: AB, BC and CA.
    PhaseToPhase,
    /// The positive sequence, `U1` (27D).
    PositiveSequence,
    /// The negative sequence, `U2` (47).
    NegativeSequence,
    /// The residual voltage, `3 U0`: the sum of the phases (59N).
    Residual,
}

impl Of {
    /// Magnitudes to compare, in V, and in which phases each is.
    fn values(self, voltages: [Complex; 3]) -> ([f64; 3], [PhaseSet; 3], usize) {
        let phases = [0, 1, 2].map(PhaseSet::phase);
        let [a, b, c] = voltages;
        let single = |value: Complex, phases| ([value.norm(); 3], [phases; 3], 1);
        match self {
            Self::PhaseToEarth => (voltages.map(Complex::norm), phases, 3),
            Self::PhaseToPhase => {
                let pairs = [0, 1, 2].map(|first| phases[first] | phases[(first + 1) % 3]);
                ([a - b, b - c, c - a].map(Complex::norm), pairs, 3)
            }
            Self::PositiveSequence => single(Sequence::of(voltages).positive, PhaseSet::NONE),
            Self::NegativeSequence => single(Sequence::of(voltages).negative, PhaseSet::NONE),
            Self::Residual => single(a + b + c, PhaseSet::EARTH),
        }
    }
}

/// How long it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Timing {
    /// A fixed time; zero for instantaneous.
    Definite(Duration),
    /// `k / |U / U> - 1|` seconds, of this `k` (IEC 60255-127).
    Dependent(f64),
}

/// Limit and delay of a voltage element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Voltages that are compared with the limit.
    pub of: Of,
    /// Which side is wrong.
    pub side: Side,
    /// The threshold, in V.
    pub pick_up_v: f64,
    /// How many phases must be beyond it, where there are three.
    pub phases: Phases,
    /// From start to operation.
    pub timing: Timing,
    /// Below this voltage in all that is compared undervoltage is blocked, in V; zero for never.
    pub dead_below_v: f64,
}

/// A voltage element (27, 47, 59).
#[derive(Clone, PartialEq, Debug)]
pub struct Voltage {
    settings: Settings,
    levels: [Level; 3],
    wait: Wait,
}

#[derive(Clone, PartialEq, Debug)]
enum Wait {
    Definite(Delay),
    /// When it looked last, and how far it has turned then, 0 to 1.
    Dependent(f64, Option<SampleTime>, f64),
}

impl Voltage {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let [over, under] = DROP_OFF_RATIOS;
        let ratio = if settings.side == Side::Under { under } else { over };
        let level = Level::new(settings.pick_up_v, ratio);
        let levels = [level.clone(), level.clone(), level];
        let wait = match settings.timing {
            Timing::Definite(span) => Wait::Definite(Delay::new(span)),
            Timing::Dependent(k) => Wait::Dependent(k, None, 0.0),
        };
        Self { settings, levels, wait }
    }

    /// Looks at the voltages from phases to earth.
    pub fn update(&mut self, now: SampleTime, voltages: Option<[Complex; 3]>) -> Decision {
        let values = voltages.map(|voltages| self.settings.of.values(voltages));
        let Some((values_v, phases, count)) = values.filter(|(values, ..)| !self.is_dead(values))
        else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let mut wrong = 0;
        let mut of = PhaseSet::NONE;
        for index in 0..count {
            if self.levels[index].update(values_v[index]) {
                wrong += 1;
                of = of | phases[index];
            }
        }
        let needed = if self.settings.phases == Phases::All { count } else { 1 };
        let multiple = self.deciding_v(values_v) / self.settings.pick_up_v;
        self.wait.update(now, wrong >= needed, multiple, self.settings.side).in_phases(of)
    }

    fn is_dead(&self, values_v: &[f64; 3]) -> bool {
        self.settings.side == Side::Under
            && values_v.iter().all(|value| *value < self.settings.dead_below_v)
    }

    /// The voltage that decides how long it takes: the worst, or the best where all must be wrong.
    fn deciding_v(&self, values_v: [f64; 3]) -> f64 {
        match (self.settings.side, self.settings.phases) {
            (Side::Over, Phases::Any) | (Side::Under, Phases::All) => {
                values_v.into_iter().fold(0.0, f64::max)
            }
            _ => values_v.into_iter().fold(f64::INFINITY, f64::min),
        }
    }
}

impl Wait {
    fn update(&mut self, now: SampleTime, start: bool, multiple: f64, side: Side) -> Decision {
        match self {
            Self::Definite(delay) => delay.update(now, start),
            Self::Dependent(k, before, turned) => {
                let span = before.map_or(Duration::ZERO, |before| now.since(before));
                *before = Some(now);
                let beyond = if side == Side::Over { multiple - 1.0 } else { 1.0 - multiple };
                // Between pick-up and drop-off it stands: the formula has no time there.
                let turn = span.as_secs_f64() * beyond.max(0.0) / *k;
                *turned = if start { (*turned + turn).min(1.0) } else { 0.0 };
                Decision::new(start, *turned >= 1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const DELAY: Timing = Timing::Definite(Duration::from_millis(100));

    fn settings(of: Of, side: Side, pick_up_v: f64, phases: Phases) -> Settings {
        Settings { of, side, pick_up_v, phases, timing: DELAY, dead_below_v: 10.0 }
    }

    fn element(side: Side, pick_up_v: f64, phases: Phases) -> Voltage {
        Voltage::new(settings(Of::PhaseToEarth, side, pick_up_v, phases))
    }

    /// Phases of these magnitudes, each 120 degrees behind the one before.
    fn three(magnitudes: [f64; 3]) -> Option<[Complex; 3]> {
        let phase = |index: usize| Complex::polar_deg(magnitudes[index], -120.0 * index as f64);
        Some([0, 1, 2].map(phase))
    }

    fn operates(element: &mut Voltage, voltages: Option<[Complex; 3]>) -> Option<u64> {
        (0..20_000).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), voltages).operate)
    }

    #[test]
    fn both_sides_operate_in_their_time_and_normal_voltage_operates_neither() {
        let normal = three([230.0; 3]);
        let low = three([230.0, 183.0, 230.0]);
        let under = |phases| element(Side::Under, 184.0, phases);
        assert_eq!(operates(&mut under(Phases::Any), normal), None);
        assert_eq!(operates(&mut under(Phases::Any), low), Some(100));
        assert_eq!(operates(&mut under(Phases::All), low), None);
        assert_eq!(operates(&mut element(Side::Over, 253.0, Phases::Any), normal), None);
        let high = three([254.0, 230.0, 230.0]);
        assert_eq!(operates(&mut element(Side::Over, 253.0, Phases::Any), high), Some(100));
    }

    #[test]
    fn a_dead_line_and_an_invalid_stream_block() {
        let dead = three([3.0; 3]);
        assert_eq!(operates(&mut element(Side::Under, 184.0, Phases::Any), dead), None);
        assert_eq!(operates(&mut element(Side::Under, 184.0, Phases::Any), None), None);
    }

    #[test]
    fn it_drops_off_with_hysteresis() {
        let mut under = element(Side::Under, 184.0, Phases::Any);
        let at = SampleTime::ZERO;
        assert!(under.update(at, three([183.0; 3])).start);
        assert!(under.update(at, three([192.0; 3])).start);
        assert!(!under.update(at, three([194.0; 3])).start);
    }

    #[test]
    fn each_quantity_sees_what_it_is_of_and_names_the_phases() {
        // An earth fault of a resonant network: the star point has moved, nothing between phases has.
        let neutral = Complex::new(-230.0, 0.0);
        let earth_fault = three([230.0; 3]).map(|phases| phases.map(|phase| phase + neutral));
        // The phases turn the wrong way round.
        let swapped = three([230.0; 3]).map(|[a, b, c]| [a, c, b]);
        let low = three([230.0, 180.0, 230.0]);
        let [a, b, c] = [0, 1, 2].map(PhaseSet::phase);
        for (of, side, pick_up_v, voltages, phases) in [
            (Of::PhaseToEarth, Side::Under, 100.0, earth_fault, Some(a)),
            (Of::PhaseToEarth, Side::Over, 390.0, earth_fault, Some(b | c)),
            (Of::PhaseToPhase, Side::Under, 390.0, earth_fault, None),
            (Of::PhaseToPhase, Side::Over, 400.0, earth_fault, None),
            (Of::PhaseToPhase, Side::Under, 380.0, low, Some(PhaseSet::ALL)),
            (Of::PositiveSequence, Side::Under, 225.0, earth_fault, None),
            (Of::PositiveSequence, Side::Under, 225.0, low, Some(PhaseSet::NONE)),
            (Of::NegativeSequence, Side::Over, 1.0, earth_fault, None),
            (Of::NegativeSequence, Side::Over, 229.0, swapped, Some(PhaseSet::NONE)),
            (Of::Residual, Side::Over, 689.0, earth_fault, Some(PhaseSet::EARTH)),
            (Of::Residual, Side::Over, 691.0, earth_fault, None),
            (Of::Residual, Side::Over, 1.0, swapped, None),
        ] {
            let settings =
                Settings { dead_below_v: 0.0, ..settings(of, side, pick_up_v, Phases::Any) };
            let decision = Voltage::new(settings).update(SampleTime::ZERO, voltages);
            assert_eq!(decision.start.then_some(decision.phases), phases, "{settings:?}");
        }
    }

    #[test]
    fn dependent_times_are_those_of_the_standard() {
        // 2 / (1.25 - 1) = 8 s, 2 / (1.5 - 1) = 4 s, 2 / (1 - 0.5) = 4 s.
        for (side, phases, volts, expected_ms) in [
            (Side::Over, Phases::Any, [125.0, 90.0, 90.0], Some(8000)),
            (Side::Over, Phases::All, [150.0, 125.0, 140.0], Some(8000)),
            (Side::Over, Phases::Any, [150.0; 3], Some(4000)),
            (Side::Under, Phases::Any, [110.0, 50.0, 110.0], Some(4000)),
            (Side::Under, Phases::All, [20.0, 50.0, 20.0], Some(4000)),
            (Side::Over, Phases::Any, [99.0; 3], None),
        ] {
            let timing = Timing::Dependent(2.0);
            let settings = Settings { timing, ..settings(Of::PhaseToEarth, side, 100.0, phases) };
            let taken_ms = operates(&mut Voltage::new(settings), three(volts));
            // A millisecond is the step of the integration.
            let is_right = match (taken_ms, expected_ms) {
                (Some(taken), Some(expected)) => taken.abs_diff(expected) <= 1,
                (taken, expected) => taken == expected,
            };
            assert!(is_right, "{settings:?}: {taken_ms:?} ms, not {expected_ms:?}");
        }
    }

    #[test]
    fn a_dependent_time_stands_between_pick_up_and_drop_off_and_is_forgotten_below() {
        let timing = Timing::Dependent(1.0);
        let settings =
            Settings { timing, ..settings(Of::PhaseToEarth, Side::Over, 100.0, Phases::Any) };
        let mut element = Voltage::new(settings);
        // A turn takes a second at 200 V.
        let mut at =
            |ms: u64, volts| element.update(SampleTime::from_ns(ms * 1_000_000), three([volts; 3]));
        assert_eq!(at(0, 200.0), Decision::new(true, false).in_phases(PhaseSet::ALL));
        assert!(!at(900, 200.0).operate);
        assert!(at(1900, 96.0).start);
        assert!(!at(1999, 200.0).operate);
        assert!(at(2001, 200.0).operate);
        assert_eq!(at(2002, 94.0), Decision::NONE);
        assert!(!at(2999, 200.0).operate);
    }
}
