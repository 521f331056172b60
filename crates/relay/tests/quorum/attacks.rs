//! What a hostile node with good keys says, and any number of copies of it: no action without a step
//! of the current, none lost, and nobody else blamed.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::station::{Station, number};

const ATTACKS: [&str; 9] =
    ["push", "flip", "equivocate", "old-gen", "future-gen", "early", "late", "slow", "silent"];
/// Those of the published attack, and none.
const COPIES: [u32; 4] = [0, 5, 50, 500];
const ACTIONS: u64 = 3;
/// How long a hostile one speaks alone: some hundred ticks.
const ALONE: Duration = Duration::from_millis(150);

#[test]
#[ignore = "long: a station of relays"]
fn no_attack_in_the_arbiter_protocol_changes_anything() {
    attack("arbiter");
}

#[test]
#[ignore = "long: a station of relays"]
fn no_attack_in_the_peer_protocol_changes_anything() {
    attack("peer");
}

/// All attacks one after the other in one station, each under new keys of its own.
fn attack(protocol: &str) {
    let name = format!("{protocol}, all attacks");
    let Some(mut station) = Station::new(&name, protocol) else { return };
    station.start(&[0, 1, 2]);
    let mut counter = 0;
    for attack in ATTACKS {
        counter += 1;
        start(&mut station, attack, 50, counter);
        sleep(ALONE);
        end(&mut station, attack);
    }
    assert_eq!(station.status().generation, 0, "the current has not stepped");
    let steps = station.start_steps(u64::MAX);
    station.wait_for("the breaker is at work", |status| status.generation > 0);
    for attack in ATTACKS {
        for copies in COPIES {
            counter += 1;
            start(&mut station, attack, copies, counter);
            let before = station.status().generation;
            station.wait_for(&format!("actions under {attack} with {copies} copies"), |status| {
                status.generation >= before + ACTIONS
            });
            end(&mut station, attack);
        }
    }
    let outcome = station.conclude(&steps.end());
    // A vote of the hostile one that is right counts beside that of one correct node.
    outcome.check_each(1);
    assert_eq!(number(&outcome.acted[0], "gen"), 1);
    assert_eq!(outcome.blamed.into_iter().collect::<Vec<_>>(), [3]);
}

/// Its shares are sound to those who know its key, and certificates with them are worth nothing to the
/// breaker node, which does not.
#[test]
#[ignore = "long: a station of relays"]
fn who_keeps_its_key_from_the_breaker_node_stops_nothing() {
    let Some(mut station) = Station::new("a key withheld", "peer") else {
        return;
    };
    station.start(&[1, 2, 3]);
    // The one that all would certify with if they went by their numbers.
    station.start_hostile("insider node-0.yaml --attack withhold --counter 1");
    let steps = station.start_steps(u64::MAX);
    station.wait_for("actions beside it", |status| status.generation >= 30);
    assert_eq!(station.status().counters[0], 0, "the breaker node does not know it");
    end(&mut station, "withhold");
    let outcome = station.conclude(&steps.end());
    outcome.check_each(2);
}

fn start(station: &mut Station, attack: &str, copies: u32, counter: u64) {
    let with = format!("--copies {copies} --counter {counter}");
    station.start_hostile(&format!("insider node-3.yaml --attack {attack} {with}"));
    station.wait_for("the hostile one is known", |status| status.counters[3] == counter);
}

/// Ends it; it has said something, unless it is to be silent.
fn end(station: &mut Station, attack: &str) {
    let said: Value = serde_json::from_str(&station.end_hostile()).expect("a summary");
    assert_eq!(number(&said, "said") > 0, attack != "silent", "{attack}: {said}");
}
