//! Waves that a fault makes, sample by sample: steady load and harmonics, a fault current with the
//! offset that its moment gives it, the inrush of a transformer, and what a current transformer
//! makes of a current when it saturates.
//!
//! For tests and for merging units that are fed with phasors. It is no network: the caller
//! knows the phasors of before and of the fault.

use std::f64::consts::{PI, SQRT_2};

use crate::Complex;

/// A current or voltage of one phase.
#[derive(Clone, PartialEq, Debug)]
pub struct Wave {
    pub frequency_hz: f64,
    /// Root mean square value and angle before the fault, at time zero.
    pub before: Complex,
    /// The fault, if there is one.
    pub fault: Option<Fault>,
    /// Number, and root mean square value and angle at time zero, of each harmonic.
    pub harmonics: Vec<(u8, Complex)>,
}

/// What changes at a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    /// When; the angle of the wave then decides on the offset.
    pub begin_s: f64,
    /// When it is cleared, at the next zero of the current; infinite for never.
    pub end_s: f64,
    /// Root mean square value and angle of the steady fault, at time zero.
    pub steady: Complex,
    /// Time constant of the offset; zero for none, as for voltages.
    pub offset_tau_s: f64,
}

impl Wave {
    /// The value at a time. A current does not jump: what the steady waves of before and of the
    /// fault differ by at its begin decays with the time constant.
    #[must_use]
    pub fn value(&self, time_s: f64) -> f64 {
        let steady = |phasor: Complex, order: f64, time_s: f64| {
            SQRT_2
                * (phasor * Complex::from_polar(1.0, 2.0 * PI * self.frequency_hz * order * time_s))
                    .re
        };
        let harmonics: f64 = self
            .harmonics
            .iter()
            .map(|(order, phasor)| steady(*phasor, (*order).into(), time_s))
            .sum();
        let fundamental = match self.fault.filter(|fault| time_s >= fault.begin_s) {
            None => steady(self.before, 1.0, time_s),
            Some(fault) if time_s >= fault.end_s => 0.0,
            Some(fault) if fault.offset_tau_s > 0.0 => {
                let jump = steady(self.before, 1.0, fault.begin_s)
                    - steady(fault.steady, 1.0, fault.begin_s);
                let decay = (-(time_s - fault.begin_s) / fault.offset_tau_s).exp();
                steady(fault.steady, 1.0, time_s) + jump * decay
            }
            Some(fault) => steady(fault.steady, 1.0, time_s),
        };
        fundamental + harmonics
    }
}

/// The inrush current of one phase of a transformer: pulses of one direction, the part of each
/// period in which the core is saturated, smaller with time.
#[must_use]
pub fn inrush(time_s: f64, frequency_hz: f64, peak: f64, angle_rad: f64, tau_s: f64) -> f64 {
    // Saturated while the flux is above this share of its peak: some 120 degrees.
    const SATURATED_ABOVE: f64 = 0.5;
    if time_s < 0.0 {
        return 0.0;
    }
    let flux = (2.0 * PI * frequency_hz * time_s + angle_rad).cos();
    let above = (flux - SATURATED_ABOVE).max(0.0) / (1.0 - SATURATED_ABOVE);
    peak * above * (-time_s / tau_s).exp()
}

/// A current transformer with a resistive burden, after the model of the IEEE Power System
/// Relaying Committee (2004): the magnetising current is a power of the flux.
#[derive(Clone, PartialEq, Debug)]
pub struct CurrentTransformer {
    burden_ohm: f64,
    /// The flux at which the magnetising current is 10 A times the square root of 2, in Vs.
    knee_vs: f64,
    flux_vs: f64,
}

/// Power of the magnetising current in the flux.
const STEEPNESS: i32 = 21;
/// Magnetising current at the knee, in A (secondary).
const KNEE_A: f64 = 10.0 * SQRT_2;

impl CurrentTransformer {
    /// A transformer with this burden, winding included, whose saturation voltage (root mean
    /// square, at 10 A) and frequency are those; `remanence` is the flux that is left in it, as a
    /// share of the knee.
    ///
    /// # Panics
    /// When a value is not positive.
    #[must_use]
    pub fn new(burden_ohm: f64, saturation_v: f64, frequency_hz: f64, remanence: f64) -> Self {
        assert!(
            burden_ohm > 0.0 && saturation_v > 0.0 && frequency_hz > 0.0,
            "values are positive"
        );
        let knee_vs = SQRT_2 * saturation_v / (2.0 * PI * frequency_hz);
        Self { burden_ohm, knee_vs, flux_vs: remanence * knee_vs }
    }

    /// The secondary current, when the ideal one is `ideal_a` for the next `step_s`.
    pub fn pass(&mut self, ideal_a: f64, step_s: f64) -> f64 {
        // dΨ/dt = R (i - im(Ψ)), backward Euler: what is sought is where both sides meet, and as
        // one side grows and the other falls there is one such place only.
        let reach_vs = step_s * self.burden_ohm * ideal_a.abs();
        let (mut low, mut high) = (self.flux_vs - reach_vs, self.flux_vs + reach_vs);
        low = low.min(0.0);
        high = high.max(0.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let excess = middle
                - self.flux_vs
                - step_s * self.burden_ohm * (ideal_a - self.magnetising_a(middle));
            if excess > 0.0 { high = middle } else { low = middle }
        }
        self.flux_vs = 0.5 * (low + high);
        ideal_a - self.magnetising_a(self.flux_vs)
    }

    fn magnetising_a(&self, flux_vs: f64) -> f64 {
        KNEE_A * (flux_vs / self.knee_vs).powi(STEEPNESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const RATE: f64 = 4000.0;

    fn fault(angle_deg: f64) -> Wave {
        Wave {
            frequency_hz: 50.0,
            before: Complex::polar_deg(1.0, 0.0),
            fault: Some(Fault {
                begin_s: 0.1,
                end_s: f64::INFINITY,
                steady: Complex::polar_deg(20.0, angle_deg),
                offset_tau_s: 0.05,
            }),
            harmonics: vec![],
        }
    }

    #[test]
    fn a_current_does_not_jump_and_its_offset_depends_on_the_moment() {
        let peak = |angle_deg| {
            let wave = fault(angle_deg);
            assert!((wave.value(0.1) - wave.value(0.1 - 1e-9)).abs() < 1e-3);
            (0..800).map(|n| wave.value(0.1 + f64::from(n) / RATE).abs()).fold(0.0, f64::max)
        };
        // At the zero of the steady wave there is none; at its peak the whole of it.
        assert!((peak(-90.0) / (20.0 * SQRT_2) - 1.0).abs() < 0.05);
        assert!(peak(0.0) / (20.0 * SQRT_2) > 1.7);
    }

    #[test]
    fn a_transformer_passes_load_and_saturates_on_an_offset() {
        let pass = |wave: &Wave, saturation_v: f64| -> Vec<(f64, f64)> {
            let mut transformer = CurrentTransformer::new(1.0, saturation_v, 50.0, 0.0);
            (0..1200)
                .map(|n| {
                    let ideal = wave.value(f64::from(n) / RATE);
                    (ideal, transformer.pass(ideal, 1.0 / RATE))
                })
                .collect()
        };
        let worst =
            |passed: &[(f64, f64)]| passed.iter().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let (large, small) = (pass(&fault(0.0), 2000.0), pass(&fault(0.0), 60.0));
        assert!(worst(&large) < 0.05 * 20.0);
        // For some milliseconds after the fault it is as good as the large one.
        assert!(worst(&small[..400 + 12]) < 0.05 * 20.0);
        assert!(worst(&small) > 15.0);
    }

    #[test]
    fn inrush_has_a_second_harmonic() {
        use crate::{Filter, Offset, Window};
        let mut window = Window::new(4000);
        for n in 0..200 {
            window.push(inrush(f64::from(n) / RATE, 50.0, 8.0, 0.3, 0.5));
        }
        let part = |harmonic| {
            Filter::new(4000, 50.0, harmonic, Offset::Kept).phasor(&window).map(Complex::norm)
        };
        assert!(part(2).unwrap() > 0.3 * part(1).unwrap());
    }
}
