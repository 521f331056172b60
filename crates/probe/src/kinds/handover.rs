//! One thread wakes another: from the moment before the call that wakes to the moment after the
//! call that waited.
//!
//! The one that wakes runs on the next core of the plan (the same, if there is only one), with the
//! same priority. If the other has not yet taken what was handed over last, the period is missed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use crate::plan::Plan;
use crate::sink::{Misses, Sink};
use crate::stage::Stage;
use crate::threads::{Role, Task};

/// What is on its way for so long was lost, ns: datagrams and frames may be.
const LOST_NS: i64 = 1_000_000_000;

/// A way to wake another thread.
pub(super) trait Way: Send + Sync + 'static {
    fn send(&self) -> io::Result<()>;
    /// Waits to be woken.
    fn receive(&self) -> io::Result<()>;
    /// When the kernel passed on what was received last, as far as it noted it, `CLOCK_MONOTONIC`, ns.
    /// Asked after the sample has ended.
    fn noted_ns(&self) -> [Option<i64>; 2] {
        [None; 2]
    }
}

/// A way, and what goes along it.
struct Handover<W> {
    way: W,
    /// When it was sent, `CLOCK_MONOTONIC`; 0 if nothing is on its way.
    sent_ns: AtomicI64,
    /// Nothing more will come.
    over: AtomicBool,
    /// The other knows that.
    received_all: AtomicBool,
}

/// Two threads for each thread of the plan.
///
/// # Errors
/// Why there is no such way here.
pub(super) fn tasks<W: Way>(
    plan: &Plan,
    sinks: Vec<Sink>,
    open: impl Fn() -> io::Result<W>,
) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (thread, sink) in sinks.into_iter().enumerate() {
        let way = open().map_err(|error| format!("{}: {error}", plan.probe))?;
        let handover = Arc::new(Handover {
            way,
            sent_ns: AtomicI64::new(0),
            over: AtomicBool::new(false),
            received_all: AtomicBool::new(false),
        });
        let (core, next) = (plan.cores[thread], plan.cores[(thread + 1) % plan.cores.len()]);
        let (sends, misses) = (Arc::clone(&handover), sink.misses());
        tasks.push(Task {
            name: format!("{}-{core}", plan.probe),
            core,
            role: Role::Measures(thread),
            work: Box::new(move |stage| handover.receive(&stage, sink)),
        });
        tasks.push(Task {
            name: format!("waker-{core}"),
            core: next,
            role: Role::Helps,
            work: Box::new(move |stage| sends.send(&stage, thread, &misses)),
        });
    }
    Ok(tasks)
}

impl<W: Way> Handover<W> {
    fn send(&self, stage: &Stage, thread: usize, misses: &Misses) {
        let mut schedule = stage.schedule(thread, misses);
        while let Some(at_ns) = schedule.next_ns() {
            if !stage.approach(at_ns) {
                break;
            }
            os::realtime::sleep_until(at_ns);
            let sent_ns = os::realtime::now_ns();
            let before_ns = self.sent_ns.load(Ordering::Acquire);
            if before_ns != 0 && sent_ns - before_ns < LOST_NS {
                misses.miss(1);
            } else {
                // The one that was lost is a miss as well, unless it arrives at this moment.
                if self.sent_ns.swap(sent_ns, Ordering::AcqRel) != 0 {
                    misses.miss(1);
                }
                if self.way.send().is_err() && self.sent_ns.swap(0, Ordering::AcqRel) != 0 {
                    misses.miss(1);
                }
            }
            misses.miss(schedule.woke(sent_ns));
        }
        self.wait_for_the_last(misses);
        self.over.store(true, Ordering::Release);
        while !self.received_all.load(Ordering::Acquire) {
            // One that fails is repeated.
            let _ = self.way.send();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What was sent last must have arrived before more is sent, which would arrive in its place.
    fn wait_for_the_last(&self, misses: &Misses) {
        loop {
            let sent_ns = self.sent_ns.load(Ordering::Acquire);
            if sent_ns == 0 {
                return;
            }
            if os::realtime::now_ns() - sent_ns > LOST_NS {
                misses.miss(u64::from(self.sent_ns.swap(0, Ordering::AcqRel) != 0));
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn receive(&self, stage: &Stage, mut sink: Sink) {
        loop {
            let received = self.way.receive();
            let now_ns = os::realtime::now_ns();
            match self.sent_ns.swap(0, Ordering::AcqRel) {
                0 if self.over.load(Ordering::Acquire) => break,
                0 => {}
                sent_ns => sink.take_split(sent_ns, now_ns - sent_ns, self.way.noted_ns()),
            }
            if let Err(error) = received {
                // A way that is gone does not come back.
                stage.control.fail(format!("{}: {error}", stage.plan.probe));
                break;
            }
        }
        self.received_all.store(true, Ordering::Release);
    }
}
