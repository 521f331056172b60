//! Which nodes run at the same instant where time moves by jumps alone, and what computing takes there.

use std::fs;

use report_kit::outcome::Outcome;

use crate::common::machine::alone;
use crate::common::patience::is_loaded;
use crate::run::harness::{Finished, Place, are_the_same};

/// Three nodes at the same full seconds, of which the first computes for long, and who tells a fourth when it is done. The
/// links take no time.
fn race(order: &str, file: &str) -> String {
    let node = |name: &str, number: u32, count: u64| {
        format!(
            "  {name}:
    address: 10.0.0.{number}/24
    programs:
      - {{name: {name}, run: python3 turns.py {name} {count} {file} 10.0.0.9, on_exit: ignore}}
"
        )
    };
    let links =
        ["first", "second", "third", "last"].map(|node| format!("  - {{from: {node}, to: s1}}\n"));
    format!(
        "scenario: race
duration: 10 s
settle: 0 s
start: 2026-01-01T00:00:00Z
order: {order}
nodes:
{}{}{}  last:
    address: 10.0.0.9/24
    programs:
      - {{name: last, run: python3 collect.py, on_exit: ignore}}
switches: [s1]
links:
{}",
        node("first", 1, 3_000_000),
        node("second", 2, 300_000),
        node("third", 3, 0),
        links.concat()
    )
}

fn run(place: &Place) -> Finished {
    place.run(&["--pace", "events"]).expect(0)
}

#[test]
fn one_node_after_the_other_runs_as_the_scenario_has_them_whoever_is_faster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order");
    let Some(place) = Place::for_root(&race("one-node-at-a-time", file.to_str().unwrap())) else {
        return;
    };
    alone();
    let mut folders = Vec::new();
    for _ in 0..2 {
        let _ = fs::remove_file(&file);
        let run = run(&place);
        let written = fs::read_to_string(&file).unwrap();
        assert_eq!(written, "first\nsecond\nthird\n".repeat(5));
        assert_eq!(run.lines("last").concat(), "firstsecondthird".repeat(5));
        for (name, woke_ns) in [("first", "0"), ("second", "1"), ("third", "2")] {
            assert_eq!(run.lines(name), [woke_ns; 5], "{name}");
        }
        folders.push(run.folder().path().to_owned());
    }
    are_the_same(&folders);
}

#[test]
fn together_all_whose_time_has_come_run_at_the_same_instant() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order");
    let Some(place) = Place::for_root(&race("together", file.to_str().unwrap())) else { return };
    let run = run(&place);
    for name in ["first", "second", "third"] {
        assert_eq!(run.lines(name), ["0"; 5], "{name}");
    }
}

/// One that computes 1 ms each time it wakes, and asks one over links of 5 ms that computes 2 ms.
#[test]
fn what_a_node_computes_makes_later_what_it_does() {
    const SCENARIO: &str = "scenario: charged
duration: 2 s
settle: 0 s
plant: {circuit: grid.dss}
nodes:
  a:
    address: 10.0.0.1/24
    compute: {per_wakeup: 1 ms}
    files: [{point: generator.wind.kW, latency: 4 ms}]
    programs:
      - {name: ask, run: python3 charged.py 10.0.0.2, on_exit: ignore}
  b:
    address: 10.0.0.2/24
    compute: {per_wakeup: 2 ms}
    programs:
      - {name: answer, run: python3 answer.py, on_exit: ignore}
links:
  - {from: a, to: b, delay: 5 ms}
";
    for (order, most_ns) in [("together", 0), ("one-node-at-a-time", 20)] {
        let Some(place) = Place::for_root(&format!("{SCENARIO}order: {order}\n")) else { return };
        let said = run(&place).lines("ask");
        let expected = [
            ("sleep", 11),
            ("poll", 11),
            ("alarm", 11),
            ("timer", 11),
            ("point", 5),
            ("answer", 13),
        ];
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (line, (name, ms)) in said.iter().zip(expected) {
            let ns: u64 = line.strip_prefix(name).unwrap().trim().parse().unwrap();
            let least = ms * 1_000_000;
            assert!((least..=least + most_ns).contains(&ns), "{order}: {line}");
        }
    }
}

/// However long that is: it is no fault of the machine.
#[test]
fn what_a_node_computes_disturbs_no_verdict() {
    const SCENARIO: &str = "scenario: slow
duration: 5 s
settle: 0 s
nodes:
  a:
    compute: {per_wakeup: 25 ms}
    programs:
      - {name: slow, run: python3 slow.py}
requirements:
  - name: it is in time
    measure: {told: took_ms, by: slow, statistic: maximum}
    at_most: 30 ms
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    place.file(
        "slow.py",
        "import json, time\n\
         while True:\n\
         \x20   begun = time.monotonic()\n\
         \x20   time.sleep(0.01)\n\
         \x20   print(json.dumps({'took_ms': (time.monotonic() - begun) * 1e3}), flush=True)\n",
    );
    let record = place.run(&["--pace", "events"]).expect(10).record();
    let verdict = &record.verdicts[0];
    assert_eq!(verdict.outcome, Outcome::Missed, "{verdict:?}");
    assert!(verdict.value.is_some_and(|took_ms| (took_ms - 35.0).abs() < 1e-3), "{verdict:?}");
    assert!(record.warnings.is_empty(), "{:?}", record.warnings);
}

/// Where time passes while programs compute, they take what they take.
#[test]
fn in_other_paces_nothing_is_charged() {
    const SCENARIO: &str = "scenario: real
duration: 2 s
settle: 0 s
order: one-node-at-a-time
nodes:
  a:
    compute: {per_wakeup: 500 ms}
    programs:
      - {name: sleep, run: python3 sleep.py, on_exit: ignore}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    place.file(
        "sleep.py",
        "import time\n\
         begun = time.monotonic_ns()\n\
         time.sleep(0.1)\n\
         print((time.monotonic_ns() - begun) // 10**6)\n",
    );
    for pace in ["real", "skip"] {
        let run = place.run(&["--pace", pace]).expect_one_of(&[0, 13]);
        let slept_ms: u64 = run.lines("sleep").concat().parse().unwrap();
        assert!(slept_ms >= 100 && (slept_ms < 600 || is_loaded()), "{pace}: {slept_ms} ms");
    }
}
