//! Reclosing from end to end without a clock: the waves and the breaker of a merging unit, the engine of a
//! relay, and the messages of both, frame by frame.

use std::path::Path;
use std::time::Duration;

use iec61850::SampleTime;
use iec61850::wire::{Goose, MacAddress, SampledValues, UtcTime};
use protection::PhaseSet;
use protection::reclosing::{Reason, State};
use substation::engine::{Arrival, Change, Engine};
use substation::settings::merging_unit::{self, MergingUnit};
use substation::settings::{self, Function, Relay};

use super::disturbance::Fate;
use super::feedback::OrderWatch;
use super::files::generators;
use super::frame;
use super::schedule::Schedule;
use super::switchgear::{PositionMessage, Switchgear};
use crate::publish::Published;
use crate::subscribed::{Order, Subscribed};

const UNIT: &str = include_str!("../../tests/reclosing/merging_unit.yaml");

const RELAY: &str = include_str!("../../tests/reclosing/relay.yaml");

fn unit(phases: &str, line_hz: &str, dies_after: &str) -> MergingUnit {
    let text = UNIT
        .replace("phases: a,", &format!("phases: {phases},"))
        .replace("waveform\n    frequency: 50 Hz", &format!("waveform\n    frequency: {line_hz}"))
        .replace(", dies_after: 200 ms", dies_after);
    merging_unit::read("unit.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn relay(initiators: &str, tripping: &str) -> Relay {
    let text = RELAY
        .replace("initiate_by: [Z1]", &format!("initiate_by: [{initiators}]"))
        .replace("Q0: [Z1, IE>]", &format!("Q0: [{tripping}]"));
    settings::read("relay.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Everything that changed in 6 s, and when, in ms.
fn changes(unit: &MergingUnit, relay: &Relay) -> Vec<(u64, Change)> {
    let breaker = unit.breaker.as_ref().expect("there is one");
    let mut gear = Switchgear::new(breaker);
    let mut watch = OrderWatch::new(breaker.clone());
    let mut message = PositionMessage::new(breaker, MacAddress::default()).expect("it tells");
    let mut generators = generators(unit, Path::new("")).expect("there are no files");
    let streams: Vec<_> = unit.streams.values().collect();
    let mut schedule = Schedule::new(streams.iter().map(|stream| frame::pace(stream)));
    let mut engine = Engine::new(&relay.protection);
    let mut published = Published::of(relay, MacAddress::default());
    let mut subscribed = Subscribed::of(relay);
    let (mut due, mut octets, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut next_step = SampleTime::ZERO;
    while let Some(now) = schedule.next_due().filter(|now| now.ns() < 6_000_000_000) {
        schedule.take_due(now, &mut due);
        for (stream, number) in &due {
            let stream = streams[*stream];
            let generator =
                generators.get_mut(&(stream.source.clone(), stream.rate)).expect("it has one");
            let sample = |number| {
                generator
                    .samples(number, gear.open(SampleTime::of_sample(number, stream.rate.into())))
            };
            frame::write(
                stream,
                MacAddress::default(),
                *number,
                Fate::default(),
                sample,
                &mut octets,
            );
            let decoded = SampledValues::decode(&octets).expect("it was encoded");
            for asdu in decoded.asdus() {
                let mut known = relay.protection.streams.values();
                let place = known.position(|s| s.key.matches(&decoded.header, &asdu));
                let place = place.expect("the relay knows it") as u16;
                engine.sample(&Arrival::new(place, now, decoded.header, &asdu));
            }
        }
        if now < next_step {
            continue;
        }
        next_step = now.plus(Duration::from_millis(1));
        let stamp = UtcTime::from_realtime_ns(now.ns(), 0);
        if let Some(frame) = message.step(now, || stamp, gear.positions(now)) {
            let message = Goose::decode(frame).expect("it was encoded");
            subscribed.iter_mut().for_each(|each| each.receive(now, &message));
        }
        engine.forget_messages();
        for each in &mut subscribed {
            each.poll(now);
            for (order, value) in each.orders() {
                let Order::Position(breaker, pole) = order else { panic!("{order:?}") };
                engine.position(breaker, pole, value);
            }
        }
        let ms = now.ns() / 1_000_000;
        all.extend(engine.step(now).iter().map(|change| (ms, *change)));
        if let Some(frame) = published[0].step(now, stamp, &engine) {
            gear.obey(now, &watch.take(frame));
        }
    }
    all
}

/// The states of the reclosing element from the fault on, and when each began.
fn states(changes: &[(u64, Change)]) -> Vec<(u64, State)> {
    let state = |(ms, change): &(u64, Change)| match change {
        Change::Reclosing(_, state, _) => Some((*ms, *state)),
        _ => None,
    };
    changes.iter().filter_map(state).filter(|(ms, _)| *ms >= 1900).collect()
}

fn names(states: &[(u64, State)]) -> Vec<State> {
    states.iter().map(|(_, state)| *state).collect()
}

/// Poles that were tripped, each time anew.
fn poles(changes: &[(u64, Change)]) -> Vec<String> {
    let poles = changes.iter().filter_map(|(_, change)| match change {
        Change::Poles(_, poles) if !poles.is_empty() => Some(poles.to_string()),
        _ => None,
    });
    poles.collect()
}

use State::{AwaitingRelease, Closing, DeadTime, Lockout, Ready, Reclaiming, Tripping};

#[test]
fn an_arc_between_phases_is_gone_after_the_dead_time() {
    let dies = ", dies_after: 200 ms";
    let changes = changes(&unit("bc", "50 Hz", dies), &relay("I>>", "I>>"));
    let states = states(&changes);
    assert_eq!(names(&states), [Tripping, DeadTime, Closing, Reclaiming, Ready]);
    assert_eq!(poles(&changes), ["ABC"]);
    let [tripping_ms, dead_ms, closing_ms, closed_ms, ready_ms] =
        [0, 1, 2, 3, 4].map(|index: usize| states[index].0);
    assert!((2000..2030).contains(&tripping_ms), "{states:?}");
    // The trip lasts 100 ms after the current is gone, the breaker takes 60 ms to close.
    assert!((140..170).contains(&(dead_ms - tripping_ms)), "{states:?}");
    assert_eq!(closing_ms - dead_ms, 400);
    assert!((60..64).contains(&(closed_ms - closing_ms)), "{states:?}");
    assert_eq!(ready_ms - closed_ms, 1500);
}

#[test]
fn a_fault_that_stays_is_tripped_again_and_locked_out() {
    let changes = changes(&unit("bc", "50 Hz", ""), &relay("I>>", "I>>"));
    let states = names(&states(&changes));
    // It strikes as the contacts make, before the breaker has told so.
    assert_eq!(states[..3], [Tripping, DeadTime, Closing]);
    assert_eq!(states.last(), Some(&Lockout(Reason::ShotsUsed)), "{states:?}");
    assert_eq!(poles(&changes), ["ABC", "ABC"]);
    let failed = Change::Operate(element("BF"), true);
    assert!(changes.iter().all(|(_, change)| *change != failed), "the breaker obeys");
}

#[test]
fn a_line_that_slips_against_the_busbar_is_not_closed() {
    let dies = ", dies_after: 200 ms";
    let changes = changes(&unit("abc", "50.4 Hz", dies), &relay("I>>", "I>>"));
    let states = names(&states(&changes));
    let expected = [Tripping, DeadTime, AwaitingRelease, Lockout(Reason::NotReleased)];
    assert_eq!(states, expected);
}

#[test]
fn a_trip_that_is_final_is_not_followed_by_closing() {
    let changes = changes(&unit("abc", "50 Hz", ""), &relay("Z1", "I>>, Z1"));
    assert_eq!(names(&states(&changes)), [Lockout(Reason::FinalTrip)]);
}

#[test]
fn one_phase_to_earth_opens_one_pole_and_disturbs_no_element() {
    let dies = ", dies_after: 200 ms";
    // The residual element sees the load of two phases for 700 ms, and is set to 200 ms.
    let relay = relay("Z1", "Z1, IE>");
    let changes = changes(&unit("a", "50 Hz", dies), &relay);
    let states = states(&changes);
    assert_eq!(names(&states), [Tripping, DeadTime, Closing, Reclaiming, Ready], "{changes:?}");
    assert_eq!(poles(&changes), ["A"]);
    assert_eq!(states[2].0 - states[1].0, 600);
    // Neither zone 1, nor breaker failure, nor the residual element takes the load of two phases for a
    // fault.
    let names: Vec<&String> = relay.protection.elements.keys().collect();
    let operated = changes.iter().filter_map(|(ms, change)| match change {
        Change::Operate(element, true) if *ms > 2000 => Some(names[*element].as_str()),
        _ => None,
    });
    let operated: Vec<&str> = operated.filter(|name| !["check", "I>>"].contains(name)).collect();
    assert_eq!(operated, ["Z1", "AR"], "{changes:?}");
}

#[test]
fn a_residual_element_that_nothing_blocks_takes_an_open_pole_for_a_fault() {
    let mut relay = relay("Z1", "Z1, IE>");
    let Some(Function::Reclosing(cycle)) =
        relay.protection.elements.get_mut("AR").map(|element| &mut element.function)
    else {
        panic!("it is there")
    };
    cycle.open_pole_blocks.clear();
    let changes = changes(&unit("a", "50 Hz", ", dies_after: 200 ms"), &relay);
    assert_eq!(poles(&changes), ["A", "ABC"]);
    assert_eq!(names(&states(&changes)).last(), Some(&Lockout(Reason::FinalTrip)));
}

#[test]
fn one_phase_to_earth_that_stays_opens_all_poles_next() {
    let changes = changes(&unit("a", "50 Hz", ""), &relay("Z1", "Z1, IE>"));
    assert_eq!(poles(&changes), ["A", "ABC"]);
    assert_eq!(names(&states(&changes)).last(), Some(&Lockout(Reason::ShotsUsed)));
}

/// The place of an element in the order of names.
fn element(name: &str) -> usize {
    let relay = relay("I>>", "I>>");
    relay.protection.elements.keys().position(|known| known == name).expect("it is there")
}

#[test]
fn poles_that_are_open_are_told_as_such() {
    let breaker = unit("a", "50 Hz", "").breaker.expect("there is one");
    let mut gear = Switchgear::new(&breaker);
    let a = PhaseSet::phase(0);
    let trip = super::switchgear::Orders { trip: a, standing: a, close: false };
    gear.obey(SampleTime::ZERO, &trip);
    let mut message = PositionMessage::new(&breaker, MacAddress::default()).expect("it tells");
    let now = SampleTime::from_ns(50_000_000);
    let frame = message.step(now, UtcTime::default, gear.positions(now)).expect("it is new");
    let told = Goose::decode(frame).expect("it was encoded");
    let bits = |data| match data {
        iec61850::wire::Data::BitString(bits) => (bits.get(0), bits.get(1)),
        other => panic!("{other:?}"),
    };
    let (open, closed) = ((Some(false), Some(true)), (Some(true), Some(false)));
    let all: Vec<_> = told.all_data.elements().map(bits).collect();
    assert_eq!(all, [(Some(false), Some(false)), open, closed, closed]);
}

#[test]
fn the_message_of_a_breaker_asks_for_a_stamp_in_a_new_state_alone() {
    let breaker = unit("a", "50 Hz", "").breaker.expect("there is one");
    let gear = Switchgear::new(&breaker);
    let mut message = PositionMessage::new(&breaker, MacAddress::default()).expect("it tells");
    let (mut stamps, mut frames) = (0, 0);
    // As many batches as a stream of 4000 Hz has in 4 s.
    for now in (0..16_000).map(|number| SampleTime::from_ns(number * 250_000)) {
        let stamp = || {
            stamps += 1;
            UtcTime::default()
        };
        frames += u32::from(message.step(now, stamp, gear.positions(now)).is_some());
    }
    assert_eq!(stamps, 1);
    assert!(frames > 1, "it is repeated");
}
