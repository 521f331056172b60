//! Messages with descriptors between processes of one host, over sequenced-packet sockets: each
//! message arrives whole, with the descriptors that were sent with it; and descriptors that a
//! process inherits under a number that its command line names. unix(7), cmsg(3)

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Most descriptors with one message.
const FDS_MAX: usize = 4;

/// A pair of connected sockets, closed on exec.
///
/// # Errors
/// When the kernel gives no more descriptors.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors, which nobody else owns.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Lets the program that `command` starts inherit a descriptor under its number, which its
/// command line names.
pub fn hand_down(command: &mut Command, fd: BorrowedFd<'_>) {
    let fd = fd.as_raw_fd();
    let keep_open = move || {
        // SAFETY: takes numbers only; the descriptor is open in the child as in the parent.
        match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(keep_open) };
}

/// Takes over descriptors that [`hand_down`] let this process inherit. Programs that it starts
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
///
/// # Errors
/// What openat(2) reports.
pub fn open_below(folder: &File, name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a C string; the result is checked and owned by nobody else.
    unsafe {
        match libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) {
            fd if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Whether a link in a folder that is open leads anywhere. readlinkat(2)
///
/// # Errors
/// What readlinkat(2) reports.
pub fn link_below(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let mut target = [0_u8; 1];
    // SAFETY: a C string, and as much room as is told.
    let length = unsafe {
        let place = target.as_mut_ptr().cast();
        libc::readlinkat(folder.as_raw_fd(), name.as_ptr(), place, target.len())
    };
    if length < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Room for control messages.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; 64]);

const _: () = assert!(size_of::<Control>() >= 16 + FDS_MAX * size_of::<RawFd>());

/// Sends a message with up to four descriptors. Allocates nothing, so that it may run between
/// fork and exec.
///
/// # Errors
/// What sendmsg(2) reports; EPIPE when nobody listens any more.
pub fn send(socket: BorrowedFd<'_>, octets: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    assert!(fds.len() <= FDS_MAX, "room for {FDS_MAX} descriptors");
    let mut slice =
        libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    let mut control = Control([MaybeUninit::zeroed(); 64]);
    // SAFETY: the message describes live buffers, and the control buffer has room for the header
    // and the descriptors by the assertions.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            let length = size_of_val(fds) as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(length) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as usize;
            for (index, fd) in fds.iter().enumerate() {
                let place = libc::CMSG_DATA(header).cast::<RawFd>().add(index);
                place.write_unaligned(fd.as_raw_fd());
            }
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives a message into `octets`. Answers its length (0: all senders are gone) and its
/// descriptors, which are closed on exec.
///
/// # Errors
/// What recvmsg(2) reports, and `InvalidData` for a message that does not fit.
pub fn receive(socket: BorrowedFd<'_>, octets: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut slice = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    let mut control = Control([MaybeUninit::zeroed(); 64]);
    let mut fds = Vec::new();
    // SAFETY: the message describes live buffers; the kernel fills them, and descriptors that it
    // reports with SCM_RIGHTS are now ours.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>();
        let count = loop {
            let count = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
            if count >= 0 {
                break count.unsigned_abs();
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        };
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
            let length = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
            for index in 0..length / size_of::<RawFd>() {
                let fd = libc::CMSG_DATA(header).cast::<RawFd>().add(index).read_unaligned();
                fds.push(OwnedFd::from_raw_fd(fd));
            }
        }
        if message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((count, fds))
    }
}

/// Lets this process open as many descriptors as it may; each timerfd of a program takes one of
/// its agent. Programs that were started before keep their limit.
pub fn raise_limit() {
    // SAFETY: a structure of numbers, which the kernel reads and writes.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
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
    fn only_what_was_handed_down_is_taken_over() {
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
