//! nanosleep(2) and clock_nanosleep(2).

use vtime::page::Epoch;

use super::relative;
use crate::arch::{self, nr};
use crate::clock::Timespec;
use crate::wait::{self, Deadline, EINTR, EINVAL};

const TIMER_ABSTIME: usize = 1;

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn nanosleep([request, remaining, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointers.
    unsafe { sleep_relative(request, remaining) }
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn clock_nanosleep(args: [usize; 6]) -> isize {
    let [clockid, flags, request, remaining, ..] = args;
    // Only these clocks can be slept on; the kernel has an error or CPU time for the others.
    let epoch = match clockid as i32 {
        0 => Epoch::Realtime,
        1 => Epoch::Monotonic,
        7 => Epoch::Boottime,
        11 => Epoch::Tai,
        // SAFETY: the program's own arguments.
        _ => return unsafe { arch::syscall(nr::CLOCK_NANOSLEEP, args) },
    };
    if flags & TIMER_ABSTIME == 0 {
        // SAFETY: the caller vouches for the pointers.
        return unsafe { sleep_relative(request, remaining) };
    }
    // SAFETY: the caller vouches for the pointer.
    let until = unsafe { *(request as *const Timespec) };
    if !until.is_valid() {
        return EINVAL;
    }
    wait::sleep(Deadline::at_ns(epoch, until.saturating_ns()))
}

/// # Safety
/// `request` must point to a timespec, `remaining` likewise or be null.
unsafe fn sleep_relative(request: usize, remaining: usize) -> isize {
    // SAFETY: the caller vouches for the pointer.
    let deadline = match unsafe { relative(request) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    let result = wait::sleep(deadline);
    if result == EINTR && remaining != 0 {
        // SAFETY: the caller vouches for the pointer.
        unsafe { *(remaining as *mut Timespec) = Timespec::from_ns(deadline.left_ns()) };
    }
    result
}
