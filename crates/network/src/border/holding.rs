//! Holds of all hosts at once: what [`hosts::Holds`] decides, done to the clock of this one.
//!
//! While all are held, the clock of each has one hold of this. On its way to where all will stand it has none, and
//! may go no further than that ([`Domain::let_run_to`]). Where clocks run by themselves, all go on as of the host time
//! at which the first one does.
//!
//! On a signal bus ([`super::bus`]) who holds also asserts the bus, first: its edge has stopped clocks before a word
//! could. Such a stop is a hold of the bus, which is over as soon as what was agreed keeps the clock.

use std::fmt;
use std::io;
use std::marker;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::{Domain, Hold, Pace, host_now};
use hosts::holds::{Do, Message, Say};
use hosts::{Holds, Sync};
use os::wake::Wake;
use parking_lot::Mutex;
use signal_bus::Drives;
use vtime::{HostTime, VirtualSpan, VirtualTime};

/// How far ahead of the clock it stops that runs: about what a word needs to another host.
const AHEAD: VirtualSpan = VirtualSpan::from_ns(80_000);

/// How long the network's thread may take to say how many holds there are; it says so as soon as it is woken.
const COUNT_LONGEST: Duration = Duration::from_secs(1);

/// How many holds there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Asserted at any host, by whomever.
    pub of_all: u32,
    /// The holds of the clock of this host that stand for them: one, or none while it is on its way or goes on.
    pub here: u32,
}

/// Where holds of all hosts are asked for, from any thread.
#[derive(Debug)]
pub struct AllHolds {
    wake: Wake,
    asked: Mutex<Asked>,
    driver: OnceLock<Driver>,
}

#[derive(Debug, Default)]
struct Asked {
    holds: Vec<Sender<VirtualTime>>,
    releases: Vec<Sender<bool>>,
    counts: Vec<Sender<Count>>,
    is_over: bool,
}

/// What asserts the signal bus while this host holds by itself.
struct Driver {
    drives: Box<dyn Drives>,
    /// Holds for which it does.
    holds: Mutex<u32>,
    /// Told that it failed.
    tell: Box<dyn Fn(io::Error) + Send + marker::Sync>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Driver").field("holds", &self.holds).finish_non_exhaustive()
    }
}

impl Driver {
    fn asserts(&self) {
        let mut holds = self.holds.lock();
        *holds += 1;
        if *holds == 1 {
            self.drive(true);
        }
    }

    fn lets_go(&self) {
        let mut holds = self.holds.lock();
        if *holds == 1 {
            self.drive(false);
        }
        *holds = holds.saturating_sub(1);
    }

    fn drive(&self, asserted: bool) {
        if let Err(error) = self.drives.drive(asserted) {
            (self.tell)(error);
        }
    }
}

impl AllHolds {
    fn new() -> io::Result<Self> {
        Ok(Self { wake: Wake::new()?, asked: Mutex::default(), driver: OnceLock::new() })
    }

    /// Has the signal bus asserted while this host holds. `tell` is told where that fails: holds go on without.
    pub(super) fn drive(
        &self,
        drives: Box<dyn Drives>,
        tell: impl Fn(io::Error) + Send + marker::Sync + 'static,
    ) {
        let driver = Driver { drives, holds: Mutex::default(), tell: Box::new(tell) };
        let _ = self.driver.set(driver);
    }

    /// Asserts one more hold of this host. Waits until all clocks stand, and returns where; `None` if the
    /// network has ended.
    pub fn hold(&self) -> Option<VirtualTime> {
        if let Some(driver) = self.driver.get() {
            driver.asserts();
        }
        self.ask(|asked, answer| asked.holds.push(answer))
    }

    /// The same, until the answer is dropped.
    pub fn held(self: &Arc<Self>) -> Option<AllHeld> {
        Some(AllHeld { at: self.hold()?, all: Arc::clone(self) })
    }

    /// Releases one hold of this host. Returns whether there was one.
    pub fn release(&self) -> bool {
        let released = self.ask(|asked, answer| asked.releases.push(answer)).unwrap_or(false);
        if let Some(driver) = self.driver.get().filter(|_| released) {
            driver.lets_go();
        }
        released
    }

    /// How many holds there are, with what others have said before they answered anything that this host has heard;
    /// `None` if the network has ended.
    pub fn count(&self) -> Option<Count> {
        self.post(|asked, answer| asked.counts.push(answer))?.recv_timeout(COUNT_LONGEST).ok()
    }

    /// Asserts a hold that nobody has asked for, or releases it; waits for nothing, and asserts no signal bus. Returns
    /// whether the network is there.
    pub(super) fn hold_by_itself(&self, asserted: bool) -> bool {
        match asserted {
            true => self.post(|asked, answer| asked.holds.push(answer)).is_some(),
            false => self.post(|asked, answer| asked.releases.push(answer)).is_some(),
        }
    }

    /// Has it looked whether the clock does what was agreed.
    pub(super) fn look(&self) {
        self.wake.wake();
    }

    fn ask<T>(&self, add: impl FnOnce(&mut Asked, Sender<T>)) -> Option<T> {
        self.post(add)?.recv().ok()
    }

    fn post<T>(&self, add: impl FnOnce(&mut Asked, Sender<T>)) -> Option<Receiver<T>> {
        let (sender, answer) = channel();
        {
            let mut asked = self.asked.lock();
            if asked.is_over {
                return None;
            }
            add(&mut asked, sender);
        }
        self.wake.wake();
        Some(answer)
    }

    pub(super) fn end(&self) {
        *self.asked.lock() = Asked { is_over: true, ..Asked::default() };
    }
}

/// All clocks stand until this is dropped.
#[derive(Debug)]
pub struct AllHeld {
    at: VirtualTime,
    all: Arc<AllHolds>,
}

impl AllHeld {
    /// The virtual time at which all of them stand.
    pub const fn at(&self) -> VirtualTime {
        self.at
    }
}

impl Drop for AllHeld {
    fn drop(&mut self) {
        self.all.release();
    }
}

#[derive(Debug)]
pub(super) struct Holding {
    holds: Holds,
    sync: Sync,
    all: Arc<AllHolds>,
    hold: Option<Hold>,
    /// Where its clock is to stand, while it is on the way.
    runs_to: Option<VirtualTime>,
    waiting: Vec<Sender<VirtualTime>>,
    heard: Vec<(usize, Message)>,
    lost: Vec<usize>,
    /// When the word to go on takes effect, where clocks run by themselves.
    as_of: Option<HostTime>,
    /// When this host has let all go on.
    went_at: Option<HostTime>,
}

impl Holding {
    pub(super) fn new(me: usize, hosts: usize, sync: Sync) -> io::Result<Self> {
        Ok(Self {
            holds: Holds::new(me, hosts),
            sync,
            all: Arc::new(AllHolds::new()?),
            hold: None,
            runs_to: None,
            waiting: Vec::new(),
            heard: Vec::new(),
            lost: Vec::new(),
            as_of: None,
            went_at: None,
        })
    }

    /// The round of holds since which the clock runs, if it does.
    pub(super) fn runs_since(&self) -> Option<u64> {
        self.holds.runs_since()
    }

    /// The word to go on, which comes next, takes effect at this host time.
    pub(super) const fn goes_as_of(&mut self, when: HostTime) {
        self.as_of = Some(when);
    }

    /// When this host has let all go on last, where clocks run by themselves.
    pub(super) const fn went_at(&self) -> Option<HostTime> {
        self.went_at
    }

    pub(super) fn all(&self) -> Arc<AllHolds> {
        Arc::clone(&self.all)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.all.wake.as_fd()
    }

    /// Where the clock of this host is to stand, while it is on the way.
    pub(super) const fn runs_to(&self) -> Option<VirtualTime> {
        self.runs_to
    }

    /// Another host has said something.
    pub(super) fn heard(&mut self, from: usize, message: Message) {
        self.heard.push((from, message));
    }

    /// A host is lost.
    pub(super) fn is_lost(&mut self, host: usize) {
        self.lost.push(host);
    }

    /// Does what is to be done now. Returns what is to be said to all others.
    pub(super) fn step(&mut self, domain: &Arc<Domain>) -> Vec<Message> {
        self.all.wake.clear();
        let mut says = Vec::new();
        let (holds, releases, counts) = {
            let mut asked = self.all.asked.lock();
            let Asked { holds, releases, counts, .. } = &mut *asked;
            (std::mem::take(holds), std::mem::take(releases), std::mem::take(counts))
        };
        for host in std::mem::take(&mut self.lost) {
            let todo = self.holds.is_lost(host);
            self.obey(domain, todo, &mut says);
        }
        for (from, message) in std::mem::take(&mut self.heard) {
            let todo = self.holds.heard(from, message);
            self.obey(domain, todo, &mut says);
        }
        for answer in holds {
            let todo = self.holds.hold();
            self.waiting.push(answer);
            self.obey(domain, todo, &mut says);
        }
        for answer in releases {
            let released = self.holds.release();
            // Whoever has asked may be gone.
            let _ = answer.send(released.is_some());
            self.obey(domain, released.unwrap_or_default(), &mut says);
        }
        if let Some(at) = self.runs_to.filter(|at| *at <= domain.now()) {
            self.runs_to = None;
            self.hold.get_or_insert_with(|| domain.hold());
            let todo = self.holds.reached(at);
            self.obey(domain, todo, &mut says);
        }
        if self.hold.is_some() || self.runs_to.is_some() {
            domain.release_bus();
        }
        if let Some(at) = self.holds.stand() {
            for waiting in self.waiting.drain(..) {
                // Whoever has asked may be gone.
                let _ = waiting.send(at);
            }
        }
        for count in counts {
            // Whoever has asked may have given up.
            let _ = count.send(Count {
                of_all: self.holds.asserted(),
                here: u32::from(self.hold.is_some()),
            });
        }
        says
    }

    /// Stops the clock: where another one will stop, or a little later so that others can stop there; or at once, where it
    /// does not run by itself, or where the signal bus stops those of others at once.
    fn stop(&mut self, domain: &Arc<Domain>) -> Vec<Do> {
        let now = domain.now();
        let at = self.holds.furthest().unwrap_or(now + AHEAD);
        let runs = domain.pace() == Pace::Real
            && self.all.driver.get().is_none()
            && domain.now_unless_held().is_some();
        if runs && self.runs_to.is_none() && at > now && domain.stops_at(at) {
            self.runs_to = Some(at);
            return self.holds.stops_at(at);
        }
        self.runs_to = None;
        self.hold.get_or_insert_with(|| domain.hold());
        self.holds.stopped(domain.now())
    }

    fn obey(&mut self, domain: &Arc<Domain>, todo: Vec<Do>, says: &mut Vec<Message>) {
        for one in todo {
            match one {
                Do::Stop => {
                    let todo = self.stop(domain);
                    self.obey(domain, todo, says);
                }
                Do::RunTo(at) => {
                    domain.let_run_to(at);
                    self.runs_to = Some(at);
                    self.hold = None;
                }
                Do::Say(message) => {
                    // Where it runs already this is said again, as a host was lost that may have said it.
                    let goes_on = message.say == Say::Go && self.hold.is_some();
                    if goes_on && self.sync == Sync::Free {
                        self.went_at = Some(host_now());
                        self.as_of = self.went_at;
                    }
                    says.push(message);
                }
                Do::Run => {
                    domain.let_run_to(VirtualTime::MAX);
                    if let (Some(hold), Some(when)) = (self.hold.take(), self.as_of.take()) {
                        hold.release_as_of(when);
                    }
                }
            }
        }
    }
}
