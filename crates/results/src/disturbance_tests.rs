//! Disturbances as the story of one run: a poller that must ask every 100 ms.

use super::disturbance::*;
use super::measure::RunData;
use super::verdict::{exit, judge};
use super::verdict_tests::{ALL, MS, bus, demand, gap, last_below, minimum, told, window};
use super::{Series, Verdict};
use report_kit::outcome::Outcome;
use scenario::model::{Bounds, Requirement, Window};
use scenario::told::Statistic;
use terminal::exit::Exit;
use vtime::VirtualSpan;

const RUN: Bounds = Bounds { from_ns: 0, to_ns: 10_000 * MS };

fn delay(node: Option<&str>, who: &str, at_ms: i64, longest_ms: i64) -> Disturbance {
    Disturbance {
        from_ns: at_ms * MS,
        to_ns: (at_ms + 50) * MS,
        node: node.map(str::to_owned),
        who: who.into(),
        cause: Cause::Waited,
        longest_ns: longest_ms * MS,
        lost_ns: longest_ms * MS,
    }
}

fn watched(disturbances: Vec<Disturbance>) -> Watched {
    Watched { to_ns: 10_000 * MS, disturbances }
}

#[test]
fn what_lay_before_the_run_is_cut_off() {
    let mut waited = delay(None, "network", -1_500, 5_500);
    waited.to_ns = 4_000 * MS;
    waited.begin_at(0);
    assert_eq!((waited.from_ns, waited.to_ns), (0, 4_000 * MS));
    assert_eq!((waited.longest_ns, waited.lost_ns), (4_000 * MS, 4_000 * MS));
    let within = delay(None, "network", 10, 5);
    let mut same = within.clone();
    same.begin_at(0);
    assert_eq!(same, within);
}

/// Why a requirement that each gap is below 100 ms is disturbed by these.
fn why(disturbances: Vec<Disturbance>) -> Option<String> {
    let requirement = demand(gap(ALL), None, Some(100.0));
    disturbed(&requirement, RUN, &watched(disturbances))
}

#[test]
fn the_bound_is_a_tenth_of_what_a_requirement_is_about() {
    let bound = |measure, least, most| bound_of(&demand(measure, least, most));
    let ms = VirtualSpan::from_ms;
    assert_eq!(bound(gap(ALL), None, Some(130.0)), ms(13));
    assert_eq!(bound(gap(ALL), Some(50.0), None), ms(5));
    assert_eq!(bound(gap(ALL), None, Some(0.0)), BOUND_DEFAULT);
    assert_eq!(bound(last_below(0.0), Some(20.7), Some(21.3)), ms(60));
    assert_eq!(bound(last_below(0.0), None, Some(21.3)), BOUND_DEFAULT);
    assert_eq!(bound(last_below(0.0), Some(20.0), Some(20.0)), BOUND_DEFAULT);
    assert_eq!(bound(minimum(ALL), Some(2370.0), None), BOUND_DEFAULT);
    assert_eq!(bound(told("latency_us", Statistic::Maximum, None), None, Some(20.0)), ms(2));
    assert_eq!(bound(told("latency_us", Statistic::Count, None), None, Some(20.0)), BOUND_DEFAULT);
    assert_eq!(bound(told("score", Statistic::Mean, None), None, Some(20.0)), BOUND_DEFAULT);
    let mut stated = demand(gap(ALL), None, Some(130.0));
    stated.disturbed.above = Some(ms(70));
    assert_eq!(bound_of(&stated), ms(70));
}

#[test]
fn one_long_wait_disturbs_and_says_who_when_and_how_long() {
    assert_eq!(why(vec![]), None);
    assert_eq!(why(vec![delay(Some("n1"), "poller", 4000, 10)]), None, "as long as is allowed");
    let why = why(vec![delay(Some("n1"), "poller", 4000, 412)]).unwrap();
    assert_eq!(
        why,
        "`poller` in n1 waited for a processor while others had it, 412 ms at 4 s; the limit is \
         10 ms"
    );
}

#[test]
fn waits_of_several_at_one_moment_add_up_and_those_of_one_do_not() {
    let (poller, server) = ("poller", "server");
    let one_after_another = vec![
        delay(Some("n1"), poller, 1000, 6),
        delay(Some("n2"), server, 1050, 6),
        delay(None, "the testbed with frames", 1100, 6),
    ];
    assert_eq!(why(one_after_another), None);
    let mut of_one = delay(Some("n1"), poller, 990, 6);
    of_one.to_ns = 1100 * MS;
    assert_eq!(why(vec![of_one, delay(Some("n1"), poller, 1000, 6)]), None);
    let together = vec![delay(Some("n1"), poller, 1000, 6), delay(Some("n2"), server, 1020, 5)];
    let why = why(together).unwrap();
    assert!(
        why.starts_with("`poller` in n1 waited") && why.contains("(11 ms together with 1 other)"),
        "{why}"
    );
}

#[test]
fn only_the_window_and_the_nodes_that_it_depends_on_count() {
    let late = || watched(vec![delay(Some("load"), "spinner", 4000, 900)]);
    let in_window = |from_ms: i64, to_ms: i64| {
        let bounds = Bounds { from_ns: from_ms * MS, to_ns: to_ms * MS };
        disturbed(&demand(gap(ALL), None, Some(100.0)), bounds, &late()).is_some()
    };
    assert!(in_window(0, 10_000) && in_window(4049, 4051) && in_window(3000, 4001));
    assert!(!in_window(0, 4000) && !in_window(4050, 10_000));
    let mut of_poller = demand(gap(ALL), None, Some(100.0));
    of_poller.disturbed.nodes = Some(vec!["n1".into()]);
    assert_eq!(disturbed(&of_poller, RUN, &late()), None);
    let of_testbed = watched(vec![delay(None, "the testbed with frames", 4000, 23)]);
    assert!(disturbed(&of_poller, RUN, &of_testbed).is_some(), "it is late for everybody");
}

#[test]
fn what_is_shorter_than_a_hundredth_of_a_millisecond_is_shown_in_microseconds() {
    let mut requirement = demand(gap(ALL), None, Some(100.0));
    requirement.disturbed.above = Some(VirtualSpan::from_ns(1));
    let delays = vec![delay(Some("n1"), "poller", 4000, 1)];
    let why = disturbed(&requirement, RUN, &watched(delays)).unwrap();
    assert!(why.ends_with("1 ms at 4 s; the limit is 0.001 us"), "{why}");
}

#[test]
fn lines_that_were_stamped_late_disturb_who_reads_them() {
    let of = |who: &str| Disturbance { cause: Cause::Stamped, ..delay(Some("n1"), who, 4000, 30) };
    let reads = demand(told("latency_us", Statistic::Count, None), None, Some(0.0));
    let why = |requirement: &Requirement, who| disturbed(requirement, RUN, &watched(vec![of(who)]));
    let text = why(&reads, "drive").unwrap();
    assert!(text.starts_with("`drive` in n1 had its lines stamped late, 30 ms"), "{text}");
    assert_eq!(why(&reads, "other"), None);
    assert_eq!(why(&demand(gap(ALL), None, Some(100.0)), "drive"), None);
}

/// A tenth of the loops is missing, and nobody waits for longer than a millisecond.
#[test]
fn many_short_delays_disturb_by_their_sum() {
    let short = |lost_ms: i64| Disturbance {
        to_ns: 1000 * MS,
        cause: Cause::Computed,
        lost_ns: lost_ms * MS,
        ..delay(Some("n1"), "poller", 0, 1)
    };
    let run = |lost_ms: i64| {
        let seconds = 0..10;
        let all = seconds.map(|second| Disturbance {
            from_ns: second * 1000 * MS,
            to_ns: (second + 1) * 1000 * MS,
            ..short(lost_ms)
        });
        why(all.collect())
    };
    assert_eq!(run(20), None, "a fiftieth is allowed");
    assert_eq!(
        run(100).unwrap(),
        "`poller` in n1 computed for longer than at a tdf of 1 for 1000 ms in total, 10 % of the \
         time; the limit is 200 ms"
    );
    // A wait for a processor that made another wait late is lost once.
    let twice = |cause| Disturbance { cause, lost_ns: 150 * MS, ..short(0) };
    assert_eq!(why(vec![twice(Cause::Waited), twice(Cause::WokeLate)]), None);
    // A window that cuts a second in two has half of what was lost in it.
    let half = Bounds { from_ns: 500 * MS, to_ns: 1500 * MS };
    let requirement = demand(gap(ALL), None, Some(100.0));
    let found = disturbed(&requirement, half, &watched(vec![short(100)])).unwrap();
    assert!(found.contains("50 ms in total"), "{found}");
    let mut stated = requirement;
    stated.disturbed.above = Some(VirtualSpan::from_s(100));
    assert_eq!(
        disturbed(&stated, half, &watched(vec![short(100)])),
        None,
        "a stated bound holds for the sum too"
    );
}

#[test]
fn time_that_ran_other_than_planned_disturbs_whatever_is_allowed() {
    let mut requirement = demand(gap(ALL), None, Some(100.0));
    requirement.disturbed.above = Some(VirtualSpan::from_s(100));
    let changed =
        Disturbance { to_ns: i64::MAX, cause: Cause::Rate, ..delay(None, "the domain", 9000, 0) };
    let found = disturbed(&requirement, RUN, &watched(vec![changed.clone()]));
    assert_eq!(found.unwrap(), "the domain had its tdf changed from outside at 9 s");
    let before = Bounds { to_ns: 9000 * MS, ..RUN };
    assert_eq!(disturbed(&requirement, before, &watched(vec![changed])), None);
}

#[test]
fn what_the_testbed_could_not_do_disturbs_whom_it_struck() {
    let mut requirement = demand(gap(ALL), None, Some(100.0));
    requirement.disturbed.above = Some(VirtualSpan::from_s(100));
    let refused = Disturbance { cause: Cause::Refused, ..delay(Some("n1"), "poller", 3000, 0) };
    let found = disturbed(&requirement, RUN, &watched(vec![refused.clone()]));
    assert_eq!(
        found.unwrap(),
        "`poller` in n1 had calls of timers fail because the testbed lacked descriptors at 3 s"
    );
    requirement.disturbed.nodes = Some(["n2".to_owned()].into());
    assert_eq!(disturbed(&requirement, RUN, &watched(vec![refused])), None, "of another node");
}

fn run(watched: Option<Watched>) -> RunData {
    let mut series = Series::empty(&[bus()]);
    (0..100).for_each(|row| series.push(row * 100 * MS, &[2400.0]));
    RunData {
        series_file: "series.parquet".into(),
        series: Some(series),
        watched,
        planned_to: VirtualSpan::from_s(10),
        covered_to: VirtualSpan::from_s(10),
        ..RunData::default()
    }
}

fn lowest(at_least: f64, window: Window) -> Requirement {
    demand(minimum(window), Some(at_least), None)
}

#[test]
fn a_disturbed_verdict_is_disturbed_whatever_it_would_have_been() {
    let late = || run(Some(watched(vec![delay(Some("n1"), "poller", 4000, 412)])));
    let verdict = |at_least| -> Verdict { judge(&lowest(at_least, ALL), &late()) };
    let (good, bad) = (verdict(2375.0), verdict(2500.0));
    assert_eq!((good.outcome, bad.outcome), (Outcome::Disturbed, Outcome::Disturbed));
    assert!(good.reason.contains("the limit is 10 ms; would be met; at 0 s"), "{}", good.reason);
    assert!(bad.reason.contains("would be missed"), "{}", bad.reason);
    assert_eq!(good.value, Some(2400.0), "what was measured is shown");
    let before = judge(&lowest(2375.0, window(0, 4000)), &late());
    assert_eq!(before.outcome, Outcome::Met);
    let unknown = judge(&demand(gap(ALL), None, Some(100.0)), &late());
    assert_eq!(unknown.outcome, Outcome::NotMeasured, "data that do not say are no better for it");
}

#[test]
fn what_nobody_watched_is_not_met() {
    let watched = |to_ns| run(Some(Watched { to_ns, disturbances: vec![] }));
    let whole = lowest(2375.0, ALL);
    assert_eq!(judge(&whole, &watched(10_000 * MS)).outcome, Outcome::Met);
    let verdict = judge(&whole, &watched(9_000 * MS));
    assert_eq!(verdict.outcome, Outcome::NotMeasured);
    assert!(verdict.reason.contains("disturbances were not recorded after 9 s"), "{verdict:?}");
    let first = judge(&lowest(2375.0, window(0, 9000)), &watched(9_000 * MS));
    assert_eq!(first.outcome, Outcome::Met);
    assert_eq!(judge(&whole, &run(None)).outcome, Outcome::Met, "a run of before");
}

#[test]
fn a_miss_outweighs_a_disturbance_and_that_what_was_not_measured() {
    let verdict = |outcome| Verdict { outcome, ..judge(&lowest(2375.0, ALL), &run(None)) };
    let of = |outcomes: &[Outcome]| exit(&outcomes.iter().map(|o| verdict(*o)).collect::<Vec<_>>());
    use Outcome::{Disturbed, Met, Missed, NotMeasured};
    assert_eq!(of(&[Met, Disturbed, Missed]), Exit::Missed);
    assert_eq!(of(&[NotMeasured, Disturbed, Met]), Exit::Disturbed);
    assert_eq!(of(&[NotMeasured, Met]), Exit::NotMeasured);
    assert_eq!(Exit::Disturbed as u8, 13);
}
