//! Starting the first program of a tree: it puts the filter on itself between fork and exec and
//! sends the listener of its notifications to the follower, so that already its own exec is
//! followed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::{filter, seccomp};
use crate::fds;

/// The way of a new program to the follower: a socket that carries listeners.
#[derive(Clone, Debug)]
pub struct Gate(Arc<OwnedFd>);

impl Gate {
    /// A gate, and the end at which listeners arrive.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (gate, arrivals) = fds::pair()?;
        Ok((Self(Arc::new(gate)), arrivals))
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
        let (count, mut fds) = fds::receive(arrivals.as_fd(), &mut [0])?;
        if count == 0 {
            return Ok(None);
        }
        fds.pop().map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Makes `command` start its program in the domain behind `gate`.
pub fn in_domain<'c>(command: &'c mut Command, gate: &Gate) -> &'c mut Command {
    let filter = filter::program();
    let gate = gate.clone();
    let enter = move || {
        let listener = seccomp::install(&filter)?;
        fds::send(gate.0.as_fd(), &[0], &[listener.as_fd()])
    };
    // SAFETY: between fork and exec the closure only makes system calls on what is there
    // already; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(enter) }
}
