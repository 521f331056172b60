//! What a person reads of a bay (MMXU and MSQI of IEC 61850-7-4): phasors, sequence components, power,
//! frequency.
//!
//! All are of the fundamental over one period, in primary values. Currents count out of the busbar, so
//! that power which leaves it is positive, and so is reactive power into an inductance. Nothing here
//! is for deciding: it is computed when somebody asks, from what the elements were given.

use super::complex::{Complex, Degrees};
use super::measure::Measured;
use super::phases::{powers, residual};
use super::symmetrical::Sequence;

/// Voltage below which an angle is that of noise, in V.
const REFERENCE_V_MIN: f64 = 100.0;

/// What is shown of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurands {
    /// Currents, in A; `None` while their quality is bad.
    pub currents: Option<Quantities>,
    /// Voltages to earth, in V; `None` while their quality is bad.
    pub voltages: Option<Quantities>,
    /// `None` while it is not measured: without voltage, and shortly after an inception.
    pub frequency_hz: Option<f64>,
}

/// Currents or voltages, turned so that the voltage of phase A has no angle; without it, the current of
/// phase A has none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantities {
    /// Phases A, B and C.
    pub phases: [Complex; 3],
    /// The sum of the phases.
    pub residual: Complex,
    /// What is in all three phases: positive, negative and zero sequence.
    pub sequence: Sequence,
}

impl Quantities {
    fn of(phases: [Complex; 3], turn: Complex) -> Self {
        let phases = phases.map(|phasor| phasor * turn);
        Self { phases, residual: residual(phases), sequence: Sequence::of(phases) }
    }

    /// Each with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Complex); 7] {
        let ([a, b, c], sequence) = (self.phases, self.sequence);
        [
            ("A", a),
            ("B", b),
            ("C", c),
            ("residual", self.residual),
            ("positive", sequence.positive),
            ("negative", sequence.negative),
            ("zero", sequence.zero),
        ]
    }
}

/// Complex power, in VA: the active part in W, the reactive part in var.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Power(pub Complex);

impl Power {
    /// Active power out of the busbar, in W.
    #[must_use]
    pub const fn active_w(self) -> f64 {
        self.0.re
    }

    /// Reactive power, in var: positive into an inductance beyond the busbar.
    #[must_use]
    pub const fn reactive_var(self) -> f64 {
        self.0.im
    }

    /// Apparent power, in VA.
    #[must_use]
    pub fn apparent_va(self) -> f64 {
        self.0.norm()
    }

    /// Active over apparent power, with the sign of the active; `None` without power.
    #[must_use]
    pub fn factor(self) -> Option<f64> {
        let apparent_va = self.apparent_va();
        (apparent_va > 0.0).then(|| self.active_w() / apparent_va)
    }
}

impl Measurands {
    /// Of what was measured, as far as currents and voltages can be used.
    #[must_use]
    pub fn of(measured: &Measured, currents_usable: bool, voltages_usable: bool) -> Self {
        let [current, voltage] = [measured.bay.currents[0], measured.bay.voltages[0]];
        let reference = match voltages_usable && voltage.norm() >= REFERENCE_V_MIN {
            true => voltage,
            false => current,
        };
        let turn = Complex::polar_deg(1.0, -reference.angle_deg());
        let quantities = |phasors, usable: bool| usable.then(|| Quantities::of(phasors, turn));
        Self {
            currents: quantities(measured.bay.currents, currents_usable),
            voltages: quantities(measured.bay.voltages, voltages_usable),
            frequency_hz: measured.frequency_hz.filter(|_| voltages_usable),
        }
    }

    /// Power of all phases together and of each; `None` unless both currents and voltages are there.
    #[must_use]
    pub fn power(&self) -> Option<[(&'static str, Power); 4]> {
        let (currents, voltages) = (self.currents?.phases, self.voltages?.phases);
        let [a, b, c] = powers(voltages, currents);
        Some([("total", Power(a + b + c)), ("A", Power(a)), ("B", Power(b)), ("C", Power(c))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::Bay;

    fn measured(currents: [Complex; 3], voltages: [Complex; 3]) -> Measured {
        let none = [Complex::ZERO; 3];
        let bay = Bay { currents, second_harmonics: none, voltages, frequency_hz: 50.0 };
        Measured { bay, fifth_harmonics: none, recent: None, frequency_hz: Some(50.0) }
    }

    fn symmetrical(magnitude: f64, angle_deg: f64) -> [Complex; 3] {
        [0.0, -120.0, 120.0].map(|phase| Complex::polar_deg(magnitude, angle_deg + phase))
    }

    #[test]
    fn a_load_of_60_degrees_takes_active_and_reactive_power_out_of_the_busbar() {
        let measured = measured(symmetrical(100.0, 17.0 - 60.0), symmetrical(63_500.0, 17.0));
        let measurands = Measurands::of(&measured, true, true);
        let [(_, total), (_, a), ..] = measurands.power().expect("all is there");
        let expected_va = 3.0 * 63_500.0 * 100.0;
        assert!((total.active_w() - expected_va * 0.5).abs() < 1.0, "{total:?}");
        assert!((total.reactive_var() - expected_va * 0.75_f64.sqrt()).abs() < 1.0, "{total:?}");
        assert!((total.apparent_va() - expected_va).abs() < 1.0, "{total:?}");
        assert!((total.factor().expect("there is power") - 0.5).abs() < 1e-9);
        assert!((a.active_w() - expected_va / 6.0).abs() < 1.0, "{a:?}");
        let (currents, voltages) = (measurands.currents.unwrap(), measurands.voltages.unwrap());
        assert!(voltages.phases[0].angle_deg().abs() < 1e-9, "it is the reference");
        assert!((currents.phases[0].angle_deg() + 60.0).abs() < 1e-9);
        assert!((currents.sequence.positive.norm() - 100.0).abs() < 1e-9);
        assert!(currents.sequence.negative.norm() < 1e-9 && currents.residual.norm() < 1e-9);
    }

    #[test]
    fn the_residual_is_three_times_the_zero_sequence() {
        let [a, b, c] = symmetrical(100.0, 0.0);
        let measured = measured([a * 4.0, b, c], symmetrical(63_500.0, 0.0));
        let currents = Measurands::of(&measured, true, true).currents.unwrap();
        assert!((currents.residual.norm() - 300.0).abs() < 1e-9, "{currents:?}");
        assert!((currents.residual - currents.sequence.zero * 3.0).norm() < 1e-9);
    }

    #[test]
    fn what_has_a_bad_quality_is_not_there() {
        let measured = measured(symmetrical(100.0, 40.0), symmetrical(63_500.0, 0.0));
        let without = Measurands::of(&measured, true, false);
        assert_eq!((without.voltages, without.frequency_hz), (None, None));
        assert!(without.power().is_none());
        let current = without.currents.expect("it is good").phases[0];
        assert!(current.angle_deg().abs() < 1e-9, "without voltages it is the reference");
        assert_eq!(Measurands::of(&measured, false, true).currents, None);
    }

    #[test]
    fn without_power_there_is_no_factor() {
        let measured = measured([Complex::ZERO; 3], symmetrical(63_500.0, 0.0));
        let [(_, total), ..] = Measurands::of(&measured, true, true).power().expect("it is there");
        assert_eq!(total.factor(), None);
    }
}
