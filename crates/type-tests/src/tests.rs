//! A thinned matrix, and faults that a matrix of faults does not have.

use std::f64::consts::{SQRT_2, TAU};

use protection::{Complex, Degrees};

use crate::line::{Fault, Impedance, Kind, Line, Sample, Source};
use crate::relay::{Fate, Seen, UnderTest};
use crate::report::Plan;
use crate::sets::SETS;
use crate::suite::{self, TESTS, known};
use crate::wave::{NOMINAL_V, settings_of};

const RATE: u32 = 4000;

/// The thinned matrix; `make type-tests` has all of it.
#[test]
fn no_case_of_the_thinned_matrix_is_decided_wrongly() {
    for (set, cases) in SETS.into_iter().zip([600, 500, 400, 500, 200, 100]) {
        let shown = set.run(0..cases);
        println!("{}: {:?} {:?}", set.name, shown.cases, shown.median_and_max());
        assert!(shown.wrong.is_empty(), "{}: {:?}", set.name, shown.wrong);
    }
}

/// The tests of the standards, thinned; `make type-tests` runs all of their cases.
#[test]
fn no_claim_is_missed_but_those_that_are_known() {
    let sections = suite::run(&TESTS, Plan { one_of: 29 }, |_| ());
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let cases: usize = rows().map(|row| row.cases).sum();
    println!("{cases} cases");
    assert!(cases > 2000, "{cases} cases");
    let missed: Vec<_> =
        rows().filter(|row| !row.missed.is_empty() && known(&row.what).is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Balanced currents, lagging by 20 degrees, and voltages; root mean square, `turn` is 1 or -1 for the
/// order of the phases of the voltages.
fn load(current_a: f64, voltage_v: f64, turn: f64, hz: f64, seconds: f64) -> Vec<Sample> {
    let phases = |size: f64, angle: f64, turn: f64| {
        [0.0, -1.0, 1.0].map(|phase| SQRT_2 * size * (angle + turn * phase * TAU / 3.0).cos())
    };
    (0..(seconds * f64::from(RATE)) as usize)
        .map(|number| {
            let angle = TAU * hz * number as f64 / f64::from(RATE);
            Sample {
                currents: phases(current_a, angle - 0.35, 1.0),
                voltages: phases(voltage_v, angle, turn),
            }
        })
        .collect()
}

/// A relay with these elements on the stream `s`.
fn relay(elements: &str) -> UnderTest {
    let stream = ("s", ", late_max: 20 ms");
    UnderTest::new(&settings_of(&[stream], 50.0, RATE, elements), RATE)
}

const ZONE: &str = "  Z1: {function: distance, stream: s, shape: mho, reach: 8 ohm, angle: 84 deg, way: \
                    forward, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 0 s}\n";

fn nothing(seen: &[Seen]) -> bool {
    seen.iter().all(|seen| seen.operated_s.is_none())
}

#[test]
fn one_or_two_wrong_samples_operate_no_overcurrent() {
    let relay = relay(
        "  I: {function: overcurrent, stream: s, pick_up: 2 kA, delay: 0 s}\n  N: {function: \
         overcurrent, stream: s, of: residual, pick_up: 500 A, delay: 0 s}\n",
    );
    for value in [5e3, -16e3, 100e3] {
        for count in [1, 2] {
            for at in 1200..1280 {
                let mut samples = load(300.0, NOMINAL_V, 1.0, 50.0, 0.5);
                for sample in &mut samples[at..at + count] {
                    sample.currents[0] = value;
                }
                assert!(nothing(&relay.run(&samples)), "{count} of {value} A at {at}");
            }
        }
    }
}

#[test]
fn a_publisher_that_pauses_trips_nothing_on_load() {
    let relay = relay(ZONE);
    let samples = load(400.0, NOMINAL_V, 1.0, 50.0, 0.6);
    for pause_ms in 1..=20 {
        let fate = |number| match number {
            1600 => Fate::Late(f64::from(pause_ms) * 1e-3),
            _ => Fate::Arrives,
        };
        assert!(nothing(&relay.run_with(&samples, fate)), "{pause_ms} ms");
    }
}

#[test]
fn load_that_was_switched_on_shortly_before_hides_no_fault() {
    let ohm = |size: f64, angle_deg: f64| Complex::polar_deg(size, angle_deg);
    let source = |size: f64, angle_deg: f64| Source {
        voltage: Complex::polar_deg(NOMINAL_V, angle_deg),
        impedance: Impedance { positive: ohm(size, 85.0), zero: ohm(1.5 * size, 82.0) },
        disturbing: Vec::new(),
    };
    let line = |load_deg: f64| Line {
        nominal_hz: 50.0,
        frequency_hz: 50.0,
        near: source(16.0, 0.0),
        impedance: Impedance { positive: ohm(11.2, 80.0), zero: ohm(33.6, 76.0) },
        far: source(16.0, load_deg),
    };
    let relay = relay(&ZONE.replace("angle: 84 deg", "angle: 80 deg"));
    for kind in Kind::ALL {
        for (load_deg, begin_s) in [(-30.0, 0.34), (-30.0, 0.45), (30.0, 0.4), (-30.0, 0.9)] {
            let fault = Fault { kind, place: 0.36, begin_s, resistance_ohm: 0.0, earth_ohm: 0.0 };
            let mut samples = line(load_deg).samples(Some(&fault), f64::from(RATE), 4400);
            let idle = line(0.0).samples(None, f64::from(RATE), 1200);
            samples[..1200].copy_from_slice(&idle);
            let taken_s = relay.run(&samples)[0].operated_s.map(|at_s| at_s - begin_s);
            assert!(
                taken_s.is_some_and(|taken_s| (0.0..0.03).contains(&taken_s)),
                "{kind:?} at {begin_s} s with {load_deg} degrees: {taken_s:?}"
            );
        }
    }
}

#[test]
fn voltages_in_the_wrong_order_or_dead_decide_nothing() {
    let relay = relay(ZONE);
    assert!(nothing(&relay.run(&load(1000.0, NOMINAL_V, -1.0, 50.0, 0.6))), "wrong order");
    // Noise of a few volts, and a current that begins.
    let mut samples = load(3000.0, 5.0, 1.0, 50.0, 0.8);
    for sample in &mut samples[..1600] {
        sample.currents = [0.0; 3];
    }
    assert!(nothing(&relay.run(&samples)), "dead voltage transformers");
}

#[test]
fn what_is_induced_on_a_line_has_no_frequency() {
    let relay = relay(
        "  F: {function: frequency, stream: s, side: under, pick_up: 49 Hz, voltage_min: 20 kV, \
         delay: 100 ms}\n",
    );
    assert!(nothing(&relay.run(&load(1.0, 500.0, 1.0, 48.0, 1.5))));
    assert!(!nothing(&relay.run(&load(1.0, NOMINAL_V, 1.0, 48.0, 1.5))));
    // Without the key: a line that was alive and is dead.
    let relay = self::relay(
        "  F: {function: frequency, stream: s, side: under, pick_up: 49 Hz, delay: 100 ms}\n",
    );
    let mut samples = load(1.0, NOMINAL_V, 1.0, 50.0, 1.0);
    samples.extend(load(1.0, 500.0, 1.0, 48.0, 1.5));
    assert!(nothing(&relay.run(&samples)));
}
