//! Processor time: the clocks of processes and threads, getrusage(2), times(2), and what wait4(2)
//! and waitid(2) tell of children.
//!
//! The kernel counts in host time; [`vtime::processor`] makes virtual time of it, and keeps what it
//! has shown in the page of the program. What a child has used, of which nothing was kept, is taken
//! as used without a pause up to now.

use core::mem::MaybeUninit;

use vtime::history::share;
use vtime::image::METERS;
use vtime::processor::{Meters, Now};
use vtime::time::NS_PER_S;
use vtime::{HostTime, ProgramSpan};

use super::result;
use crate::arch::{self, nr};
use crate::clock::{self, Timespec};
use crate::memory;

const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
/// Low bits of a clock that is made of a process or thread: a thread's; all of user and system
/// time; and those of a clock that is made of a descriptor.
const OF_THREAD: i32 = 4;
const OF_ALL: i32 = 2;
const OF_DESCRIPTOR: i32 = 3;

const RUSAGE_CHILDREN: i32 = -1;
const RUSAGE_SELF: i32 = 0;
const RUSAGE_THREAD: i32 = 1;

/// `struct rusage`, which begins with user and system time. It is too long to be moved or filled
/// without the run-time library of the compiler.
type Usage = MaybeUninit<[i64; 18]>;
/// User and system time, each a `struct timeval`.
type Times = [i64; 4];

/// Whether a clock counts processor time.
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

/// What a meter is of.
#[derive(Clone, Copy)]
enum Class {
    Clock = 1,
    User,
    System,
    UserOfChildren,
    SystemOfChildren,
    UserOfThread,
    SystemOfThread,
}

fn key(class: Class, number: i32) -> u64 {
    (class as u64) << 32 | u64::from(number as u32)
}

fn own(call: i32) -> i32 {
    // SAFETY: takes nothing.
    unsafe { arch::syscall(call, [0; 6]) as i32 }
}

/// What the program is shown for so much processor time of the host.
#[inline(never)]
fn shown(key: u64, used: i64) -> i64 {
    // SAFETY: mapped by the launcher, zero at first; consists of atomics.
    let meters = unsafe { &*(METERS as *const Meters) };
    let (snapshot, _) = clock::snapshot();
    let now = Now::new(clock::host_now(), snapshot);
    meters.read(key, &now, used, || lately(used))
}

/// How much processor time of the host is this much of the program's, if nothing changes; more
/// than can be while the clock stands.
pub(crate) fn host_ns(ns: i64) -> i64 {
    let (snapshot, _) = clock::snapshot();
    let (host, later) = (clock::host_now(), ProgramSpan::from_ns(ns));
    snapshot.reaches(snapshot.at(host) + later).map_or(i64::MAX, |then| (then - host).as_ns())
}

/// Processor time used without a pause up to now.
#[inline(never)]
fn lately(used: i64) -> i64 {
    let host = clock::host_now();
    let since = clock::past(HostTime::from_ns(host.as_ns().saturating_sub(used)));
    let passed = clock::past(host).time - since.time;
    share(passed.as_ns(), used, (host - since.host).as_ns())
}

/// getrusage(2)
pub(crate) fn getrusage(args: [usize; 6]) -> isize {
    let [who, place, ..] = args;
    // SAFETY: the program's own call, which the kernel checks.
    let answer = unsafe { arch::syscall(nr::GETRUSAGE, args) };
    if answer < 0 {
        return answer;
    }
    // SAFETY: numbers, which may have any value.
    let counted = unsafe { memory::read::<Times>(place) };
    result(
        counted.and_then(|counted| memory::write(place, &of(who as i32, counted)).map(|()| answer)),
    )
}

/// What is shown for what the kernel counts.
#[inline(never)]
fn of(who: i32, counted: Times) -> Times {
    let (user, system, number) = match who {
        RUSAGE_CHILDREN => (Class::UserOfChildren, Class::SystemOfChildren, own(nr::GETPID)),
        RUSAGE_THREAD => (Class::UserOfThread, Class::SystemOfThread, own(nr::GETTID)),
        _ => (Class::User, Class::System, own(nr::GETPID)),
    };
    let [a, b, c, d] = counted;
    let [a, b] = replaced([a, b], |ns| shown(key(user, number), ns));
    let [c, d] = replaced([c, d], |ns| shown(key(system, number), ns));
    [a, b, c, d]
}

/// Another `struct timeval` for one.
fn replaced(time: [i64; 2], shown: impl FnOnce(i64) -> i64) -> [i64; 2] {
    let micro = shown(ns(time)) / 1000;
    [micro / 1_000_000, micro % 1_000_000]
}

fn ns([seconds, microseconds]: [i64; 2]) -> i64 {
    seconds.saturating_mul(NS_PER_S).saturating_add(microseconds * 1000)
}

/// User and system time of the process and of its children, in nanoseconds, as times(2) has them.
pub(crate) fn used() -> [i64; 4] {
    let usage = |who: i32| {
        let mut usage = Usage::uninit();
        let args = [who as usize, usage.as_mut_ptr() as usize, 0, 0, 0, 0];
        // SAFETY: the kernel fills the structure; asking for these cannot fail.
        let counted = unsafe {
            arch::syscall(nr::GETRUSAGE, args);
            usage.as_ptr().cast::<Times>().read()
        };
        let [a, b, c, d] = of(who, counted);
        [ns([a, b]), ns([c, d])]
    };
    let ([user, system], [user_of_children, system_of_children]) =
        (usage(RUSAGE_SELF), usage(RUSAGE_CHILDREN));
    [user, system, user_of_children, system_of_children]
}

/// wait4(2) with a place for the usage of the child.
pub(crate) fn wait4(args: [usize; 6]) -> isize {
    wait_by(nr::WAIT4, args, 3)
}

/// waitid(2) with a place for the usage of the child.
pub(crate) fn waitid(args: [usize; 6]) -> isize {
    wait_by(nr::WAITID, args, 4)
}

/// The place is argument number `at`. What the kernel does not write to, the program finds as it
/// was: there is no child to tell of.
fn wait_by(number: i32, mut args: [usize; 6], at: usize) -> isize {
    const NOT_WRITTEN: i64 = -1;
    let mut usage = Usage::uninit();
    let times = usage.as_mut_ptr().cast::<Times>();
    // SAFETY: the times are the begin of the structure, which is ours.
    unsafe { times.write([NOT_WRITTEN; 4]) };
    let place = core::mem::replace(&mut args[at], times as usize);
    // SAFETY: the program's own call, which the kernel checks, but for the usage, which is ours.
    let answer = unsafe { arch::syscall(number, args) };
    // SAFETY: written above, or by the kernel since.
    let [a, b, c, d] = unsafe { times.read() };
    if a == NOT_WRITTEN {
        return answer;
    }
    let ([a, b], [c, d]) = (replaced([a, b], lately), replaced([c, d], lately));
    // SAFETY: as above.
    unsafe { times.write([a, b, c, d]) };
    result(memory::write(place, &usage).map(|()| answer))
}
