//! From the samples of a stream to what elements look at: windows, filters that follow the
//! frequency, phasors.
//!
//! Currents and voltages pass through the same filter, mimic included, so that what a fault does
//! to one in its first period it does to the other as well, and impedances stay meaningful.

use std::time::Duration;

use super::admittance::{HARMONIC_MAX, Residual};
use super::complex::Complex;
use super::differential::Side;
use super::direction::Bay;
use super::filter::{FREQUENCY_HZ_MAX, FREQUENCY_HZ_MIN, Filter, Window};
use super::frequency::FrequencyTracker;
use super::symmetrical::Sequence;

/// Channels of 9-2LE: Ia, Ib, Ic, In, Ua, Ub, Uc, Un.
pub const CHANNELS: usize = 8;
/// Time constant of the mimic: between those of lines and of transformers.
const OFFSET: Duration = Duration::from_millis(45);
/// Change of frequency that new filters are worth: 0.005 Hz are 0.01 % of error.
const STEP_HZ: f64 = 0.005;

/// Measures the channels of one stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Measuring {
    rate: u32,
    windows: [Window; CHANNELS],
    tracker: FrequencyTracker,
    /// The frequency that the filters are for.
    frequency_hz: f64,
    fundamental: Filter,
    second: Filter,
    fifth: Filter,
    /// All harmonics of residual quantities, for the frequency below.
    residual: [Filter; HARMONIC_MAX],
    residual_hz: f64,
}

/// Phasors of a stream at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Currents in A and voltages in V.
    pub bay: Bay,
    /// Fifth harmonics of the currents.
    pub fifth_harmonics: [Complex; 3],
    /// The frequency, if it was measured now and not held.
    pub frequency_hz: Option<f64>,
}

impl Measured {
    /// The currents as one side of a differential element, still in A.
    #[must_use]
    pub const fn side(&self) -> Side {
        Side {
            fundamental: self.bay.currents,
            second: self.bay.second_harmonics,
            fifth: self.fifth_harmonics,
        }
    }
}

impl Measuring {
    /// Nothing is measured yet; the frequency is believed above `voltage_v_min`.
    #[must_use]
    pub fn new(rate: u32, nominal_hz: f64, voltage_v_min: f64) -> Self {
        let filter = |harmonic| Filter::new(rate, nominal_hz, harmonic, Some(OFFSET));
        Self {
            rate,
            windows: std::array::from_fn(|_| Window::new(rate)),
            tracker: FrequencyTracker::new(rate, nominal_hz, voltage_v_min),
            frequency_hz: nominal_hz,
            fundamental: filter(1),
            second: filter(2),
            fifth: filter(5),
            residual: std::array::from_fn(|index| filter(index as u8 + 1)),
            residual_hz: nominal_hz,
        }
    }

    /// Takes the next sample in, in A and V.
    #[inline]
    pub fn push(&mut self, sample: &[f64; CHANNELS]) {
        for (window, value) in self.windows.iter_mut().zip(sample) {
            window.push(*value);
        }
    }

    /// Takes a copy of the last sample in, in place of one that is missing.
    pub fn hold(&mut self) {
        for window in &mut self.windows {
            window.push(window.newest());
        }
    }

    /// Forgets all samples, not the frequency.
    pub fn clear(&mut self) {
        self.windows.iter_mut().for_each(Window::clear);
    }

    /// Measures at the newest sample; `None` until there are enough.
    pub fn measure(&mut self) -> Option<Measured> {
        self.follow();
        let [currents, voltages] = [0, 4].map(|first| self.three(&self.fundamental, first, 0));
        let bay = Bay {
            currents: currents?,
            second_harmonics: self.three(&self.second, 0, 0)?,
            voltages: voltages?,
            frequency_hz: self.frequency_hz,
        };
        let fifth_harmonics = self.three(&self.fifth, 0, 0)?;
        Some(Measured { bay, fifth_harmonics, frequency_hz: self.tracker.measured_hz() })
    }

    /// Residual current and voltage with their harmonics, for earth faults.
    pub fn residual(&mut self) -> Option<Residual> {
        self.tune_residual();
        let mut residual = Residual {
            current: [Complex::ZERO; HARMONIC_MAX],
            voltage: [Complex::ZERO; HARMONIC_MAX],
        };
        for (index, filter) in self.residual.iter().enumerate() {
            residual.current[index] = self.three(filter, 0, 0)?.into_iter().sum();
            let sum: Complex = self.three(filter, 4, 0)?.into_iter().sum();
            residual.voltage[index] = sum * (1.0 / 3.0);
        }
        Some(residual)
    }

    /// Tracks the frequency, and tunes the filters when it has changed.
    fn follow(&mut self) {
        let back = FrequencyTracker::back_samples(&self.fundamental);
        let now = self.three(&self.fundamental, 4, 0);
        let before = self.three(&self.fundamental, 4, back);
        let (Some(now), Some(before)) = (now, before) else { return };
        self.tracker.update(Sequence::of(now).positive, Sequence::of(before).positive, back);
        let frequency_hz = self.tracker.frequency_hz().clamp(FREQUENCY_HZ_MIN, FREQUENCY_HZ_MAX);
        if (frequency_hz - self.frequency_hz).abs() > STEP_HZ {
            self.frequency_hz = frequency_hz;
            let filters = [(&mut self.fundamental, 1), (&mut self.second, 2), (&mut self.fifth, 5)];
            for (filter, harmonic) in filters {
                filter.tune(self.rate, frequency_hz, harmonic, Some(OFFSET));
            }
        }
    }

    /// Tunes the filters of residual quantities, where anybody asks for them.
    fn tune_residual(&mut self) {
        if self.residual_hz != self.frequency_hz {
            self.residual_hz = self.frequency_hz;
            for (filter, harmonic) in self.residual.iter_mut().zip(1..) {
                filter.tune(self.rate, self.frequency_hz, harmonic, Some(OFFSET));
            }
        }
    }

    fn three(&self, filter: &Filter, first: usize, back: usize) -> Option<[Complex; 3]> {
        let [a, b, c] =
            [0, 1, 2].map(|phase| filter.phasor_back(&self.windows[first + phase], back));
        Some([a?, b?, c?])
    }
}
