//! Earth faults in networks that are isolated, or earthed through a coil, by admittance (Wahlroos
//! and Altonen 2013).
//!
//! `Y0 = 3 I0 / -U0` is what the relay sees behind itself when its feeder is faulty: the rest of
//! the network, with a positive conductance; and the feeder's own admittance, with a negative
//! sign, when it is not. A coil cancels the susceptance at the fundamental but not at harmonics,
//! so those of the second to the ninth are added with their imaginary parts, and they tell clearly
//! what the fundamental hardly does. Sums are kept while the fault lasts, so that one that
//! strikes again and again is known by all of its strikes.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::complex::{Complex, Degrees};
use super::timing::{Delay, Level};

/// Highest harmonic that is added.
pub const HARMONIC_MAX: usize = 9;
/// Share of the fundamental residual voltage below which a harmonic is only noise.
const HARMONIC_SHARE_MIN: f64 = 0.005;

/// Limits and delay of an admittance element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Residual voltage `U0` from which there is an earth fault, in V.
    pub residual_v_min: f64,
    /// Magnitude of the admittance below which nothing is said, in S.
    pub admittance_s_min: f64,
    /// By how much the half plane of a faulty feeder is turned, in degrees: conductances are
    /// small, and angles err.
    pub tilt_deg: f64,
    /// Whether harmonics are added.
    pub multi_frequency: bool,
    /// From start to operation.
    pub delay: Duration,
}

/// What it looks at: residual current `3 I0` out of the busbar and residual voltage `U0`, of the
/// fundamental first and then of harmonics 2 to 9.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Residual {
    /// Three times the zero sequence current, in A.
    pub current: [Complex; HARMONIC_MAX],
    /// The zero sequence voltage, in V.
    pub voltage: [Complex; HARMONIC_MAX],
}

impl Residual {
    /// The admittance, harmonics included if there are any above the noise.
    #[must_use]
    pub fn admittance(&self, multi_frequency: bool) -> Complex {
        let of = |index: usize| self.current[index] / -self.voltage[index];
        let fundamental = of(0);
        if !multi_frequency {
            return fundamental;
        }
        let noise_v = HARMONIC_SHARE_MIN * self.voltage[0].norm();
        let harmonics = (1..HARMONIC_MAX).filter(|index| self.voltage[*index].norm() > noise_v);
        fundamental + Complex::new(0.0, harmonics.map(|index| of(index).im).sum())
    }
}

/// An admittance element for earth faults.
#[derive(Clone, PartialEq, Debug)]
pub struct Admittance {
    settings: Settings,
    level: Level,
    sum: Complex,
    delay: Delay,
}

impl Admittance {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            level: Level::new(settings.residual_v_min, 0.95),
            sum: Complex::ZERO,
            delay: Delay::new(settings.delay),
        }
    }

    /// Looks at the residual quantities.
    pub fn update(&mut self, now: SampleTime, residual: Option<&Residual>) -> Decision {
        let Some(residual) =
            residual.filter(|residual| self.level.update(residual.voltage[0].norm()))
        else {
            self.level.reset();
            self.sum = Complex::ZERO;
            self.delay.reset();
            return Decision::NONE;
        };
        let admittance = residual.admittance(self.settings.multi_frequency);
        self.sum += admittance;
        let start = admittance.norm() > self.settings.admittance_s_min && self.is_ahead(self.sum);
        self.delay.update(now, start)
    }

    fn is_ahead(&self, sum: Complex) -> bool {
        sum.turned_deg(-self.settings.tilt_deg).re > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Susceptances at 50 Hz of the faulty feeder and of all the others, in S.
    const FEEDER_S: f64 = 2e-4;
    const OTHERS_S: f64 = 8e-4;

    /// What the relay of a feeder sees at a fault with 20 % of fifth harmonic in `U0`. `coil` is
    /// the share of all capacitance that the coil takes away; its losses are 3 % of it.
    fn seen(is_faulty: bool, coil: f64) -> Residual {
        let mut residual = Residual {
            current: [Complex::ZERO; HARMONIC_MAX],
            voltage: [Complex::ZERO; HARMONIC_MAX],
        };
        for (harmonic, volts) in [(1.0, 6000.0), (5.0, 1200.0)] {
            let index = harmonic as usize - 1;
            let coil_s = coil * (FEEDER_S + OTHERS_S);
            let rest = Complex::new(0.03 * coil_s + 1e-5, OTHERS_S * harmonic - coil_s / harmonic);
            let own = Complex::new(2e-6, FEEDER_S * harmonic);
            let voltage = Complex::polar_deg(volts, 37.0 * harmonic);
            residual.voltage[index] = voltage;
            residual.current[index] = if is_faulty { -(rest * voltage) } else { own * voltage };
        }
        residual
    }

    fn operates(is_faulty: bool, coil: f64, multi_frequency: bool) -> Option<u64> {
        let mut element = Admittance::new(Settings {
            residual_v_min: 1000.0,
            admittance_s_min: 5e-5,
            tilt_deg: 5.0,
            multi_frequency,
            delay: Duration::from_millis(100),
        });
        let residual = seen(is_faulty, coil);
        (0..1000)
            .find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), Some(&residual)).operate)
    }

    #[test]
    fn the_faulty_feeder_operates_in_every_kind_of_network_and_no_other() {
        for coil in [0.0, 0.5, 0.95, 1.05] {
            assert_eq!(operates(true, coil, true), Some(100), "coil {coil}");
            assert_eq!(operates(false, coil, true), None, "coil {coil}");
            assert_eq!(operates(false, coil, false), None, "coil {coil}, fundamental only");
        }
        assert_eq!(operates(true, 0.0, false), Some(100));
    }

    #[test]
    fn without_residual_voltage_or_trust_nothing_is_seen() {
        let settings = Settings {
            residual_v_min: 7000.0,
            admittance_s_min: 5e-5,
            tilt_deg: 5.0,
            multi_frequency: true,
            delay: Duration::ZERO,
        };
        let mut element = Admittance::new(settings);
        assert_eq!(element.update(SampleTime::ZERO, Some(&seen(true, 0.0))), Decision::NONE);
        assert_eq!(element.update(SampleTime::ZERO, None), Decision::NONE);
    }

    #[test]
    fn a_fault_that_strikes_again_and_again_is_told_by_all_strikes() {
        let settings = Settings {
            residual_v_min: 1000.0,
            admittance_s_min: 5e-5,
            tilt_deg: 5.0,
            multi_frequency: true,
            delay: Duration::ZERO,
        };
        let mut element = Admittance::new(settings);
        // Between strikes the network rings, and the relay sees what looks like another's fault.
        let mut operated = 0;
        for ms in 0..100 {
            let residual = seen(ms % 4 != 3, 0.95);
            operated += u32::from(
                element.update(SampleTime::from_ns(ms * 1_000_000), Some(&residual)).operate,
            );
        }
        assert!(operated > 90, "{operated}");
    }
}
