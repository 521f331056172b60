//! Runs that differ in one thing, and what is said of it.

use std::convert::Infallible;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::doubt::LostHost;
use crate::record::{EndedHow, Input, Role};
use crate::verdict::{Source, Verdict};
use network::capture::Heading;
use plant::name::PointName;
use report_kit::outcome::Outcome;
use scenario::model::{Disturbed, End, Measure, MeasureKind, Requirement, Window};

const MS: i64 = 1_000_000;
const EXACT: Rules = Rules { tolerance_ns: 0, payload: true, any_scenario: false };

fn verdict(kind: MeasureKind, value: f64) -> Verdict {
    let measure = Measure { kind, window: Window::default() };
    let unit = measure.unit().to_owned();
    let requirement = Requirement {
        name: "it asks in time".into(),
        measure,
        at_least: None,
        at_most: Some(50.0),
        disturbed: Disturbed::default(),
    };
    let source = Source { file: String::new(), query: String::new() };
    let value = Some(value);
    Verdict { requirement, outcome: Outcome::Met, value, unit, reason: String::new(), source }
}

fn gap_ms(value: f64) -> Verdict {
    let (from, to) = ("poller".into(), "server".into());
    verdict(MeasureKind::LongestGap { from, to, port: 502, at: End::Sender }, value)
}

/// A run that ended at `zero_ns`, in which nothing happened but a verdict.
fn run(zero_ns: i64) -> RunRecord {
    let mut run = RunRecord { realtime_zero_ns: zero_ns, ..RunRecord::default() };
    run.ended.how = EndedHow::Complete;
    run.scenario.sha256 = "3f".repeat(32);
    run.scenario.file = "case.yaml".into();
    run.verdicts = vec![gap_ms(27.5)];
    run
}

fn compared(rules: Rules, first: &RunRecord, second: &RunRecord) -> Comparison {
    Comparing::begin(rules, first, second).finish()
}

/// A run with another verdict, beside the usual one.
fn with_verdict(rules: Rules, verdict: Verdict) -> Comparison {
    compared(rules, &run(0), &RunRecord { verdicts: vec![verdict], ..run(0) })
}

fn kinds(comparison: &Comparison) -> Vec<(Part, What)> {
    comparison.differences.iter().map(|one| (one.part, one.what)).collect()
}

#[test]
fn the_text_of_a_reason_and_the_time_of_day_make_no_difference() {
    let mut later = run(1_700_000_000_000_000_000);
    later.verdicts[0].reason = "from 2 s on".into();
    later.started = "2031-01-01T00:00:00Z".into();
    let comparison = compared(EXACT, &run(5), &later);
    assert!(comparison.is_same() && !comparison.is_empty(), "{comparison:?}");
    assert_eq!(comparison.compared.verdicts, 1);
}

#[test]
fn outcome_value_unit_and_presence_of_a_verdict_do() {
    let changed =
        Verdict { outcome: Outcome::Missed, value: None, unit: "s".into(), ..gap_ms(1.0) };
    let comparison = with_verdict(EXACT, changed);
    let expected = [What::Outcome, What::Value, What::Unit].map(|what| (Part::Verdict, what));
    assert_eq!(kinds(&comparison), expected);
    assert_eq!(comparison.differences[1].values(), ["27.5 ms", "–"]);
    let none = RunRecord { verdicts: vec![], ..run(0) };
    let comparison = compared(EXACT, &run(0), &none);
    assert_eq!(kinds(&comparison), [(Part::Verdict, What::Missing)]);
    assert!(compared(EXACT, &none, &none).is_empty());
}

/// Both ends of a gap may lie anywhere within the tolerance.
#[test]
fn times_of_verdicts_have_the_tolerance_and_other_values_have_none() {
    let rules = Rules { tolerance_ns: 10_000, payload: false, any_scenario: false };
    assert!(with_verdict(rules, gap_ms(27.52)).is_same());
    assert!(!with_verdict(rules, gap_ms(27.520_001)).is_same());
    assert!(!with_verdict(Rules::default(), gap_ms(27.500_001)).is_same());
    assert!(!with_verdict(rules, gap_ms(f64::NAN)).is_same());
    let volts =
        |value| verdict(MeasureKind::Minimum { point: PointName("bus.1.v1".into()) }, value);
    let [first, second] =
        [2400.0, 2_400.000_001].map(|value| RunRecord { verdicts: vec![volts(value)], ..run(0) });
    assert!(!compared(rules, &first, &second).is_same());
}

#[test]
fn of_runs_of_other_scenarios_nothing_else_is_compared() {
    let mut other = run(0);
    other.scenario.sha256 = "00".repeat(32);
    other.scenario.variant = Some("attack".into());
    other.scenario.duration_ns = 5;
    other.verdicts.clear();
    let first = run(0);
    let comparing = Comparing::begin(EXACT, &first, &other);
    assert!(!comparing.is_comparable());
    let comparison = comparing.finish();
    let expected = [What::Text, What::Variant, What::Duration].map(|what| (Part::Scenario, what));
    assert_eq!(kinds(&comparison), expected);
    assert_eq!(comparison.differences[0].values()[0], "case.yaml (SHA-256 3f3f3f3f3f3f…)");
    assert_eq!(comparison.differences[1].values(), ["–", "attack"]);
}

#[test]
fn a_run_without_a_host_is_another_one() {
    let mut second = run(0);
    second.lost_hosts.push(LostHost {
        host: "b".into(),
        at_ns: 5,
        reason: "it was killed".into(),
        nodes: vec!["poller".into()],
        switches: Vec::new(),
    });
    assert_eq!(kinds(&compared(EXACT, &run(0), &second)), [(Part::End, What::End)]);
    assert_eq!(kinds(&compared(EXACT, &second, &second)), []);
}

#[test]
fn what_runs_were_made_of_is_said_and_makes_no_difference() {
    let input = |folder: &str, hash: &str| Input {
        file: format!("{folder}/poller.py"),
        role: Role::Argument,
        sha256: Some(hash.into()),
        octets: 1,
        copy: None,
    };
    let mut first = run(0);
    first.inputs = vec![input("/a", "1f")];
    let mut second = RunRecord { inputs: vec![input("/b", "1f")], ..run(0) };
    second.ended.how = EndedHow::Interrupted;
    let comparison = compared(EXACT, &first, &second);
    assert_eq!(kinds(&comparison), [(Part::End, What::End)]);
    assert_eq!(comparison.made_of, [""; 0]);
    second.inputs = vec![input("/a", "2e")];
    second.scenario.seed = 7;
    second.realtime_zero_ns = 1_500_000_000;
    let comparison = compared(EXACT, &first, &second);
    let expected = [
        "seed 0 and 7",
        "time of day at zero 1970-01-01T00:00:00.000Z and 1970-01-01T00:00:01.500Z",
        "content of poller.py",
    ];
    assert_eq!(comparison.made_of, expected);
    assert!(pair(["a", "b"], &comparison).ends_with("; content of poller.py\n"));
    second.inputs.clear();
    let made_of = |first: &RunRecord, second: &RunRecord| {
        compared(EXACT, first, second).made_of.pop().unwrap()
    };
    assert_eq!(made_of(&first, &second), "content of poller.py, not known of the second");
    second.inputs = vec![Input { sha256: None, ..input("/a", "") }];
    assert_eq!(made_of(&second, &first), "content of poller.py, not known of the first");
    second.ended.how = EndedHow::Complete;
    let comparison = compared(EXACT, &first, &second);
    assert!(comparison.is_same() && comparison.made_of.is_empty());
}

fn series(points: &[&str], rows: &[(i64, &[f64])]) -> Series {
    let names: Vec<_> = points.iter().map(|point| PointName((*point).into())).collect();
    let mut series = Series::empty(&names);
    rows.iter().for_each(|(time_ns, values)| series.push(*time_ns, values));
    series
}

fn of_series(first: Option<&Series>, second: Option<&Series>) -> Comparison {
    let (one, other) = (run(0), run(0));
    let mut comparing = Comparing::begin(EXACT, &one, &other);
    comparing.series(first, second);
    comparing.finish()
}

#[test]
fn values_that_are_not_known_in_both_runs_are_equal() {
    let rows: [(i64, &[f64]); 2] = [(0, &[1.0, f64::NAN]), (MS, &[0.0, 2.0])];
    let one = series(&["bus.1.v1", "generator.g.kW"], &rows);
    let other = series(&["bus.1.v1", "generator.g.kW"], &[rows[0], (MS, &[-0.0, 2.0])]);
    let comparison = of_series(Some(&one), Some(&other));
    assert!(comparison.is_same());
    assert_eq!((comparison.compared.series, comparison.compared.points), (2, 4));
    assert!(of_series(None, None).is_same());
}

#[test]
fn the_first_value_that_differs_is_found_and_the_others_counted() {
    let one =
        series(&["bus.1.v1"], &[(0, &[1.0]), (MS, &[2.0]), (2 * MS, &[3.0]), (3 * MS, &[4.0])]);
    let mut other = one.clone();
    other.columns[0].values = vec![1.0, 2.5, f64::NAN, 4.0];
    let comparison = of_series(Some(&one), Some(&other));
    let [found] = &comparison.differences[..] else { panic!("{comparison:?}") };
    assert_eq!((found.at_ns, found.number, found.more), (Some(MS), Some(2), 1));
    assert_eq!(found.values(), ["2 V", "2.5 V"]);
    assert_eq!(found.place(), "bus.1.v1, row 2");
}

#[test]
fn rows_and_points_that_one_run_lacks_are_found() {
    let one = series(&["bus.1.v1", "bus.2.v1"], &[(0, &[1.0, 1.0]), (MS, &[2.0, 2.0])]);
    let other = series(&["bus.2.v1"], &[(1, &[1.0])]);
    let comparison = of_series(Some(&one), Some(&other));
    let expected = [What::Missing, What::Time, What::Missing].map(|what| (Part::Series, what));
    assert_eq!(kinds(&comparison), expected);
    let [point, time, row] = &comparison.differences[..] else { unreachable!() };
    assert_eq!((point.name.as_str(), point.at_ns), ("bus.1.v1", None));
    assert_eq!(
        (time.at_ns, time.values()),
        (Some(0), ["0.000000000 s", "0.000000001 s"].map(str::to_owned))
    );
    assert_eq!((row.at_ns, row.number), (Some(MS), Some(2)));
    assert_eq!(comparison.compared.points, 1);
    let without = of_series(None, Some(&one));
    assert_eq!(kinds(&without), [(Part::Series, What::Missing); 2]);
}

fn frame(realtime_ns: i64, length: usize) -> CapturedFrame {
    CapturedFrame { realtime_ns, heading: Some(Heading::Inbound), bytes: vec![7; length] }
}

fn of_frames(rules: Rules, zeros_ns: [i64; 2], frames: [&[CapturedFrame]; 2]) -> Comparison {
    let runs = zeros_ns.map(run);
    let mut comparing = Comparing::begin(rules, &runs[0], &runs[1]);
    let [one, other] = frames.map(|frames| frames.iter().cloned().map(Ok::<_, Infallible>));
    let Ok(()) = comparing.frames("captures/a.pcapng", one, other);
    comparing.finish()
}

#[test]
fn a_frame_that_is_missing_parts_the_runs_where_it_was() {
    let all: Vec<_> = (0..5).map(|number| frame(number * MS, 60)).collect();
    let less = [&all[..2], &all[3..]].concat();
    let comparison = of_frames(EXACT, [0; 2], [&all, &less]);
    let [time, missing] = &comparison.differences[..] else { panic!("{comparison:?}") };
    assert_eq!(
        (time.what, time.at_ns, time.number, time.more),
        (What::Time, Some(2 * MS), Some(3), 1)
    );
    assert_eq!((missing.what, missing.at_ns, missing.more), (What::Missing, Some(4 * MS), 0));
    assert_eq!(missing.values(), ["there", "–"]);
    assert_eq!(comparison.compared.frames, 4);
}

#[test]
fn captures_that_one_run_lacks_come_before_what_has_a_time() {
    let (one, other) = (run(0), run(0));
    let mut comparing = Comparing::begin(EXACT, &one, &other);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let both = comparing.captures(&names(&["a", "b"]), &names(&["b", "c"]));
    assert_eq!(both, ["b"]);
    let frames = |at| [Ok::<_, Infallible>(frame(at, 60))].into_iter();
    let Ok(()) = comparing.frames("b", frames(-5), frames(-6));
    let comparison = comparing.finish();
    let names: Vec<_> = comparison.differences.iter().map(Difference::place).collect();
    assert_eq!(names, ["a", "c", "b, frame 1"]);
    assert_eq!(comparison.differences[2].at_ns, Some(-6));
}

#[test]
fn an_error_of_a_capture_is_handed_on() {
    let (one, other) = (run(0), run(0));
    let mut comparing = Comparing::begin(EXACT, &one, &other);
    let good = [Ok(frame(0, 60)), Ok(frame(1, 60))];
    let bad = [Ok(frame(0, 60)), Err("torn")];
    assert_eq!(comparing.frames("a", good.into_iter(), bad.into_iter()), Err("torn"));
}

#[test]
fn payload_counts_if_it_is_asked_for() {
    let mut changed = frame(0, 60);
    changed.bytes[14] = 0x45;
    let frames = [&[frame(0, 60)][..], &[changed]];
    assert!(of_frames(Rules::default(), [0; 2], frames).is_same());
    let comparison = of_frames(EXACT, [0; 2], frames);
    let values = comparison.differences[0].values();
    assert_eq!(values, ["octet 14 is 0x07", "octet 14 is 0x45"]);
}

#[test]
fn the_text_names_place_time_and_values() {
    let frames = [frame(2_500_000, 60), frame(3_500_000, 60)];
    let same = of_frames(EXACT, [0; 2], [&frames, &frames]);
    assert_eq!(pair(["a", "b"], &same), "1 verdict, 0 series, 0 captures: the same\n");
    let comparison = of_frames(EXACT, [0, -MS], [&frames, &frames[..1]]);
    let text = pair(["runs/a", "runs/b"], &comparison);
    let expected = "\
first: runs/a
second: runs/b
1 verdict, 0 series, 0 captures: different, first at 0.002500000 s
           at  where                       what     first          second         more
0.002500000 s  captures/a.pcapng, frame 1  time     0.002500000 s  0.003500000 s
0.003500000 s  captures/a.pcapng, frame 2  missing  there          –
also not equal: time of day at zero 1970-01-01T00:00:00.000Z and 1969-12-31T23:59:59.999Z
";
    assert_eq!(text, expected);
    let text = several("runs/a", &[("runs/b", &comparison), ("runs/c", &same)]);
    let line = "different, first at 0.002500000 s, captures/a.pcapng, frame 1: time 0.002500000 s, \
                here 0.003500000 s\n";
    assert!(text.contains(line) && text.ends_with("the same\n"), "{text}");
    assert_eq!(text.lines().count(), 4);
}

/// A frame at any time, also one that no clock shows.
fn any_frame() -> impl Strategy<Value = CapturedFrame> {
    let heading = prop::option::of(prop::bool::ANY);
    (any::<i64>(), heading, prop::collection::vec(any::<u8>(), 1..40)).prop_map(
        |(at, way, bytes)| {
            let way = way.map(|inbound| if inbound { Heading::Inbound } else { Heading::Outbound });
            CapturedFrame { realtime_ns: at, heading: way, bytes }
        },
    )
}

proptest! {
    #[test]
    fn a_run_is_the_same_as_itself(
        frames in prop::collection::vec(any_frame(), 0..20), zero_ns: i64, tolerance_ns: u64,
    ) {
        let rules = Rules { tolerance_ns, payload: true, any_scenario: false };
        prop_assert!(of_frames(rules, [zero_ns; 2], [&frames, &frames]).is_same());
    }

    /// Whatever the zeros, and whichever frame it is.
    #[test]
    fn a_single_change_is_found_where_it_is(
        count in 1usize..30, at: Index, kind in 0..4, zeros_ns in [-1i64 << 60..1 << 60, -1i64 << 60..1 << 60],
    ) {
        let frames = |zero_ns: i64| -> Vec<_> {
            (0..count as i64).map(|number| frame(zero_ns + number * MS, 60)).collect()
        };
        let (first, mut second) = (frames(zeros_ns[0]), frames(zeros_ns[1]));
        let changed = at.get_mut(&mut second);
        let what = match kind {
            0 => { changed.realtime_ns += 1; What::Time }
            1 => { changed.heading = None; What::Direction }
            2 => { changed.bytes.push(0); What::Length }
            _ => { changed.bytes[59] ^= 1; What::Payload }
        };
        let comparison = of_frames(EXACT, zeros_ns, [&first, &second]);
        let [found] = &comparison.differences[..] else { panic!("{comparison:?}") };
        let number = at.index(count) as i64;
        prop_assert_eq!((found.what, found.more), (what, 0));
        prop_assert_eq!((found.at_ns, found.number), (Some(number * MS), Some(number as u64 + 1)));
    }

    /// The other way round the same differences are found, with their values exchanged.
    #[test]
    fn it_does_not_matter_which_run_is_the_first(
        frames in prop::array::uniform2(prop::collection::vec(any_frame(), 0..10)),
        zeros_ns: [i64; 2], tolerance_ns in 0u64..1 << 40,
    ) {
        let rules = Rules { tolerance_ns, payload: true, any_scenario: false };
        let [one, other] = &frames;
        let there = of_frames(rules, zeros_ns, [one, other]);
        let mut back = of_frames(rules, [zeros_ns[1], zeros_ns[0]], [other, one]);
        for difference in &mut back.differences {
            std::mem::swap(&mut difference.first, &mut difference.second);
        }
        prop_assert_eq!(there.compared, back.compared);
        prop_assert_eq!(there.differences, back.differences);
    }

    #[test]
    fn times_are_equal_up_to_the_tolerance_and_no_further(by_ns in -1i64 << 40..1 << 40) {
        let frames = [&[frame(0, 60)][..], &[frame(by_ns, 60)]];
        let same = |tolerance_ns| {
            of_frames(Rules { tolerance_ns, payload: false, any_scenario: false }, [0; 2], frames).is_same()
        };
        prop_assert!(same(by_ns.unsigned_abs()));
        prop_assert!(by_ns == 0 || !same(by_ns.unsigned_abs() - 1));
    }
}
