//! Rate of change of frequency from samples: how exactly a steady ramp is measured, and that jumps of
//! angle and magnitude operate nothing (IEC 60255-181).

use std::f64::consts::{PI, SQRT_2};
use std::time::Duration;

use iec61850::SampleTime;
use protection::frequency_rate::{FrequencyRate, Seen, Settings, Trend};
use protection::measure::CHANNELS;
use protection::recent::Transformers;
use protection::{Measuring, Sequence};

use crate::samples::{RATE, seconds};

const VOLTAGE_V: f64 = 63_500.0;

/// What the voltage does at a time: its angle in turns, and its magnitude as a share of nominal.
type Wave<'w> = &'w dyn Fn(f64) -> (f64, f64);

/// Calls with what is measured each millisecond for so long.
fn measure(duration_s: f64, wave: Wave<'_>, mut each: impl FnMut(SampleTime, Seen)) {
    let mut measuring = Measuring::new((RATE, 50.0), Transformers::Capacitive, (100.0, 20.0));
    for number in 0..(duration_s * f64::from(RATE)) as u32 {
        let (turns, share) = wave(seconds(number));
        let mut sample = [0.0; CHANNELS];
        for phase in 0..3 {
            let angle = 2.0 * PI * (turns - phase as f64 / 3.0);
            sample[phase] = 300.0 * SQRT_2 * angle.cos();
            // Networks have a fifth harmonic of such a share.
            let fifth = 0.03 * (5.0 * angle).cos();
            sample[4 + phase] = share * VOLTAGE_V * SQRT_2 * (angle.cos() + fifth);
        }
        measuring.push(&sample);
        if number % (RATE / 1000) == 0
            && let Some(measured) = measuring.measure()
        {
            let voltage_v = Sequence::of(measured.bay.voltages).positive.norm();
            let seen = Seen { frequency_hz: measured.frequency_hz, voltage_v };
            each(SampleTime::of_sample(number.into(), RATE), seen);
        }
    }
}

fn settings(pick_up_hz_per_s: f64, delay_ms: u64) -> Settings {
    Settings {
        trend: Trend::Either,
        pick_up_hz_per_s,
        window: Duration::from_millis(100),
        voltage_v_min: 30_000.0,
        below_hz: f64::INFINITY,
        above_hz: 0.0,
        delay: Duration::from_millis(delay_ms),
    }
}

/// When an element first operates, in s.
fn operates(settings: Settings, seconds: f64, wave: Wave<'_>) -> Option<f64> {
    let (mut element, mut first) = (FrequencyRate::new(settings), None);
    measure(seconds, wave, |now, seen| {
        if element.update(now, Some(seen)).operate && first.is_none() {
            first = Some(now.since(SampleTime::ZERO).as_secs_f64());
        }
    });
    first
}

/// 50 Hz, and a ramp from one second on.
fn ramp(hz_per_s: f64) -> impl Fn(f64) -> (f64, f64) {
    move |time_s| (50.0 * time_s + 0.5 * hz_per_s * (time_s - 1.0).max(0.0).powi(2), 1.0)
}

#[test]
fn a_steady_ramp_is_measured_to_one_percent() {
    for sign in [-1.0, 1.0] {
        for hz_per_s in [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0] {
            // The largest limit that operates at once and the smallest that never does enclose the rate.
            let wave = ramp(sign * hz_per_s);
            let until_s = 1.0 + (4.0 / hz_per_s).min(1.5);
            let exceeds = |limit: f64| operates(settings(limit, 0), until_s, &wave).is_some();
            let within = |error: f64| exceeds(hz_per_s - error) && !exceeds(hz_per_s + error);
            let errors = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
            let error = errors.into_iter().find(|error| within(*error));
            println!("{:+} Hz/s: within {error:?} Hz/s", sign * hz_per_s);
            let allowed = 0.01_f64.max(0.01 * hz_per_s);
            assert!(error.is_some_and(|error| error <= allowed), "{hz_per_s}: {error:?}");
        }
    }
}

#[test]
fn a_ramp_operates_after_window_and_delay() {
    for (hz_per_s, pick_up, delay_ms) in [(-1.0, 0.5, 200), (2.0, 1.0, 500), (-8.0, 5.0, 0)] {
        let taken = operates(settings(pick_up, delay_ms), 2.0, &ramp(hz_per_s)).map(|s| s - 1.0);
        println!("{hz_per_s} Hz/s, limit {pick_up}, {delay_ms} ms: {taken:?}");
        let own_s = taken.map_or(f64::NAN, |taken| taken - delay_ms as f64 / 1e3);
        assert!((0.03..0.15).contains(&own_s), "{hz_per_s}: {own_s}");
    }
}

#[test]
fn jumps_of_angle_and_magnitude_are_no_ramps() {
    for degrees in [1.0, 2.0, 5.0, 10.0, 20.0, -20.0, 40.0, 60.0, 180.0] {
        for share in [1.0, 0.9, 0.6] {
            for moment_s in [1.0, 1.003, 1.0077] {
                let wave = |time_s: f64| match time_s < moment_s {
                    true => (50.0 * time_s, 1.0),
                    false => (50.0 * time_s + degrees / 360.0, share),
                };
                for (pick_up, delay_ms) in [(1.0, 500), (0.5, 200)] {
                    let taken = operates(settings(pick_up, delay_ms), 2.5, &wave);
                    assert_eq!(taken, None, "{degrees} deg, {share}, {pick_up} Hz/s");
                }
            }
        }
    }
}

#[test]
fn load_that_is_switched_during_a_ramp_does_not_keep_it_from_operating() {
    // The angle jumps by 8 degrees each 150 ms.
    let wave = |time_s: f64| {
        let (turns, share) = ramp(-2.0)(time_s);
        (turns + (time_s / 0.15).floor() * 8.0 / 360.0, share)
    };
    let taken = operates(settings(1.0, 500), 3.0, &wave);
    println!("{taken:?}");
    assert!(taken.is_some_and(|s| (1.5..1.8).contains(&s)), "{taken:?}");
    let taken = operates(settings(1.0, 200), 3.0, &|time_s| {
        (50.0 * time_s + (time_s / 0.15).floor() * 8.0 / 360.0, 1.0)
    });
    assert_eq!(taken, None);
}
