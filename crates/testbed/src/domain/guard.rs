//! Keeps stalls of the host out of virtual time.
//!
//! A host that takes a processor away for milliseconds makes every program on it late, and a
//! verdict about a deadline would be one about the host. So a thread on each processor beats at
//! short intervals, before all programs (SCHED_FIFO 99), and the clock never goes further than
//! [`Beats`] allow. It stands by itself when a processor falls silent, as no reader goes beyond the
//! limit in the page; whoever is back last makes of the time since a hold that has begun there.
//! So at most `allowed` of host time passes in virtual time during a stall, however long it lasts.
//!
//! Dilation has the same aim and other means: it makes each stall shorter by its factor, and costs
//! as much more host time. The guard costs a wake-up of some microseconds per processor and beat.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use vtime::{HostSpan, HostTime};

use super::beats::Beats;
use super::{Changed, Domain, host_now, settled_host_now};

/// Beats within the time allowed: one may be late by half of it before the clock stands. More would
/// find no more stalls, and each costs some ten microseconds of its processor.
const BEATS: i64 = 2;
/// The highest there is: nothing but the host and its kernel comes before a beat.
const PRIORITY: i32 = 99;

/// Stalls of the host that a guard has kept out of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Stalls {
    /// How many there were.
    pub count: u64,
    /// Host nanoseconds that the clock stood still for them.
    pub total_ns: i64,
    /// The longest of these.
    pub longest_ns: i64,
}

/// Guards the clock of a domain until it is dropped.
#[derive(Debug)]
pub struct Guard {
    domain: Arc<Domain>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Whether the beats come before all programs; if not, also other work of the host counts as
    /// a stall.
    pub is_urgent: bool,
}

#[derive(Debug)]
struct Shared {
    beats: Mutex<Beats>,
    ends: AtomicBool,
}

impl Guard {
    pub(super) fn start(domain: &Arc<Domain>, allowed: HostSpan) -> io::Result<Self> {
        let processors = realtime::allowed_cores()?;
        let beats = Mutex::new(Beats::new(processors.len(), host_now(), allowed));
        let shared = Arc::new(Shared { beats, ends: AtomicBool::new(false) });
        let mut guard = Self {
            domain: Arc::clone(domain),
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            is_urgent: true,
        };
        let (tell, told) = std::sync::mpsc::channel();
        for (place, processor) in processors.into_iter().enumerate() {
            let (domain, shared, tell) = (Arc::clone(domain), Arc::clone(&shared), tell.clone());
            let thread = std::thread::Builder::new().name(format!("beat-{processor}"));
            // Dropped on an error, the guard ends those that have begun.
            guard.threads.push(thread.spawn(move || {
                let _ = tell.send(begin(processor));
                beat(&domain, &shared, place, allowed);
            })?);
        }
        guard.is_urgent = told.iter().take(guard.threads.len()).all(|urgent| urgent);
        domain.set_limit(|now| now + allowed);
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic aborts the process.
            let _ = thread.join();
        }
        self.domain.set_limit(|_| HostTime::MAX);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts this thread on its processor, before all programs. Answers whether that is allowed.
fn begin(processor: usize) -> bool {
    realtime::pin(processor).is_ok() && realtime::fifo(PRIORITY).is_ok()
}

fn beat(domain: &Domain, shared: &Shared, place: usize, allowed: HostSpan) {
    let interval = HostSpan::from_ns((allowed.as_ns() / BEATS).max(1));
    while !shared.ends.load(Ordering::Relaxed) {
        let now = host_now();
        // Held until the limit is raised, so that it never goes back.
        let mut beats = shared.lock();
        let limit = beats.beat(place, now);
        domain.allow(limit);
        drop(beats);
        realtime::sleep_until((now + interval).as_ns());
    }
}

impl Domain {
    /// Lets the clock go on to a later limit, from where it stands. While the limit lies behind the
    /// host, some processor is silent, and nothing changes.
    fn allow(&self, limit: HostTime) {
        let old = self.page.limit();
        let now = host_now();
        if limit <= old || limit <= now || old == HostTime::MAX {
            return;
        }
        if now <= old {
            self.page.set_limit(limit);
        } else {
            self.set_limit(|_| limit);
        }
    }

    /// Changes the limit to one that is asked for at the moment of the change, and makes a hold of
    /// the time that the clock has stood at the old one, unless the new one lies behind the host too.
    fn set_limit(&self, limit: impl FnOnce(HostTime) -> HostTime) {
        let mut state = self.lock();
        self.page.begin_change();
        let (stood_at, now) = (self.page.limit(), settled_host_now());
        let limit = limit(now);
        if limit <= now {
            self.page.end_change(&state.clock, false, false);
            return;
        }
        if stood_at < now {
            let history = self.page.history();
            let running = state.clock.clone();
            state.clock.hold(stood_at);
            history.note_change(stood_at, Some(&running), &state.clock);
            let standing = state.clock.clone();
            state.clock.release(now);
            history.note_change(now, Some(&standing), &state.clock);
            let stood_ns = (now - stood_at).as_ns();
            state.stalls.count += 1;
            state.stalls.total_ns += stood_ns;
            state.stalls.longest_ns = state.stalls.longest_ns.max(stood_ns);
        }
        self.page.set_limit(limit);
        self.end_change(&mut state, Changed { resumes: true, ..Changed::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Start;
    use std::time::{Duration, Instant};

    const ALLOWED: HostSpan = HostSpan::from_ns(2_000_000);

    /// Takes the processor from everybody for 40 ms. Answers the virtual time that passed, as
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
        let domain = Domain::new(Start::default()).unwrap();
        let guard = domain.guard(ALLOWED).unwrap();
        let processor = realtime::allowed_cores().unwrap()[0];
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
