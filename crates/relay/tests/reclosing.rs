//! A line that is tripped and closed again, over a cable: `qcrelay` decides, the breaker of `qcmerge` obeys
//! and tells where it is. What each case does exactly is tested without a clock (`merging::cycle_tests`).

use serde_json::Value;

use crate::support;
use crate::support::running::{Relay, publish, summary};

const UNIT: &str = include_str!("reclosing/merging_unit.yaml");
const RELAY: &str = include_str!("reclosing/relay.yaml");
/// A host that stands still for longer than this loses samples, which block elements.
const LATENESS_NS_MAX: u64 = 15_000_000;

/// States of the reclosing element from the first trip on, and the summary of the merging unit.
fn run(phases: &str, dies_after: &str) -> (Vec<String>, Value) {
    let relay = Relay::start_at(
        9465,
        |records, metrics| {
            format!("{RELAY}host: {{interface: west, records: {records}, metrics: '{metrics}'}}\n")
        },
        "600s",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("unit.yaml");
    let text = UNIT
        .replace("at: 2 s, phases: a", &format!("at: 3 s, phases: {phases}"))
        .replace(", dies_after: 200 ms", dies_after);
    std::fs::write(&path, text).expect("it writes");
    let (summary, _) = summary(publish(&path, "7s"));
    relay.interrupt();
    let (_, records) = relay.finish();
    let states = records.iter().filter_map(|line| line.get("reclosing").map(|_| &line["state"]));
    let states = states.map(|state| state.as_str().expect("a word").to_owned());
    (states.skip_while(|state| state != "tripping").collect(), summary)
}

#[test]
fn an_arc_is_gone_after_one_pole_was_open_and_a_fault_that_stays_locks_out() {
    let what = "reclosing over a cable";
    for (phases, dies_after, expected) in [
        (
            "a",
            ", dies_after: 200 ms",
            &["tripping", "dead time", "closing", "reclaiming", "ready"][..],
        ),
        ("a", "", &["tripping", "dead time", "closing", "lockout"][..]),
    ] {
        // The relay serves its metrics there.
        if !support::cable(what) || !support::ip("link set dev lo up") {
            return;
        }
        let (states, summary) = run(phases, dies_after);
        // The breaker may tell that it is closed before the fault is seen again.
        let states: Vec<&str> = states.iter().map(String::as_str).collect();
        let is_expected = states == expected
            || expected.last() == Some(&"lockout")
                && states.ends_with(&["closing", "reclaiming", "lockout"]);
        if !is_expected && summary["lateness_ns"]["max"].as_u64() > Some(LATENESS_NS_MAX) {
            support::not_measured(what, "this host stood still meanwhile");
            continue;
        }
        assert!(is_expected, "{states:?}: {summary}");
        assert!(summary["faults"][0]["interrupted_after_ns"].is_i64(), "{summary}");
    }
}
