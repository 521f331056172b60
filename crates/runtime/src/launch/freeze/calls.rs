//! Which calls threads are in, proc(5), which of them a freeze cuts short, and what becomes of these.
//!
//! A freeze makes every thread leave the kernel, as SIGSTOP does. Most waits restart by
//! themselves afterwards; some answer `EINTR` though no handler has run: signal(7), "Interruption
//! of system calls and library functions by stop signals". Such a result is changed in the stopped
//! thread before anybody sees it, so that the kernel makes the call again, unless a handler is to
//! run: then the program gets the `EINTR` that it must get.
//!
//! Waits that the image makes for a program have a host time in their arguments, so they must
//! not be made again as they are: the image learns of the freeze and works out a new one.

use vtime::image::{FROZEN_CALL, IMAGE, IMAGE_SIZE_MAX, OWN, OWN_SIZE, PROCESS};

use libc::pid_t;

use crate::launch::arch::nr;
use os::process::{self, threads_of};

const EINTR: i64 = 4;

/// Calls that restart by themselves, or that nobody waits in, and of which there are many:
/// looking closer at threads in them would only cost time.
const RESTART_THEMSELVES: [i64; 15] = [
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    nr::POLL,
    libc::SYS_ppoll,
    nr::SELECT,
    libc::SYS_pselect6,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_rt_sigsuspend,
    libc::SYS_restart_syscall,
    libc::SYS_futex_waitv,
    // Reported to the agent, which may be about to trace them.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_timerfd_settime,
];

/// Calls that the image makes with a finite time and makes again by itself.
const OF_THE_IMAGE: [i64; 5] = [
    libc::SYS_epoll_pwait2,
    libc::SYS_semtimedop,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    nr::IO_PGETEVENTS,
];

/// The argument that is the address of a time, of all calls that the image makes with one while it
/// waits for a program.
const TIMED_BY_THE_IMAGE: [(i64, usize); 11] = [
    (libc::SYS_ppoll, 2),
    (libc::SYS_pselect6, 4),
    (libc::SYS_epoll_pwait2, 3),
    (libc::SYS_futex, 3),
    (libc::SYS_futex_waitv, 3),
    (nr::FUTEX_WAIT, 4),
    (libc::SYS_semtimedop, 3),
    (libc::SYS_mq_timedsend, 4),
    (libc::SYS_mq_timedreceive, 4),
    (libc::SYS_rt_sigtimedwait, 2),
    (libc::SYS_io_getevents, 4),
];

/// Whether the image waits in this call for a host time that it has worked out. What waits on the
/// pages of the image alone is woken when they change.
pub(super) fn waits_for_a_host_time(call: SyscallState) -> bool {
    let timed = TIMED_BY_THE_IMAGE.iter().chain(&[(nr::IO_PGETEVENTS, 4)]);
    let mut timed = timed.filter(|(number, _)| *number == call.number);
    let pages = PROCESS as u64..(OWN + OWN_SIZE) as u64;
    is_by_image(call)
        && timed.any(|(_, time)| call.args[*time] != 0)
        && !(call.number == libc::SYS_futex && pages.contains(&call.args[0]))
}

/// Whether the image has made this call, and not the program.
pub(in crate::launch) fn is_by_image(call: SyscallState) -> bool {
    (IMAGE as u64..(IMAGE + IMAGE_SIZE_MAX) as u64).contains(&call.address)
}

/// Whether a thread in this call must be looked at.
pub(super) fn may_be_cut_short(call: SyscallState) -> bool {
    !RESTART_THEMSELVES.contains(&call.number)
}

/// The number of the call that a thread is to make again, if a freeze has cut it short.
pub(super) fn again(call: SyscallState, result: i64) -> Option<i64> {
    if result != -EINTR {
        return None;
    }
    let by_image = is_by_image(call) && OF_THE_IMAGE.contains(&call.number);
    Some(if by_image { FROZEN_CALL as i64 } else { call.number })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::launch) struct SyscallState {
    pub(super) number: i64,
    pub(super) args: [u64; 6],
    pub(super) address: u64,
}

/// The call that a thread is in; `None` while it runs, or is gone.
pub(in crate::launch) fn call_of(thread: pid_t) -> Option<SyscallState> {
    parse_call(&process::text_of(thread, thread, "syscall")?)
}

/// How long a thread has had a processor, in nanoseconds; counted on at least at each tick.
pub(super) fn computed_ns(thread: pid_t) -> Option<u64> {
    process::text_of(thread, thread, "schedstat")?.split_whitespace().next()?.parse().ok()
}

impl SyscallState {
    pub(super) fn is_exec(self) -> bool {
        matches!(self.number, libc::SYS_execve | libc::SYS_execveat)
    }
}

/// Whether a process is about to run another program. Attaching to any thread of it would wait
/// until that is read from its file, which may lie on a file system that hangs.
pub(super) fn is_in_exec(process: pid_t) -> bool {
    let mut calls = threads_of(process).into_iter().filter_map(call_of);
    calls.any(SyscallState::is_exec)
}

/// Number, six arguments, stack pointer and address; `running`; or -1 and two addresses for a
/// thread that is in the kernel without having called it.
fn parse_call(text: &str) -> Option<SyscallState> {
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut args = [0; 6];
    for arg in &mut args {
        *arg = hexadecimal(words.next()?)?;
    }
    let address = hexadecimal(words.last()?)?;
    (number >= 0).then_some(SyscallState { number, args, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64, address: u64) -> SyscallState {
        SyscallState { number, args: [3, 0, 0, 0x7000, 0, 0], address }
    }

    #[test]
    fn what_the_image_waits_for_with_a_time_is_known_from_all_else() {
        let inside = IMAGE as u64 + 0x100;
        let waits = |call| waits_for_a_host_time(call);
        assert!(waits(at(libc::SYS_epoll_pwait2, inside)));
        assert!(!waits(at(libc::SYS_epoll_pwait2, 0x40_1000)), "the program's own");
        assert!(!waits(at(libc::SYS_ppoll, inside)), "without a time");
        assert!(!waits(at(libc::SYS_timerfd_settime, inside)), "the agent answers it");
        let mut futex = at(libc::SYS_futex, inside);
        assert!(waits(futex));
        futex.args[0] = vtime::image::CLOCK as u64 + 112;
        assert!(!waits(futex), "the agent wakes it");
    }

    #[test]
    fn a_call_of_the_program_is_made_again() {
        let wait = at(libc::SYS_epoll_pwait, 0x40_1000);
        assert!(may_be_cut_short(wait));
        assert!(!may_be_cut_short(at(libc::SYS_futex, 0x40_1000)));
        assert_eq!(again(wait, -4), Some(libc::SYS_epoll_pwait));
        assert_eq!(again(wait, 1), None, "something came");
        assert_eq!(again(wait, -514), None, "the kernel makes it again anyway");
    }

    #[test]
    fn a_wait_of_the_image_is_ended_instead() {
        let inside = IMAGE as u64 + 0x100;
        let frozen = Some(FROZEN_CALL as i64);
        assert_eq!(again(at(libc::SYS_epoll_pwait2, inside), -4), frozen);
        // What it makes without a time of its own is made again.
        let plain = again(at(libc::SYS_epoll_pwait, inside), -4);
        assert_eq!(plain, Some(libc::SYS_epoll_pwait));
    }

    #[test]
    fn a_call_is_known_by_number_and_address() {
        let line = "232 0x3 0x7fff 0x1 0xffffffff 0x0 0x7f3d 0x7fff6389e858 0x7f3d87f6bef3\n";
        let args = [0x3, 0x7fff, 0x1, 0xffff_ffff, 0x0, 0x7f3d];
        let address = 0x7f3d_87f6_bef3;
        assert_eq!(parse_call(line), Some(SyscallState { number: 232, args, address }));
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call("-1 0x7fff6389e858 0x7f3d87f6bef3\n"), None);
        assert_eq!(parse_call("232 0x3 0x7fff 0x1\n"), None);
        assert_eq!(parse_call(""), None);
    }
}
