//! Directional overcurrent (67): overcurrent that is seen only if the fault lies ahead.
//!
//! A phase is compared with the voltage across the other two, which a fault of that phase leaves
//! alone (quadrature connection); with the remembered voltage if that is gone too. Earth is
//! compared with the residual voltage, which a fault makes itself. In unbalanced faults the negative
//! sequence must not contradict: healthy phases carry currents that have a direction of their own.
//!
//! Directions are those of phasors since the inception; before there are any, none is known.

use iec61850::SampleTime;

use super::complex::{Complex, Degrees};
use super::overcurrent::{self, Current, Overcurrent};
use super::phases::{largest, residual};
use super::recent::Recent;
use super::symmetrical::Sequence;
use super::{Decision, PhaseSet};

/// Half of the angle in which a fault is ahead; what is left at each side is no direction.
const HALF_WIDTH_DEG: f64 = 85.0;

/// Share of the positive sequence voltage of before a fault below which what there is has no direction.
const COLLAPSED_SHARE: f64 = 0.3;

/// Least angle of the impedances that drive negative sequence, in degrees.
const LINE_DEG_MIN: f64 = 45.0;
/// Share of the current of a whole period that the current since the inception must have.
const WHOLE_SHARE: f64 = 0.7;

/// Where a fault is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Ahead: on the line.
    Forward,
    /// Behind: on the busbar.
    Reverse,
}

impl Way {
    /// What turns currents round where a fault is looked for behind: 1 or -1.
    #[must_use]
    pub const fn sign(self) -> f64 {
        match self {
            Self::Forward => 1.0,
            Self::Reverse => -1.0,
        }
    }
}

/// Which current is compared with which voltage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polarisation {
    /// Phase currents with the voltages across the other phases.
    Phases,
    /// The residual current with the residual voltage turned round.
    Residual,
}

/// Limits and times of a directional overcurrent element (67).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub overcurrent: overcurrent::Settings,
    pub way: Way,
    pub polarisation: Polarisation,
    /// By how much the current lags the voltage of its phase (or the residual voltage turned
    /// round) in the middle of ahead, in degrees.
    pub characteristic_deg: f64,
    /// Voltage below which an angle means nothing, in V.
    pub polarising_v_min: f64,
}

/// Currents and voltages of a bay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bay {
    /// Phase currents out of the busbar, in A.
    pub currents: [Complex; 3],
    pub second_harmonics: [Complex; 3],
    /// Phase voltages to earth, in V.
    pub voltages: [Complex; 3],
    /// The frequency of both, in Hz.
    pub frequency_hz: f64,
}

/// A directional overcurrent element (67).
#[derive(Clone, PartialEq, Debug)]
pub struct Directional {
    settings: Settings,
    overcurrent: Overcurrent,
    decision: Decision,
}

impl Directional {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            overcurrent: Overcurrent::new(settings.overcurrent),
            decision: Decision::NONE,
        }
    }

    /// Looks at a bay, and at what was measured since the last inception; while nothing is, so shortly
    /// after it, what was decided holds.
    pub fn update(&mut self, now: SampleTime, seen: Option<(&Bay, Option<&Recent>)>) -> Decision {
        let current = match seen {
            None => None,
            Some((_, None)) => return self.decision,
            // Nothing is left to compare with: the direction that was found holds while current flows.
            Some((bay, Some(recent))) if self.decision.start && self.is_blind(recent) => {
                Some(Current { fundamental_a: largest(bay.currents), second_harmonic_a: 0.0 })
            }
            Some((bay, Some(recent))) => Some(match self.settings.polarisation {
                Polarisation::Phases => self.phases(bay, recent),
                Polarisation::Residual => self.residual(bay, recent),
            }),
        };
        let phases = match self.settings.polarisation {
            Polarisation::Phases => PhaseSet::NONE,
            Polarisation::Residual => PhaseSet::EARTH,
        };
        self.decision = self.overcurrent.update(now, current).in_phases(phases);
        self.decision
    }

    /// Whether neither a voltage nor a memory of one is there.
    fn is_blind(&self, recent: &Recent) -> bool {
        let positive_v = Sequence::of(recent.voltages).positive.norm();
        self.settings.polarisation == Polarisation::Phases
            && recent.before.and_then(|before| before.voltage).is_none()
            && positive_v < self.settings.polarising_v_min
    }

    /// The largest phase current that flows the way that is looked.
    fn phases(&self, bay: &Bay, recent: &Recent) -> Current {
        // Only its angle is known, and no line has a smaller one.
        let line = Complex::polar_deg(1.0, self.settings.characteristic_deg.max(LINE_DEG_MIN));
        let mut largest = Current { fundamental_a: 0.0, second_harmonic_a: 0.0 };
        if negative_sequence_way(recent, line).is_some_and(|way| way != self.settings.way) {
            return largest;
        }
        let remembered = recent.before.and_then(|before| before.voltage);
        let is_known = |v: &Complex| v.norm() >= self.settings.polarising_v_min;
        let remembered = remembered.filter(is_known);
        // A fault of all phases leaves no voltage but what transformers make of its end.
        let positive_v = Sequence::of(recent.voltages).positive.norm();
        let has_collapsed = remembered.is_some_and(|v| positive_v < COLLAPSED_SHARE * v.norm());
        for phase in 0..3 {
            let [b, c] = [recent.voltages[(phase + 1) % 3], recent.voltages[(phase + 2) % 3]];
            // The voltage across the others lags that of the phase by 90 degrees.
            let own = (b - c).turned_deg(90.0) * (1.0 / 3f64.sqrt());
            let is_enough = own.norm() >= self.settings.polarising_v_min && !has_collapsed;
            let of_memory = remembered.map(|voltage| voltage.turned_deg(-120.0 * phase as f64));
            let reference = if is_enough { Some(own) } else { of_memory };
            let current_a = bay.currents[phase].norm();
            // What is much less than it was lately is being interrupted, and has no direction.
            let is_whole = recent.slopes[phase].norm() >= WHOLE_SHARE * current_a;
            let flows = is_whole && self.flows(recent.slopes[phase], reference);
            if flows && current_a > largest.fundamental_a {
                let second_harmonic_a = bay.second_harmonics[phase].norm();
                largest = Current { fundamental_a: current_a, second_harmonic_a };
            }
        }
        largest
    }

    fn residual(&self, bay: &Bay, recent: &Recent) -> Current {
        let (current, voltage) = (residual(recent.slopes), -residual(recent.voltages));
        let is_large = voltage.norm() >= self.settings.polarising_v_min;
        let flows = self.flows(current, is_large.then_some(voltage));
        Current {
            fundamental_a: if flows { residual(bay.currents).norm() } else { 0.0 },
            second_harmonic_a: residual(bay.second_harmonics).norm(),
        }
    }

    /// Whether a current flows the way that is looked; never, if there is nothing to compare it
    /// with.
    fn flows(&self, current: Complex, reference: Option<Complex>) -> bool {
        let Some(reference) = reference else { return false };
        let middle = reference.turned_deg(-self.settings.characteristic_deg);
        let off_deg = (current * middle.conj()).angle_deg().abs();
        match self.settings.way {
            Way::Forward => off_deg <= HALF_WIDTH_DEG,
            Way::Reverse => off_deg >= 180.0 - HALF_WIDTH_DEG,
        }
    }
}

/// Share of the negative in the positive sequence current from which it has a direction.
const NEGATIVE_SHARE_MIN: f64 = 0.1;
/// Share of the drop over the line from which the voltage of the negative sequence is one of a source
/// beyond it.
pub(super) const REVERSE_SHARE: f64 = 0.25;

/// Where an unbalanced fault lies, by its negative sequence: its voltage is what the source behind
/// the relay drops for a fault ahead, and what line and far source drop for one behind. `line` is an
/// impedance ahead, of which at least its angle is right; `None` where there is hardly any.
#[must_use]
pub fn negative_sequence_way(recent: &Recent, line: Complex) -> Option<Way> {
    let slopes = Sequence::of(recent.slopes);
    let currents = Sequence::of(recent.currents);
    let voltage = Sequence::of(recent.voltages).negative;
    if slopes.negative.norm() < NEGATIVE_SHARE_MIN * slopes.positive.norm() {
        return None;
    }
    let dropped = recent.drop(line, currents.negative, slopes.negative);
    let share = (voltage * dropped.conj()).re / dropped.norm_sqr();
    Some(if share < REVERSE_SHARE { Way::Forward } else { Way::Reverse })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overcurrent::Timing;
    use std::time::Duration;

    fn element(way: Way, polarisation: Polarisation) -> Directional {
        let timing = Timing::Definite(Duration::from_millis(50));
        let overcurrent =
            overcurrent::Settings { pick_up_a: 200.0, timing, second_harmonic_max: None };
        Directional::new(Settings {
            overcurrent,
            way,
            polarisation,
            characteristic_deg: 45.0,
            polarising_v_min: 500.0,
        })
    }

    /// What is measured of steady currents and voltages, behind this voltage of before.
    fn seen(currents: [Complex; 3], voltages: [Complex; 3], before: Complex) -> (Bay, Recent) {
        let second_harmonics = [Complex::ZERO; 3];
        let recent = Recent::steady(currents, voltages, before);
        (Bay { currents, second_harmonics, voltages, frequency_hz: 50.0 }, recent)
    }

    fn bay(currents: [Complex; 3], voltages: [Complex; 3]) -> (Bay, Recent) {
        seen(currents, voltages, Sequence::of(voltages).positive)
    }

    fn balanced(magnitude: f64, angle_deg: f64) -> [Complex; 3] {
        [0.0, -120.0, 120.0].map(|turn| Complex::polar_deg(magnitude, angle_deg + turn))
    }

    /// The millisecond at which it operates, phasors standing still.
    fn operates(element: &mut Directional, (bay, recent): &(Bay, Recent)) -> Option<u64> {
        let seen = Some((bay, Some(recent)));
        (0..400).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), seen).operate)
    }

    #[test]
    fn without_a_voltage_to_compare_with_nothing_flows_anywhere() {
        for way in [Way::Forward, Way::Reverse] {
            let mut element = element(way, Polarisation::Phases);
            let currents = [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(3000.0, a));
            let nothing = [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(5.0, a));
            let recent = Recent::steady(currents, nothing, nothing[0]);
            let bay = Bay {
                currents,
                second_harmonics: [Complex::ZERO; 3],
                voltages: nothing,
                frequency_hz: 50.0,
            };
            for ms in 0..100 {
                let now = SampleTime::from_ns(ms * 1_000_000);
                assert!(!element.update(now, Some((&bay, Some(&recent)))).start, "{way:?}");
            }
        }
    }

    #[test]
    fn a_fault_ahead_operates_forward_and_one_behind_reverse() {
        let voltages = balanced(5000.0, 0.0);
        for (angle_deg, ahead) in [(-60.0, true), (-10.0, true), (120.0, false), (170.0, false)] {
            let fault = bay(balanced(1000.0, angle_deg), voltages);
            let forward = operates(&mut element(Way::Forward, Polarisation::Phases), &fault);
            let reverse = operates(&mut element(Way::Reverse, Polarisation::Phases), &fault);
            assert_eq!(forward, ahead.then_some(50), "{angle_deg}");
            assert_eq!(reverse, (!ahead).then_some(50), "{angle_deg}");
        }
        let load = bay(balanced(190.0, -20.0), voltages);
        assert_eq!(operates(&mut element(Way::Forward, Polarisation::Phases), &load), None);
    }

    #[test]
    fn a_fault_at_the_terminals_is_seen_by_what_is_remembered() {
        for (angle_deg, ahead) in [(-60.0, true), (120.0, false)] {
            let mut element = element(Way::Forward, Polarisation::Phases);
            let before = Complex::polar_deg(6000.0, 0.0);
            let fault = seen(balanced(2000.0, angle_deg), [Complex::ZERO; 3], before);
            assert_eq!(operates(&mut element, &fault).is_some(), ahead, "{angle_deg}");
        }
    }

    #[test]
    fn what_was_decided_holds_while_nothing_is_measured() {
        let mut element = element(Way::Forward, Polarisation::Phases);
        let fault = bay(balanced(1000.0, -60.0), balanced(5000.0, 0.0));
        assert!(operates(&mut element, &fault).is_some());
        let held = element.update(SampleTime::from_ns(500_000_000), Some((&fault.0, None)));
        assert!(held.operate);
    }

    #[test]
    fn an_earth_fault_behind_turns_no_healthy_phase_ahead() {
        // Phase A flows back; the zero sequence of the far end flows ahead in B and C.
        let currents = [
            Complex::polar_deg(3000.0, 100.0),
            Complex::polar_deg(600.0, -80.0),
            Complex::polar_deg(600.0, -80.0),
        ];
        let mut voltages = balanced(6000.0, 0.0);
        voltages[0] = Complex::polar_deg(500.0, 0.0);
        let mut element = element(Way::Forward, Polarisation::Phases);
        assert_eq!(operates(&mut element, &bay(currents, voltages)), None);
    }

    #[test]
    fn earth_is_compared_with_the_residual_voltage() {
        let mut voltages = balanced(6000.0, 0.0);
        voltages[0] = Complex::polar_deg(1000.0, 0.0);
        for (angle_deg, ahead) in [(-45.0, true), (135.0, false)] {
            // The fault of phase A drives its current by the voltage that it took away.
            let currents = [Complex::polar_deg(600.0, angle_deg), Complex::ZERO, Complex::ZERO];
            let mut element = element(Way::Forward, Polarisation::Residual);
            assert_eq!(operates(&mut element, &bay(currents, voltages)).is_some(), ahead);
            let earth = if ahead { PhaseSet::EARTH } else { PhaseSet::NONE };
            assert_eq!(element.decision.phases, earth);
        }
        let mut element = element(Way::Forward, Polarisation::Residual);
        let balanced = bay(balanced(1000.0, -45.0), balanced(6000.0, 0.0));
        assert_eq!(operates(&mut element, &balanced), None);
    }

    #[test]
    fn an_untrusted_stream_blocks() {
        let mut element = element(Way::Forward, Polarisation::Phases);
        for ms in 0..200 {
            assert_eq!(element.update(SampleTime::from_ns(ms * 1_000_000), None), Decision::NONE);
        }
    }
}
