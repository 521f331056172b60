//! The agent, asked with numbers alone ([`vtime::timer_call`]), and what keeps it from this process.

use vtime::image::ASKS;

use crate::arch::{self, nr};
use crate::pages;
use crate::signal::{SIG_SETMASK, change_mask};

const PR_GET_DUMPABLE: usize = 3;
const PR_SET_DUMPABLE: usize = 4;

/// Asks the agent. To be called with all signals blocked.
#[inline(never)]
pub(crate) fn request(number: i32, [first, second, third, fourth]: [usize; 4]) -> isize {
    let program = pages::own().program() as usize;
    // SAFETY: numbers only.
    unsafe { arch::syscall(number, [first, second, third, fourth, program, ASKS as usize]) }
}

/// Does something while no signal is delivered to this thread.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> T {
    let before = change_mask(SIG_SETMASK, u64::MAX);
    let answer = act();
    change_mask(SIG_SETMASK, before);
    answer
}

/// Whether others of the same user may attach to this process, and so take its descriptors: prctl(2)
/// `PR_SET_DUMPABLE`. What is not dumpable is opened to the agent, and closed again.
pub(crate) fn is_dumpable() -> bool {
    // SAFETY: takes numbers only.
    unsafe { arch::syscall(nr::PRCTL, [PR_GET_DUMPABLE, 0, 0, 0, 0, 0]) == 1 }
}

/// Lets the agent attach to this process, or no more.
pub(crate) fn set_dumpable(dumpable: bool) {
    // SAFETY: takes numbers only.
    unsafe { arch::syscall(nr::PRCTL, [PR_SET_DUMPABLE, usize::from(dumpable), 0, 0, 0, 0]) };
}
