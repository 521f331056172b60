//! SIGSYS and the signal that stands for it: what the kernel reports of one that has come, what it does
//! with them, and what the program wants done.

use core::mem::offset_of;

use vtime::image::{PROCESS, Process};
use vtime::masks::SIGSYS;

use crate::arch::{self, nr};

pub(crate) const SIG_IGN: u64 = 1;
pub(crate) const SIG_BLOCK: usize = 0;
pub(crate) const SIG_UNBLOCK: usize = 1;
pub(crate) const SIG_SETMASK: usize = 2;
pub(crate) const SA_NODEFER: u64 = 0x4000_0000;

/// `siginfo_t` of a SIGSYS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SignalInfo {
    pub(crate) signal: i32,
    /// The number that the filter gave along (`si_errno`).
    pub(crate) data: i32,
    pub(crate) code: i32,
    padding: i32,
    pub(crate) address: u64,
    pub(crate) number: i32,
    architecture: u32,
}

/// `struct sigaction` of the kernel: handler, flags, restorer, mask.
pub(crate) type Action = [u64; 4];

/// What the program wants done with one of the two signals, where the image has it.
pub(crate) fn program_action(signal: usize) -> *mut Action {
    let place = match signal {
        SIGSYS => offset_of!(Process, sigsys_action),
        _ => offset_of!(Process, stand_in_action),
    };
    (PROCESS + place) as *mut Action
}

#[inline(never)]
pub(crate) fn action_of(signal: usize) -> Action {
    let mut action = Action::default();
    // SAFETY: the action lies on the stack.
    unsafe {
        let args = [signal, 0, action.as_mut_ptr() as usize, size_of::<u64>(), 0, 0];
        arch::syscall(nr::RT_SIGACTION, args);
    }
    action
}

/// Returns what the kernel did before.
#[inline(never)]
pub(crate) fn set_action(signal: usize, action: &Action) -> Action {
    let mut before = Action::default();
    let [new, old] = [action.as_ptr() as usize, before.as_mut_ptr() as usize];
    // SAFETY: both lie on the stack, and what the kernel is to do is what the caller wants.
    unsafe { arch::syscall(nr::RT_SIGACTION, [signal, new, old, size_of::<u64>(), 0, 0]) };
    before
}

/// Changes which signals the kernel keeps from this thread. Returns the mask of before.
#[inline(never)]
pub(crate) fn change_mask(how: usize, signals: u64) -> u64 {
    let mut before = 0u64;
    let [new, old] = [&raw const signals as usize, &raw mut before as usize];
    // SAFETY: both masks lie on the stack.
    unsafe { arch::syscall(nr::RT_SIGPROCMASK, [how, new, old, size_of::<u64>(), 0, 0]) };
    before
}
