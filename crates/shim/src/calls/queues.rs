//! Waiting for semaphores and message queues: semtimedop(2), mq_timedsend(3), mq_timedreceive(3).

use vtime::page::Epoch;

use super::{relative, timespec};
use crate::arch::{self, nr};
use crate::clock;
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
