//! A fault record of a real relay, replayed: what this relay decides of the same currents and voltages.

use iec61850::comtrade::{Record, evenly, resample};

use crate::line::Sample;
use crate::relay::UnderTest;
use crate::report::{Bar, Plan, Row, Section};
use crate::wave::settings;

const RATE: u32 = 4000;
/// A GE Multilin 850, triggered by command, 5 s of load; from drewsilcock/comtrade, MIT.
const CONFIGURATION: &str = include_str!("../../iec61850/tests/data/drewsilcock_real_1999_bin.cfg");
const DATA: &[u8] = include_bytes!("../../iec61850/tests/data/drewsilcock_real_1999_bin.dat");
const CHANNELS: [&str; 6] = ["J1 -IA", "J1 -IB", "J1 -IC", "J2 -VA", "J2 -VB", "J2 -VC"];

/// Elements set to the load of the record, 39 to 43 A and 460 to 475 V; it has no reason to trip.
const QUIET: &str = "  \
    D: {function: directional_overcurrent, stream: s, pick_up: 60 A, delay: 0 s, way: forward, characteristic: 45 deg, polarising_min: 100 V}\n  \
    I: {function: overcurrent, stream: s, pick_up: 60 A, delay: 0 s}\n  \
    N: {function: overcurrent, stream: s, of: residual, pick_up: 10 A, delay: 0 s}\n  \
    T: {function: overcurrent, stream: s, pick_up: 50 A, curve: iec-normal-inverse, k: 0.05}\n  \
    U: {function: voltage, stream: s, side: under, pick_up: 400 V, delay: 0 s}\n  \
    O: {function: voltage, stream: s, side: over, pick_up: 520 V, delay: 0 s}\n  \
    G: {function: frequency, stream: s, side: over, pick_up: 50.2 Hz, delay: 0 s}\n  \
    F: {function: frequency, stream: s, side: under, pick_up: 49.8 Hz, delay: 0 s}\n  \
    Z: {function: distance, stream: s, shape: mho, reach: 6 ohm, angle: 75 deg, way: forward, earth_factor: 0.7, current_min: 10 A, healthy: 300 V, delay: 0 s}\n  \
    V: {function: distance, stream: s, shape: quadrilateral, resistance: 4 ohm, earth_resistance: 4 ohm, reach: 6 ohm, angle: 75 deg, way: reverse, earth_factor: 0.7, current_min: 10 A, healthy: 300 V, delay: 0 s}\n";

/// Elements whose limits the load is beyond.
const BEYOND: &str = "  \
    I: {function: overcurrent, stream: s, pick_up: 35 A, delay: 100 ms}\n  \
    U: {function: voltage, stream: s, side: under, pick_up: 500 V, delay: 100 ms}\n  \
    O: {function: voltage, stream: s, side: over, pick_up: 420 V, delay: 100 ms}\n  \
    F: {function: frequency, stream: s, side: under, pick_up: 50.5 Hz, delay: 100 ms}\n";

/// The record in primary A and V, at another rate.
///
/// # Panics
/// If the record, which is part of the program, has not what it has.
fn replayed() -> Vec<Sample> {
    let record = Record::parse(CONFIGURATION, DATA).expect("the record is whole");
    let channels = CHANNELS.map(|name| {
        let at = record.configuration.analog.iter().position(|channel| channel.name == name);
        let channel = &record.configuration.analog[at.expect("the record has it")];
        let values = record.channel(name).expect("the record has it");
        let (values, hz) = evenly(values, &record.time_s).expect("its times increase");
        let primary: Vec<f64> = values.iter().map(|value| value * channel.ratio).collect();
        resample(&primary, hz, f64::from(RATE), channel.skew_us * 1e-6)
    });
    let sample = |number: usize| Sample {
        currents: [0, 1, 2].map(|phase| channels[phase][number]),
        voltages: [3, 4, 5].map(|phase| channels[phase][number]),
    };
    (0..channels[0].len()).map(sample).collect()
}

/// What is decided of the record.
#[must_use]
pub fn section(_: Plan) -> Section {
    let samples = replayed();
    let mut quiet = Row::new("elements set above its load: nothing starts", Bar::AllRight);
    let mut beyond =
        Row::new("elements whose limit it is beyond: operate in their time", Bar::AllRight);
    for (row, elements) in [(&mut quiet, QUIET), (&mut beyond, BEYOND)] {
        let relay = UnderTest::new(&settings(50.0, RATE, elements), RATE);
        for (name, seen) in relay.elements().zip(relay.run(&samples)) {
            let is_right = match elements {
                QUIET => seen.started_s.is_none(),
                // A frequency is found and believed first.
                _ => seen.operated_s.is_some_and(|at_s| (0.1..0.3).contains(&at_s)),
            };
            row.judge(is_right, || format!("{name}: {seen:?}"));
        }
    }
    Section {
        title: "A record of another relay",
        what: "Five seconds of load that a GE Multilin 850 recorded (`crates/iec61850/tests/data`, from \
               drewsilcock/comtrade, MIT), replayed at 4000 samples a second. That relay had started \
               nothing. It is the only record at hand with a clear licence; one of a fault would say more.",
        rows: vec![quiet, beyond],
        pictures: Vec::new(),
        notes: String::new(),
    }
}
