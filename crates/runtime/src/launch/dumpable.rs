//! Opening a program that is closed to this user, for as long as an exec takes.
//!
//! A program may ask not to be dumpable (prctl(2) `PR_SET_DUMPABLE`), or loses that with a change of
//! its credentials; then only root may attach to it, and its execs could not be followed. But
//! anybody may send it a signal, and the image in it is the handler of SIGSYS: two codes of that,
//! which no kernel sends, make the image open and close the program. The exec that was reported is
//! answered by the number with which the kernel makes a call again after a handler has run.

use std::os::fd::BorrowedFd;

use libc::{c_int, pid_t};
use vtime::image::{CLOSE, OPEN};

use super::inspect;
use super::timers::queue;
use os::process::process_of;
use os::seccomp;

/// `ERESTARTNOINTR` of the kernel's `linux/errno.h`.
const MAKE_AGAIN: c_int = 513;

/// Makes a thread that waits for the answer to its exec open its process, and report the exec once
/// more. Returns whether it will.
pub(super) fn open(listener: BorrowedFd<'_>, id: u64, thread: pid_t) -> bool {
    // Without the image, the signal would end it.
    inspect::has_image(thread)
        && send(thread, OPEN)
        && seccomp::fail(listener, id, MAKE_AGAIN).is_ok()
}

/// Makes the process of a thread close itself again.
pub(super) fn close(thread: pid_t) {
    if inspect::has_image(thread) {
        // Fails if it is gone.
        send(thread, CLOSE);
    }
}

fn send(thread: pid_t, code: c_int) -> bool {
    let Some(process) = process_of(thread) else { return false };
    // SAFETY: a structure of integers.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (libc::SIGSYS, code);
    queue(process, thread, libc::SIGSYS, &info).is_ok()
}
