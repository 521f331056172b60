//! Receiving from sockets that have a timeout or give stamps: recv(2), recvmsg(2), recvmmsg(2),
//! and read(2) and readv(2), which do the same on a socket.

use super::buffers::{Buffer, Buffers};
use super::sockets::{self, Direction, SO_RCVTIMEO, patiently};
use super::{relative, result, write_left};
use crate::arch::{self, nr};
use crate::memory;
use crate::stamps::{self, Message};
use crate::wait::Deadline;

const MSG_OOB: usize = 1;
const MSG_PEEK: usize = 2;
const MSG_DONTWAIT: usize = 0x40;
const MSG_WAITALL: usize = 0x100;
const MSG_ERRQUEUE: usize = 0x2000;
const MSG_WAITFORONE: usize = 0x1_0000;
/// With these it never waits.
const AT_ONCE: usize = MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE;

/// Most messages of one recvmmsg(2).
const MESSAGES_MAX: usize = 1024;
/// `struct mmsghdr`: the message and the octets received.
const MESSAGE_AND_LENGTH: usize = 64;

pub(crate) fn read(args: [usize; 6]) -> isize {
    let [fd, base, length, ..] = args;
    match sockets::deadline(fd, SO_RCVTIMEO) {
        // Reading nothing from a socket is no receiving.
        Some(deadline) if length > 0 => {
            let receive = [fd, base, length, 0, 0, 0];
            receive_until(deadline, nr::RECVFROM, receive, 3, Buffers::one(base, length))
        }
        // SAFETY: the program's own call, which the kernel checks.
        _ => unsafe { arch::syscall(nr::READ, args) },
    }
}

pub(crate) fn readv(args: [usize; 6]) -> isize {
    let [fd, first, count, ..] = args;
    let buffers = Buffers::Many { first, count };
    match sockets::deadline(fd, SO_RCVTIMEO) {
        Some(deadline) if buffers.length().is_ok_and(|length| length > 0) => {
            let message = Message { buffers: first, buffer_count: count, ..Message::default() };
            let receive = [fd, &raw const message as usize, 0, 0, 0, 0];
            receive_until(deadline, nr::RECVMSG, receive, 2, buffers)
        }
        // SAFETY: the program's own call, which the kernel checks.
        _ => unsafe { arch::syscall(nr::READV, args) },
    }
}

pub(crate) fn recvfrom(args: [usize; 6]) -> isize {
    let [fd, base, length, flags, ..] = args;
    let deadline = if flags & AT_ONCE == 0 { sockets::deadline(fd, SO_RCVTIMEO) } else { None };
    match deadline {
        Some(deadline) => {
            receive_until(deadline, nr::RECVFROM, args, 3, Buffers::one(base, length))
        }
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::RECVFROM, args) },
    }
}

pub(crate) fn recvmsg([fd, message, flags, ..]: [usize; 6]) -> isize {
    let deadline = if flags & AT_ONCE == 0 { sockets::deadline(fd, SO_RCVTIMEO) } else { None };
    let args = [fd, message, flags, 0, 0, 0];
    let received = match deadline {
        // SAFETY: numbers, which may have any value.
        Some(deadline) => result(unsafe { memory::read(message) }.map(|header: Message| {
            let buffers = Buffers::Many { first: header.buffers, count: header.buffer_count };
            receive_until(deadline, nr::RECVMSG, args, 2, buffers)
        })),
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::RECVMSG, args) },
    };
    if received >= 0 {
        stamps::translate(message);
    }
    received
}

/// recvmmsg(2), message by message. Its timeout is looked at after each, as the kernel does: one
/// that does not come is waited for longer.
pub(crate) fn recvmmsg(args: [usize; 6]) -> isize {
    result(recvmmsg_or_error(args))
}

fn recvmmsg_or_error([fd, first, count, flags, timeout, _]: [usize; 6]) -> Result<isize, isize> {
    let deadline = if timeout == 0 { None } else { Some(relative(timeout)?) };
    let mut flags_now = flags & !MSG_WAITFORONE;
    let mut got = 0;
    // The count is an `unsigned int`, and the kernel takes so many at most.
    for number in 0..(count as u32 as usize).min(MESSAGES_MAX) {
        let message = first + number * MESSAGE_AND_LENGTH;
        let received = recvmsg([fd, message, flags_now, 0, 0, 0]);
        if received < 0 {
            if got == 0 {
                return Err(received);
            }
            break;
        }
        memory::write(message + size_of::<Message>(), &(received as u32))?;
        got += 1;
        if flags & MSG_WAITFORONE != 0 {
            flags_now |= MSG_DONTWAIT;
        }
        if deadline.is_some_and(Deadline::has_passed) {
            break;
        }
    }
    if let Some(deadline) = deadline
        && got > 0
    {
        write_left(timeout, deadline);
    }
    Ok(got)
}

/// Receives with a call whose flags are its argument number `at`.
fn receive_until(
    deadline: Deadline,
    number: i32,
    mut args: [usize; 6],
    at: usize,
    buffers: Buffers,
) -> isize {
    let (fd, flags) = (args[0], args[at]);
    args[at] = flags | MSG_DONTWAIT;
    let got = patiently(fd, Direction::In, deadline, || {
        // SAFETY: the program's own call, which the kernel checks, or one on its buffers.
        unsafe { arch::syscall(number, args) }
    });
    if got <= 0 || flags & MSG_PEEK != 0 {
        return got;
    }
    fill(fd, flags, buffers, got as usize, deadline) as isize
}

/// Goes on receiving until there is as much as is waited for: all (`MSG_WAITALL`), or what
/// `SO_RCVLOWAT` demands. Returns how much there is.
fn fill(fd: usize, flags: usize, buffers: Buffers, mut got: usize, deadline: Deadline) -> usize {
    let wanted = match flags & MSG_WAITALL {
        0 => sockets::low_water(fd),
        _ if sockets::is_stream(fd) => usize::MAX,
        _ => return got,
    };
    while got < wanted {
        let Ok(Some(Buffer { base, length })) = buffers.rest(got) else { break };
        let args = [fd, base, length, flags | MSG_DONTWAIT, 0, 0];
        let more = patiently(fd, Direction::In, deadline, || {
            // SAFETY: a buffer of the program's, which the kernel checks.
            unsafe { arch::syscall(nr::RECVFROM, args) }
        });
        if more <= 0 {
            break;
        }
        got += more as usize;
    }
    got
}
