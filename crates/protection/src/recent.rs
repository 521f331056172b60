//! Phasors since the last inception: what distance and direction decide with.
//!
//! A window that holds both samples of before a fault and of the fault gives a phasor of neither, and
//! its angle is worth nothing. So the window begins at the inception and grows to a period; before half
//! of one there is no phasor, and whoever decides keeps what was decided. Over such a window a
//! sinusoid is fitted by least squares, which is exact for any length; of a whole period it is the
//! Fourier transform.
//!
//! Each current is measured twice: by its samples and by their differences. The second has hardly any
//! of the decaying offset. The drop over a line, `R i + L di/dt`, is made of both, so that for a fault
//! at the end of that line it equals the voltage from the first sample on, offset and all (replica
//! impedance; Gilcrest, Rockefeller and Udren 1972).

use std::f64::consts::{PI, SQRT_2};

use super::complex::Complex;
use super::filter::Window;

/// Share of a period before which nothing is measured.
pub const SPAN_MIN: f64 = 0.5;

/// Periods after an inception from which phasors are those of a steady state, and what is left of a
/// voltage is harmonics, which a whole period does not see.
pub const STEADY_PERIODS: f64 = 6.0;

/// What measures voltages on the primary side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transformers {
    /// Capacitors with a reactor: they ring when the voltage collapses, so that a voltage is doubted for some
    /// periods.
    Capacitive,
    /// A transformer alone, or a sensor: what they show is the voltage, offset included.
    Inductive,
}

/// What was measured since the last inception.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recent {
    /// Phase currents by their samples, in A.
    pub currents: [Complex; 3],
    /// Phase currents by the differences of their samples, in A: without offset.
    pub slopes: [Complex; 3],
    /// Phase voltages to earth, in V.
    pub voltages: [Complex; 3],
    /// Phase voltages by the differences of their samples, in V: without what decays slowly, as the
    /// transient of a capacitive transformer.
    pub voltage_slopes: [Complex; 3],
    /// What of each voltage is no sinusoid of this frequency: root mean square, in V; an offset is part of
    /// it behind capacitive transformers.
    pub rests_v: [f64; 3],
    /// What measured the voltages.
    pub transformers: Transformers,
    /// Share of a period that was looked at.
    pub span: f64,
    /// Periods since the inception.
    pub age: f64,
    /// Positive sequence voltage and slopes of before it, turned to now, while they are remembered.
    pub before: Option<Before>,
    /// Frequency, as a share of nominal: by so much reactances are other than set.
    pub frequency_ratio: f64,
}

#[cfg(test)]
impl Recent {
    /// What is measured long after an inception, of phasors that stay as they are.
    pub(super) fn steady(currents: [Complex; 3], voltages: [Complex; 3], before: Complex) -> Self {
        Self {
            currents,
            slopes: currents,
            voltages,
            voltage_slopes: voltages,
            rests_v: [0.0; 3],
            transformers: Transformers::Inductive,
            span: 1.0,
            age: 5.0,
            before: Some(Before { voltage: Some(before), currents: [Complex::ZERO; 3] }),
            frequency_ratio: 1.0,
        }
    }
}

/// What was before an inception.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Before {
    /// Positive sequence voltage, in V; `None` once its angle is not to be trusted any more.
    pub voltage: Option<Complex>,
    /// Phase currents, in A.
    pub currents: [Complex; 3],
}

impl Recent {
    /// The drop over an impedance, given at nominal frequency, of a current by samples and by slopes.
    #[must_use]
    pub fn drop(&self, impedance: Complex, current: Complex, slope: Complex) -> Complex {
        current * impedance.re + slope * Complex::new(0.0, impedance.im * self.frequency_ratio)
    }
}

/// Powers of a turn by a sample at a frequency, for windows of any length.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// `e^(jωk)` for the sample `k` before the newest.
    turns: Vec<Complex>,
    step: Complex,
}

/// A sinusoid over some samples, and what it leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fitted {
    pub phasor: Complex,
    /// Root mean square of what it leaves, and of that without its mean.
    pub rest: f64,
    pub rest_without_mean: f64,
}

impl Fit {
    /// For windows of at most `samples_max`.
    #[must_use]
    pub fn new(rate: u32, frequency_hz: f64, samples_max: usize) -> Self {
        let mut fit = Self { turns: vec![Complex::ONE; samples_max], step: Complex::ONE };
        fit.tune(rate, frequency_hz);
        fit
    }

    /// Makes it the fit for another frequency.
    pub fn tune(&mut self, rate: u32, frequency_hz: f64) {
        self.step = Complex::from_polar(1.0, 2.0 * PI * frequency_hz / f64::from(rate));
        let mut turn = Complex::ONE;
        for each in &mut self.turns {
            *each = turn;
            turn *= self.step;
        }
    }

    /// The sinusoid nearest to the newest `count` samples; `None` if there are not that many.
    #[must_use]
    pub fn of(&self, window: &Window, count: usize) -> Option<Fitted> {
        let samples = window.samples(count)?;
        let (mut sum, mut squares, mut mean) = (Complex::ZERO, 0.0, 0.0);
        for (sample, turn) in samples.iter().rev().zip(&self.turns) {
            sum += turn * *sample;
            squares += sample * sample;
            mean += sample;
        }
        let phasor = self.solved(sum, count);
        let explained = SQRT_2 * (phasor * sum.conj()).re;
        let left = (squares - explained).max(0.0) / count as f64;
        let turns = self.turns(count);
        let mean = (mean - SQRT_2 * (phasor * turns.conj()).re) / count as f64;
        let rest_without_mean = (left - mean * mean).max(0.0).sqrt();
        Some(Fitted { phasor, rest: left.sqrt(), rest_without_mean })
    }

    /// The same of the differences between samples, as the phasor of the samples themselves.
    #[must_use]
    pub fn of_differences(&self, window: &Window, count: usize) -> Option<Complex> {
        let samples = window.samples(count + 1)?;
        let mut sum = Complex::ZERO;
        for (pair, turn) in samples.windows(2).rev().zip(&self.turns) {
            sum += turn * (pair[1] - pair[0]);
        }
        Some(self.solved(sum, count) / (Complex::ONE - self.step.conj()))
    }

    /// `sum` is `Σ x_k e^(jωk)`, k back from the newest; of `x_k = (X e^(-jωk) + its conjugate) / √2` that
    /// is `(X n + X* P) / √2` with `P = Σ e^(2jωk)`.
    fn solved(&self, sum: Complex, count: usize) -> Complex {
        let n = count as f64;
        let image = self.image(count);
        (sum * n - image * sum.conj()) * (SQRT_2 / (n * n - image.norm_sqr()))
    }

    /// `Σ e^(jωk)` of so many samples.
    fn turns(&self, count: usize) -> Complex {
        let last = match self.turns.get(count) {
            Some(turn) => *turn,
            None => self.step.powu(count as u32),
        };
        (Complex::ONE - last) / (Complex::ONE - self.step)
    }

    fn image(&self, count: usize) -> Complex {
        let square = self.step * self.step;
        let last = match self.turns.get(count) {
            Some(turn) => turn * turn,
            None => square.powu(count as u32),
        };
        (Complex::ONE - last) / (Complex::ONE - square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sinusoid_is_fitted_exactly_over_any_window(
            frequency_hz in 45.0f64..65.0, angle_deg in -180.0f64..180.0, share in 0.5f64..=1.0,
            offset: bool,
        ) {
            let rate = 4800;
            let phasor = Complex::polar_deg(100.0, angle_deg);
            let mut window = Window::new(rate);
            let turn = 2.0 * PI * frequency_hz / f64::from(rate);
            for back in (0..200).rev() {
                let wave = SQRT_2 * (phasor * Complex::from_polar(1.0, -turn * f64::from(back))).re;
                window.push(wave + if offset { 80.0 } else { 0.0 });
            }
            let fit = Fit::new(rate, frequency_hz, 125);
            let count = (share * f64::from(rate) / frequency_hz) as usize;
            let differences = fit.of_differences(&window, count).unwrap();
            prop_assert!((differences - phasor).norm() < 1e-6, "{differences}");
            let fitted = fit.of(&window, count).unwrap();
            if offset {
                prop_assert!(fitted.rest > 20.0, "{}", fitted.rest);
                prop_assert!(fitted.rest_without_mean < fitted.rest, "{fitted:?}");
            } else {
                prop_assert!((fitted.phasor - phasor).norm() < 1e-6, "{fitted:?}");
                prop_assert!(fitted.rest < 1e-3, "{fitted:?}");
            }
        }
    }

    #[test]
    fn a_fault_at_the_end_of_the_line_drops_its_voltage_from_the_first_sample_on() {
        let (rate, frequency_hz) = (4000, 50.0);
        let omega = 2.0 * PI * frequency_hz;
        let (resistance_ohm, reactance_ohm) = (1.0, 8.0);
        let tau_s = reactance_ohm / omega / resistance_ohm;
        let (mut current, mut voltage) = (Window::new(rate), Window::new(rate));
        let fit = Fit::new(rate, frequency_hz, 100);
        for number in 0..60 {
            let time_s = f64::from(number) / f64::from(rate);
            let wave = (omega * time_s).cos();
            current.push(1000.0 * (wave - (-time_s / tau_s).exp()));
            let slope =
                1000.0 * (-omega * (omega * time_s).sin() + (-time_s / tau_s).exp() / tau_s);
            let amperes = 1000.0 * (wave - (-time_s / tau_s).exp());
            voltage.push(resistance_ohm * amperes + reactance_ohm / omega * slope);
        }
        let impedance = Complex::new(resistance_ohm, reactance_ohm);
        let dropped = Recent::steady([Complex::ZERO; 3], [Complex::ZERO; 3], Complex::ZERO).drop(
            impedance,
            fit.of(&current, 50).unwrap().phasor,
            fit.of_differences(&current, 50).unwrap(),
        );
        let voltage = fit.of(&voltage, 50).unwrap().phasor;
        assert!((dropped - voltage).norm() < 0.01 * voltage.norm(), "{dropped} {voltage}");
    }
}
