//! What a node decides by: protection elements, and a relay of somebody else that speaks GOOSE on a
//! wire of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use iec61850::wire::Value;
use os::packet::PacketSocket;

use super::station::{STREAM, Station, number};
use crate::support::{goose, ip};

/// An overcurrent element trips, and its drop-off closes again.
#[test]
#[ignore = "long: a station of relays"]
fn elements_decide() {
    for (_, mut station) in Station::of_both("elements") {
        station.decide(|_| {
            format!(
                "decides: {{by: elements, breaker: Q0, close_after: 20 ms}}\n{STREAM}elements:\n  \
                 I>>: {{function: overcurrent, stream: MU01, pick_up: 2 kA, delay: 0 ms}}\ntrips: \
                 {{pulse_min: 10 ms, breakers: {{Q0: [I>>]}}}}\n"
            )
        });
        station.start(&[0, 1, 2, 3]);
        station.run(10).check(10, 2);
    }
}

/// Harnesses beside relays of somebody else: two that agree are obeyed, one alone is not, and
/// neither is what a test set says.
#[test]
#[ignore = "long: a station of relays"]
fn relays_of_somebody_else_decide() {
    for (_, mut station) in Station::of_both("foreign relays") {
        for node in 0..4 {
            assert!(ip(&format!("link add name relay{node} type veth peer name wire{node}")));
            assert!(ip(&format!("link set dev relay{node} up")));
            assert!(ip(&format!("link set dev wire{node} up")));
        }
        station.decide(|node| {
            format!(
                "decides: {{by: goose, interface: wire{node}, reference: Q0, destination: \
                 01:0c:cd:01:00:01, app_id: 1, conf_rev: 1, entries: [trip, close]}}\n"
            )
        });
        let relays = [0, 1, 2, 3].map(|node| Foreign::start(&format!("relay{node}")));
        station.start(&[0, 1, 2, 3]);
        let stays = |generation: u64, what: &str| {
            sleep(ALONE);
            assert_eq!(station.status().generation, generation, "{what}");
        };
        relays[0].say(TRIP);
        stays(0, "one of four wants a trip");
        for relay in &relays {
            relay.say(TRIP | TEST);
        }
        stays(0, "what a test set wants");
        relays[1].say(TRIP);
        relays[3].say(TRIP);
        station.wait_for("two relays have tripped", |status| status.generation == 1);
        assert!(station.status().is_open);
        relays[2].say(CLOSE);
        stays(1, "one of four wants to close");
        for relay in &relays {
            relay.say(NOTHING);
        }
        stays(1, "nobody wants anything");
        relays[0].say(CLOSE);
        relays[2].say(CLOSE);
        station.wait_for("two relays have closed", |status| status.generation == 2);
        assert!(!station.status().is_open);
        for relay in &relays {
            relay.say(TRIP | CLOSE);
        }
        station.wait_for("trip beats close", |status| status.generation == 3);
        let acted = station.acted();
        let gens: Vec<u64> = acted.iter().map(|line| number(line, "gen")).collect();
        assert_eq!(gens, [1, 2, 3]);
        let actions: Vec<_> = acted.iter().map(|line| line["action"].as_str()).collect();
        assert_eq!(actions, [Some("trip"), Some("close"), Some("trip")]);
    }
}

/// What a foreign relay says, as bits.
const NOTHING: u32 = 0;
const TRIP: u32 = 1;
const CLOSE: u32 = 2;
/// By a test set.
const TEST: u32 = 4;
/// How long something that must not happen is waited for: many ticks.
const ALONE: Duration = Duration::from_millis(200);
/// From one message to the next.
const REPEATED: Duration = Duration::from_millis(5);

/// A relay of somebody else: it repeats what it says until it says something else.
struct Foreign {
    said: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Foreign {
    fn start(interface: &str) -> Self {
        let socket = PacketSocket::open(interface, 0).expect("its wire is there");
        let (said, is_over) = (Arc::new(AtomicU32::new(NOTHING)), Arc::new(AtomicBool::new(false)));
        let (says, ends) = (said.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let (mut st_num, mut sq_num, mut last) = (1, 0, says.load(Ordering::Relaxed));
            while !ends.load(Ordering::Relaxed) {
                let said = says.load(Ordering::Relaxed);
                if said != last {
                    (st_num, sq_num, last) = (st_num + 1, 0, said);
                }
                // What the interface does not take is repeated soon.
                let _taken = socket.send(&[&message(said, st_num, sq_num)]);
                sq_num += 1;
                sleep(REPEATED);
            }
        });
        Self { said, is_over, thread: Some(thread) }
    }

    fn say(&self, what: u32) {
        self.said.store(what, Ordering::Relaxed);
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it does not panic");
        }
    }
}

fn message(said: u32, st_num: u32, sq_num: u32) -> Vec<u8> {
    goose::frame(&[TRIP, CLOSE].map(|bit| Value::Boolean(said & bit != 0)), |message| {
        (message.st_num, message.sq_num) = (st_num, sq_num);
        message.simulation = said & TEST != 0;
    })
}
