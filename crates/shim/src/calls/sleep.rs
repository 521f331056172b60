//! nanosleep(2) and clock_nanosleep(2).

use vtime::page::Epoch;

use super::{relative, result, timespec};
use crate::arch::{self, nr};
use crate::clock::Timespec;
use crate::memory;
use crate::wait::{self, Deadline, EINTR};

const TIMER_ABSTIME: usize = 1;

/// nanosleep(2)
pub(crate) fn nanosleep([request, remaining, ..]: [usize; 6]) -> isize {
    result(sleep_relative(request, remaining))
}

/// clock_nanosleep(2)
pub(crate) fn clock_nanosleep(args: [usize; 6]) -> isize {
    let [clockid, flags, request, remaining, ..] = args;
    // Only these clocks can be slept on; the kernel has an error or CPU time for the others.
    let epoch = match clockid as i32 {
        0 => Epoch::Realtime,
        1 => Epoch::Monotonic,
        7 => Epoch::Boottime,
        11 => Epoch::Tai,
        // SAFETY: the program's own arguments, which the kernel checks.
        _ => return unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, args) },
    };
    if flags & TIMER_ABSTIME == 0 {
        return result(sleep_relative(request, remaining));
    }
    match timespec(request) {
        Ok(until) => wait::sleep(Deadline::at_ns(epoch, until.saturating_ns())),
        Err(error) => error,
    }
}

fn sleep_relative(request: usize, remaining: usize) -> Result<isize, isize> {
    sleep_until(relative(request)?, remaining)
}

/// As nanosleep(2).
pub(super) fn sleep_until(deadline: Deadline, remaining: usize) -> Result<isize, isize> {
    let slept = wait::sleep(deadline);
    if slept == EINTR && remaining != 0 {
        memory::write(remaining, &Timespec::from_ns(deadline.left_ns()))?;
    }
    Ok(slept)
}
