//! Settings of a whole merging unit, and everything that is wrong with them at once.

use std::time::Duration;

use substation::settings::merging_unit::{self, DisturbanceKind, RecordFiles, Source};

const GOOD: &str = include_str!("data/merging_unit.yaml");

#[test]
fn a_whole_merging_unit_is_read() {
    let unit = merging_unit::read("unit.yaml", GOOD).expect("the settings are good");
    assert_eq!((unit.name.as_str(), unit.streams.len(), unit.sources.len()), ("bay-Q01", 3, 3));
    let [line, fast, replay] = ["line", "fast", "replay"].map(|name| &unit.streams[name]);
    assert_eq!(
        [line, fast, replay].map(|stream| (stream.rate, stream.asdus)),
        [(4800, 2), (14_400, 6), (4000, 1)]
    );
    assert_eq!(fast.phase, Duration::from_micros(150));
    assert_eq!((line.tag.map(|tag| tag.priority()), replay.tag), (Some(4), None));
    let Source::Waveform(bay) = &unit.sources["bay"] else { panic!("{:?}", unit.sources["bay"]) };
    assert_eq!(bay.current_harmonics, [(5, 0.03), (7, 0.02)]);
    let fault = bay.fault.as_ref().expect("it has one");
    assert_eq!((fault.phases, fault.inception_deg), ([true, true, false], 90.0));
    assert_eq!(bay.transformer.expect("it has one").ratio, 1000.0);
    let Source::Playback(record) = &unit.sources["record"] else { panic!("it is a record") };
    assert!(
        matches!(&record.record, RecordFiles::Comtrade { channels, .. } if channels.len() == 8)
    );
    assert_eq!(unit.disturbances["lossy"].kind, DisturbanceKind::Loss);
    assert_eq!(unit.breaker.expect("it has one").opening, Duration::from_millis(50));
}

/// What is said of the good settings with one text replaced by another.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    merging_unit::read("unit.yaml", &GOOD.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn each_problem_is_told_with_its_line_and_the_fix() {
    for (from, to, problem) in [
        (
            "rate: 14400 Hz",
            "rate: 14400 Hz, asdus: 7",
            "unit.yaml:38:94: streams.fast.asdus: 14400 samples per second are not a whole \
             number of frames of 7; give a divisor of `rate`",
        ),
        (
            "source: bay}",
            "source: boy}",
            "unit.yaml:38:110: streams.fast.source: there is no source `boy`; did you mean `bay`?",
        ),
        (
            "every: 2 s",
            "every: 2.005 s",
            "unit.yaml:17:14: sources.bay.fault.every: it is 100.250 periods, so the wave would \
             jump; give a whole number of periods",
        ),
        (
            "lasts: 300 ms",
            "lasts: 1.6 s",
            "unit.yaml:17:14: sources.bay.fault.every: the next fault would start before this \
             one ends; give more",
        ),
        (
            "5: 3 %",
            "51: 3 %",
            "unit.yaml:12:25: sources.bay.current_harmonics.51: `51` is not the number of a \
             harmonic; give 2 to 50",
        ),
        (
            "configuration: record.cfg",
            "configuration: record.CFF",
            "unit.yaml:28:11: sources.record.data: the combined file contains the data; leave it out",
        ),
        (
            "    data: record.dat\n",
            "",
            "unit.yaml:25:3: sources.record: `data` is missing; add `data`: a text",
        ),
        (
            "[IA, IB, IC, none, UA, UB, UC, none]",
            "[IA, IB, IC]",
            "unit.yaml:29:15: sources.record.channels: 3 channels; give those of Ia Ib Ic In Ua \
             Ub Uc Un, with `none` for one that stays zero",
        ),
        (
            "kind: loss",
            "kind: lost",
            "unit.yaml:42:17: disturbances.lossy.kind: `lost` is not one of the allowed words; \
             did you mean `loss`?",
        ),
        (
            "streams: [line, fast]",
            "streams: [lane]",
            "unit.yaml:42:47: disturbances.lossy.streams[0]: there is no stream `lane`; did you \
             mean `line`?",
        ),
        (
            "MU02, destination: 01:0c:cd:04:00:02",
            "MU01, destination: 01:0c:cd:04:00:01",
            "unit.yaml:38:3: streams.fast: destination, APPID and svID are those of `line`; give \
             each stream its own",
        ),
    ] {
        assert_eq!(said(from, to), problem, "{to}");
    }
}

#[test]
fn a_combined_record_is_one_file() {
    let text = GOOD.replacen("record.cfg\n    data: record.dat", "record.cff", 1);
    let unit = merging_unit::read("unit.yaml", &text).expect("it contains the data");
    let Source::Playback(record) = &unit.sources["record"] else { panic!("it is a record") };
    assert!(matches!(&record.record, RecordFiles::Comtrade { data: None, .. }));
}

#[test]
fn all_problems_are_told_at_once() {
    let text = "merging_unit: x\nfrequency: 50\nsources: {}\nstreams:\n  a: {rate: 10 Hz}\n";
    let problems = merging_unit::read("unit.yaml", text).expect_err("much is wrong");
    let lines: Vec<usize> = problems.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 5, 5, 5, 5, 5], "{problems}");
    assert!(
        merging_unit::read("unit.yaml", "").is_err()
            && merging_unit::read("unit.yaml", "[]").is_err()
    );
}

#[test]
fn a_breaker_that_is_closed_by_order_has_all_that_this_needs() {
    let unit = |more: &str| {
        let text = format!(
            "merging_unit: x\nfrequency: 50 Hz\nsources: {{s: {{kind: waveform, voltage: 60 kV, current: 1 A}}}}\n\
             streams: {{s: {{sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz, source: s}}}}\n\
             breaker: {{reference: R, destination: '01:0c:cd:01:00:01', app_id: 1, opening: 40 ms{more}}}\n"
        );
        merging_unit::read("unit.yaml", &text)
            .map(|unit| unit.breaker.expect("it is there"))
            .map_err(|problems| {
                problems.iter().map(|problem| problem.fault.what.clone()).collect::<Vec<_>>()
            })
    };
    assert_eq!(unit("").expect("it is good").closes, None);
    let breaker = unit(", close_value: 4, closing: 60 ms, pole_values: [1, 2, 3]").expect("good");
    assert_eq!(
        (breaker.closes.map(|closes| closes.value), &breaker.pole_values[..]),
        (Some(4), &[1, 2, 3][..])
    );
    for (more, what) in [
        (", close_value: 4", "`closing` is missing"),
        (", closing: 60 ms", "this is for `close_value`"),
        (", pole_values: [1, 2, 3]", "this is for `close_value`"),
        (", close_value: 4, closing: 60 ms, pole_values: [1, 2]", "2 values for three poles"),
        (
            ", close_value: 4, closing: 60 ms, position: line.closed",
            "a switch of a simulated grid is not closed again",
        ),
    ] {
        assert_eq!(unit(more), Err(vec![what.to_owned()]), "{more}");
    }
}
