//! poll(2), ppoll(2), select(2), pselect6(2), epoll_wait(2), epoll_pwait(2) and epoll_pwait2(2).

use core::mem::MaybeUninit;

use super::{Mask, relative, result, write_left};
use crate::arch::{self, nr};
use crate::memory;
use crate::timespec::{Timespec, Timeval};
use crate::wait::{self, Deadline, EINTR, EINVAL};

/// poll(2) with a finite timeout.
pub(crate) fn poll([fds, count, timeout_ms, ..]: [usize; 6]) -> isize {
    let deadline = Deadline::after_ns(i64::from(timeout_ms as i32) * 1_000_000);
    poll_until(fds, count, deadline, &None)
}

pub(crate) fn ppoll(args: [usize; 6]) -> Result<isize, isize> {
    let [fds, count, timeout, mask, mask_size, _] = args;
    let mask = Mask::read(mask, mask_size)?;
    if timeout == 0 {
        let args = [fds, count, 0, Mask::address(&mask), mask_size, 0];
        // SAFETY: the program's own call, with another mask.
        return Ok(unsafe { arch::syscall(nr::PPOLL, args) });
    }
    let deadline = relative(timeout)?;
    let ready = poll_until(fds, count, deadline, &mask);
    // The kernel writes the time left back; the C library gives it a copy to write to.
    write_left(timeout, deadline);
    Ok(ready)
}

/// As ppoll(2) with a timeout.
pub(crate) fn poll_until(
    fds: usize,
    count: usize,
    deadline: Deadline,
    mask: &Option<Mask>,
) -> isize {
    wait::until(deadline, |host_ns| {
        let timeout = Timespec::from_ns(host_ns);
        let args = [fds, count, &raw const timeout as usize, Mask::address(mask), 8, 0];
        // SAFETY: the kernel checks the program's array; the rest is ours.
        let result = unsafe { arch::syscall(nr::PPOLL, args) };
        (result != 0).then_some(result)
    })
    .unwrap_or(0)
}

/// select(2) with a timeout.
pub(crate) fn select(args: [usize; 6]) -> Result<isize, isize> {
    let [count, read, write, except, timeout, _] = args;
    // SAFETY: two numbers, which may have any value.
    let span: Timeval = unsafe { memory::read(timeout)? };
    if span.seconds < 0 || span.microseconds < 0 {
        return Err(EINVAL);
    }
    let deadline = Deadline::after_ns(span.saturating_ns());
    let ready = result(select_until(count, [read, write, except], deadline, &None));
    if ready == memory::EFAULT || ready == EINVAL {
        return Ok(ready);
    }
    let _ = memory::write(timeout, &Timeval::from(Timespec::from_ns(deadline.left_ns())));
    Ok(ready)
}

pub(crate) fn pselect6(args: [usize; 6]) -> Result<isize, isize> {
    let [count, read, write, except, timeout, mask] = args;
    // The sixth argument points to the address and the size of a mask.
    let [mask, mask_size] = match mask {
        0 => [0; 2],
        // SAFETY: numbers, which may have any value.
        mask => unsafe { memory::read(mask) }?,
    };
    let mask = Mask::read(mask, mask_size)?;
    if timeout == 0 {
        let mask = [Mask::address(&mask), 8];
        let args = [count, read, write, except, 0, mask.as_ptr() as usize];
        // SAFETY: the program's own call, with another mask.
        return Ok(unsafe { arch::syscall(nr::PSELECT6, args) });
    }
    let deadline = relative(timeout)?;
    let ready = result(select_until(count, [read, write, except], deadline, &mask));
    write_left(timeout, deadline);
    Ok(ready)
}

/// Words of the largest descriptor set that is kept over a wait: 4096 descriptors.
const SET_WORDS: usize = 64;

/// A select that times out empties the sets, and this may have to try again: so it keeps what
/// was asked for.
fn select_until(
    count: usize,
    sets: [usize; 3],
    deadline: Deadline,
    mask: &Option<Mask>,
) -> Result<isize, isize> {
    let words = (count as i32).max(0).unsigned_abs() as usize;
    let words = words.div_ceil(64);
    if words > SET_WORDS {
        return Err(EINVAL);
    }
    // Not filled with zeros: what is not written is not read.
    let mut asked = [[MaybeUninit::<u64>::uninit(); SET_WORDS]; 3];
    for (copy, set) in asked.iter_mut().zip(sets).filter(|(_, set)| *set != 0) {
        for (word, kept) in copy.iter_mut().enumerate().take(words) {
            // SAFETY: a number, which may have any value. The kernel uses whole words too.
            kept.write(unsafe { memory::read(set + word * size_of::<u64>())? });
        }
    }
    let restore = || {
        for (copy, set) in asked.iter().zip(sets).filter(|(_, set)| *set != 0) {
            for (word, kept) in copy.iter().enumerate().take(words) {
                // SAFETY: written in the loop above.
                let kept = unsafe { kept.assume_init() };
                let _ = memory::write(set + word * size_of::<u64>(), &kept);
            }
        }
    };
    let mut first = true;
    let ready = wait::until(deadline, |host_ns| {
        if !first {
            restore();
        }
        first = false;
        let timeout = Timespec::from_ns(host_ns);
        let mask = [Mask::address(mask), 8];
        let [read, write, except] = sets;
        let timeout = &raw const timeout as usize;
        let args = [count, read, write, except, timeout, mask.as_ptr() as usize];
        // SAFETY: the kernel checks the program's sets; the rest is ours.
        let result = unsafe { arch::syscall(nr::PSELECT6, args) };
        (result != 0).then_some(result)
    });
    if ready == Some(EINTR) {
        // It may have been emptied by a look, and the kernel leaves it as it is.
        restore();
    }
    Ok(ready.unwrap_or(0))
}

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
    Ok(epoll_until(events, relative(timeout)?, &mask))
}

fn wait_ms(events: Events, timeout_ms: usize, mask: &Option<Mask>) -> isize {
    let timeout_ms = timeout_ms as i32;
    if timeout_ms <= 0 {
        return native_ms(events, timeout_ms, mask);
    }
    epoll_until(events, Deadline::after_ns(i64::from(timeout_ms) * 1_000_000), mask)
}

/// As epoll_pwait2(2) with a timeout.
pub(crate) fn epoll_until(events: Events, deadline: Deadline, mask: &Option<Mask>) -> isize {
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
