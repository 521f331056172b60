//! Settings of relays that act as one: all that is wrong is reported at once, with place and fix.

use quorum::{Action, Protocol};
use substation::settings::quorum::ForeignEntry;
use substation::settings::quorum::{Decides, read_breaker, read_node, read_rejuvenation};

const QUORUM: &str = "\
quorum:
  protocol: peer
  membership: membership
  keys: node-0.secret
  memory: node-0.memory
  addresses: ['[::1]:7400', '[::1]:7401', '[::1]:7402', '[::1]:7403']
  breaker_address: '[::1]:7404'
  dwell_before_close: 5 ms
";

const GOOSE: &str = "\
node: A
decides:
  by: goose
  interface: relay0
  reference: F1/LLN0$GO$trips
  destination: 01:0c:cd:01:00:01
  app_id: 1
  conf_rev: 1
  entries: [trip, unused, close]
host: {interface: eth1}
";

fn told<T: std::fmt::Debug>(result: Result<T, settings::Problems>) -> Vec<String> {
    result.expect_err("something is wrong").iter().map(ToString::to_string).collect()
}

#[test]
fn a_harness_beside_a_foreign_relay() {
    let node = read_node("a.yaml", &format!("{GOOSE}{QUORUM}")).expect("these are good");
    assert_eq!(node.quorum.protocol, Protocol::Peer);
    assert_eq!(node.quorum.parameters.dwell_before_close.as_millis(), 5);
    let Decides::Goose { interface, entries, expected } = node.decides else {
        panic!("{:?}", node.decides);
    };
    let (trip, close) = (ForeignEntry::Decides(Action::Trip), ForeignEntry::Decides(Action::Close));
    assert_eq!((interface.as_str(), expected.entries), ("relay0", 3));
    assert_eq!(entries, [trip, ForeignEntry::Unused, close]);
}

#[test]
fn goose_of_a_relay_over_a_shared_network_is_refused() {
    let shared = format!("{GOOSE}{QUORUM}").replace("relay0", "eth1");
    let told = told(read_node("a.yaml", &shared));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("a.yaml:4:14: decides.interface: GOOSE between relay and harness"));
    assert!(told[0].ends_with("use one that connects only to the relay"), "{told:?}");
}

#[test]
fn everything_that_is_wrong_with_a_node_is_told_at_once() {
    let text = "\
node: A
frequency: 60 Hz
decides: {by: space_vector, stream: MU2, pick_up: 1 kA, drop_off: 2 kA}
streams:
  MU1: {sv_id: MU1, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4800 Hz}
quorum:
  protocol: consensus
  membership: membership
  keys: node-0.secret
  addresses: [127.0.0.1:7400, 127.0.0.1:7401, 127.0.0.1]
  breaker_address: 127.0.0.1:7404
  dwell_before_close: 2 ms
host: {priority: 95, canary_priority: 90, core: 1, receive_core: 2}
";
    let told = told(read_node("a.yaml", text));
    for (line, word) in [
        (3, "there is no stream `MU2`"),
        (3, "it is above `pick_up`"),
        (7, "`consensus` is not one of the allowed words"),
        (6, "`memory` is missing"),
        (10, "`127.0.0.1` is not an address with a port"),
        (12, "lets statements from before an action lead to the next"),
        (13, "a canary that does not run before the node detects nothing"),
        (13, "a host has no such key"),
    ] {
        let is_told = told
            .iter()
            .any(|one| one.starts_with(&format!("a.yaml:{line}:")) && one.contains(word));
        assert!(is_told, "line {line}, {word}: {told:#?}");
    }
    assert_eq!(told.len(), 8, "{told:#?}");
}

#[test]
fn two_parties_at_one_address_are_refused() {
    let twice = format!("{GOOSE}{QUORUM}").replace(":7404", ":7402");
    assert!(told(read_node("a.yaml", &twice))[0].contains("two parties have the same address"));
    let mixed = format!("{GOOSE}{QUORUM}").replace("'[::1]:7404'", "127.0.0.1:7404");
    assert!(told(read_node("a.yaml", &mixed))[0].contains("some are IPv4 and some IPv6"));
}

#[test]
fn addresses_to_which_nothing_can_be_sent_are_refused() {
    for (address, said) in [
        ("'[::1]:0'", "has port 0; give a port from 1 to 65535"),
        ("'[::]:7404'", "is the address of nobody; give that of the host"),
        ("'[ff02::1]:7404'", "is the address of many; give that of one host"),
    ] {
        for place in ["'[::1]:7403'", "'[::1]:7404'"] {
            let wrong = format!("{GOOSE}{QUORUM}").replace(place, address);
            let told = told(read_node("a.yaml", &wrong));
            assert!(told[0].starts_with("a.yaml:1") && told[0].contains(said), "{told:#?}");
        }
    }
    let status = told(read_rejuvenation("a.yaml", "status: 127.0.0.1:0\n"));
    assert!(status[2].contains("status: `127.0.0.1:0` has port 0"), "{status:#?}");
}

#[test]
fn an_empty_file_and_an_unknown_word_are_told_of_what_they_are() {
    let least = |told: Vec<String>| told[0].clone();
    for (told, keys) in [
        (least(told(read_node("a", ""))), "`node`, `quorum`, `decides`"),
        (least(told(read_breaker("a", ""))), "`breaker`, `quorum`"),
        (least(told(read_rejuvenation("a", ""))), "`status`, `interval`, `nodes`"),
        (
            least(told(substation::settings::merging_unit::read("a", ""))),
            "`merging_unit`, `frequency`, `sources`, `streams`",
        ),
    ] {
        assert!(told.ends_with(&format!("the file is empty; write at least {keys}")), "{told}");
    }
    let magic = "node: A\nfrequency: 60 Hz\nstreams: {}\ndecides: {by: magic}\n";
    let told = told(read_node("a.yaml", &format!("{magic}{QUORUM}")));
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].starts_with("a.yaml:4:10: decides: `by` is `magic`"), "{told:#?}");
}

#[test]
fn what_a_breaker_node_and_a_rejuvenator_lack_is_told() {
    let bare = told(read_breaker("a.yaml", "breaker: Q0\ngoose: {}\n"));
    assert!(bare.iter().any(|one| one.contains("`quorum` is missing")), "{bare:#?}");
    assert!(bare.iter().any(|one| one.contains("it has no interface to send to")));
    let breaker = read_breaker("a.yaml", &format!("breaker: Q0\ninitially: open\n{QUORUM}"));
    let breaker = breaker.expect("these are good");
    assert_eq!((breaker.initially, breaker.goose), (Action::Trip, None));
    let three = "status: 127.0.0.1:1\ninterval: 1 s\nnodes: {0: [a], 1: [b], 3: [d]}\n";
    assert!(told(read_rejuvenation("a.yaml", three))[0].contains("`2` is missing"));
}
