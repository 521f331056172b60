//! What a sample costs an engine with all elements of a bay: load, and a fault with its inception.
//!
//! Prints nanoseconds of processor time for each sample, the median and the extremes of some rounds.

use std::hint::black_box;
use std::time::Instant;

use protection::{Complex, Degrees};
use type_tests::line::{Fault, Impedance, Kind, Line, Sample, Source};
use type_tests::relay::UnderTest;

const BAY: &str = "
relay: bay
frequency: 50 Hz
streams: {s: {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
elements:
  FF: {function: fuse_failure, stream: s, healthy: 50 kV, unbalance: 6 kV, current_min: 50 A}
  PS: {function: power_swing, stream: s, resistance: 12 ohm, reactance: 12 ohm, band: 6 ohm, current_min: 100 A}
  Z1: {function: distance, stream: s, shape: mho, reach: 8 ohm, angle: 84 deg, way: forward, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 0 s}
  Z2: {function: distance, stream: s, shape: quadrilateral, resistance: 8 ohm, earth_resistance: 8 ohm, reach: 12 ohm, angle: 84 deg, way: forward, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 300 ms}
  Z3: {function: distance, stream: s, shape: mho, reach: 8 ohm, angle: 84 deg, way: reverse, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 1 s}
  D: {function: directional_overcurrent, stream: s, pick_up: 500 A, delay: 0 s, way: forward, characteristic: 45 deg, polarising_min: 1 kV}
  I: {function: overcurrent, stream: s, pick_up: 2 kA, delay: 0 s, second_harmonic_max: 15 %}
  N: {function: overcurrent, stream: s, of: residual, pick_up: 500 A, curve: iec-normal-inverse, k: 0.3}
  U: {function: voltage, stream: s, side: under, pick_up: 40 kV, delay: 1 s}
  O: {function: voltage, stream: s, side: over, pick_up: 80 kV, delay: 1 s}
  F: {function: frequency, stream: s, side: under, pick_up: 49 Hz, delay: 100 ms}
  Y: {function: admittance, stream: s, residual_min: 2 kV, admittance_min: 1 mS, delay: 100 ms}
";

fn samples(fault: bool) -> Vec<Sample> {
    let positive = Complex::polar_deg(10.0, 84.0);
    let source = |angle_deg: f64| Source {
        voltage: Complex::polar_deg(63_500.0, angle_deg),
        impedance: Impedance {
            positive: Complex::polar_deg(8.0, 85.0),
            zero: Complex::polar_deg(12.0, 85.0),
        },
        disturbing: Vec::new(),
    };
    let line = Line {
        nominal_hz: 50.0,
        frequency_hz: 50.02,
        near: source(0.0),
        impedance: Impedance { positive, zero: positive * 3.0 },
        far: source(-15.0),
    };
    let fault = fault.then_some(Fault {
        kind: Kind::Earth(0),
        place: 0.5,
        begin_s: 0.2,
        resistance_ohm: 0.0,
        earth_ohm: 0.0,
    });
    line.samples(fault.as_ref(), 4000.0, 1200)
}

fn main() {
    let is_tiny = std::env::args().any(|argument| argument == "--tiny");
    let rounds = if is_tiny { 1 } else { 100 };
    let relay = UnderTest::new(BAY, 4000);
    for (name, samples) in [("load", samples(false)), ("fault", samples(true))] {
        let mut times_ns: Vec<f64> = (0..rounds)
            .map(|_| {
                let begin = Instant::now();
                black_box(relay.run(black_box(&samples)));
                begin.elapsed().as_nanos() as f64 / samples.len() as f64
            })
            .collect();
        times_ns.sort_by(f64::total_cmp);
        let (least, median) = (times_ns[0], times_ns[times_ns.len() / 2]);
        println!(
            "{name}: {median:.0} ns a sample in the median, {least:.0} ns at least, of {rounds} rounds"
        );
    }
}
