//! Receiving and sending on sockets that have a timeout or give stamps: recv(2), recvmsg(2),
//! recvmmsg(2), send(2), sendmsg(2), sendmmsg(2), and read(2), readv(2), write(2) and writev(2),
//! which do the same on a socket. A stream takes all of what is sent or, when the time is over, a
//! part.

use super::buffers::{Buffer, Buffers};
use super::sockets::{self, Direction, patiently};
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
const MSG_NOSIGNAL: usize = 0x4000;
const MSG_WAITFORONE: usize = 0x1_0000;

/// Most messages of one recvmmsg(2) or sendmmsg(2).
const MESSAGES_MAX: usize = 1024;
/// `struct mmsghdr`: the message and its octets that were received or sent.
const MESSAGE_AND_LENGTH: usize = 64;

/// read(2) and write(2), which have no flags.
pub(crate) fn octets(number: i32, args: [usize; 6]) -> isize {
    let [fd, base, length, ..] = args;
    let (direction, call) = match number {
        nr::READ => (Direction::In, nr::RECVFROM),
        _ => (Direction::Out, nr::SENDTO),
    };
    match sockets::deadline(fd, direction) {
        // Reading nothing from a socket is no receiving.
        Some(deadline) if length > 0 || direction == Direction::Out => {
            transfer(deadline, call, [fd, base, length, 0, 0, 0], Buffers::one(base, length))
        }
        // SAFETY: the program's own call, which the kernel checks.
        _ => unsafe { arch::syscall(number, args) },
    }
}

/// readv(2) and writev(2), which have none either.
pub(crate) fn vector(number: i32, args: [usize; 6]) -> isize {
    let [fd, first, count, ..] = args;
    let buffers = Buffers::Many { first, count };
    let (direction, call) = match number {
        nr::READV => (Direction::In, nr::RECVMSG),
        _ => (Direction::Out, nr::SENDMSG),
    };
    let is_empty = || !buffers.length().is_ok_and(|length| length > 0);
    match sockets::deadline(fd, direction) {
        Some(deadline) if direction == Direction::Out || !is_empty() => {
            let message = Message { buffers: first, buffer_count: count, ..Message::default() };
            transfer(deadline, call, [fd, &raw const message as usize, 0, 0, 0, 0], buffers)
        }
        // SAFETY: the program's own call, which the kernel checks.
        _ => unsafe { arch::syscall(number, args) },
    }
}

/// recvfrom(2) and sendto(2), of one buffer.
pub(crate) fn datagram(number: i32, args: [usize; 6]) -> isize {
    let [fd, base, length, flags, ..] = args;
    match waits(number, fd, flags) {
        Some(deadline) => transfer(deadline, number, args, Buffers::one(base, length)),
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(number, args) },
    }
}

/// recvmsg(2) and sendmsg(2), of several buffers.
pub(crate) fn message(number: i32, [fd, message, flags, ..]: [usize; 6]) -> isize {
    let args = [fd, message, flags, 0, 0, 0];
    let octets = match waits(number, fd, flags) {
        // SAFETY: numbers, which may have any value.
        Some(deadline) => result(unsafe { memory::read(message) }.map(|header: Message| {
            let buffers = Buffers::Many { first: header.buffers, count: header.buffer_count };
            transfer(deadline, number, args, buffers)
        })),
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(number, args) },
    };
    if number == nr::RECVMSG && octets >= 0 {
        stamps::translate(message);
    }
    octets
}

/// recvmmsg(2), message by message. Its timeout is looked at after each, as the kernel does: one
/// that does not come is waited for longer.
pub(crate) fn recvmmsg(args: [usize; 6]) -> Result<isize, isize> {
    let [fd, first, count, flags, timeout, _] = args;
    let deadline = if timeout == 0 { None } else { Some(relative(timeout)?) };
    let mut flags_now = flags & !MSG_WAITFORONE;
    let mut got = 0;
    // The count is an `unsigned int`, and the kernel takes so many at most.
    for number in 0..(count as u32 as usize).min(MESSAGES_MAX) {
        let place = first + number * MESSAGE_AND_LENGTH;
        let received = message(nr::RECVMSG, [fd, place, flags_now, 0, 0, 0]);
        if received < 0 {
            if got == 0 {
                return Err(received);
            }
            break;
        }
        memory::write(place + size_of::<Message>(), &(received as u32))?;
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

/// sendmmsg(2), message by message.
pub(crate) fn sendmmsg(args: [usize; 6]) -> isize {
    let [fd, first, count, flags, ..] = args;
    if waits(nr::SENDMMSG, fd, flags).is_none() {
        // SAFETY: the program's own call, which the kernel checks.
        return unsafe { arch::syscall(nr::SENDMMSG, args) };
    }
    let mut sent = 0;
    for number in 0..(count as u32 as usize).min(MESSAGES_MAX) {
        let place = first + number * MESSAGE_AND_LENGTH;
        let octets = message(nr::SENDMSG, [fd, place, flags, 0, 0, 0]);
        let written = match octets {
            ..0 => Err(octets),
            _ => memory::write(place + size_of::<Message>(), &(octets as u32)),
        };
        if let Err(error) = written {
            return if sent > 0 { sent } else { error };
        }
        sent += 1;
    }
    sent
}

fn direction_of(number: i32) -> Direction {
    match number {
        nr::RECVFROM | nr::RECVMSG => Direction::In,
        _ => Direction::Out,
    }
}

/// The deadline of a call that has flags; `None` if it never waits with these, or not in virtual
/// time.
fn waits(number: i32, fd: usize, flags: usize) -> Option<Deadline> {
    let direction = direction_of(number);
    let at_once = match direction {
        Direction::In => MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE,
        Direction::Out => MSG_DONTWAIT,
    };
    if flags & at_once == 0 { sockets::deadline(fd, direction) } else { None }
}

/// Makes a call that has flags, and goes on in its buffers until there is as much as is waited for:
/// when receiving, all (`MSG_WAITALL`) or what `SO_RCVLOWAT` demands; when sending to a stream, all.
fn transfer(deadline: Deadline, number: i32, mut args: [usize; 6], buffers: Buffers) -> isize {
    let (fd, direction) = (args[0], direction_of(number));
    let at = if matches!(number, nr::RECVMSG | nr::SENDMSG) { 2 } else { 3 };
    let flags = args[at];
    args[at] = flags | MSG_DONTWAIT;
    let first = patiently(fd, direction, deadline, || {
        // SAFETY: the program's own call, which the kernel checks, or one on its buffers.
        unsafe { arch::syscall(number, args) }
    });
    if first <= 0 {
        return first;
    }
    // What was sent already is the answer, and no SIGPIPE comes with it.
    let (more, more_flags) = match direction {
        Direction::In => (nr::RECVFROM, MSG_DONTWAIT),
        Direction::Out => (nr::SENDTO, MSG_DONTWAIT | MSG_NOSIGNAL),
    };
    let wanted = match direction {
        Direction::In if flags & MSG_PEEK != 0 => 0,
        Direction::In if flags & MSG_WAITALL == 0 => sockets::low_water(fd),
        _ if sockets::is_stream(fd) => usize::MAX,
        _ => 0,
    };
    let mut done = first as usize;
    while done < wanted {
        let Ok(Some(Buffer { base, length })) = buffers.rest(done) else { break };
        let args = [fd, base, length, flags | more_flags, 0, 0];
        let next = patiently(fd, direction, deadline, || {
            // SAFETY: a buffer of the program's, which the kernel checks.
            unsafe { arch::syscall(more, args) }
        });
        if next <= 0 {
            break;
        }
        done += next as usize;
    }
    done as isize
}
