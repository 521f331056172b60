//! Setting groups of a relay that runs: changed by GOOSE and by users of the host, and by nobody else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use iec61850::wire::ethernet::ETHERTYPE_GOOSE;
use iec61850::wire::{UtcTime, Value};
use os::packet::PacketSocket;

use crate::relay::start;
use crate::support::feeder::{FAULT_A, MergingUnit, RATE};
use crate::support::goose;
use crate::support::not_measured;
use crate::support::paced::publish;
use crate::support::running::{Relay, run};

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");
const NOBODY: u32 = 65_534;

/// A relay whose element sees the fault of the feeder in group 2 alone.
fn settings(records: &str, metrics: &str, control: &Path) -> String {
    format!(
        "relay: feeder
frequency: 50 Hz
streams:
  s01: {{sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: {RATE} Hz, late_max: 20 ms}}
elements:
  I>: {{function: overcurrent, stream: s01, pick_up: {} A, delay: 0 ms}}
trips: {{breakers: {{Q0: [I>]}}}}
groups: {{2: {{I>: {{pick_up: {} A}}}}}}
subscriptions:
  station:
    reference: Q0
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    entries: [group 1, group 2]
host: {{interface: west, records: {records}, metrics: '{metrics}', control: {}}}
",
        FAULT_A * 1.15,
        FAULT_A * 0.85,
        control.display(),
    )
}

/// What `qcrelay group` answers: exit code, output and errors.
fn group(control: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let control = control.to_str().expect("a text");
    run(QCRELAY, Path::new("."), ["group", control].iter().chain(arguments))
}

/// A message that selects groups, and is believed until another comes.
fn select(bus: &PacketSocket, st_num: u32, groups: [bool; 2]) {
    let frame = goose::frame(&groups.map(Value::Boolean), |message| {
        message.time_allowed_to_live_ms = 100_000;
        message.st_num = st_num;
        message.t = UtcTime::from_realtime_ns(os::realtime::realtime_ns() as u64, 0);
    });
    assert_eq!(bus.send(&[&frame[..]]).expect("it sends"), 1);
}

fn is_active(relay: &mut Relay, group: u8) -> bool {
    relay.wait_until(&format!("qcrelay_active_group{{}} {group}"))
}

#[test]
fn goose_goes_before_users_and_who_changed_what_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let control = folder.path().join("control");
    let text = |records: &str, metrics: &str| settings(records, metrics, &control);
    let Some((mut relay, bus)) = start("setting groups of a relay", text, "600s") else { return };
    let station = PacketSocket::open("east", ETHERTYPE_GOOSE).expect("it opens");
    let shown = |group: u8| (Some(0), format!("group {group} of 2 is active\n"), String::new());
    assert_eq!(group(&control, &[]), shown(1));
    assert_eq!(group(&control, &["2"]), shown(2));
    assert!(is_active(&mut relay, 2));
    let (code, _, said) = group(&control, &["3"]);
    assert_eq!(code, Some(12), "{said}");
    assert!(said.contains("there is no group 3: the groups are 1 to 2"), "{said}");
    assert_eq!(group(&control, &["9"]).0, Some(64));
    select(&station, 1, [true, false]);
    assert!(is_active(&mut relay, 1));
    let (code, _, said) = group(&control, &["2"]);
    assert_eq!(code, Some(12), "{said}");
    assert!(said.contains("a GOOSE message selects group 1: change it there"), "{said}");
    // Both at once select nothing, so that a user may.
    select(&station, 2, [true, true]);
    let told = "qcrelay_messages_total{publisher=\"station\",what=\"changes\"} 2";
    assert!(relay.wait_until(told));
    assert_eq!(group(&control, &["2"]), shown(2));
    let unit = MergingUnit::new(1, Some(0.5), 50.0);
    let is_measured = publish(&bus, RATE, RATE, |number| vec![unit.frame(number)]);
    relay.interrupt();
    let (summary, records) = relay.finish();
    assert_eq!(summary["active_group"], 2);
    assert!(!control.exists(), "it goes with the relay");
    let of_groups = records
        .iter()
        .filter(|line| line.get("group").is_some() || line.get("group_wanted").is_some());
    let said: Vec<String> = of_groups
        .map(|line| match (line.get("group"), line.get("publisher"), line.get("uid")) {
            (Some(group), ..) => format!("{group}"),
            (_, Some(publisher), _) => format!("{} by {publisher}", line["group_wanted"]),
            (.., uid) => format!("{} by {}", line["group_wanted"], uid.expect("somebody")),
        })
        .collect();
    let user = format!("2 by {}", os::namespaces::effective_user());
    assert_eq!(said, [&user, "2", "1 by \"station\"", "1", &user, "2"]);
    if is_measured {
        let trips = |line: &serde_json::Value| line["trip"] == "Q0" && line["on"] == true;
        assert!(records.iter().any(trips), "with the settings of group 2: {records:?}");
    }
}

#[test]
fn other_users_are_kept_out_and_a_killed_relay_keeps_out_none() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).expect("it is ours");
    let control = folder.path().join("control");
    let text = |records: &str, metrics: &str| settings(records, metrics, &control);
    let Some((relay, _bus)) = start("users of setting groups", text, "600s") else { return };
    let other = Command::new(QCRELAY).arg("group").arg(&control).arg("2").uid(NOBODY).output();
    match other {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(69), "{said}");
            assert!(said.contains("become the user of the relay, or root"), "{said}");
        }
        Err(error) => not_measured("another user", &format!("it cannot run qcrelay ({error})")),
    }
    assert_eq!(group(&control, &[]).1, "group 1 of 2 is active\n");
    let twice = folder.path().join("twice.yaml");
    fs::write(&twice, settings("none", "127.0.0.1:9463", &control)).expect("it writes");
    let arguments = ["run", "twice.yaml", "--duration", "1s"];
    let (code, _, said) = run(QCRELAY, folder.path(), arguments);
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains("is in use: end the relay that has it"), "{said}");
    relay.kill();
    assert!(control.exists(), "nobody could remove it");
    let relay = Relay::start(text, "600s");
    assert_eq!(group(&control, &[]).1, "group 1 of 2 is active\n");
    relay.interrupt();
    relay.finish();
}
