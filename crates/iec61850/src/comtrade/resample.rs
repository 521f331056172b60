//! A channel at another rate: what a merging unit would have sent of the same wave.
//!
//! Interpolates with a windowed sinc (Lanczos, 8 samples to each side), which leaves harmonics of
//! a power system alone at any rate that records have. When the new rate is lower the kernel is
//! widened, so that what it cannot carry is taken out and does not come back as something else.

use std::f64::consts::PI;

/// Samples of the slower of the two rates to each side.
const LOBES: f64 = 8.0;

/// The values of `samples`, taken at `from_hz`, at `to_hz`, beginning at the same moment. The samples
/// are `late_s` later than their numbers say (the skew of a channel). Beyond the ends, the first and
/// last value are taken to go on; missing values stay missing nearby.
///
/// # Panics
/// When a rate is not positive.
#[must_use]
pub fn resample(samples: &[f64], from_hz: f64, to_hz: f64, late_s: f64) -> Vec<f64> {
    assert!(from_hz > 0.0 && to_hz > 0.0, "rates are positive, not {from_hz} and {to_hz}");
    let Some(last) = samples.len().checked_sub(1) else { return Vec::new() };
    let count = (last as f64 * to_hz / from_hz + 1e-9) as usize + 1;
    let width = (from_hz / to_hz).max(1.0);
    (0..count)
        .map(|index| at(samples, index as f64 * from_hz / to_hz - late_s * from_hz, width))
        .collect()
}

/// The values of `samples`, taken at any times, at as many even times from the first to the last, and
/// their rate in Hz. Nothing where times do not increase.
#[must_use]
pub fn evenly(samples: &[f64], times_s: &[f64]) -> Option<(Vec<f64>, f64)> {
    let (first, last) = (times_s.first()?, times_s.last()?);
    let rises = times_s.windows(2).all(|pair| pair[0] < pair[1]);
    if samples.len() != times_s.len() || samples.len() < 2 || !rises {
        return None;
    }
    let step_s = (last - first) / (samples.len() - 1) as f64;
    let mut before = 0;
    let at = |index: usize| {
        let time_s = first + index as f64 * step_s;
        while before + 2 < times_s.len() && times_s[before + 1] <= time_s {
            before += 1;
        }
        let part = (time_s - times_s[before]) / (times_s[before + 1] - times_s[before]);
        samples[before] + part.clamp(0.0, 1.0) * (samples[before + 1] - samples[before])
    };
    Some(((0..samples.len()).map(at).collect(), 1.0 / step_s))
}

/// The value at a position between samples; `width` is that of a lobe, in samples.
fn at(samples: &[f64], position: f64, width: f64) -> f64 {
    let last = samples.len() as i64 - 1;
    convolved(position, width, |index| samples[index.clamp(0, last) as usize])
}

/// The same of what `sample` says of each place, also of those before and behind all samples.
pub(super) fn convolved(position: f64, width: f64, sample: impl Fn(i64) -> f64) -> f64 {
    let begin = (position - LOBES * width).ceil() as i64;
    let end = (position + LOBES * width).floor() as i64;
    let (mut sum, mut weights) = (0.0, 0.0);
    for index in begin..=end {
        let weight = lanczos((index as f64 - position) / width);
        sum += weight * sample(index);
        weights += weight;
    }
    sum / weights
}

fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| if x.abs() < 1e-12 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() >= LOBES { 0.0 } else { sinc(x) * sinc(x / LOBES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_stays_the_same_wave() {
        let wave = |rate: f64, count: usize| -> Vec<f64> {
            (0..count)
                .map(|n| {
                    let angle = 2.0 * PI * 50.0 * n as f64 / rate;
                    angle.sin() + 0.2 * (5.0 * angle).cos()
                })
                .collect()
        };
        for (from_hz, to_hz) in [(1600.0, 4800.0), (4800.0, 4000.0), (6400.0, 4000.0)] {
            let again = resample(&wave(from_hz, 2000), from_hz, to_hz, 0.0);
            let expected = wave(to_hz, again.len());
            let inner = 200..again.len() - 200;
            for index in inner {
                assert!((again[index] - expected[index]).abs() < 2e-3, "{from_hz} to {to_hz}");
            }
        }
        assert_eq!(resample(&[], 1.0, 2.0, 0.0), []);
        assert_eq!(resample(&[3.0], 1.0, 2.0, 0.0), [3.0]);
    }

    #[test]
    fn skew_is_taken_out() {
        let wave = |time_s: f64| (2.0 * PI * 50.0 * time_s).sin();
        let late_s = 400e-6;
        let samples: Vec<f64> = (0..1000).map(|n| wave(f64::from(n) / 1000.0 + late_s)).collect();
        let even = resample(&samples, 1000.0, 4000.0, late_s);
        for (index, value) in even.iter().enumerate().skip(100).take(even.len() - 200) {
            assert!((value - wave(index as f64 / 4000.0)).abs() < 2e-3, "{index}");
        }
    }

    #[test]
    fn uneven_times_become_even_ones() {
        let times_s: Vec<f64> =
            (0..1000).map(|n| f64::from(n) * 1e-3 + f64::from(n % 3) * 1e-4).collect();
        let samples: Vec<f64> = times_s.iter().map(|time_s| 5.0 * time_s).collect();
        let (even, hz) = evenly(&samples, &times_s).unwrap();
        assert!((hz - 1000.0).abs() < 1e-6, "{hz}");
        for (index, value) in even.iter().enumerate() {
            assert!((value - 5.0 * index as f64 / hz).abs() < 1e-9);
        }
        assert_eq!(evenly(&[1.0, 2.0], &[0.0, 0.0]), None);
        assert_eq!(evenly(&[1.0], &[0.0]), None);
    }
}
