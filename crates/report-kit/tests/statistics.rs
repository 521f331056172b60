//! The statistics of latencies against those of NumPy and SciPy, on the same samples.
//!
//! What SciPy said is stored beside `expect.py`, which made it, and it is asked again.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

use report_kit::statistics::{Comparison, Distribution, Percentile, Summary};
use serde_json::Value;

/// Floating point in another order of operations.
const RELATIVE: f64 = 1e-9;

/// As `samples` of expect.py.
fn samples(name: &str) -> Distribution {
    let names = ["smooth", "spiky", "shifted", "coarse"];
    let seed = names.iter().position(|other| *other == name).unwrap() as u64 + 1;
    let mut random = random::Random::new(seed);
    let draw = |index: u64| {
        let mixed = random.number();
        let value = (3000 + (mixed >> 50) + ((mixed >> 20) % 4096)) as u32;
        match name {
            "spiky" if index.is_multiple_of(97) => value * 40,
            "shifted" => value + 700,
            "coarse" => value / 1000 * 1000,
            _ => value,
        }
    };
    Distribution::of(&(0..5000).map(draw).collect::<Vec<u32>>())
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

fn assert_near(ours: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    let off = (ours - expected).abs();
    assert!(off <= RELATIVE * expected.abs().max(1e-300), "{what}: {ours}, SciPy {expected}");
}

fn compare_with(expected: &Value) {
    for (name, expected) in expected["summaries"].as_object().unwrap() {
        let samples = samples(name);
        let ours = Summary::of(&samples).unwrap();
        for (figure, ours) in serde_json::to_value(ours).unwrap().as_object().unwrap() {
            if let Some(expected) = expected.get(figure) {
                assert_near(ours.as_f64().unwrap(), expected, &format!("{name} {figure}"));
            }
        }
        for (share, expected) in
            [0.99, 0.999].iter().zip(expected["percentiles"].as_array().unwrap())
        {
            let ours = Percentile::of(&samples, *share).unwrap();
            let what = format!("{name} p{share}");
            assert_near(ours.value, &expected["value"], &what);
            assert_near(ours.lower, &expected["lower"], &what);
            assert_eq!(ours.upper, expected["upper"].as_f64(), "{what}");
        }
    }
    for (pair, expected) in expected["comparisons"].as_object().unwrap() {
        let (first, second) = pair.split_once(' ').unwrap();
        let ours = Comparison::of(&samples(first), &samples(second)).unwrap();
        assert_near(ours.greater, &expected["greater"], pair);
        assert_near(ours.distance, &expected["distance"], pair);
        assert_p(ours.rank_p, &expected["rank_p"], pair);
        // SciPy's asymptotic p-value corrects for finite samples; ours is the limit.
        let scipy = expected["distance_p"].as_f64().unwrap();
        assert!((ours.distance_p - scipy).abs() < 0.01, "{pair}: {ours:?}, SciPy {scipy}");
    }
}

/// Of a far tail only its order of magnitude is comparable.
fn assert_p(ours: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    let off = (ours - expected).abs();
    assert!(off <= 1e-6 * expected + 1e-30, "{what}: p {ours}, SciPy {expected}");
}

#[test]
fn summaries_and_comparisons_are_those_of_scipy() {
    let stored = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["summaries"].as_object().unwrap().len(), 4);
    assert_eq!(stored["comparisons"].as_object().unwrap().len(), 4);
    compare_with(&stored);
}

#[test]
fn scipy_still_says_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new(root.join(".venv/bin/python"));
    let asked = python.arg(folder().join("expect.py")).output();
    let asked = asked.expect("`make setup-test` puts Python and SciPy into .venv");
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    compare_with(&serde_json::from_slice(&asked.stdout).unwrap());
}
