//! The frequency, from how far a phasor turns in a period.
//!
//! The phasor of now and the one of a period ago, made by the same filter, differ by an angle that
//! is a whole turn if the frequency is the one that the filter was made for. What it is more or
//! less gives the frequency, and a filter for that frequency then sees it exactly. While the
//! voltage is low, or changes so much in a period that something was switched, the last frequency
//! holds: the angle of a phasor that jumps says nothing about frequency.

use std::f64::consts::PI;

use super::complex::Complex;
use super::filter::{FREQUENCY_HZ_MAX, FREQUENCY_HZ_MIN, Filter};

/// Largest change of the magnitude in a period that leaves the angle to be believed.
const MAGNITUDE_CHANGE_MAX: f64 = 0.05;
/// Largest turn that is believed, as a difference in Hz: no grid changes faster in a period, but
/// a tracker that begins at nominal must come to any frequency in a few steps.
const STEP_HZ_MAX: f64 = 20.0;

/// Follows the frequency of a phasor.
#[derive(Clone, PartialEq, Debug)]
pub struct FrequencyTracker {
    rate: u32,
    magnitude_min: f64,
    frequency_hz: f64,
    is_measured: bool,
}

impl FrequencyTracker {
    /// Begins at nominal frequency; phasors below `magnitude_min` are not looked at.
    #[must_use]
    pub fn new(rate: u32, nominal_hz: f64, magnitude_min: f64) -> Self {
        Self { rate, magnitude_min, frequency_hz: nominal_hz, is_measured: false }
    }

    /// The frequency, in Hz; nominal before there is any other.
    #[must_use]
    pub fn frequency_hz(&self) -> f64 {
        self.frequency_hz
    }

    /// The frequency if the last phasors show it, not when an older one is held.
    #[must_use]
    pub fn measured_hz(&self) -> Option<f64> {
        self.is_measured.then_some(self.frequency_hz)
    }

    /// How many samples lie between the two phasors to be compared.
    #[must_use]
    pub fn back_samples(filter: &Filter) -> usize {
        filter.period_samples().round() as usize
    }

    /// Looks at the phasor of now and of [`FrequencyTracker::back_samples`] before.
    pub fn update(&mut self, now: Complex, before: Complex, back_samples: usize) {
        let (magnitude, magnitude_before) = (now.norm(), before.norm());
        let change = (magnitude - magnitude_before).abs();
        self.is_measured = magnitude.min(magnitude_before) >= self.magnitude_min
            && change <= MAGNITUDE_CHANGE_MAX * magnitude.max(magnitude_before);
        if !self.is_measured {
            return;
        }
        let span_s = back_samples as f64 / f64::from(self.rate);
        // What the phasor would have turned at the present frequency, so that the difference is
        // small and has one meaning.
        let expected = Complex::from_polar(1.0, 2.0 * PI * self.frequency_hz * span_s);
        let excess_rad = (now * (before * expected).conj()).arg();
        let step_hz = excess_rad / (2.0 * PI * span_s);
        if step_hz.abs() > STEP_HZ_MAX {
            self.is_measured = false;
            return;
        }
        self.frequency_hz = (self.frequency_hz + step_hz).clamp(FREQUENCY_HZ_MIN, FREQUENCY_HZ_MAX);
    }
}
