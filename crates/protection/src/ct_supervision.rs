//! Supervision of current transformers (60CT): the secondary circuit of one is open or shorted, and what
//! looks at residual or negative sequence currents must not believe them.
//!
//! A transformer that fails takes the current of its phase away while the voltages stay as they are; a
//! fault to earth adds current and moves the voltages. So there must be a residual current, no residual
//! and no negative sequence voltage, and one phase that carries much less than the other two, which are
//! alike. The last is what saves a close fault in a strong network, whose voltages hardly move.
//!
//! While the voltages are not balanced it says nothing, also when it said something before: a fault that
//! comes then is left to all elements. A conductor that is open on the primary side looks the same.

use std::time::Duration;

use iec61850::SampleTime;

use super::direction::Bay;
use super::phases::residual;
use super::timing::{Delay, Level};
use super::{Complex, Decision, PhaseSet, Sequence};

/// Drop-off as a share of the pick-up.
const DROP_OFF_RATIO: f64 = 0.9;
/// Share of the lesser of the other two below which a phase has lost its current; it has it back above
/// the other one.
const LOST_SHARE: f64 = 0.5;
const BACK_SHARE: f64 = 0.8;
/// Share of the larger of the other two that the lesser has at least: load, and no fault in one of them.
const ALIKE_SHARE: f64 = 0.7;

/// Limits and delay of a supervision of current transformers (60CT).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Residual current, `3 I0`, above which a transformer may have failed, in A.
    pub residual_a: f64,
    /// Voltage of the negative or zero sequence above which there is a fault, in V.
    pub unbalance_v: f64,
    /// Positive sequence voltage below which it says nothing, in V.
    pub voltage_v_min: f64,
    /// From what it sees to blocking.
    pub delay: Duration,
}

/// A supervision of current transformers (60CT).
#[derive(Clone, PartialEq, Debug)]
pub struct CtSupervision {
    settings: Settings,
    residual: Level,
    /// The phase without current, by its place.
    lost: Option<usize>,
    delay: Delay,
}

impl CtSupervision {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let residual = Level::new(settings.residual_a, DROP_OFF_RATIO);
        Self { settings, residual, lost: None, delay: Delay::new(settings.delay) }
    }

    /// Looks at a bay; operates when the currents are not to be believed.
    pub fn update(&mut self, now: SampleTime, bay: Option<&Bay>) -> Decision {
        let Some(bay) = bay.filter(|bay| self.is_quiet(bay)) else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let is_residual = self.residual.update(residual(bay.currents).norm());
        let currents_a = bay.currents.map(Complex::norm);
        let share = |phase| if self.lost == Some(phase) { BACK_SHARE } else { LOST_SHARE };
        self.lost = (0..3).find(|phase| has_lost(currents_a, *phase, share(*phase)));
        let decision = self.delay.update(now, is_residual && self.lost.is_some());
        decision.in_phases(self.lost.map_or(PhaseSet::NONE, PhaseSet::phase))
    }

    /// Whether the voltages are those without a fault.
    fn is_quiet(&self, bay: &Bay) -> bool {
        let Sequence { positive, negative, zero } = Sequence::of(bay.voltages);
        positive.norm() >= self.settings.voltage_v_min
            && negative.norm().max(zero.norm()) <= self.settings.unbalance_v
    }
}

/// Whether a phase carries less than a share of the other two, which are alike.
fn has_lost(currents_a: [f64; 3], phase: usize, share: f64) -> bool {
    let others = [1, 2].map(|step| currents_a[(phase + step) % 3]);
    let (least, most) = (others[0].min(others[1]), others[0].max(others[1]));
    least >= ALIKE_SHARE * most && currents_a[phase] < share * least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const VOLTAGE_V: f64 = 63_500.0;

    fn element() -> CtSupervision {
        CtSupervision::new(Settings {
            residual_a: 40.0,
            unbalance_v: 3000.0,
            voltage_v_min: 40_000.0,
            delay: Duration::from_millis(20),
        })
    }

    /// A bay with these shares of the voltage and currents in the phases.
    fn bay(voltages: [f64; 3], currents_a: [f64; 3]) -> Bay {
        let phase = |magnitude: f64, index: usize| {
            Complex::polar_deg(magnitude, 25.0 - 120.0 * index as f64)
        };
        Bay {
            currents: std::array::from_fn(|index| phase(currents_a[index], index)),
            second_harmonics: [Complex::ZERO; 3],
            voltages: std::array::from_fn(|index| phase(voltages[index] * VOLTAGE_V, index)),
            frequency_hz: 50.0,
        }
    }

    /// The millisecond at which it operates.
    fn operates(element: &mut CtSupervision, bay: &Bay) -> Option<u64> {
        (0..500).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), Some(bay)).operate)
    }

    #[test]
    fn a_phase_without_current_is_seen_in_load_and_named() {
        for phase in 0..3 {
            for left in [0.0, 0.2, 0.45] {
                let mut currents_a = [300.0, 280.0, 310.0];
                currents_a[phase] *= left;
                let mut element = element();
                let seen = bay([1.0; 3], currents_a);
                assert_eq!(operates(&mut element, &seen), Some(20), "{currents_a:?}");
                let said = element.update(SampleTime::from_ns(30_000_000), Some(&seen));
                assert_eq!(said.phases, PhaseSet::phase(phase));
            }
        }
    }

    #[test]
    fn load_faults_and_a_line_that_is_off_are_none() {
        let healthy = [1.0; 3];
        for (voltages, currents_a) in [
            (healthy, [300.0; 3]),
            (healthy, [300.0, 200.0, 260.0]),
            (healthy, [0.0; 3]),
            // Light load: there is no residual current to be misled by.
            (healthy, [0.0, 30.0, 30.0]),
            // Earth faults: voltages move, or hardly, with load and without.
            ([0.6, 1.0, 1.0], [2000.0, 300.0, 300.0]),
            ([0.99, 1.0, 1.0], [2000.0, 300.0, 300.0]),
            ([0.99, 1.0, 1.0], [2000.0, 0.0, 0.0]),
            ([0.99, 0.99, 1.0], [2000.0, 1200.0, 300.0]),
            // The phase has no current, and there is a fault as well.
            ([1.0, 0.5, 1.0], [0.0, 300.0, 300.0]),
            // A dead line.
            ([0.0; 3], [0.0, 300.0, 300.0]),
        ] {
            let taken = operates(&mut element(), &bay(voltages, currents_a));
            assert_eq!(taken, None, "{voltages:?}, {currents_a:?}");
        }
    }

    #[test]
    fn it_ends_with_the_current_with_a_fault_and_with_an_invalid_stream() {
        let failed = bay([1.0; 3], [300.0, 0.0, 300.0]);
        for (after, stays) in [
            (Some(bay([1.0; 3], [300.0, 230.0, 300.0])), true),
            (Some(bay([1.0; 3], [300.0, 250.0, 300.0])), false),
            (Some(bay([0.5, 1.0, 1.0], [3000.0, 0.0, 300.0])), false),
            (None, false),
        ] {
            let mut element = element();
            operates(&mut element, &failed).expect("it is seen");
            let said = element.update(SampleTime::from_ns(600_000_000), after.as_ref());
            assert_eq!(said.operate, stays, "{after:?}");
        }
    }
}
