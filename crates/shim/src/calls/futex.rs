//! futex(2) with a timeout.
//!
//! Waits go on as `FUTEX_WAIT_BITSET` with an absolute host time, so that the remaining
//! semantics are the kernel's. A wait that is asked again after a hold compares the value again:
//! who changed it meanwhile makes it answer EAGAIN, which every user of futexes must expect.

use vtime::page::Epoch;

use crate::arch::{self, nr};
use crate::clock::{self, Timespec};
use crate::wait::{self, Deadline, EINVAL, ETIMEDOUT};

const WAIT: usize = 0;
const LOCK_PI: usize = 6;
const WAIT_BITSET: usize = 9;
const LOCK_PI2: usize = 13;
const PRIVATE: usize = 128;
const CLOCK_REALTIME: usize = 256;
const MATCH_ANY: usize = 0xffff_ffff;

/// # Safety
/// As the system call, with pointers that are valid. A timeout is given.
pub(crate) unsafe fn futex(args: [usize; 6]) -> isize {
    let [word, operation, value, timeout, _, bitset] = args;
    // SAFETY: the caller vouches for the pointer.
    let time = unsafe { *(timeout as *const Timespec) };
    if !time.is_valid() {
        return EINVAL;
    }
    let epoch = match (operation & !(PRIVATE | CLOCK_REALTIME), operation & CLOCK_REALTIME) {
        (WAIT, 0) => None,
        (WAIT_BITSET | LOCK_PI2, 0) => Some(Epoch::Monotonic),
        (WAIT_BITSET | LOCK_PI2, _) | (LOCK_PI, 0) => Some(Epoch::Realtime),
        // What no library uses (`FUTEX_WAIT_REQUEUE_PI`) and what the kernel refuses.
        // SAFETY: the program's own arguments.
        _ => return unsafe { arch::syscall(nr::FUTEX, args) },
    };
    let deadline = match epoch {
        None => Deadline::after_ns(time.saturating_ns()),
        Some(epoch) => Deadline::at_ns(epoch, time.saturating_ns()),
    };
    let lock = matches!(operation & !(PRIVATE | CLOCK_REALTIME), LOCK_PI | LOCK_PI2);
    let bitset = if operation & !(PRIVATE | CLOCK_REALTIME) == WAIT { MATCH_ANY } else { bitset };
    let native = if lock { LOCK_PI2 } else { WAIT_BITSET } | operation & PRIVATE;
    wait::until(deadline, |host_ns| {
        let until = Timespec::from_ns(clock::host_now().as_ns().saturating_add(host_ns));
        let args = [word, native, value, &raw const until as usize, 0, bitset];
        // SAFETY: the program's own word; the rest is ours.
        let result = unsafe { arch::syscall(nr::FUTEX, args) };
        (result != ETIMEDOUT).then_some(result)
    })
    .unwrap_or(ETIMEDOUT)
}
