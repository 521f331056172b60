//! Records on a disk that is full, read-only or gone: protection, GOOSE and metrics go on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use iec61850::wire::ethernet::ETHERTYPE_GOOSE;
use iec61850::wire::{Data, Goose};
use os::packet::{Batch, PacketSocket, wait};

use crate::relay::{settings, start};
use crate::support::feeder::{MergingUnit, RATE};
use crate::support::paced::publish;
use crate::support::running::{Relay, count, parse, run};
use crate::support::{self, not_measured};

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");
const WRITING: &str = "qcrelay_records_writing{} 1";
const FAILING: &str = "qcrelay_records_writing{} 0";

/// Gives the thread of this test mounts of its own. Says why and returns `false` where that is not
/// allowed.
fn mounts(of_what: &str) -> bool {
    // SAFETY: takes a number only; the folders of a thread may be its own.
    let refused = unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0;
    if refused || !call("mount", &["--make-rprivate", "/"]) {
        not_measured(of_what, "a mount namespace needs root");
        return false;
    }
    true
}

fn call(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
}

fn disk(options: &str, at: &Path) {
    let at = at.display().to_string();
    assert!(call("mount", &["-t", "tmpfs", "-o", options, "none", &at]));
}

/// Takes the cable out and in, which are two lines of records at least.
fn unplug(relay: &mut Relay) {
    for (how, value) in [("down", 0), ("up", 1)] {
        assert!(support::ip(&format!("link set dev east {how}")));
        assert!(relay.wait_until(&format!("qcrelay_interface_up{{interface=\"west\"}} {value}")));
    }
}

#[test]
fn a_relay_whose_disk_is_full_trips_and_says_so_once() {
    let full = |_: &str, metrics: &str| settings("/dev/full", metrics);
    let Some((relay, bus)) = start("a relay whose disk is full", full, "4s") else { return };
    let goose = PacketSocket::open("east", ETHERTYPE_GOOSE).expect("it opens");
    goose.join_all().expect("it joins");
    let unit = MergingUnit::new(1, Some(0.5), 50.0);
    let is_measured = publish(&bus, RATE, RATE, |number| vec![unit.frame(number)]);
    let metrics = relay.metrics().expect("it serves metrics");
    let (mut batch, mut is_tripped) = (Batch::new(64), false);
    while wait(&[&goose], Duration::from_millis(200)).expect("it waits") {
        goose.receive(&mut batch).expect("it receives");
        is_tripped |= batch.frames().any(|frame| {
            let message = Goose::decode(frame.octets).expect("it is well-formed");
            message.all_data.elements().next() == Some(Data::Boolean(true))
        });
    }
    let (output, _) = relay.end();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("records cannot be written to /dev/full").count(), 1, "{said}");
    let summary = parse(&String::from_utf8_lossy(&output.stdout));
    assert!(count(&summary, "/records/lost") > 0, "{summary}");
    if is_measured {
        assert!(is_tripped, "{summary}");
        assert!(metrics.lines().any(|line| line == FAILING), "{metrics}");
        assert!(!metrics.contains("qcrelay_records_write_errors_total{} 0"), "{metrics}");
    }
}

#[test]
fn records_go_on_when_there_is_room_and_when_a_disk_is_there_again() {
    let of_what = "records on a disk that is full, gone and read-only";
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    if !mounts(of_what) {
        return;
    }
    disk("size=64k", at);
    let (records, fill) = (at.join("records.jsonl"), at.join("fill"));
    // It ends where there is no more room.
    fs::write(&fill, [0; 1 << 17]).expect_err("it is full");
    let text = |_: &str, metrics: &str| settings(&records.display().to_string(), metrics);
    let Some((mut relay, _bus)) = start(of_what, text, "600s") else { return };
    unplug(&mut relay);
    assert!(relay.wait_until(FAILING));
    fs::remove_file(&fill).expect("it goes");
    assert!(relay.wait_until(WRITING));
    let written = fs::read_to_string(&records).expect("records");
    assert!(written.lines().filter(|line| line.contains("interface")).count() >= 2, "{written}");

    // The disk goes, and what is there instead is read-only.
    assert!(call("umount", &["--lazy", &at.display().to_string()]));
    disk("ro", at);
    unplug(&mut relay);
    assert!(relay.wait_until(FAILING));
    assert!(call("umount", &["--lazy", &at.display().to_string()]));
    assert!(relay.wait_until(WRITING));
    relay.interrupt();
    let (output, _) = relay.end();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let summary = parse(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(count(&summary, "/records/lost"), 0, "{summary}");
    assert_eq!(said.matches("qcrelay: warning: records cannot be written to").count(), 2, "{said}");
    assert_eq!(said.matches("qcrelay: records are written to").count(), 2, "{said}");
    let written = fs::read_to_string(&records).expect("records");
    assert!(written.lines().all(|line| parse(line).is_object()), "{written}");
}

#[test]
fn records_of_yesterday_are_put_aside_while_a_relay_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    fs::write(&path, "{\"realtime_ns\":1}\n").expect("a file");
    let text = |_: &str, metrics: &str| {
        let rotation = "records_size_max: 4 MiB, records_age_max: 1 h, records_keep: 2, records: ";
        settings(&path.display().to_string(), metrics).replace("records: ", rotation)
    };
    let of_what = "records of yesterday";
    let Some((relay, _bus)) = start(of_what, text, "1s") else { return };
    let (output, _) = relay.end();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let aside = fs::read_to_string(folder.path().join("records.jsonl.1")).expect("put aside");
    assert_eq!(aside, "{\"realtime_ns\":1}\n");
    assert!(fs::read_to_string(&path).expect("a new one").contains("window"));
}

#[test]
fn a_relay_with_a_pipe_that_nobody_reads_runs_and_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe").display().to_string();
    assert!(call("mkfifo", &[&pipe]));
    let text = |_: &str, metrics: &str| settings(&pipe, metrics);
    let of_what = "a relay with a pipe that nobody reads";
    let Some((mut relay, _bus)) = start(of_what, text, "600s") else { return };
    unplug(&mut relay);
    assert!(relay.wait_until(FAILING));
    relay.interrupt();
    let (output, _) = relay.end();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(said.matches("nobody reads this pipe").count(), 1, "{said}");
}

#[test]
fn a_folder_that_is_read_only_at_the_start_is_an_error_with_the_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    if !mounts("a folder that is read-only") {
        return;
    }
    disk("ro", folder.path());
    let records = folder.path().join("records.jsonl").display().to_string();
    let asked = ["meter", "0", "--duration", "100ms", "--records", &records];
    let (code, _, said) = run(QCRELAY, Path::new("/"), asked);
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains(&records) && said.contains("use a different file"), "{said}");
}

#[test]
fn a_meter_whose_disk_is_full_measures_to_the_end() {
    let asked = ["meter", "0", "--duration", "2s", "--records", "/dev/full"];
    let (code, out, said) = run(QCRELAY, Path::new("/"), asked);
    assert_eq!(code, Some(0), "{said}");
    assert!(count(&parse(&out), "/cores/0/beats") > 0, "{out}");
}
