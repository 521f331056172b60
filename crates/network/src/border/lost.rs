//! Where the network's thread is told that a host is lost, which whoever started all hosts has decided.
//!
//! All hosts are told of lost ones in the same order. From then on nothing of it counts any more, also if it is heard again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use os::wake::Wake;
use parking_lot::Mutex;

/// A host that is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    pub host: usize,
    /// Why, in a sentence.
    pub reason: String,
}

#[derive(Debug)]
pub(crate) struct Losing {
    wake: Wake,
    told: Mutex<Vec<Lost>>,
}

impl Losing {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { wake: Wake::new()?, told: Mutex::default() })
    }

    /// A host is lost.
    pub(crate) fn tell(&self, lost: Lost) {
        self.told.lock().push(lost);
        self.wake.wake();
    }

    /// What was told since the last time.
    pub(super) fn take(&self) -> Vec<Lost> {
        self.wake.clear();
        std::mem::take(&mut self.told.lock())
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
