//! `qcprobe attend` as `qcycle` uses it: an order in, a stream out, and nothing left behind, whatever
//! way either side ends.

#![expect(clippy::unwrap_used, reason = "all of this file is a test")]

mod common;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{HOUR_NS, modest, outcome, read};
use probe::attend::{LOAD_MISSING, Load, Order};
use probe::stream::Outcome;
use serde_json::json;

fn start(order: &Order) -> Child {
    common::start(&["attend"], order)
}

/// Waits for its end, and holds its input until then.
fn to_its_end(mut child: Child) -> Output {
    let _input = child.stdin.take();
    child.wait_with_output().unwrap()
}

/// A time to sleep that no other process sleeps for.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("86400.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Two programs that sleep for that time, of which one has lost its parent.
fn load(unique: &str) -> Load {
    let script = format!("sh -c 'sleep {unique} & exec true'; sleep {unique}");
    Load { words: ["sh", "-c", &script].map(str::to_owned).into(), cores: vec![0] }
}

fn sleepers(unique: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    // Arguments are in the memory of a process, and one that keeps that back makes a reader
    // wait; names are not. So only processes of that name are asked.
    let is_named = |path: &PathBuf| {
        std::fs::read(path.join("comm")).is_ok_and(|name| name.trim_ascii() == b"sleep")
    };
    let named = entries.map(|entry| entry.path()).filter(is_named);
    let lines = named.filter_map(|path| std::fs::read(path.join("cmdline")).ok());
    let is_one = |line: &Vec<u8>| {
        let words: Vec<&[u8]> = line.split(|octet| *octet == 0).collect();
        words.first() == Some(&&b"sleep"[..]) && words.get(1) == Some(&unique.as_bytes())
    };
    lines.filter(is_one).count()
}

fn wait_for_sleepers(unique: &str, count: usize) {
    let patience = Instant::now();
    while sleepers(unique) != count {
        assert!(patience.elapsed() < Duration::from_secs(120), "{} run", sleepers(unique));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn it_measures_beside_its_loads_which_end_with_it() {
    let unique = unique();
    let plan = Some(modest(300_000_000));
    let order = Order { plan, loads: vec![load(&unique)], settle_ns: 50_000_000 };
    let ended = to_its_end(start(&order));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert_eq!(outcome(&read(&ended.stdout)), &Outcome::Finished);
    assert_eq!(sleepers(&unique), 0);
}

#[test]
fn a_word_ends_it_in_order_and_so_does_the_end_of_its_input() {
    for word in [Some("stop\n"), None] {
        let unique = unique();
        let plan = Some(modest(HOUR_NS));
        let order = Order { plan, loads: vec![load(&unique)], settle_ns: 1_000_000 };
        let mut child = start(&order);
        wait_for_sleepers(&unique, 2);
        let mut first = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        match word {
            Some(word) => child.stdin.as_mut().unwrap().write_all(word.as_bytes()).unwrap(),
            None => drop(child.stdin.take()),
        }
        let ended = child.wait_with_output().unwrap();
        let stream = [first.as_slice(), &ended.stdout].concat();
        assert_eq!(outcome(&read(&stream)), &Outcome::Interrupted);
        assert_eq!(sleepers(&unique), 0);
    }
}

#[test]
fn a_neighbour_only_keeps_its_loads_running() {
    let unique = unique();
    let order = Order { plan: None, loads: vec![load(&unique)], settle_ns: 0 };
    let mut child = start(&order);
    wait_for_sleepers(&unique, 2);
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stdout.is_empty());
    assert_eq!(sleepers(&unique), 0);
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    let unique = unique();
    let order = Order { plan: None, loads: vec![load(&unique)], settle_ns: 0 };
    let mut child = start(&order);
    wait_for_sleepers(&unique, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for_sleepers(&unique, 0);
}

#[test]
fn a_load_that_is_not_there_or_fails_is_told_and_nothing_is_measured() {
    let fails = ["sh", "-c", "exit 3"].map(str::to_owned);
    for (words, why) in [
        (vec!["no-such-load".to_owned()], "no-such-load: No such file"),
        (fails.into(), "sh: ended with exit code 3"),
    ] {
        let load = Load { words, cores: Vec::new() };
        let plan = Some(modest(100_000_000));
        let order = Order { plan, loads: vec![load], settle_ns: 60_000_000_000 };
        let ended = to_its_end(start(&order));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(11), "{said}");
        assert!(said.contains(&format!("{LOAD_MISSING}{why}")), "{said}");
        assert!(ended.stdout.is_empty());
    }
}

#[test]
fn an_order_that_makes_no_sense_is_refused_with_its_key() {
    for (order, why) in [(json!({"pan": 1}), "pan"), (json!({"plan": {"cores": []}}), "cores")] {
        let ended = common::start(&["attend"], &order).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains(why), "{said}");
    }
}
