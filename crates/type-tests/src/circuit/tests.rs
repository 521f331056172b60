//! The circuit obeys its own laws: what is left at a fault, and currents that do not jump.

use super::*;
use crate::line::{Kind, Source};
use crate::wave::NOMINAL_V;

fn source(angle_deg: f64, ohm: f64) -> Source {
    let voltage = Complex::from_polar(NOMINAL_V, angle_deg.to_radians());
    let positive = Complex::from_polar(ohm, 85f64.to_radians());
    Source {
        voltage,
        impedance: Impedance { positive, zero: positive * 2.0 },
        disturbing: Vec::new(),
    }
}

fn line() -> Line {
    let positive = Complex::from_polar(10.0, 80f64.to_radians());
    Line {
        nominal_hz: 50.0,
        frequency_hz: 50.0,
        near: source(10.0, 5.0),
        impedance: Impedance { positive, zero: positive * 3.0 },
        far: source(0.0, 8.0),
    }
}

/// What is left at the fault: the voltages there, computed from the relay by the line's own model.
fn at_fault(line: &Line, samples: &[Sample], place: f64, rate: f64) -> Vec<[f64; 3]> {
    let phases = phases(line, line.impedance.times(place));
    samples
        .windows(3)
        .map(|three| {
            let of = |n: usize| Vector3::from(three[n].currents);
            let slope = (of(2) - of(0)) * (rate / 2.0);
            let drop = phases.resistance * of(1) + phases.inductance * slope;
            (Vector3::from(three[1].voltages) - drop).into()
        })
        .collect()
}

#[test]
fn a_bolted_fault_leaves_no_voltage_where_it_is_and_currents_do_not_jump() {
    for kind in Kind::ALL {
        let fault =
            Fault { kind, place: 0.6, begin_s: 0.0513, resistance_ohm: 0.0, earth_ohm: 0.0 };
        let rate = 1e5;
        let samples = line().samples(Some(&fault), rate, 12_000);
        for pair in samples.windows(2) {
            for phase in 0..3 {
                let step = (pair[1].currents[phase] - pair[0].currents[phase]).abs();
                assert!(step < 150.0, "{kind:?}: {step} A");
            }
        }
        for (number, volts) in at_fault(&line(), &samples, 0.6, rate).iter().enumerate() {
            if number < 5131 {
                continue;
            }
            let left: f64 = match kind {
                Kind::Earth(phase) => volts[phase].abs(),
                Kind::Phases(free) => (volts[(free + 1) % 3] - volts[(free + 2) % 3]).abs(),
                Kind::PhasesEarth(free) => {
                    volts[(free + 1) % 3].abs() + volts[(free + 2) % 3].abs()
                }
                Kind::Three => (volts[0] - volts[1]).abs() + (volts[1] - volts[2]).abs(),
                Kind::ThreeEarth => volts.iter().map(|v| v.abs()).sum(),
            };
            assert!(left < 1.0, "{kind:?}: {left} V at {number}");
        }
    }
}

#[test]
fn faults_that_evolve_or_come_in_two_places_obey_the_circuit_everywhere() {
    let fault =
        |kind, place, begin_s| Fault { kind, place, begin_s, resistance_ohm: 0.0, earth_ohm: 0.0 };
    let rate = 1e5;
    let line = line();
    let first = fault(Kind::Earth(0), 0.4, 0.0513);
    for second in [
        fault(Kind::PhasesEarth(2), 0.4, 0.0613),
        fault(Kind::ThreeEarth, 0.4, 0.0613),
        fault(Kind::Earth(1), -0.3, 0.0613),
        fault(Kind::Earth(1), 0.7, 0.0613),
        fault(Kind::Phases(0), 1.4, 0.0613),
    ] {
        let course = Course::new(&line, &[first, second]);
        let [near, far] = [End::Near, End::Far].map(|end| course.seen_at(end, rate, 12_000));
        for samples in [&near, &far] {
            for pair in samples.windows(2) {
                for phase in 0..3 {
                    let step = (pair[1].currents[phase] - pair[0].currents[phase]).abs();
                    assert!(step < 150.0, "{second:?}: {step} A");
                }
            }
        }
        // From both ends the place of the first fault is where phase A has no voltage.
        let from_near = at_fault(&line, &near, 0.4, rate);
        assert!(from_near[6131..].iter().all(|volts| volts[0].abs() < 1.0), "{second:?}");
        if second.place == 0.7 {
            let from_far = at_fault(&line, &far, 0.3, rate);
            assert!(from_far[6131..].iter().all(|volts| volts[1].abs() < 1.0));
        }
        // Before all of it, and for faults beyond, what flows in at one end flows out at the other.
        for number in 0..5131 {
            let sum = near[number].currents[1] + far[number].currents[1];
            assert!(sum.abs() < 1e-6, "{sum} A");
        }
    }
}

#[test]
fn what_flows_into_the_line_at_one_end_flows_out_at_the_other_unless_the_line_is_faulty() {
    for (place, is_faulty) in [(-0.3, false), (0.4, true), (1.3, false)] {
        for kind in Kind::ALL {
            let (begin_s, resistance_ohm) = (0.05, 0.5);
            let fault = Fault { kind, place, begin_s, resistance_ohm, earth_ohm: 1.0 };
            let course = Course::new(&line(), &[fault]);
            let [near, far] = [End::Near, End::Far].map(|end| course.seen_at(end, 4000.0, 400));
            let left = |(near, far): (&Sample, &Sample)| {
                (0..3).map(|p| (near.currents[p] + far.currents[p]).abs()).fold(0.0, f64::max)
            };
            let most = near.iter().zip(&far).map(left).fold(0.0, f64::max);
            assert_eq!(most > 1e-3, is_faulty, "{kind:?} at {place}: {most} A");
        }
    }
}

#[test]
fn a_line_that_is_switched_on_begins_without_current() {
    let fault =
        Fault { kind: Kind::Three, place: 0.5, begin_s: 0.0, resistance_ohm: 0.0, earth_ohm: 0.0 };
    for (transformers, volts) in [(Transformers::Line, 0.0), (Transformers::Busbar, 1000.0)] {
        let course = Course::switched_on(&line(), &[fault], 0.0501, transformers);
        let samples = course.seen_at(End::Near, 4000.0, 2000);
        let peak = |range: std::ops::Range<usize>, of: fn(&Sample) -> f64| {
            samples[range].iter().map(of).fold(0.0, f64::max)
        };
        assert_eq!(peak(0..200, |sample| sample.currents[0].abs()), 0.0);
        assert!(peak(0..200, |sample| sample.voltages[0].abs()) >= volts);
        assert!(samples[202].currents[0].abs() < 1500.0, "no jump");
        // 63.5 kV behind 5 ohm and half the line of 10 ohm.
        let steady = peak(1900..2000, |sample| sample.currents[0].abs()) / SQRT_2;
        assert!((steady / (NOMINAL_V / 10.0) - 1.0).abs() < 0.01, "{steady} A");
    }
}

#[test]
fn a_fault_behind_turns_the_current_round() {
    let fault = Fault {
        kind: Kind::ThreeEarth,
        place: -0.2,
        begin_s: 0.05,
        resistance_ohm: 0.0,
        earth_ohm: 0.0,
    };
    let line = line();
    let samples = line.samples(Some(&fault), 4000.0, 2000);
    // The transient is gone: only what comes from the far end flows.
    let whole =
        line.far.impedance.positive + line.impedance.positive + line.near.impedance.positive * 0.2;
    let expected = NOMINAL_V / whole.norm();
    let peak = samples[1600..].iter().map(|s| s.currents[0].abs()).fold(0.0, f64::max);
    assert!((peak / SQRT_2 / expected - 1.0).abs() < 0.01, "{peak} {expected}");
}
