//! Settings of a whole relay, and everything that is wrong with them at once.

use substation::protection::curve::{Curve, Reset};
use substation::protection::overcurrent::Timing;
use substation::settings::{self, Entry, Function, SignalKind};

const GOOD: &str = include_str!("data/relay.yaml");

#[test]
fn a_whole_relay_is_read() {
    let relay = settings::read(GOOD).expect("the settings are good");
    assert_eq!(
        (relay.name.as_str(), relay.streams.len(), relay.elements.len()),
        ("bay-Q01", 2, 12)
    );
    assert_eq!(relay.streams["line"].supervision.recovery_samples, 100);
    let Function::Overcurrent { settings, .. } = relay.elements["I>"].function else {
        panic!("{:?}", relay.elements["I>"])
    };
    assert_eq!(settings.pick_up_a, 400.0);
    let timing = Timing::Inverse(Curve::IecVeryInverse, 0.5, Reset::Instantaneous);
    assert_eq!(settings.timing, timing);
    let Function::Differential { sides, .. } = &relay.elements["Id"].function else {
        panic!("{:?}", relay.elements["Id"])
    };
    assert_eq!(sides[..], [(100.0, 0), (500.0, 5)]);
    assert_eq!(relay.trips.elements_by_breaker["Q1"], ["Id"]);
    assert_eq!(relay.goose["trips"].signals[3].kind, SignalKind::Operate);
}

/// What is said of the good settings with one text replaced by another.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    settings::read(&GOOD.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn each_problem_is_told_with_its_line_and_the_way_out() {
    for (from, to, problem) in [
        (
            "2 kA",
            "2",
            "line N: elements.I>>.pick_up: `2` has no unit; write a number and one of: A, mA, kA",
        ),
        (
            "2 kA",
            "2 kV",
            "line N: elements.I>>.pick_up: `kV` is not a valid unit for it; write a number and \
             one of: A, mA, kA",
        ),
        ("k: 0.5", "k: 50", "line N: elements.I>.k: 50 is out of range; give 0.01 to 15"),
        (
            "iec-very-inverse",
            "iec",
            "line N: elements.I>.curve: `iec` is not one of the words; there are: \
             iec-normal-inverse, iec-very-inverse, iec-extremely-inverse, iec-long-time-inverse, \
             iec-short-time-inverse, ieee-moderately-inverse, ieee-very-inverse, \
             ieee-extremely-inverse",
        ),
        (
            "pick_up: 49 Hz",
            "pickup: 49 Hz",
            "line N: elements.f<: `pick_up` is missing; add `pick_up`\nline N: \
             elements.f<.pickup: unknown key; there are: delay, function, pick_up, side, stream",
        ),
        (
            "streams: [line, low]",
            "streams: [line, high]",
            "line N: elements.Id.streams: there is no stream `high`; there are: line, low",
        ),
        (
            "rated: [100 A, 500 A]",
            "rated: [100 A]",
            "line N: elements.Id.rated: 1 values for 2 sides; give one for each of `streams`",
        ),
        (
            "01:0c:cd:04:00:02",
            "02:0c:cd:04:00:02",
            "line N: streams.low.destination: `02:0c:cd:04:00:02` is not a multicast address; \
             write it as `01:0c:cd:04:00:01`",
        ),
        (
            "Q1: [Id]",
            "Q1: [87T]",
            "line N: trips.breakers.Q1: there is no element `87T`; there are: I>>, I>, IE>, I> ahead, U<, f<, Z1, FF, PS, Id, Y0, BF",
        ),
        (
            "trip Q1",
            "trip Q9",
            "line N: goose.trips.signals: `trip Q9` does not exist; there are: Q0, Q1",
        ),
        (
            "fuse_failure: FF",
            "fuse_failure: PS",
            "line N: elements.Z1.fuse_failure: there is no element with `function: fuse_failure` on its stream `PS`; there are: FF",
        ),
        (
            "trip Q1,",
            "quality, quality,",
            "line N: goose.trips.signals: there is no signal before this `quality`; write it \
             after the signal whose quality it is",
        ),
        (
            "repeat_max: 1 s",
            "repeat_max: 10 ms\n    repeat_max: 1 s",
            "line N: repeat_max: this key is given twice; keep one of them",
        ),
    ] {
        let begin = GOOD.find(from).expect("the good settings have it");
        let line = 1 + GOOD[..begin].matches('\n').count() + to.matches('\n').count();
        let expected = problem.replace("line N", &format!("line {line}"));
        assert_eq!(said(from, to), expected);
    }
}

#[test]
fn entries_of_messages_name_what_is_there() {
    let with = |entries: &str| {
        let text = format!(
            "{GOOD}\nsubscriptions:\n  other: {{reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, \
             conf_rev: 1, entries: [{entries}]}}\n"
        );
        settings::read(&text).map_err(|problems| {
            problems.iter().map(|problem| problem.what.clone()).collect::<Vec<_>>().join("; ")
        })
    };
    let relay = with("trip Q0, quality, initiate BF, block I>").expect("these are there");
    let named = |name: &str| name.to_owned();
    let expected = [
        Entry::Trip(named("Q0")),
        Entry::Quality,
        Entry::Initiate(named("BF")),
        Entry::Block(named("I>")),
    ];
    assert_eq!(relay.subscriptions["other"].entries, expected);
    for (entries, what) in [
        ("trip Q9", "there is no breaker `Q9`"),
        ("initiate I>", "there is no breaker failure element `I>`"),
        ("block Q0", "there is no element `Q0`"),
        ("position", "`position` is not an entry"),
        ("quality of it", "`quality of it` is not an entry"),
    ] {
        assert_eq!(with(entries), Err(what.to_owned()), "{entries}");
    }
}

#[test]
fn in_a_test_each_signal_says_that_it_is_one() {
    let text = GOOD.replacen("frequency: 50 Hz", "frequency: 50 Hz\nmode: test", 1);
    let problems = settings::read(&text).expect_err("its signals have no quality");
    assert_eq!(problems.iter().count(), 4);
    let signals = "[trip Q0, quality, trip Q1, quality, start I>, quality, operate Z1, quality]";
    let text = text.replacen("[trip Q0, trip Q1, start I>, operate Z1]", signals, 1);
    let relay = settings::read(&text).expect("now they have");
    assert!(relay.streams["line"].supervision.takes_tests);
}

#[test]
fn all_problems_are_told_at_once_and_in_order() {
    let text = GOOD
        .replace("50 Hz", "500 Hz")
        .replace("0x4000", "0x8000")
        .replace("delay: 1 s", "delay: forever");
    let problems = settings::read(&text).expect_err("three things are wrong");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    let expected = ["frequency", "streams.line.app_id", "streams.low.app_id", "elements.U<.delay"];
    assert_eq!(keys, expected);
}

#[test]
fn what_is_no_yaml_or_no_relay_is_refused() {
    for text in [
        "",
        "a: [",
        "- a",
        "a: &x 1\nb: *x",
        "!t a: 1",
        "a: 1\n---\nb: 1",
        "[a]: 1",
        &"[".repeat(99),
    ] {
        assert!(settings::read(text).is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(at in 0..GOOD.len(), length in 0usize..30, text in "\\PC{0,9}") {
        let end = (at + length).min(GOOD.len());
        if GOOD.is_char_boundary(at) && GOOD.is_char_boundary(end) {
            let damaged = [&GOOD[..at], &text, &GOOD[end..]].concat();
            if let Err(problems) = settings::read(&damaged) {
                proptest::prop_assert!(problems.iter().count() > 0);
            }
        }
    }
}
