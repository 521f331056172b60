//! The own page: shared memory between the owner of a domain and one program, with the program's
//! own line, the counters of its trapped calls and of its waits that ended late. Behind it lies what its
//! threads wait for ([`crate::waits`]).
//!
//! The owner writes the line, the program the counters. The line needs no sequence counter of
//! its own: the owner changes it between the two halves of a change of the clock page, so that
//! who reads both sees both change at once. A program that was detached reads a clock page of its
//! own instead of the domain's, so that nobody else's changes, nor the end of its domain, can keep it.
//!
//! A program can write to all of the page, by mistake or on purpose. So the owner only ever
//! writes the line, keeps what it has written itself, and takes the counters for hints.
//!
//! Processes that a program forks have the same own page until their exec, which gives them one
//! of their own that goes on as theirs stood.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::ahead::{Ahead, Busy};
use crate::history::History;
use crate::image::Counters;
use crate::late::Lateness;
use crate::own::{OwnClock, OwnLine, ProgramSnapshot};
use crate::page::{ClockPage, Epoch, Shift};
use crate::rate::Rate;
use crate::time::{HostTime, ProgramTime, VirtualTime};

/// First word of every own page: "QCOWNPG\0", little-endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"QCOWNPG\0");
/// Version of the layout; changes with every change of the structure.
pub const VERSION: u32 = 4;

/// The time of the program is that of its domain.
const DOMAIN: u32 = 0;
/// It runs along that of its domain, on its own line.
const SCALED: u32 = 1;
/// It runs on the clock page of its own.
const FREE: u32 = 2;
/// It is that of its domain, but what the program computes takes time.
const AHEAD: u32 = 3;

/// The page that a program has for itself.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct OwnPage {
    magic: AtomicU64,
    version: AtomicU32,
    size: AtomicU32,
    domain: AtomicU64,
    program: AtomicU64,
    mode: AtomicU32,
    reserved: AtomicU32,
    tdf_millionths: AtomicU64,
    base_virtual: AtomicI64,
    base_virtual_fraction: AtomicU64,
    base_program: AtomicI64,
    base_program_fraction: AtomicU64,
    rate_whole: AtomicU64,
    rate_fraction: AtomicU64,
    random_seed: AtomicU64,
    random_streams: AtomicU64,
    looks: AtomicU64,
    free: ClockPage,
    counters: Counters,
    late_waits: Lateness,
    ahead: Ahead,
}

const _: () = assert!(core::mem::offset_of!(OwnPage, domain) == 16);
const _: () = assert!(core::mem::offset_of!(OwnPage, mode) == 32);
const _: () = assert!(core::mem::offset_of!(OwnPage, base_virtual) == 48);
const _: () = assert!(core::mem::offset_of!(OwnPage, free) == 128);
const _: () = assert!(core::mem::offset_of!(OwnPage, counters) == 384);
const _: () = assert!(core::mem::offset_of!(OwnPage, late_waits) == 512);
const _: () = assert!(core::mem::offset_of!(OwnPage, ahead) == 576);
const _: () = assert!(size_of::<OwnPage>() <= crate::image::PAGE_SIZE);

/// Whose a page is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Identity {
    /// Names the domain among all of this host.
    pub domain: u64,
    /// Numbers the program in its domain.
    pub program: u64,
}

/// A moment that has passed. Its host time is another one than that asked for only if that is
/// older than all that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Past {
    pub host: HostTime,
    pub time: ProgramTime,
}

impl OwnPage {
    /// The page of a program whose time is that of its domain, which has these epochs.
    pub fn new(identity: Identity, epochs: [i64; Epoch::COUNT]) -> Self {
        Self {
            magic: AtomicU64::new(MAGIC),
            version: AtomicU32::new(VERSION),
            size: AtomicU32::new(size_of::<Self>() as u32),
            domain: AtomicU64::new(identity.domain),
            program: AtomicU64::new(identity.program),
            mode: AtomicU32::new(DOMAIN),
            tdf_millionths: AtomicU64::new(1_000_000),
            free: ClockPage::new(epochs),
            ..Self::default()
        }
    }

    /// The same page, for a program that gets what is random from this seed, which is not 0, instead of
    /// the kernel.
    #[must_use]
    pub fn with_random_seed(self, seed: u64) -> Self {
        self.random_seed.store(seed, Ordering::Relaxed);
        self
    }

    /// The same page, for a program that is ahead of its domain by what it computes.
    #[must_use]
    pub fn computing(self, busy: Busy) -> Self {
        self.ahead.publish(busy);
        self.mode.store(AHEAD, Ordering::Relaxed);
        self
    }

    /// How far it is ahead of its domain by what it has computed, where that takes virtual time.
    pub const fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// The same, unless its time is not that of its domain.
    #[inline]
    pub fn is_ahead(&self) -> Option<&Ahead> {
        (self.mode.load(Ordering::Relaxed) == AHEAD).then_some(&self.ahead)
    }

    /// From what the program gets what is random; `None` from the kernel.
    pub fn random_seed(&self) -> Option<u64> {
        match self.random_seed.load(Ordering::Relaxed) {
            0 => None,
            seed => Some(seed),
        }
    }

    /// The next number for a process that gets random numbers of its own. Starts with 1.
    pub fn new_random_stream(&self) -> u64 {
        self.random_streams.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Counts a look at a clock that did not run at that moment, in a domain in which it stands.
    pub fn count_look(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the program has looked at a clock so, as it says.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// The number of the program in its domain.
    #[inline]
    pub fn program(&self) -> u64 {
        self.program.load(Ordering::Relaxed)
    }

    /// Counters of the program's trapped calls.
    #[inline]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How late timed waits of the program ended.
    #[inline]
    pub const fn late_waits(&self) -> &Lateness {
        &self.late_waits
    }

    /// The short way to a clock of the program, with the page that it was taken from; `None`
    /// where none leads there, or the owner is changing the page.
    #[inline]
    pub fn shift<'p>(
        &'p self,
        domain: &'p ClockPage,
        epoch: Epoch,
    ) -> Option<(Shift, &'p ClockPage)> {
        let shift = domain.shift(epoch)?;
        // Read after the sequence counter of the page, so that it belongs to the shift.
        if self.mode.load(Ordering::Relaxed) == DOMAIN {
            return Some((shift, domain));
        }
        self.shift_of_free(epoch)
    }

    #[cold]
    fn shift_of_free(&self, epoch: Epoch) -> Option<(Shift, &ClockPage)> {
        let shift = self.free.shift(epoch)?;
        let free = self.mode.load(Ordering::Relaxed) == FREE;
        free.then_some((shift, &self.free))
    }

    /// Takes something from a consistent state of the own page and of the clock page that the
    /// program follows: the domain's, or its own if it was detached. `take` may be called more than
    /// once; `relax` as in [`ClockPage::now`].
    #[inline]
    fn read<'p, T>(
        &'p self,
        domain: &'p ClockPage,
        mut relax: impl FnMut(u32),
        mut take: impl FnMut(&ProgramSnapshot, &'p ClockPage) -> T,
    ) -> T {
        let mut tries = 0;
        loop {
            let free = self.mode.load(Ordering::Relaxed) == FREE;
            let clock = if free { &self.free } else { domain };
            if let Some(begun) = clock.begin_read() {
                // Read again, after the sequence counter of the page that is read.
                let mode = self.mode.load(Ordering::Relaxed);
                let own = (mode == SCALED).then(|| self.line());
                let taken = take(&ProgramSnapshot { clock: clock.present(), own }, clock);
                if (mode == FREE) == free && clock.is_unchanged_since(begun) {
                    return taken;
                }
            }
            relax(tries);
            tries = tries.saturating_add(1);
        }
    }

    /// The factors of the clock that the program follows and of its own line, in millionths, as they
    /// are now: not of one moment with what was read before.
    pub fn factors(&self, clock: &ClockPage) -> [u64; 2] {
        [clock.tdf_millionths(), self.tdf_millionths.load(Ordering::Relaxed)]
    }

    /// Time of the program now; `host_now` and `relax` as in [`ClockPage::now`].
    #[inline]
    pub fn now(
        &self,
        domain: &ClockPage,
        mut host_now: impl FnMut() -> HostTime,
        relax: impl FnMut(u32),
    ) -> ProgramTime {
        self.read(domain, relax, |snapshot, _| snapshot.at(host_now()))
    }

    /// A consistent copy, and the clock page that the program follows: on its futex words it is
    /// to sleep.
    pub fn snapshot<'p>(
        &'p self,
        domain: &'p ClockPage,
        relax: impl FnMut(u32),
    ) -> (ProgramSnapshot, &'p ClockPage) {
        self.read(domain, relax, |snapshot, clock| (*snapshot, clock))
    }

    /// The time of the program at a host time that has passed. Before the last change of its own
    /// line, that of this change; and as [`History::at`] where that knows no more.
    pub fn past(
        &self,
        domain: &ClockPage,
        history: &History,
        host: HostTime,
        relax: impl FnMut(u32),
    ) -> Past {
        self.read(domain, relax, |snapshot, clock| {
            let follows_domain = core::ptr::eq(clock, domain);
            match history.at(host).filter(|_| follows_domain) {
                None => Past { host, time: snapshot.at(host) },
                Some(bend) => Past {
                    host: bend.host,
                    time: match &snapshot.own {
                        None => bend.time.of_program(),
                        Some(own) => own.at_exactly((bend.time, 0)).0,
                    },
                },
            }
        })
    }

    /// Owner only, after `begin_change` of the clock page of the domain: makes readers wait that follow the
    /// page of a program that was detached, until the change of this number is published. The caller must
    /// read the host time at which the program's time changes only
    /// [`SETTLE_NS`](crate::page::SETTLE_NS) after this returns.
    pub fn begin_change(&self, number: u32) {
        self.free.begin_change_of(number);
    }

    /// Owner only, after [`Self::begin_change`] and before `end_change` of the clock page of the domain:
    /// publishes how the program's time runs, for the time of this number, counted from 1, and whether what it
    /// `computes` takes time. Reads nothing. Waking those who wait on [`Self::free`] is the caller's work.
    pub fn publish(&self, clock: &OwnClock, number: u32, computes: bool) {
        self.free.begin_change_of(number);
        let (mode, present) = match clock {
            OwnClock::Domain if computes => (AHEAD, None),
            OwnClock::Domain => (DOMAIN, None),
            OwnClock::Scaled(line, _) => {
                self.publish_line(line);
                (SCALED, None)
            }
            OwnClock::Free(clock) => (FREE, Some(clock)),
        };
        self.tdf_millionths.store(clock.tdf().millionths(), Ordering::Relaxed);
        self.mode.store(mode, Ordering::Relaxed);
        self.free.end_change_of(number, present);
    }

    /// The clock page of a program that was detached.
    pub const fn free(&self) -> &ClockPage {
        &self.free
    }

    fn publish_line(&self, line: &OwnLine) {
        self.base_virtual.store(line.base_virtual.0.as_ns(), Ordering::Relaxed);
        self.base_virtual_fraction.store(line.base_virtual.1, Ordering::Relaxed);
        self.base_program.store(line.base_program.0.as_ns(), Ordering::Relaxed);
        self.base_program_fraction.store(line.base_program.1, Ordering::Relaxed);
        self.rate_whole.store(line.rate.whole, Ordering::Relaxed);
        self.rate_fraction.store(line.rate.fraction, Ordering::Relaxed);
    }

    #[inline]
    fn line(&self) -> OwnLine {
        let base_virtual = VirtualTime::from_ns(self.base_virtual.load(Ordering::Relaxed));
        let base_program = ProgramTime::from_ns(self.base_program.load(Ordering::Relaxed));
        OwnLine {
            base_virtual: (base_virtual, self.base_virtual_fraction.load(Ordering::Relaxed)),
            base_program: (base_program, self.base_program_fraction.load(Ordering::Relaxed)),
            rate: Rate {
                whole: self.rate_whole.load(Ordering::Relaxed),
                fraction: self.rate_fraction.load(Ordering::Relaxed),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::own::Moment;
    use crate::page::tests::race;
    use crate::{Tdf, VirtualClock};

    const IDENTITY: Identity = Identity { domain: 7, program: 9 };

    fn pages(now: HostTime) -> (ClockPage, OwnPage, VirtualClock) {
        let (page, own) = (ClockPage::new([5; 5]), OwnPage::new(IDENTITY, [5; 5]));
        let clock = VirtualClock::new(now, Tdf::ONE);
        page.begin_change();
        page.end_change(&clock, true, false);
        (page, own, clock)
    }

    #[test]
    fn the_short_way_is_that_of_the_clock_that_the_program_follows() {
        let at = |s: i64| HostTime::from_ns(s * 1_000_000_000);
        let (page, own, mut clock) = pages(at(0));
        let shown = |own: &OwnPage, host: HostTime| {
            let long = own.now(&page, || host, |_| ()).as_ns() + 5;
            let short = own.shift(&page, Epoch::Realtime).and_then(|(shift, page)| {
                assert!(page.is_unchanged(&shift));
                shift.apply(host.as_ns() / 1_000_000_000, 0).map(|(s, ns)| s * 1_000_000_000 + ns)
            });
            assert!(short.is_none_or(|short| short == long));
            (long, short.is_some())
        };
        assert_eq!(shown(&own, at(1)), (1_000_000_005, true));
        let moment =
            |clock: &VirtualClock, s| Moment { host: at(s), domain: clock.at_exactly(at(s)) };
        let scaled = OwnClock::Domain.scaled(moment(&clock, 2), "2".parse().unwrap());
        page.begin_change();
        own.publish(&scaled, 1, false);
        page.end_change(&clock, false, true);
        assert_eq!(shown(&own, at(4)), (3_000_000_005, false));
        let free = scaled.detached(moment(&clock, 4));
        clock.hold(at(4));
        page.begin_change();
        own.publish(&free, 2, false);
        page.end_change(&clock, false, true);
        assert_eq!(shown(&own, at(10)), (9_000_000_005, true), "no hold reaches it");
    }

    #[test]
    fn readers_never_see_time_go_back_while_the_owner_changes_both() {
        let (page, own, mut clock) = pages(HostTime::ZERO);
        let mut program = OwnClock::Domain;
        race(
            &page,
            |host_now| own.now(&page, host_now, |_| std::thread::yield_now()),
            |round, settled_host_now, tdf| {
                let host = settled_host_now();
                own.begin_change(round + 1);
                let now = Moment { host: settled_host_now(), domain: clock.at_exactly(host) };
                match round % 5 {
                    0 => drop(clock.hold(host)),
                    1 => clock.dilate(host, tdf),
                    2 => drop(clock.release(host)),
                    3 => program = program.scaled(now, tdf),
                    _ => program = program.detached(now),
                }
                own.publish(&program, round + 1, false);
                page.end_change(&clock, true, true);
            },
        );
    }
}
