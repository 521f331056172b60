//! Verdicts as the story of one run: a voltage that dips, and a controller that polls.

use domain::Pace;
use report_kit::outcome::Outcome;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use super::capture::{Capture, CapturedFrame};
use super::doubt::{Loss, LostHost, PlantRecord, Refused};
use super::frame::tests::frame;
use super::frame::{Segment, TcpPart};
use super::measure::RunData;
use super::series::Series;
use super::told::ReportedValues;
use super::verdict::*;
use network::capture::Heading;
use plant::name::PointName;
use scenario::model::{Disturbed, End, Measure, MeasureKind, Requirement, Window};
use scenario::told::Statistic;
use terminal::exit::Exit;
use vtime::VirtualSpan;

pub(super) const MS: i64 = 1_000_000;
const REALTIME_ZERO_NS: i64 = 1_700_000_000_000_000_000;
const SENSOR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CONTROLLER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

pub(super) fn bus() -> PointName {
    PointName("bus.680.v1".into())
}

/// 10 s of voltage, a row every 100 ms: 2400 V, with 2320 V from 4 s to 5 s.
fn voltage() -> Series {
    let mut series = Series::empty(&[bus()]);
    for row in 0..100 {
        let value = if (40..50).contains(&row) { 2320.0 } else { 2400.0 };
        series.push(row * 100 * MS, &[value]);
    }
    series
}

fn poll(number: u32) -> Segment {
    Segment {
        source: SocketAddrV4::new(CONTROLLER, 40_000),
        destination: SocketAddrV4::new(SENSOR, 502),
        payload: 12,
        tcp: Some(TcpPart { sequence: 1000 + 12 * number, syn: false }),
    }
}

fn captured(at_ms: i64, heading: Heading, segment: &Segment) -> CapturedFrame {
    let realtime_ns = REALTIME_ZERO_NS + at_ms * MS;
    CapturedFrame { realtime_ns, heading: Some(heading), bytes: frame(segment) }
}

/// Polls every 100 ms from 50 ms on; those from 6 s on are repetitions of the last one.
fn polls(heading: Heading) -> Capture {
    let frames = (0..100).map(|k| {
        let number = u32::try_from(k).unwrap().min(60);
        captured(50 + 100 * k, heading, &poll(number))
    });
    Capture { frames: frames.collect(), torn: false }
}

/// A millisecond each 100 ms, but 5 ms at 4 s.
fn reported() -> ReportedValues {
    let rows = (0..100).map(|k| (100 * k * MS, if k == 40 { 5.0 } else { 1.0 })).collect();
    ReportedValues { rows, lost: None }
}

fn run() -> RunData {
    RunData {
        reported: [(("drive".to_owned(), "latency_us".to_owned()), reported())].into(),
        series_file: "series.parquet".into(),
        series: Some(voltage()),
        captures: BTreeMap::from([
            ("controller".into(), polls(Heading::Outbound)),
            ("sensor".into(), polls(Heading::Inbound)),
        ]),
        addresses: BTreeMap::from([
            ("controller".into(), Some(CONTROLLER)),
            ("sensor".into(), Some(SENSOR)),
        ]),
        realtime_zero_ns: REALTIME_ZERO_NS,
        planned_to: VirtualSpan::from_s(10),
        covered_to: VirtualSpan::from_s(10),
        ..RunData::default()
    }
}

fn cut_at(end_ms: i64) -> RunData {
    let mut data = run();
    data.covered_to = VirtualSpan::from_ms(end_ms);
    let series = data.series.as_mut().unwrap();
    series.time_ns.retain(|time_ns| *time_ns < end_ms * MS);
    series.columns[0].values.truncate(series.time_ns.len());
    for capture in data.captures.values_mut() {
        capture.frames.retain(|frame| frame.realtime_ns < REALTIME_ZERO_NS + end_ms * MS);
    }
    data
}

pub(super) const ALL: Window = Window { from: None, to: None };

pub(super) fn window(from_ms: i64, to_ms: i64) -> Window {
    Window { from: Some(VirtualSpan::from_ms(from_ms)), to: Some(VirtualSpan::from_ms(to_ms)) }
}

pub(super) fn demand(measure: Measure, at_least: Option<f64>, at_most: Option<f64>) -> Requirement {
    let (name, disturbed) = ("it holds".into(), Disturbed::default());
    Requirement { name, measure, at_least, at_most, disturbed }
}

pub(super) fn minimum(window: Window) -> Measure {
    Measure { kind: MeasureKind::Minimum { point: bus() }, window }
}

fn maximum(window: Window) -> Measure {
    Measure { kind: MeasureKind::Maximum { point: bus() }, window }
}

fn changes(window: Window) -> Measure {
    Measure { kind: MeasureKind::Changes { point: bus() }, window }
}

fn first_below(value: f64) -> Measure {
    Measure { kind: MeasureKind::FirstBelow { point: bus(), value }, window: ALL }
}

pub(super) fn last_below(value: f64) -> Measure {
    Measure { kind: MeasureKind::LastBelow { point: bus(), value }, window: ALL }
}

pub(super) fn gap(window: Window) -> Measure {
    gap_at(End::Sender, window)
}

fn gap_at(at: End, window: Window) -> Measure {
    let (from, to) = ("controller".into(), "sensor".into());
    Measure { kind: MeasureKind::LongestGap { from, to, port: 502, at }, window }
}

fn received(from: &str, window: Window) -> Measure {
    let (from, to) = (from.into(), "sensor".into());
    Measure { kind: MeasureKind::Received { from, to }, window }
}

/// A statistic of what the program `drive` reports.
pub(super) fn told(member: &str, statistic: Statistic, above: Option<f64>) -> Measure {
    let (member, program) = (member.into(), "drive".into());
    Measure { kind: MeasureKind::Told { member, program, statistic, above }, window: ALL }
}

#[track_caller]
fn expect(requirement: &Requirement, data: &RunData, outcome: Outcome, value: Option<f64>) {
    let verdict = judge(requirement, data);
    assert_eq!((verdict.outcome, verdict.value), (outcome, value), "{verdict:?}");
}

#[test]
fn a_dip_is_found_with_its_time_and_its_source() {
    let verdict = judge(&demand(minimum(ALL), Some(2375.0), None), &run());
    assert_eq!((verdict.outcome, verdict.value), (Outcome::Missed, Some(2320.0)));
    assert_eq!(verdict.reason, "at 4 s");
    assert_eq!(verdict.source.file, "series.parquet");
    assert_eq!(verdict.source.query, "minimum of bus.680.v1, 0 s ≤ time_ns < 10 s");
    assert_eq!((verdict.value_text(), verdict.bounds_text()), ("2320 V".into(), "≥ 2375 V".into()));
}

#[test]
fn windows_end_before_their_end() {
    let before = minimum(window(0, 4000));
    expect(&demand(before, Some(2375.0), None), &run(), Outcome::Met, Some(2400.0));
    let from_the_dip = maximum(window(4000, 5000));
    expect(&demand(from_the_dip, None, Some(2325.0)), &run(), Outcome::Met, Some(2320.0));
    let empty = maximum(window(5000, 5000));
    expect(&demand(empty, None, None), &run(), Outcome::NotMeasured, None);
}

#[test]
fn crossings_are_times_and_never_is_later_and_earlier_than_all_bounds() {
    let (first, last) = (first_below, last_below);
    expect(&demand(first(2325.0), Some(4.0), Some(4.0)), &run(), Outcome::Met, Some(4.0));
    expect(&demand(last(2325.0), None, Some(5.0)), &run(), Outcome::Met, Some(4.9));
    expect(&demand(first(2000.0), Some(4.0), None), &run(), Outcome::Met, None);
    expect(&demand(first(2000.0), None, Some(4.0)), &run(), Outcome::Missed, None);
    expect(&demand(last(2000.0), None, Some(4.0)), &run(), Outcome::Met, None);
    expect(&demand(last(2000.0), Some(4.0), None), &run(), Outcome::Missed, None);
}

#[test]
fn changes_are_counted_against_the_row_before_also_at_the_edge() {
    let one = |window| demand(changes(window), None, Some(1.0));
    expect(&one(ALL), &run(), Outcome::Missed, Some(2.0));
    expect(&one(window(4000, 5000)), &run(), Outcome::Met, Some(1.0));
    expect(&one(window(4100, 5000)), &run(), Outcome::Met, Some(0.0));
}

#[test]
fn a_run_that_ended_early_can_miss_but_not_meet() {
    let lowest = |bound| demand(minimum(ALL), Some(bound), None);
    expect(&lowest(2375.0), &cut_at(3000), Outcome::NotMeasured, Some(2400.0));
    expect(&lowest(2375.0), &cut_at(4500), Outcome::Missed, Some(2320.0));
    let verdict = judge(&lowest(2375.0), &cut_at(3000));
    assert!(verdict.reason.contains("the data end at 3 s, the window at 10 s"), "{verdict:?}");
    let early = demand(minimum(window(0, 2000)), Some(2375.0), None);
    expect(&early, &cut_at(3000), Outcome::Met, Some(2400.0));
    let later = demand(minimum(window(4000, 5000)), Some(2375.0), None);
    expect(&later, &cut_at(3000), Outcome::NotMeasured, None);
    let first = demand(first_below(2325.0), Some(3.5), Some(4.5));
    expect(&first, &cut_at(4500), Outcome::Met, Some(4.0));
    expect(&first, &cut_at(3000), Outcome::NotMeasured, None);
    let changes = demand(changes(ALL), None, Some(0.0));
    expect(&changes, &cut_at(4500), Outcome::Missed, Some(1.0));
    expect(&changes, &cut_at(3000), Outcome::NotMeasured, Some(0.0));
    let count = demand(received("controller", ALL), Some(10.0), Some(20.0));
    expect(&count, &cut_at(1500), Outcome::NotMeasured, Some(15.0));
    expect(&count, &cut_at(3000), Outcome::Missed, Some(30.0));
}

#[test]
fn rows_without_numbers_are_not_judged_as_numbers() {
    let mut data = run();
    data.series.as_mut().unwrap().columns[0].values[10] = f64::NAN;
    let lowest = |bound| demand(minimum(ALL), Some(bound), None);
    expect(&lowest(2300.0), &data, Outcome::NotMeasured, Some(2320.0));
    expect(&lowest(2375.0), &data, Outcome::Missed, Some(2320.0));
}

#[test]
fn what_was_not_recorded_is_not_measured() {
    let kind = MeasureKind::Minimum { point: PointName("bus.999.v1".into()) };
    let absent = demand(Measure { kind, window: ALL }, Some(1.0), None);
    expect(&absent, &run(), Outcome::NotMeasured, None);
    let mut data = run();
    data.captures.remove("controller");
    data.series = None;
    let reason = |measure, data: &RunData| judge(&demand(measure, None, None), data).reason;
    assert_eq!(reason(gap(ALL), &data), "there is no capture for controller");
    assert_eq!(reason(changes(ALL), &data), "no points were recorded");
    data.addresses.insert("controller".into(), None);
    assert_eq!(reason(received("controller", ALL), &data), "controller has no address");
}

#[test]
fn a_retransmission_does_not_end_a_silence() {
    let steady = demand(gap(window(0, 6000)), None, Some(100.0));
    expect(&steady, &run(), Outcome::Met, Some(100.0));
    // The last new poll leaves at 6.05 s; up to 10 s there are repetitions only.
    let whole = demand(gap(ALL), None, Some(150.0));
    expect(&whole, &run(), Outcome::Missed, Some(3950.0));
    assert_eq!(judge(&whole, &run()).reason, "from 6.05 s on, at the sender");
}

/// Who was to speak may have been gone before anybody noticed.
#[test]
fn the_last_silence_of_a_run_that_a_failed_part_has_ended_says_nothing() {
    let whole = demand(gap(ALL), None, Some(150.0));
    expect(&whole, &cut_at(9000), Outcome::Missed, Some(2950.0));
    let failed = |end_ms| RunData { failed: true, ..cut_at(end_ms) };
    expect(&whole, &failed(9000), Outcome::NotMeasured, Some(100.0));
    let early = demand(gap(ALL), None, Some(90.0));
    expect(&early, &failed(9000), Outcome::Missed, Some(100.0));
    let silent = |to_ms| demand(gap(window(7000, to_ms)), None, Some(150.0));
    expect(&silent(8000), &failed(9000), Outcome::Missed, Some(1000.0));
    expect(&silent(9500), &failed(9000), Outcome::NotMeasured, None);
}

#[test]
fn what_is_lost_on_the_way_is_silence_at_the_receiver_only() {
    let mut data = run();
    let arrived = &mut data.captures.get_mut("sensor").unwrap().frames;
    // Polls at 2.05 s to 2.45 s are lost.
    let at_ms = |frame: &CapturedFrame| (frame.realtime_ns - REALTIME_ZERO_NS) / MS;
    arrived.retain(|frame| !(2_000..2_500).contains(&at_ms(frame)));
    let steady = |at| demand(gap_at(at, window(0, 6000)), None, Some(100.0));
    expect(&steady(End::Sender), &data, Outcome::Met, Some(100.0));
    expect(&steady(End::Receiver), &data, Outcome::Missed, Some(600.0));
    let verdict = judge(&steady(End::Receiver), &data);
    assert_eq!(verdict.reason, "from 1.95 s on, at the receiver");
    assert_eq!(verdict.source.file, "captures/sensor.pcapng");
    assert!(verdict.source.query.contains("inbound"), "{:?}", verdict.source);
}

#[test]
fn the_time_to_the_first_poll_and_after_the_last_counts() {
    expect(&demand(gap(window(0, 50)), None, None), &run(), Outcome::Met, Some(50.0));
    expect(&demand(gap(window(60, 140)), None, None), &run(), Outcome::Met, Some(80.0));
    expect(&demand(gap(window(7000, 9000)), None, None), &run(), Outcome::Met, Some(2000.0));
}

#[test]
fn a_window_that_no_gap_could_miss_says_nothing() {
    let vacuous = demand(gap(window(60, 100)), None, Some(40.0));
    expect(&vacuous, &run(), Outcome::NotMeasured, Some(40.0));
    assert_eq!(judge(&vacuous, &run()).reason, "no gap in 40 ms is longer than 40 ms");
    let nobody = demand(gap(window(7000, 9000)), None, Some(2000.0));
    expect(&nobody, &run(), Outcome::NotMeasured, Some(2000.0));
    expect(&demand(gap(window(60, 140)), None, Some(79.0)), &run(), Outcome::Missed, Some(80.0));
}

#[test]
fn received_frames_are_new_inbound_and_by_their_source() {
    let polls = demand(received("controller", ALL), Some(61.0), Some(61.0));
    expect(&polls, &run(), Outcome::Met, Some(61.0));
    let repetitions = demand(received("controller", window(7000, 9000)), None, Some(0.0));
    expect(&repetitions, &run(), Outcome::Met, Some(0.0));
    let from_itself = demand(received("sensor", ALL), None, Some(0.0));
    expect(&from_itself, &run(), Outcome::Met, Some(0.0));
}

#[test]
fn a_torn_capture_speaks_up_to_its_last_frame() {
    let mut data = run();
    let capture = data.captures.get_mut("controller").unwrap();
    capture.frames.truncate(20);
    capture.torn = true;
    expect(&demand(gap(window(0, 1900)), None, Some(100.0)), &data, Outcome::Met, Some(100.0));
    let beyond = demand(gap(window(0, 3000)), None, Some(100.0));
    expect(&beyond, &data, Outcome::NotMeasured, Some(100.0));
    assert!(judge(&beyond, &data).reason.contains("cut off"));
}

#[test]
fn one_miss_decides_the_exit_code() {
    let verdict = |outcome| Verdict { outcome, ..judge(&demand(gap(ALL), None, None), &run()) };
    let [met, missed, unknown] = [Outcome::Met, Outcome::Missed, Outcome::NotMeasured].map(verdict);
    assert_eq!(exit(&[]), Exit::Done);
    assert_eq!(exit(std::slice::from_ref(&met)), Exit::Done);
    assert_eq!(exit(&[met.clone(), unknown.clone()]), Exit::NotMeasured);
    assert_eq!(exit(&[met, unknown, missed]), Exit::Missed);
}

#[test]
fn the_table_lines_up() {
    let verdicts = [
        judge(&demand(minimum(ALL), Some(2375.0), None), &run()),
        judge(&demand(received("controller", ALL), Some(1.0), None), &run()),
        judge(&demand(gap(ALL), None, Some(150.0)), &cut_at(3000)),
    ];
    let expected = "\
verdict       requirement  measured  bounds    where and why
missed        it holds       2320 V  ≥ 2375 V  at 4 s
met           it holds           61  ≥ 1
not measured  it holds       100 ms  ≤ 150 ms  from 0.05 s on, at the sender; the data end at 3 s, the window at 10 s
";
    assert_eq!(table(&verdicts, Pace::Real), expected);
    assert!(table(&verdicts, Pace::Events).contains("met (events)"));
}

#[test]
fn what_a_program_tells_is_judged_and_a_run_cut_short_can_only_miss() {
    let most = |statistic, above, bound: f64, data: &RunData| {
        let verdict = judge(&demand(told("latency_us", statistic, above), None, Some(bound)), data);
        (verdict.outcome, verdict.value)
    };
    let whole = run();
    assert_eq!(most(Statistic::Maximum, None, 4.167, &whole), (Outcome::Missed, Some(5.0)));
    assert_eq!(most(Statistic::Maximum, None, 5.0, &whole), (Outcome::Met, Some(5.0)));
    assert_eq!(most(Statistic::Count, Some(4.167), 0.0, &whole), (Outcome::Missed, Some(1.0)));
    assert_eq!(most(Statistic::Mean, None, 1.1, &whole), (Outcome::Met, Some(1.04)));
    // A hundred do not say anything about 99.9 %.
    assert_eq!(most(Statistic::Percentile(0.999), None, 9.0, &whole).0, Outcome::NotMeasured);
    let cut = cut_at(5000);
    assert_eq!(most(Statistic::Maximum, None, 4.167, &cut).0, Outcome::Missed);
    assert_eq!(most(Statistic::Maximum, None, 6.0, &cut).0, Outcome::NotMeasured);
}

fn plant(unconverged_ms: (i64, i64), share: f64) -> PlantRecord {
    PlantRecord {
        unconverged_ns: vec![(unconverged_ms.0 * MS, unconverged_ms.1 * MS)],
        unconverged_share: share,
        ..PlantRecord::default()
    }
}

/// Programs answer within so many milliseconds.
fn latency(at_most: f64) -> Requirement {
    demand(told("latency_us", Statistic::Maximum, None), None, Some(at_most))
}

fn low(at_least: f64, from_s: i64, to_s: i64) -> Requirement {
    demand(minimum(window(1000 * from_s, 1000 * to_s)), Some(at_least), None)
}

/// Figures of steps that did not converge are none, however good they look.
#[test]
fn a_window_in_which_the_plant_did_not_converge_is_not_measured() {
    let mut data = run();
    data.plant = Some(plant((7000, 7100), 0.0));
    let verdict = judge(&low(2300.0, 0, 10), &data);
    assert_eq!(verdict.outcome, Outcome::NotMeasured);
    assert!(verdict.reason.contains("did not converge from 7 s on, for 0.1 s"), "{verdict:?}");
    assert_eq!(judge(&low(2300.0, 0, 7), &data).outcome, Outcome::Met);
    // What was seen outside of it is missed whatever was within.
    assert_eq!(judge(&low(2375.0, 0, 10), &data).outcome, Outcome::Missed);
    data.plant = Some(plant((7000, 7100), 0.02));
    assert_eq!(judge(&low(2300.0, 0, 10), &data).outcome, Outcome::Met);
}

#[test]
fn rows_without_a_number_are_neither_a_change_nor_a_first_or_last_time() {
    let mut data = run();
    data.plant = Some(plant((3000, 3500), 0.1));
    let series = data.series.as_mut().unwrap();
    series.columns[0].values[30..35].fill(f64::NAN);
    series.columns[0].values[36] = f64::NEG_INFINITY;
    // Down at 4 s and up at 5 s.
    expect(&demand(changes(ALL), None, Some(2.0)), &data, Outcome::Met, Some(2.0));
    let first = demand(first_below(2375.0), None, Some(4.5));
    assert_eq!(judge(&first, &data).value, Some(4.0));
    // It may have been below before, if nothing is allowed for.
    data.plant = Some(plant((3000, 3500), 0.0));
    let verdict = judge(&Requirement { at_least: Some(3.9), ..first }, &data);
    assert_eq!(verdict.outcome, Outcome::NotMeasured);
}

#[test]
fn what_programs_do_without_an_answer_from_the_plant_is_not_measured() {
    let mut data = run();
    data.plant = Some(PlantRecord {
        refused: Some(Refused { count: 3, first_ns: 3000 * MS }),
        ..plant((2900, 3100), 0.0)
    });
    // A window over the whole of the run, in which the maximum of 5 ms comes later.
    let verdict = judge(&latency(6.0), &data);
    assert_eq!(verdict.outcome, Outcome::NotMeasured);
    assert!(verdict.reason.contains("could not read the plant"), "{verdict:?}");
    assert_eq!(judge(&latency(2.0), &data).outcome, Outcome::NotMeasured);
    assert_eq!(judge(&latency(0.5), &data).outcome, Outcome::Missed);
}

/// What is not said by who is not there any more meets nothing, and misses nothing.
#[test]
fn what_nodes_of_a_lost_host_do_is_known_up_to_there_only() {
    let within = Window { from: None, to: Some(VirtualSpan::from_s(5)) };
    let gap = |at_most| demand(gap(within), None, Some(at_most));
    let lost = |nodes: &[&str], switches: &[&str]| LostHost {
        host: "b".into(),
        at_ns: 3000 * MS,
        reason: "it was killed".into(),
        nodes: nodes.iter().map(|&name| name.into()).collect(),
        switches: switches.iter().map(|&name| name.into()).collect(),
    };
    let mut data = run();
    for (nodes, switches) in
        [(&["controller"][..], &[][..]), (&["meter", "sensor"], &[]), (&["meter"], &["s"])]
    {
        data.lost_hosts = vec![lost(nodes, switches)];
        let verdict = judge(&gap(150.0), &data);
        assert_eq!(verdict.outcome, Outcome::NotMeasured, "{verdict:?}");
        assert!(verdict.reason.contains("host `b` was lost"), "{verdict:?}");
        assert_eq!(judge(&gap(90.0), &data).outcome, Outcome::Missed);
    }
    // Who was not concerned is judged, and the reason says who was missing.
    data.lost_hosts = vec![lost(&["meter"], &[])];
    let verdict = judge(&gap(150.0), &data);
    assert_eq!(verdict.outcome, Outcome::Met);
    assert!(verdict.reason.ends_with("; without host `b` after 3 s"), "{verdict:?}");
    let before = demand(
        Measure {
            window: Window { from: None, to: Some(VirtualSpan::from_s(2)) },
            ..gap(1.0).measure
        },
        None,
        Some(150.0),
    );
    let verdict = judge(&before, &data);
    assert!(!verdict.reason.contains("without host"), "{verdict:?}");
}

/// The same rule for each file that verdicts are drawn from: what came after a hole may be less than
/// what there was.
#[test]
fn a_file_with_a_hole_is_known_up_to_there_only() {
    let within = Window { from: None, to: Some(VirtualSpan::from_s(5)) };
    let gap = |at_most| demand(gap(within), None, Some(at_most));
    let reason = || "it lacks something".into();
    let lost = |file: &str| Loss { file: file.into(), from_ns: 3000 * MS, reason: reason() };
    let mut data = run();
    assert_eq!(judge(&gap(150.0), &data).outcome, Outcome::Met);
    data.losses = vec![lost("captures/controller.pcapng")];
    let verdict = judge(&gap(150.0), &data);
    assert_eq!(verdict.outcome, Outcome::NotMeasured);
    assert!(verdict.reason.contains("lacks something"), "{verdict:?}");
    assert_eq!(judge(&gap(90.0), &data).outcome, Outcome::Missed);

    assert_eq!(judge(&latency(6.0), &data).outcome, Outcome::Met);
    data.losses = vec![lost("programs/drive.log")];
    assert_eq!(judge(&latency(6.0), &data).outcome, Outcome::NotMeasured);
    // A line beyond the hole is a fact all the same.
    assert_eq!(judge(&latency(2.0), &data).outcome, Outcome::Missed);
}
