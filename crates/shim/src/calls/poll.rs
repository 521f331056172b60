//! poll(2), ppoll(2), select(2) and pselect6(2).

use core::mem::MaybeUninit;

use super::{Mask, relative};
use crate::arch::{self, nr};
use crate::clock::Timespec;
use crate::vdso::Timeval;
use crate::wait::{self, Deadline, EINVAL};

/// # Safety
/// As the system call, with pointers that are valid. The timeout is finite.
pub(crate) unsafe fn poll([fds, count, timeout_ms, ..]: [usize; 6]) -> isize {
    let deadline = Deadline::after_ns(i64::from(timeout_ms as i32) * 1_000_000);
    // SAFETY: the caller vouches for the pointers.
    unsafe { poll_until(fds, count, deadline, &None) }
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn ppoll(args: [usize; 6]) -> isize {
    let [fds, count, timeout, mask, mask_size, _] = args;
    // SAFETY: the caller vouches for the pointers.
    let mask = unsafe { Mask::read(mask) };
    if timeout == 0 {
        let args = [fds, count, 0, Mask::address(&mask), mask_size, 0];
        // SAFETY: the program's own call, with another mask.
        return unsafe { arch::syscall(nr::PPOLL, args) };
    }
    // SAFETY: the caller vouches for the pointer.
    let deadline = match unsafe { relative(timeout) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    // SAFETY: the caller vouches for the pointers.
    let result = unsafe { poll_until(fds, count, deadline, &mask) };
    // The kernel writes the time left back, and the C library gives it a copy to write to.
    // SAFETY: as above.
    unsafe { *(timeout as *mut Timespec) = Timespec::from_ns(deadline.left_ns()) };
    result
}

/// # Safety
/// `fds` must be an array of `count` pollfd.
unsafe fn poll_until(fds: usize, count: usize, deadline: Deadline, mask: &Option<Mask>) -> isize {
    wait::until(deadline, |host_ns| {
        let timeout = Timespec::from_ns(host_ns);
        let args = [fds, count, &raw const timeout as usize, Mask::address(mask), 8, 0];
        // SAFETY: the caller vouches for the array; the rest is ours.
        let result = unsafe { arch::syscall(nr::PPOLL, args) };
        (result != 0).then_some(result)
    })
    .unwrap_or(0)
}

/// # Safety
/// As the system call, with pointers that are valid. A timeout is given.
pub(crate) unsafe fn select(args: [usize; 6]) -> isize {
    let [count, read, write, except, timeout, _] = args;
    // SAFETY: the caller vouches for the pointer.
    let span = unsafe { &mut *(timeout as *mut Timeval) };
    if span.seconds < 0 || span.microseconds < 0 {
        return EINVAL;
    }
    // The kernel takes any number of microseconds here.
    let ns = span.seconds.saturating_mul(1_000_000_000);
    let deadline = Deadline::after_ns(ns.saturating_add(span.microseconds.saturating_mul(1000)));
    // SAFETY: the caller vouches for the sets.
    let result = unsafe { select_until(count, [read, write, except], deadline, &None) };
    let left = Timespec::from_ns(deadline.left_ns());
    *span = Timeval { seconds: left.seconds, microseconds: left.nanoseconds / 1000 };
    result
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn pselect6(args: [usize; 6]) -> isize {
    let [count, read, write, except, timeout, mask] = args;
    // The sixth argument points to the address and the size of a mask.
    // SAFETY: the caller vouches for the pointers.
    let mask = if mask == 0 { None } else { unsafe { Mask::read(*(mask as *const usize)) } };
    if timeout == 0 {
        let mask = [Mask::address(&mask), 8];
        let args = [count, read, write, except, 0, mask.as_ptr() as usize];
        // SAFETY: the program's own call, with another mask.
        return unsafe { arch::syscall(nr::PSELECT6, args) };
    }
    // SAFETY: the caller vouches for the pointer.
    let deadline = match unsafe { relative(timeout) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    // SAFETY: the caller vouches for the sets.
    let result = unsafe { select_until(count, [read, write, except], deadline, &mask) };
    // SAFETY: as above; the kernel writes the time left back.
    unsafe { *(timeout as *mut Timespec) = Timespec::from_ns(deadline.left_ns()) };
    result
}

/// Words of the largest descriptor set that is kept over a wait: 4096 descriptors.
const SET_WORDS: usize = 64;

/// A select that times out empties the sets, and this may have to try again: so it keeps what
/// was asked for.
///
/// # Safety
/// Each of `sets` must be null or a descriptor set for `count` descriptors.
unsafe fn select_until(
    count: usize,
    sets: [usize; 3],
    deadline: Deadline,
    mask: &Option<Mask>,
) -> isize {
    let words = (count as i32).max(0).unsigned_abs() as usize;
    let words = words.div_ceil(64);
    if words > SET_WORDS {
        return EINVAL;
    }
    // Not filled with zeros: what is not written is not read.
    let mut asked = [[MaybeUninit::<u64>::uninit(); SET_WORDS]; 3];
    for (copy, set) in asked.iter_mut().zip(sets) {
        for (word, kept) in copy.iter_mut().enumerate().take(words) {
            if set != 0 {
                // SAFETY: the caller vouches for the set, in whole words as the kernel uses it.
                kept.write(unsafe { *(set as *const u64).add(word) });
            }
        }
    }
    let mut first = true;
    wait::until(deadline, |host_ns| {
        if !first {
            for (copy, set) in asked.iter().zip(sets) {
                for (word, kept) in copy.iter().enumerate().take(words) {
                    if set != 0 {
                        // SAFETY: as above, and written in the loop above.
                        unsafe { *(set as *mut u64).add(word) = kept.assume_init() };
                    }
                }
            }
        }
        first = false;
        let timeout = Timespec::from_ns(host_ns);
        let mask = [Mask::address(mask), 8];
        let [read, write, except] = sets;
        let args =
            [count, read, write, except, &raw const timeout as usize, mask.as_ptr() as usize];
        // SAFETY: the caller vouches for the sets; the rest is ours.
        let result = unsafe { arch::syscall(nr::PSELECT6, args) };
        (result != 0).then_some(result)
    })
    .unwrap_or(0)
}
