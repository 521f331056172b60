//! The way of samples out of a thread that may not wait: a queue without locks, and counters.
//!
//! A thread never waits for the collector. If the queue is full, because the collector did not run
//! or what it writes to is stuck, the sample is lost and counted, and the gap in the numbers shows
//! where.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;

use rustix::thread::sched_getcpu;

use crate::clock::{HostSpan, HostTime};
use crate::gaps::Histogram;
use crate::plan::Plan;
use crate::stream::Stamps;

/// Seconds of samples that a queue holds: how long the collector may be kept from running.
const QUEUE_S: u64 = 10;
/// Samples that a queue holds, at least and at most (40 MiB a thread).
const QUEUE: std::ops::RangeInclusive<u64> = 1024..=1 << 20;

/// One sample on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// What number it has among those of its thread.
    pub(crate) index: u64,
    /// Where the thread ran when it took it.
    pub(crate) core: usize,
    /// When it should have been.
    pub(crate) at: HostTime,
    pub(crate) latency_ns: i64,
    pub(crate) stamps: Stamps,
}

/// What a thread says about itself while it runs.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) taken: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) missed: AtomicU64,
    /// From this latency on the collector is woken at once, ns; 0: never.
    pub(crate) urgent_ns: AtomicI64,
    /// Gaps since the collector took them last, if the thread looks for gaps.
    pub(crate) gaps: Mutex<Option<Histogram>>,
}

/// Where a thread puts its samples.
#[derive(Debug)]
pub(crate) struct Sink {
    queue: rtrb::Producer<Taken>,
    pub(crate) shared: Arc<Shared>,
    collector: Thread,
    /// Where it is pinned.
    core: Option<usize>,
    taken: u64,
}

/// Where the collector finds them.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) queue: rtrb::Consumer<Taken>,
    pub(crate) shared: Arc<Shared>,
}

/// The way from the thread of one core of the plan to this one, which collects.
pub(crate) fn way(plan: &Plan, core: usize) -> (Sink, Source) {
    let samples = QUEUE_S * 1_000_000_000 / plan.period_ns;
    let samples = samples.clamp(*QUEUE.start(), *QUEUE.end());
    let (producer, consumer) = rtrb::RingBuffer::new(samples as usize);
    let shared = Arc::new(Shared::default());
    let collector = std::thread::current();
    let core = plan.pinned.then_some(core);
    let sink = Sink { queue: producer, shared: Arc::clone(&shared), collector, core, taken: 0 };
    (sink, Source { queue: consumer, shared })
}

impl Sink {
    /// Takes a sample: at `at` it should have been, `latency` later it was.
    pub(crate) fn take(&mut self, at: HostTime, latency: HostSpan) {
        self.take_split(at, latency, [None; 2]);
    }

    /// Takes a sample with moments that the kernel noted.
    pub(crate) fn take_split(
        &mut self,
        at: HostTime,
        latency: HostSpan,
        noted: [Option<HostTime>; 2],
    ) {
        let latency_ns = latency.as_ns();
        let stamps = Stamps::within(latency_ns, noted.map(|noted| Some((noted? - at).as_ns())));
        let core = self.core.unwrap_or_else(sched_getcpu);
        let taken = Taken { index: self.taken, core, at, latency_ns, stamps };
        if self.queue.push(taken).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.taken += 1;
        self.shared.taken.store(self.taken, Ordering::Relaxed);
        let urgent_ns = self.shared.urgent_ns.load(Ordering::Relaxed);
        if urgent_ns > 0 && latency_ns >= urgent_ns {
            self.collector.unpark();
        }
    }

    /// Hands gaps over, unless the collector is about to take some: then the next time.
    pub(crate) fn gaps(&self, gaps: &mut Histogram) {
        if let Ok(mut shared) = self.shared.gaps.try_lock() {
            shared.get_or_insert_default().take_from(gaps);
        }
    }

    pub(crate) fn last_gaps(&self, gaps: &mut Histogram) {
        let mut shared = self.shared.gaps.lock().expect("nobody panics with it");
        shared.get_or_insert_default().take_from(gaps);
    }
}

impl Shared {
    /// So many periods were over before there could be a sample.
    pub(crate) fn miss(&self, periods: u64) {
        if periods > 0 {
            self.missed.fetch_add(periods, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_leaves_a_gap_in_the_numbers() {
        let plan = Plan { period_ns: 1_000_000_000, ..Plan::default() };
        let (mut sink, mut source) = way(&plan, 0);
        let take = |sink: &mut Sink| sink.take(HostTime::ZERO, HostSpan::from_ns(5));
        (0..1030).for_each(|_| take(&mut sink));
        assert_eq!(source.shared.lost.load(Ordering::Relaxed), 6);
        assert_eq!(source.shared.taken.load(Ordering::Relaxed), 1030);
        assert_eq!(source.queue.pop().map(|taken| taken.index), Ok(0));
        take(&mut sink);
        let rest: Vec<u64> =
            std::iter::from_fn(|| source.queue.pop().ok()).map(|taken| taken.index).collect();
        assert_eq!(rest[rest.len() - 2..], [1023, 1030]);
    }
}
