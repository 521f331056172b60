//! Signals: waiting for one with a timeout, and keeping SIGSYS for the image.
//!
//! A call that the filter stops while SIGSYS is blocked or has its default action kills the
//! program. So every mask that a program sets loses that one bit, and what a program wants done
//! with SIGSYS is written down instead of told to the kernel.

use vtime::image::{PROCESS, Process};

use super::{Mask, SIGSYS_BIT, relative};
use crate::arch::{self, SignalFrame, nr};
use crate::clock::Timespec;
use crate::wait::{self, EAGAIN, EINVAL};

const SIGSYS: usize = 31;
const SIG_BLOCK: usize = 0;
const SIG_UNBLOCK: usize = 1;
const SIG_SETMASK: usize = 2;
/// SIGKILL and SIGSTOP cannot be blocked.
const UNBLOCKABLE: u64 = 1 << (9 - 1) | 1 << (19 - 1);

/// # Safety
/// As the system call, with pointers that are valid. A timeout is given.
pub(crate) unsafe fn rt_sigtimedwait([set, info, timeout, size, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointer.
    let deadline = match unsafe { relative(timeout) } {
        Ok(deadline) => deadline,
        Err(error) => return error,
    };
    wait::until(deadline, |host_ns| {
        let timeout = Timespec::from_ns(host_ns);
        let args = [set, info, &raw const timeout as usize, size, 0, 0];
        // SAFETY: the program's own set; the rest is ours.
        let result = unsafe { arch::syscall(nr::RT_SIGTIMEDWAIT, args) };
        (result != EAGAIN).then_some(result)
    })
    .unwrap_or(EAGAIN)
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn rt_sigaction([signal, action, old, size, ..]: [usize; 6]) -> isize {
    if size != 8 {
        return EINVAL;
    }
    if signal == SIGSYS {
        // SAFETY: the page of the program is mapped; the caller vouches for the pointers.
        unsafe {
            let kept = &raw mut (*(PROCESS as *mut Process)).sigsys_action;
            let before = kept.read();
            if action != 0 {
                kept.write(*(action as *const [u64; 4]));
            }
            if old != 0 {
                *(old as *mut [u64; 4]) = before;
            }
        }
        return 0;
    }
    // SAFETY: the caller vouches for the pointer; the filter stops no other signal without one.
    let mut copy = unsafe { *(action as *const [u64; 4]) };
    copy[3] &= !SIGSYS_BIT;
    // SAFETY: the program's own call, with another mask.
    unsafe { arch::syscall(nr::RT_SIGACTION, [signal, copy.as_ptr() as usize, old, size, 0, 0]) }
}

/// The mask of a thread that returns from a signal handler is the one in its frame: so that is
/// the one to change.
///
/// # Safety
/// As the system call, with pointers that are valid. A set is given.
pub(crate) unsafe fn rt_sigprocmask(
    [how, set, old, size, ..]: [usize; 6],
    frame: &mut SignalFrame,
) -> isize {
    if size != 8 {
        return EINVAL;
    }
    let before = frame.mask;
    // SAFETY: the caller vouches for the pointer.
    let set = unsafe { *(set as *const u64) };
    frame.mask = !(UNBLOCKABLE | SIGSYS_BIT)
        & match how {
            SIG_BLOCK => before | set,
            SIG_UNBLOCK => before & !set,
            SIG_SETMASK => set,
            _ => return EINVAL,
        };
    if old != 0 {
        // SAFETY: the caller vouches for the pointer.
        unsafe { *(old as *mut u64) = before };
    }
    0
}

/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn rt_sigsuspend([mask, size, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointer.
    let mask = unsafe { Mask::read(mask) };
    // SAFETY: the program's own call, with another mask.
    unsafe { arch::syscall(nr::RT_SIGSUSPEND, [Mask::address(&mask), size, 0, 0, 0, 0]) }
}
