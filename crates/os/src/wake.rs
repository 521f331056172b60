//! A descriptor with which one thread wakes another that polls. eventfd(2)

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// A counter that is readable from the first [`Wake::wake`] until [`Wake::clear`].
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// Closed on exec; neither side ever blocks on it.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable. A full counter (EAGAIN) is readable already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Forgets all calls of [`Self::wake`] so far. An empty counter (EAGAIN) is clear already.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
