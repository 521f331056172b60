//! Programs of others on the same cable: what they publish arrives whole, and they read what
//! `qcmerge` publishes. Each runs in a process of its own; where a package is not installed, that is
//! said.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support;
use crate::support::running::{Relay, count};

/// Streams of the foreign publisher.
const STREAMS: u8 = 20;
/// Samples that a foreign subscriber shall read, a second of them, and how many there are a second.
const SAMPLES: usize = 4800;
const RATE: f64 = 4800.0;
/// Less than the receive buffer holds of them.
const STILL_NS_MAX: u64 = 100_000_000;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

fn settings(records: &str, metrics: &str) -> String {
    let mut text = String::from("relay: peers\nfrequency: 50 Hz\nstreams:\n");
    for number in 1..=STREAMS {
        text += &format!(
            "  s{number:02}: {{sv_id: MU{number:02}, destination: '01:0c:cd:04:00:{number:02x}', \
             app_id: 0x4000, rate: 4800 Hz, late_max: 20 ms, synchronisation: none}}\n"
        );
    }
    text + &format!("host: {{interface: west, records: {records}, metrics: '{metrics}'}}\n")
}

#[test]
fn twenty_streams_of_open61850_arrive_whole_at_a_relay() {
    if !support::has("open61850_rt") || !support::cable("streams of open61850") {
        return;
    }
    assert!(support::ip("link set dev lo up"));
    let mut relay = Relay::start(settings, "600s");
    let mut command = Command::new("python3");
    command.arg(script("open61850_publisher.py")).args(["east", "2"]);
    let output = command.stderr(Stdio::inherit()).output().expect("python3 starts");
    assert!(output.status.success());
    let sent: Value = serde_json::from_slice(&output.stdout).expect("it tells what it sent");
    assert_eq!((&sent["engine"], &sent["send_errors"]), (&"native".into(), &0.into()));
    let frames = count(&sent, "/frames_sent");
    assert!(frames > 20 * 1000, "{sent}");
    relay.wait_until(&format!("qcrelay_frames_total{{what=\"received\"}} {frames}"));
    relay.interrupt();
    let (summary, _) = relay.finish();
    println!("sent: {sent}\nreceived: {summary}");
    // A host that was stopped for longer than any buffer holds says nothing about a relay.
    if count(&summary, "/times/canary/max_ns") > STILL_NS_MAX {
        support::not_measured("20 streams of open61850", "this host stood still meanwhile");
        return;
    }
    for what in ["malformed", "unknown", "queue_full", "kernel_dropped"] {
        assert_eq!(count(&summary, &format!("/frames/{what}")), 0, "{what}");
    }
    assert_eq!(count(&summary, "/frames/received"), frames);
    // Each frame has two samples. The publisher leaves some out when the host keeps it from its
    // work, of all streams alike: those miss in what was sent, not on the way.
    let stream = |number: u8, what: &str| count(&summary, &format!("/streams/s{number:02}/{what}"));
    let each = 2 * frames / u64::from(STREAMS);
    for number in 1..=STREAMS {
        assert_eq!((stream(number, "received"), stream(number, "used")), (each, each));
    }
}

#[test]
fn libiec61850_reads_what_is_published() {
    if !support::has("pyiec61850") || !support::cable("a subscriber of libiec61850") {
        return;
    }
    let mut command = Command::new("python3");
    command.arg(script("libiec61850_subscriber.py")).args(["west", &SAMPLES.to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut subscriber = command.spawn().expect("python3 starts");
    let mut said = BufReader::new(subscriber.stdout.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says something");
    assert_eq!(line, "ready\n");
    let mut publisher = Command::new(env!("CARGO_BIN_EXE_qcmerge"));
    // Published until enough were read: how many are lost depends on what else this host does.
    publisher.args(["stream", "--interface", "east", "--duration", "600s"]);
    let mut publisher = publisher.stdout(Stdio::null()).spawn().expect("it starts");
    let mut listed = String::new();
    let read = said.read_to_string(&mut listed);
    publisher.kill().and_then(|()| publisher.wait()).expect("it is ours, and still there");
    read.expect("it is text");
    assert!(subscriber.wait().expect("it is ours").success());
    let (mut samples, mut last) = (0, None);
    for line in listed.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, number, value] = fields[..] else { panic!("{line}") };
        let (number, value): (f64, f64) =
            (number.parse().expect("a number"), value.parse().expect("a number"));
        // The load of the quick form: 400 A that lags by 30 degrees, 1 mA a bit.
        let angle = 2.0 * std::f64::consts::PI * (50.0 * number / RATE - 30.0 / 360.0);
        let expected = 400_000.0 * 2.0_f64.sqrt() * angle.cos();
        assert!(name == "MU01" && (value - expected).abs() <= 1.0, "{line}, not {expected}");
        // The number begins again each second; what was read twice would not rise.
        assert!(last.is_none_or(|last| number > last || number < RATE / 2.0), "{number}, {last:?}");
        (samples, last) = (samples + 1, Some(number));
    }
    assert_eq!(samples, SAMPLES);
}
