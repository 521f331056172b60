//! epoll_wait(2), epoll_pwait(2) and epoll_pwait2(2).

use super::{Mask, relative};
use crate::arch::{self, nr};
use crate::timespec::Timespec;
use crate::wait::{self, Deadline};

#[derive(Clone, Copy)]
pub(crate) struct Events {
    pub(crate) epoll: usize,
    pub(crate) events: usize,
    pub(crate) count: usize,
}

/// epoll_wait(2) with a finite timeout.
pub(crate) fn epoll_wait([epoll, events, count, timeout_ms, ..]: [usize; 6]) -> isize {
    wait_ms(Events { epoll, events, count }, timeout_ms, &None)
}

pub(crate) fn epoll_pwait(args: [usize; 6]) -> Result<isize, isize> {
    let [epoll, events, count, timeout_ms, mask, mask_size] = args;
    let events = Events { epoll, events, count };
    Mask::read(mask, mask_size).map(|mask| wait_ms(events, timeout_ms, &mask))
}

pub(crate) fn epoll_pwait2(args: [usize; 6]) -> Result<isize, isize> {
    let [epoll, events, count, timeout, mask, mask_size] = args;
    let events = Events { epoll, events, count };
    let mask = Mask::read(mask, mask_size)?;
    if timeout == 0 {
        return Ok(native_ms(events, -1, &mask));
    }
    Ok(wait_until(events, relative(timeout)?, &mask))
}

fn wait_ms(events: Events, timeout_ms: usize, mask: &Option<Mask>) -> isize {
    let timeout_ms = timeout_ms as i32;
    if timeout_ms <= 0 {
        return native_ms(events, timeout_ms, mask);
    }
    wait_until(events, Deadline::after_ns(i64::from(timeout_ms) * 1_000_000), mask)
}

/// As epoll_pwait2(2) with a timeout.
pub(crate) fn wait_until(events: Events, deadline: Deadline, mask: &Option<Mask>) -> isize {
    wait::until(deadline, |host_ns| {
        // Without any time to wait the kernel does not look for signals that only this mask lets
        // through.
        let timeout = Timespec::from_ns(host_ns.max(i64::from(mask.is_some())));
        let timeout = &raw const timeout as usize;
        let Events { epoll, events, count } = events;
        let args = [epoll, events, count, timeout, Mask::address(mask), 8];
        // SAFETY: the kernel checks the program's array; timeout and mask are ours. Whole
        // milliseconds, which the older calls take, would be too coarse for what is left.
        let result = unsafe { arch::syscall(nr::EPOLL_PWAIT2, args) };
        (result != 0).then_some(result)
    })
    .unwrap_or(0)
}

fn native_ms(events: Events, timeout_ms: i32, mask: &Option<Mask>) -> isize {
    let Events { epoll, events, count } = events;
    let args = [epoll, events, count, timeout_ms as usize, Mask::address(mask), 8];
    // SAFETY: the kernel checks the program's array; the mask is ours.
    unsafe { arch::syscall(nr::EPOLL_PWAIT, args) }
}
