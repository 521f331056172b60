//! nanosleep(2) and clock_nanosleep(2).

use vtime::page::Epoch;

use super::{relative, timespec};
use crate::arch::{self, nr};
use crate::memory;
use crate::processor;
use crate::timespec::Timespec;
use crate::wait::{self, Deadline, EINTR};

const TIMER_ABSTIME: usize = 1;

pub(crate) fn nanosleep([request, remaining, ..]: [usize; 6]) -> Result<isize, isize> {
    sleep_until(relative(request)?, remaining)
}

pub(crate) fn clock_nanosleep(args: [usize; 6]) -> Result<isize, isize> {
    let [clockid, flags, request, remaining, ..] = args;
    if processor::is_processor_clock(clockid as i32) {
        return sleep_on_processor(args);
    }
    // Only these clocks can be slept on; the kernel has an error for the others.
    let epoch = match clockid as i32 {
        0 => Epoch::Realtime,
        1 => Epoch::Monotonic,
        7 => Epoch::Boottime,
        11 => Epoch::Tai,
        // SAFETY: the program's own arguments, which the kernel checks.
        _ => return Ok(unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, args) }),
    };
    if flags & TIMER_ABSTIME == 0 {
        return sleep_until(relative(request)?, remaining);
    }
    let until = timespec(request)?;
    Ok(wait::sleep(Deadline::at_ns(epoch, until.saturating_ns())))
}

/// Longest sleep on processor time of the host, after which it is looked how much of it counts.
const SLICE_NS_MAX: i64 = 50_000_000;

/// Sleeps until others have used processor time, which they may also do while the clock is stopped.
fn sleep_on_processor(args: [usize; 6]) -> Result<isize, isize> {
    let [clockid, flags, request, remaining, ..] = args;
    let absolute = flags & TIMER_ABSTIME != 0;
    // The kernel says whether this clock can be slept on.
    let none = Timespec::default();
    let probe = [clockid, 0, &raw const none as usize, 0, 0, 0];
    // SAFETY: a live timespec; null is allowed.
    let refused = unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, probe) };
    if refused < 0 && refused != EINTR {
        // SAFETY: the program's own arguments, which the kernel refuses in an order of its own.
        return Ok(unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, args) });
    }
    let asked = timespec(request)?.saturating_ns();
    let now = || processor::clock_ns(clockid as i32);
    let until = if absolute { asked } else { asked.saturating_add(now()?) };
    loop {
        let left = until.saturating_sub(now()?);
        if left <= 0 {
            return Ok(0);
        }
        let slice = Timespec::from_ns(processor::host_ns(left).clamp(1000, SLICE_NS_MAX));
        let args = [clockid, 0, &raw const slice as usize, 0, 0, 0];
        // SAFETY: a live timespec; null is allowed.
        let slept = unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, args) };
        if slept == EINTR && remaining != 0 && !absolute {
            let left = until.saturating_sub(now()?).max(0);
            memory::write(remaining, &Timespec::from_ns(left))?;
        }
        if slept < 0 {
            return Ok(slept);
        }
    }
}

pub(crate) fn sleep_until(deadline: Deadline, remaining: usize) -> Result<isize, isize> {
    let slept = wait::sleep(deadline);
    if slept == EINTR && remaining != 0 {
        memory::write(remaining, &Timespec::from_ns(deadline.left_ns()))?;
    }
    Ok(slept)
}
