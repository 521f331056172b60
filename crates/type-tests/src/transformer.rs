//! What instrument transformers make of a wave: the transient of a capacitive voltage transformer (CVT)
//! and the saturation of a current transformer.
//!
//! The CVT is its equivalent circuit (Hou and Roberts 1996; IEC 61869-5): the capacitors' sum in series
//! with the compensating reactor, which resonate at nominal frequency, and behind them the transformer's
//! magnetising inductance, the burden and a ferroresonance suppression: a resistor (passive), or a tuned
//! circuit that is blind to the nominal frequency, damped by a resistor (active). It is linear, and
//! stepped exactly with the matrix exponential, with the input held over a fifth of a sample.

use std::f64::consts::PI;

use nalgebra::{DMatrix, DVector};

use crate::line::Sample;

/// How ferroresonance is suppressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Suppression {
    Active,
    Passive,
}

/// One phase of a capacitive voltage transformer, in ohm of its intermediate voltage.
#[derive(Clone, Debug)]
pub struct Cvt {
    state: DVector<f64>,
    step: DMatrix<f64>,
    input: DVector<f64>,
    output: DVector<f64>,
    gain: f64,
    last: f64,
}

/// Steps of the circuit for a sample.
const STEPS: usize = 5;

impl Cvt {
    /// A transformer at rest; samples come at `rate` a second, `hz` is nominal.
    ///
    /// # Panics
    /// Never: its circuit has a solution.
    #[must_use]
    pub fn new(suppression: Suppression, hz: f64, rate: f64) -> Self {
        let omega = 2.0 * PI * hz;
        // Capacitors of 30 nF, as small as they are made, at an intermediate voltage of 20 kV with a burden
        // of some 270 VA: the transient is then among the largest that are published.
        let capacitance = 0.03e-6;
        let inductance = 1.0 / (omega * omega * capacitance);
        let (resistance, burden, magnetising) = (2e3, 1.5e6, 4e6 / omega);
        // States: capacitor voltage, reactor current, magnetising current, and of the active suppression
        // the current of its inductance and the voltage of its capacitor.
        let active = suppression == Suppression::Active;
        let size = if active { 5 } else { 3 };
        let suppressing = if active { 2e5 } else { 1e6 };
        // The voltage behind the reactor, by the states: (i - im - ...) through what is resistive there.
        // Passive: v = (i - im) Rp. Active: the tuned circuit in series with its resistor carries
        // (v - vt) / Rs.
        let conductance = 1.0 / burden + 1.0 / suppressing;
        let mut voltage = DVector::zeros(size);
        voltage[1] = 1.0 / conductance;
        voltage[2] = -1.0 / conductance;
        if active {
            voltage[4] = 1.0 / suppressing / conductance;
        }
        let mut system = DMatrix::zeros(size, size);
        system[(0, 1)] = 1.0 / capacitance;
        system[(1, 0)] = -1.0 / inductance;
        system[(1, 1)] = -resistance / inductance;
        for column in 0..size {
            system[(1, column)] -= voltage[column] / inductance;
            system[(2, column)] += voltage[column] / magnetising;
        }
        if active {
            // A parallel circuit tuned to nominal: hardly any current flows there in steady state.
            let tuned_c = 0.03e-6;
            let tuned_l = 1.0 / (omega * omega * tuned_c);
            system[(3, 4)] = 1.0 / tuned_l;
            for column in 0..size {
                let through = (voltage[column] - if column == 4 { 1.0 } else { 0.0 }) / suppressing;
                system[(4, column)] += through / tuned_c;
            }
            system[(4, 3)] -= 1.0 / tuned_c;
        }
        let mut forcing = DVector::zeros(size);
        forcing[1] = 1.0 / inductance;
        let span = 1.0 / rate / STEPS as f64;
        let step = (&system * span).exp();
        let identity = DMatrix::identity(size, size);
        let inverse = system.clone().try_inverse().expect("the circuit has losses");
        let input = inverse * (&step - identity) * forcing;
        let mut cvt = Self {
            state: DVector::zeros(size),
            step,
            input,
            output: voltage,
            gain: 1.0,
            last: 0.0,
        };
        // What it makes of a steady wave is what its ratio is made for.
        let mut peak = 0.0f64;
        let samples = (rate * 2.0) as usize;
        for number in 0..samples {
            let value = cvt.pass((omega * number as f64 / rate).cos());
            if number > samples / 2 {
                peak = peak.max(value.abs());
            }
        }
        Self { gain: 1.0 / peak, state: DVector::zeros(size), last: 0.0, ..cvt }
    }

    /// What the relay gets of all three phases, of a transformer in each.
    ///
    /// # Panics
    /// Never, as [`Cvt::new`].
    pub fn transform(suppression: Suppression, hz: f64, rate: f64, samples: &mut [Sample]) {
        let mut cvts = [(); 3].map(|()| Self::new(suppression, hz, rate));
        for sample in samples {
            for (cvt, voltage) in cvts.iter_mut().zip(&mut sample.voltages) {
                *voltage = cvt.pass(*voltage);
            }
        }
    }

    /// The next sample of the primary voltage; what the relay gets of it.
    pub fn pass(&mut self, voltage: f64) -> f64 {
        for step in 1..=STEPS {
            let share = (step as f64 - 0.5) / STEPS as f64;
            let between = self.last + (voltage - self.last) * share;
            self.state = &self.step * &self.state + &self.input * between;
        }
        self.last = voltage;
        self.output.dot(&self.state) * self.gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of the voltage after it has gone at `angle`, as a share of its peak, by the millisecond.
    fn collapse(suppression: Suppression, angle: f64) -> Vec<f64> {
        let rate = 4000.0;
        let mut cvt = Cvt::new(suppression, 50.0, rate);
        let mut left = Vec::new();
        for number in 0..6000 {
            let wave = (2.0 * PI * 50.0 * f64::from(number) / rate + angle).cos();
            let value = cvt.pass(if number < 4800 { wave } else { 0.0 });
            if number >= 4800 && number % 8 == 0 {
                left.push(value);
            }
        }
        left
    }

    #[test]
    fn a_voltage_that_collapses_leaves_a_transient_that_dies_away() {
        for suppression in [Suppression::Passive, Suppression::Active] {
            for angle in [0.0, PI / 2.0] {
                let left = collapse(suppression, angle);
                let worst = |from: usize| left[from..].iter().map(|v| v.abs()).fold(0.0, f64::max);
                assert!(worst(60) < 0.03, "{suppression:?}: {} after 120 ms", worst(60));
                // The worst is a collapse at zero, as published (Hou and Roberts 1996).
                let expected = if angle > 0.0 { 0.1..0.5 } else { 0.001..0.3 };
                assert!(expected.contains(&worst(1)), "{suppression:?} at {angle}: {}", worst(1));
            }
        }
    }
}
