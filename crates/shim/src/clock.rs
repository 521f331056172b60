//! Host time and the time of the program now.

use core::mem::MaybeUninit;

use vtime::History;
use vtime::ahead::Ahead;
use vtime::image::HISTORY;
use vtime::own::ProgramSnapshot;
use vtime::own_page::Past;
use vtime::page::Epoch;
use vtime::time::NS_PER_S;
use vtime::{ClockPage, HostTime, ProgramTime};

use crate::arch::{self, nr};
use crate::namespace;
use crate::pages::{own, page, process};
use crate::timespec::Timespec;

pub(crate) const CLOCK_MONOTONIC: usize = 1;

/// The host's `CLOCK_MONOTONIC`, by the kernel's own vDSO; `None` if this kernel gives none.
#[inline]
pub(crate) fn host_timespec() -> Option<Timespec> {
    let native = process().vdso_clock_gettime;
    // SAFETY: the launcher took this address from the kernel's vDSO in this very program.
    if native == 0 { None } else { Some(unsafe { monotonic_by(native) }) }
}

/// # Safety
/// `native` must be the address of the kernel's `clock_gettime`.
#[inline]
unsafe fn monotonic_by(native: u64) -> Timespec {
    // SAFETY: as the caller vouches.
    let native: unsafe extern "C" fn(i32, *mut Timespec) -> i32 =
        unsafe { core::mem::transmute(native as usize) };
    let mut time = MaybeUninit::uninit();
    // SAFETY: the function fills the timespec; this clock cannot fail.
    unsafe {
        native(CLOCK_MONOTONIC as i32, time.as_mut_ptr());
        time.assume_init()
    }
}

/// Host time: the host's `CLOCK_MONOTONIC`.
#[inline(never)]
pub(crate) fn host_now() -> HostTime {
    match host_timespec() {
        Some(time) => HostTime::from_ns(time.seconds * NS_PER_S + time.nanoseconds),
        None => host_now_otherwise(),
    }
}

/// Where the kernel has no function for it, or the one that it has shows the shifted time of a
/// namespace.
#[cold]
#[inline(never)]
fn host_now_otherwise() -> HostTime {
    let mut time = Timespec::default();
    match namespace::native_clock_gettime() {
        0 => {
            let args = [CLOCK_MONOTONIC, &raw mut time as usize, 0, 0, 0, 0];
            // SAFETY: `time` is a valid timespec.
            unsafe { arch::syscall(nr::CLOCK_GETTIME, args) };
        }
        // SAFETY: the address that the launcher took from the kernel's vDSO.
        native => time = unsafe { monotonic_by(native) },
    }
    let shown = time.seconds * NS_PER_S + time.nanoseconds;
    HostTime::from_ns(shown.saturating_sub(namespace::shift_ns(Epoch::Monotonic)))
}

#[inline]
pub(crate) fn now() -> ProgramTime {
    match own().is_ahead() {
        None => own().now(page(), host_now, relax),
        Some(_) => seen(&snapshot().0, host_now()),
    }
}

/// What the program sees of its time, where what it computes may take time.
#[inline]
pub(crate) fn seen(snapshot: &ProgramSnapshot, host: HostTime) -> ProgramTime {
    let now = snapshot.at(host);
    own().is_ahead().map_or(now, |ahead| seen_ahead(ahead, now, snapshot.clock.stands()))
}

#[cold]
#[inline(never)]
fn seen_ahead(ahead: &Ahead, now: ProgramTime, stands: bool) -> ProgramTime {
    const CLOCK_PROCESS_CPUTIME_ID: usize = 2;
    let Some(busy) = ahead.busy() else { return now };
    // SAFETY: takes nothing.
    let process = unsafe { arch::syscall(nr::GETPID, [0; 6]) };
    let mut used = Timespec::default();
    let args = [CLOCK_PROCESS_CPUTIME_ID, &raw mut used as usize, 0, 0, 0, 0];
    // SAFETY: `used` is a valid timespec.
    let answer = unsafe { arch::syscall(nr::CLOCK_GETTIME, args) };
    let is_known = answer == 0 && process == busy.process as isize;
    let used_ns = is_known.then(|| used.saturating_ns() as u64);
    ahead.never_back(busy.now(now.of_domain(), stands, used_ns)).of_program()
}

/// The time of the program at a host time that has passed.
#[inline(never)]
pub(crate) fn past(host: HostTime) -> Past {
    // SAFETY: mapped by the launcher in the page of the clock; consists of atomics.
    let history = unsafe { &*(HISTORY as *const History) };
    own().past(page(), history, host, relax)
}

/// What `CLOCK_REALTIME` of the program showed when the host's showed `ns`. A host whose time of
/// day is set between a stamp and this shows in it.
#[inline(never)]
pub(crate) fn realtime_of_stamp(ns: i64) -> i64 {
    let since_epoch = host_epoch();
    let stamped = HostTime::from_ns(ns.saturating_sub(since_epoch));
    past(stamped).time.as_ns().saturating_add(page().epoch(Epoch::Realtime))
}

/// How far the host's time of day is ahead of host time. It is read between two readings of host
/// time; if these lie far apart, as somebody had the processor meanwhile, once more.
fn host_epoch() -> i64 {
    let (mut best, mut nearest) = (0, i64::MAX);
    for _ in 0..4 {
        let before = host_now().as_ns();
        let between = host_time_of_day();
        let apart = host_now().as_ns() - before;
        if apart < nearest {
            (best, nearest) = (between - before - apart / 2, apart);
        }
        if apart < 1000 {
            break;
        }
    }
    best
}

/// The host's time of day, in nanoseconds since 1970.
pub(crate) fn host_time_of_day() -> i64 {
    const CLOCK_REALTIME: usize = 0;
    let mut time = Timespec::default();
    let args = [CLOCK_REALTIME, &raw mut time as usize, 0, 0, 0, 0];
    // SAFETY: `time` is a valid timespec.
    unsafe { arch::syscall(nr::CLOCK_GETTIME, args) };
    time.saturating_ns()
}

/// The time of the program at one moment, and the clock page on whose futex words it sleeps.
#[inline(never)]
pub(crate) fn snapshot() -> (ProgramSnapshot, &'static ClockPage) {
    own().snapshot(page(), relax)
}

/// What a clock of the program shows now, in nanoseconds of its own epoch.
#[inline(never)]
pub(crate) fn clock_ns(epoch: Epoch) -> i64 {
    if page().stands() {
        own().count_look();
    }
    now().as_ns().saturating_add(epoch_ns(epoch))
}

/// What a clock of this process shows at virtual zero.
#[inline(never)]
pub(crate) fn epoch_ns(epoch: Epoch) -> i64 {
    page().epoch(epoch).saturating_add(namespace::shift_ns(epoch))
}

/// The owner changes the page within a microsecond, unless the host takes its processor away:
/// then spinning, at a real-time priority above all, would keep it away for ever.
#[cold]
fn relax(tries: u32) {
    if tries < 200 {
        core::hint::spin_loop();
        return;
    }
    let nap = Timespec { seconds: 0, nanoseconds: 20_000 };
    // SAFETY: `nap` is a valid timespec.
    unsafe { arch::syscall(nr::NANOSLEEP, [&raw const nap as usize, 0, 0, 0, 0, 0]) };
}
