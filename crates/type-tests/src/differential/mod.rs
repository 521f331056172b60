//! Differential (87; PDIF) of two ends, after what is public of IEC 60255-187-1.

pub mod saturation;

use std::f64::consts::TAU;

use protection::waveform::{Wave, inrush};
use protection::{Complex, Degrees};

use crate::circuit::{Course, End};
use crate::line::{Fault, Impedance, Kind, Line, Sample, Source};
use crate::plot::{Figure, Mark};
use crate::relay::{Seen, UnderTest};
use crate::report::{Bar, Picture, Plan, Row, Section};
use crate::wave::{NOMINAL_V, Phasors, balanced, injected, ramp, settings_of};

pub(crate) const RATE: u32 = 4000;
pub(crate) const HZ: f64 = 50.0;
/// Rated current of both ends, in A.
pub(crate) const RATED_A: f64 = 1000.0;
const PICK_UP: f64 = 0.3;
const SLOPE: f64 = 0.3;
const KNEE: f64 = 3.0;
const SLOPE_BEYOND: f64 = 0.7;

/// A relay with this unrestrained step, in multiples of the rated current.
pub(crate) fn relay(unrestrained: f64) -> UnderTest {
    let element = format!(
        "  D: {{function: differential, streams: [a, b], rated: [{RATED_A} A, {RATED_A} A], pick_up: \
         {}%, slope: {}%, knee: {KNEE}, slope_beyond: {}%, unrestrained: {unrestrained}, delay: 0 s}}\n",
        PICK_UP * 100.0,
        SLOPE * 100.0,
        SLOPE_BEYOND * 100.0,
    );
    UnderTest::new(&settings_of(&[("a", ""), ("b", "")], HZ, RATE, &element), RATE)
}

/// Difference at which it operates with this restraint, both in multiples of the rated current.
fn threshold(restraint: f64) -> f64 {
    let beyond = (restraint - KNEE).max(0.0);
    PICK_UP.max(SLOPE * restraint.min(KNEE) + SLOPE_BEYOND * beyond)
}

/// Line of 8 ohm between two sources, in a grid of 110 kV.
pub(crate) fn line(near_ohm: f64, far_ohm: f64, line_deg: f64, load_deg: f64) -> Line {
    let positive = Complex::polar_deg(8.0, line_deg);
    let source = |ohm: f64, angle_deg: f64| {
        let positive = Complex::polar_deg(ohm, 86.0);
        Source {
            voltage: Complex::polar_deg(NOMINAL_V, angle_deg),
            impedance: Impedance { positive, zero: positive * 1.5 },
            disturbing: Vec::new(),
        }
    };
    Line {
        nominal_hz: HZ,
        frequency_hz: HZ,
        near: source(near_ohm, 0.0),
        impedance: Impedance { positive, zero: positive * 3.0 },
        far: source(far_ohm, load_deg),
    }
}

pub(crate) fn fault(kind: Kind, place: f64, begin_s: f64) -> Fault {
    Fault { kind, place, begin_s, resistance_ohm: 0.0, earth_ohm: 0.0 }
}

/// Samples of both ends.
pub(crate) fn ends(line: &Line, faults: &[Fault], seconds: f64) -> [Vec<Sample>; 2] {
    let course = Course::new(line, faults);
    let count = (seconds * f64::from(RATE)) as usize;
    [End::Near, End::Far].map(|end| course.seen_at(end, RATE.into(), count))
}

pub(crate) fn run(relay: &UnderTest, [near, far]: &[Vec<Sample>; 2]) -> Seen {
    relay.run_streams(&[near, far], |_, _| crate::relay::Fate::Arrives)[0]
}

/// Phases that carry a through current and a difference.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phases {
    All,
    /// All but this one.
    Two(usize),
    One(usize),
}

/// Through current and difference that grows, both in phase: the difference at which it starts.
fn characteristic(restraint: f64, phases: Phases, angle_deg: f64) -> Option<f64> {
    const RAMP_S: [f64; 2] = [0.8, 2.3];
    let expected = threshold(restraint);
    let one = matches!(phases, Phases::One(_));
    let difference =
        |time_s: f64| expected * ramp(time_s, RAMP_S, [0.94, if one { 1.6 } else { 1.06 }]);
    let end = |sign: f64| {
        injected(
            RATE,
            RAMP_S[1] + 0.1,
            |_| HZ,
            |time_s| {
                let size = sign * restraint + difference(time_s) / 2.0;
                let mut currents = balanced(Complex::polar_deg(size * RATED_A, angle_deg));
                match phases {
                    Phases::All => {}
                    Phases::Two(free) => {
                        currents[(free + 2) % 3] = -currents[(free + 1) % 3];
                        currents[free] = Complex::ZERO;
                    }
                    Phases::One(phase) => {
                        currents[(phase + 1) % 3] = Complex::ZERO;
                        currents[(phase + 2) % 3] = Complex::ZERO;
                    }
                }
                Phasors { currents, ..Phasors::default() }
            },
        )
    };
    run(&relay(50.0), &[end(1.0), end(-1.0)]).started_s.map(difference)
}

fn inside_cases() -> Vec<(Kind, f64, [f64; 2], f64, f64)> {
    let mut cases = Vec::new();
    for kind in Kind::ALL {
        for place in [0.0, 0.3, 0.7, 1.0] {
            for sources_ohm in [[2.0, 4.0], [10.0, 3.0], [30.0, 30.0]] {
                for load_deg in [-20.0, 0.0, 15.0] {
                    for step in 0..8 {
                        let begin_s = 0.3 + f64::from(step) * 0.0025;
                        cases.push((kind, place, sources_ohm, load_deg, begin_s));
                    }
                }
            }
        }
    }
    cases
}

/// A transformer that is switched on from one side: peak in multiples of the rated current, angle of the
/// flux of phase A, decay, and how the phases differ.
fn energised(peak: f64, angle_rad: f64, tau_s: f64, spread: f64) -> [Vec<Sample>; 2] {
    let count = RATE as usize;
    let near = (0..count).map(|number| {
        let time_s = number as f64 / f64::from(RATE) - 0.3;
        let mut sample = Sample::default();
        for (phase, current) in sample.currents.iter_mut().enumerate() {
            let size = peak * RATED_A * (1.0 - spread * phase as f64);
            let angle = angle_rad - TAU / 3.0 * phase as f64;
            *current = inrush(time_s, HZ, size, angle, tau_s);
        }
        sample
    });
    [near.collect(), vec![Sample::default(); count]]
}

/// Too much flux: magnetising current of a size, with a share of the fifth harmonic.
fn overexcited(size: f64, fifth: f64) -> [Vec<Sample>; 2] {
    let count = RATE as usize;
    let waves = [0.0, -120.0, 120.0].map(|turn_deg| Wave {
        frequency_hz: HZ,
        before: Complex::polar_deg(size * RATED_A, turn_deg),
        fault: None,
        harmonics: vec![(5, Complex::polar_deg(fifth * size * RATED_A, 5.0 * turn_deg))],
    });
    let near = (0..count).map(|number| {
        let time_s = number as f64 / f64::from(RATE);
        let value = |wave: &Wave| if time_s < 0.3 { 0.0 } else { wave.value(time_s) };
        Sample { currents: [0, 1, 2].map(|phase| value(&waves[phase])), ..Sample::default() }
    });
    [near.collect(), vec![Sample::default(); count]]
}

/// Characteristic, times, stability and what harmonics block.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let mut value = Row::new("characteristic: error of the difference", Bar::AtMost(2.0, "%"));
    let mut figure =
        Figure::new("restraint, x rated", "difference, x rated", [0.0, 10.0], [0.0, 7.0]);
    let line_points: Vec<_> =
        (0..=100).map(|tenth| f64::from(tenth) / 10.0).map(|r| (r, threshold(r))).collect();
    figure.line(3, &line_points);
    figure.legend(3, "as set");
    figure.legend(0, "measured");
    let mut points = Vec::new();
    for restraint in [0.2, 0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 9.0] {
        for phases in [Phases::All, Phases::Two(0), Phases::Two(1), Phases::Two(2)] {
            points.extend([0.0, 50.0, 130.0].map(|angle_deg| (restraint, phases, angle_deg)));
        }
    }
    for (restraint, phases, angle_deg) in plan.pick(points) {
        let expected = threshold(restraint);
        let measured = characteristic(restraint, phases, angle_deg);
        let error = measured.map_or(f64::INFINITY, |m| (m / expected - 1.0).abs() * 100.0);
        value.measure(error, || format!("restraint {restraint}, {phases:?}: {measured:?}"));
        if let Some(measured) = measured {
            figure.mark(0, Mark::Cross, (restraint, measured));
        }
    }
    let mut single = Row::new(
        "one phase alone, without through current: error of the pick-up",
        Bar::AtMost(2.0, "%"),
    );
    for phase in 0..3 {
        let measured = characteristic(0.0, Phases::One(phase), 0.0);
        let error = measured.map_or(f64::INFINITY, |m| (m / PICK_UP - 1.0).abs() * 100.0);
        single.measure(error, || format!("phase {phase}: {measured:?}"));
    }
    let mut inside = judged("fault inside: operates");
    let mut time = Row::new("fault inside: time", Bar::AtMost(1.5, "periods"));
    for (kind, place, [near_ohm, far_ohm], load_deg, begin_s) in plan.pick(inside_cases()) {
        let line = line(near_ohm, far_ohm, 80.0, load_deg);
        let seen = run(&relay(8.0), &ends(&line, &[fault(kind, place, begin_s)], begin_s + 0.15));
        let periods = seen.operated_s.map(|at_s| (at_s - begin_s) * HZ);
        let text = || {
            format!(
                "{kind:?} at {place}, {near_ohm} and {far_ohm} ohm, {load_deg} degrees: {seen:?}"
            )
        };
        inside.judge(periods.is_some_and(|periods| periods > 0.0), text);
        if let Some(periods) = periods {
            time.measure(periods, text);
        }
    }
    let mut switched = judged("inrush of 1 to 8 times rated: restrains");
    let mut inrushes = Vec::new();
    for peak in [1.0, 2.0, 4.0, 6.0, 8.0] {
        for step in 0..8 {
            for (tau_s, spread) in [(0.1, 0.0), (0.5, 0.0), (0.5, 0.3), (2.0, 0.45)] {
                inrushes.push((peak, f64::from(step) * TAU / 8.0, tau_s, spread));
            }
        }
    }
    for (peak, angle_rad, tau_s, spread) in plan.pick(inrushes) {
        let seen = run(&relay(10.0), &energised(peak, angle_rad, tau_s, spread));
        switched.judge(seen.operated_s.is_none(), || {
            format!("{peak} times, {angle_rad:.2} rad, {tau_s} s, {spread}: {seen:?}")
        });
    }
    let mut flux = judged("fifth harmonic of 40 % and more: restrains; of 25 % and less: operates");
    for size in [0.4, 0.6, 1.0, 2.0] {
        for fifth in [0.0, 0.15, 0.25, 0.4, 0.5, 0.8] {
            let seen = run(&relay(10.0), &overexcited(size, fifth));
            flux.judge(seen.operated_s.is_none() == (fifth > 0.35), || {
                format!("{size} times with {fifth}: {seen:?}")
            });
        }
    }
    let rows = [value, single, inside, time].into_iter().chain(saturation::rows(plan));
    Section {
        title: "Differential",
        what: "Two ends with pick-up of 30 %, slopes of 30 and 70 % and a knee of 3 times the rated current \
               of 1000 A, after what is public of IEC 60255-187-1. The difference grows slowly over a \
               through current; faults on a line of 8 ohm between sources of 2 to 30 ohm; faults beyond \
               both ends, with current transformers that saturate (model of the IEEE Power System \
               Relaying Committee); inrush and too much flux at one side.",
        rows: rows.chain([switched, flux]).collect(),
        pictures: vec![Picture {
            name: "differential",
            caption: "The characteristic as set, and where the element starts.",
            svg: Figure::panels(&[figure], 1, "difference by restraint"),
        }],
        notes: String::new(),
    }
}
