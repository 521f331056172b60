//! A whole relay on a cable: it loses nothing, measures right, trips by GOOSE, and lets hostile
//! frames change nothing but a counter.

#[path = "support/feeder.rs"]
mod feeder;
mod support;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use feeder::{FAULT_A, MergingUnit, RATE};
use relay::packet::{Batch, PacketSocket, wait};
use serde_json::Value;
use substation::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use substation::wire::{Data, Goose, SampledValues};

/// Settings of a relay for so many of these streams: an element that such a fault starts, and one
/// that a current 15 % higher would.
fn settings(streams: u8, records: &str) -> String {
    let mut text = String::from("relay: feeder\nfrequency: 50 Hz\nstreams:\n");
    for number in 1..=streams {
        text += &format!(
            "  s{number:02}: {{sv_id: MU{number:02}, destination: '01:0c:cd:04:00:{number:02x}', \
             app_id: 0x4000, rate: {RATE} Hz, late_max: 20 ms}}\n"
        );
    }
    text += &format!(
        "elements:
  low: {{function: overcurrent, stream: s01, pick_up: {} A, delay: 10 ms}}
  high: {{function: overcurrent, stream: s01, pick_up: {} A, delay: 0 ms}}
trips:
  breakers: {{Q0: [low], Q1: [high]}}
goose:
  trips:
    reference: BAY/LLN0$GO$gcb01
    data_set: BAY/LLN0$trips
    go_id: BAY_trips
    destination: 01:0c:cd:01:00:01
    app_id: 0x0001
    conf_rev: 1
    repeat_min: 4 ms
    repeat_max: 1 s
    signals: [trip Q0, trip Q1, start low]
host: {{interface: west, records: {records}, metrics: '127.0.0.1:9462'}}
",
        FAULT_A * 0.85,
        FAULT_A * 1.15
    );
    text
}

/// A publisher that was kept from its work for longer says nothing about a relay.
const LATE_NS_MAX: i64 = 300_000_000;

/// A relay that runs, and the folder with what it wrote.
struct Relay {
    child: Child,
    folder: tempfile::TempDir,
}

impl Relay {
    /// Starts it on the west end and waits until it listens.
    fn start(text: impl FnOnce(&str) -> String, duration: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let records = folder.path().join("records.jsonl");
        let path = folder.path().join("relay.yaml");
        let text = text(&records.display().to_string());
        std::fs::write(&path, text).expect("it writes");
        let child = Command::new(env!("CARGO_BIN_EXE_qcrelay"))
            .arg("run")
            .arg(&path)
            .args(["--json", "--duration", duration])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut relay = Self { child, folder };
        while !relay.is_running() {
            let ended = relay.child.try_wait().expect("it is a child");
            assert!(ended.is_none(), "it ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        relay
    }

    fn is_running(&self) -> bool {
        let metrics = relay::top::fetch("127.0.0.1:9462".parse().expect("an address"));
        metrics.is_ok_and(|text| text.contains("cycles_total{what=\"run\"}"))
    }

    /// Its summary and its records, at its end.
    fn finish(self) -> (Value, Vec<Value>) {
        let output = self.child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", output.status);
        let records = std::fs::read_to_string(self.folder.path().join("records.jsonl"));
        let records = records.expect("there are records");
        let parse = |line: &str| serde_json::from_str(line).expect("one object a line");
        let summary = parse(&String::from_utf8_lossy(&output.stdout));
        (summary, records.lines().map(parse).collect())
    }
}

/// Sends frames at the pace of their numbers; what is late is sent at once. Answers whether this
/// machine let it: after a long silence a relay must begin anew.
fn publish(
    bus: &PacketSocket,
    count: u32,
    rate: u32,
    frames: impl Fn(u32) -> Vec<Vec<u8>>,
) -> bool {
    // What the processors of a test have to do beside it may delay it, as they would a device.
    let _refused = realtime::fifo(60);
    let begin_ns = realtime::now_ns();
    let mut late_ns_max = 0;
    for number in 0..count {
        let frames = frames(number);
        let due_ns = begin_ns + i64::from(number) * 1_000_000_000 / i64::from(rate);
        realtime::sleep_until(due_ns);
        late_ns_max = late_ns_max.max(realtime::now_ns() - due_ns);
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        assert_eq!(bus.send(&frames).expect("it sends"), frames.len());
    }
    if late_ns_max > LATE_NS_MAX {
        println!("not measured: the publisher itself was {late_ns_max} ns late");
    }
    late_ns_max <= LATE_NS_MAX
}

fn count(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}

#[test]
fn a_fault_is_tripped_by_goose_and_no_sample_is_lost() {
    if !support::cable("a relay on a cable") {
        return;
    }
    assert!(support::ip("link set dev lo up"));
    let relay = Relay::start(|records| settings(1, records), "5s");
    let bus = PacketSocket::open("east", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let goose = PacketSocket::open("east", ETHERTYPE_GOOSE).expect("it opens");
    goose.join_all().expect("it joins");
    let unit = MergingUnit::new(1, Some(1.5), 50.0);
    let is_measured = publish(&bus, 2 * RATE, RATE, |number| vec![unit.frame(number)]);
    let mut batch = Batch::new(64);
    let mut heard: Vec<(u32, u32, Vec<bool>)> = Vec::new();
    while wait(&[&goose], Duration::from_millis(200)).expect("it waits") {
        goose.receive(&mut batch).expect("it receives");
        heard.extend(batch.frames().map(|frame| {
            let message = Goose::decode(frame.octets).expect("it is well-formed");
            let values = message.all_data.elements();
            let values = values.map(|value| value == Data::Boolean(true)).collect();
            (message.st_num, message.sq_num, values)
        }));
    }
    let (summary, records) = relay.finish();
    println!("{summary}");
    if !is_measured {
        return;
    }
    let stream = |what: &str| count(&summary, &format!("/streams/s01/{what}"));
    assert_eq!(stream("received"), u64::from(2 * RATE));
    assert_eq!((stream("lost"), stream("used")), (0, u64::from(2 * RATE)));
    // At rest, then the start, then the trip of Q0 alone: what is measured is neither 15 % too
    // small nor 15 % too large.
    assert!(heard[0].0 == 1 && heard[0].2 == [false; 3], "{heard:?}");
    assert!(heard.iter().any(|(.., values)| values[..] == [true, false, true]), "{heard:?}");
    assert!(heard.iter().all(|(.., values)| !values[1]), "{heard:?}");
    assert!(heard.is_sorted_by_key(|(st_num, sq_num, _)| (*st_num, *sq_num)), "{heard:?}");
    let at = |key: &str, name: &str| {
        let on = |line: &&Value| line[key] == *name && line["on"] == true;
        records.iter().find(on).map(|line| line["realtime_ns"].as_i64().expect("a time"))
    };
    let (start, trip) = (at("start", "low").expect("started"), at("trip", "Q0").expect("tripped"));
    assert!(trip - start >= 9_000_000, "{} ns", trip - start);
}

#[test]
fn hostile_frames_change_nothing_but_a_counter() {
    if !support::cable("hostile frames to a relay") {
        return;
    }
    assert!(support::ip("link set dev lo up"));
    let relay = Relay::start(|records| settings(1, records), "4s");
    let bus = PacketSocket::open("east", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let (unit, faulty) = (MergingUnit::new(1, None, 50.0), MergingUnit::new(1, Some(0.0), 50.0));
    let stranger = MergingUnit::new(2, None, 50.0);
    let is_measured = publish(&bus, RATE, RATE, |number| {
        let good = unit.frame(number);
        let mut frames = vec![good.clone()];
        match number % 40 {
            10 => frames.push(good[..60].to_vec()),
            15 => {
                let mut wrong = good.clone();
                wrong[21] ^= 0x55;
                frames.push(wrong);
            }
            20 => frames.push(stranger.frame(number)),
            // Recorded in a fault: some samples back, and half a second back.
            25 if number > 100 => frames.push(faulty.frame(number - 5)),
            30 if number > 2100 => frames.push(faulty.frame(number - 2000)),
            35 => frames.push(good),
            _ => {}
        }
        frames
    });
    let (summary, records) = relay.finish();
    println!("{summary}");
    if !is_measured {
        return;
    }
    let stream = |what: &str| count(&summary, &format!("/streams/s01/{what}"));
    assert_eq!((stream("used"), stream("lost")), (u64::from(RATE), 0));
    assert_eq!(count(&summary, "/frames/malformed"), 200);
    assert_eq!(count(&summary, "/frames/unknown"), 100);
    assert_eq!(stream("duplicated"), 98 + 100);
    assert_eq!(stream("strange"), 48);
    assert_eq!(stream("restarts"), 0);
    for key in ["start", "operate", "trip"] {
        assert!(records.iter().all(|line| line.get(key).is_none()), "{key}");
    }
}

#[test]
fn a_capture_of_4800_samples_a_second_is_taken_whole() {
    if !support::cable("a capture to a relay") {
        return;
    }
    assert!(support::ip("link set dev lo up"));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../substation/tests/data");
    let octets = std::fs::read(path.join("sv_9-2le_4800.pcap")).expect("it is there");
    let frames = frames(&octets);
    let first = SampledValues::decode(&frames[0]).expect("it is well-formed");
    let asdu = first.first();
    let text = |records: &str| {
        format!(
            "relay: capture\nfrequency: 60 Hz\nstreams:\n  s: {{sv_id: {}, destination: '{}', \
             app_id: {}, rate: 4800 Hz, conf_rev: {}, late_max: 20 ms, synchronisation: none}}\n\
             host: {{interface: west, records: {records}, metrics: '127.0.0.1:9462'}}\n",
            asdu.sv_id, first.header.destination, first.header.app_id, asdu.conf_rev
        )
    };
    let relay = Relay::start(text, "3s");
    let bus = PacketSocket::open("east", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let is_measured =
        publish(&bus, frames.len() as u32, 4800, |number| vec![frames[number as usize].clone()]);
    let (summary, _) = relay.finish();
    println!("{summary}");
    if !is_measured {
        return;
    }
    let stream = |what: &str| count(&summary, &format!("/streams/s/{what}"));
    assert_eq!(stream("received"), frames.len() as u64);
    assert_eq!((stream("used"), stream("lost")), (frames.len() as u64, 0));
}

/// The frames of a capture file of this machine's order of octets.
fn frames(octets: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &octets[24..];
    let mut frames = Vec::new();
    while let Some((record, body)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(record[8..12].try_into().expect("four octets")) as usize;
        frames.push(body[..length].to_vec());
        rest = &body[length..];
    }
    frames
}

#[test]
fn ctrl_c_ends_a_relay_with_its_summary_and_nothing_is_left() {
    if !support::cable("Ctrl-C to a relay") {
        return;
    }
    assert!(support::ip("link set dev lo up"));
    let relay = Relay::start(|records| settings(1, records), "60s");
    // SAFETY: takes numbers only; the child has not been waited for.
    assert_eq!(unsafe { libc::kill(relay.child.id() as i32, libc::SIGINT) }, 0);
    let output = relay.child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert!(count(&summary, "/task/cycles") > 0);
    assert!(relay::top::fetch("127.0.0.1:9462".parse().expect("an address")).is_err());
}

#[test]
fn what_is_missing_is_told_with_its_exit_code() {
    if !support::cable("a relay without an interface") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("relay.yaml");
    let records = folder.path().join("records.jsonl");
    std::fs::write(&path, settings(1, &records.display().to_string())).expect("it writes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_qcrelay"));
    let output = command.arg("run").arg(&path).args(["--interface", "nowhere"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(69));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("interface nowhere cannot be opened"), "{said}");
}

#[test]
fn bad_settings_are_told_by_line_with_their_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("relay.yaml");
    let wrong = settings(1, "none").replace("delay: 10 ms", "delay: 10");
    std::fs::write(&path, wrong).expect("it writes");
    let output = Command::new(env!("CARGO_BIN_EXE_qcrelay")).arg("check").arg(&path).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(65));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("elements.low.delay: `10` has no unit"), "{said}");
}
