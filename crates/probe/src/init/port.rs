//! The guest's side of the virtual serial port, without ever waiting in a write.
//!
//! The kernel's driver holds one buffer at a time: the port can be written to again once the host
//! has taken what was written last (`drivers/char/virtio_console.c`).

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::sys::guest::{self, Wish};

#[derive(Debug)]
pub(super) struct Port {
    file: File,
    pending: Vec<u8>,
    /// Whether the host has closed its end.
    is_closed: bool,
}

impl Port {
    pub(super) fn new(file: File) -> Self {
        Self { file, pending: Vec::new(), is_closed: false }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether something waits to be written.
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether there is anything to wait for at the port.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
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

    /// The host is gone.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.pending.clear();
    }

    /// Waits until the host has taken everything.
    pub(super) fn drain(&mut self, limit: Duration) -> io::Result<()> {
        let until = Instant::now() + limit;
        while !self.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            let wish = Wish { fd: &self.file, read: false, write: true };
            let ready = guest::wait_for([Some(wish)], Some(left))?[0];
            if ready.ended {
                self.close();
            } else if ready.write && !self.is_pending() {
                break;
            } else if ready.write {
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
