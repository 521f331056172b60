//! Sending to sockets that have a timeout: send(2), sendmsg(2), sendmmsg(2), and write(2) and
//! writev(2), which do the same on a socket. A stream takes all of it or, when the time is over,
//! a part.

use super::buffers::{Buffer, Buffers};
use super::result;
use super::sockets::{self, Direction, SO_SNDTIMEO, patiently};
use crate::arch::{self, nr};
use crate::memory;
use crate::stamps::Message;
use crate::wait::Deadline;

const MSG_DONTWAIT: usize = 0x40;
const MSG_NOSIGNAL: usize = 0x4000;

/// Most messages of one sendmmsg(2).
const MESSAGES_MAX: usize = 1024;
/// `struct mmsghdr`: the message and the octets sent.
const MESSAGE_AND_LENGTH: usize = 64;

pub(crate) fn write(args: [usize; 6]) -> isize {
    let [fd, base, length, ..] = args;
    match sockets::deadline(fd, SO_SNDTIMEO) {
        Some(deadline) => {
            let send = [fd, base, length, 0, 0, 0];
            send_until(deadline, nr::SENDTO, send, 3, Buffers::one(base, length))
        }
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::WRITE, args) },
    }
}

pub(crate) fn writev(args: [usize; 6]) -> isize {
    let [fd, first, count, ..] = args;
    match sockets::deadline(fd, SO_SNDTIMEO) {
        Some(deadline) => {
            let message = Message { buffers: first, buffer_count: count, ..Message::default() };
            let send = [fd, &raw const message as usize, 0, 0, 0, 0];
            send_until(deadline, nr::SENDMSG, send, 2, Buffers::Many { first, count })
        }
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::WRITEV, args) },
    }
}

pub(crate) fn sendto(args: [usize; 6]) -> isize {
    let [fd, base, length, flags, ..] = args;
    match waits(fd, flags) {
        Some(deadline) => send_until(deadline, nr::SENDTO, args, 3, Buffers::one(base, length)),
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::SENDTO, args) },
    }
}

pub(crate) fn sendmsg([fd, message, flags, ..]: [usize; 6]) -> isize {
    let args = [fd, message, flags, 0, 0, 0];
    match waits(fd, flags) {
        // SAFETY: numbers, which may have any value.
        Some(deadline) => result(unsafe { memory::read(message) }.map(|header: Message| {
            let buffers = Buffers::Many { first: header.buffers, count: header.buffer_count };
            send_until(deadline, nr::SENDMSG, args, 2, buffers)
        })),
        // SAFETY: the program's own call, which the kernel checks.
        None => unsafe { arch::syscall(nr::SENDMSG, args) },
    }
}

/// sendmmsg(2), message by message.
pub(crate) fn sendmmsg(args: [usize; 6]) -> isize {
    let [fd, first, count, flags, ..] = args;
    if waits(fd, flags).is_none() {
        // SAFETY: the program's own call, which the kernel checks.
        return unsafe { arch::syscall(nr::SENDMMSG, args) };
    }
    let mut sent = 0;
    for number in 0..(count as u32 as usize).min(MESSAGES_MAX) {
        let message = first + number * MESSAGE_AND_LENGTH;
        let octets = sendmsg([fd, message, flags, 0, 0, 0]);
        if octets < 0 {
            return if sent > 0 { sent } else { octets };
        }
        if let Err(error) = memory::write(message + size_of::<Message>(), &(octets as u32)) {
            return if sent > 0 { sent } else { error };
        }
        sent += 1;
    }
    sent
}

fn waits(fd: usize, flags: usize) -> Option<Deadline> {
    if flags & MSG_DONTWAIT != 0 {
        return None;
    }
    sockets::deadline(fd, SO_SNDTIMEO)
}

/// Sends with a call whose flags are its argument number `at`.
fn send_until(
    deadline: Deadline,
    number: i32,
    mut args: [usize; 6],
    at: usize,
    buffers: Buffers,
) -> isize {
    let (fd, flags) = (args[0], args[at]);
    args[at] = flags | MSG_DONTWAIT;
    let sent = patiently(fd, Direction::Out, deadline, || {
        // SAFETY: the program's own call, which the kernel checks, or one on its buffers.
        unsafe { arch::syscall(number, args) }
    });
    if sent <= 0 || !sockets::is_stream(fd) {
        return sent;
    }
    let mut sent = sent as usize;
    while let Ok(Some(Buffer { base, length })) = buffers.rest(sent) {
        // What was sent already is the answer, and no SIGPIPE comes with it.
        let args = [fd, base, length, flags | MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0];
        let more = patiently(fd, Direction::Out, deadline, || {
            // SAFETY: a buffer of the program's, which the kernel checks.
            unsafe { arch::syscall(nr::SENDTO, args) }
        });
        if more <= 0 {
            break;
        }
        sent += more as usize;
    }
    sent as isize
}
