//! Keeps stalls of the host out of virtual time.
//!
//! A host that takes a processor away for milliseconds makes every program on it late, and a
//! verdict about a deadline would be one about the host. So a thread on each processor beats at
//! short intervals, before all programs (SCHED_FIFO 99), and the clock never goes further than
//! [`Beats`] allow. It stands by itself when a processor falls silent, as no reader goes beyond the
//! limit in the page; the processor that is back last turns the time since then into a hold.
//! So at most `allowed` of host time passes in virtual time during a stall, however long it lasts.
//! That much, and all of a stall that is shorter, is paid back: the clock is stopped for as long while the
//! programs, which have their processors again, do what they would have done.
//!
//! Dilation has the same aim and other means: it makes each stall shorter by its factor, and costs
//! as much more host time. The guard costs a wake-up of some microseconds per processor and beat.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use vtime::{HostSpan, HostTime};

use super::beats::{Beat, Beats};
use super::{Domain, host_now};

/// The highest there is: nothing but the host and its kernel comes before a beat.
const PRIORITY: i32 = 99;
/// The longest hold in which a debt is paid: in longer ones programs may be frozen.
const PAID_MAX: HostSpan = HostSpan::from_ns(500_000);

/// Stalls of the host that a guard has kept out of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Stalls {
    pub count: u64,
    /// Host nanoseconds that the clock was stopped for them, and to make up for them.
    pub total_ns: i64,
    /// The longest silence of a processor.
    pub longest_ns: i64,
}

/// Guards the clock of a domain until it is dropped.
#[derive(Debug)]
pub struct Guard {
    domain: Arc<Domain>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Whether the beats come before all programs.
    is_urgent: bool,
}

#[derive(Debug)]
struct Shared {
    beats: Mutex<Beats>,
    ends: AtomicBool,
}

impl Guard {
    pub(super) fn start(domain: &Arc<Domain>, allowed: HostSpan) -> io::Result<Self> {
        let processors = os::realtime::allowed_cores()?;
        let beats = Mutex::new(Beats::new(processors.len(), host_now(), allowed));
        let shared = Arc::new(Shared { beats, ends: AtomicBool::new(false) });
        let mut guard = Self {
            domain: Arc::clone(domain),
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            is_urgent: true,
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        for (place, processor) in processors.into_iter().enumerate() {
            let (domain, shared, sender) =
                (Arc::clone(domain), Arc::clone(&shared), sender.clone());
            let thread = std::thread::Builder::new().name(format!("beat-{processor}"));
            // Dropped on an error, the guard ends those that have begun.
            guard.threads.push(thread.spawn(move || {
                let is_urgent = begin(processor);
                let _ = sender.send(is_urgent);
                beat(&domain, &shared, place, (allowed, is_urgent));
            })?);
        }
        guard.is_urgent = receiver.iter().take(guard.threads.len()).all(|urgent| urgent);
        domain.set_limits(|limits, _, now| limits.guard = now + allowed);
        Ok(guard)
    }

    /// A warning for the user of the guard, if there is one.
    pub const fn warning(&self) -> Option<&'static str> {
        if self.is_urgent {
            return None;
        }
        Some(
            "the stall guard has no real-time priority (SCHED_FIFO 99): it also takes other work \
             of the host for stalls, so everything takes longer",
        )
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic aborts the process.
            let _ = thread.join();
        }
        self.domain.set_limits(|limits, _, _| limits.guard = HostTime::MAX);
    }
}

/// Puts this thread on its processor, before all programs. Returns whether that is allowed.
fn begin(processor: usize) -> bool {
    os::realtime::pin(processor).is_ok() && os::realtime::fifo(PRIORITY).is_ok()
}

/// Who does not come before all programs waits for them too, and so knows of no debt.
fn beat(domain: &Arc<Domain>, shared: &Shared, place: usize, (allowed, pays): (HostSpan, bool)) {
    let interval = Beats::interval(allowed);
    while !shared.ends.load(Ordering::Relaxed) {
        let now = host_now();
        // Held until the limit is raised, so that it never goes back.
        let mut beats = shared.beats.lock();
        let Beat { limit, silence, owed } = beats.beat(place, now, domain.page.limit());
        domain.allow(limit);
        drop(beats);
        if silence > HostSpan::ZERO {
            domain.note_stall(silence);
        }
        if pays {
            domain.stand_for(owed);
        }
        os::realtime::sleep_until((now + owed + interval).as_ns());
    }
}

impl Domain {
    /// Lets the clock stand for so long; the programs run.
    fn stand_for(self: &Arc<Self>, span: HostSpan) {
        let mut left = span;
        while left > HostSpan::ZERO {
            let part = left.min(PAID_MAX);
            let hold = self.hold();
            let begin = host_now();
            os::realtime::sleep_until((begin + part).as_ns());
            self.state.lock().stood(begin, host_now());
            drop(hold);
            left = left - part;
        }
    }

    fn note_stall(&self, silence: HostSpan) {
        let stalls = &mut self.state.lock().stalls;
        stalls.count += 1;
        stalls.longest_ns = stalls.longest_ns.max(silence.as_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;
    use std::time::{Duration, Instant};

    const ALLOWED: HostSpan = HostSpan::from_ns(2_000_000);

    /// Held by the test that takes a processor: to another test that is a stall as well.
    static TAKES: Mutex<()> = Mutex::new(());

    /// Takes the processor from everybody for 40 ms. Returns the virtual time that passed, as
    /// somebody sees it who is not kept waiting himself; `None` without the right.
    fn taken(domain: &Domain, processor: usize) -> Option<i64> {
        begin(processor).then(|| {
            let (begun, before) = (Instant::now(), domain.now());
            while begun.elapsed() < Duration::from_millis(40) {}
            (domain.now() - before).as_ns()
        })
    }

    #[test]
    fn while_a_processor_is_silent_no_more_than_the_allowed_time_passes() {
        let _alone = TAKES.lock();
        let domain = Domain::new(Start::default()).unwrap();
        let guard = domain.guard(ALLOWED).unwrap();
        let processor = os::realtime::allowed_cores().unwrap()[0];
        let passed = std::thread::scope(|scope| {
            scope.spawn(|| (0..5).map(|_| taken(&domain, processor)).collect::<Vec<_>>()).join()
        });
        for passed in passed.unwrap() {
            let Some(passed) = passed else {
                println!("not measured: no right to SCHED_FIFO 99");
                return;
            };
            assert!(passed <= ALLOWED.as_ns(), "{passed} ns");
        }
        // The thread that took it gives it back for no time, so some stalls may count as one.
        let until = Instant::now() + Duration::from_secs(20);
        while domain.stalls().total_ns < 150_000_000 {
            assert!(Instant::now() < until, "{:?}", domain.stalls());
            std::thread::yield_now();
        }
        let before = domain.now();
        drop(guard);
        assert_eq!(domain.page().limit(), HostTime::MAX);
        let after = domain.now();
        assert!(after >= before);
        std::thread::sleep(Duration::from_millis(5));
        assert!((domain.now() - after).as_ns() >= 5_000_000, "it runs as ever");
    }

    #[test]
    fn slices_that_are_allowed_each_are_made_up_for() {
        const SLICE: Duration = Duration::from_micros(800);
        const SLICES: u32 = 250;
        let _alone = TAKES.lock();
        let domain = Domain::new(Start::default()).unwrap();
        // Before the guard: on a busy machine there are stalls as soon as it is there.
        let (begun, before) = (Instant::now(), domain.now());
        let guard = domain.guard(HostSpan::from_ns(1_000_000)).unwrap();
        let processor = os::realtime::allowed_cores().unwrap()[0];
        let takes_slices = || {
            begin(processor).then(|| {
                for _ in 0..SLICES {
                    let slice = Instant::now();
                    while slice.elapsed() < SLICE {}
                    std::thread::sleep(SLICE);
                }
            })
        };
        let taken = std::thread::scope(|scope| scope.spawn(takes_slices).join().unwrap());
        drop(guard);
        let (passed, stalls) = ((domain.now() - before).as_ns(), domain.stalls());
        if taken.is_none() {
            println!("not measured: no right to SCHED_FIFO 99");
            return;
        }
        println!("{passed} ns of {:?} passed: {stalls:?}", begun.elapsed());
        // A beat is due within half a millisecond of each slice, so 0.3 ms of it are silence; by itself
        // the limit keeps 0.1 ms out. A slow machine only adds to that.
        assert!(stalls.total_ns >= i64::from(SLICES) * 200_000, "{stalls:?}");
        assert!(passed + stalls.total_ns <= begun.elapsed().as_nanos() as i64, "{stalls:?}");
    }

    #[test]
    fn time_never_goes_back_and_what_a_stall_took_does_not_pass() {
        let domain = Domain::new(Start::default()).unwrap();
        let (host, virtually) = (host_now(), domain.now());
        let guard = domain.guard(ALLOWED).unwrap();
        let begun = Instant::now();
        let mut last = virtually;
        while begun.elapsed() < Duration::from_millis(300) {
            let now = domain.now();
            assert!(now >= last);
            last = now;
        }
        drop(guard);
        let hold = domain.hold();
        let stalled = domain.stalls().total_ns;
        let passed = (hold.at() - virtually).as_ns();
        let reading = domain.reading();
        assert!(reading.paused_ns >= stalled);
        // The hold has begun a little before these readings.
        let host_passed = (host_now() - host).as_ns();
        assert!(passed + stalled <= host_passed, "{passed} + {stalled} of {host_passed}");
    }
}
