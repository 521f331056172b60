//! The calls that the filter stops, one file per family. Each takes the arguments of the program
//! as the kernel would, and answers what the kernel would: a result or `-errno`.
//!
//! What arguments point to is copied by [`crate::memory`], which answers EFAULT as the kernel
//! does. Arrays are handed to the kernel as they are.

pub(crate) mod buffers;
pub(crate) mod clocks;
pub(crate) mod files;
pub(crate) mod futex;
pub(crate) mod ipc;
pub(crate) mod poll;
pub(crate) mod processor;
pub(crate) mod queues;
pub(crate) mod randomness;
pub(crate) mod seccomp;
pub(crate) mod signals;
pub(crate) mod sleep;
pub(crate) mod sockets;
pub(crate) mod timers;
pub(crate) mod transfer;

use vtime::masks;

use crate::memory;
use crate::timespec::Timespec;
use crate::wait::{Deadline, EINVAL};

/// Reads a relative timeout of a program and makes a deadline of it.
pub(crate) fn relative(address: usize) -> Result<Deadline, isize> {
    timespec(address).map(|span| Deadline::after_ns(span.saturating_ns()))
}

/// Reads a time of a program, as the kernel would take it.
pub(crate) fn timespec(address: usize) -> Result<Timespec, isize> {
    // SAFETY: two numbers, which may have any value.
    let time: Timespec = unsafe { memory::read(address)? };
    if time.is_valid() { Ok(time) } else { Err(EINVAL) }
}

/// Writes the time left until a deadline. That the program has made the place unwritable
/// meanwhile changes nothing in the result, as with the kernel.
pub(crate) fn write_left(address: usize, deadline: Deadline) {
    let _ = memory::write(address, &Timespec::from_ns(deadline.left_ns()));
}

/// The result of a call that was worked out with `?`.
pub(crate) fn result(outcome: Result<isize, isize>) -> isize {
    match outcome {
        Ok(value) | Err(value) => value,
    }
}

/// A signal mask of a program as the kernel gets it, for one native call.
pub(crate) struct Mask(u64);

impl Mask {
    /// The mask at an address, if the program gave one, and its size.
    pub(crate) fn read(address: usize, size: usize) -> Result<Option<Self>, isize> {
        if address == 0 {
            return Ok(None);
        }
        if size != size_of::<u64>() {
            return Err(EINVAL);
        }
        // SAFETY: a number, which may have any value.
        let mask: u64 = unsafe { memory::read(address)? };
        Ok(Some(Self(masks::kept(mask))))
    }

    /// The address to give to the kernel; 0 for no mask.
    pub(crate) fn address(mask: &Option<Self>) -> usize {
        mask.as_ref().map_or(0, |mask| &raw const mask.0 as usize)
    }
}
