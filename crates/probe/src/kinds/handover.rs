//! One thread wakes another: from the moment before the call that wakes to the moment after the
//! call that waited.
//!
//! The one that wakes runs on the next core of the plan (the same, if there is only one), with the
//! same priority. If the other has not yet taken what was handed over last, the period is missed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use crate::clock::{self, HostSpan, HostTime};
use crate::plan::Plan;
use crate::sink::{Shared, Sink};
use crate::stage::Stage;
use crate::threads::{Role, Task};

/// What is on its way for so long was lost: datagrams and frames may be.
const LOST: HostSpan = HostSpan::from_s(1);

/// A way to wake another thread.
pub(super) trait Way: Send + Sync + 'static {
    fn send(&self) -> io::Result<()>;
    fn receive(&self) -> io::Result<()>;
    /// When the kernel passed on what was received last, as far as it noted it. Asked after the
    /// sample has ended.
    fn noted(&self) -> [Option<HostTime>; 2] {
        [None; 2]
    }
}

/// The time of what is not on its way.
const NOTHING: HostTime = HostTime::ZERO;

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
        let (sends, misses) = (Arc::clone(&handover), Arc::clone(&sink.shared));
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
    fn sent(&self) -> HostTime {
        HostTime::from_ns(self.sent_ns.load(Ordering::Acquire))
    }

    /// Notes that something was sent, or that nothing is on its way; returns what was.
    fn swap_sent(&self, sent: HostTime) -> HostTime {
        HostTime::from_ns(self.sent_ns.swap(sent.as_ns(), Ordering::AcqRel))
    }

    fn send(&self, stage: &Stage, thread: usize, misses: &Shared) {
        let mut schedule = stage.schedule(thread, misses);
        while let Some(at) = schedule.next()
            && stage.approach(at)
        {
            clock::sleep_until(at);
            let (now, before) = (clock::now(), self.sent());
            if before != NOTHING && now - before < LOST {
                misses.miss(1);
            } else {
                // The one that was lost is a miss as well, unless it arrives at this moment.
                misses.miss(u64::from(self.swap_sent(now) != NOTHING));
                if self.way.send().is_err() {
                    self.give_up(misses);
                }
            }
            misses.miss(schedule.woke(now));
        }
        self.wait_for_the_last(misses);
        self.over.store(true, Ordering::Release);
        while !self.received_all.load(Ordering::Acquire) {
            // One that fails is repeated.
            let _ = self.way.send();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits no more for what was sent; a miss, unless it arrives at this moment.
    fn give_up(&self, misses: &Shared) {
        misses.miss(u64::from(self.swap_sent(NOTHING) != NOTHING));
    }

    /// What was sent last must have arrived before more is sent, which would arrive in its place.
    fn wait_for_the_last(&self, misses: &Shared) {
        loop {
            let sent = self.sent();
            if sent == NOTHING {
                return;
            }
            if clock::now() - sent > LOST {
                return self.give_up(misses);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn receive(&self, stage: &Stage, mut sink: Sink) {
        loop {
            let received = self.way.receive();
            let now = clock::now();
            match self.swap_sent(NOTHING) {
                NOTHING if self.over.load(Ordering::Acquire) => break,
                NOTHING => {}
                sent => sink.take_split(sent, now - sent, self.way.noted()),
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
