//! Starting the first program of a tree: it puts the filter on itself between fork and exec and
//! sends the listener of its notifications to the follower, so that already its own exec is
//! followed.

use std::io::{self, IoSlice};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::{filter, seccomp};

/// The way of a new program to the follower: a socket that carries listeners.
#[derive(Clone, Debug)]
pub struct Gate(Arc<OwnedFd>);

impl Gate {
    /// A gate, and the end at which listeners arrive.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let mut fds = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: `fds` has room for the two descriptors, which nobody else owns.
        unsafe {
            if libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok((Self(Arc::new(OwnedFd::from_raw_fd(fds[0]))), OwnedFd::from_raw_fd(fds[1])))
        }
    }

    /// A gate that came from another process.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self(Arc::new(fd))
    }

    /// The socket, to be handed to another process.
    #[must_use]
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// The next listener to arrive; `None` when all gates are closed.
    pub(super) fn arrival(arrivals: &OwnedFd) -> io::Result<Option<OwnedFd>> {
        let mut octet = [0u8];
        let (count, fd) = receive_with_fd(arrivals.as_raw_fd(), &mut octet)?;
        if count == 0 {
            return Ok(None);
        }
        fd.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Makes `command` start its program in the domain behind `gate`.
pub fn in_domain<'c>(command: &'c mut Command, gate: &Gate) -> &'c mut Command {
    let filter = filter::program();
    let gate = gate.clone();
    let enter = move || {
        let listener = seccomp::install(&filter)?;
        send_fd(gate.0.as_raw_fd(), listener.as_raw_fd())
    };
    // SAFETY: between fork and exec the closure only makes system calls on what is there
    // already; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(enter) }
}

/// Room for one descriptor in a control message.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; 64]);

/// Sends a descriptor with one octet. Allocates nothing.
fn send_fd(socket: RawFd, fd: RawFd) -> io::Result<()> {
    let octet = [0u8];
    let mut slice = [IoSlice::new(&octet)];
    let mut control = Control([MaybeUninit::zeroed(); 64]);
    // SAFETY: the message describes live buffers, and the control buffer has room for the header
    // and one descriptor, as the macros compute.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = slice.as_mut_ptr().cast();
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        if libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) != 1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Receives octets and at most one descriptor, which is closed on exec.
fn receive_with_fd(socket: RawFd, octets: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut slice = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    let mut control = Control([MaybeUninit::zeroed(); 64]);
    // SAFETY: the message describes live buffers; the kernel fills them, and a header that it
    // reports with SCM_RIGHTS holds a descriptor that is now ours.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        let count = libc::recvmsg(socket, &raw mut message, libc::MSG_CMSG_CLOEXEC);
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Ok((count, None));
        }
        let fd = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok((count, Some(OwnedFd::from_raw_fd(fd))))
    }
}
