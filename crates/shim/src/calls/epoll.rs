//! epoll_wait(2), epoll_pwait(2) and epoll_pwait2(2).

use super::{Mask, relative};
use crate::arch::{self, nr};
use crate::clock::Timespec;
use crate::wait::{self, Deadline};

/// # Safety
/// As the system call, with pointers that are valid. The timeout is finite.
pub(crate) unsafe fn epoll_wait([epoll, events, count, timeout_ms, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointers.
    unsafe { wait_ms(epoll, events, count, timeout_ms, &None) }
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn epoll_pwait(args: [usize; 6]) -> isize {
    let [epoll, events, count, timeout_ms, mask, _] = args;
    // SAFETY: the caller vouches for the pointers.
    unsafe { wait_ms(epoll, events, count, timeout_ms, &Mask::read(mask)) }
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn epoll_pwait2(args: [usize; 6]) -> isize {
    let [epoll, events, count, timeout, mask, _] = args;
    // SAFETY: the caller vouches for the pointers.
    let mask = unsafe { Mask::read(mask) };
    if timeout == 0 {
        // SAFETY: the caller vouches for the pointers.
        return unsafe { native(epoll, events, count, -1, &mask) };
    }
    // SAFETY: the caller vouches for the pointers.
    match unsafe { relative(timeout) } {
        // SAFETY: the caller vouches for the pointers.
        Ok(deadline) => unsafe { wait_until(epoll, events, count, deadline, &mask) },
        Err(error) => error,
    }
}

/// # Safety
/// `events` must have room for `count` events.
unsafe fn wait_ms(
    epoll: usize,
    events: usize,
    count: usize,
    timeout_ms: usize,
    mask: &Option<Mask>,
) -> isize {
    let timeout_ms = timeout_ms as i32;
    if timeout_ms <= 0 {
        // SAFETY: the caller vouches for the array.
        return unsafe { native(epoll, events, count, timeout_ms, mask) };
    }
    let deadline = Deadline::after_ns(i64::from(timeout_ms) * 1_000_000);
    // SAFETY: the caller vouches for the array.
    unsafe { wait_until(epoll, events, count, deadline, mask) }
}

/// # Safety
/// `events` must have room for `count` events.
unsafe fn wait_until(
    epoll: usize,
    events: usize,
    count: usize,
    deadline: Deadline,
    mask: &Option<Mask>,
) -> isize {
    wait::until(deadline, |host_ns| {
        // Without any time to wait the kernel does not look for signals that only this mask lets
        // through.
        let timeout = Timespec::from_ns(host_ns.max(i64::from(mask.is_some())));
        let timeout = &raw const timeout as usize;
        let args = [epoll, events, count, timeout, Mask::address(mask), 8];
        // SAFETY: the caller vouches for the array; timeout and mask are ours. Whole milliseconds,
        // which the older calls take, would be too coarse for what is left after a hold.
        let result = unsafe { arch::syscall(nr::EPOLL_PWAIT2, args) };
        (result != 0).then_some(result)
    })
    .unwrap_or(0)
}

/// # Safety
/// `events` must have room for `count` events.
unsafe fn native(
    epoll: usize,
    events: usize,
    count: usize,
    timeout_ms: i32,
    mask: &Option<Mask>,
) -> isize {
    let args = [epoll, events, count, timeout_ms as usize, Mask::address(mask), 8];
    // SAFETY: the caller vouches for the array; the mask is ours.
    unsafe { arch::syscall(nr::EPOLL_PWAIT, args) }
}
