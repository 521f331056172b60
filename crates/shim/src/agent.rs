//! The agent, asked with numbers alone ([`vtime::timer_call`]).

use vtime::image::ASKS;

use crate::arch::{self, nr};
use crate::pages;

const SIG_SETMASK: usize = 2;

/// Asks the agent. To be called with all signals blocked.
#[inline(never)]
pub(crate) fn request(number: i32, [first, second, third, fourth]: [usize; 4]) -> isize {
    let program = pages::own().program() as usize;
    // SAFETY: numbers only.
    unsafe { arch::syscall(number, [first, second, third, fourth, program, ASKS as usize]) }
}

/// Does something while no signal is delivered to this thread.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> T {
    let before = set_mask(u64::MAX);
    let answer = act();
    set_mask(before);
    answer
}

/// Returns the mask of before.
#[inline(never)]
fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: the masks are ours.
    unsafe {
        let args = [SIG_SETMASK, &raw const mask as usize, &raw mut before as usize, 8, 0, 0];
        arch::syscall(nr::RT_SIGPROCMASK, args);
    }
    before
}
