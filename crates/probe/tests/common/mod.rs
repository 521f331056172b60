//! What tests of the program share: plans that any machine allows, how it is started, and how it ended.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use probe::Plan;
use probe::stream::{Item, Outcome, Reader};
use serde::Serialize;

pub(crate) const HOUR_NS: u64 = 3_600_000_000_000;

pub(crate) fn qcprobe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_qcprobe"))
}

/// What it is asked to do on a machine where nothing is allowed.
pub(crate) fn modest(duration_ns: u64) -> Plan {
    Plan {
        priority: None,
        period_ns: 1_000_000,
        duration_ns,
        lock_memory: false,
        hold_awake: false,
        ..Plan::default()
    }
}

/// Starts it with a line of JSON on its standard input, which stays open.
pub(crate) fn start<W: AsRef<OsStr>>(words: &[W], input: &impl Serialize) -> Child {
    let mut child = qcprobe()
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cargo has built qcprobe");
    let line = serde_json::to_string(input).expect("its input is JSON") + "\n";
    let pipe = child.stdin.as_mut().expect("its input is a pipe");
    pipe.write_all(line.as_bytes()).expect("it reads its input");
    child
}

/// Starts it with a plan; the stream goes to a file, or to its standard output: `-`.
pub(crate) fn measure(plan: &Plan, output: impl AsRef<OsStr>) -> Child {
    let words = ["run", "--plan", "-", "--output"].map(OsStr::new);
    let mut child = start(&[&words[..], &[output.as_ref()]].concat(), plan);
    drop(child.stdin.take());
    child
}

/// What it writes on its standard output until its end, and with which code it ends.
pub(crate) fn to_its_end(mut child: Child) -> (Vec<u8>, Option<i32>) {
    let mut octets = Vec::new();
    let mut output = child.stdout.take().expect("its output is a pipe");
    output.read_to_end(&mut octets).expect("it is read to its end");
    (octets, child.wait().expect("it ends").code())
}

/// All of a stream; nothing if it is none.
pub(crate) fn read(octets: &[u8]) -> Vec<Item> {
    Reader::new(octets).map(Iterator::collect).unwrap_or_default()
}

pub(crate) fn outcome(items: &[Item]) -> &Outcome {
    match items.last() {
        Some(Item::End(end)) => &end.outcome,
        last => panic!("{last:?}"),
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {name}");
}
