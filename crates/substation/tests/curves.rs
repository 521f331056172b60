//! Inverse curves against the relay model of pandapower: `tests/data/curves.py`.

use iec61850::SampleTime;
use protection::curve::{Curve, Reset};
use protection::overcurrent::{Current, Overcurrent, Settings, Timing};

/// How often the element looks.
const STEP_NS: u64 = 250_000;

#[test]
fn elements_operate_when_pandapower_says_they_do() {
    let lines = include_str!("data/curves.tsv").lines();
    for line in lines.clone() {
        let [name, multiple, expected_s] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let curve = Curve::ALL.into_iter().find(|curve| curve.name() == name).unwrap();
        let (multiple, expected_s): (f64, f64) =
            (multiple.parse().unwrap(), expected_s.parse().unwrap());
        let timing = Timing::Inverse(curve, 0.5, Reset::Instantaneous);
        let mut element =
            Overcurrent::new(Settings { pick_up_a: 100.0, timing, second_harmonic_max: None });
        let current = Current { fundamental_a: 100.0 * multiple, second_harmonic_a: 0.0 };
        let taken = (0..2_000_000u64).find(|step| {
            element.update(SampleTime::from_ns(step * STEP_NS), Some(current)).operate
        });
        let taken_s = (taken.unwrap() * STEP_NS) as f64 / 1e9;
        assert!((taken_s / expected_s - 1.0).abs() < 0.01, "{line}: {taken_s}");
    }
    assert_eq!(lines.count(), 20);
}
