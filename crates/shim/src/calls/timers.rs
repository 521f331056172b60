//! Calls of timers, which the agent answers: seccomp_unotify(2).
//!
//! None of them ever ends with `EINTR`. The kernel ends a notified call with it when a signal comes
//! before the agent has seen the call, so no signal may come.

use vtime::image::ASKS;

use crate::arch::{self, nr};

const SIG_SETMASK: usize = 2;

/// Whether the agent answers this call.
pub(crate) fn is_about_a_timer(number: i32) -> bool {
    matches!(
        number,
        nr::TIMERFD_SETTIME
            | nr::TIMERFD_GETTIME
            | nr::TIMER_CREATE
            | nr::TIMER_SETTIME
            | nr::TIMER_GETTIME
            | nr::TIMER_GETOVERRUN
            | nr::TIMER_DELETE
            | nr::SETITIMER
            | nr::GETITIMER
            | nr::ALARM
    )
}

/// What the agent answers. None of these calls has more than four arguments.
pub(crate) fn ask(number: i32, mut args: [usize; 6]) -> isize {
    args[5] = ASKS as usize;
    let (all, mut before) = (u64::MAX, 0u64);
    // SAFETY: the masks are ours; the call is the program's own, which agent and kernel check.
    unsafe {
        let block = [SIG_SETMASK, &raw const all as usize, &raw mut before as usize, 8, 0, 0];
        arch::syscall(nr::RT_SIGPROCMASK, block);
        let result = arch::syscall(number, args);
        let restore = [SIG_SETMASK, &raw const before as usize, 0, 8, 0, 0];
        arch::syscall(nr::RT_SIGPROCMASK, restore);
        result
    }
}
