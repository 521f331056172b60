//! How far the time of a program is ahead of that of its domain by what it has computed, where that takes virtual
//! time and the clock stands meanwhile.
//!
//! The owner publishes until when the node is busy, and what the process that began the program had used by
//! then. What it has used since, the program adds itself, so that it sees time pass while it computes. Processes that it
//! forks go by what is published.
//!
//! A program can write to this, and then it is its own time that is wrong.

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use crate::time::VirtualTime;

/// No owner takes longer to publish than so many tries; a program that writes here itself gets anything.
const TRIES: u32 = 1000;

/// What is published of it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Ahead {
    sequence: AtomicU32,
    /// Virtual time that processor time takes, in millionths of it; 0 for none.
    millionths: AtomicU32,
    /// As it numbers itself.
    process: AtomicI32,
    reserved: AtomicU32,
    busy_until: AtomicI64,
    used_ns: AtomicU64,
    /// The latest time that the program has seen.
    latest: AtomicI64,
}

/// What was published at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy {
    pub millionths: u32,
    /// The process of which it is known what it has used, as it numbers itself.
    pub process: i32,
    pub until: VirtualTime,
    /// Processor time that this process had used, in nanoseconds.
    pub used_ns: u64,
}

impl Busy {
    /// What the domain's `now` is for the program. `used_ns` is what its process has used, if that is the one.
    /// While the clock `stands`, all of that is to be added; while it runs, it takes its time by itself.
    pub fn now(&self, now: VirtualTime, stands: bool, used_ns: Option<u64>) -> VirtualTime {
        let used_ns = used_ns.filter(|_| stands).unwrap_or(self.used_ns);
        let takes = self.takes_ns(used_ns.saturating_sub(self.used_ns));
        VirtualTime::from_ns(now.max(self.until).as_ns().saturating_add(takes))
    }

    /// What so much processor time takes, and is on the processor of the node.
    pub fn takes_ns(&self, used_ns: u64) -> i64 {
        times_millionths(used_ns, self.millionths)
    }
}

/// Cut off. The image in programs cannot divide 128 bits.
fn times_millionths(ns: u64, millionths: u32) -> i64 {
    const MILLION: u64 = 1_000_000;
    let millionths = u64::from(millionths);
    let whole = (ns / MILLION).saturating_mul(millionths);
    let takes = whole.saturating_add(ns % MILLION * millionths / MILLION);
    if takes > i64::MAX.unsigned_abs() { i64::MAX } else { takes.cast_signed() }
}

impl Ahead {
    /// For the owner alone: two at once would leave what neither has said.
    pub fn publish(&self, busy: Busy) {
        let sequence = self.sequence.load(Ordering::Relaxed) | 1;
        self.sequence.store(sequence, Ordering::Relaxed);
        fence(Ordering::Release);
        self.millionths.store(busy.millionths, Ordering::Relaxed);
        self.process.store(busy.process, Ordering::Relaxed);
        self.busy_until.store(busy.until.as_ns(), Ordering::Relaxed);
        self.used_ns.store(busy.used_ns, Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Release);
    }

    /// What was published last; `None` where computing takes no virtual time.
    pub fn busy(&self) -> Option<Busy> {
        if self.millionths.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut tries = 0;
        loop {
            let begun = self.sequence.load(Ordering::Acquire);
            let busy = Busy {
                millionths: self.millionths.load(Ordering::Relaxed),
                process: self.process.load(Ordering::Relaxed),
                until: VirtualTime::from_ns(self.busy_until.load(Ordering::Relaxed)),
                used_ns: self.used_ns.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            let is_whole = begun & 1 == 0 && self.sequence.load(Ordering::Relaxed) == begun;
            if is_whole || tries == TRIES {
                return Some(busy);
            }
            core::hint::spin_loop();
            tries += 1;
        }
    }

    /// The latest time that the program has seen, as it says.
    pub fn latest(&self) -> VirtualTime {
        VirtualTime::from_ns(self.latest.load(Ordering::Relaxed))
    }

    /// A time that the program is about to see: no earlier than any that it has seen.
    pub fn never_back(&self, now: VirtualTime) -> VirtualTime {
        let latest = self.latest.fetch_max(now.as_ns(), Ordering::Relaxed);
        now.max(VirtualTime::from_ns(latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> VirtualTime {
        VirtualTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn what_was_computed_is_added_to_where_the_node_is() {
        let ahead = Ahead::default();
        assert_eq!(ahead.busy(), None);
        let busy = Busy { millionths: 2_500_000, process: 5, until: at(100), used_ns: 10_000_000 };
        ahead.publish(busy);
        ahead.publish(busy);
        assert_eq!(ahead.busy(), Some(busy));
        let used = |ms: u64| Some(ms * 1_000_000);
        assert_eq!(busy.now(at(90), true, used(10)), at(100));
        assert_eq!(busy.now(at(90), true, used(14)), at(110));
        assert_eq!(busy.now(at(120), true, used(14)), at(130));
        assert_eq!(busy.now(at(120), true, used(5)), at(120), "another process of that number");
        assert_eq!(busy.now(at(90), true, None), at(100));
        // The clock ran while it computed.
        assert_eq!(busy.now(at(120), false, used(14)), at(120));
        assert_eq!(busy.now(at(90), false, used(14)), at(100));
        assert_eq!(busy.now(VirtualTime::MAX, true, used(u64::MAX / 1_000_000)), VirtualTime::MAX);
        assert_eq!(ahead.never_back(at(3)), at(3));
        assert_eq!((ahead.never_back(at(2)), ahead.latest()), (at(3), at(3)));
    }

    #[test]
    fn who_writes_there_keeps_nobody() {
        let ahead = Ahead::default();
        ahead.millionths.store(7, Ordering::Relaxed);
        ahead.sequence.store(1, Ordering::Relaxed);
        assert_eq!(ahead.busy().map(|busy| busy.millionths), Some(7));
    }
}
