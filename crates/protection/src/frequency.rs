//! The frequency, from how far a phasor turns in a period.
//!
//! The phasor of now and the one of about a period ago differ by an angle that is a whole turn if the
//! frequency is the one that the filter was made for. What it is more or less gives the frequency,
//! and a filter for that frequency then sees it exactly. While the voltage is low, or changes so much
//! in a period that something was switched, the last frequency holds: the angle of a phasor that
//! jumps says nothing about frequency. Once a frequency was found, the next is near it; one that is
//! not is believed only after it has stayed for so long that it was no fault.

use std::f64::consts::PI;

use super::complex::Complex;
use super::filter::{FREQUENCY_HZ_MAX, FREQUENCY_HZ_MIN};

/// Largest change of the magnitude in a period that leaves the angle to be believed.
const MAGNITUDE_CHANGE_MAX: f64 = 0.05;
/// Largest turn that is believed while a frequency is sought, as a difference in Hz: a tracker that
/// begins at nominal must come to any frequency in a few steps.
const SEEKING_HZ_MAX: f64 = 20.0;
/// Largest turn that is believed afterwards: 10 Hz/s over a period, and twice as much.
const FOLLOWING_HZ_MAX: f64 = 0.5;
/// Steps that agree with each other before a frequency counts as found, and that contradict it before
/// it is sought again.
const FOUND_AFTER: u32 = 20;
const LOST_AFTER: u32 = 300;

/// Follows the frequency of a phasor.
#[derive(Clone, PartialEq, Debug)]
pub struct FrequencyTracker {
    rate: u32,
    magnitude_min: f64,
    frequency_hz: f64,
    is_measured: bool,
    is_found: bool,
    /// Steps in a row that agree with what is believed, or contradict it.
    in_row: u32,
}

impl FrequencyTracker {
    /// Begins at nominal frequency; phasors below `magnitude_min` are not looked at.
    #[must_use]
    pub fn new(rate: u32, nominal_hz: f64, magnitude_min: f64) -> Self {
        Self {
            rate,
            magnitude_min,
            frequency_hz: nominal_hz,
            is_measured: false,
            is_found: false,
            in_row: 0,
        }
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

    /// Whether a frequency was found, near which the next ones are.
    #[must_use]
    pub const fn is_found(&self) -> bool {
        self.is_found
    }

    /// Something was switched, and the last frequency holds; it is still noticed when phasors of a steady
    /// size contradict it for long, as where a voltage comes back with another frequency.
    pub fn hold(&mut self, now: Complex, before: Complex, back_samples: usize) {
        self.is_measured = false;
        if let Some(step_hz) = self.step_hz(now, before, back_samples) {
            self.count(step_hz.abs() <= FOLLOWING_HZ_MAX);
        }
    }

    /// Takes phasors from this magnitude on only.
    pub const fn set_magnitude_min(&mut self, magnitude_min: f64) {
        self.magnitude_min = magnitude_min;
    }

    /// Looks at the phasor of now and of so many samples before, about a period.
    pub fn update(&mut self, now: Complex, before: Complex, back_samples: usize) {
        let Some(step_hz) = self.step_hz(now, before, back_samples) else {
            self.is_measured = false;
            return;
        };
        let step_max = if self.is_found { FOLLOWING_HZ_MAX } else { SEEKING_HZ_MAX };
        self.is_measured = step_hz.abs() <= step_max;
        self.count(step_hz.abs() <= FOLLOWING_HZ_MAX);
        if self.is_measured {
            let frequency_hz = self.frequency_hz + step_hz;
            self.frequency_hz = frequency_hz.clamp(FREQUENCY_HZ_MIN, FREQUENCY_HZ_MAX);
        }
    }

    /// By how much the frequency of phasors is off, in Hz; nothing when they tell none.
    fn step_hz(&self, now: Complex, before: Complex, back_samples: usize) -> Option<f64> {
        let (magnitude, magnitude_before) = (now.norm(), before.norm());
        let change = (magnitude - magnitude_before).abs();
        if magnitude.min(magnitude_before) < self.magnitude_min
            || change > MAGNITUDE_CHANGE_MAX * magnitude.max(magnitude_before)
        {
            return None;
        }
        let span_s = back_samples as f64 / f64::from(self.rate);
        // What the phasor would have turned at the present frequency, so that the difference is
        // small and has one meaning.
        let expected = Complex::from_polar(1.0, 2.0 * PI * self.frequency_hz * span_s);
        let excess_rad = (now * (before * expected).conj()).arg();
        Some(excess_rad / (2.0 * PI * span_s))
    }

    /// Counts towards what would change the belief.
    fn count(&mut self, agrees: bool) {
        self.in_row = if agrees == self.is_found { 0 } else { self.in_row + 1 };
        if self.in_row >= if self.is_found { LOST_AFTER } else { FOUND_AFTER } {
            (self.is_found, self.in_row) = (!self.is_found, 0);
        }
    }
}
