//! The calls that the filter stops, one file per family. Each takes the arguments of the program
//! as the kernel would, and answers what the kernel would: a result or `-errno`.
//!
//! Pointers are used as they are: one that points nowhere ends the program with SIGSEGV where
//! the kernel would answer EFAULT.

pub(crate) mod clocks;
pub(crate) mod epoll;
pub(crate) mod futex;
pub(crate) mod poll;
pub(crate) mod signals;
pub(crate) mod sleep;

use crate::clock::Timespec;
use crate::wait::{Deadline, EINVAL};

/// The signal that the image keeps for itself, as its bit in a signal mask.
pub(crate) const SIGSYS_BIT: u64 = 1 << (31 - 1);

/// Reads a relative timeout of a program and makes a deadline of it.
///
/// # Safety
/// `at` must be the address of a timespec.
pub(crate) unsafe fn relative(at: usize) -> Result<Deadline, isize> {
    // SAFETY: the caller vouches for the address.
    let span = unsafe { *(at as *const Timespec) };
    if span.is_valid() { Ok(Deadline::after_ns(span.saturating_ns())) } else { Err(EINVAL) }
}

/// A signal mask of a program without the signal of the image, for one native call.
pub(crate) struct Mask(u64);

impl Mask {
    /// The mask at an address, if the program gave one.
    ///
    /// # Safety
    /// `at` must be 0 or the address of a signal mask.
    pub(crate) unsafe fn read(at: usize) -> Option<Self> {
        // SAFETY: the caller vouches for the address.
        (at != 0).then(|| Self(unsafe { *(at as *const u64) } & !SIGSYS_BIT))
    }

    /// The address to give to the kernel; 0 for no mask.
    pub(crate) fn address(mask: &Option<Self>) -> usize {
        mask.as_ref().map_or(0, |mask| &raw const mask.0 as usize)
    }
}
