//! A channel at another rate: what a merging unit would have sent of the same wave.
//!
//! Interpolates with a windowed sinc (Lanczos, 8 samples to each side), which leaves harmonics of
//! a power system alone at any rate that records have. When the new rate is lower the kernel is
//! widened, so that what it cannot carry is taken out and does not come back as something else.

use std::f64::consts::PI;

/// Samples of the slower of the two rates to each side.
const LOBES: f64 = 8.0;

/// The values of `samples`, taken at `from_hz`, at `to_hz`, beginning at the same moment. Beyond
/// the ends, the first and last value are taken to go on; missing values stay missing nearby.
///
/// # Panics
/// When a rate is not positive.
#[must_use]
pub fn resample(samples: &[f64], from_hz: f64, to_hz: f64) -> Vec<f64> {
    assert!(from_hz > 0.0 && to_hz > 0.0, "rates are positive, not {from_hz} and {to_hz}");
    let Some(last) = samples.len().checked_sub(1) else { return Vec::new() };
    let count = (last as f64 * to_hz / from_hz + 1e-9) as usize + 1;
    (0..count)
        .map(|index| at(samples, index as f64 * from_hz / to_hz, (from_hz / to_hz).max(1.0)))
        .collect()
}

/// The value at a position between samples; `width` is that of a lobe, in samples.
fn at(samples: &[f64], position: f64, width: f64) -> f64 {
    let last = samples.len() as i64 - 1;
    let begin = (position - LOBES * width).ceil() as i64;
    let end = (position + LOBES * width).floor() as i64;
    let (mut sum, mut weights) = (0.0, 0.0);
    for index in begin..=end {
        let weight = lanczos((index as f64 - position) / width);
        sum += weight * samples[index.clamp(0, last) as usize];
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
            let again = resample(&wave(from_hz, 2000), from_hz, to_hz);
            let expected = wave(to_hz, again.len());
            let inner = 200..again.len() - 200;
            for index in inner {
                assert!((again[index] - expected[index]).abs() < 2e-3, "{from_hz} to {to_hz}");
            }
        }
        assert_eq!(resample(&[], 1.0, 2.0), []);
        assert_eq!(resample(&[3.0], 1.0, 2.0), [3.0]);
    }
}
