//! What whoever lets the clock jump has found out and other hosts are to know: that all sleep here, and until when.
//!
//! It looks while the network's thread waits, and tells it the round of that wait ([`crate::outlook`]): if the
//! thread has done anything since, it may have woken somebody, and what was found out counts no more.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use os::wake::Wake;
use parking_lot::Mutex;
use vtime::VirtualTime;

/// Stands for "not idle as far as others are told".
const AWAKE: i64 = i64::MIN;

#[derive(Debug)]
pub(crate) struct Idle {
    wake: Wake,
    told: Mutex<Option<(u64, VirtualTime)>>,
    /// Until when all sleep, as the network's thread knows.
    known: AtomicI64,
    /// A jump to there or beyond is worth a report.
    says_at: AtomicI64,
    /// Something may come from other hosts.
    others_may_send: AtomicBool,
}

impl Idle {
    pub(super) fn new() -> io::Result<Self> {
        let [known, says_at] = [AWAKE, i64::MAX].map(AtomicI64::new);
        let others_may_send = AtomicBool::new(true);
        Ok(Self { wake: Wake::new()?, told: Mutex::default(), known, says_at, others_may_send })
    }

    /// All slept in this round of the network, and nobody does anything before that time.
    pub(crate) fn tell(&self, round: u64, when: VirtualTime) {
        if self.known.load(Ordering::Relaxed) != when.as_ns() {
            *self.told.lock() = Some((round, when));
            self.wake.wake();
        }
    }

    /// Whether something may come from other hosts before anything could come back of what is sent now.
    pub(crate) fn others_may_send(&self) -> bool {
        self.others_may_send.load(Ordering::Relaxed)
    }

    /// The clock has jumped.
    pub(crate) fn jumped(&self, now: VirtualTime) {
        if now.as_ns() >= self.says_at.load(Ordering::Relaxed) {
            self.wake.wake();
        }
    }

    /// What was told of this round.
    pub(super) fn take(&self, round: u64) -> Option<VirtualTime> {
        self.wake.clear();
        let told = self.told.lock().take();
        told.filter(|(of, _)| *of == round).map(|(_, when)| when)
    }

    /// Until when all sleep, as it is known now, when there is something to say, and whether something may come.
    pub(super) fn publish(
        &self,
        known: Option<VirtualTime>,
        says_at: VirtualTime,
        others_may_send: bool,
    ) {
        self.others_may_send.store(others_may_send, Ordering::Relaxed);
        self.known.store(known.map_or(AWAKE, VirtualTime::as_ns), Ordering::Relaxed);
        self.says_at.store(says_at.as_ns(), Ordering::Relaxed);
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
