//! Two relays at the ends of a line that permit each other over GOOSE: neither trips alone, both trip
//! when both see the fault.

use iec61850::wire::ethernet::ETHERTYPE_SAMPLED_VALUES;
use os::packet::PacketSocket;

use crate::process_bus::{at, end, is_measured};
use crate::support;
use crate::support::feeder::{MergingUnit, RATE};
use crate::support::paced::publish;
use crate::support::running::Relay;

/// The relay at an end: its number, that of the other, and its interface.
fn relay([own, other]: [u8; 2], interface: &str) -> Relay {
    let text = |records: &str, metrics: &str| {
        format!(
            "relay: end-{own}
frequency: 50 Hz
streams: {{s: {{sv_id: MU0{own}, destination: '01:0c:cd:04:00:0{own}', app_id: 0x4000, rate: {RATE} Hz, late_max: 20 ms}}}}
elements:
  Z2: {{function: distance, stream: s, shape: mho, reach: 12 ohm, angle: 80 deg, way: forward, earth_factor: 0.7, current_min: 500 A, healthy: 40 kV, delay: 10 s}}
  R: {{function: distance, stream: s, shape: mho, reach: 6 ohm, angle: 80 deg, way: reverse, earth_factor: 0.7, current_min: 500 A, healthy: 40 kV, delay: 10 s}}
  POTT: {{function: teleprotection, stream: s, scheme: pott, forward: Z2, reverse: R}}
trips: {{breakers: {{Q0: [Z2, POTT]}}}}
goose:
  line:
    reference: END{own}/LLN0$GO$gcb01
    data_set: END{own}/LLN0$line
    go_id: END{own}
    destination: 01:0c:cd:01:00:0{own}
    app_id: {own}
    conf_rev: 1
    repeat_min: 2 ms
    repeat_max: 200 ms
    signals: [send POTT, quality]
subscriptions:
  other:
    reference: END{other}/LLN0$GO$gcb01
    destination: 01:0c:cd:01:00:0{other}
    app_id: {other}
    conf_rev: 1
    entries: [receive POTT, quality]
host: {{interface: {interface}, records: {records}, metrics: '{metrics}'}}
"
        )
    };
    Relay::start_at(9460 + u16::from(own), text, "600s")
}

#[test]
fn two_relays_trip_a_fault_that_both_see_and_neither_trips_alone() {
    let what = "teleprotection of two relays";
    if !support::bus(what, &["one", "two", "three"]) || !support::ip("link set dev lo up") {
        return;
    }
    let mut ends = [relay([1, 2], "one"), relay([2, 1], "two")];
    for end in &mut ends {
        assert!(end.wait_until("qcrelay_publisher_alive{publisher=\"other\"} 1"));
    }
    let bus = PacketSocket::open("three", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    // The second end sees the fault half a second after the first.
    let units = [MergingUnit::new(1, Some(0.5), 50.0), MergingUnit::new(2, Some(1.0), 50.0)];
    let frames = |number| units.each_ref().map(|unit| unit.frame(number)).into();
    let published = publish(&bus, 2 * RATE, RATE, frames);
    let [(one, first), (two, second)] = ends.map(end);
    if !is_measured(what, published, [&one, &two]) {
        return;
    }
    let records = [first, second];
    let time = |end: usize, key: &str, name: &str| {
        at(&records[end], key, name).unwrap_or_else(|| panic!("{key} {name}: {:?}", records[end]))
    };
    let permitted = time(0, "start", "POTT");
    assert!(time(1, "receive", "POTT") >= permitted, "it hears the first");
    let second_sees = time(1, "start", "Z2");
    assert!(second_sees - permitted > 300_000_000, "one sees it much earlier");
    for end in [0, 1] {
        let tripped = time(end, "trip", "Q0");
        assert!(tripped >= second_sees, "it tripped alone: {:?}", records[end]);
        assert!(time(end, "operate", "POTT") <= tripped);
        assert_eq!(at(&records[end], "operate", "Z2"), None, "its own time is 10 s");
    }
}
