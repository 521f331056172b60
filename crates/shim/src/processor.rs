//! Processor time in virtual time: the clocks of processes and threads.
//!
//! The kernel counts in host time; [`vtime::processor`] makes virtual time of it, and keeps what it
//! has shown in the page of the program.

use vtime::ahead::Ahead;
use vtime::history::share;
use vtime::image::METERS;
use vtime::processor::{Meters, Now};
use vtime::{HostTime, ProgramSpan};

use crate::arch::{self, nr};
use crate::clock;
use crate::pages;
use crate::timespec::Timespec;

const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
/// Low bits of a clock that is made of a process or thread: a thread's; all of user and system
/// time; and those of a clock that is made of a descriptor.
const OF_THREAD: i32 = 4;
const OF_ALL: i32 = 2;
const OF_DESCRIPTOR: i32 = 3;

pub(crate) fn is_processor_clock(clockid: i32) -> bool {
    match clockid {
        CLOCK_PROCESS_CPUTIME_ID | CLOCK_THREAD_CPUTIME_ID => true,
        _ => clockid < 0 && clockid & 7 != OF_DESCRIPTOR,
    }
}

/// clock_gettime(2) of such a clock, in nanoseconds.
pub(crate) fn clock_ns(clockid: i32) -> Result<i64, isize> {
    let mut used = Timespec::default();
    let args = [clockid as usize, &raw mut used as usize, 0, 0, 0, 0];
    // SAFETY: `used` is a valid timespec.
    let answer = unsafe { arch::syscall(nr::CLOCK_GETTIME, args) };
    if answer < 0 {
        return Err(answer);
    }
    Ok(shown(key(Class::Clock, absolute(clockid)), used.saturating_ns()))
}

/// The name of a clock that does not depend on who asks.
fn absolute(clockid: i32) -> i32 {
    let of_thread = clockid == CLOCK_THREAD_CPUTIME_ID || clockid < 0 && clockid & OF_THREAD != 0;
    let (which, named) = match clockid {
        CLOCK_PROCESS_CPUTIME_ID => (OF_ALL, 0),
        CLOCK_THREAD_CPUTIME_ID => (OF_ALL | OF_THREAD, 0),
        _ => (clockid & 7, !(clockid >> 3)),
    };
    let number = match (named, of_thread) {
        (0, false) => own(nr::GETPID),
        (0, true) => own(nr::GETTID),
        (named, _) => named,
    };
    !number << 3 | which
}

#[derive(Clone, Copy)]
pub(crate) enum Class {
    Clock = 1,
    User,
    System,
    UserOfChildren,
    SystemOfChildren,
    UserOfThread,
    SystemOfThread,
}

pub(crate) fn key(class: Class, number: i32) -> u64 {
    (class as u64) << 32 | u64::from(number as u32)
}

pub(crate) fn own(call: i32) -> i32 {
    // SAFETY: takes nothing.
    unsafe { arch::syscall(call, [0; 6]) as i32 }
}

/// What the program is shown for so much processor time of the host.
#[inline(never)]
pub(crate) fn shown(key: u64, used: i64) -> i64 {
    // On the processor of its node it takes so much, whether the clock stands or runs meanwhile.
    if let Some(busy) = pages::own().is_ahead().and_then(Ahead::busy) {
        return busy.takes_ns(used as u64);
    }
    // SAFETY: mapped by the launcher, zero at first; consists of atomics.
    let meters = unsafe { &*(METERS as *const Meters) };
    let (snapshot, _) = clock::snapshot();
    let now = Now::new(clock::host_now(), snapshot);
    meters.read(key, &now, used, || lately(used))
}

/// How much processor time of the host is this much of the program's, if nothing changes; more
/// than can be while the clock is stopped.
pub(crate) fn host_ns(ns: i64) -> i64 {
    let (snapshot, _) = clock::snapshot();
    let (host, later) = (clock::host_now(), ProgramSpan::from_ns(ns));
    snapshot.reaches(snapshot.at(host) + later).map_or(i64::MAX, |then| (then - host).as_ns())
}

/// Processor time used without a pause up to now.
#[inline(never)]
pub(crate) fn lately(used: i64) -> i64 {
    let host = clock::host_now();
    let since = clock::past(HostTime::from_ns(host.as_ns().saturating_sub(used)));
    let passed = clock::past(host).time - since.time;
    share(passed.as_ns(), used, (host - since.host).as_ns())
}
