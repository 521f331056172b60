//! Signals: waiting for one with a timeout, and keeping SIGSYS for the image.
//!
//! A call that the filter stops while SIGSYS is blocked or has its default action kills the
//! program. So every mask that a program sets loses that one bit, and what a program wants done
//! with SIGSYS is written down instead of told to the kernel.

use vtime::image::{PROCESS, Process};

use super::{Mask, SIGSYS_BIT, relative, result, result_or_kernel};
use crate::arch::{self, SignalFrame, nr};
use crate::clock::Timespec;
use crate::memory;
use crate::wait::{self, Deadline, EAGAIN, EINVAL};

const SIGSYS: usize = 31;
const SIG_BLOCK: usize = 0;
const SIG_UNBLOCK: usize = 1;
const SIG_SETMASK: usize = 2;
/// SIGKILL and SIGSTOP cannot be blocked.
const UNBLOCKABLE: u64 = 1 << (9 - 1) | 1 << (19 - 1);

/// rt_sigtimedwait(2) with a timeout.
pub(crate) fn rt_sigtimedwait(args: [usize; 6]) -> isize {
    let outcome = relative(args[2]).map(|deadline| sigwait_until(args, deadline));
    result_or_kernel(nr::RT_SIGTIMEDWAIT, args, outcome)
}

/// As rt_sigtimedwait(2) with a timeout.
pub(super) fn sigwait_until([set, info, _, size, ..]: [usize; 6], deadline: Deadline) -> isize {
    wait::until(deadline, |host_ns| {
        let timeout = Timespec::from_ns(host_ns);
        let args = [set, info, &raw const timeout as usize, size, 0, 0];
        // SAFETY: the kernel checks the program's set; the time is ours.
        let result = unsafe { arch::syscall(nr::RT_SIGTIMEDWAIT, args) };
        (result != EAGAIN).then_some(result)
    })
    .unwrap_or(EAGAIN)
}

/// rt_sigaction(2)
pub(crate) fn rt_sigaction(args: [usize; 6]) -> isize {
    result(rt_sigaction_or_error(args))
}

fn rt_sigaction_or_error([signal, action, old, size, ..]: [usize; 6]) -> Result<isize, isize> {
    if size != 8 {
        return Err(EINVAL);
    }
    // SAFETY: numbers, which may have any value.
    let action = if action == 0 { None } else { Some(unsafe { memory::read(action)? }) };
    if signal == SIGSYS {
        // SAFETY: the page of the program is mapped; others may change the action meanwhile, as
        // they may change that of any signal.
        let before = unsafe { (&raw const (*(PROCESS as *const Process)).sigsys_action).read() };
        if let Some(action) = action {
            // SAFETY: as above.
            unsafe { (&raw mut (*(PROCESS as *mut Process)).sigsys_action).write(action) };
        }
        if old != 0 {
            memory::write(old, &before)?;
        }
        return Ok(0);
    }
    let [handler, flags, restorer, mask] = action.unwrap_or_default();
    let copy: [u64; 4] = [handler, flags, restorer, mask & !SIGSYS_BIT];
    let copy = if action.is_some() { copy.as_ptr() as usize } else { 0 };
    // SAFETY: the program's own call, with another mask.
    Ok(unsafe { arch::syscall(nr::RT_SIGACTION, [signal, copy, old, size, 0, 0]) })
}

/// rt_sigprocmask(2) with a set. The mask of a thread that returns from a signal handler is the
/// one in its frame: so that is the one to change.
pub(crate) fn rt_sigprocmask(args: [usize; 6], frame: &mut SignalFrame) -> isize {
    result(rt_sigprocmask_or_error(args, frame))
}

fn rt_sigprocmask_or_error(
    [how, set, old, size, ..]: [usize; 6],
    frame: &mut SignalFrame,
) -> Result<isize, isize> {
    if size != 8 {
        return Err(EINVAL);
    }
    let before = frame.mask;
    // SAFETY: a number, which may have any value.
    let set: u64 = unsafe { memory::read(set)? };
    // An int.
    let wanted = match how & 0xffff_ffff {
        SIG_BLOCK => before | set,
        SIG_UNBLOCK => before & !set,
        SIG_SETMASK => set,
        _ => return Err(EINVAL),
    };
    frame.mask = wanted & !(UNBLOCKABLE | SIGSYS_BIT);
    if old != 0 {
        memory::write(old, &before)?;
    }
    Ok(0)
}

/// rt_sigsuspend(2)
pub(crate) fn rt_sigsuspend(args: [usize; 6]) -> isize {
    let [mask, size, ..] = args;
    let outcome = Mask::read(mask, size).map(|mask| {
        // SAFETY: the program's own call, with another mask.
        unsafe { arch::syscall(nr::RT_SIGSUSPEND, [Mask::address(&mask), size, 0, 0, 0, 0]) }
    });
    result_or_kernel(nr::RT_SIGSUSPEND, args, outcome)
}
