//! A FUSE device: requests of the kernel come from it, and replies go to it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::wire::{self, Reply, Request};

/// What a look at the device has brought.
pub(super) enum Next<'b> {
    Request(Request<'b>),
    /// No request, until the device can be read again.
    Nothing,
    /// The mount is gone.
    End,
}

#[derive(Debug)]
pub(super) struct Device(File);

impl Device {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self(File::from(fd))
    }

    /// The next request, in a buffer of [`wire::BUFFER`] octets.
    ///
    /// # Errors
    /// When the device fails, or the kernel speaks another protocol.
    pub(super) fn next<'b>(&self, buffer: &'b mut [u8]) -> io::Result<Next<'b>> {
        let length = match (&self.0).read(buffer) {
            Ok(length) => length,
            Err(error) => {
                return match error.raw_os_error() {
                    // Unmounted.
                    Some(libc::ENODEV) => Ok(Next::End),
                    // Withdrawn, or a signal.
                    Some(libc::ENOENT | libc::EAGAIN | libc::EINTR) => Ok(Next::Nothing),
                    _ => Err(error),
                };
            }
        };
        wire::decode(&buffer[..length])
            .map(Next::Request)
            .ok_or_else(|| io::Error::other("the kernel sent a request that cannot be read"))
    }

    /// # Errors
    /// When the device fails.
    pub(super) fn send(&self, unique: u64, reply: &Reply) -> io::Result<()> {
        // The device takes a reply as a whole or not at all.
        match (&self.0).write_all(&reply.encode(unique)) {
            Ok(()) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Nobody waits for this reply any more, or nobody is left.
                Some(libc::ENOENT | libc::ENODEV) => Ok(()),
                _ => Err(error),
            },
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
