//! A time domain as its owner, the agent, holds it: the clock, the page that publishes it, and
//! those on the agent's side who must learn of changes.
//!
//! Programs see the page only. Threads of the agent (network, files, output) use [`Domain::now`]
//! and wait on host timeouts worked out by [`Domain::host_time_of`], and a [`Watch`] wakes them
//! when the clock was stopped, resumed, dilated or granted more.

mod beats;
mod bus;
mod freeze;
mod guard;
mod jump;
mod kept;
mod late;
mod limits;
mod node_time;
mod page;
mod programs;
mod runs;
pub mod span_ns;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use os::process;
use os::realtime::clock_ns;
use os::wake::Wake;
use parking_lot::{Condvar, Mutex};
use vtime::history::DomainPage;
use vtime::page::{Epoch, SETTLE_NS};
use vtime::{ClockPage, HostSpan, HostTime, Tdf, VirtualClock, VirtualTime};

pub use freeze::{Backstop, Freeze, Next, Phase};
pub use guard::{Guard, Stalls};
pub use jump::{KernelTimers, Pace, PaceStatus, Waiter, Work, Works};
pub use kept::{Keeping, Kept};
pub use late::{AgentLateness, Serving};
use limits::Limits;
pub use node_time::{Computed, NodeTime};
pub use page::{DeviceMemory, Mapped, Writers};
pub use page::{Shared, host_now};
pub use programs::{Change, MISSES, Memory, Program, ProgramClock};
use runs::Runs;

/// What a new domain starts with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    pub tdf: Tdf,
    /// What `CLOCK_REALTIME` shows at virtual zero, in nanoseconds since 1970; the host's time
    /// of day if `None`.
    pub realtime_ns: Option<i64>,
    /// Whether the domain starts with one hold asserted (for its owner to release).
    pub held: bool,
    /// Whether its programs are there already, and their clocks go on from where they are.
    pub is_joined: bool,
    pub pace: Pace,
    /// From what follows what programs get that is random, where the pace is [`Pace::Events`].
    pub seed: u64,
}

impl Start {
    /// Sees to it that programs of this process lie at the same addresses in each run, where runs are to be
    /// the same. Returns what to say where that cannot be.
    pub fn fix_addresses(&self) -> Option<String> {
        let fixed = match self.pace {
            Pace::Real | Pace::Skip => return None,
            Pace::Events => process::fix_addresses_of_programs(),
        };
        let error = fixed.err()?;
        Some(format!(
            "programs lie at other addresses in each run ({error}: a sandbox forbids personality(2)); those \
             that go by addresses, as hash tables may, are not the same each time"
        ))
    }
}

/// The owner's side of a time domain.
#[derive(Debug)]
pub struct Domain {
    page: Shared<DomainPage>,
    state: Mutex<State>,
    programs: Mutex<programs::Programs>,
    token: u64,
    pace: Pace,
    /// `None`: from the kernel.
    seed: Option<u64>,
    works: Works,
    method: Mutex<&'static str>,
    overlooked: AtomicU64,
    lines_changed: AtomicU64,
    kept: Mutex<Kept>,
    late_kernels_ns: AtomicI64,
    overran: Mutex<BTreeMap<String, u64>>,
    /// It was detached, and jumps no more.
    is_let_go: AtomicBool,
    backstop: OnceLock<Arc<dyn Backstop>>,
    lateness: AgentLateness,
    /// Held by anyone who releases: between the thaw and the release nobody else may release.
    releasing: Mutex<()>,
    /// A factor has become less, and programs that wait do not know yet.
    quickened: AtomicBool,
    /// With the state, for [`Domain::wait_for_nudge`].
    nudged: Condvar,
}

#[derive(Debug)]
struct State {
    clock: VirtualClock,
    watchers: Vec<Arc<Watcher>>,
    stops: u64,
    jumps: u64,
    runs: Runs,
    stalls: Stalls,
    limits: Limits,
    waited_for_hosts: HostSpan,
    nudges: u64,
    /// Up to when the time that the clock stood for stalls has been added up.
    stood_until: HostTime,
    bus: bus::Stops,
}

impl State {
    fn next_due_after(&self, now: VirtualTime) -> Option<VirtualTime> {
        let dues = self.watchers.iter().filter_map(|watcher| watcher.due());
        dues.filter(|due| *due > now).min()
    }

    /// The clock has stood for a stall in this time, of which a part may have been added up.
    fn stood(&mut self, begin: HostTime, end: HostTime) {
        let begin = begin.max(self.stood_until);
        self.stalls.total_ns += (end - begin).as_ns().max(0);
        self.stood_until = self.stood_until.max(end);
    }
}

/// The clock of a domain at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Reading {
    /// Virtual nanoseconds since the start of the domain.
    pub virtual_ns: i64,
    /// Nanoseconds since 1970 that `CLOCK_REALTIME` shows.
    pub realtime_ns: i64,
    pub holds: u32,
    pub tdf_millionths: u64,
    pub paused_ns: i64,
    /// Times the clock was stopped.
    pub stops: u64,
    /// What `CLOCK_REALTIME` shows less that of the host.
    pub offset_ns: i64,
}

impl Domain {
    /// A new domain whose clock is at virtual zero now.
    pub fn new(start: Start) -> io::Result<Arc<Self>> {
        Self::in_memory(start, None)
    }

    /// The same, whose clock a device may stop that has the page in its memory.
    pub fn on_device(start: Start, memory: DeviceMemory) -> io::Result<Arc<Self>> {
        Self::in_memory(start, Some(memory))
    }

    fn in_memory(start: Start, device: Option<DeviceMemory>) -> io::Result<Arc<Self>> {
        let is_shared = device.is_some();
        let clock = ClockPage::new(epochs(start));
        let clock = match start.pace {
            Pace::Real => clock,
            Pace::Skip => clock.that_jumps(),
            Pace::Events => clock.that_stands(),
        };
        let page = DomainPage::new(clock);
        let page = match device {
            Some(memory) => Shared::in_device(memory, page)?,
            None => Shared::new(c"quartercycle-clock", page, Writers::Owner)?,
        };
        page.begin_change();
        let now = settled_host_now();
        let mut clock = VirtualClock::new(now, start.tdf);
        if start.held {
            clock.hold(now);
        }
        if start.pace == Pace::Events {
            clock.stand(now);
        }
        page.history().note_change(now, None, &clock);
        page.end_change(&clock, true, true);
        let state = State {
            clock,
            watchers: Vec::new(),
            stops: u64::from(start.held),
            jumps: 0,
            runs: Runs::default(),
            stalls: Stalls::default(),
            limits: Limits::NONE,
            waited_for_hosts: HostSpan::ZERO,
            nudges: 0,
            stood_until: HostTime::ZERO,
            bus: bus::Stops::new(is_shared),
        };
        Ok(Arc::new(Self {
            page,
            state: Mutex::new(state),
            programs: Mutex::default(),
            // No two domains of a host begin in the same nanosecond and the same process.
            token: u64::from(std::process::id()).rotate_right(24) ^ now.as_ns().cast_unsigned(),
            pace: start.pace,
            seed: (start.pace == Pace::Events && !start.is_joined).then_some(start.seed),
            works: Works::default(),
            method: Mutex::default(),
            overlooked: AtomicU64::new(0),
            lines_changed: AtomicU64::new(0),
            kept: Mutex::default(),
            late_kernels_ns: AtomicI64::new(0),
            overran: Mutex::default(),
            is_let_go: AtomicBool::new(false),
            backstop: OnceLock::new(),
            lateness: AgentLateness::default(),
            releasing: Mutex::new(()),
            quickened: AtomicBool::new(false),
            nudged: Condvar::new(),
        }))
    }

    /// Whether what programs get at random follows from a seed.
    pub const fn is_seeded(&self) -> bool {
        self.seed.is_some()
    }

    /// Names who freezes the programs of the domain while its clock is stopped. The first one
    /// named does.
    pub fn set_backstop(&self, backstop: Arc<dyn Backstop>) {
        let _ = self.backstop.set(backstop);
    }

    /// How late its agent is with what virtual times demand.
    pub fn lateness(&self) -> &AgentLateness {
        &self.lateness
    }

    /// Virtual time at this moment.
    pub fn now(&self) -> VirtualTime {
        self.page.now(host_now, relax)
    }

    /// The same; `None` while the clock is held, or is at its horizon. One that stands by itself is not held:
    /// what happens then happens at the present instant.
    pub fn now_unless_held(&self) -> Option<VirtualTime> {
        let now = self.now();
        (self.page.holds() == 0 && now < self.page.snapshot(relax).horizon).then_some(now)
    }

    /// What `CLOCK_REALTIME` of programs shows at `when`, in nanoseconds since 1970.
    pub fn realtime_ns(&self, when: VirtualTime) -> i64 {
        self.page.epoch(Epoch::Realtime).saturating_add(when.as_ns())
    }

    /// The host time at which the clock reaches `when` if nothing changes, or at which to look
    /// again while a stall keeps it from going on; `None` while it is stopped or if `when`
    /// lies beyond the horizon.
    pub fn host_time_of(&self, when: VirtualTime) -> Option<HostTime> {
        let snapshot = self.page.snapshot(relax);
        snapshot.reaches(when).map(|host| look_again(host, snapshot.limit))
    }

    /// Asserts a hold until the answer is dropped. The clock is stopped when this returns.
    #[must_use]
    pub fn hold(self: &Arc<Self>) -> Hold {
        let at = self.assert_hold();
        Hold { domain: Arc::clone(self), at, as_of: None }
    }

    /// Asserts a hold that somebody else releases. Returns the virtual time at which the clock
    /// is stopped.
    pub fn assert_hold(&self) -> VirtualTime {
        let (at, stops) = self.change(|clock, now| {
            let stops = clock.hold(now);
            ((clock.at(now), stops), Changed { stops, ..Changed::default() })
        });
        if let Some(backstop) = self.backstop.get().filter(|_| stops) {
            backstop.stopped();
        }
        at
    }

    /// Releases one hold. Returns how many are left; `None` if there was none.
    pub fn release_hold(&self) -> Option<u32> {
        self.release(None)
    }

    /// Releases one hold, and lets the clock run as if that had been at another host time.
    fn release(&self, as_of: Option<HostTime>) -> Option<u32> {
        let Some(backstop) = self.backstop.get() else { return self.release_now(as_of) };
        let _turn = self.releasing.lock();
        let last = self.state.lock().clock.holds() == 1;
        if last {
            backstop.resuming();
            if self.quickened.swap(false, Ordering::Relaxed) {
                backstop.quickened(&self.processes());
            }
        }
        let left = self.release_now(as_of);
        if last && left.is_some_and(|left| left > 0) {
            // Another hold came meanwhile, so the clock still stands.
            backstop.stopped();
        }
        left
    }

    fn release_now(&self, as_of: Option<HostTime>) -> Option<u32> {
        self.change(|clock, now| {
            let resumed = clock.release(as_of.unwrap_or(now));
            let left = resumed.map(|_| clock.holds());
            let (resumes, releases) = (resumed == Some(true), left == Some(0));
            (left, Changed { resumes, releases, ..Changed::default() })
        })
    }

    /// Puts the clock, if it runs, ahead by so much host time, or lets it stand for as long if that is less than zero:
    /// it was found to be wrong beside that of another host.
    pub fn shift(&self, by: HostSpan) {
        self.change(|clock, now| {
            let resumes = clock.shift(now, by);
            ((), Changed { resumes, ..Changed::default() })
        });
    }

    /// What the clock showed or will show at a host time if nothing changes, with the factor; `None` while it is
    /// held or at its horizon.
    pub fn runs_by(&self, host: HostTime) -> Option<(VirtualTime, Tdf)> {
        self.take_up_stops();
        let state = self.state.lock();
        let clock = &state.clock;
        let is_kept = state.limits.of(clock) <= host;
        let at = clock.at(host);
        let runs = clock.holds() == 0 && !clock.stands() && !is_kept && at < clock.horizon();
        runs.then(|| (at, clock.tdf()))
    }

    /// Changes the time dilation factor.
    pub fn dilate(&self, tdf: Tdf) {
        self.change_factors(
            |clock| tdf < clock.tdf(),
            |clock, now| {
                clock.dilate(now, tdf);
                Changed { dilates: true, ..Changed::default() }
            },
        );
    }

    /// Changes a factor. If it makes time go faster, the clock is stopped until those programs that wait
    /// have heard of it.
    fn change_factors(
        &self,
        quickens: impl FnOnce(&VirtualClock) -> bool,
        decide: impl FnOnce(&mut VirtualClock, HostTime) -> Changed,
    ) {
        let Some(backstop) = self.backstop.get() else {
            self.change(|clock, now| ((), decide(clock, now)));
            return self.wake_sleepers();
        };
        let (quickens, stops) = self.change(|clock, now| {
            let quickens = quickens(clock);
            let stops = quickens && clock.hold(now);
            ((quickens, stops), decide(clock, now))
        });
        if stops {
            backstop.stopped();
        }
        if quickens {
            self.quickened.store(true, Ordering::Relaxed);
            self.release_hold();
        }
        self.wake_sleepers();
    }

    /// Releases all holds and lets the clock and all programs run as fast as the host's, from
    /// where they stand; it jumps no more.
    pub fn detach(&self) {
        self.is_let_go.store(true, Ordering::SeqCst);
        if self.stands() {
            // Whoever waits is told of that when this is released, as if time had become faster.
            self.assert_hold();
            self.let_stand(false);
            self.quickened.store(true, Ordering::Relaxed);
        }
        self.dilate(Tdf::ONE);
        for program in self.present_programs() {
            self.change_program(&program, Change::Dilate(Tdf::ONE));
        }
        while self.release_hold().is_some() {}
        self.wake_sleepers();
    }

    /// Grants the clock to run up to `horizon`.
    pub fn grant(&self, horizon: VirtualTime) {
        self.change(|clock, now| {
            clock.grant(now, horizon);
            ((), Changed { resumes: true, ..Changed::default() })
        });
    }

    /// Stops the clock while a processor of the host does not answer for longer than
    /// `allowed`, until the answer is dropped.
    pub fn guard(self: &Arc<Self>, allowed: HostSpan) -> io::Result<Guard> {
        Guard::start(self, allowed)
    }

    /// What stalls of the host the clock was kept from so far.
    pub fn stalls(&self) -> Stalls {
        self.state.lock().stalls
    }

    /// The clock at this moment.
    pub fn reading(&self) -> Reading {
        self.take_up_stops();
        let state = self.state.lock();
        let host = self.host_now();
        let now = state.clock.at(host);
        Reading {
            virtual_ns: now.as_ns(),
            realtime_ns: self.realtime_ns(now),
            holds: state.clock.holds(),
            tdf_millionths: state.clock.tdf().millionths(),
            paused_ns: state.clock.paused(host).as_ns(),
            stops: state.stops,
            offset_ns: self.realtime_offset_ns(now, host),
        }
    }

    /// Whether the clock stands at its horizon.
    pub fn is_at_horizon(&self) -> bool {
        let state = self.state.lock();
        state.clock.at(self.host_now()) >= state.clock.horizon()
    }

    /// What `CLOCK_REALTIME` of a program shows at `when` less that of the host at `host`.
    fn realtime_offset_ns(&self, when: VirtualTime, host: HostTime) -> i64 {
        let since = host_now() - host;
        let host_realtime_ns = clock_ns(libc::CLOCK_REALTIME) - since.as_ns();
        self.realtime_ns(when).saturating_sub(host_realtime_ns)
    }

    /// A file descriptor that becomes readable whenever the clock was stopped, resumed, dilated
    /// or granted more.
    pub fn watch(&self) -> io::Result<Watch> {
        let [due, rung] = [(); 2].map(|()| AtomicI64::new(FOR_NO_TIME));
        let watcher = Arc::new(Watcher { wake: Wake::new()?, due, rung });
        self.state.lock().watchers.push(Arc::clone(&watcher));
        Ok(Watch { watcher })
    }

    /// Waits on the host until the clock has reached `when`, however often it is held meanwhile.
    pub fn wait_until(&self, when: VirtualTime) -> io::Result<()> {
        let watch = self.watch()?;
        watch.is_for(Some(when));
        while self.now() < when {
            watch.wait(self.host_time_of(when))?;
        }
        Ok(())
    }

    /// The clock page, to be mapped into programs.
    pub fn page(&self) -> &Shared<DomainPage> {
        &self.page
    }

    fn change<T>(&self, decide: impl FnOnce(&mut VirtualClock, HostTime) -> (T, Changed)) -> T {
        let mut state = self.state.lock();
        let is_stopped = self.begin_change(&mut state);
        let now = settled_host_now().min(self.page.limit());
        let before = state.clock.clone();
        let (answer, changed) = decide(&mut state.clock, now);
        self.page.history().note_change(now, Some(&before), &state.clock);
        self.end_change(&mut state, changed);
        self.stop_if_asked(state, is_stopped);
        answer
    }

    fn end_change(&self, state: &mut State, changed: Changed) {
        // The line is another one, and so is the host time at which it reaches what was granted.
        self.page.set_limit(state.limits.of(&state.clock));
        self.page.end_change(&state.clock, changed.resumes, changed.dilates);
        if changed.resumes {
            page::wake_all(self.page.resumed());
        }
        if changed.dilates {
            page::wake_all(self.page.dilated());
            page::wake_all(self.page.resumed());
        }
        state.stops += u64::from(changed.stops);
        if let Some((here, there)) = changed.jump {
            state.jumps += 1;
            state.runs.end(here, there);
        }
        state.watchers.retain(|watcher| Arc::strong_count(watcher) > 1);
        if changed.stops || changed.resumes || changed.releases || changed.dilates {
            state.watchers.iter().for_each(|watcher| watcher.wake.wake());
        } else if let Some((_, now)) = changed.jump {
            state.watchers.iter().for_each(|watcher| watcher.ring_if_due(now, true));
        }
    }

    fn host_now(&self) -> HostTime {
        host_now().min(self.page.limit())
    }
}

/// How long to wait while a stall keeps the clock from going on: its end wakes all that wait for
/// that, unless it comes in the very moment in which they begin to.
const LOOK_AGAIN: HostSpan = HostSpan::from_ns(200_000);

#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    stops: bool,
    resumes: bool,
    /// It is held no more, though it may stand.
    releases: bool,
    dilates: bool,
    /// From where to where the clock has jumped.
    jump: Option<(VirtualTime, VirtualTime)>,
}

/// A hold on a domain; dropping it releases it.
#[derive(Debug)]
pub struct Hold {
    domain: Arc<Domain>,
    at: VirtualTime,
    /// When it counts as released; `None` when it is.
    as_of: Option<HostTime>,
}

impl Hold {
    /// The virtual time at which the clock is stopped.
    pub const fn at(&self) -> VirtualTime {
        self.at
    }

    /// Releases it, and lets the clock run as if that had been at another host time, at which other hosts have let
    /// theirs run.
    pub fn release_as_of(mut self, when: HostTime) {
        self.as_of = Some(when);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.domain.release(self.as_of);
    }
}

/// Becomes readable when the clock of a domain changes.
#[derive(Debug)]
pub struct Watch {
    watcher: Arc<Watcher>,
}

/// Of [`Watcher::due`]: it waits for no time.
const FOR_NO_TIME: i64 = i64::MAX;

#[derive(Debug)]
struct Watcher {
    wake: Wake,
    /// The virtual time for which it waits.
    due: AtomicI64,
    /// That for which it was woken last, once it had come.
    rung: AtomicI64,
}

impl Watcher {
    fn due(&self) -> Option<VirtualTime> {
        let due = self.due.load(Ordering::SeqCst);
        (due != FOR_NO_TIME).then_some(VirtualTime::from_ns(due))
    }

    /// Wakes it if its time has come, and if it was not woken for that already, or `again`.
    fn ring_if_due(&self, now: VirtualTime, again: bool) {
        if let Some(due) = self.due().filter(|due| *due <= now)
            && (self.rung.swap(due.as_ns(), Ordering::SeqCst) != due.as_ns() || again)
        {
            self.wake.wake();
        }
    }
}

impl Watch {
    /// The descriptor to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.watcher.wake.as_fd()
    }

    /// Says for which virtual time it waits from now on, so that a jump there wakes it and none goes
    /// beyond; one that has passed while it has something to do. `None`: for none.
    pub fn is_for(&self, when: Option<VirtualTime>) {
        self.watcher.due.store(when.map_or(FOR_NO_TIME, VirtualTime::as_ns), Ordering::SeqCst);
    }

    /// Forgets the changes so far. Call it before reading the clock, so that none is missed.
    pub fn clear(&self) {
        self.watcher.wake.clear();
    }

    /// Waits until host time `until` (for ever if `None`) or the next change, and clears it.
    pub fn wait(&self, until: Option<HostTime>) -> io::Result<()> {
        poll_until(&mut [readable(self.fd())], until)?;
        self.clear();
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody waits any more, though the domain forgets it with its next change only.
        self.is_for(None);
    }
}

pub use page::{poll_until, readable, readable_or_writable};

/// When to look for a clock that would be somewhere at `host`, but may go to `limit` only.
fn look_again(host: HostTime, limit: HostTime) -> HostTime {
    let now = host_now();
    if limit < host && host <= now { now + LOOK_AGAIN } else { host }
}

/// Host time, read [`SETTLE_NS`] after the page was marked as changing.
fn settled_host_now() -> HostTime {
    let begun = host_now();
    loop {
        let now = host_now();
        if now - begun >= HostSpan::from_ns(SETTLE_NS) {
            return now;
        }
    }
}

/// The epochs of all clocks, such that each goes on from the host's, but `CLOCK_REALTIME` (and
/// `CLOCK_TAI` with it) from `realtime_ns` where given. Where two runs are to be the same they begin at the same
/// numbers, and the time of day at a whole second: programs compute with these, and round.
fn epochs(Start { realtime_ns, pace, is_joined, .. }: Start) -> [i64; Epoch::COUNT] {
    /// What clocks since the start of the machine show then.
    const UP_NS: i64 = 1_000_000_000_000;
    let is_same = pace == Pace::Events && !is_joined;
    let host_realtime = clock_ns(libc::CLOCK_REALTIME);
    let part_of_second = if is_same { host_realtime.rem_euclid(1_000_000_000) } else { 0 };
    let realtime = realtime_ns.unwrap_or(host_realtime - part_of_second);
    let up_ns = |clock| if is_same { UP_NS } else { clock_ns(clock) };
    let mut epochs = [0; Epoch::COUNT];
    epochs[Epoch::Realtime as usize] = realtime;
    epochs[Epoch::Monotonic as usize] = up_ns(libc::CLOCK_MONOTONIC);
    epochs[Epoch::MonotonicRaw as usize] = up_ns(libc::CLOCK_MONOTONIC_RAW);
    epochs[Epoch::Boottime as usize] = up_ns(libc::CLOCK_BOOTTIME);
    // The kernel's offset between TAI and UTC is a whole number of seconds.
    let tai = clock_ns(libc::CLOCK_TAI) - host_realtime;
    epochs[Epoch::Tai as usize] =
        realtime.saturating_add((tai + 500_000_000) / 1_000_000_000 * 1_000_000_000);
    epochs
}

fn relax(tries: u32) {
    if tries < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use vtime::VirtualSpan;

    #[test]
    fn is_stopped_while_held_and_goes_on_where_it_stood() {
        let domain = Domain::new(Start::default()).unwrap();
        let hold = domain.hold();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(domain.now(), hold.at());
        assert_eq!(domain.host_time_of(VirtualTime::MAX), None);
        let at = hold.at();
        drop(hold);
        assert!(domain.now() >= at);
        let reading = domain.reading();
        assert_eq!((reading.holds, reading.stops), (0, 1));
        assert!(reading.paused_ns >= 5_000_000);
    }

    #[test]
    fn waiting_outlasts_holds_and_horizons() {
        let domain = Domain::new(Start::default()).unwrap();
        domain.grant(VirtualTime::ZERO + VirtualSpan::from_ms(2));
        let hold = domain.hold();
        let until = domain.now() + VirtualSpan::from_ms(10);
        let waiter = {
            let domain = Arc::clone(&domain);
            std::thread::spawn(move || {
                domain.wait_until(until).unwrap();
                domain.now()
            })
        };
        std::thread::sleep(Duration::from_millis(5));
        drop(hold);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!waiter.is_finished());
        domain.grant(VirtualTime::MAX);
        assert!(waiter.join().unwrap() >= until);
    }

    #[test]
    fn dilation_slows_virtual_time() {
        let domain = Domain::new(Start { tdf: Tdf::MAX, ..Start::default() }).unwrap();
        let host = Instant::now();
        let before = domain.now();
        std::thread::sleep(Duration::from_millis(10));
        let passed = domain.now() - before;
        assert!(passed.as_ns() > 0);
        assert!(u128::try_from(passed.as_ns()).unwrap() <= host.elapsed().as_nanos() / 1000 + 1);
    }

    #[test]
    fn the_time_of_day_starts_where_it_was_set_to() {
        let start = Start { realtime_ns: Some(1_000_000_000), held: true, ..Start::default() };
        let domain = Domain::new(start).unwrap();
        assert_eq!(domain.reading().realtime_ns - domain.reading().virtual_ns, 1_000_000_000);
        assert_eq!(domain.release_hold(), Some(0));
        assert_eq!(domain.release_hold(), None);
    }

    #[test]
    fn a_watch_rings_on_each_kind_of_change() {
        for pace in [Pace::Real, Pace::Skip, Pace::Events] {
            let domain = Domain::new(Start { pace, ..Start::default() }).unwrap();
            let watch = domain.watch().unwrap();
            let rings = |what: &dyn Fn()| {
                watch.clear();
                what();
                let mut fds = [readable(watch.fd())];
                poll_until(&mut fds, Some(HostTime::ZERO)).unwrap();
                !fds[0].revents().is_empty()
            };
            assert!(!rings(&|| ()));
            assert!(rings(&|| {
                domain.assert_hold();
            }));
            assert_eq!(domain.now_unless_held(), None);
            assert!(rings(&|| {
                domain.release_hold();
            }));
            assert!(domain.now_unless_held().is_some());
            assert!(rings(&|| domain.dilate(Tdf::MAX)));
            assert!(rings(&|| domain.grant(VirtualTime::MAX)));
        }
    }

    #[test]
    fn a_clock_that_stands_leads_those_who_wait_there_by_jumps() {
        let domain = Domain::new(Start { pace: Pace::Events, ..Start::default() }).unwrap();
        let (begun, until) = (domain.now(), VirtualTime::ZERO + VirtualSpan::from_ms(10));
        let watch = domain.watch().unwrap();
        watch.is_for(Some(until));
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((domain.now(), domain.host_time_of(until)), (begun, None));
        assert_eq!((domain.runs(), domain.next_due()), (true, Some(until)));
        assert_eq!(domain.jump(until), Some(until - begun));
        watch.wait(Some(host_now() + HostSpan::from_ms(60_000))).unwrap();
        assert_eq!(domain.now(), until);
        domain.let_stand(false);
        std::thread::sleep(Duration::from_millis(2));
        assert!(domain.now() > until && !domain.stands());
        domain.detach();
        domain.let_stand(true);
        assert!(!domain.stands());
    }
}
