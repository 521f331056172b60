//! A relay as a whole, on steady waves: what it does not trust reaches no element.

use std::f64::consts::{PI, SQRT_2};

use iec61850::SampleTime;
use iec61850::wire::{Quality, Synchronisation};
use substation::engine::{Arrival, Change, Engine};
use substation::settings::{self, Input};

use crate::samples::{AMPERE, RATE, channel, sampled, seconds};

const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams:
  a: {sv_id: A, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
  b: {sv_id: B, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4000 Hz, synchronisation: none}
elements:
  I: {function: overcurrent, stream: a, pick_up: 500 A, delay: 0 s}
  Id:
    function: differential
    streams: [a, b]
    rated: [1 kA, 1 kA]
    clocks: [0, 0]
    pick_up: 30 %
    slope: 30 %
    knee: 3
    slope_beyond: 70 %
    unrestrained: 8
    delay: 0 ms
trips: {breakers: {Q0: [I], Q1: [Id]}}
";

/// A good sample of a steady three-phase current of so many kA.
pub(crate) fn arrival_of(number: u32, current_ka: f64) -> Arrival {
    arrival(0, number, current_ka, Quality::GOOD, Synchronisation::Global)
}

/// A steady three-phase current of 1 kA; `sign` is -1 where it flows out.
fn arrival(
    stream: u16,
    number: u32,
    sign: f64,
    quality: Quality,
    clock: Synchronisation,
) -> Arrival {
    let value = |phase: f64| {
        let angle = 2.0 * PI * (50.0 * seconds(number) - phase / 3.0);
        sign * SQRT_2 * 1e3 * AMPERE * angle.cos()
    };
    let mut channels = [channel(0.0, quality); 8];
    for (octets, phase) in channels.iter_mut().zip([0.0, 1.0, 2.0]) {
        *octets = channel(value(phase), quality);
    }
    sampled(stream, (number, 0), clock, &channels)
}

/// Breakers that were tripped within half a second of what `samples` make of each number.
fn trips(block: bool, samples: impl Fn(u32) -> Vec<Arrival>) -> [bool; 2] {
    let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
    let mut engine = Engine::new(&relay.protection);
    if block {
        engine.tell(0, Input::Block, Some(true));
    }
    let mut tripped = [false; 2];
    for number in 0..RATE / 2 {
        samples(number).iter().for_each(|arrival| {
            engine.sample(arrival);
        });
        if number % 4 == 0 {
            for change in engine.step(SampleTime::of_sample(number.into(), RATE)) {
                if let Change::Trip(breaker, true) = change {
                    tripped[*breaker] = true;
                }
            }
        }
    }
    tripped
}

#[test]
fn an_element_sees_what_can_be_trusted_and_is_not_blocked() {
    use Synchronisation::{Global, Local, None as Nobody};
    let run = |block, quality, clock| {
        trips(block, |number| vec![arrival(0, number, 1.0, quality, clock)])
    };
    assert_eq!(run(false, Quality::GOOD, Global), [true, false]);
    assert_eq!(run(true, Quality::GOOD, Global), [false, false]);
    for quality in [Quality::INVALID, Quality::TEST] {
        assert_eq!(run(false, quality, Global), [false, false]);
    }
    // The settings want one that follows universal time.
    assert_eq!(run(false, Quality::GOOD, Local), [false, false]);
    assert_eq!(run(false, Quality::GOOD, Nobody), [false, false]);
}

#[test]
fn currents_of_two_streams_are_compared_at_one_moment_and_only_with_clocks() {
    let good = Quality::GOOD;
    let run = |delay: u32, sign_b: f64, clock_b| {
        trips(true, |number| {
            let late = number.checked_sub(delay);
            let b = late.map(|taken| {
                let mut late = arrival(1, taken, sign_b, good, clock_b);
                late.at = SampleTime::of_sample(number.into(), RATE);
                late
            });
            std::iter::once(arrival(0, number, 1.0, good, Synchronisation::Global))
                .chain(b)
                .collect()
        })[1]
    };
    // What flows in flows out, also where the second stream comes eight samples (36 degrees)
    // later than the first.
    assert!(!run(0, -1.0, Synchronisation::Global));
    assert!(!run(8, -1.0, Synchronisation::Global));
    // Both flow in.
    assert!(run(8, 1.0, Synchronisation::Global));
    // Without a clock nobody knows, whatever the settings of the stream want.
    assert!(!run(0, 1.0, Synchronisation::None));
}

#[test]
fn a_blocked_thermal_element_goes_on_heating() {
    let text = SETTINGS.replace(
        "  I: {function: overcurrent, stream: a, pick_up: 500 A, delay: 0 s}",
        "  I: {function: thermal, stream: a, current_max: 125 A, time_constant: 10 s}",
    );
    let relay = settings::read("relay.yaml", &text).expect("the settings are good");
    let mut engine = Engine::new(&relay.protection);
    // 1 kA is 64 times the heat that is allowed: 100 % after 158 ms.
    for number in 0..RATE / 2 {
        engine.sample(&arrival(0, number, 1.0, Quality::GOOD, Synchronisation::Global));
        let is_blocked = number < RATE / 4;
        engine.forget_messages();
        engine.tell(0, Input::Block, Some(is_blocked));
        if number % 4 == 0 {
            engine.step(SampleTime::of_sample(number.into(), RATE));
            assert!(!is_blocked || !engine.decision(0).start, "at {number}");
        }
        if number == RATE / 4 {
            assert!(engine.decision(0).operate, "as soon as nothing blocks it");
        }
    }
}

#[test]
fn a_star_point_is_measured_and_no_sum_of_the_phases() {
    let text = SETTINGS.replace(
        "  I: {function: overcurrent, stream: a, pick_up: 500 A, delay: 0 s}",
        "  I: {function: restricted_earth, stream: a, pick_up: 50 A, slope: 30 %, delay: 20 ms}",
    );
    let relay = settings::read("relay.yaml", &text).expect("the settings are good");
    // 400 A from the star point, and this share of them from the network in phase A.
    let operates = |share: f64, quality| {
        let mut engine = Engine::new(&relay.protection);
        (0..RATE / 2).any(|number| {
            let wave = (2.0 * PI * 50.0 * seconds(number)).cos();
            let of = |amperes: f64, quality| channel(SQRT_2 * amperes * AMPERE * wave, quality);
            let mut samples = [of(0.0, Quality::GOOD); 8];
            (samples[0], samples[3]) = (of(400.0 * share, Quality::GOOD), of(400.0, quality));
            engine.sample(&sampled(0, (number, 0), Synchronisation::Global, &samples));
            engine.step(SampleTime::of_sample(number.into(), RATE));
            // A winding is seen once filters are full, if what is there was measured.
            assert!(
                number < RATE / 4 || engine.sees(0) == (quality == Quality::GOOD),
                "{quality:?}"
            );
            engine.decision(0).operate
        })
    };
    assert!(operates(0.0, Quality::GOOD) && operates(1.5, Quality::GOOD), "inside");
    assert!(!operates(-1.0, Quality::GOOD), "outside");
    for quality in [Quality::DERIVED, Quality::INVALID, Quality::TEST] {
        assert!(!operates(0.0, quality), "{quality:?}");
    }
}
