//! The agent's side of a page that a module changes too. The module here is one in Rust, by the offsets of the contract
//! (`kernel/qcbus/qcclock.h`) and as `kernel/qcbus/clock.c` does it; that one is tested in guests.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
use std::thread;
use std::time::Duration;

use random::Random;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use vtime::line::Line;
use vtime::rate::Rate;
use vtime::{HostTime, Tdf};

use super::*;
use crate::page::{DeviceMemory, Shared, SharedMemory};
use crate::{Pace, Start, host_now};

/// A page, as the module sees it.
#[repr(transparent)]
struct Octets([AtomicU32; 1024]);

// SAFETY: atomic integers, of which any octets are a value.
unsafe impl SharedMemory for Octets {}

struct Module(Shared<Octets>);

impl Module {
    /// Memory of a device, and the module that has it.
    fn new() -> (Self, DeviceMemory) {
        let memory = memfd_create("device", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, 4096).unwrap();
        let device = memory.try_clone().unwrap();
        let for_reading = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let octets = Octets([const { AtomicU32::new(0) }; 1024]);
        let again = DeviceMemory { device: memory, for_reading: for_reading.try_clone().unwrap() };
        let module = Self(Shared::in_device(again, octets).unwrap());
        (module, DeviceMemory { device, for_reading })
    }

    fn domain(start: Start) -> (Self, Arc<Domain>) {
        let (module, memory) = Self::new();
        (module, Domain::on_device(start, memory).unwrap())
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        &self.0.0[offset / 4]
    }

    fn signed(&self, offset: usize) -> &AtomicI64 {
        let place: *const AtomicU32 = self.word(offset);
        // SAFETY: a multiple of 8 in a page, of which any octets are a value.
        unsafe { &*place.cast() }
    }

    fn unsigned(&self, offset: usize) -> &AtomicU64 {
        let place: *const AtomicU32 = self.word(offset);
        // SAFETY: as above.
        unsafe { &*place.cast() }
    }

    fn try_take(&self) -> bool {
        let sequence = self.word(16).load(Ordering::Relaxed);
        let (odd, seq_cst) = (sequence.wrapping_add(1), Ordering::SeqCst);
        let word = self.word(16);
        sequence & 1 == 0 && word.compare_exchange(sequence, odd, seq_cst, seq_cst).is_ok()
    }

    /// Stops the clock, and returns where; `None` if it has asked the agent to.
    fn stop(&self) -> Option<VirtualTime> {
        let begun = host_now();
        let mut took = self.try_take();
        while !took && (host_now() - begun).as_ns() < 5000 {
            took = self.try_take();
        }
        if !took {
            self.word(236).store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if !self.try_take() {
                return None;
            }
            self.word(236).store(0, Ordering::SeqCst);
        }
        let now = crate::settled_host_now();
        let limit = HostTime::from_ns(self.signed(216).load(Ordering::Relaxed));
        let horizon = VirtualTime::from_ns(self.signed(64).load(Ordering::Relaxed));
        let line = Line {
            base_host: HostTime::from_ns(self.signed(24).load(Ordering::Relaxed)),
            base_virtual: VirtualTime::from_ns(self.signed(32).load(Ordering::Relaxed)),
            base_fraction: self.unsigned(40).load(Ordering::Relaxed),
            rate: Rate {
                whole: self.unsigned(48).load(Ordering::Relaxed),
                fraction: self.unsigned(56).load(Ordering::Relaxed),
            },
        };
        let (at, fraction) = line.at_exactly(now.min(limit)).min((horizon, 0));
        self.signed(24).store(now.as_ns(), Ordering::Relaxed);
        self.signed(32).store(at.as_ns(), Ordering::Relaxed);
        self.unsigned(40).store(fraction, Ordering::Relaxed);
        self.unsigned(48).store(0, Ordering::Relaxed);
        self.unsigned(56).store(0, Ordering::Relaxed);
        self.signed(128).store(i64::MIN, Ordering::Relaxed);
        self.word(240).fetch_add(1, Ordering::Relaxed);
        self.word(16).fetch_add(1, Ordering::Release);
        Some(at)
    }
}

fn stands_at(domain: &Domain, at: VirtualTime) {
    for _ in 0..50 {
        assert_eq!(domain.now(), at);
        thread::sleep(Duration::from_micros(10));
    }
}

#[test]
fn what_the_module_stops_stands_until_the_bus_lets_go_and_goes_on_from_there() {
    for pace in [Pace::Real, Pace::Skip] {
        let (module, domain) = Module::domain(Start { pace, ..Start::default() });
        let watch = domain.watch().unwrap();
        let at = module.stop().unwrap();
        stands_at(&domain, at);
        watch.clear();
        domain.take_up_stops();
        let mut fds = [crate::readable(watch.fd())];
        assert_eq!(crate::poll_until(&mut fds, Some(host_now())).unwrap(), 1, "nobody was told");
        let reading = domain.reading();
        assert_eq!((reading.virtual_ns, reading.holds, reading.stops), (at.as_ns(), 1, 1));
        assert_eq!(domain.jump(VirtualTime::MAX), None, "it is held");
        // What is held already is stopped once more, and that is no second hold.
        let hold = domain.hold();
        assert_eq!((hold.at(), module.stop()), (at, Some(at)));
        domain.release_bus();
        assert_eq!(domain.reading().holds, 1);
        stands_at(&domain, at);
        drop(hold);
        let passed = domain.now() - at;
        assert!((0..1_000_000_000).contains(&passed.as_ns()), "{passed:?}");
        assert!(domain.reading().paused_ns >= 1_000_000);
    }
}

#[test]
fn a_clock_that_was_stopped_meanwhile_is_not_let_run_by_who_did_not_know() {
    let (module, domain) = Module::domain(Start { held: true, ..Start::default() });
    assert_eq!(module.stop(), Some(VirtualTime::ZERO));
    assert_eq!(domain.release_hold(), Some(1), "the bus holds it");
    stands_at(&domain, VirtualTime::ZERO);
    domain.release_bus();
    assert_eq!(domain.reading().holds, 0);
}

#[test]
fn a_module_that_finds_the_page_in_change_has_the_clock_stopped() {
    let (module, domain) = Module::domain(Start::default());
    let asked = domain.change(|_, _| (module.stop(), Changed::default()));
    assert_eq!((asked, domain.reading().holds), (None, 1));
    domain.set_limits(|_, _, _| assert_eq!(module.stop(), None));
    assert_eq!(domain.reading().holds, 1, "it is one hold of the bus");
    stands_at(&domain, domain.now());
    domain.release_bus();
    assert_eq!(domain.reading().holds, 0);
}

#[test]
fn a_thread_that_sees_the_edge_stops_the_clock_once() {
    let domain = Domain::new(Start::default()).unwrap();
    let at = domain.stop_for_bus();
    assert_eq!(domain.stop_for_bus(), at);
    stands_at(&domain, at);
    assert_eq!((domain.reading().holds, domain.reading().stops), (1, 1));
    domain.release_bus();
    domain.release_bus();
    assert_eq!(domain.reading().holds, 0);
}

/// A clock that is kept at a limit is stopped there, and what comes later is no time of it.
#[test]
fn what_is_stopped_at_a_limit_goes_on_from_there() {
    let (module, domain) = Module::domain(Start { held: true, ..Start::default() });
    domain.let_run_until(VirtualTime::from_ns(1000));
    domain.release_hold();
    thread::sleep(Duration::from_millis(2));
    let limit = VirtualTime::from_ns(1000);
    assert_eq!(module.stop(), Some(limit));
    domain.let_run_until(VirtualTime::from_ns(5_000_000_000));
    stands_at(&domain, limit);
    let before = host_now();
    domain.release_bus();
    let passed = domain.now() - limit;
    assert!(passed.as_ns() <= (host_now() - before).as_ns(), "{passed:?}");
}

/// Whatever the agent does meanwhile: nobody sees time go back, and what the module has stopped stands until it is let go.
#[test]
fn two_that_change_one_page_do_not_disturb_each_other() {
    let (module, domain) = Module::domain(Start::default());
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = VirtualTime::ZERO;
            while goes_on() {
                let now = domain.now();
                assert!(now >= last, "{now} after {last}");
                last = now;
            }
        });
        scope.spawn(|| {
            let mut random = Random::new(7);
            while goes_on() {
                match random.below(5) {
                    0 => drop(domain.hold()),
                    1 => domain.dilate(
                        ["0.01", "1", "3"][random.below(3) as usize].parse::<Tdf>().unwrap(),
                    ),
                    2 => domain.let_run_until(domain.now() + VirtualSpan::from_ms(50)),
                    3 => domain.take_up_stops(),
                    _ => domain.grant(domain.now() + VirtualSpan::from_ms(1000)),
                }
                thread::sleep(Duration::from_nanos(random.below(3000)));
            }
        });
        let mut asked = 0;
        for _ in 0..1000 {
            let at = module.stop().unwrap_or_else(|| {
                asked += 1;
                while domain.reading().holds == 0 {
                    thread::yield_now();
                }
                domain.now()
            });
            for _ in 0..30 {
                assert_eq!(domain.now(), at);
            }
            domain.release_bus();
        }
        println!("{asked} of 1000 found the page in change");
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(domain.reading().holds, 0);
}
