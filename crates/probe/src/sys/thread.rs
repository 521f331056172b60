//! What a thread asks of the kernel about itself.

use std::io;
use std::mem::zeroed;

/// What a thread has used since it began (getrusage(2), `RUSAGE_THREAD`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) page_faults: u64,
}

pub(crate) fn usage() -> Usage {
    // SAFETY: a plain structure of numbers.
    let mut used: libc::rusage = unsafe { zeroed() };
    // SAFETY: the structure is written.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut used) };
    assert_eq!(result, 0, "a thread may always ask about itself");
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Usage {
        voluntary_switches: count(used.ru_nvcsw),
        involuntary_switches: count(used.ru_nivcsw),
        page_faults: count(used.ru_minflt) + count(used.ru_majflt),
    }
}

pub(crate) fn id() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

/// Keeps all signals away from the calling thread: they shall interrupt others.
pub(crate) fn block_signals() {
    // SAFETY: a set of bits.
    let mut all: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: the set is written by the first call and read by the second.
    let result = unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut())
    };
    assert_eq!(result, 0, "a full set can always be blocked");
}

/// Gives the calling thread the class below all others (SCHED_IDLE, sched(7)).
pub(crate) fn lowest_priority() -> io::Result<()> {
    // SAFETY: a plain structure of numbers; 0 is the calling thread.
    let parameters: libc::sched_param = unsafe { zeroed() };
    // The function of the same name refuses everything in musl, and static programs use that.
    // SAFETY: the structure is read.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const parameters)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
