//! Freezing the programs of a domain while its clock is stopped: a backstop for those that
//! compute, never the pause itself ([`domain::Freeze`] decides when).
//!
//! One thread does all of it, because ptrace(2) binds a tracee to a thread and because a hold
//! must not wait for what takes milliseconds. A hold arms a timer and its release disarms it:
//! short holds wake nobody.
//!
//! - [`group`]: control groups
//! - [`stop`]: stopping threads with ptrace
//! - [`calls`]: which calls threads are in, what a freeze cuts short, and how it is restarted
//! - [`backend`]: all of them together
//! - [`rewait`]: waits that a faster clock makes too long
//! - [`warden`]: what thaws when the agent was killed
//! - [`account`]: the ways to freeze, and what is said of it

mod account;
mod backend;
pub(super) mod calls;
mod group;
mod rewait;
mod stop;
mod warden;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libc::pid_t;
use os::wake::Wake;
use parking_lot::{Condvar, Mutex};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use vtime::time::NS_PER_S;
use vtime::{HostSpan, HostTime};

pub use account::{Durations, FreezeStatus, Method};
pub use group::{Swept, sweep};
pub use warden::main as warden;

use account::DurationStats;
use backend::Backend;

use domain::{Backstop, Freeze, Next, Phase, host_now};
use os::process::Identity;

/// How old a tree of programs gets before it is taken up, unless the clock stops sooner: moving
/// a process into a group takes milliseconds, which programs that are over sooner never pay.
const GATHER_AFTER: HostSpan = HostSpan::from_ns(20_000_000);
/// How often it is looked for programs that run though all are frozen, where nothing else keeps
/// them from it.
const LOOK_EVERY: HostSpan = HostSpan::from_ns(10_000_000);
/// How long a question how programs are frozen waits for the answer.
const CHOICE_LONGEST: Duration = Duration::from_millis(500);

/// What somebody wants of a freezer.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreezeConfig {
    pub freeze: Freeze,
    /// How; the best way there is if `None`.
    pub method: Option<Method>,
}

/// Freezes the programs of a domain.
#[derive(Debug)]
pub struct Freezer {
    config: FreezeConfig,
    state: Mutex<State>,
    changed: Condvar,
    wake: Wake,
    /// Wakes it when a hold has lasted long enough.
    alarm: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    freeze: Freeze,
    phase: Phase,
    /// The freeze of this phase is done, as far as it can be.
    done: bool,
    /// Programs of the domain that stop its clock at this moment.
    exempt_holds: u32,
    /// Trees of programs that are to be taken up, and when.
    new: Vec<(Identity, HostTime)>,
    /// How programs are frozen, and why not better.
    chosen: Option<(Method, String)>,
    is_choice_requested: bool,
    closing: bool,
    worker: Option<JoinHandle<()>>,
    freezes: u64,
    incomplete: u64,
    restarted: u64,
    freeze_times: DurationStats,
    thaw_times: DurationStats,
}

impl Freezer {
    /// A freezer for the programs of one domain.
    pub fn start(config: FreezeConfig) -> io::Result<Arc<Self>> {
        let state = State { freeze: config.freeze, ..State::default() };
        let freezer = Arc::new(Self {
            config,
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Wake::new()?,
            alarm: timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
            )?,
        });
        if config.freeze != Freeze::Off {
            let own = Arc::clone(&freezer);
            let worker = thread::Builder::new().name("freezer".into()).spawn(move || own.run())?;
            freezer.state.lock().worker = Some(worker);
        }
        Ok(freezer)
    }

    /// A tree of programs has begun with this process, which is there.
    pub(super) fn started(&self, root: pid_t) {
        if self.state.lock().freeze == Freeze::Off {
            return;
        }
        // By the time that it is taken up, another process may have its number.
        let Ok(root) = Identity::of_process(root) else { return };
        self.state.lock().new.push((root, host_now() + GATHER_AFTER));
        self.wake.wake();
    }

    /// Does what stops the clock without freezing programs until it runs again: one of them does
    /// it, and frozen it could never undo it.
    pub fn without_freezing<T>(&self, stop: impl FnOnce() -> T) -> T {
        self.state.lock().exempt_holds += 1;
        let answer = stop();
        self.state.lock().exempt_holds -= 1;
        self.thaw_until_next_hold();
        answer
    }

    /// Thaws programs until the next hold, so that they can handle a signal.
    pub fn thaw_until_next_hold(&self) {
        if self.state.lock().phase.resuming() {
            self.wake.wake();
        }
    }

    /// Thaws programs for good.
    pub fn disable(&self) {
        self.state.lock().freeze = Freeze::Off;
        self.resuming();
    }

    /// Thaws programs and removes what was made to freeze them; call it when they have ended.
    pub fn close(&self) {
        self.disable();
        let mut state = self.state.lock();
        state.closing = true;
        let worker = state.worker.take();
        drop(state);
        self.wake.wake();
        // It cannot panic: a panic aborts the process.
        let _ = worker.map(JoinHandle::join);
    }

    /// How programs are frozen, and how that went so far.
    pub fn status(&self) -> FreezeStatus {
        let mut state = self.state.lock();
        if state.chosen.is_none() && !state.new.is_empty() && !state.closing {
            state.is_choice_requested = true;
            self.wake.wake();
            let waiting = |state: &mut State| state.chosen.is_none() && !state.closing;
            self.changed.wait_while_for(&mut state, waiting, CHOICE_LONGEST);
        }
        let (method, reason) = state.chosen.clone().unzip();
        FreezeStatus {
            mode: self.config.freeze.to_string(),
            method,
            reason: reason.unwrap_or_default(),
            freezes: state.freezes,
            incomplete: state.incomplete,
            restarted: state.restarted,
            freeze: state.freeze_times.summary(),
            thaw: state.thaw_times.summary(),
        }
    }

    fn run(&self) {
        let mut backend = Backend::default();
        loop {
            let mut state = self.state.lock();
            if state.closing {
                break;
            }
            let now = host_now();
            let next = state.phase.next(now);
            let stops = matches!(next, Next::Look | Next::Freeze) || state.is_choice_requested;
            let is_new = |(_, due): &(Identity, HostTime)| stops || *due <= now;
            let new: Vec<Identity> =
                state.new.iter().filter(|tree| is_new(tree)).map(|tree| tree.0).collect();
            state.new.retain(|tree| !is_new(tree));
            drop(state);
            if !new.is_empty() {
                self.gather(&mut backend, &new);
            }
            match next {
                Next::Look => {
                    let one_runs = backend.one_runs();
                    self.state.lock().phase.looked(one_runs, host_now());
                }
                Next::Freeze => self.freeze(&mut backend),
                Next::Thaw => self.thaw(&mut backend),
                Next::Nothing | Next::Wait(_) => self.rest(&mut backend, next),
            }
        }
        backend.end();
    }

    fn gather(&self, backend: &mut Backend, new: &[Identity]) {
        if !backend.has_chosen() {
            let chosen = backend.choose(self.config.method);
            self.state.lock().chosen = Some(chosen);
        }
        backend.gather(new);
        self.state.lock().is_choice_requested = false;
        self.changed.notify_all();
    }

    fn freeze(&self, backend: &mut Backend) {
        let begun = Instant::now();
        let complete = backend.freeze(|| self.state.lock().phase == Phase::Leaving);
        let mut state = self.state.lock();
        let given_up = state.phase == Phase::Leaving;
        state.restarted += backend.stopper.take_restarted();
        state.freezes += 1;
        state.incomplete += u64::from(!complete && !given_up);
        if complete {
            state.freeze_times.count(begun.elapsed());
        }
        state.done = true;
        self.changed.notify_all();
    }

    fn thaw(&self, backend: &mut Backend) {
        let begun = Instant::now();
        backend.thaw();
        let mut state = self.state.lock();
        state.restarted += backend.stopper.take_restarted();
        state.thaw_times.count(begun.elapsed());
        state.phase.thawed();
        state.done = false;
        self.changed.notify_all();
    }

    fn rest(&self, backend: &mut Backend, next: Next) {
        let state = self.state.lock();
        let frozen = state.phase == Phase::Frozen;
        let due = state.new.iter().map(|(_, due)| *due).min();
        drop(state);
        let wait = if let Next::Wait(at) = next { Some(at) } else { None };
        let looks = if frozen { backend.must_look() } else { backend.stopper.is_waiting() };
        let look = looks.then(|| host_now() + LOOK_EVERY.max(backend.rest()));
        let until = [due, wait, look].into_iter().flatten().min();
        let mut fds = [domain::readable(self.wake.as_fd()), domain::readable(self.alarm.as_fd())];
        // That it cannot be waited for means to look at once, as a wake-up does.
        let _ = domain::poll_until(&mut fds, until);
        self.wake.clear();
        // Empty (EAGAIN) if it has not expired.
        let _ = rustix::io::read(&self.alarm, &mut [0; 8]);
        if looks && frozen {
            backend.keep_frozen();
        } else if looks {
            backend.stopper.look();
            backend.stopper.detach_stopped();
        }
    }
}

impl Backstop for Freezer {
    fn stopped(&self) {
        let mut state = self.state.lock();
        let freeze = if state.exempt_holds > 0 { Freeze::Off } else { state.freeze };
        state.phase.stopped(freeze, host_now());
        let Phase::Due { at, .. } = state.phase else { return };
        if freeze != Freeze::Strict {
            return set_alarm(&self.alarm, Some(at));
        }
        self.wake.wake();
        let waiting = |state: &mut State| match state.phase {
            Phase::Due { .. } => true,
            Phase::Frozen => !state.done,
            Phase::Free | Phase::Leaving => false,
        };
        self.changed.wait_while(&mut state, waiting);
    }

    fn resuming(&self) {
        let mut state = self.state.lock();
        let due = matches!(state.phase, Phase::Due { .. });
        if due {
            set_alarm(&self.alarm, None);
        }
        if state.phase.resuming() {
            self.wake.wake();
            self.changed.wait_while(&mut state, |state| state.phase == Phase::Leaving);
        } else if due {
            self.changed.notify_all();
        }
    }

    fn quickened(&self, processes: &[pid_t]) {
        rewait::restart_waits(processes);
    }
}

fn set_alarm(alarm: &OwnedFd, at: Option<HostTime>) {
    let ns = at.map_or(0, HostTime::as_ns);
    let it_value = Timespec { tv_sec: ns / NS_PER_S, tv_nsec: ns % NS_PER_S };
    let setting = Itimerspec { it_interval: Timespec::default(), it_value };
    // Fails for no open timerfd and no valid time.
    let _ = timerfd_settime(alarm, TimerfdTimerFlags::ABSTIME, &setting);
}
