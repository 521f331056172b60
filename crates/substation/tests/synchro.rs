//! Synchro-check on samples: two streams of other frequencies, whose frames do not come together.

use std::f64::consts::{PI, SQRT_2};

use iec61850::SampleTime;
use iec61850::wire::Synchronisation;
use substation::engine::Engine;
use substation::settings;

use crate::samples::{RATE, arrival, seconds};

const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams:
  bus: {sv_id: B, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz, synchronisation: none}
  line: {sv_id: L, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4000 Hz, synchronisation: none}
elements:
  check:
    function: synchro_check
    line: line
    bus: bus
    live: 50 kV
    dead: 12 kV
    difference: 6 kV
    slip: 0.2 Hz
    angle: 10 deg
    energise: dead_line
    hold: 100 ms
";

/// Voltages of one side: magnitude, frequency, and angle at the begin.
type Side = (f64, f64, f64);

/// The voltages of a side.
fn voltages_v(number: u32, (magnitude_v, hz, angle_deg): Side) -> [f64; 3] {
    let time_s = seconds(number);
    [0.0, -120.0, 120.0].map(|turn_deg| {
        let angle = 2.0 * PI * (hz * time_s + (angle_deg + turn_deg) / 360.0);
        SQRT_2 * magnitude_v * angle.cos()
    })
}

/// Times in ms at which closing was released, of so many seconds; the line's samples come `late`.
fn released(bus: Side, line: Side, late: u32, clock: Synchronisation, seconds: u32) -> Vec<u32> {
    let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
    let mut engine = Engine::new(&relay.protection);
    let mut released = Vec::new();
    for number in 0..RATE * seconds {
        let sample = |stream, number, late, clock, side| {
            arrival(stream, (number, late), clock, [0.0; 3], voltages_v(number, side))
        };
        engine.sample(&sample(0, number, 0, Synchronisation::Global, bus));
        if let Some(number) = number.checked_sub(late) {
            engine.sample(&sample(1, number, late, clock, line));
        }
        if number % 4 == 0 {
            engine.step(SampleTime::of_sample(number.into(), RATE));
            released.extend(engine.decision(0).operate.then_some(number / 4));
        }
    }
    released
}

#[test]
fn streams_are_compared_at_one_moment_and_only_with_clocks() {
    let live = (63_500.0, 50.0, 0.0);
    let at = |angle_deg, late| {
        let line = (63_500.0, 50.0, angle_deg);
        !released(live, line, late, Synchronisation::Global, 1).is_empty()
    };
    // Eight samples are 36 degrees.
    for late in [0, 8] {
        assert!(at(9.5, late) && at(-9.5, late), "{late}");
        assert!(!at(10.5, late) && !at(-10.5, late), "{late}");
    }
    assert!(released(live, live, 0, Synchronisation::None, 1).is_empty());
}

#[test]
fn a_dead_line_is_energised_and_a_live_one_onto_a_dead_busbar_not() {
    let (live, dead) = ((63_500.0, 50.0, 0.0), (2000.0, 50.0, 40.0));
    assert!(!released(live, dead, 0, Synchronisation::Global, 1).is_empty());
    assert!(released(dead, live, 0, Synchronisation::Global, 1).is_empty());
}

#[test]
fn what_slips_is_released_within_its_angle_alone_and_never_when_too_fast() {
    for bus_hz in [49.5, 50.0, 50.8] {
        let run = |slip_hz: f64, seconds| {
            let line = (63_500.0, bus_hz + slip_hz, -90.0);
            let bus = (63_500.0, bus_hz, 0.0);
            let released = released(bus, line, 3, Synchronisation::Global, seconds);
            let angle = |ms: u32| -90.0 + 360.0 * slip_hz * f64::from(ms) / 1000.0;
            released.into_iter().map(angle).collect::<Vec<f64>>()
        };
        let angles = run(0.15, 3);
        assert!(!angles.is_empty(), "{bus_hz}");
        assert!(angles.iter().all(|angle_deg| angle_deg.abs() < 10.2), "{bus_hz}: {angles:?}");
        assert!(run(0.25, 3).is_empty(), "{bus_hz}");
    }
}
