//! What a user sees of a run, and how its options change it.

use std::io::Read;

use results::RunRecord;

use crate::common::guests::terminal;
use crate::run::harness::{self, Place};

const SCENARIO: &str = "scenario: small
duration: 2 s
settle: 100 ms
start: 2019-06-03T12:00:00Z
plant:
  circuit: grid.dss
  record: {every: 10 ms, points: [bus.680.v1, storage.es.kW]}
nodes:
  meter:
    files:
      - {point: generator.wind.kW}
      - {point: storage.es.kW, access: write}
    programs:
      - name: reader
        run: python3 reader.py /plant/generator.wind.kW /plant/storage.es.kW 0.1
      - {name: clock, run: [sh, -c, date -u +%FT%T; exec sleep 60]}
requirements:
  - name: the voltage stays high
    measure: {minimum: bus.680.v1}
    at_least: 2000 V
    disturbed_above: 1000 s
  - name: the storage discharges
    measure: {maximum: storage.es.kW}
    at_least: 99 kW
    at_most: 101 kW
    disturbed_above: 1000 s
";

#[test]
fn json_is_all_that_is_printed_and_says_what_the_folder_says() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = place.run(&["--json", "--duration", "500 ms"]).expect(0);
    let printed: RunRecord = serde_json::from_str(&run.out).unwrap();
    assert_eq!(printed, run.record());
    // Where standard error is no terminal there are lines, and no bar.
    assert!(run.err.contains("of 0.5 s virtual"), "{}", run.err);
    assert!(!run.err.contains(['\r', '\x1b']), "{}", run.err);
}

#[test]
fn twice_the_dilation_takes_twice_the_time_and_changes_no_verdict() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let [native, dilated] = [["--tdf", "1"], ["--tdf", "2"]].map(|tdf| place.run(&tdf).expect(0));
    let [native, dilated] = [native.record(), dilated.record()];
    native.verdicts.iter().chain(&dilated.verdicts).for_each(harness::assert_met);
    assert_eq!((native.verdicts.len(), dilated.verdicts.len()), (2, 2));
    let ratio = |record: &RunRecord| record.wall.as_ref().unwrap().ratio().unwrap();
    assert!(ratio(&dilated) > 1.99, "{}", ratio(&dilated));
    assert_eq!(dilated.scenario.tdf, 2.0);
}

#[test]
fn programs_see_the_start_of_the_scenario() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = place.run(&["--duration", "1 s", "--csv"]).expect(0);
    // The clock starts before zero by the time to settle.
    let moment = &run.lines("clock")[0];
    assert!(moment == "2019-06-03T11:59:59" || moment == "2019-06-03T12:00:00", "{moment}");
    let csv = std::fs::read_to_string(run.folder().path().join("series.csv")).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time_ns,bus.680.v1,storage.es.kW"), "{csv}");
    assert_eq!(lines.count(), 101);
    assert!(run.out.contains("the voltage stays high") && run.out.contains("run folder: runs/"));
}

#[test]
fn a_terminal_shows_a_bar() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let (mut ours, theirs) = terminal(24, 80);
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs", "--duration", "1 s"]);
    command.stderr(theirs);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // The end of a terminal that nobody writes to any more is an error.
    let _ = ours.read_to_end(&mut shown);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("\r\x1b[K[") && shown.contains("...] "), "{shown:?}");
    assert!(shown.contains("of 1.0 s virtual"), "{shown:?}");
    assert!(shown.ends_with("\r\n"), "what follows begins on a line of its own: {shown:?}");
}

/// Readers that go away early, such as `head`, are no failure.
#[test]
fn closed_streams_do_no_harm() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs", "--duration", "500 ms"]);
    let ended = command.stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(place.runs().len(), 1);
}
