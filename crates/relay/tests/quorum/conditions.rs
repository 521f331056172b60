//! The five operating conditions of the papers, in both protocols.

use super::station::Station;

/// Actions in each condition: enough that each tick of a second of phases is met.
const ACTIONS: u64 = 100;

/// Runs a condition: which nodes are correct and run, and whether node 3 is hostile.
fn condition(name: &str, protocol: &str, nodes: &[u8], hostile: bool) {
    let Some(mut station) = Station::new(name, protocol) else { return };
    station.start(nodes);
    if hostile {
        station.start_hostile("insider node-3.yaml --attack all --copies 5 --counter 1");
        station.wait_for("the hostile one is known", |status| status.counters[3] == 1);
    }
    let outcome = station.run(ACTIONS);
    outcome.check(ACTIONS, if hostile { 1 } else { 2 });
}

#[test]
fn nobody_is_missing() {
    condition("arbiter, fault-free", "arbiter", &[0, 1, 2, 3], false);
    condition("peer, fault-free", "peer", &[0, 1, 2, 3], false);
}

#[test]
#[ignore = "long: a station of relays"]
fn one_is_missing() {
    condition("arbiter, one missing", "arbiter", &[0, 1, 3], false);
    condition("peer, one missing", "peer", &[0, 1, 3], false);
}

#[test]
#[ignore = "long: a station of relays"]
fn one_has_stopped_and_one_is_in_recovery() {
    condition("arbiter, two missing", "arbiter", &[1, 2], false);
    condition("peer, two missing", "peer", &[1, 2], false);
}

#[test]
#[ignore = "long: a station of relays"]
fn one_is_hostile() {
    condition("arbiter, one hostile", "arbiter", &[0, 1, 2], true);
    condition("peer, one hostile", "peer", &[0, 1, 2], true);
}

#[test]
#[ignore = "long: a station of relays"]
fn one_is_hostile_and_one_in_recovery() {
    condition("arbiter, one hostile, one missing", "arbiter", &[0, 2], true);
    condition("peer, one hostile, one missing", "peer", &[0, 2], true);
}
