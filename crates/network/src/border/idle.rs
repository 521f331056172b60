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

/// What all that sleep wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// This time of their domain.
    Until(VirtualTime),
    /// The same, or a timer of a kernel, which runs on host time.
    ForTimersUntil(VirtualTime),
}

#[derive(Debug)]
pub(crate) struct Idle {
    wake: Wake,
    told: Mutex<Option<(u64, Sleep)>>,
    /// What all that sleep wait for, as the network's thread knows.
    known: Mutex<Option<Sleep>>,
    /// A jump to there or beyond is worth a report.
    says_at: AtomicI64,
    /// Something may come from other hosts.
    others_may_send: AtomicBool,
}

impl Idle {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            wake: Wake::new()?,
            told: Mutex::default(),
            known: Mutex::default(),
            says_at: AtomicI64::new(i64::MAX),
            others_may_send: AtomicBool::new(true),
        })
    }

    /// All slept in this round of the network.
    pub(crate) fn tell(&self, round: u64, sleep: Sleep) {
        if *self.known.lock() != Some(sleep) {
            *self.told.lock() = Some((round, sleep));
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
    pub(super) fn take(&self, round: u64) -> Option<Sleep> {
        self.wake.clear();
        let told = self.told.lock().take();
        told.filter(|(of, _)| *of == round).map(|(_, sleep)| sleep)
    }

    /// What all that sleep wait for, as it is known now, when there is something to say, and whether something may come.
    pub(super) fn publish(
        &self,
        known: Option<Sleep>,
        says_at: VirtualTime,
        others_may_send: bool,
    ) {
        self.others_may_send.store(others_may_send, Ordering::Relaxed);
        *self.known.lock() = known;
        self.says_at.store(says_at.as_ns(), Ordering::Relaxed);
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
