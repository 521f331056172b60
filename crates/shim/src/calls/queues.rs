//! Waiting for semaphores, message queues, and events of asynchronous input and output: semtimedop(2),
//! mq_timedsend(3), mq_timedreceive(3), io_getevents(2) and io_pgetevents(2).

use vtime::page::Epoch;
use vtime::time::NS_PER_S;

use super::{relative, timespec};
use crate::arch::{self, nr};
use crate::clock;
use crate::memory;
use crate::timespec::Timespec;
use crate::wait::{self, AfterHandler, Deadline, EAGAIN, ETIMEDOUT};

/// semtimedop(2) with a timeout.
///
/// EAGAIN means that the time is over or, at once, that an operation must not wait: so one that
/// comes before the native wait can be over is the program's.
pub(crate) fn semtimedop(args: [usize; 6]) -> Result<isize, isize> {
    relative(args[3]).map(|deadline| semop_until(args, deadline))
}

/// As semtimedop(2) with a timeout.
pub(crate) fn semop_until([set, operations, count, ..]: [usize; 6], deadline: Deadline) -> isize {
    wait::until(deadline, |host_ns| {
        let begun = clock::host_now();
        let time = Timespec::from_ns(host_ns);
        let args = [set, operations, count, &raw const time as usize, 0, 0];
        // SAFETY: the kernel checks the program's operations; the time is ours.
        let result = unsafe { arch::syscall(nr::SEMTIMEDOP, args) };
        let over = (clock::host_now() - begun).as_ns() >= host_ns;
        (result != EAGAIN || !over).then_some(result)
    })
    .unwrap_or(EAGAIN)
}

/// mq_timedsend(3) and mq_timedreceive(3) with a timeout: an absolute time of day, the only clock
/// that message queues know.
pub(crate) fn mq_timed(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    let [queue, message, length, priority, timeout, _] = args;
    timespec(timeout).map(|time| {
        let deadline = Deadline::at_ns(Epoch::Realtime, time.saturating_ns());
        wait::until_or_handler(deadline, AfterHandler::MayGoOn, |host_ns| {
            let until = Timespec::from_ns(clock::host_time_of_day().saturating_add(host_ns));
            let args = [queue, message, length, priority, &raw const until as usize, 0];
            // SAFETY: the kernel checks the program's message; the time is ours.
            let result = unsafe { arch::syscall(number, args) };
            (result != ETIMEDOUT).then_some(result)
        })
        .unwrap_or(ETIMEDOUT)
    })
}

/// Octets of a `struct io_event`.
const EVENT: usize = 32;

/// io_getevents(2) and io_pgetevents(2) with a timeout.
pub(crate) fn collect(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    span(args[4]).map(|deadline| collect_until(number, args, deadline))
}

/// The kernel takes any time here, without regard to overflows, and one that is negative for one
/// that never comes.
fn span(address: usize) -> Result<Deadline, isize> {
    // SAFETY: two numbers, which may have any value.
    let time: Timespec = unsafe { memory::read(address)? };
    let ns = match time.seconds.wrapping_mul(NS_PER_S).wrapping_add(time.nanoseconds) {
        _ if time.seconds >= i64::MAX / NS_PER_S => i64::MAX,
        ..0 => i64::MAX,
        ns => ns,
    };
    Ok(Deadline::after_ns(ns))
}

/// At least `least` events are waited for; those that came before the clock was held count too.
pub(crate) fn collect_until(
    number: i32,
    [context, least, most, events, _, mask]: [usize; 6],
    deadline: Deadline,
) -> isize {
    let mut got = 0usize;
    let last = wait::until(deadline, |host_ns| {
        let time = Timespec::from_ns(host_ns);
        let time = &raw const time as usize;
        let left = [least.saturating_sub(got), most.saturating_sub(got)];
        let args = [context, left[0], left[1], events + got * EVENT, time, mask];
        // SAFETY: the kernel checks the program's array; the time is ours.
        let result = unsafe { arch::syscall(number, args) };
        if result < 0 {
            return Some(result);
        }
        got += result as usize;
        (got >= least).then_some(0)
    });
    match last {
        Some(error) if error < 0 && got == 0 => error,
        _ => got as isize,
    }
}
