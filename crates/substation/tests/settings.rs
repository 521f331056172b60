//! Settings of a whole relay, and everything that is wrong with them at once.

use protection::curve::{Curve, Reset};
use protection::overcurrent::Timing;
use substation::settings::{self, Entry, Function, Input, SignalKind};

const GOOD: &str = include_str!("data/relay.yaml");

#[test]
fn a_whole_relay_is_read() {
    let relay = settings::read("relay.yaml", GOOD).expect("the settings are good");
    assert_eq!(
        (relay.name.as_str(), relay.protection.streams.len(), relay.protection.elements.len()),
        ("bay-Q01", 2, 12)
    );
    assert_eq!(relay.protection.streams["line"].supervision.recovery_samples, 100);
    let Function::Overcurrent { settings, .. } = relay.protection.elements["I>"].function else {
        panic!("{:?}", relay.protection.elements["I>"])
    };
    assert_eq!(settings.pick_up_a, 400.0);
    let timing = Timing::Inverse(Curve::IecVeryInverse, 0.5, Reset::Instantaneous);
    assert_eq!(settings.timing, timing);
    let Function::Differential { sides, .. } = &relay.protection.elements["Id"].function else {
        panic!("{:?}", relay.protection.elements["Id"])
    };
    assert_eq!(sides[..], [(100.0, 0), (500.0, 5)]);
    assert_eq!(relay.protection.trips.elements_by_breaker["Q1"], ["Id"]);
    assert_eq!(relay.goose["trips"].signals[3].kind, SignalKind::Operate);
}

/// What is said of the good settings with one text replaced by another.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    settings::read("relay.yaml", &GOOD.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn each_problem_is_told_with_its_line_and_the_fix() {
    for (from, to, problem) in [
        (
            "2 kA",
            "2",
            "relay.yaml:21:55: elements.`I>>`.pick_up: `2` has no unit; write it as `2 A`",
        ),
        (
            "2 kA",
            "2 kV",
            "relay.yaml:21:55: elements.`I>>`.pick_up: `kV` is a unit of voltage, where a \
             current is needed; the units of current are: mA, A, kA",
        ),
        (
            "k: 0.5",
            "k: 50",
            "relay.yaml:22:89: elements.`I>`.k: `50` is out of range; give 0.01 to 15",
        ),
        (
            "iec-very-inverse",
            "iec",
            "relay.yaml:22:68: elements.`I>`.curve: `iec` is not one of the allowed words; the \
             words are: iec-normal-inverse, iec-very-inverse, iec-extremely-inverse, \
             iec-long-time-inverse, iec-short-time-inverse, ieee-moderately-inverse, \
             ieee-very-inverse, ieee-extremely-inverse",
        ),
        (
            "pick_up: 49 Hz",
            "pickup: 49 Hz",
            "relay.yaml:35:7: elements.`f<`: `pick_up` is missing; add `pick_up`: a frequency, \
             such as `12 Hz`\nrelay.yaml:35:56: elements.`f<`.pickup: a frequency element has no \
             such key; did you mean `pick_up`?",
        ),
        (
            "streams: [line, low]",
            "streams: [line, high]",
            "relay.yaml:56:21: elements.Id.streams[1]: there is no stream `high`; the streams \
             are: line, low",
        ),
        (
            "rated: [100 A, 500 A]",
            "rated: [100 A]",
            "relay.yaml:57:12: elements.Id.rated: 1 values for 2 sides; give one for each of \
             `streams`",
        ),
        (
            "01:0c:cd:04:00:02",
            "02:0c:cd:04:00:02",
            "relay.yaml:13:18: streams.low.destination: `02:0c:cd:04:00:02` is not a multicast \
             address; write it as `01:0c:cd:04:00:01`",
        ),
        (
            "Q1: [Id]",
            "Q1: [87T]",
            "relay.yaml:73:10: trips.breakers.Q1[0]: there is no element `87T`; the elements \
             are: I>>, I>, IE>, I> ahead, U<, f<, Z1, FF, PS, Id, Y0, BF",
        ),
        (
            "trip Q1",
            "trip Q9",
            "relay.yaml:85:24: goose.trips.signals[1]: there is no breaker `Q9`; the breakers \
             are: Q0, Q1",
        ),
        (
            "delay: 0 ms, second",
            "delay: 0 ms, k: 1, second",
            "relay.yaml:21:77: elements.`I>>`.k: this is for `curve`; leave it out",
        ),
        (
            "shape: quadrilateral",
            "shape: mho",
            "relay.yaml:42:17: elements.Z1.resistance: this is for a quadrilateral; leave it out\n\
             relay.yaml:43:23: elements.Z1.earth_resistance: this is for a quadrilateral; leave it \
             out",
        ),
        (
            "function: frequency",
            "function: frequncy",
            "relay.yaml:35:7: elements.`f<`: `function` is `frequncy`; did you mean `frequency`?",
        ),
        (
            "fuse_failure: FF",
            "fuse_failure: PS",
            "relay.yaml:50:19: elements.Z1.fuse_failure: there is no element with `function: \
             fuse_failure` on its stream `PS`; the elements with `function: fuse_failure` on its \
             stream are: FF",
        ),
        (
            "trip Q1,",
            "quality, quality,",
            "relay.yaml:85:33: goose.trips.signals[2]: there is no value before this `quality`; \
             write it after the value whose quality it is, or name that by its number: `quality of 2`",
        ),
        (
            "repeat_max: 1 s",
            "repeat_max: 10 ms\n    repeat_max: 1 s",
            "relay.yaml:85:5: goose.trips.repeat_max: this key is already on line 84; keep one \
             of them",
        ),
    ] {
        assert_eq!(said(from, to), problem, "{to}");
    }
}

#[test]
fn entries_of_messages_name_what_is_there() {
    let with = |entries: &str| {
        let text = format!(
            "{GOOD}\nsubscriptions:\n  other: {{reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, \
             conf_rev: 1, entries: [{entries}]}}\n"
        );
        settings::read("relay.yaml", &text).map_err(|problems| {
            problems.iter().map(|problem| problem.fault.what.clone()).collect::<Vec<_>>().join("; ")
        })
    };
    let relay = with("quality of 3 4, unused, trip Q0, block I>").expect("these are there");
    assert_eq!(relay.subscriptions["other"].entries[0], Entry::Quality(vec![2, 3]));
    let relay = with("trip Q0, quality, initiate BF, block I>").expect("these are there");
    let named = |name: &str| name.to_owned();
    let expected = [
        Entry::Trip(named("Q0")),
        Entry::Quality(vec![0]),
        Entry::Input(Input::Initiate, named("BF")),
        Entry::Input(Input::Block, named("I>")),
    ];
    assert_eq!(relay.subscriptions["other"].entries, expected);
    for (entries, what) in [
        ("trip Q9", "there is no breaker `Q9`"),
        ("initiate I>", "there is no breaker failure or reclosing element `I>`"),
        ("block Q0", "there is no element `Q0`"),
        ("position", "`position` is not an entry"),
        ("qualitative", "`qualitative` is not an entry"),
        ("quality of it", "`it` is not the number of a value"),
        ("trip Q0, quality of 0", "`0` is not the number of a value"),
        ("trip Q0, quality of 2", "`2` is not the number of a value"),
        ("trip Q0, quality of 1 3", "`3` is not the number of a value"),
        // It would be the quality of nothing, and the value behind it would have none.
        ("quality, trip Q0", "there is no value before this `quality`"),
        ("trip Q0, quality, quality", "there is no value before this `quality`"),
    ] {
        assert_eq!(with(entries), Err(what.to_owned()), "{entries}");
    }
}

#[test]
fn in_a_test_each_signal_says_that_it_is_one() {
    let text = GOOD.replacen("frequency: 50 Hz", "frequency: 50 Hz\nmode: test", 1);
    let problems = settings::read("relay.yaml", &text).expect_err("its signals have no quality");
    assert_eq!(problems.iter().count(), 4);
    let signals = "[trip Q0, quality, trip Q1, quality, start I>, quality, operate Z1, quality]";
    let text = text.replacen("[trip Q0, trip Q1, start I>, operate Z1]", signals, 1);
    let relay = settings::read("relay.yaml", &text).expect("now they have");
    assert!(relay.protection.streams["line"].supervision.takes_tests);
}

#[test]
fn all_problems_are_told_at_once_and_in_order() {
    let text = GOOD
        .replace("50 Hz", "500 Hz")
        .replace("0x4000", "0x8000")
        .replace("delay: 1 s", "delay: forever");
    let problems = settings::read("relay.yaml", &text).expect_err("three things are wrong");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    let expected =
        ["frequency", "streams.line.app_id", "streams.low.app_id", "elements.`U<`.delay"];
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
        assert!(settings::read("relay.yaml", text).is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(at in 0..GOOD.len(), length in 0usize..30, text in "\\PC{0,9}") {
        let end = (at + length).min(GOOD.len());
        if GOOD.is_char_boundary(at) && GOOD.is_char_boundary(end) {
            let damaged = [&GOOD[..at], &text, &GOOD[end..]].concat();
            if let Err(problems) = settings::read("relay.yaml", &damaged) {
                proptest::prop_assert!(problems.iter().count() > 0);
            }
        }
    }
}
