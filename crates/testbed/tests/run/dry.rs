//! A scenario that is only checked: all that is wrong is told as before a run, and nothing starts.

use crate::run::harness::Place;

const SCENARIO: &str = "scenario: dry
duration: 1 s
plant:
  circuit: grid.dss
  record: {every: 10 ms, points: [bus.680.v1]}
nodes:
  meter:
    files: [{point: storage.es.kW, access: write}]
    programs:
      - {name: idle, run: python3 idle.py}
variants:
  one:
  two:
    events: [{at: 500 ms, set: load.d680.kW, value: 600 kW}]
";

/// Both commands that check.
const WAYS: [&[&str]; 2] = [&["run", "--dry-run", "scenario"], &["check", "scenario"]];

#[track_caller]
fn said(place: &Place, way: &[&str], code: i32) -> String {
    let output = place.qcycle(way).output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(place.runs().is_empty() && !place.path().join("runs").exists());
    said
}

#[test]
fn a_scenario_without_faults_is_told_so_in_all_its_variants() {
    let Some(place) = Place::for_root(SCENARIO) else { return };
    for way in WAYS {
        let said = said(&place, way, 0);
        for words in ["scenario.yaml: no errors", "1 program", "one, two", "nothing was started"] {
            assert!(said.contains(words), "{said}");
        }
    }
    said(&place, &["run", "--dry-run", "scenario", "--variant", "two"], 0);
    let wrong = said(&place, &["run", "--dry-run", "scenario", "--variant", "three"], 65);
    assert!(wrong.contains("there is no variant `three`"), "{wrong}");
}

#[test]
fn what_only_the_engine_knows_is_told_with_its_place_too() {
    let Some(place) = Place::for_root(&SCENARIO.replace("load.d680.kW", "load.d608.kW")) else {
        return;
    };
    for way in WAYS {
        let said = said(&place, way, 65);
        let place = "scenario.yaml:14:32: variants.two.events[0].set: the plant has no point";
        assert!(said.contains(place) && said.contains("did you mean `load.d680.kW`?"), "{said}");
    }
    let circuit = std::fs::read_to_string(place.scenario().join("grid.dss")).unwrap();
    place.file("grid.dss", &circuit.replace("new load.d680", "new lload.d680"));
    let said = said(&place, WAYS[0], 65);
    assert!(said.contains("scenario.yaml:4:12: plant.circuit: the engine rejects"), "{said}");
}

#[test]
fn all_mistakes_are_told_at_once_those_at_the_top_with_the_others() {
    let text =
        SCENARIO.replace("scenario: ", "sceanrio: ").replace("duration: 1 s", "duration: 1 V");
    let place = Place::new(&text.replace("  two:", "  a/b:"));
    for way in WAYS {
        let said = said(&place, way, 65);
        for words in ["did you mean `scenario`?", "duration: ", "variants.`a/b`: "] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("a run needs one variant"), "{said}");
    }
}

#[test]
fn a_check_of_a_scenario_is_none_of_the_host() {
    let place = Place::new(SCENARIO);
    let said = said(&place, &["check", "scenario", "--cores", "0"], 64);
    assert!(said.contains("cannot be used with"), "{said}");
}
