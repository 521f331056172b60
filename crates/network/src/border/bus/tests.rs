//! Hosts on a wire, in one process.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use hosts::Sync;
use parking_lot::Mutex;
use vtime::{HostTime, VirtualTime};

use super::super::Fault;
use super::super::tests::{Part, Parts, waits_for};
use super::*;

/// The wire: asserted while one of its ends is.
struct Wire(Mutex<Vec<End>>);

struct End {
    asserts: bool,
    /// What it has not been told yet.
    edges: VecDeque<bool>,
    wake: Arc<Wake>,
    /// Whether it misses edges.
    is_deaf: bool,
}

impl Wire {
    fn new(ends: usize) -> Arc<Self> {
        let end = || End {
            asserts: false,
            edges: VecDeque::new(),
            wake: Arc::new(Wake::new().unwrap()),
            is_deaf: false,
        };
        Arc::new(Self(Mutex::new((0..ends).map(|_| end()).collect())))
    }

    fn is_asserted(&self) -> bool {
        self.0.lock().iter().any(|end| end.asserts)
    }

    fn asserts(&self, end: usize, asserts: bool) {
        let mut ends = self.0.lock();
        let before = ends.iter().any(|end| end.asserts);
        ends[end].asserts = asserts;
        let after = ends.iter().any(|end| end.asserts);
        if before != after {
            for end in ends.iter_mut().filter(|end| !end.is_deaf) {
                end.edges.push_back(after);
                end.wake.wake();
            }
        }
    }
}

#[derive(Clone)]
struct OnWire {
    wire: Arc<Wire>,
    end: usize,
    wake: Arc<Wake>,
}

impl OnWire {
    fn new(wire: &Arc<Wire>, end: usize) -> Self {
        Self { wire: Arc::clone(wire), end, wake: Arc::clone(&wire.0.lock()[end].wake) }
    }
}

impl Drives for OnWire {
    fn drive(&self, asserted: bool) -> io::Result<()> {
        self.wire.asserts(self.end, asserted);
        Ok(())
    }
}

impl Watches for OnWire {
    fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    fn edges(&mut self) -> io::Result<Vec<bool>> {
        self.wake.clear();
        Ok(self.wire.0.lock()[self.end].edges.drain(..).collect())
    }

    fn is_asserted(&self) -> io::Result<bool> {
        Ok(self.wire.is_asserted())
    }

    fn due(&self) -> Option<HostTime> {
        None
    }
}

/// Hosts on a wire that has one more end, and is there for them all. `None` without root.
struct OnBus {
    following: Vec<Following>,
    parts: Vec<Part>,
    faults: Mutex<Receiver<Fault>>,
    wire: Arc<Wire>,
}

const HOSTS: usize = 3;
/// The end of the wire that no host has.
const OUTSIDE: usize = HOSTS;

impl OnBus {
    fn start(sync: Sync) -> Option<Self> {
        let Parts { parts, faults, .. } = Parts::start_with(HOSTS, sync, |address| address)?;
        let wire = Wire::new(HOSTS + 1);
        let following = parts.iter().enumerate().map(|(host, part)| {
            let ends = OnWire::new(&wire, host);
            let tell = |error| panic!("{error}");
            let all = part.emulator.all_holds().unwrap();
            let domain = Arc::clone(&part.domain);
            let bus: (Box<dyn Drives>, Box<dyn Watches>) = (Box::new(ends.clone()), Box::new(ends));
            Following::start(bus, all, domain, tell).unwrap()
        });
        let following = following.collect();
        Some(Self { following, wire, parts, faults: Mutex::new(faults) })
    }

    fn now(&self) -> Vec<VirtualTime> {
        self.parts.iter().map(|part| part.domain.now()).collect()
    }

    fn holds(&self, host: usize) -> Arc<AllHolds> {
        self.parts[host].emulator.all_holds().unwrap()
    }

    /// Waits until all stand at one time, and returns it.
    fn stand(&self) -> VirtualTime {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let now = self.now();
            thread::sleep(Duration::from_millis(2));
            // A clock that has been granted no more may stand there, too.
            let are_held = self.parts.iter().all(|part| part.domain.reading().holds > 0);
            if are_held && now == [now[0]; HOSTS] && self.now() == now {
                return now[0];
            }
            assert!(Instant::now() < until, "they are apart: {now:?}");
        }
    }

    fn run(&self, since: VirtualTime) {
        waits_for("all run", || self.now().iter().all(|now| *now > since));
    }
}

fn both(test: impl Fn(&OnBus)) {
    for sync in [Sync::Granted, Sync::Free] {
        let Some(bus) = OnBus::start(sync) else { return };
        test(&bus);
        assert!(bus.faults.lock().try_recv().is_err());
        assert!(!bus.wire.is_asserted(), "it is left asserted");
    }
}

#[test]
fn who_holds_asserts_the_bus_and_all_stand_at_one_nanosecond() {
    both(|bus| {
        for round in 0..60 {
            let all = bus.holds(round % HOSTS);
            let at = all.hold().unwrap();
            assert!(bus.wire.is_asserted());
            assert_eq!(bus.now(), [at; HOSTS], "round {round}");
            if round % 10 == 0 {
                // Another one joins, and the first goes.
                let other = bus.holds((round + 1) % HOSTS);
                assert_eq!(other.hold(), Some(at));
                assert!(all.release());
                thread::sleep(Duration::from_millis(3));
                assert!(bus.wire.is_asserted());
                assert_eq!(bus.now(), [at; HOSTS], "round {round}");
                assert!(other.release());
            } else {
                assert!(all.release());
            }
            assert!(!bus.wire.is_asserted());
            bus.run(at);
        }
    });
}

#[test]
fn several_who_hold_at_once_are_one_stop() {
    both(|bus| {
        thread::scope(|scope| {
            for host in 0..HOSTS {
                let all = bus.holds(host);
                scope.spawn(move || {
                    for _ in 0..40 {
                        let at = all.hold().unwrap();
                        assert_eq!(bus.now(), [at; HOSTS]);
                        assert!(all.release());
                    }
                });
            }
        });
        bus.run(VirtualTime::ZERO);
    });
}

/// A board that has no part in the network, or a hand at a switch.
#[test]
fn whoever_asserts_the_bus_all_stand_until_it_is_released() {
    both(|bus| {
        for round in 0..20 {
            bus.wire.asserts(OUTSIDE, true);
            let at = bus.stand();
            if round % 4 == 0 {
                // Who holds meanwhile is one more, and lets nobody run.
                let all = bus.holds(round % HOSTS);
                assert_eq!(all.hold(), Some(at));
                assert!(all.release());
                thread::sleep(Duration::from_millis(5));
                assert_eq!(bus.now(), [at; HOSTS]);
            }
            bus.wire.asserts(OUTSIDE, false);
            bus.run(at);
        }
    });
}

#[test]
fn a_wire_that_chatters_stops_clocks_and_keeps_none() {
    both(|bus| {
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let over = std::sync::atomic::Ordering::Relaxed;
        thread::scope(|scope| {
            let chatters = scope.spawn(|| {
                let mut random = random::Random::new(11);
                while !is_over.load(over) {
                    bus.wire.asserts(OUTSIDE, random.chance(50));
                    thread::sleep(Duration::from_micros(random.below(300)));
                }
                bus.wire.asserts(OUTSIDE, false);
            });
            for round in 0..40 {
                let all = bus.holds(round % HOSTS);
                let at = all.hold().unwrap();
                assert_eq!(bus.now(), [at; HOSTS], "round {round}");
                assert!(all.release());
                thread::sleep(Duration::from_millis(2));
            }
            is_over.store(true, over);
            chatters.join().unwrap();
        });
        let now = bus.now();
        bus.run(*now.iter().max().unwrap());
    });
}

#[test]
fn an_edge_that_nobody_told_is_found_by_the_level() {
    both(|bus| {
        bus.wire.0.lock()[1].is_deaf = true;
        bus.wire.asserts(OUTSIDE, true);
        // The others are told, and tell it.
        let at = bus.stand();
        thread::sleep(Duration::from_millis(150));
        bus.wire.asserts(OUTSIDE, false);
        bus.run(at);
    });
}

#[test]
fn a_bus_that_is_not_followed_any_more_keeps_nobody() {
    let Some(mut bus) = OnBus::start(Sync::Granted) else { return };
    bus.wire.asserts(OUTSIDE, true);
    let at = bus.stand();
    bus.following.clear();
    bus.run(at);
}
