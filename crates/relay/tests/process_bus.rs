//! Two relays on a process bus that tell each other what they see over GOOSE: interlocking, breaker
//! failure, loss of the neighbour, tests, test sets, and messages that somebody made up.

use std::time::Duration;

use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use iec61850::wire::{AllData, Data, Form, Goose, Value as Told};
use os::packet::{Batch, PacketSocket, wait};
use serde_json::Value;

use crate::support;
use crate::support::feeder::{FAULT_A, MergingUnit, RATE};
use crate::support::paced::publish;
use crate::support::running::{Relay, count};

const ALIVE: &str = "qcrelay_publisher_alive{publisher=\"feeder\"} 1";
const SILENT: &str = "qcrelay_publisher_alive{publisher=\"feeder\"} 0";
/// Half of the time that the busbar's relay leaves to its neighbour.
const STILL_NS_MAX: u64 = 50_000_000;

const STREAM: &str = "frequency: 50 Hz
streams: {s: {sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz, late_max: 20 ms}}
";

/// The relay of a feeder: tells that it sees a fault, that it trips, and that its breaker failed.
fn feeder_relay(mode: &str) -> Relay {
    let text = |records: &str, metrics: &str| {
        format!(
            "relay: feeder\nmode: {mode}\n{STREAM}
elements:
  low: {{function: overcurrent, stream: s, pick_up: {} A, delay: 20 ms}}
  BF: {{function: breaker_failure, stream: s, breaker: Q1, pick_up: 1 kA, retrip_delay: 50 ms, backup_delay: 150 ms}}
trips: {{breakers: {{Q1: [low]}}}}
goose:
  feeder:
    reference: FEEDER/LLN0$GO$gcb01
    data_set: FEEDER/LLN0$told
    go_id: FEEDER
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    repeat_min: 4 ms
    repeat_max: 200 ms
    signals: [start low, quality, trip Q1, quality, operate BF, quality]
host: {{interface: one, records: {records}, metrics: '{metrics}'}}
",
            FAULT_A * 0.85
        )
    };
    Relay::start_at(9463, text, "600s")
}

/// The relay of the busbar: fast, unless the feeder's relay sees the fault too; trips when the
/// feeder's breaker has failed.
fn busbar_relay(mode: &str, simulated: &str) -> Relay {
    let text = |records: &str, metrics: &str| {
        format!(
            "relay: busbar\nmode: {mode}\n{STREAM}
elements:
  fast: {{function: overcurrent, stream: s, pick_up: {} A, delay: 100 ms}}
  BF: {{function: breaker_failure, stream: s, breaker: Q0, pick_up: 1 kA, retrip_delay: 10 ms, backup_delay: 50 ms}}
trips: {{breakers: {{Q0: [fast], Q2: [BF]}}}}
subscriptions:
  feeder:
    reference: FEEDER/LLN0$GO$gcb01
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    simulated: {simulated}
    entries: [block fast, quality, initiate BF, quality, trip Q0, quality]
host: {{interface: two, records: {records}, metrics: '{metrics}'}}
",
            FAULT_A * 0.85
        )
    };
    Relay::start_at(9464, text, "600s")
}

fn bus(of_what: &str) -> bool {
    support::bus(of_what, &["one", "two", "three"]) && support::ip("link set dev lo up")
}

/// Load for half a second, then a fault that no breaker clears.
fn fault() -> bool {
    let bus = PacketSocket::open("three", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let unit = MergingUnit::new(1, Some(0.5), 50.0);
    publish(&bus, RATE, RATE, |number| vec![unit.frame(number)])
}

/// The end of a relay: its summary and its records.
pub(crate) fn end(relay: Relay) -> (Value, Vec<Value>) {
    relay.interrupt();
    relay.finish()
}

/// When the first such record was written.
pub(crate) fn at(records: &[Value], key: &str, name: &str) -> Option<i64> {
    let on = |line: &&Value| line[key] == *name && line["on"] == true;
    records.iter().find(on).and_then(|line| line["realtime_ns"].as_i64())
}

/// For how long this host kept a relay from its work at most.
pub(crate) fn longest_stall_ns(summary: &Value) -> u64 {
    let times = ["canary", "wakeup", "receive"];
    times.map(|of| count(summary, &format!("/times/{of}/max_ns"))).into_iter().max().unwrap_or(0)
}

/// Whether this host let the relays act in the time that they leave each other.
pub(crate) fn is_measured(of_what: &str, published: bool, summaries: [&Value; 2]) -> bool {
    let measured =
        published && summaries.into_iter().all(|summary| longest_stall_ns(summary) <= STILL_NS_MAX);
    if !measured {
        support::not_measured(of_what, "this host stood still meanwhile");
    }
    measured
}

#[test]
fn the_busbar_waits_for_the_feeder_and_trips_when_its_breaker_fails() {
    let what = "interlocking and breaker failure over GOOSE";
    for mode in ["on", "test"] {
        if !bus(what) {
            return;
        }
        let (mut busbar, feeder) = (busbar_relay(mode, "no"), feeder_relay(mode));
        assert!(busbar.wait_until(ALIVE));
        let published = fault();
        let ((summary, busbar), (other, feeder)) = (end(busbar), end(feeder));
        if !is_measured(what, published, [&summary, &other]) {
            continue;
        }
        let blocked = at(&busbar, "block", "fast").expect("it was told of the start");
        let [start, trip] =
            [("start", "low"), ("trip", "Q1")].map(|(key, name)| at(&feeder, key, name));
        let failed = at(&feeder, "operate", "BF").expect("its breaker failed");
        let order = at(&busbar, "order", "Q0").expect("it was told of the failure");
        let tripped = at(&busbar, "trip", "Q0").expect("it trips");
        assert!(start.expect("it starts") <= blocked);
        assert!(failed <= order && order <= tripped);
        assert_eq!(at(&busbar, "operate", "fast"), None, "it was blocked");
        // Its own breaker failure element counts from the trip that was reported to it.
        assert!(trip < at(&busbar, "initiate", "BF"));
        assert!(at(&busbar, "initiate", "BF") < at(&busbar, "trip", "Q2"));
    }
}

#[test]
fn a_relay_at_work_does_not_follow_one_that_takes_part_in_a_test() {
    let what = "a relay in a test beside one at work";
    if !bus(what) {
        return;
    }
    let (mut busbar, feeder) = (busbar_relay("on", "no"), feeder_relay("test"));
    assert!(busbar.wait_until(ALIVE));
    let published = fault();
    let ((summary, busbar), (other, feeder)) = (end(busbar), end(feeder));
    if !is_measured(what, published, [&summary, &other]) {
        return;
    }
    assert!(at(&feeder, "operate", "BF").is_some());
    for key in ["block", "order", "initiate"] {
        assert!(busbar.iter().all(|line| line[key].is_null()), "{key}");
    }
    assert!(at(&busbar, "operate", "fast").is_some(), "nothing blocks it");
}

#[test]
fn a_neighbour_that_falls_silent_blocks_nothing() {
    let what = "a neighbour that falls silent";
    if !bus(what) {
        return;
    }
    let (mut busbar, feeder) = (busbar_relay("on", "no"), feeder_relay("on"));
    assert!(busbar.wait_until(ALIVE));
    let (other, _) = end(feeder);
    assert!(busbar.wait_until(SILENT));
    let published = fault();
    let (summary, records) = end(busbar);
    if !is_measured(what, published, [&summary, &other]) {
        return;
    }
    let is_lost = |line: &Value| line["publisher"] == "feeder" && line["state"] == "lost";
    assert!(records.iter().any(is_lost));
    assert!(at(&records, "operate", "fast").is_some() && at(&records, "trip", "Q0").is_some());
    assert_eq!(count(&summary, "/subscriptions/feeder/silences"), 1);
}

/// Frames of the feeder's relay, as anybody on the bus can record them.
fn recorded(count: usize) -> Vec<Vec<u8>> {
    let socket = PacketSocket::open("three", ETHERTYPE_GOOSE).expect("it opens");
    socket.join_all().expect("it joins");
    let (mut batch, mut frames) = (Batch::new(16), Vec::new());
    while frames.len() < count && wait(&[&socket], Duration::from_secs(30)).expect("it waits") {
        socket.receive(&mut batch).expect("it receives");
        frames.extend(batch.frames().map(|frame| frame.octets.to_vec()));
    }
    frames
}

/// A recorded frame whose booleans are all true, otherwise changed by `change`.
fn made_up(frame: &[u8], change: impl FnOnce(&mut Goose<'_>)) -> Vec<u8> {
    let mut message = Goose::decode(frame).expect("it is well-formed");
    let values = message.all_data.elements().map(|data| match data {
        Data::Boolean(_) => Told::Boolean(true),
        Data::BitString(_) => Told::BitString(vec![0, 0], 3),
        other => panic!("{other:?}"),
    });
    let (values, mut encoded, mut made) = (values.collect::<Vec<_>>(), Vec::new(), Vec::new());
    Told::encode_all(&values, Form::Ordinary, &mut encoded);
    change(&mut message);
    message.all_data = AllData::decode(&encoded).expect("it was encoded");
    message.encode(Form::Ordinary, &mut made);
    made
}

#[test]
fn a_test_set_is_followed_by_those_who_expect_one_and_only_while_it_sends() {
    let what = "a test set beside the device that it stands for";
    if !bus(what) {
        return;
    }
    let (mut busbar, feeder) = (busbar_relay("on", "yes"), feeder_relay("on"));
    assert!(busbar.wait_until(ALIVE));
    let frames = recorded(1);
    let bus = PacketSocket::open("three", ETHERTYPE_GOOSE).expect("it opens");
    let simulated = made_up(&frames[0], |message| {
        message.simulation = true;
        message.time_allowed_to_live_ms = 2000;
    });
    assert_eq!(bus.send(&[&simulated]).expect("it sends"), 1);
    let messages = |what: &str, count: u32| {
        format!("qcrelay_messages_total{{publisher=\"feeder\",what=\"{what}\"}} {count}")
    };
    // It falls silent, and what the device itself says counts again.
    assert!(busbar.wait_until(&messages("silences", 1)) && busbar.wait_until(ALIVE));
    let ((summary, records), _) = (end(busbar), end(feeder));
    let block = |line: &&Value| line["block"] == "fast";
    let told: Vec<&Value> = records.iter().filter(block).map(|line| &line["on"]).collect();
    assert_eq!(told[..2], [true, false]);
    assert!(at(&records, "trip", "Q0").is_some(), "the test set ordered it");
    assert!(count(&summary, "/subscriptions/feeder/simulated") > 0, "the device was left");
}

#[test]
fn messages_that_somebody_made_up_change_nothing_but_a_counter() {
    let what = "hostile GOOSE to a relay";
    if !bus(what) {
        return;
    }
    let (mut busbar, feeder) = (busbar_relay("on", "no"), feeder_relay("on"));
    assert!(busbar.wait_until(ALIVE));
    let frames = recorded(2);
    let bus = PacketSocket::open("three", ETHERTYPE_GOOSE).expect("it opens");
    let last = frames.last().expect("two were recorded");
    // Of the clock it says what the kernel knows: at least whether somebody keeps it.
    let stamp = Goose::decode(last).expect("it is well-formed").t;
    let clock = realtime::clock::quality(&os::clock::state().unwrap_or_default());
    assert_eq!(stamp.quality & 0x20, clock & 0x20, "{:02x}, not {clock:02x}", stamp.quality);
    let mut stranger = made_up(last, |_| ());
    let reference = b"FEEDER/LLN0$GO";
    let place = stranger.windows(reference.len()).position(|octets| octets == reference);
    stranger[place.expect("it has its reference")] = b'X';
    let mut longer = made_up(last, |_| ());
    longer[17] ^= 0x20;
    let sent = [
        ("/frames/unknown", stranger),
        ("/frames/malformed", last[..40].to_vec()),
        ("/frames/malformed", longer),
        // Replayed, and a state made up of an earlier time or of the same number.
        ("/subscriptions/feeder/old", frames[0].clone()),
        ("/subscriptions/feeder/old", made_up(last, |message| message.st_num += 0)),
        (
            "/subscriptions/feeder/old",
            made_up(last, |message| {
                message.st_num += 1;
                message.t.seconds -= 1;
            }),
        ),
        (
            "/subscriptions/feeder/misconfigured",
            made_up(last, |message| {
                message.st_num += 1;
                message.conf_rev += 1;
            }),
        ),
        (
            "/subscriptions/feeder/misconfigured",
            made_up(last, |message| {
                message.st_num += 1;
                message.nds_com = true;
            }),
        ),
        (
            "/subscriptions/feeder/simulated",
            made_up(last, |message| {
                message.st_num += 1;
                message.simulation = true;
            }),
        ),
    ];
    for (_, frame) in &sent {
        assert_eq!(bus.send(&[frame]).expect("it sends"), 1);
    }
    // The device goes on, and is heard.
    recorded(2);
    assert!(busbar.wait_until(ALIVE));
    let ((summary, records), _) = (end(busbar), end(feeder));
    for (counter, _) in &sent {
        let expected = sent.iter().filter(|(other, _)| other == counter).count() as u64;
        assert_eq!(count(&summary, counter), expected, "{counter}: {summary}");
    }
    for key in ["block", "order", "initiate", "trip", "start"] {
        assert!(records.iter().all(|line| line.get(key).is_none() || line["on"] == false), "{key}");
    }
}
