//! Teleprotection of a line: two relays at its ends, with the signals between them late, and what is
//! switched on.

use std::collections::VecDeque;
use std::f64::consts::{PI, TAU};

use protection::waveform::inrush;
use protection::{Complex, Degrees, PhaseSet};
use random::Random;
use substation::engine::{Change, Engine};
use substation::settings::{Input, Relay};

use crate::circuit::{self, Course, Transformers};
use crate::line::{Fault, Impedance, Kind, Line, Sample, Source};
use crate::relay::{Fate, Stepper, UnderTest};
use crate::wave::{NOMINAL_V, after, settings_of};

const RATE: u32 = 4000;
const HZ: f64 = 50.0;
const STREAM: [(&str, &str); 1] = [("s", "")];
const BEGIN_S: f64 = 0.2;
/// Ohms of the line, and of each source unless it is weak.
const LINE_OHM: f64 = 10.0;
const SOURCE_OHM: f64 = 8.0;
const WEAK_OHM: f64 = 2000.0;

/// How many lines are drawn.
const CASES: u64 = 600;

/// Zones of 80 and 120 % ahead and 50 % behind; `pilot` has further keys of the teleprotection.
fn relay(scheme: &str, pilot: &str) -> Relay {
    relay_of(LINE_OHM, 80.0, 0.67, scheme, pilot)
}

/// The same for a line of other impedance.
fn relay_of(line_ohm: f64, angle_deg: f64, earth_factor: f64, scheme: &str, pilot: &str) -> Relay {
    read(&text_of(line_ohm, angle_deg, earth_factor, scheme, pilot))
}

/// As [`relay`], with zones that a power swing blocks.
fn relay_in_swings(scheme: &str, pilot: &str) -> Relay {
    const SWING: &str = "  PS: {function: power_swing, stream: s, resistance: 14 ohm, reactance: 14 ohm, band: 5 \
                         ohm, current_min: 60 A}\n";
    let text = text_of(LINE_OHM, 80.0, 0.67, scheme, pilot)
        .replace("delay: 10 s", "delay: 10 s, power_swing: PS")
        .replace("  P: {", &format!("{SWING}  P: {{"));
    read(&text)
}

fn read(text: &str) -> Relay {
    substation::settings::read("relay.yaml", text)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn text_of(line_ohm: f64, angle_deg: f64, earth_factor: f64, scheme: &str, pilot: &str) -> String {
    let zone = |name: &str, share: f64, way: &str| {
        let ohm = share * line_ohm;
        format!(
            "  {name}: {{function: distance, stream: s, shape: mho, reach: {ohm:.4} ohm, angle: \
             {angle_deg} deg, way: {way}, earth_factor: {earth_factor:.4}, current_min: 60 A, \
             healthy: 40 kV, delay: 10 s}}\n"
        )
    };
    let zones = [zone("Z1", 0.8, "forward"), zone("Z2", 1.2, "forward"), zone("R", 0.5, "reverse")];
    let elements = format!(
        "{}  P: {{function: teleprotection, stream: s, scheme: {scheme}, forward: Z2, reverse: \
         R{pilot}}}\n",
        zones.concat()
    );
    settings_of(&STREAM, HZ, RATE, &elements)
        + "subscriptions: {other: {reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, \
           conf_rev: 1, entries: [receive P]}}\n"
}

fn line(far_ohm: f64) -> Line {
    let ohm = |size: f64, angle_deg: f64| Complex::polar_deg(size, angle_deg);
    let source = |size: f64, angle_deg: f64| Source {
        voltage: Complex::polar_deg(NOMINAL_V, angle_deg),
        impedance: Impedance { positive: ohm(size, 85.0), zero: ohm(1.5 * size, 82.0) },
        disturbing: Vec::new(),
    };
    Line {
        nominal_hz: HZ,
        frequency_hz: HZ,
        near: source(SOURCE_OHM, 0.0),
        impedance: Impedance { positive: ohm(LINE_OHM, 80.0), zero: ohm(3.0 * LINE_OHM, 80.0) },
        far: source(far_ohm, -5.0),
    }
}

/// One end: its relay, and what it did.
struct End<'a> {
    stepper: Stepper<'a>,
    /// The place of its teleprotection element.
    pilot: usize,
    done: Done,
}

#[derive(Clone, Copy)]
struct Done {
    tripped_s: Option<f64>,
    /// Phases that its trips name.
    phases: PhaseSet,
}

impl<'a> End<'a> {
    fn new(relay: &Relay, samples: &'a [Sample]) -> Self {
        let pilot = relay.protection.elements.keys().position(|name| name == "P");
        Self {
            stepper: Stepper::new(relay, RATE, vec![samples]),
            pilot: pilot.expect("there is one"),
            done: Done { tripped_s: None, phases: PhaseSet::NONE },
        }
    }

    /// A step with what the other end says; answers what it sends itself, nothing at the end. What is sent with
    /// an invalid quality is not heard.
    fn step(&mut self, received: Option<bool>) -> Option<Option<bool>> {
        let pilot = self.pilot;
        let tell = |engine: &mut Engine| {
            engine.forget_messages();
            engine.tell(pilot, Input::Receive, received);
        };
        let (now_s, changes) = self.stepper.step(|_, _| Fate::Arrives, tell)?;
        if changes.contains(&Change::Operate(pilot, true)) {
            self.done.tripped_s.get_or_insert(now_s);
        }
        let engine = &self.stepper.engine;
        let decision = engine.decision(pilot);
        self.done.phases = self.done.phases | decision.phases;
        Some(engine.sees(pilot).then_some(decision.start))
    }
}

/// When both ends trip by teleprotection, in ms after the fault; signals take `delay_ms`, or never come.
fn trips(relay: &Relay, line: &Line, fault: Fault, delay_ms: Option<usize>) -> [Option<i64>; 2] {
    run(relay, line, fault, delay_ms)
        .map(|end| end.tripped_s.map(|at_s| ((at_s - fault.begin_s) * 1e3).round() as i64))
}

/// Both ends, 0.3 s after the fault began.
fn run(relay: &Relay, line: &Line, fault: Fault, delay_ms: Option<usize>) -> [Done; 2] {
    run_for(0.3, relay, line, fault, delay_ms)
}

/// Both ends, so long after the fault began.
fn run_for(
    seconds: f64,
    relay: &Relay,
    line: &Line,
    fault: Fault,
    delay_ms: Option<usize>,
) -> [Done; 2] {
    let count = ((fault.begin_s + seconds) * f64::from(RATE)) as usize;
    let course = Course::new(line, &[fault]);
    let seen = [circuit::End::Near, circuit::End::Far]
        .map(|end| course.seen_at(end, f64::from(RATE), count));
    let [mut near, mut far] = [0, 1].map(|end| End::new(relay, &seen[end]));
    let mut link: VecDeque<_> = vec![[None; 2]; delay_ms.unwrap_or(0) + 1].into();
    loop {
        let arrived = link.pop_front().expect("it is as long as the delay");
        let heard = arrived.map(|sent| sent.filter(|_| delay_ms.is_some()));
        let (Some(of_near), Some(of_far)) = (near.step(heard[1]), far.step(heard[0])) else {
            return [near.done, far.done];
        };
        link.push_back([of_near, of_far]);
    }
}

fn fault(kind: Kind, place: f64) -> Fault {
    Fault { kind, place, begin_s: BEGIN_S, resistance_ohm: 0.0, earth_ohm: 0.0 }
}

const INSIDE: [f64; 5] = [0.0, 0.1, 0.5, 0.9, 1.0];
/// Just behind one of the ends, and some way.
const OUTSIDE: [f64; 4] = [-0.3, -0.05, 1.05, 1.3];

#[test]
fn permissive_overreach_trips_both_ends_for_each_fault_of_the_line_and_for_no_other() {
    let relay = relay("pott", "");
    let mut worst_ms = [0; 3];
    for kind in Kind::ALL {
        for (worst_ms, delay) in worst_ms.iter_mut().zip([0, 10, 30]) {
            for place in INSIDE {
                let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(delay));
                let [Some(near), Some(far)] = at_ms else {
                    panic!("{kind:?} at {place} with {delay} ms: {at_ms:?}")
                };
                *worst_ms = near.max(far).max(*worst_ms);
            }
            for place in OUTSIDE {
                let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(delay));
                assert_eq!(at_ms, [None; 2], "{kind:?} at {place} with {delay} ms");
            }
        }
    }
    // A trip waits for the signal, and for nothing else.
    assert!(worst_ms[0] <= 30 && worst_ms[2] <= worst_ms[0] + 32, "{worst_ms:?}");
}

#[test]
fn a_fault_of_one_phase_is_named_by_both_ends() {
    let strong = relay("pott", "");
    let weak = relay("pott", ", weak_infeed: echo_and_trip, weak_below: 44 kV");
    for phase in 0..3 {
        for place in [0.1, 0.5, 0.9] {
            for (relay, far_ohm) in [(&strong, SOURCE_OHM), (&weak, WEAK_OHM)] {
                let ends = run(relay, &line(far_ohm), fault(Kind::Earth(phase), place), Some(5));
                let named = ends.map(|end| end.phases.poles());
                assert_eq!(named, [PhaseSet::phase(phase); 2], "{phase} at {place}, {far_ohm} ohm");
            }
        }
    }
}

#[test]
fn blocking_trips_both_ends_after_coordination_and_stays_silent_without_the_other() {
    let relay = relay("dcb", ", coordination: 45 ms");
    for kind in Kind::ALL {
        for place in INSIDE {
            let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(20));
            let are_tripped =
                at_ms.iter().all(|at_ms| at_ms.is_some_and(|ms| (45..120).contains(&ms)));
            assert!(are_tripped, "{kind:?} at {place}: {at_ms:?}");
        }
        for place in OUTSIDE {
            let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(20));
            assert_eq!(at_ms, [None; 2], "{kind:?} at {place}");
        }
    }
    let (lost, inside) = (None, fault(Kind::Three, 0.5));
    assert_eq!(trips(&relay, &line(SOURCE_OHM), inside, lost), [None; 2]);
    let trusting = self::relay("dcb", ", coordination: 45 ms, unheard: trip");
    assert!(!trips(&trusting, &line(SOURCE_OHM), inside, lost).contains(&None));
}

#[test]
fn permissive_underreach_trips_the_end_that_is_far_from_the_fault() {
    let relay = relay("putt", ", underreaching: Z1");
    for kind in Kind::ALL {
        for (place, far_from_near) in [(0.05, false), (0.95, true)] {
            let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(10));
            let far = if far_from_near { at_ms[0] } else { at_ms[1] };
            assert!(far.is_some_and(|ms| ms < 80), "{kind:?} at {place}: {at_ms:?}");
        }
        for place in OUTSIDE {
            let at_ms = trips(&relay, &line(SOURCE_OHM), fault(kind, place), Some(10));
            assert_eq!(at_ms, [None; 2], "{kind:?} at {place}");
        }
    }
}

#[test]
fn a_weak_end_echoes_and_trips_by_its_low_voltage() {
    let weak = relay("pott", ", weak_infeed: echo_and_trip, weak_below: 44 kV");
    let blind = relay("pott", "");
    for kind in Kind::ALL {
        for place in [0.1, 0.6, 1.0] {
            let with = |relay, far_ohm| trips(relay, &line(far_ohm), fault(kind, place), Some(10));
            assert_eq!(with(&blind, WEAK_OHM), [None; 2], "nobody permits: {kind:?} at {place}");
            let at_ms = with(&weak, WEAK_OHM);
            let are_tripped = at_ms.iter().all(|at_ms| at_ms.is_some_and(|ms| ms < 120));
            assert!(are_tripped, "{kind:?} at {place}: {at_ms:?}");
        }
        // Between strong ends the same settings trip for nothing outside.
        for place in OUTSIDE {
            let at_ms = trips(&weak, &line(SOURCE_OHM), fault(kind, place), Some(10));
            assert_eq!(at_ms, [None; 2], "{kind:?} at {place}");
        }
    }
}

/// Two machines that fall out of step, with a slip of 1 Hz.
fn out_of_step() -> Line {
    let turning = |source: Source, hz: f64, angle_deg: f64| Source {
        voltage: Complex::ZERO,
        disturbing: vec![(hz, Complex::polar_deg(NOMINAL_V, angle_deg))],
        ..source
    };
    let Line { near, far, .. } = line(SOURCE_OHM);
    let (near, far) = (turning(near, 50.0, 0.0), turning(far, 49.0, -20.0));
    Line { near, far, ..line(SOURCE_OHM) }
}

#[test]
fn faults_of_the_line_during_a_power_swing_trip_both_ends_and_others_none() {
    let line = out_of_step();
    for (scheme, pilot) in [
        ("pott", ""),
        ("pott", ", weak_infeed: echo"),
        ("putt", ", underreaching: Z1"),
        ("dcb", ", coordination: 45 ms"),
        ("dcb", ", coordination: 45 ms, unheard: trip"),
    ] {
        let relay = relay_in_swings(scheme, pilot);
        for apart_deg in [130.0, 180.0, 220.0] {
            let at = |kind, place| {
                let fault = Fault { begin_s: (apart_deg - 20.0) / 360.0, ..fault(kind, place) };
                let ends = run_for(0.5, &relay, &line, fault, Some(10));
                ends.map(|end| end.tripped_s.map(|at_s| at_s - fault.begin_s))
            };
            for kind in [Kind::Earth(0), Kind::Phases(1), Kind::Three] {
                for place in [0.3, 0.5, 0.7] {
                    let tripped = at(kind, place);
                    let text =
                        format!("{scheme}{pilot}: {kind:?} at {place}, {apart_deg}: {tripped:?}");
                    assert!(tripped.iter().all(|s| s.is_some_and(|s| s > 0.0)), "{text}");
                }
                for place in [-0.3, 1.3] {
                    let tripped = at(kind, place);
                    let text =
                        format!("{scheme}{pilot}: {kind:?} at {place}, {apart_deg}: {tripped:?}");
                    assert_eq!(tripped, [None; 2], "{text}");
                }
            }
        }
    }
}

/// A line, sources and load as they come, and a relay for it at each end.
#[test]
fn lines_of_any_kind_are_tripped_for_their_faults_and_for_no_others() {
    let mut slowest_ms = 0;
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let kind = Kind::ALL[random.below(11) as usize];
        let mut between = |from: f64, to: f64| from + (to - from) * random.share();
        let line_ohm = 2f64.powf(between(1.0, 6.0));
        let (angle_deg, zero_ratio) = (between(65.0, 87.0).round(), between(2.0, 4.0));
        let positive = Complex::polar_deg(line_ohm, angle_deg);
        let mut source = |angle: f64| {
            let own = Complex::polar_deg(line_ohm * 10f64.powf(between(-0.7, 0.5)), 85.0);
            let voltage = Complex::polar_deg(NOMINAL_V * between(0.97, 1.03), angle);
            let zero = own * between(0.5, 3.0);
            Source { voltage, impedance: Impedance { positive: own, zero }, disturbing: Vec::new() }
        };
        let (near, far) = (source(0.0), source(-15.0));
        let impedance = Impedance { positive, zero: positive * zero_ratio };
        let line = Line { nominal_hz: HZ, frequency_hz: HZ, near, impedance, far };
        let (is_inside, begin_s) = (between(0.0, 1.0) < 0.5, BEGIN_S + between(0.0, 0.02));
        let place = match (is_inside, between(0.0, 1.0) < 0.5) {
            (true, _) => between(0.0, 1.0),
            (false, true) => -between(0.01, 0.6),
            (false, false) => 1.0 + between(0.01, 0.6),
        };
        let (scheme, pilot) = match between(0.0, 3.0) {
            x if x < 1.0 => ("pott", ", weak_infeed: echo_and_trip, weak_below: 44 kV"),
            x if x < 2.0 => ("pott", ""),
            _ => ("dcb", ", coordination: 50 ms"),
        };
        let relay = relay_of(line_ohm, angle_deg, (zero_ratio - 1.0) / 3.0, scheme, pilot);
        let fault = Fault { begin_s, ..fault(kind, place) };
        let delay = between(0.0, 30.0) as usize;
        let at_ms = trips(&relay, &line, fault, Some(delay));
        let case =
            format!("{seed}: {scheme}, {kind:?} at {place:.3}, {line_ohm:.1} ohm: {at_ms:?}");
        if is_inside {
            let [Some(near), Some(far)] = at_ms else { panic!("{case}") };
            let allowed_ms = if scheme == "dcb" { 50 } else { delay as i64 };
            slowest_ms = slowest_ms.max(near.max(far) - allowed_ms);
        } else {
            assert_eq!(at_ms, [None; 2], "{case}");
        }
    }
    assert!(slowest_ms < 60, "{slowest_ms} ms beside coordination or delay");
}

#[test]
fn a_line_that_is_switched_on_trips_at_once_if_it_is_faulty_and_else_not() {
    let elements = "  I: {function: overcurrent, stream: s, pick_up: 1500 A, delay: 0 s}\n  S: {function: \
                    switch_onto_fault, stream: s, dead_below: 10 kV, current_min: 30 A, pick_up: 1500 \
                    A}\n";
    let relay = UnderTest::new(&settings_of(&STREAM, HZ, RATE, elements), RATE);
    // Not at the zero of a voltage.
    let closed_s = 0.4 + 0.0007;
    let seen_of = |faults: &[Fault]| {
        let line = line(WEAK_OHM);
        let course = Course::switched_on(&line, faults, closed_s, Transformers::Line);
        course.seen_at(circuit::End::Near, f64::from(RATE), 3200)
    };
    for kind in Kind::ALL {
        for place in [0.0, 0.5, 1.0] {
            let seen = relay.run(&seen_of(&[Fault { begin_s: 0.0, ..fault(kind, place) }]))[1];
            let taken_s = after(seen.operated_s, closed_s);
            assert!(taken_s < 0.04, "{kind:?} at {place}: {seen:?}");
        }
    }
    let healthy = seen_of(&[]);
    assert_eq!(relay.run(&healthy)[1].operated_s, None, "healthy");
    let mut energising = healthy;
    for (number, sample) in energising.iter_mut().enumerate() {
        let time_s = number as f64 / f64::from(RATE) - closed_s;
        sample.currents =
            [0.0, 1.0, 2.0].map(|phase| inrush(time_s, HZ, 9000.0, PI - TAU / 3.0 * phase, 0.3));
    }
    let seen = relay.run(&energising);
    assert!(seen[0].operated_s.is_some(), "it is above the limit");
    assert_eq!(seen[1].operated_s, None, "inrush");
}
