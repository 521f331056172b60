//! One whose keys are worth nothing is not heard, whatever it says: no action without a step,
//! and none lost.

use std::fs;

use serde_json::Value;

use super::spells::Spells;
use super::station::{Station, number};

const ACTIONS: u64 = 8;

/// Keys of an earlier epoch, keys of one's own making, and those of another node: each as node 3, at
/// the address of node 3.
#[test]
#[ignore = "long: a station of relays"]
fn keys_that_are_not_of_this_node_and_epoch_are_worth_nothing() {
    for (name, mut station) in Station::of_both("worthless keys") {
        for (folder, epoch) in [("earlier", "1"), ("made-up", "2")] {
            fs::create_dir(station.folder().join(folder)).expect("it is not there");
            station.keys(&format!("{folder} --epoch {epoch}"));
        }
        // The keys of this station are of epoch 2 from here on.
        station.keys(". --force");
        let path = station.folder().join("node-3.yaml");
        let settings = fs::read_to_string(path).expect("settings");
        let write = |name: &str, changes: &[(&str, &str)]| {
            let changed = changes.iter().fold(settings.clone(), |text, (from, to)| {
                assert!(text.contains(from), "{from}");
                text.replace(from, to)
            });
            fs::write(station.folder().join(format!("{name}.yaml")), changed).expect("it writes");
        };
        for name in ["earlier", "made-up"] {
            let [membership, secret] = ["membership", "node-3.secret"]
                .map(|file| [format!(": {file}"), format!(": {name}/{file}")]);
            write(name, &[(&membership[0], &membership[1]), (&secret[0], &secret[1])]);
        }
        let addresses = ("127.0.0.1:7402, 127.0.0.1:7403", "127.0.0.1:7403, 127.0.0.1:7402");
        write("another", &[("node-3.secret", "node-2.secret"), addresses]);

        station.start(&[0, 1, 2]);
        let steps = station.start_steps(u64::MAX);
        let counters = station.status().counters;
        let mut all = Vec::new();
        for attack in ["earlier", "made-up", "another"] {
            let assumed = station.status().generation;
            let how = "--attack push --copies 50 --counter 9";
            let arguments = format!("insider {attack}.yaml --assumed {assumed} {how}");
            let spells = Spells::of(&format!("{name}: {attack}"), &mut station, &arguments);
            for said in &spells.said {
                let said: Value = serde_json::from_str(said).expect("a summary");
                assert!(number(&said, "said") > 0, "{said}");
            }
            assert_eq!(station.status().counters, counters, "{attack}");
            all.push(spells);
        }
        let outcome = station.conclude(&steps.end());
        outcome.check_each(2);
        all.iter().for_each(|spells| spells.compare(&outcome, 1));
        let datagrams = &outcome.breaker["datagrams"];
        assert!(number(datagrams, "other_epoch") > 0, "earlier keys: {datagrams}");
        assert!(
            number(datagrams, "unknown_key") > 0,
            "keys of a node that is not there: {datagrams}"
        );
        // Neither who is not heard, nor whom he says he is.
        assert!(outcome.blamed.is_empty(), "{:?}", outcome.blamed);
    }
}

/// Old keys of a node are worth nothing once newer ones are known.
#[test]
#[ignore = "long: a station of relays"]
fn old_keys_are_worth_nothing() {
    let Some(mut station) = Station::new("old keys", "arbiter") else { return };
    station.start(&[0, 1, 2, 3]);
    station.kill_node(3);
    station.start_node(3);
    station.wait_for("node 3 has a second key", |status| status.counters[3] == 2);
    station.kill_node(3);
    station.start_hostile("insider node-3.yaml --attack push --counter 1");
    let outcome = station.run(ACTIONS);
    outcome.check(ACTIONS, 2);
    assert_eq!(outcome.breaker["refused"]["node 3: Repeated"], Value::Null);
    let adopted = outcome.records.iter().filter(|l| l["event"] == "adopted" && l["node"] == 3);
    assert_eq!(adopted.map(|line| number(line, "counter")).collect::<Vec<_>>(), [1, 2]);
}

/// New keys for the station void what parties remember of the old ones: also that a node had higher
/// numbers than it has now that it was installed again.
#[test]
#[ignore = "long: a station of relays"]
fn new_keys_of_a_station_void_what_was_remembered_of_the_old_ones() {
    let Some(mut station) = Station::new("new keys", "arbiter") else { return };
    station.start(&[0, 1, 2, 3]);
    station.kill_node(3);
    station.start_node(3);
    station.wait_for("node 3 has a second key", |status| status.counters[3] == 2);
    for node in 0..4 {
        station.kill_node(node);
    }
    station.kill_breaker();
    station.keys(". --force");
    fs::remove_file(station.folder().join("node-3.memory")).expect("it remembered something");
    station.start(&[0, 1, 2, 3]);
    station.wait_for("node 3 has a first key again", |status| status.counters[3] == 1);
    station.run(ACTIONS).check(ACTIONS, 2);
}

/// A breaker node that has lost its memory says so and blames nobody; new keys heal the station.
#[test]
#[ignore = "long: a station of relays"]
fn a_lost_memory_of_the_breaker_node_is_told_and_healed_by_new_keys() {
    let Some(mut station) = Station::new("lost memory", "arbiter") else { return };
    station.start(&[0, 1, 2, 3]);
    let steps = station.start_steps(ACTIONS).finish();
    assert!(steps.status.success(), "{}", String::from_utf8_lossy(&steps.stderr));
    station.kill_breaker();
    fs::remove_file(station.folder().join("breaker.memory")).expect("it remembered something");
    station.start_breaker();
    station.wait_for("all are heard", |status| status.counters == [1; 4]);
    let steps = station.start_steps(u64::MAX);
    station.wait_for("the loss is told", |status| status.is_memory_lost);
    drop(steps);
    for node in 0..4 {
        station.kill_node(node);
    }
    station.kill_breaker();
    station.keys(". --force");
    station.start(&[0, 1, 2, 3]);
    assert!(!station.status().is_memory_lost);
    fs::remove_file(station.folder().join("steps.jsonl")).expect("it had steps");
    let steps = station.start_steps(ACTIONS).finish();
    let outcome = station.conclude(&steps);
    assert!(outcome.acted.len() >= 2 * ACTIONS as usize, "{:?}", outcome.acted);
    let of_memory = outcome.records.iter().filter(|line| line["event"] == "memory");
    let told: Vec<_> = of_memory.map(|line| line["state"].as_str().expect("a state")).collect();
    assert_eq!(told, ["new", "new", "lost"]);
    assert!(outcome.blamed.is_empty(), "{:?}", outcome.blamed);
}
