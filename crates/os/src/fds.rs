//! Messages with descriptors between processes of one host, over sequenced-packet sockets: each
//! message arrives whole, with the descriptors that were sent with it; and descriptors that a
//! process inherits under a number that its command line names. unix(7), cmsg(3)

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, openat, readlinkat_raw};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const FDS_MAX: usize = 4;
const CONTROL_OCTETS: usize = rustix::cmsg_space!(ScmRights(FDS_MAX));

/// A pair of connected sockets, closed on exec.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// Lets the program that `command` starts inherit a descriptor under its number, which its
/// command line names.
pub fn inherit(command: &mut Command, fd: BorrowedFd<'_>) {
    let fd = fd.as_raw_fd();
    let keep_open = move || {
        // SAFETY: the descriptor is open in the child as in the parent.
        Ok(fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::empty())?)
    };
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(keep_open) };
}

/// Takes over descriptors that [`inherit`] let this process inherit. Programs that it starts
/// do not inherit them further.
///
/// # Errors
/// When a number is a standard stream's, stands there twice, or names no open descriptor: the
/// command line is one that a person has typed.
///
/// # Safety
/// Nobody in this process may own one of them: it has opened nothing yet, and this is called once.
pub unsafe fn take_over<const COUNT: usize>(
    numbers: [RawFd; COUNT],
) -> io::Result<[OwnedFd; COUNT]> {
    for (place, number) in numbers.iter().enumerate() {
        // SAFETY: takes numbers only.
        let open = unsafe { libc::fcntl(*number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
        if *number <= libc::STDERR_FILENO || numbers[..place].contains(number) || !open {
            let why = format!("descriptor {number} was not passed to this process");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    // SAFETY: they are open and distinct, and nobody else's in this process as the caller says.
    Ok(numbers.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// A file or folder in a folder that is open, whatever is mounted where that was since. openat(2)
pub fn open_below(folder: &File, name: &str) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether a link in a folder that is open leads anywhere. readlinkat(2)
pub fn link_below(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    readlinkat_raw(folder, name, &mut [MaybeUninit::uninit(); 1])?;
    Ok(())
}

/// Sends a message with up to four descriptors. Allocates nothing, so that it may run between
/// fork and exec.
///
/// # Errors
/// What sendmsg(2) reports; EPIPE when nobody listens any more.
pub fn send(socket: BorrowedFd<'_>, octets: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); CONTROL_OCTETS];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !fds.is_empty() {
        let has_room = control.push(SendAncillaryMessage::ScmRights(fds));
        assert!(has_room, "room for {FDS_MAX} descriptors");
    }
    sendmsg(socket, &[IoSlice::new(octets)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message into `octets`. Returns its length (0: all senders are gone) and its
/// descriptors, which are closed on exec.
///
/// # Errors
/// What recvmsg(2) reports, and `InvalidData` for a message that does not fit.
pub fn receive(socket: BorrowedFd<'_>, octets: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut room = [MaybeUninit::uninit(); CONTROL_OCTETS];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut slices = [IoSliceMut::new(octets)];
    let message = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for one in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = one {
            fds.extend(rights);
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((message.bytes, fds))
}

/// Lets this process open as many descriptors as it may; each timerfd of a program takes one of
/// its agent. Programs that were started before keep their limit.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // What is refused leaves the limit as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Descriptors that this process may have open.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_message_arrives_whole_with_its_descriptors() {
        let (here, there) = pair().unwrap();
        send(here.as_fd(), b"hello", &[here.as_fd(), there.as_fd()]).unwrap();
        send(here.as_fd(), b"again", &[]).unwrap();
        let mut octets = [0; 16];
        let (count, fds) = receive(there.as_fd(), &mut octets).unwrap();
        assert_eq!((&octets[..count], fds.len()), (&b"hello"[..], 2));
        drop(fds);
        assert_eq!(receive(there.as_fd(), &mut octets).unwrap().0, 5);
        drop(here);
        assert_eq!(receive(there.as_fd(), &mut octets).unwrap().0, 0);
    }

    #[test]
    fn only_what_was_inherited_is_taken_over() {
        let take = |numbers| {
            // SAFETY: nothing is taken over: the answers are errors.
            unsafe { take_over(numbers) }.unwrap_err().to_string()
        };
        let (here, _there) = pair().unwrap();
        let open = here.as_raw_fd();
        for wrong in [[open, 1], [open, open], [open, i32::MAX], [-1, open]] {
            assert!(take(wrong).ends_with("was not passed to this process"), "{wrong:?}");
        }
        let number = std::os::fd::IntoRawFd::into_raw_fd(here);
        // SAFETY: its owner has just given it up.
        let [taken] = unsafe { take_over([number]) }.unwrap();
        assert_eq!(taken.as_raw_fd(), number);
    }

    #[test]
    fn a_message_that_does_not_fit_is_an_error() {
        let (here, there) = pair().unwrap();
        send(here.as_fd(), b"hello", &[]).unwrap();
        assert!(receive(there.as_fd(), &mut [0; 2]).is_err());
    }
}
