//! Timeouts of sockets: `SO_RCVTIMEO` and `SO_SNDTIMEO` of socket(7), and what accept(2) and
//! connect(2) make of them.
//!
//! The kernel keeps what a program sets, for all that share the socket, and gives it back; it only
//! must not be the one who waits. So a call that may wait is stopped ([`crate::further`]), looks
//! up the timeout, tries without waiting, and waits for the socket in virtual time. A call without
//! a timeout goes to the kernel as it is.

use crate::arch::{self, nr};
use crate::further::{self, Further};
use crate::memory;
use crate::stamps;
use crate::timespec::{Timespec, Timeval};
use crate::wait::{self, Deadline, EAGAIN};

const EINPROGRESS: isize = -115;
const SOL_SOCKET: usize = 1;
const SO_TYPE: usize = 3;
const SO_RCVLOWAT: usize = 18;
const SO_RCVTIMEO: usize = 20;
const SO_SNDTIMEO: usize = 21;
/// For programs with a `time_t` wider than their `long`.
const SO_RCVTIMEO_NEW: usize = 66;
const SO_SNDTIMEO_NEW: usize = 67;
const SO_ACCEPTCONN: usize = 30;
const SOCK_STREAM: i32 = 1;
const F_GETFL: usize = 3;
const O_NONBLOCK: isize = 0o4000;
const POLLIN: i16 = 1;
const POLLOUT: i16 = 4;

/// setsockopt(2) of a timeout or of stamps: the kernel's, but what follows is stopped.
pub(crate) fn setsockopt(args: [usize; 6]) -> isize {
    let [_, _, option, value, ..] = args;
    // SAFETY: the program's own call, which the kernel checks.
    let result = unsafe { arch::syscall(nr::SETSOCKOPT, args) };
    if result != 0 {
        return result;
    }
    match option {
        _ if stamps::asks_for_stamps(option) => further::stop(Further::Stamps),
        _ if waits_for_ever(value) => {}
        SO_RCVTIMEO | SO_RCVTIMEO_NEW => further::stop(Further::Receive),
        SO_SNDTIMEO | SO_SNDTIMEO_NEW => further::stop(Further::Send),
        _ => {}
    }
    0
}

fn waits_for_ever(timeout: usize) -> bool {
    // SAFETY: two numbers, which may have any value.
    let timeout = unsafe { memory::read::<Timeval>(timeout) };
    timeout.is_ok_and(|timeout| timeout.seconds == 0 && timeout.microseconds == 0)
}

/// accept(2) and accept4(2). There is no way to try it without waiting. So if another one takes the connection that was
/// seen, the kernel waits for the next, by its own clock, and then it is seen to again.
pub(crate) fn accept(number: i32, args: [usize; 6]) -> isize {
    let listens = number_of(args[0], SO_ACCEPTCONN) == Some(1);
    let deadline = if listens { deadline(args[0], Direction::In) } else { None };
    // SAFETY: the program's own call, which the kernel checks.
    let call = || unsafe { arch::syscall(number, args) };
    let Some(deadline) = deadline else { return call() };
    loop {
        match ready(args[0], Direction::In, deadline) {
            Some(error) if error < 0 => return error,
            Some(_) => match call() {
                EAGAIN if !deadline.has_passed() => {}
                result => return result,
            },
            None => return EAGAIN,
        }
    }
}

/// connect(2). The kernel waits for a tick only, for which the timeout of the socket must be
/// another one for a moment, and leaves what it has begun to go on.
pub(crate) fn connect(args: [usize; 6]) -> isize {
    let fd = args[0];
    // SAFETY: the program's own call, which the kernel checks.
    let call = || unsafe { arch::syscall(nr::CONNECT, args) };
    let Some(deadline) = deadline(fd, Direction::Out) else { return call() };
    let Some(asked) = timeout(fd, Direction::Out) else { return call() };
    loop {
        set_timeout(fd, Timeval { seconds: 0, microseconds: 1 });
        let result = call();
        set_timeout(fd, asked);
        match result {
            EINPROGRESS => break,
            // The queue of a local listener is full; the kernel looks again each time.
            EAGAIN if !deadline.has_passed() => {}
            _ => return result,
        }
    }
    match ready(fd, Direction::Out, deadline) {
        Some(error) if error < 0 => error,
        Some(_) => call(),
        None => EINPROGRESS,
    }
}

fn set_timeout(fd: usize, timeout: Timeval) {
    let length = size_of::<Timeval>();
    let args = [fd, SOL_SOCKET, SO_SNDTIMEO, &raw const timeout as usize, length, 0];
    // SAFETY: a live timeval of the length given.
    unsafe { arch::syscall(nr::SETSOCKOPT, args) };
}

/// Which way octets go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// When a call that begins now and may wait on this descriptor must end. `None` if it waits for
/// ever, or not at all, or if this is no socket.
#[inline(never)]
pub(super) fn deadline(fd: usize, direction: Direction) -> Option<Deadline> {
    let ns = timeout(fd, direction)?.saturating_ns();
    // SAFETY: takes numbers only.
    let flags = unsafe { arch::syscall(nr::FCNTL, [fd, F_GETFL, 0, 0, 0, 0]) };
    (ns > 0 && flags >= 0 && flags & O_NONBLOCK == 0).then(|| Deadline::after_ns(ns))
}

fn timeout(fd: usize, direction: Direction) -> Option<Timeval> {
    let option = match direction {
        Direction::In => SO_RCVTIMEO,
        Direction::Out => SO_SNDTIMEO,
    };
    option_of(fd, option, Timeval { seconds: 0, microseconds: 0 })
}

/// How many octets a stream has to have before a receiver that wants `wanted` is woken; 1 if
/// this is no stream.
pub(super) fn low_water(fd: usize) -> usize {
    if !is_stream(fd) {
        return 1;
    }
    number_of(fd, SO_RCVLOWAT).map_or(1, |mark| mark.max(1) as usize)
}

pub(super) fn is_stream(fd: usize) -> bool {
    number_of(fd, SO_TYPE) == Some(SOCK_STREAM)
}

fn number_of(fd: usize, option: usize) -> Option<i32> {
    option_of(fd, option, 0i32)
}

/// `T` must be as long as the option.
fn option_of<T: Copy>(fd: usize, option: usize, mut value: T) -> Option<T> {
    let mut length = size_of::<T>() as u32;
    let (place, length) = (&raw mut value as usize, &raw mut length as usize);
    let args = [fd, SOL_SOCKET, option, place, length, 0];
    // SAFETY: the kernel writes no more than the length given.
    (unsafe { arch::syscall(nr::GETSOCKOPT, args) } == 0).then_some(value)
}

/// Makes a call that does not wait, again and again as the socket is ready, until it has
/// something to say or the deadline has passed.
pub(super) fn patiently(
    fd: usize,
    direction: Direction,
    deadline: Deadline,
    mut call: impl FnMut() -> isize,
) -> isize {
    let mut in_vain = 0;
    loop {
        let result = call();
        if result != EAGAIN {
            return result;
        }
        if deadline.has_passed() {
            return EAGAIN;
        }
        match ready(fd, direction, deadline) {
            Some(error) if error < 0 => return error,
            Some(_) => nap(in_vain),
            None => {}
        }
        in_vain += 1;
    }
}

/// A socket may seem ready for what it then refuses, as where the queue of a local receiver is
/// full: that is looked at every millisecond.
fn nap(in_vain: u32) {
    if in_vain < 3 {
        return;
    }
    let nap = Timespec { seconds: 0, nanoseconds: 1_000_000 };
    // SAFETY: `nap` is a valid timespec.
    unsafe { arch::syscall(nr::NANOSLEEP, [&raw const nap as usize, 0, 0, 0, 0, 0]) };
}

/// Waits until a socket is ready, or has an error to report. `None` if the deadline has passed.
#[inline(never)]
fn ready(fd: usize, direction: Direction, deadline: Deadline) -> Option<isize> {
    /// `struct pollfd`
    #[repr(C)]
    struct Poll {
        fd: i32,
        events: i16,
        found: i16,
    }
    let events = match direction {
        Direction::In => POLLIN,
        Direction::Out => POLLOUT,
    };
    wait::until(deadline, |host_ns| {
        let mut poll = Poll { fd: fd as i32, events, found: 0 };
        let timeout = Timespec::from_ns(host_ns);
        let args = [&raw mut poll as usize, 1, &raw const timeout as usize, 0, 8, 0];
        // SAFETY: a live array of one, and a valid timespec.
        let result = unsafe { arch::syscall(nr::PPOLL, args) };
        (result != 0).then_some(result)
    })
}
