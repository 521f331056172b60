//! Whose turn it is at what all hosts share: whoever comes first in virtual time, and of those at one time the host
//! with the lowest number.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Sender, channel};

use os::wake::Wake;
use parking_lot::Mutex;
use vtime::VirtualTime;

/// Those of one host who wait for their turn.
#[derive(Debug)]
pub struct Turns {
    wake: Wake,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: u64,
    /// By when, and in which order they have come.
    who: BTreeMap<(VirtualTime, u64), Sender<()>>,
    is_over: bool,
}

impl Turns {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { wake: Wake::new()?, waiting: Mutex::default() })
    }

    /// Waits until nobody on another host does anything any more before `when`, while the clock of this host is held
    /// there. Returns whether it is so; not if the network has ended.
    pub fn wait(&self, when: VirtualTime) -> bool {
        let receiver = {
            let mut waiting = self.waiting.lock();
            if waiting.is_over {
                return false;
            }
            waiting.count += 1;
            let (sender, receiver) = channel();
            let number = waiting.count;
            waiting.who.insert((when, number), sender);
            receiver
        };
        self.wake.wake();
        receiver.recv().is_ok()
    }

    /// For whom to wait first.
    pub(super) fn first(&self) -> Option<VirtualTime> {
        self.waiting.lock().who.first_key_value().map(|(&(when, _), _)| when)
    }

    /// Lets all go on whose turn it is.
    pub(super) fn give(&self, is_past: impl Fn(VirtualTime) -> bool) {
        let mut waiting = self.waiting.lock();
        while let Some(first) = waiting.who.first_entry()
            && is_past(first.key().0)
        {
            // Who has given up needs no turn.
            let _ = first.remove().send(());
        }
    }

    /// Nobody gets a turn any more: who waits goes on without it.
    pub fn end(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_over = true;
        waiting.who.clear();
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub(super) fn clear(&self) {
        self.wake.clear();
    }
}
