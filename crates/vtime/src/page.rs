//! The clock page: shared memory in which the owner of a domain publishes its virtual clock.
//!
//! A program maps it read-only and computes `min(horizon, line(min(limit, host now)))` under a
//! sequence counter. The counter is odd while the owner changes the page, and the owner reads the host
//! clock *after* it has made the counter odd: a reader that saw the old line read the host clock
//! before the owner did, so the new line, which begins at the owner's reading, never lies behind
//! a time that somebody has already seen.
//!
//! Readers keep a load of the counter behind their reading of the host clock. On x86-64 a later
//! load may run ahead of `rdtsc` by the depth of the pipeline, some hundred cycles at most, so
//! the owner lets [`SETTLE_NS`] pass between making the counter odd and reading the clock.
//!
//! The limit alone may be raised outside a change: it is a host time beyond which no reader goes,
//! and who reads an older one reads an earlier time. A guard raises it for as long as all
//! processors of the host answer, so that a stall of the host is no virtual time; and where a domain spans
//! several hosts it is no later than the host time at which the clock reaches what the others have granted.
//!
//! The layout is a contract between the agent, the image in programs and (as the C header `kernel/qcbus/qcclock.h`) a
//! kernel module: fixed width, version and size in its head, checked by assertions below.
//!
//! The module stops the clock from the interrupt of a signal bus, so it changes the page too. Whoever makes the
//! counter odd does so by compare-exchange, and the other one waits; the module not for long: it asks the owner to stop the
//! clock instead ([`ClockPage::is_stop_asked`]). It counts its stops ([`ClockPage::stops`]), so that the owner, once it has made
//! the counter odd, knows whether the clock runs as it has left it.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use crate::line::Line;
use crate::rate::{Rate, Tdf};
use crate::time::{HostTime, NS_PER_S, VirtualSpan, VirtualTime};

/// First word of every clock page: "QCCLOCK\0", little-endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"QCCLOCK\0");
/// Version of the layout; changes with every change of the structure.
pub const VERSION: u32 = 5;
/// The clock runs and jumps.
const JUMPS: u32 = 1;
/// The clock stands, and moves by jumps, but for times in which it runs.
const STANDS: u32 = 2;
/// Host nanoseconds between an odd counter and the owner's reading of the host clock.
pub const SETTLE_NS: i64 = 200;

/// The clocks of a program, each with an epoch of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Epoch {
    /// `CLOCK_REALTIME` and its coarse variant.
    Realtime = 0,
    /// `CLOCK_MONOTONIC` and its coarse variant.
    Monotonic = 1,
    MonotonicRaw = 2,
    Boottime = 3,
    Tai = 4,
}

impl Epoch {
    /// How many epochs there are.
    pub const COUNT: usize = 5;

    /// The epoch that a `clockid_t` of Linux counts from; `None` for clocks of CPU time,
    /// dynamic clocks and alarm clocks. Numbers from `include/uapi/linux/time.h`.
    #[inline]
    pub const fn of_clockid(clockid: i32) -> Option<Self> {
        match clockid {
            0 | 5 => Some(Self::Realtime),
            1 | 6 => Some(Self::Monotonic),
            4 => Some(Self::MonotonicRaw),
            7 => Some(Self::Boottime),
            11 => Some(Self::Tai),
            _ => None,
        }
    }

    /// The same of the clocks that can wake a sleeping machine, which not every machine has.
    pub const fn of_alarm_clock(clockid: i32) -> Option<Self> {
        match clockid {
            8 => Some(Self::Realtime),
            9 => Some(Self::Boottime),
            _ => None,
        }
    }
}

/// How often the owner looks whether the module has done its change, which takes it less than a microsecond: some
/// seconds' worth.
const TRIES_MAX: u32 = 1 << 28;

/// The page. All fields are written by the owner of the domain only, but for what a module of the kernel does to stop the clock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ClockPage {
    magic: AtomicU64,
    version: AtomicU32,
    size: AtomicU32,
    /// Even: the page is consistent. Odd: the owner is changing it.
    sequence: AtomicU32,
    holds: AtomicU32,
    base_host: AtomicI64,
    base_virtual: AtomicI64,
    base_fraction: AtomicU64,
    rate_whole: AtomicU64,
    rate_fraction: AtomicU64,
    // Second cache line.
    horizon: AtomicI64,
    /// Nanoseconds to add to virtual time for each [`Epoch`].
    epochs: [AtomicI64; Epoch::COUNT],
    /// Futex word: changes, and its waiters are woken, when the clock begins to run again, also
    /// because it was granted a later horizon.
    resumed: AtomicU32,
    /// Futex word: changes, and its waiters are woken, when the rate changes.
    dilated: AtomicU32,
    tdf_millionths: AtomicU64,
    // Third and fourth: the short way while a virtual second lasts a host second.
    /// Host seconds before which each clock is the host's plus its shift; the least number of
    /// all while that is not so.
    shift_until: AtomicI64,
    /// Seconds and nanoseconds to add to the host's `CLOCK_MONOTONIC`, for each [`Epoch`]; the
    /// nanoseconds are less than a second.
    shifts: [[AtomicI64; 2]; Epoch::COUNT],
    /// Host time beyond which readers do not go; the greatest number without a guard and other hosts.
    limit: AtomicI64,
    /// Virtual nanoseconds that the clock has jumped over.
    jumped: AtomicI64,
    /// Whether the clock may jump, so that whoever waits has to say for what: 0, [`JUMPS`], or
    /// [`STANDS`]; constant for the life of a domain.
    jumps: AtomicU32,
    /// 1 if the module asks the owner to stop the clock.
    stop_asked: AtomicU32,
    /// How often the module has stopped the clock.
    stops: AtomicU32,
}

const _: () = assert!(size_of::<ClockPage>() == 256);
const _: () = assert!(core::mem::offset_of!(ClockPage, sequence) == 16);
const _: () = assert!(core::mem::offset_of!(ClockPage, base_host) == 24);
const _: () = assert!(core::mem::offset_of!(ClockPage, horizon) == 64);
const _: () = assert!(core::mem::offset_of!(ClockPage, resumed) == 112);
const _: () = assert!(core::mem::offset_of!(ClockPage, shift_until) == 128);
const _: () = assert!(core::mem::offset_of!(ClockPage, limit) == 216);
const _: () = assert!(core::mem::offset_of!(ClockPage, jumped) == 224);
const _: () = assert!(core::mem::offset_of!(ClockPage, stop_asked) == 236);
const _: () = assert!(core::mem::offset_of!(ClockPage, stops) == 240);

/// The short way from the host's `CLOCK_MONOTONIC` to a clock of a program, which avoids going
/// through nanoseconds and back: it halves what virtual time adds to reading a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shift {
    sequence: u32,
    until: i64,
    seconds: i64,
    nanoseconds: i64,
}

impl Shift {
    /// The clock's seconds and nanoseconds at a host time read after this was taken; `None` if
    /// the short way does not lead there. Valid only if [`ClockPage::is_unchanged`] says so
    /// after the host clock was read.
    #[inline]
    pub const fn apply(&self, seconds: i64, nanoseconds: i64) -> Option<(i64, i64)> {
        if seconds >= self.until {
            return None;
        }
        let nanoseconds = nanoseconds + self.nanoseconds;
        let carry = (nanoseconds >= NS_PER_S) as i64;
        Some((seconds + self.seconds + carry, nanoseconds - carry * NS_PER_S))
    }
}

/// What a page says at one moment: a line, cut off at the limit and at the horizon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// The line on which the clock runs, or is stopped.
    pub line: Line,
    /// The virtual time at which it saturates.
    pub horizon: VirtualTime,
    /// Host time beyond which it does not go for now.
    pub limit: HostTime,
    /// Virtual time that the clock has jumped over so far.
    pub jumped: VirtualSpan,
    /// Value of the `resumed` futex word that belongs to this line.
    pub resumed: u32,
    /// Value of the `dilated` futex word that belongs to this line.
    pub dilated: u32,
}

impl Snapshot {
    /// Whether the clock does not run.
    pub fn stands(&self) -> bool {
        self.line.rate == Rate::STILL
    }

    /// Virtual time at host time `host`.
    #[inline]
    pub fn at(&self, host: HostTime) -> VirtualTime {
        self.line.at(host.min(self.limit)).min(self.horizon)
    }

    /// Virtual time at host time `host` and the fraction cut off, in 2^-64 ns.
    #[inline]
    pub fn at_exactly(&self, host: HostTime) -> (VirtualTime, u64) {
        self.line.at_exactly(host.min(self.limit)).min((self.horizon, 0))
    }

    /// The first host time at which this snapshot reaches `when`; `None` if it does not reach it
    /// before somebody changes the page.
    pub fn reaches(&self, when: VirtualTime) -> Option<HostTime> {
        if when > self.horizon { None } else { self.line.reaches(when) }
    }
}

impl ClockPage {
    /// A page in memory of one's own, with the clock at rest at virtual zero.
    pub fn new(epochs: [i64; Epoch::COUNT]) -> Self {
        Self {
            magic: AtomicU64::new(MAGIC),
            version: AtomicU32::new(VERSION),
            size: AtomicU32::new(size_of::<Self>() as u32),
            horizon: AtomicI64::new(i64::MAX),
            epochs: epochs.map(AtomicI64::new),
            tdf_millionths: AtomicU64::new(1_000_000),
            shift_until: AtomicI64::new(i64::MIN),
            limit: AtomicI64::new(i64::MAX),
            ..Self::default()
        }
    }

    /// The same, of a clock that may jump.
    #[must_use]
    pub fn that_jumps(self) -> Self {
        self.jumps.store(JUMPS, Ordering::Relaxed);
        self
    }

    /// The same, of a clock that stands and moves by jumps.
    #[must_use]
    pub fn that_stands(self) -> Self {
        self.jumps.store(STANDS, Ordering::Relaxed);
        self
    }

    /// Whether the clock may jump. Constant for the life of a domain.
    pub fn jumps(&self) -> bool {
        self.jumps.load(Ordering::Relaxed) != 0
    }

    /// Whether the clock moves by jumps: whoever waits for a time until which it stands is woken when
    /// that comes, and not when the clock is released. Constant for the life of a domain.
    pub fn stands(&self) -> bool {
        self.jumps.load(Ordering::Relaxed) == STANDS
    }

    /// Whether this memory holds a clock page of the version that this code knows.
    pub fn is_valid(&self) -> bool {
        self.magic.load(Ordering::Relaxed) == MAGIC
            && self.version.load(Ordering::Relaxed) == VERSION
            && self.size.load(Ordering::Relaxed) as usize == size_of::<Self>()
    }

    /// Virtual time now. `host_now` reads the host clock and may be called more than once;
    /// `relax` is called with a growing count while the owner is changing the page, to spin at
    /// first and to yield the processor later.
    #[inline]
    pub fn now(
        &self,
        mut host_now: impl FnMut() -> HostTime,
        relax: impl FnMut(u32),
    ) -> VirtualTime {
        self.read(relax, |snapshot| snapshot.at(host_now()))
    }

    /// The short way to a clock; `None` while the owner is changing the page.
    #[inline]
    pub fn shift(&self, epoch: Epoch) -> Option<Shift> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let [seconds, nanoseconds] = &self.shifts[epoch as usize];
        let shift = Shift {
            sequence,
            until: self.shift_until.load(Ordering::Relaxed),
            seconds: seconds.load(Ordering::Relaxed),
            nanoseconds: nanoseconds.load(Ordering::Relaxed),
        };
        (sequence & 1 == 0).then_some(shift)
    }

    /// Whether the page is as it was when a shift was taken from it.
    #[inline]
    pub fn is_unchanged(&self, since: &Shift) -> bool {
        self.is_unchanged_since(since.sequence)
    }

    /// A consistent copy of the line, the horizon and the futex words.
    pub fn snapshot(&self, relax: impl FnMut(u32)) -> Snapshot {
        self.read(relax, |snapshot| *snapshot)
    }

    /// Takes something from a consistent state; `take` may be called more than once.
    #[inline]
    fn read<T>(&self, mut relax: impl FnMut(u32), mut take: impl FnMut(&Snapshot) -> T) -> T {
        let mut tries = 0;
        loop {
            if let Some(begun) = self.begin_read() {
                let taken = take(&self.present());
                if self.is_unchanged_since(begun) {
                    return taken;
                }
            }
            relax(tries);
            tries = tries.saturating_add(1);
        }
    }

    /// Begins to read; `None` while the owner is changing the page. What is read until
    /// [`Self::is_unchanged_since`] says so is worth nothing.
    #[inline]
    pub(crate) fn begin_read(&self) -> Option<u32> {
        let sequence = self.sequence.load(Ordering::Acquire);
        (sequence & 1 == 0).then_some(sequence)
    }

    #[inline]
    pub(crate) fn is_unchanged_since(&self, begun: u32) -> bool {
        fence(Ordering::Acquire);
        self.sequence.load(Ordering::Relaxed) == begun
    }

    /// What is there, between the two functions above.
    #[inline]
    pub(crate) fn present(&self) -> Snapshot {
        Snapshot {
            line: self.line(),
            horizon: VirtualTime::from_ns(self.horizon.load(Ordering::Relaxed)),
            limit: self.limit(),
            jumped: VirtualSpan::from_ns(self.jumped.load(Ordering::Relaxed)),
            resumed: self.resumed.load(Ordering::Relaxed),
            dilated: self.dilated.load(Ordering::Relaxed),
        }
    }

    /// Nanoseconds to add to virtual time for a clock. Constant for the life of a domain.
    #[inline]
    pub fn epoch(&self, epoch: Epoch) -> i64 {
        self.epochs[epoch as usize].load(Ordering::Relaxed)
    }

    /// All of these, in the order of [`Epoch`].
    pub fn epochs(&self) -> [i64; Epoch::COUNT] {
        self.epochs.each_ref().map(|epoch| epoch.load(Ordering::Relaxed))
    }

    /// Holds asserted at present.
    pub fn holds(&self) -> u32 {
        self.holds.load(Ordering::Relaxed)
    }

    /// The present time dilation factor in millionths.
    pub fn tdf_millionths(&self) -> u64 {
        self.tdf_millionths.load(Ordering::Relaxed)
    }

    /// The futex word that changes when the clock begins to run again.
    pub const fn resumed(&self) -> &AtomicU32 {
        &self.resumed
    }

    /// The futex word that changes when the rate changes.
    pub const fn dilated(&self) -> &AtomicU32 {
        &self.dilated
    }

    /// Host time beyond which readers do not go; [`HostTime::MAX`] without a guard and other hosts.
    #[inline]
    pub fn limit(&self) -> HostTime {
        HostTime::from_ns(self.limit.load(Ordering::Relaxed))
    }

    /// Owner only: lets readers go further. Outside a change of the page to a later host time
    /// only, and not from or to none.
    pub fn set_limit(&self, limit: HostTime) {
        self.limit.store(limit.as_ns(), Ordering::Relaxed);
    }

    /// Owner only: makes the sequence counter odd, so that readers wait. The caller must read
    /// the host clock only [`SETTLE_NS`] after this returns.
    ///
    /// # Panics
    /// When the counter stays odd for seconds: the owner makes two changes at a time, or the module has lost its way.
    pub fn begin_change(&self) {
        let mut tries = 0;
        loop {
            let sequence = self.sequence.load(Ordering::Relaxed);
            let odd = sequence.wrapping_add(1);
            let ordering = Ordering::SeqCst;
            if sequence & 1 == 0
                && self
                    .sequence
                    .compare_exchange(sequence, odd, ordering, Ordering::Relaxed)
                    .is_ok()
            {
                break;
            }
            assert!(tries < TRIES_MAX, "one change of the clock page at a time");
            tries += 1;
            core::hint::spin_loop();
        }
        fence(Ordering::SeqCst);
    }

    /// How often the module has stopped the clock. The owner compares it once it has begun a change.
    pub fn stops(&self) -> u32 {
        self.stops.load(Ordering::Relaxed)
    }

    /// Owner only, in a change: the host time at which the clock stands since the last change, and where, if the module
    /// has made that.
    pub fn stopped_at(&self) -> (HostTime, VirtualTime) {
        let line = self.line();
        (line.base_host, line.base_virtual)
    }

    /// Owner only, after each change: whether the module, which found the counter odd for too long, asks for the clock to be
    /// stopped. It asks once.
    pub fn is_stop_asked(&self) -> bool {
        // Either this sees what the module has asked, or the module sees an even counter.
        fence(Ordering::SeqCst);
        self.stop_asked.swap(0, Ordering::SeqCst) != 0
    }

    /// Owner only: publishes `clock` and makes the counter even again. `resumes` and `dilates`
    /// say which futex words change with it; waking their waiters is the caller's work.
    pub fn end_change(&self, clock: &crate::VirtualClock, resumes: bool, dilates: bool) {
        self.write(clock);
        if resumes {
            self.resumed.fetch_add(1, Ordering::Relaxed);
        }
        if dilates {
            self.dilated.fetch_add(1, Ordering::Relaxed);
        }
        let sequence = self.sequence.load(Ordering::Relaxed);
        assert!(sequence & 1 == 1, "a change of the clock page has begun");
        self.sequence.store(sequence.wrapping_add(1), Ordering::Release);
    }

    /// Owner only: as [`Self::begin_change`], in a page to which others may write, so that nothing
    /// that stands in it is believed: this is the change of this number, counted from 1.
    pub(crate) fn begin_change_of(&self, number: u32) {
        self.sequence.store(number.wrapping_mul(2).wrapping_sub(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Owner only: as [`Self::end_change`], in such a page, with all futex words changed.
    pub(crate) fn end_change_of(&self, number: u32, clock: Option<&crate::VirtualClock>) {
        if let Some(clock) = clock {
            self.write(clock);
        }
        self.resumed.store(number, Ordering::Relaxed);
        self.dilated.store(number, Ordering::Relaxed);
        self.sequence.store(number.wrapping_mul(2), Ordering::Release);
    }

    fn write(&self, clock: &crate::VirtualClock) {
        let line = clock.published();
        self.base_host.store(line.base_host.as_ns(), Ordering::Relaxed);
        self.base_virtual.store(line.base_virtual.as_ns(), Ordering::Relaxed);
        self.base_fraction.store(line.base_fraction, Ordering::Relaxed);
        self.rate_whole.store(line.rate.whole, Ordering::Relaxed);
        self.rate_fraction.store(line.rate.fraction, Ordering::Relaxed);
        self.horizon.store(clock.horizon().as_ns(), Ordering::Relaxed);
        self.jumped.store(clock.jumped().as_ns(), Ordering::Relaxed);
        self.publish_shifts(&line, clock.horizon());
        self.holds.store(clock.holds(), Ordering::Relaxed);
        self.tdf_millionths.store(clock.tdf().millionths(), Ordering::Relaxed);
    }

    /// The short way knows no limit, so it leads nowhere where there is one.
    fn publish_shifts(&self, line: &Line, horizon: VirtualTime) {
        if line.rate != Tdf::ONE.rate() || self.limit() < HostTime::MAX {
            self.shift_until.store(i64::MIN, Ordering::Relaxed);
            return;
        }
        let virtual_behind_host = line.base_virtual.as_ns().saturating_sub(line.base_host.as_ns());
        for (shift, epoch) in self.shifts.iter().zip(&self.epochs) {
            let ns = virtual_behind_host.saturating_add(epoch.load(Ordering::Relaxed));
            shift[0].store(ns.div_euclid(NS_PER_S), Ordering::Relaxed);
            shift[1].store(ns.rem_euclid(NS_PER_S), Ordering::Relaxed);
        }
        let arrival = horizon.as_ns().saturating_sub(virtual_behind_host);
        self.shift_until.store(arrival.div_euclid(NS_PER_S), Ordering::Relaxed);
    }

    #[inline]
    fn line(&self) -> Line {
        Line {
            base_host: HostTime::from_ns(self.base_host.load(Ordering::Relaxed)),
            base_virtual: VirtualTime::from_ns(self.base_virtual.load(Ordering::Relaxed)),
            base_fraction: self.base_fraction.load(Ordering::Relaxed),
            rate: Rate {
                whole: self.rate_whole.load(Ordering::Relaxed),
                fraction: self.rate_fraction.load(Ordering::Relaxed),
            },
        }
    }
}

#[cfg(test)]
mod kernel_tests;

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use crate::VirtualClock;
    use core::fmt;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    /// What a page says on which a clock was published, without a limit.
    pub(crate) fn snapshot_of(clock: &VirtualClock) -> Snapshot {
        let (line, horizon) = (clock.published(), clock.horizon());
        let (limit, jumped) = (HostTime::MAX, clock.jumped());
        Snapshot { line, horizon, limit, jumped, resumed: 0, dilated: 0 }
    }

    #[test]
    fn says_what_the_clock_says() {
        let page = ClockPage::new([1, 2, 3, 4, 5]);
        assert!(page.is_valid());
        let mut clock = VirtualClock::new(HostTime::from_ns(1000), "2".parse().unwrap());
        page.begin_change();
        page.end_change(&clock, true, true);
        let read = |host| page.now(|| HostTime::from_ns(host), |_| ()).as_ns();
        assert_eq!(read(1500), 250);
        clock.hold(HostTime::from_ns(2000));
        page.begin_change();
        page.end_change(&clock, false, false);
        assert_eq!(read(99_000), 500);
        let snapshot = page.snapshot(|_| ());
        assert_eq!((snapshot.resumed, snapshot.dilated), (1, 1));
        assert_eq!(snapshot.reaches(VirtualTime::from_ns(501)), None);
        assert_eq!(page.epoch(Epoch::Boottime), 4);
    }

    proptest::proptest! {
        /// The short way, where it leads, leads to the same nanosecond as the long one.
        #[test]
        fn both_ways_lead_to_the_same_time(
            start in 0..1_000_000_000_000_000i64,
            ran in 0..5_000_000_000i64,
            pause in 0..5_000_000_000i64,
            granted in 0..20_000_000_000i64,
            later in 0..20_000_000_000i64,
            realtime in -1_000_000_000_000i64..4_000_000_000_000_000_000,
        ) {
            let page = ClockPage::new([realtime, 7, 0, 0, 0]);
            let mut clock = VirtualClock::new(HostTime::from_ns(start), Tdf::ONE);
            clock.hold(HostTime::from_ns(start + ran));
            let resumed = HostTime::from_ns(start + ran + pause);
            clock.release(resumed);
            clock.grant(resumed, VirtualTime::from_ns(ran + granted));
            page.begin_change();
            page.end_change(&clock, true, true);
            let host = resumed + crate::HostSpan::from_ns(later);
            let long = page.now(|| host, |_| ()).as_ns() + realtime;
            let shift = page.shift(Epoch::Realtime).unwrap();
            let (s, ns) = (host.as_ns() / NS_PER_S, host.as_ns() % NS_PER_S);
            if let Some((s, ns)) = shift.apply(s, ns) {
                proptest::prop_assert_eq!(s * NS_PER_S + ns, long);
                proptest::prop_assert!((0..NS_PER_S).contains(&ns));
            } else {
                // Only in the last second before the horizon, or beyond it.
                proptest::prop_assert!(later + 2 * NS_PER_S > granted);
            }
            proptest::prop_assert!(page.is_unchanged(&shift));
        }
    }

    #[test]
    fn there_is_no_short_way_while_the_clock_is_held_or_dilated() {
        let page = ClockPage::new([0; Epoch::COUNT]);
        let mut clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
        let leads = |clock: &VirtualClock| {
            page.begin_change();
            assert_eq!(page.shift(Epoch::Realtime), None);
            page.end_change(clock, false, false);
            page.shift(Epoch::Realtime).unwrap().apply(5, 0).is_some()
        };
        assert!(leads(&clock));
        clock.hold(HostTime::ZERO);
        assert!(!leads(&clock));
        clock.release(HostTime::ZERO);
        clock.dilate(HostTime::ZERO, Tdf::MAX);
        assert!(!leads(&clock));
    }

    /// Lets three readers of a time race with the owner of the page, who changes it, with what reads the host's
    /// clock when that may be, and with a factor to use.
    #[expect(clippy::disallowed_methods, reason = "a host clock that really runs is the point")]
    pub(crate) fn race<T: Copy + Default + PartialOrd + fmt::Display>(
        page: &ClockPage,
        read: impl Fn(&dyn Fn() -> HostTime) -> T + Sync,
        mut change: impl FnMut(u32, &dyn Fn() -> HostTime, Tdf),
    ) {
        let start = Instant::now();
        let host_now = || HostTime::from_ns(i64::try_from(start.elapsed().as_nanos()).unwrap());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = T::default();
                    while !done.load(Ordering::Relaxed) {
                        let now = read(&host_now);
                        assert!(now >= last, "{now} after {last}");
                        last = now;
                    }
                });
            }
            let tdfs = [Tdf::MIN, Tdf::ONE, Tdf::MAX];
            for round in 0..3000 {
                page.begin_change();
                let settled_host_now = || {
                    let begun = host_now();
                    while (host_now() - begun).as_ns() < SETTLE_NS {}
                    host_now()
                };
                change(round, &settled_host_now, tdfs[round as usize % 3]);
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn readers_never_see_time_go_back_while_the_owner_changes_it() {
        let page = ClockPage::new([0; Epoch::COUNT]);
        let mut clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
        page.begin_change();
        page.end_change(&clock, true, false);
        race(
            &page,
            |host_now| page.now(host_now, |_| std::thread::yield_now()),
            |round, settled_host_now, tdf| {
                let now = settled_host_now();
                match round % 4 {
                    0 => drop(clock.hold(now)),
                    1 => clock.dilate(now, tdf),
                    2 => drop(clock.release(now)),
                    _ => clock.grant(now, clock.at(now) + VirtualSpan::from_ms(1)),
                }
                page.end_change(&clock, true, true);
            },
        );
    }
}
