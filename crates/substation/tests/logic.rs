//! Elements that look at other elements and devices: their settings, and how they are wired.

use iec61850::SampleTime;
use protection::teleprotection::Scheme;
use substation::engine::{Change, Engine};
use substation::settings::{self, Entry, Function, Input, SignalKind};

const LINE: &str = include_str!("data/line.yaml");

/// What is said of the good settings with one text replaced by another, without its place.
fn said(from: &str, to: &str) -> Vec<String> {
    assert!(LINE.contains(from), "{from}");
    let problems = settings::read("relay.yaml", &LINE.replacen(from, to, 1)).expect_err(to);
    let say = |problem: &::settings::problems::Problem| {
        format!("{}: {}; {}", problem.key, problem.fault.what, problem.fault.fix)
    };
    problems.iter().map(say).collect()
}

#[test]
fn a_line_is_read() {
    let relay = settings::read("relay.yaml", LINE).unwrap_or_else(|problems| panic!("{problems}"));
    let pilot = &relay.protection.elements["P"];
    let Function::Teleprotection(pilot) = &pilot.function else { panic!("{pilot:?}") };
    assert!(
        matches!(pilot.settings.scheme, Scheme::Pott(Some(weak)) if weak.trip_below_v.is_none())
    );
    assert_eq!((&pilot.forward[..], &pilot.reverse[..]), (&["Z2".into()][..], &["R".into()][..]));
    // Switching on is of interest while voltages are not trusted too.
    assert!(relay.protection.elements["SOTF"].guards.is_empty());
    assert_eq!(relay.goose["line"].signals[0].kind, SignalKind::Start);
    let entries = &relay.subscriptions["breaker"].entries;
    assert_eq!(entries[1], Entry::Input(Input::Circuit, "SUP".into()));
}

#[test]
fn what_contradicts_itself_is_told_with_its_fix() {
    for (from, to, problem) in [
        (
            "forward: [Z2]",
            "forward: [FF]",
            "elements.P.forward[0]: there is no directional_overcurrent or distance element `FF`; the \
             directional_overcurrent or distance elements are: Z1, Z2, R",
        ),
        (
            "receive P",
            "unused",
            "elements.P.scheme: no message tells `P` what the other end sends; write `receive P` \
             under `subscriptions`",
        ),
        (
            "receive P,",
            "receive P, receive P,",
            "elements.P.scheme: several values are what `P` receives; keep one of them: a scheme \
             is for two ends",
        ),
        (
            ", reverse: [R]",
            "",
            "elements.P: `reverse` is missing; add `reverse`: a text, or a list of such",
        ),
        (
            "weak_infeed: echo",
            "weak_infeed: echo_and_trip",
            "elements.P: `weak_below` is missing; add `weak_below`: a voltage, such as `12 V`",
        ),
        (
            "scheme: pott",
            "scheme: putt, underreaching: Z1",
            "elements.P.weak_infeed: this is for `pott`; leave it out",
        ),
        (
            "scheme: pott, forward: [Z2], reverse: [R], weak_infeed: echo",
            "scheme: dcb, forward: [Z2], reverse: [R]",
            "elements.P: `dcb` trips before the other end can block; give more than its signal \
             takes, such as `30 ms`",
        ),
        (
            "weak_infeed: echo",
            "unheard: trip",
            "elements.P.unheard: this is for `dcb`; leave it out",
        ),
        (
            ", elements: [Z2]",
            "",
            "elements.SOTF: nothing operates it; give `pick_up`, `elements` or both",
        ),
        (
            "stream: s, breaker: Q0, current_min: 30 A",
            "stream: s, current_min: 30 A",
            "elements.SOTF: nothing tells when the line is off; give `breaker`; with transformers on \
             the line, `dead_below`",
        ),
        (
            "current_min: 30 A,",
            "current_min: 30 A, pick_up: 20 A,",
            "elements.SOTF.pick_up: it is not above `current_min`; give a current that no healthy \
             line draws",
        ),
        (
            "circuit SUP",
            "circuit SOTF",
            "subscriptions.breaker.entries[1]: there is no breaker supervision element `SOTF`; the \
             breaker supervision elements are: SUP",
        ),
        (
            "send P",
            "send Z2",
            "goose.line.signals[0]: there is no teleprotection element `Z2`; the teleprotection \
             elements are: P",
        ),
    ] {
        assert_eq!(said(from, to), [problem], "{to}");
    }
    // Three elements want to know it.
    let unknown = said("position Q0", "unused");
    assert_eq!(unknown.len(), 3, "{unknown:?}");
    assert!(unknown.iter().all(|each| each.contains("no message tells the position of `Q0`")));
}

#[test]
fn a_position_is_told_by_all_poles_together_or_by_each() {
    let each = LINE.replace("position Q0", "position Q0 A, position Q0 B, position Q0 C");
    settings::read("relay.yaml", &each).unwrap_or_else(|problems| panic!("{problems}"));
    // With a pole, the engine knows nothing until it has heard of all.
    let said = said("position Q0", "position Q0, position Q0 A");
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said.iter().all(|each| each.contains("no message tells which pole is open")));
}

fn engine() -> (Engine, impl Fn(&str) -> usize) {
    let relay = settings::read("line.yaml", LINE).expect("the settings are good");
    let names: Vec<String> = relay.protection.elements.keys().cloned().collect();
    let place =
        move |name: &str| names.iter().position(|known| known == name).expect("it is there");
    (Engine::new(&relay.protection), place)
}

#[test]
fn a_breaker_that_another_device_trips_and_that_does_not_open_is_alarmed() {
    let (mut engine, place) = engine();
    let supervision = place("SUP");
    let mut alarm = None;
    for ms in 0..500 {
        engine.forget_messages();
        engine.position(0, None, Some(!(200..300).contains(&ms)));
        engine.tell(supervision, Input::Circuit, Some(true));
        if ms == 100 {
            engine.order(0);
        }
        for change in engine.step(SampleTime::from_ns(ms * 1_000_000)) {
            if let Change::Operate(element, is_on) = change {
                assert_eq!(*element, supervision);
                alarm = Some((alarm.map_or(ms, |(begin, _)| begin), (!is_on).then_some(ms)));
            }
        }
    }
    // It sees a trip one step later.
    assert_eq!(alarm, Some((161, Some(200))));
}

#[test]
fn an_end_whose_stream_is_not_there_echoes_nothing() {
    let (mut engine, place) = engine();
    for ms in 0..500 {
        engine.forget_messages();
        engine.tell(place("P"), Input::Receive, Some(true));
        engine.step(SampleTime::from_ns(ms * 1_000_000));
        assert!(!engine.decision(place("P")).start && !engine.sees(place("P")));
    }
}

/// What is wrong with the settings of the line once this is written in place of that.
fn wrong_with(old: &str, new: &str) -> String {
    let text = include_str!("data/line.yaml");
    assert!(text.contains(old), "{old}");
    match settings::read("line.yaml", &text.replacen(old, new, 1)) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn what_blocks_or_alarms_trips_nothing_and_directions_are_those_of_their_keys() {
    let said = wrong_with("Q0: [", "Q0: [FF, ");
    assert!(said.contains("`FF` releases, blocks or alarms, and trips nothing"), "{said}");
    let said = wrong_with("forward: [Z2]", "forward: [R]");
    assert!(said.contains("`R` looks the other way"), "{said}");
    let said = wrong_with("reverse: [R]", "reverse: [Z2]");
    assert!(said.contains("`Z2` looks the other way"), "{said}");
    let said = wrong_with("relay: ", "relay: \"a\\u202eb\" #");
    assert!(said.contains("has characters that are not shown"), "{said}");
}
