//! What keeps a run from beginning is told in one place, with the way out, and before anything
//! was started.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use crate::common::patience::patience;
use crate::run::harness::{Place, eventually};

const SCENARIO: &str = "scenario: small
duration: 1 s
settle: 100 ms
plant:
  circuit: grid.dss
  record: {every: 10 ms, points: [bus.680.v1]}
nodes:
  meter:
    programs:
      - {name: idle, run: python3 idle.py}
";

/// The run says this, ends with this code, and has started nothing.
#[track_caller]
fn assert_refused(place: &Place, options: &[&str], code: i32, says: &[&str]) {
    let run = place.run(options).expect(code);
    for words in says {
        assert!(run.err.contains(words), "it does not say `{words}`: {}", run.err);
    }
    assert!(run.wall < patience(Duration::from_secs(10)), "{:?}", run.wall);
    assert!(place.runs().is_empty(), "{:?}", place.runs());
}

#[test]
fn a_wrong_circuit_is_told_in_the_words_of_the_engine() {
    let place = Place::new(SCENARIO);
    let circuit = fs::read_to_string(place.scenario().join("grid.dss")).unwrap();
    place.file("grid.dss", &circuit.replace("new load.d680", "new lload.d680"));
    assert_refused(&place, &[], 65, &["scenario.yaml", "grid.dss", "lload", "line: 7"]);
    fs::remove_file(place.scenario().join("grid.dss")).unwrap();
    assert_refused(&place, &[], 65, &["scenario.yaml:5:", "plant.circuit", "grid.dss"]);
}

#[test]
fn a_wrong_point_is_told_with_those_that_come_near() {
    let place = Place::new(&SCENARIO.replace("bus.680.v1", "bus.68O.v1"));
    assert_refused(&place, &[], 65, &["no point bus.68O.v1", "did you mean `bus.680.v1`"]);
    let place = Place::new(&SCENARIO.replace("bus.680.v1", "storage.se.kW"));
    assert_refused(&place, &[], 65, &["no element storage.se", "did you mean `storage.es.kW`"]);
}

#[test]
fn every_point_that_the_circuit_lacks_is_told_with_its_place() {
    let wrong = SCENARIO
        .replace("[bus.680.v1]", "[bus.68O.v1, bus.680.v1]")
        .replace("meter:", "meter:\n    files: [{point: load.d68.kW}]")
        + "variants:
  one:
    events: [{at: 500 ms, set: storage.es.kWhst, value: 1}]
  two:
    events:
      - {at: 500 ms, set: load.d680.model, value: 1.5}
      - {at: 600 ms, set: load.d680.conn, value: 1}
";
    let place = Place::new(&wrong);
    let says = [
        "scenario.yaml:6:35: plant.record.points[0]: the plant has no point bus.68O.v1",
        "did you mean `bus.680.v1`, `bus.680.v2` or `bus.680.v3`?",
        "scenario.yaml:9:21: nodes.meter.files[0].point: the plant has no point load.d68.kW",
        "did you mean `load.d680.kW`?",
        "scenario.yaml:14:32: variants.one.events[0].set: the plant has no point storage.es.kWhst",
        "scenario.yaml:17:51: variants.two.events[0].value: 1.5 is not a valid value for \
         load.d680.model",
        "write a whole number",
        "scenario.yaml:18:27: variants.two.events[1].set: the plant has no point load.d680.conn",
        "is not a number",
    ];
    // Those of the other variant too, as all other problems.
    assert_refused(&place, &["--variant", "one"], 65, &says);
}

#[test]
fn a_result_cannot_be_set_and_that_is_told_at_the_start() {
    let event = "events:\n  - {at: 500 ms, set: bus.680.v1, value: 2400 V}\n";
    let place = Place::new(&(SCENARIO.to_owned() + event));
    assert_refused(&place, &[], 65, &["scenario.yaml:12:23", "is a result of the simulation"]);
    let file = "meter:\n    files:\n      - {point: bus.680.v1, access: write}";
    let place = Place::new(&SCENARIO.replace("meter:", file));
    assert_refused(&place, &[], 65, &["bus.680.v1", "is a result of the simulation"]);
}

/// Nowhere on the machine: PATH holds a `python3` that has no engine beside it.
#[test]
fn an_engine_that_is_missing_is_told_with_the_fix() {
    let place = Place::new(SCENARIO);
    let bin = place.path().join("elsewhere/bin");
    fs::create_dir_all(&bin).unwrap();
    symlink("/bin/true", bin.join("python3")).unwrap();
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs"]);
    command.env("PATH", &bin);
    let run = place.start_command(command).finish().expect(69);
    for words in ["OpenDSS engine", "make setup", "elsewhere"] {
        assert!(run.err.contains(words), "{}", run.err);
    }
    assert!(place.runs().is_empty());
}

#[test]
fn all_mistakes_of_a_scenario_are_told_at_once() {
    let wrong = SCENARIO
        .replace("duration: 1 s", "duration: 1")
        .replace("every: 10 ms", "evry: 10 ms")
        .replace("idle.py}", "idle.py, on_exit: die}");
    let place = Place::new(&wrong);
    let says = [":2:11: duration", "plant.record.evry", "on_exit", "die"];
    assert_refused(&place, &[], 65, &says);
}

#[test]
fn options_that_make_no_sense_are_told() {
    let place = Place::new(SCENARIO);
    assert_refused(&place, &["--variant", "none"], 65, &["none"]);
    let run = place.run(&["--duration", "10"]).expect(64);
    assert!(run.err.contains("--duration") && run.err.contains("unit"), "{}", run.err);
    let run = place.run(&["--tdf", "0"]).expect(64);
    assert!(run.err.contains("--tdf"), "{}", run.err);
    let mut missing = place.qcycle(&["run", "no/such/folder"]);
    missing.env("NO_COLOR", "1");
    let run = place.start_command(missing).finish().expect(65);
    assert!(run.err.contains("no/such/folder"), "{}", run.err);
}

#[test]
fn two_runs_of_one_case_do_not_disturb_each_other() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    // The first two share a folder of runs; the third has the name of one of them.
    let mut elsewhere = place.qcycle(&["run", "scenario", "--runs", "elsewhere"]);
    elsewhere.args(["--duration", "4 s"]);
    let runs = [
        place.start(&["--duration", "4 s"]),
        place.start(&["--duration", "4 s"]),
        place.start_command(elsewhere),
    ];
    eventually("three domains are to be seen", || place.domains().len() == 3);
    let mut names: Vec<_> = place.domains().into_iter().map(|domain| domain.name).collect();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
    for run in runs {
        let run = run.finish().expect(0);
        let rows = run.folder().series().unwrap().unwrap().time_ns.len();
        assert_eq!((rows, run.record().covered_ns), (401, 4_000_000_000));
    }
    assert_eq!(place.runs().len(), 2);
}

#[test]
fn a_long_name_is_no_obstacle() {
    let name = "a-name-that-goes-on-and-on-until-it-has-sixty-four-letters-of-it";
    let Some(place) = Place::for_root(&SCENARIO.replace("small", name)) else { return };
    place.run(&["--duration", "200 ms"]).expect(0);
}

#[test]
fn what_a_killed_agent_leaves_is_removed_by_the_next_run() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let socket = place.path().join("sockets/quartercycle/dead.sock");
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    place.run(&["--duration", "200 ms"]).expect(0);
    assert!(!socket.exists());
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let cleaned = place.says(&["clean"]);
    assert!(cleaned.starts_with("removed 1 "), "{cleaned}");
}
