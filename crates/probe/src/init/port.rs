//! The guest's side of the virtual serial port, without ever waiting in a write.
//!
//! The kernel's driver holds one buffer at a time: the port can be written to again once the host
//! has taken what was written last (`drivers/char/virtio_console.c`).

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The other side is gone.
pub(super) const ENDED: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

/// Waits until something is possible at one of these, or for so long. A signal ends the wait early.
pub(super) fn wait(fds: &mut [PollFd<'_>], limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    match poll(fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
pub(super) struct Port {
    pub(super) file: File,
    pending: Vec<u8>,
    /// Whether the host has closed its end: then there is nothing to wait for at the port.
    pub(super) is_closed: bool,
}

impl Port {
    pub(super) fn new(file: File) -> Self {
        Self { file, pending: Vec::new(), is_closed: false }
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes octets to be written; those of a host that is gone vanish.
    pub(super) fn take(&mut self, octets: &[u8]) {
        if !self.is_closed {
            self.pending.extend_from_slice(octets);
        }
    }

    /// Writes what is pending, as far as the host takes it now.
    pub(super) fn write(&mut self) -> io::Result<()> {
        match (&self.file).write(&self.pending) {
            Ok(count) => {
                self.pending.drain(..count);
                Ok(())
            }
            Err(error) if is_for_later(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads what the host has said; 0 octets if it says no more.
    pub(super) fn read(&mut self, block: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(block) {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_for_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.pending.clear();
    }

    /// Waits until the host has taken everything.
    pub(super) fn drain(&mut self, limit: Duration) -> io::Result<()> {
        let until = Instant::now() + limit;
        while !self.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.file, PollFlags::OUT)];
            wait(&mut fds, Some(left))?;
            let ready = fds[0].revents();
            if ready.intersects(ENDED) {
                self.close();
            } else if ready.contains(PollFlags::OUT) && !self.is_pending() {
                break;
            } else if ready.contains(PollFlags::OUT) {
                self.write()?;
            } else if left.is_zero() {
                return Err(io::Error::other("the host does not read the output of the probe"));
            }
        }
        Ok(())
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
