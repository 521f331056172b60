//! Phasors from samples: the discrete Fourier transform over one period of the tracked frequency.
//!
//! A period is no whole number of samples as soon as the frequency is off nominal, so the window
//! weighs its two end samples by what of the period they stand for. What that leaves of the
//! mirror image (the negative frequency) is then taken out exactly, because for a filter it is
//! only another factor: a sinusoid of the tracked frequency comes out right to rounding, and
//! harmonics stay suppressed.
//!
//! A current that a fault makes has a decaying offset. For quantities that are compared with limits
//! only the cosine is used, now and a quarter of a period ago (Schweitzer and Hou 1993): to an
//! exponential it is nearly blind, no sample weighs more than another, and what lies between harmonics
//! passes no more than through any window of a period. The price is a quarter of a period.
//!
//! The whole sum is computed for each phasor. A recursion saves nothing that a relay would notice
//! and drifts with each sample.

use std::f64::consts::{PI, SQRT_2};

use super::complex::Complex;

/// Lowest frequency that is tracked, in Hz; it decides how much of the past a window keeps.
pub const FREQUENCY_HZ_MIN: f64 = 40.0;
/// Highest frequency that is tracked, in Hz.
pub const FREQUENCY_HZ_MAX: f64 = 70.0;

/// What a filter does with the decaying offset of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offset {
    /// It passes as the Fourier transform passes it: for voltages, which have hardly any.
    Kept,
    /// Taken out: for currents.
    Removed,
}

/// The newest samples of one channel.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// Every sample twice, half a length apart, so that the newest are always in one piece.
    samples: Vec<f64>,
    /// Where the next one goes, in the first half.
    next: usize,
    filled: usize,
}

impl Window {
    /// A window for the longest filter, or for one of a period now and a period ago.
    #[must_use]
    pub fn new(rate: u32) -> Self {
        let length = 2 * taps_max(rate);
        Self { samples: vec![0.0; 2 * length], next: 0, filled: 0 }
    }

    /// Takes the next sample in.
    #[inline]
    pub fn push(&mut self, sample: f64) {
        let length = self.samples.len() / 2;
        self.samples[self.next] = sample;
        self.samples[self.next + length] = sample;
        self.next = if self.next + 1 == length { 0 } else { self.next + 1 };
        self.filled = (self.filled + 1).min(length);
    }

    /// The newest sample; zero before there is one.
    #[must_use]
    pub fn newest(&self) -> f64 {
        let length = self.samples.len() / 2;
        self.samples[self.next + length - 1]
    }

    /// The value of a period before the newest, on the line between two samples.
    #[must_use]
    #[inline]
    pub fn period_ago(&self, period_samples: f64) -> Option<f64> {
        let length = self.samples.len() / 2;
        let (whole, part) = (period_samples as usize, period_samples.fract());
        let newest = self.next + length - 1;
        (whole + 2 <= self.filled).then(|| {
            let (newer, older) = (self.samples[newest - whole], self.samples[newest - whole - 1]);
            newer + (older - newer) * part
        })
    }

    /// Starts as if no sample had come.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// The newest `count` samples, oldest first.
    #[inline]
    pub(super) fn samples(&self, count: usize) -> Option<&[f64]> {
        self.samples_back(count, 0)
    }

    /// The `count` samples of which the newest is `back` samples old.
    #[inline]
    fn samples_back(&self, count: usize, back: usize) -> Option<&[f64]> {
        let end = (self.next + self.samples.len() / 2).checked_sub(back)?;
        (count + back <= self.filled).then(|| &self.samples[end - count..end])
    }
}

/// Taps of the longest filter: a period and a quarter, and what lies beyond the ends.
fn taps_max(rate: u32) -> usize {
    (f64::from(rate) / FREQUENCY_HZ_MIN * 1.25) as usize + 6
}

/// Coefficients that make a phasor of a window.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    /// For each sample, oldest first.
    coefficients: Vec<Complex>,
    period_samples: f64,
}

impl Filter {
    /// The filter for one harmonic (1 is the fundamental) of `frequency_hz` at `rate` samples a
    /// second.
    ///
    /// # Panics
    /// When the frequency is outside [`FREQUENCY_HZ_MIN`] to [`FREQUENCY_HZ_MAX`], or the rate
    /// gives fewer than two samples for a period of the harmonic.
    #[must_use]
    pub fn new(rate: u32, frequency_hz: f64, harmonic: u8, offset: Offset) -> Self {
        let coefficients = Vec::with_capacity(taps_max(rate));
        let mut filter = Self { coefficients, period_samples: 0.0 };
        filter.tune(rate, frequency_hz, harmonic, offset);
        filter
    }

    /// Makes it the filter for another frequency, as [`Filter::new`] would be, without asking for
    /// memory: a task in real time follows the frequency with it.
    pub fn tune(&mut self, rate: u32, frequency_hz: f64, harmonic: u8, offset: Offset) {
        assert!((FREQUENCY_HZ_MIN..=FREQUENCY_HZ_MAX).contains(&frequency_hz), "{frequency_hz} Hz");
        self.period_samples = f64::from(rate) / frequency_hz;
        let step_rad = 2.0 * PI * f64::from(harmonic) / self.period_samples;
        assert!(harmonic > 0 && step_rad < PI, "harmonic {harmonic} at {rate} samples a second");
        self.coefficients.clear();
        let weights = weights(self.period_samples);
        self.coefficients.extend(weights.map(|weight| Complex::new(weight, 0.0)));
        // Angles count from the newest sample, which is at zero.
        for (tap, wave) in self.coefficients.iter_mut().rev().zip(turns(step_rad)) {
            *tap = wave * tap.re;
        }
        if offset == Offset::Removed {
            use_cosine_twice(
                &mut self.coefficients,
                self.period_samples / f64::from(harmonic) / 4.0,
            );
        }
        make_exact_at(&mut self.coefficients, step_rad);
    }

    /// Samples that a phasor is made of.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.coefficients.len()
    }

    /// Samples for a period of the frequency, not a whole number in general.
    #[must_use]
    pub fn period_samples(&self) -> f64 {
        self.period_samples
    }

    /// The phasor at the newest sample; `None` until there are enough.
    #[must_use]
    #[inline]
    pub fn phasor(&self, window: &Window) -> Option<Complex> {
        self.phasor_back(window, 0)
    }

    /// The phasor as it was `back` samples ago.
    #[must_use]
    #[inline]
    pub fn phasor_back(&self, window: &Window, back: usize) -> Option<Complex> {
        let samples = window.samples_back(self.coefficients.len(), back)?;
        let mut sum = Complex::ZERO;
        for (coefficient, sample) in self.coefficients.iter().zip(samples) {
            sum.re += coefficient.re * sample;
            sum.im += coefficient.im * sample;
        }
        Some(sum)
    }
}

/// How much of each sample belongs to one period that ends at the newest: the trapezoid rule,
/// with the oldest end where the period begins between two samples.
fn weights(period_samples: f64) -> impl Iterator<Item = f64> {
    let whole = period_samples.floor();
    let part = period_samples - whole;
    let count = whole as usize + 2;
    (0..count).map(move |index| match index {
        // Oldest first: the piece of width `part` between the two oldest samples ends at a value
        // that lies on the line between them.
        0 => part * part / 2.0,
        1 => 0.5 + part - part * part / 2.0,
        _ if index == count - 1 => 0.5,
        _ => 1.0,
    })
}

/// Powers of the number with this angle, from the zeroth on. Each is made of the one before: a
/// hundred sines are what a task has no time for, and a hundred roundings are far below a sample's.
fn turns(step_rad: f64) -> impl Iterator<Item = Complex> {
    let step = Complex::from_polar(1.0, step_rad);
    std::iter::successors(Some(Complex::ONE), move |turn| Some(*turn * step))
}

/// Taps of the cosine for the real part, and the same `quarter` of samples before for the imaginary one.
fn use_cosine_twice(taps: &mut Vec<Complex>, quarter: f64) {
    let (whole, part) = (quarter as usize, quarter.fract());
    let count = taps.len();
    // Taps are oldest first: what looks further back comes in front.
    taps.resize(count + whole + 1, Complex::ZERO);
    taps.rotate_right(whole + 1);
    for index in 0..taps.len() {
        let cosine = |at: usize| taps.get(at).map_or(0.0, |tap| tap.re);
        let delayed = cosine(index + whole) * (1.0 - part) + cosine(index + whole + 1) * part;
        taps[index].im = delayed;
    }
}

/// Scales taps so that a sinusoid of `step_rad` a sample comes out as its phasor exactly.
///
/// Such a sinusoid is `(X z^n + X* z^-n) / √2`, and taps make `(a X + b X*) / √2` of it; solved
/// for `X`, this is a change of the taps.
fn make_exact_at(taps: &mut [Complex], step_rad: f64) {
    let response = |sign: f64| -> Complex {
        taps.iter().rev().zip(turns(-sign * step_rad)).map(|(tap, wave)| *tap * wave).sum()
    };
    let (direct, image) = (response(1.0), response(-1.0));
    let scale = SQRT_2 / (direct.norm_sqr() - image.norm_sqr());
    for tap in taps {
        *tap = (direct.conj() * *tap - image * tap.conj()) * scale;
    }
}

/// The root mean square value over one period, harmonics included.
#[derive(Clone, PartialEq, Debug)]
pub struct Rms {
    weights: Vec<f64>,
}

impl Rms {
    /// For periods of `frequency_hz` at `rate` samples a second.
    #[must_use]
    pub fn new(rate: u32, frequency_hz: f64) -> Self {
        let period_samples = f64::from(rate) / frequency_hz;
        let weights = weights(period_samples).map(|weight| weight / period_samples).collect();
        Self { weights }
    }

    /// The value at the newest sample; `None` until there are enough.
    #[must_use]
    pub fn value(&self, window: &Window) -> Option<f64> {
        let samples = window.samples(self.weights.len())?;
        let squares =
            self.weights.iter().zip(samples).map(|(weight, sample)| weight * sample * sample);
        Some(squares.sum::<f64>().sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;
    use proptest::prelude::*;

    /// A window full of the sum of these, in (harmonic, phasor at the newest sample).
    fn window(rate: u32, frequency_hz: f64, parts: &[(f64, Complex)]) -> Window {
        let mut window = Window::new(rate);
        for back in (0..1000).rev() {
            let angle = -2.0 * PI * frequency_hz / f64::from(rate) * f64::from(back);
            let sample = |(harmonic, phasor): &(f64, Complex)| {
                SQRT_2 * (*phasor * Complex::from_polar(1.0, angle * harmonic)).re
            };
            window.push(parts.iter().map(sample).sum());
        }
        window
    }

    #[test]
    fn harmonics_are_suppressed_and_measured() {
        for frequency_hz in [45.0, 49.5, 50.0, 61.7, 65.0] {
            let fundamental = Complex::polar_deg(100.0, 30.0);
            let second = Complex::polar_deg(20.0, -80.0);
            let fifth = Complex::polar_deg(10.0, 10.0);
            let parts = [(1.0, fundamental), (2.0, second), (5.0, fifth)];
            let window = window(4800, frequency_hz, &parts);
            for offset in [Offset::Kept, Offset::Removed] {
                let phasor =
                    |k| Filter::new(4800, frequency_hz, k, offset).phasor(&window).unwrap();
                let error = |k, expected: Complex| (phasor(k) - expected).norm();
                assert!(error(1, fundamental) < 0.2, "{frequency_hz}: {}", error(1, fundamental));
                assert!(error(2, second) < 0.5, "{frequency_hz}: {}", error(2, second));
                assert!(error(5, fifth) < 1.0, "{frequency_hz}: {}", error(5, fifth));
            }
            let rms = Rms::new(4800, frequency_hz).value(&window).unwrap();
            let expected = (100.0f64.powi(2) + 20.0f64.powi(2) + 10.0f64.powi(2)).sqrt();
            assert!((rms / expected - 1.0).abs() < 1e-3, "{frequency_hz}: {rms}");
        }
    }

    /// The largest magnitude while a fully offset fault of 20 ms decays, relative to the true one.
    fn overshoot(offset: Offset, tau_s: f64) -> f64 {
        let (rate, frequency_hz) = (4000u32, 50.0);
        let filter = Filter::new(rate, frequency_hz, 1, offset);
        let mut window = Window::new(rate);
        let mut largest = 0.0f64;
        for sample in -200i32..800 {
            let time_s = f64::from(sample) / f64::from(rate);
            let fault = (2.0 * PI * frequency_hz * time_s).cos() - (-time_s / tau_s).exp();
            window.push(if sample < 0 { 0.0 } else { SQRT_2 * fault });
            if let Some(phasor) = filter.phasor(&window) {
                largest = largest.max(phasor.norm());
            }
        }
        largest - 1.0
    }

    #[test]
    fn the_offset_of_a_fault_is_taken_out() {
        assert!((0.10..0.20).contains(&overshoot(Offset::Kept, 0.02)));
        for tau_s in [0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.2] {
            let over = overshoot(Offset::Removed, tau_s);
            assert!(over < 0.05, "{over} of {tau_s} s");
        }
    }

    #[test]
    fn interharmonics_pass_as_with_any_window_of_a_period() {
        for offset in [Offset::Kept, Offset::Removed] {
            let filter = Filter::new(4000, 50.0, 1, offset);
            for order in [2.0, 2.5, 3.0, 3.5, 5.0, 5.5, 7.0, 8.5, 12.5, 20.5] {
                let gain = (0..8)
                    .map(|turn| {
                        let wave = Complex::polar_deg(1.0, 45.0 * f64::from(turn));
                        filter.phasor(&window(4000, 50.0, &[(order, wave)])).unwrap().norm()
                    })
                    .fold(0.0, f64::max);
                let between = order % 1.0 > 0.0;
                let gain_max = if between { 0.4 } else { 1e-3 };
                assert!(gain < gain_max, "{order}: {gain}");
            }
        }
    }

    #[test]
    fn nothing_is_said_before_a_period_is_there() {
        let filter = Filter::new(4000, 50.0, 1, Offset::Kept);
        let mut window = Window::new(4000);
        for _ in 0..filter.samples() - 1 {
            window.push(1.0);
            assert_eq!(filter.phasor(&window), None);
        }
        window.push(1.0);
        assert!(filter.phasor(&window).is_some());
        window.clear();
        assert_eq!(filter.phasor(&window), None);
    }

    proptest! {
        #[test]
        fn a_sinusoid_of_the_tracked_frequency_comes_out_exactly(
            rate in prop::sample::select(vec![4000u32, 4800, 14_400]), frequency_hz in 40.0f64..70.0,
            magnitude in 0.01f64..1e6, angle_deg in -180.0f64..180.0, removes: bool,
        ) {
            let phasor = Complex::polar_deg(magnitude, angle_deg);
            let window = window(rate, frequency_hz, &[(1.0, phasor)]);
            let offset = if removes { Offset::Removed } else { Offset::Kept };
            let measured = Filter::new(rate, frequency_hz, 1, offset).phasor(&window).unwrap();
            prop_assert!((measured - phasor).norm() < 1e-8 * magnitude, "{measured:?}");
        }
    }
}
