//! Settings of what closes breakers and trips single poles: what is needed elsewhere is asked for.

use substation::settings::{self, Entry, Function, Input, SignalKind};

pub(crate) const GOOD: &str = "
relay: bay
frequency: 50 Hz
streams:
  line: {sv_id: L, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
  bus: {sv_id: B, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4000 Hz}
elements:
  I>: {function: overcurrent, stream: line, pick_up: 1 kA, delay: 0 ms}
  I>>: {function: overcurrent, stream: line, pick_up: 9 kA, delay: 0 ms}
  check: {function: synchro_check, line: line, bus: bus, live: 50 kV, dead: 12 kV, difference: 6 kV, slip: 0.1 Hz, angle: 20 deg, energise: [dead_line, both_dead], hold: 100 ms}
  PD: {function: pole_discordance, breaker: Q0, delay: 1.5 s}
  AR: {function: reclosing, breaker: Q0, initiate_by: I>, shots: [400 ms, 20 s], dead_time_single: 600 ms, reclaim: 30 s, release: check, needs_ready: yes, open_pole_blocks: I>>}
trips: {breakers: {Q0: [I>, PD], Q1: I>>}, single_pole: Q0}
goose:
  trips: {reference: R, data_set: D, go_id: G, destination: '01:0c:cd:01:00:01', app_id: 1, conf_rev: 1, repeat_min: 4 ms, repeat_max: 1 s, signals: [trip Q0, trip Q0 C, operate AR, lockout AR]}
subscriptions:
  breaker: {reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [position Q0 A, position Q0 B, position Q0 C, ready AR]}
";

/// What is wrong with the good settings where one text is replaced by another, without the fix.
fn said(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    let problems = settings::read("relay.yaml", &GOOD.replacen(from, to, 1)).expect_err(to);
    problems.iter().map(|problem| format!("{}: {}", problem.key, problem.fault.what)).collect()
}

#[test]
fn they_are_read_with_what_they_look_at() {
    let relay = settings::read("relay.yaml", GOOD).unwrap_or_else(|problems| panic!("{problems}"));
    let Function::Reclosing(cycle) = &relay.protection.elements["AR"].function else {
        panic!("it is one")
    };
    assert_eq!((cycle.times.shots.len(), cycle.release.as_deref()), (2, Some("check")));
    assert!(cycle.needs_ready);
    assert_eq!(relay.protection.trips.single_pole["Q0"], ["I>"]);
    let kinds: Vec<_> = relay.goose["trips"].signals.iter().map(|signal| signal.kind).collect();
    let expected =
        [SignalKind::Trip, SignalKind::TripPole(2), SignalKind::Operate, SignalKind::Lockout];
    assert_eq!(kinds, expected);
    let entries = &relay.subscriptions["breaker"].entries;
    assert_eq!(entries[1], Entry::PolePosition("Q0".into(), 1));
    assert_eq!(entries[3], Entry::Input(Input::Ready, "AR".into()));
}

#[test]
fn what_is_missing_elsewhere_is_told() {
    for (from, to, what) in [
        ("dead: 12 kV", "dead: 50 kV", "elements.check.dead: it is not below `live`"),
        (
            "release: check",
            "release: I>",
            "elements.AR.release: there is no synchro-check element `I>`",
        ),
        (
            "initiate_by: I>",
            "initiate_by: I>>",
            "elements.AR.initiate_by: `I>>` does not trip `Q0`",
        ),
        (
            "shots: [400 ms, 20 s], dead_time_single: 600 ms, ",
            "",
            "elements.AR: it would never close",
        ),
        ("[400 ms, 20 s]", "[1 s, 1 s, 1 s, 1 s, 1 s]", "elements.AR.shots: 5 shots"),
        (
            "needs_ready: yes",
            "needs_ready: yes, open_within: 90 ms",
            "elements.AR.open_within: it is not longer than `pulse_min`, so each trip would be too long",
        ),
        (", ready AR", "", "elements.AR.needs_ready: no message tells it"),
        ("position Q0 A, ", "", "elements.AR.breaker: no message tells which pole is open"),
        ("position Q0 A, ", "", "elements.PD.breaker: no message tells which pole is open"),
        (
            ", single_pole: Q0",
            "",
            "elements.AR.dead_time_single: `Q0` is never tripped in one pole",
        ),
        (
            "single_pole: Q0",
            "single_pole: [Q0, Q1]",
            "trips.single_pole[1]: nothing closes a pole of `Q1` again",
        ),
        (
            "open_pole_blocks: I>>",
            "open_pole_blocks: check",
            "elements.AR.open_pole_blocks: `check` is not misled by an open pole",
        ),
        (
            "dead_time_single: 600 ms, ",
            "",
            "elements.AR.open_pole_blocks: this is for `dead_time_single`",
        ),
        (
            "breakers: {Q0",
            "lockout: yes, breakers: {Q0",
            "elements.AR.breaker: trips stay (`lockout: yes`), so the breaker could not be closed",
        ),
        (
            "Q1: I>>",
            "Q1: check",
            "trips.breakers.Q1: `check` releases, blocks or alarms, and trips nothing",
        ),
        ("trip Q0 C", "trip Q1 C", "goose.trips.signals[1]: `Q1` is never tripped in one pole"),
        ("lockout AR", "lockout I>", "goose.trips.signals[3]: there is no reclosing element `I>`"),
        (
            "ready AR",
            "ready I>",
            "subscriptions.breaker.entries[3]: there is no reclosing element `I>`",
        ),
    ] {
        let said = said(from, to);
        assert!(said.iter().any(|said| said == what), "{what}\n{said:?}");
    }
}

#[test]
fn one_element_closes_a_breaker() {
    let second =
        "  AR2: {function: reclosing, breaker: Q0, initiate_by: I>, shots: 1 s, reclaim: 9 s}\n";
    let said = said("trips: {", &format!("{second}trips: {{"));
    assert_eq!(said, ["elements.AR2.breaker: another element closes it already"]);
    let other = second.replace("Q0", "Q1").replace("I>,", "I>>,");
    let said = self::said("trips: {", &format!("{other}trips: {{"));
    assert_eq!(said, ["elements.AR2.breaker: no message tells the position of `Q1`"]);
}
