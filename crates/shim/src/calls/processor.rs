//! Processor time that calls report: getrusage(2), times(2), and of children wait4(2) and waitid(2).
//!
//! What a child has used, of which nothing was kept, is taken as used without a pause up to now.

use core::mem::MaybeUninit;

use vtime::time::NS_PER_S;

use super::result;
use crate::arch::{self, nr};
use crate::memory;
use crate::processor::{Class, key, lately, own, shown};

const RUSAGE_CHILDREN: i32 = -1;
const RUSAGE_SELF: i32 = 0;
const RUSAGE_THREAD: i32 = 1;

/// `struct rusage`, which begins with user and system time. It is too long to be moved or filled
/// without the run-time library of the compiler.
type Usage = MaybeUninit<[i64; 18]>;
/// User and system time, each a `struct timeval`.
type Times = [i64; 4];

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

/// wait4(2) and waitid(2) with a place for the usage of the child. What the kernel does not write to,
/// the program finds as it was: there is no child to report.
pub(crate) fn wait(number: i32, mut args: [usize; 6]) -> isize {
    const NOT_WRITTEN: i64 = -1;
    let mut usage = Usage::uninit();
    let times = usage.as_mut_ptr().cast::<Times>();
    // SAFETY: the times are the begin of the structure, which is ours.
    unsafe { times.write([NOT_WRITTEN; 4]) };
    let at = if number == nr::WAIT4 { 3 } else { 4 };
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
