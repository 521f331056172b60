//! A channel whose record changes its rate: slow before the fault, fast while it lasts, slow behind.
//!
//! Each moment is interpolated as the section is that it lies in. What the kernel takes from beyond that
//! section's ends is read off the neighbouring section between its samples: without it each change of
//! rate would look like a step of the wave.

use super::configuration::Rate;
use super::resample::convolved;

/// The values of `samples`, taken at these times (which increase) at these rates, at `to_hz`, beginning at
/// the same moment. The samples are `late_s` later than their times say. Beyond the ends, the first and
/// last value are taken to go on; missing values stay missing nearby.
///
/// # Panics
/// When a rate is not positive, or there are not as many times as samples.
#[must_use]
pub fn resample_sections(
    samples: &[f64],
    times_s: &[f64],
    rates: &[Rate],
    to_hz: f64,
    late_s: f64,
) -> Vec<f64> {
    assert!(samples.len() == times_s.len(), "{} times", times_s.len());
    assert!(to_hz > 0.0 && rates.iter().all(|rate| rate.hz > 0.0), "rates are positive");
    let Some(end_s) = times_s.last() else { return Vec::new() };
    let mut begins = vec![0];
    begins.extend(rates.iter().map(|rate| rate.last.min(samples.len() - 1)));
    let count = (end_s * to_hz + 1e-9) as usize + 1;
    let mut section = 0;
    let value = |index: usize| {
        let time_s = index as f64 / to_hz - late_s;
        while section + 1 < rates.len() && times_s[begins[section + 1]] <= time_s {
            section += 1;
        }
        let (begin, hz) = (begins[section], rates[section].hz);
        let within = begin..begins.get(section + 1).copied().unwrap_or(samples.len());
        let position = (time_s - times_s[begin]) * hz;
        convolved(position, (hz / to_hz).max(1.0), |offset| {
            let place = begin as i64 + offset;
            match usize::try_from(place).ok().filter(|place| within.contains(place)) {
                Some(place) => samples[place],
                None => between(samples, times_s, times_s[begin] + offset as f64 / hz),
            }
        })
    };
    (0..count).map(value).collect()
}

/// The value at a time, on a straight line between two samples.
fn between(samples: &[f64], times_s: &[f64], time_s: f64) -> f64 {
    let next = times_s.partition_point(|each| *each <= time_s);
    let (Some(before), true) = (next.checked_sub(1), next < samples.len()) else {
        return samples[next.min(samples.len() - 1)];
    };
    let part = (time_s - times_s[before]) / (times_s[next] - times_s[before]);
    samples[before] + part * (samples[next] - samples[before])
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn wave(time_s: f64) -> f64 {
        (2.0 * PI * 50.0 * time_s + 0.4).sin()
    }

    /// Times of a record with these rates, each for so many samples, and where each rate ends.
    fn times(sections: &[(f64, usize)]) -> (Vec<f64>, Vec<Rate>) {
        let (mut times_s, mut rates) = (Vec::new(), Vec::new());
        let mut time_s = 0.0;
        for (hz, count) in sections {
            for _ in 0..*count {
                time_s += if times_s.is_empty() { 0.0 } else { 1.0 / hz };
                times_s.push(time_s);
            }
            rates.push(Rate { hz: *hz, last: times_s.len() });
        }
        (times_s, rates)
    }

    #[test]
    fn a_wave_goes_on_through_changes_of_the_rate() {
        let sections = [(1000.0, 200), (8000.0, 1600), (2000.0, 400)];
        let (times_s, rates) = times(&sections);
        for late_s in [0.0, 120e-6] {
            let samples: Vec<f64> = times_s.iter().map(|time_s| wave(time_s + late_s)).collect();
            let even = resample_sections(&samples, &times_s, &rates, 4000.0, late_s);
            assert_eq!(even.len(), (times_s[times_s.len() - 1] * 4000.0 + 1e-9) as usize + 1);
            for (index, value) in even.iter().enumerate().take(even.len() - 40).skip(40) {
                let error = (value - wave(index as f64 / 4000.0)).abs();
                assert!(error < 0.01, "{index}: {error}");
            }
        }
    }

    #[test]
    fn one_section_is_an_ordinary_record() {
        let (times_s, rates) = times(&[(1600.0, 500)]);
        let samples: Vec<f64> = times_s.iter().map(|time_s| wave(*time_s)).collect();
        let even = resample_sections(&samples, &times_s, &rates, 4000.0, 0.0);
        let plain = super::super::resample(&samples, 1600.0, 4000.0, 0.0);
        assert_eq!(even.len(), plain.len());
        for (even, plain) in even.iter().zip(plain) {
            assert!((even - plain).abs() < 1e-6, "{even} {plain}");
        }
    }

    #[test]
    fn records_that_are_short_or_say_too_much_do_no_harm() {
        assert_eq!(resample_sections(&[], &[], &[], 4000.0, 0.0), []);
        let rates = [Rate { hz: 1000.0, last: 900 }, Rate { hz: 2000.0, last: 5000 }];
        assert_eq!(resample_sections(&[3.0], &[0.0], &rates, 4000.0, 0.0), [3.0]);
        let even = resample_sections(&[3.0, 3.0], &[0.0, 0.001], &rates, 4000.0, 0.0);
        assert_eq!(even.len(), 5);
        assert!(even.iter().all(|value| (value - 3.0).abs() < 1e-9), "{even:?}");
    }
}
