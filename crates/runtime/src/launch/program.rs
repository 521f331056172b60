//! Starting the first program of a tree: it puts the filter on itself between fork and exec and
//! sends the listener of its notifications to the follower, so that already its own exec is
//! followed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::filter;
use os::fds;
use os::seccomp;

/// The way of a new program to the follower: a socket that carries listeners.
#[derive(Clone, Debug)]
pub struct Gate {
    socket: Arc<OwnedFd>,
    /// Whether what programs get at random follows from a seed.
    is_seeded: bool,
}

impl Gate {
    /// A gate, and the end at which listeners arrive.
    pub(super) fn new(is_seeded: bool) -> io::Result<(Self, OwnedFd)> {
        let (gate, arrivals) = fds::pair()?;
        Ok((Self::from_fd(gate, is_seeded), arrivals))
    }

    /// A gate that came from another process.
    pub fn from_fd(fd: OwnedFd, is_seeded: bool) -> Self {
        Self { socket: Arc::new(fd), is_seeded }
    }

    /// Whether it leads to a domain in which what programs get at random follows from a seed.
    pub const fn is_seeded(&self) -> bool {
        self.is_seeded
    }

    /// The socket, to be handed to another process.
    pub fn fd(&self) -> &OwnedFd {
        &self.socket
    }

    pub(super) fn send_listener(&self, name: &str, listener: BorrowedFd<'_>) -> io::Result<()> {
        let name = if name.is_empty() { "program" } else { name }.as_bytes();
        fds::send(self.socket.as_fd(), &name[..name.len().min(NAME_LENGTH_MAX)], &[listener])
    }

    /// The next listener to arrive; `None` when all gates are closed.
    pub(super) fn arrival(arrivals: &OwnedFd) -> io::Result<Option<Listener>> {
        let mut name = [0; NAME_LENGTH_MAX];
        let (count, mut fds) = fds::receive(arrivals.as_fd(), &mut name)?;
        if count == 0 {
            return Ok(None);
        }
        let fd = fds.pop().ok_or(io::ErrorKind::InvalidData)?;
        let name = String::from_utf8_lossy(&name[..count]).into_owned();
        Ok(Some(Listener { fd, name }))
    }
}

/// Where a program and all that it starts report to the follower.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) fd: OwnedFd,
    pub(super) name: String,
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Most octets of the name of a program; what is longer is cut off.
const NAME_LENGTH_MAX: usize = 128;

/// Makes `command` start its program in the domain behind `gate`, under a name.
pub fn in_domain<'c>(command: &'c mut Command, gate: &Gate, name: &str) -> &'c mut Command {
    // SAFETY: it may run between fork and exec, as it says.
    unsafe { command.pre_exec(entrance(gate, name)) }
}

/// What puts the process that calls it, and all that it starts, into the domain behind `gate`, under a
/// name. It makes system calls on what is there already, and neither allocates nor takes a lock: so it
/// may run between fork and exec.
pub fn entrance(gate: &Gate, name: &str) -> impl FnMut() -> io::Result<()> + Send + Sync + 'static {
    let mut name = if name.is_empty() { "program" } else { name }.as_bytes().to_vec();
    name.truncate(NAME_LENGTH_MAX);
    let filter = filter::program(gate.is_seeded);
    let gate = gate.clone();
    move || {
        let listener = seccomp::install(&filter)?;
        fds::send(gate.socket.as_fd(), &name, &[listener.as_fd()])
    }
}
