//! A network program that people use, as two nodes: what it finds natively it finds here too.
//! `make conformance` does this with more programs, and compares with what they find natively.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::run::harness::{self, Place};

const SCENARIO: &str = "scenario: modbus
duration: 60 s
settle: 1 s
nodes:
  server:
    address: 10.0.0.1/24
    programs:
      - {name: server, run: python3 modbus.py server}
  client:
    address: 10.0.0.2/24
    programs:
      - {name: client, run: python3 modbus.py client 10.0.0.1}
links:
  - {from: server, to: client, delay: 2 ms, rate: 20 Mbit/s}
";

/// Runs the program to its end while `meanwhile` goes on; answers what that answers.
fn all_facts_hold<T: Send>(
    options: &[&str],
    meanwhile: impl FnOnce(&Place, &AtomicBool) -> T + Send,
) -> Option<T> {
    let place = Place::for_root(SCENARIO)?;
    let program = harness::project().join("tools/peers/programs/modbus.py");
    place.file("modbus.py", &std::fs::read_to_string(program).unwrap());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let beside = scope.spawn(|| meanwhile(&place, &is_over));
        let run = place.run(options);
        is_over.store(true, Ordering::Relaxed);
        // The end of the client is the end of the run, and it has ended well.
        let reason = run.record().ended.reason;
        assert!(reason.contains("`client` exited with 0"), "{reason}");
        let lines = run.lines("client");
        let facts: Vec<_> = lines.iter().filter(|line| line.starts_with("fact ")).collect();
        assert_eq!(facts.len(), 3, "{lines:?}");
        assert!(facts.iter().all(|fact| fact.ends_with(": yes")), "{facts:?}");
        Some(beside.join().unwrap())
    })
}

#[test]
fn modbus_finds_what_it_finds_natively() {
    all_facts_hold(&[], |_, _| ());
    all_facts_hold(&["--tdf", "2"], |_, _| ());
}

#[test]
fn modbus_finds_the_same_while_it_is_held_again_and_again() {
    let held = all_facts_hold(&[], |place, is_over| {
        let mut holds = 0;
        while !is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(180));
            // Before the run begins and after it has ended there is no such domain.
            if place.qcycle(&["hold", "modbus-1"]).output().unwrap().status.success() {
                holds += 1;
                thread::sleep(Duration::from_millis(20));
                let _ = place.qcycle(&["release", "modbus-1"]).output().unwrap();
            }
        }
        holds
    });
    let Some(holds) = held else { return };
    println!("held {holds} times");
    assert!(holds > 0);
}
