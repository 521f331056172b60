//! One relay on each kind of interface that a process bus may come over, with the priorities that it
//! asks for. `QCRELAY` names another build of it: `make container` runs these with the static one.

use iec61850::wire::ethernet::ETHERTYPE_SAMPLED_VALUES;
use os::packet::PacketSocket;

use crate::support;
use crate::support::feeder::{MergingUnit, RATE};
use crate::support::paced::publish;
use crate::support::running::{Relay, count};

/// Runs a relay on `interface` while `from` sends a second of samples: all must come.
fn all_samples_come(interface: &str, from: &str) {
    assert!(support::ip("link set dev lo up"));
    let settings = |records: &str, metrics: &str| {
        format!(
            "relay: bay\nfrequency: 50 Hz\nstreams:\n  s: {{sv_id: MU01, destination: \
             '01:0c:cd:04:00:01', app_id: 0x4000, rate: {RATE} Hz, late_max: 20 ms}}\nhost: \
             {{interface: {interface}, records: {records}, metrics: '{metrics}'}}\n"
        )
    };
    let mut relay = Relay::start(settings, "600s");
    let bus = PacketSocket::open(from, ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let unit = MergingUnit::new(1, None, 50.0);
    let is_measured = publish(&bus, RATE, RATE, |number| vec![unit.frame(number)]);
    relay.wait_until(&format!("qcrelay_frames_total{{what=\"received\"}} {RATE}"));
    relay.interrupt();
    let (summary, _) = relay.finish();
    if !is_measured {
        support::not_measured(interface, "the publisher was kept from its work");
        return;
    }
    let stream = |what: &str| count(&summary, &format!("/streams/s/{what}"));
    assert_eq!((stream("used"), stream("lost")), (RATE.into(), 0), "{summary}");
    assert_eq!(count(&summary, "/frames/kernel_dropped"), 0);
    // What this host lets a test do it lets a relay do, however it was linked.
    if os::realtime::fifo(1).is_ok() {
        let refused = summary["warnings"].to_string();
        assert!(!refused.contains("SCHED_FIFO"), "{refused}");
    }
}

#[test]
fn a_relay_on_a_cable_loses_nothing() {
    if support::cable("a relay on a veth pair") {
        all_samples_come("west", "east");
    }
}

#[test]
fn a_relay_on_a_bridge_loses_nothing() {
    if support::bus("a relay on a bridge", &["one", "two"]) {
        all_samples_come("one", "two");
    }
}

#[test]
fn a_relay_on_macvlan_loses_nothing() {
    if !support::cable("a relay on macvlan") {
        return;
    }
    // Room for what waits for the kernel's worker: `ip` cannot set the cutoff that avoids it.
    if !support::ip("link add link west name bay type macvlan mode bridge bcqueuelen 100000") {
        support::not_measured("a relay on macvlan", "no macvlan can be made here");
        return;
    }
    assert!(support::ip("link set dev bay up"));
    all_samples_come("bay", "east");
}
