//! Futexes with a timeout: futex(2), and the calls futex_waitv and futex_wait.
//!
//! Waits go on with an absolute host time, so that the remaining semantics are the kernel's. A
//! wait that is asked again after a hold compares the value again: who changed it meanwhile
//! makes it answer EAGAIN, which every user of futexes must expect. The kernel asks again in the same
//! way when a signal comes, also for a waiter that was requeued already.

use vtime::page::Epoch;

use super::timespec;
use crate::arch::{self, nr};
use crate::clock::{self, CLOCK_MONOTONIC};
use crate::namespace::native_timespec;
use crate::wait::{self, AfterHandler, Deadline, EINVAL, ETIMEDOUT};

const WAIT: usize = 0;
const LOCK_PI: usize = 6;
const WAIT_BITSET: usize = 9;
const WAIT_REQUEUE_PI: usize = 11;
const LOCK_PI2: usize = 13;
const PRIVATE: usize = 128;
const CLOCK_REALTIME: usize = 256;
pub(crate) const MATCH_ANY: usize = 0xffff_ffff;

pub(crate) fn futex(args: [usize; 6]) -> Result<isize, isize> {
    let [word, operation, value, timeout, second, bitset] = args;
    let time = timespec(timeout)?;
    let command = operation & !(PRIVATE | CLOCK_REALTIME);
    let epoch = match (command, operation & CLOCK_REALTIME) {
        (WAIT, 0) => None,
        (WAIT_BITSET | LOCK_PI2 | WAIT_REQUEUE_PI, 0) => Some(Epoch::Monotonic),
        (WAIT_BITSET | LOCK_PI2 | WAIT_REQUEUE_PI, _) | (LOCK_PI, 0) => Some(Epoch::Realtime),
        // What the kernel refuses.
        // SAFETY: the program's own arguments, which the kernel checks.
        _ => return Ok(unsafe { arch::syscall(nr::FUTEX, args) }),
    };
    let deadline = match epoch {
        None => Deadline::after_ns(time.saturating_ns()),
        Some(epoch) => Deadline::at_ns(epoch, time.saturating_ns()),
    };
    let bitset = if command == WAIT { MATCH_ANY } else { bitset };
    Ok(futex_until([word, operation, value, 0, second, bitset], deadline))
}

/// As futex(2) with a timeout, for an operation that has a bit set or ignores it.
pub(crate) fn futex_until(
    [word, operation, value, _, second, bitset]: [usize; 6],
    deadline: Deadline,
) -> isize {
    let (native, after) = match operation & !(PRIVATE | CLOCK_REALTIME) {
        LOCK_PI | LOCK_PI2 => (LOCK_PI2, AfterHandler::GoesOn),
        WAIT_REQUEUE_PI => (WAIT_REQUEUE_PI, AfterHandler::Ends),
        _ => (WAIT_BITSET, AfterHandler::Ends),
    };
    until(deadline, after, |until| {
        let args = [word, native | operation & PRIVATE, value, until, second, bitset];
        // SAFETY: the kernel checks the program's word; the time is ours.
        unsafe { arch::syscall(nr::FUTEX, args) }
    })
}

pub(crate) fn futex_waitv(args: [usize; 6]) -> Result<isize, isize> {
    let [words, count, flags, timeout, clockid, _] = args;
    absolute(timeout, clockid).map(|deadline| {
        until(deadline, AfterHandler::MayGoOn, |until| {
            let args = [words, count, flags, until, CLOCK_MONOTONIC, 0];
            // SAFETY: the kernel checks the program's words; the time is ours.
            unsafe { arch::syscall(nr::FUTEX_WAITV, args) }
        })
    })
}

pub(crate) fn futex_wait(args: [usize; 6]) -> Result<isize, isize> {
    let [word, value, mask, flags, timeout, clockid] = args;
    absolute(timeout, clockid).map(|deadline| {
        until(deadline, AfterHandler::MayGoOn, |until| {
            let args = [word, value, mask, flags, until, CLOCK_MONOTONIC];
            // SAFETY: the kernel checks the program's word; the time is ours.
            unsafe { arch::syscall(nr::FUTEX_WAIT, args) }
        })
    })
}

/// A deadline on one of the two clocks that futexes know.
fn absolute(timeout: usize, clockid: usize) -> Result<Deadline, isize> {
    let epoch = match clockid as i32 {
        0 => Epoch::Realtime,
        1 => Epoch::Monotonic,
        _ => return Err(EINVAL),
    };
    timespec(timeout).map(|time| Deadline::at_ns(epoch, time.saturating_ns()))
}

/// Waits with a call that takes the address of an absolute host time.
fn until(deadline: Deadline, after: AfterHandler, call: impl Fn(usize) -> isize) -> isize {
    wait::until_or_handler(deadline, after, |host_ns| {
        let until = native_timespec(clock::host_now().as_ns().saturating_add(host_ns));
        let result = call(&raw const until as usize);
        (result != ETIMEDOUT).then_some(result)
    })
    .unwrap_or(ETIMEDOUT)
}
