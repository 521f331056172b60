//! Trips of single poles through a whole relay, on the waves of a line one pole of which opens: what
//! another relay, breaker failure, reclosing and teleprotection make of each other.

use std::f64::consts::SQRT_2;

use iec61850::SampleTime;
use iec61850::wire::Synchronisation;
use protection::reclosing::State;
use protection::{Complex, Degrees, PhaseSet};
use substation::engine::{Change, Engine};
use substation::settings::{self, Entry, Input};

use crate::open_pole::{Phasors, fault, load, open};
use crate::samples::{RATE, arrival};

const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams: {line: {sv_id: L, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
elements:
  Z1: {function: distance, stream: line, shape: mho, reach: 8 ohm, angle: 84 deg, way: forward, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 0 ms}
  IE>: {function: overcurrent, stream: line, of: residual, pick_up: 100 A, delay: 0 ms}
  BF: {function: breaker_failure, stream: line, breaker: Q0, pick_up: 20 A, retrip_delay: 50 ms, backup_delay: 150 ms}
  AR: {function: reclosing, breaker: Q0, initiate_by: Z1, shots: 400 ms, dead_time_single: 600 ms, reclaim: 1 s, open_pole_blocks: IE>}
trips: {breakers: {Q0: Z1, Q1: IE>, Q9: BF}, single_pole: Q0}
subscriptions:
  breaker: {reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [position Q0 A, position Q0 B, position Q0 C]}
  main2: {reference: M, destination: '01:0c:cd:01:00:03', app_id: 3, conf_rev: 1, entries: [initiate BF A, initiate BF, initiate AR C]}
";
const A: PhaseSet = PhaseSet::phase(0);
const CLOSED: PhaseSet = PhaseSet::NONE;

/// A relay at a line, and what changed so far, with its time in ms.
#[derive(Clone)]
struct Bay {
    engine: Engine,
    names: Vec<String>,
    number: u32,
    changes: Vec<(u32, Change)>,
}

impl Bay {
    /// In load for so long that it is ready to close a pole.
    fn new(settings: &str) -> Self {
        let relay = settings::read("relay.yaml", settings).unwrap_or_else(|p| panic!("{p}"));
        let names = relay.protection.elements.keys().cloned().collect();
        let engine = Engine::new(&relay.protection);
        let mut bay = Self { engine, names, number: 0, changes: Vec::new() };
        bay.run(1500, loaded(), CLOSED, |_| ());
        bay
    }

    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).expect("it is there")
    }

    fn ms(&self) -> u32 {
        self.number * 1000 / RATE
    }

    /// These phasors for so long, with these poles of Q0 open, and what other devices say.
    fn run(&mut self, ms: u32, seen: Phasors, open: PhaseSet, mut tell: impl FnMut(&mut Engine)) {
        let (currents, voltages) = seen;
        for _ in 0..ms * RATE / 1000 {
            let turned_deg = 360.0 * 50.0 * f64::from(self.number) / f64::from(RATE);
            let turn = Complex::polar_deg(SQRT_2, turned_deg.rem_euclid(360.0));
            let value = |phasor: Complex| (phasor * turn).re;
            let (currents_a, voltages_v) = (currents.map(value), voltages.map(value));
            let of = (self.number, 0);
            let clock = Synchronisation::Global;
            self.engine.sample(&arrival(0, of, clock, currents_a, voltages_v));
            if self.number.is_multiple_of(4) {
                self.engine.forget_messages();
                (0..3).for_each(|pole| self.engine.position(0, Some(pole), Some(!open.has(pole))));
                tell(&mut self.engine);
                let at = self.ms();
                let now = SampleTime::of_sample(self.number.into(), RATE);
                self.changes.extend(self.engine.step(now).iter().map(|change| (at, *change)));
            }
            self.number += 1;
        }
    }

    /// Operations of an element from this time on, in ms.
    fn operations(&self, name: &str, from_ms: u32) -> Vec<u32> {
        let place = self.place(name);
        let all = self
            .changes
            .iter()
            .filter(|(ms, change)| *ms >= from_ms && *change == Change::Operate(place, true));
        all.map(|(ms, _)| *ms).collect()
    }

    fn state(&self) -> Option<State> {
        let mut states = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Reclosing(_, state, _) => Some(*state),
            _ => None,
        });
        states.next_back()
    }
}

fn loaded() -> Phasors {
    load(Complex::new(120.0, 30.0))
}

/// Pole A is open, the voltage is that of the busbar.
fn pole_open() -> Phasors {
    open(loaded(), loaded().1[0])
}

#[test]
fn load_of_poles_that_another_relay_did_not_trip_is_no_breaker_failure() {
    let relay = settings::read("relay.yaml", SETTINGS).unwrap_or_else(|p| panic!("{p}"));
    let entries = &relay.subscriptions["main2"].entries;
    assert_eq!(entries[0], Entry::InitiatePole("BF".into(), 0));
    assert_eq!(entries[1], Entry::Input(Input::Initiate, "BF".into()));
    for (by_pole, opens, fails) in [(true, true, false), (true, false, true), (false, true, true)] {
        let mut bay = Bay::new(SETTINGS);
        let place = bay.place("BF");
        let told = |engine: &mut Engine| match by_pole {
            true => engine.initiate(place, 0),
            false => engine.tell(place, Input::Initiate, Some(true)),
        };
        bay.run(40, loaded(), CLOSED, told);
        let seen = if opens { (pole_open(), A) } else { (loaded(), CLOSED) };
        bay.run(60, seen.0, seen.1, told);
        bay.run(300, seen.0, seen.1, |_| ());
        let operations = bay.operations("BF", 0);
        assert_eq!(!operations.is_empty(), fails, "{by_pole} {opens}: {operations:?}");
        assert_eq!(bay.engine.is_tripped(2), fails, "the busbar");
    }
}

#[test]
fn a_pole_that_another_relay_trips_is_closed_again() {
    for (tell_pole, state) in [(true, State::Closing), (false, State::NotReady)] {
        let mut bay = Bay::new(SETTINGS);
        let place = bay.place("AR");
        let mut told = |engine: &mut Engine| {
            if tell_pole {
                engine.initiate(place, 0);
            }
        };
        bay.run(40, loaded(), CLOSED, &mut told);
        bay.run(60, pole_open(), A, &mut told);
        bay.run(610, pole_open(), A, |_| ());
        assert_eq!(bay.state(), Some(state));
    }
}

/// A fault to earth of phase A, whose pole is tripped, opens, and is told to be closed again when it is.
fn cycle(settings: &str, open: Phasors, tell: impl Fn(&mut Engine)) -> Bay {
    let mut bay = Bay::new(settings);
    bay.run(60, fault(loaded(), 0), CLOSED, &tell);
    bay.run(800, open, A, &tell);
    bay.run(300, loaded(), CLOSED, &tell);
    assert_eq!(bay.state(), Some(State::Reclaiming));
    bay
}

#[test]
fn an_open_pole_blocks_what_it_misleads_until_filters_have_forgotten_it() {
    let mut bay = cycle(SETTINGS, pole_open(), |_| ());
    let first = bay.operations("IE>", 0);
    assert!(!first.is_empty() && first.iter().all(|ms| *ms < 1560), "the fault alone: {first:?}");
    // It operates again for what comes afterwards.
    let begin = bay.ms();
    bay.run(60, fault(loaded(), 1), CLOSED, |_| ());
    assert!(!bay.operations("IE>", begin).is_empty());
    // It would be misled.
    let mut bay = Bay::new(&SETTINGS.replace(", open_pole_blocks: IE>", ""));
    bay.run(60, fault(loaded(), 0), CLOSED, |_| ());
    bay.run(500, pole_open(), A, |_| ());
    assert!(bay.engine.decision(bay.place("IE>")).operate);
}

/// The settings with these elements as well, and these entries of messages.
fn with(elements: &str, entries: &str) -> String {
    SETTINGS
        .replace("trips: {", &format!("{elements}trips: {{"))
        .replace("initiate AR C]", &format!("initiate AR C, {entries}]"))
}

#[test]
fn supervision_of_current_transformers_may_be_blocked_while_a_pole_is_open() {
    let settings = with(
        "  CT: {function: ct_supervision, stream: line, residual: 40 A, unbalance: 3 kV, voltage_min: 40 kV, delay: 20 ms}\n",
        "position Q0",
    );
    let bay = cycle(&settings, pole_open(), |_| ());
    assert!(!bay.operations("CT", 0).is_empty(), "the voltage of the busbar is healthy");
    let bay = cycle(&settings.replace("blocks: IE>", "blocks: [IE>, CT]"), pole_open(), |_| ());
    assert!(bay.operations("CT", 0).is_empty());
}

#[test]
fn a_breaker_with_one_pole_open_on_purpose_is_where_it_should_be() {
    let settings = with(
        "  SUP: {function: breaker_supervision, breaker: Q0, opening_max: 60 ms, unknown_max: 100 ms}\n",
        "position Q0",
    );
    assert!(cycle(&settings, pole_open(), |_| ()).operations("SUP", 0).is_empty());
    let mut bay = Bay::new(&settings);
    bay.run(200, loaded(), A, |_| ());
    assert!(!bay.operations("SUP", 0).is_empty(), "nobody wanted it open");
}

const PILOT: &str = "  P: {function: teleprotection, stream: line, scheme: pott, forward: [Z1]}\n";

fn receive(engine: &mut Engine) {
    // AR, BF, IE>, P, Z1
    engine.tell(3, Input::Receive, Some(true));
}

#[test]
fn an_open_pole_blocks_teleprotection_that_is_named() {
    for (named, trips) in [("IE>", true), ("[IE>, P]", false)] {
        let settings = with(PILOT, "receive P").replace("blocks: IE>", &format!("blocks: {named}"));
        let mut bay = Bay::new(&settings);
        bay.run(60, fault(loaded(), 0), CLOSED, receive);
        assert!(!bay.operations("P", 0).is_empty());
        bay.run(300, pole_open(), A, receive);
        assert_eq!(bay.engine.sees(3), trips);
        let begin = bay.ms();
        bay.run(60, fault(pole_open(), 1), A, receive);
        assert_eq!(!bay.operations("P", begin).is_empty(), trips);
        assert!(!bay.operations("Z1", begin).is_empty());
    }
}

#[test]
fn teleprotection_trips_one_pole_while_all_that_see_a_fault_know_its_phase() {
    const OTHERS: &str = "  I: {function: directional_overcurrent, stream: line, pick_up: 1 kA, way: forward, characteristic: 45 deg, polarising_min: 1 kV, delay: 0 ms}
  E: {function: directional_overcurrent, stream: line, of: residual, pick_up: 1 kA, way: forward, characteristic: 70 deg, polarising_min: 1 kV, delay: 0 ms}
";
    for (forward, poles) in [("Z1", A), ("Z1, E", A), ("Z1, I", PhaseSet::ALL)] {
        // E sees it some milliseconds before Z1 does.
        let pilot = PILOT.replace("[Z1]", &format!("[{forward}], coordination: 20 ms"));
        let settings = with(&format!("{OTHERS}{pilot}"), "receive P")
            .replace("Q0: Z1,", "Q0: P,")
            .replace("initiate_by: Z1", "initiate_by: P");
        let mut bay = Bay::new(&settings);
        let pilot = bay.place("P");
        bay.run(60, fault(loaded(), 0), CLOSED, |engine| {
            engine.tell(pilot, Input::Receive, Some(true));
        });
        assert_eq!(bay.engine.tripped(0), poles, "{forward}");
    }
}

/// A zone that looks behind.
const REVERSE: &str = "  R: {function: distance, stream: line, shape: mho, reach: 8 ohm, angle: 84 deg, way: reverse, earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 1 s}
";

/// A fault of phase A at an end that feeds no current, with what an element is told meanwhile.
fn weak(tell: impl Fn(&Bay, &mut Engine)) -> Bay {
    let pilot =
        PILOT.replace("[Z1]", "[Z1], reverse: [R], weak_infeed: echo_and_trip, weak_below: 40 kV");
    let settings = with(&format!("{REVERSE}{pilot}"), "receive P")
        .replace("Q0: Z1,", "Q0: [Z1, P],")
        .replace("initiate_by: Z1", "initiate_by: [Z1, P]");
    let mut bay = Bay::new(&settings);
    let mut low = loaded();
    low.0 = [Complex::ZERO; 3];
    let idle = low;
    low.1[0] *= 0.3;
    let names = bay.clone();
    bay.run(400, idle, CLOSED, |engine| tell(&names, engine));
    bay.run(150, low, CLOSED, |engine| {
        engine.tell(names.place("P"), Input::Receive, Some(true));
        tell(&names, engine);
    });
    bay
}

#[test]
fn a_weak_end_trips_the_pole_whose_voltage_is_low() {
    assert_eq!(weak(|_, _| ()).engine.tripped(0), A);
}

#[test]
fn an_end_whose_elements_cannot_see_does_not_echo() {
    for blind in ["Z1", "R"] {
        let bay = weak(|bay, engine| engine.tell(bay.place(blind), Input::Block, Some(true)));
        assert!(!bay.engine.decision(bay.place("P")).start && !bay.engine.sees(bay.place("P")));
        assert!(bay.operations("P", 0).is_empty(), "{blind}");
    }
}

#[test]
fn an_end_whose_elements_a_swing_slows_sees_and_does_not_echo() {
    const SWING: &str = "  PS: {function: power_swing, stream: line, resistance: 12 ohm, reactance: 12 ohm, band: 5 ohm, current_min: 100 A}\n";
    let pilot = PILOT.replace("[Z1]", "[Z1], reverse: [R], weak_infeed: echo");
    let settings = with(&format!("{SWING}{REVERSE}{pilot}"), "receive P")
        .replace("delay: 0 ms}\n  IE>", "delay: 0 ms, power_swing: PS}\n  IE>");
    let mut bay = Bay::new(&settings);
    let (pilot, swing) = (bay.place("P"), bay.place("PS"));
    let hear = |engine: &mut Engine| engine.tell(pilot, Input::Receive, Some(true));
    let mut quiet = bay.clone();
    quiet.run(60, loaded(), CLOSED, hear);
    assert!(quiet.engine.decision(pilot).start && !quiet.engine.decision(swing).operate);
    bay.run(100, load(Complex::new(14.5, 5.0)), CLOSED, |_| ());
    for _ in 0..60 {
        bay.run(1, load(Complex::new(14.5, 5.0)), CLOSED, hear);
        assert!(bay.engine.sees(pilot) && bay.engine.decision(swing).operate);
        assert!(!bay.engine.decision(pilot).start);
    }
}
