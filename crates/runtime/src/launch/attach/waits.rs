//! How a thread goes on that was stopped in the middle of a system call.
//!
//! The stop interrupts the call, and the kernel leaves what it would do next in the registers.
//! Most calls it makes again as they were: then the filter sees them, and what they wait for is
//! in virtual time from there on. Those whose timeout counts from their beginning would wait too
//! long, or, if the kernel went on with them itself, on host time: they are made again with the
//! deadline that they have ([`vtime::resumed`]). And a few end with EINTR without any signal
//! (signal(7), "Interruption of system calls ... by stop signals"): a program must not see that.
//!
//! Pure: what is read from the program comes from the caller.

use libc::c_long;
use vtime::time::NS_PER_S;
use vtime::{HostSpan, HostTime};

use crate::launch::arch::nr;

/// Results of a call that was interrupted, which no program sees: `linux/errno.h` of the kernel.
const ERESTART_RESTARTBLOCK: i64 = -516;
const EINTR: i64 = -4;
const TIMER_ABSTIME: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupted {
    pub(super) number: c_long,
    pub(super) args: [u64; 6],
    pub(super) result: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When the thread fell asleep in it, if known; never before that.
    pub(super) asleep_since: Option<HostTime>,
    pub(super) stopped: HostTime,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// As the kernel has left it.
    AsItIs,
    /// The same call again.
    Again,
    /// The same call again, to end at this host time.
    Until(HostTime),
}

/// Decides. `read` reads a pair of numbers from the memory of the program.
pub(super) fn next(
    call: &Interrupted,
    times: Times,
    mut read: impl FnMut(u64) -> Option<[i64; 2]>,
) -> Next {
    let wanted = match call.result {
        ERESTART_RESTARTBLOCK => true,
        EINTR => INTERRUPTED_BY_STOPS.contains(&call.number),
        _ => false,
    };
    if !wanted {
        return Next::AsItIs;
    }
    if let Some(left) = left_over(call).and_then(&mut read).and_then(span) {
        return Next::Until(times.stopped + left);
    }
    match timeout(call, read) {
        Timeout::Relative(span) => Next::Until(times.asleep_since.unwrap_or(times.stopped) + span),
        Timeout::Absolute => Next::Again,
        Timeout::None if call.result == EINTR => Next::Again,
        // The kernel goes on with it, for ever.
        Timeout::None => Next::AsItIs,
    }
}

/// Calls that a stop ends with EINTR, signal(7). `read` and its kin do on sockets with a timeout.
const INTERRUPTED_BY_STOPS: [c_long; 22] = [
    nr::EPOLL_WAIT,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    nr::IO_PGETEVENTS,
    libc::SYS_io_uring_enter,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
];

enum Timeout {
    None,
    Relative(HostSpan),
    Absolute,
}

/// Where the kernel has written what was left of a sleep when it was interrupted.
fn left_over(call: &Interrupted) -> Option<u64> {
    let [_, second, _, fourth, ..] = call.args;
    let place = match call.number {
        libc::SYS_nanosleep => second,
        libc::SYS_clock_nanosleep if call.args[1] & TIMER_ABSTIME == 0 => fourth,
        _ => 0,
    };
    (place != 0).then_some(place)
}

fn timeout(call: &Interrupted, mut read: impl FnMut(u64) -> Option<[i64; 2]>) -> Timeout {
    const FUTEX_COMMAND: u64 = 0x7f;
    const FUTEX_WAIT: u64 = 0;
    let [first, second, third, fourth, fifth, _] = call.args;
    let place = match call.number {
        libc::SYS_nanosleep => first,
        libc::SYS_clock_nanosleep if second & TIMER_ABSTIME == 0 => third,
        nr::POLL => return milliseconds(third),
        nr::EPOLL_WAIT | libc::SYS_epoll_pwait => return milliseconds(fourth),
        libc::SYS_futex if fourth != 0 && second & FUTEX_COMMAND != FUTEX_WAIT => {
            return Timeout::Absolute;
        }
        libc::SYS_epoll_pwait2 | libc::SYS_futex | libc::SYS_semtimedop => fourth,
        libc::SYS_rt_sigtimedwait => third,
        libc::SYS_io_getevents | nr::IO_PGETEVENTS => fifth,
        _ => 0,
    };
    if place == 0 {
        return Timeout::None;
    }
    read(place).and_then(span).map_or(Timeout::Absolute, Timeout::Relative)
}

fn milliseconds(argument: u64) -> Timeout {
    match i64::from(argument as i32) {
        ms if ms < 0 => Timeout::None,
        ms => Timeout::Relative(HostSpan::from_ns(ms * 1_000_000)),
    }
}

/// A `struct timespec`, if it is a valid one.
fn span([seconds, nanoseconds]: [i64; 2]) -> Option<HostSpan> {
    let valid = seconds >= 0 && (0..NS_PER_S).contains(&nanoseconds);
    valid.then(|| HostSpan::from_ns(seconds.saturating_mul(NS_PER_S).saturating_add(nanoseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn times() -> Times {
        Times {
            asleep_since: Some(HostTime::from_ns(1000 * MS)),
            stopped: HostTime::from_ns(1300 * MS),
        }
    }

    fn decide(number: c_long, args: [u64; 6], result: i64, memory: [i64; 2]) -> Next {
        next(&Interrupted { number, args, result }, times(), |_| Some(memory))
    }

    fn until_ms(ms: i64) -> Next {
        Next::Until(HostTime::from_ns(ms * MS))
    }

    #[test]
    fn a_wait_ends_when_it_would_have_ended() {
        let half = [0, 500 * MS];
        assert_eq!(decide(libc::SYS_nanosleep, [7, 0, 0, 0, 0, 0], -516, half), until_ms(1500));
        assert_eq!(decide(nr::POLL, [7, 1, 400, 0, 0, 0], -516, half), until_ms(1400));
        assert_eq!(decide(libc::SYS_futex, [7, 128, 0, 7, 0, 0], -516, half), until_ms(1500));
        assert_eq!(decide(nr::EPOLL_WAIT, [3, 7, 1, 2000, 0, 0], -4, half), until_ms(3000));
        assert_eq!(decide(libc::SYS_epoll_pwait2, [3, 7, 1, 7, 0, 8], -4, half), until_ms(1500));
    }

    #[test]
    fn what_the_kernel_says_is_left_counts_from_the_stop() {
        let sleep = decide(libc::SYS_nanosleep, [7, 7, 0, 0, 0, 0], -516, [0, 200 * MS]);
        assert_eq!(sleep, until_ms(1500));
    }

    #[test]
    fn a_wait_of_unknown_age_is_waited_for_as_a_whole() {
        let call = Interrupted {
            number: nr::POLL,
            args: [7, 1, 400, 0, 0, 0],
            result: ERESTART_RESTARTBLOCK,
        };
        let times = Times { asleep_since: None, ..times() };
        assert_eq!(next(&call, times, |_| None), until_ms(1700));
    }

    #[test]
    fn absolute_deadlines_speak_for_themselves() {
        let bitset = decide(libc::SYS_futex, [7, 137, 0, 7, 0, 1], -516, [9, 9]);
        assert_eq!(bitset, Next::Again);
    }

    #[test]
    fn what_waits_for_ever_goes_on_and_never_sees_that_it_was_stopped() {
        let minus_one = u64::from(u32::MAX);
        assert_eq!(decide(nr::POLL, [7, 1, minus_one, 0, 0, 0], -516, [0; 2]), Next::AsItIs);
        assert_eq!(decide(nr::EPOLL_WAIT, [3, 7, 1, minus_one, 0, 0], -4, [0; 2]), Next::Again);
        assert_eq!(decide(libc::SYS_semop, [7, 7, 1, 0, 0, 0], -4, [0; 2]), Next::Again);
        assert_eq!(decide(libc::SYS_ppoll, [0; 6], -514, [0; 2]), Next::AsItIs);
    }

    #[test]
    fn results_of_the_program_stay() {
        assert_eq!(decide(libc::SYS_close, [3, 0, 0, 0, 0, 0], -4, [0; 2]), Next::AsItIs);
        assert_eq!(decide(nr::POLL, [7, 1, 400, 0, 0, 0], 1, [0; 2]), Next::AsItIs);
    }
}
