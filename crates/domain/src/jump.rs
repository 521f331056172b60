//! Jumps of the clock of a domain: to when it could jump, and whom that wakes.
//!
//! Whether it may is for others to find out (`runtime::launch::Jumper`). What is known here: until when
//! the threads of programs say that they wait, and the agent's own. All that a program writes is taken
//! for a hint: it can only make the clock jump less far.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use vtime::rate::virtual_ns;
use vtime::waits::{SLEEPS, Wait};
use vtime::{HostTime, ProgramTime, VirtualSpan, VirtualTime};

use super::kept::Kept;
use super::page::{host_now, wake_all};
use super::programs::Program;
use super::{Changed, Computed, Domain};

/// How the time of a domain passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// A virtual second lasts a host second (as the time dilation factor says).
    #[default]
    Real,
    /// The same while a program can run; when none can, the clock jumps to the next moment at which
    /// one has something to do.
    Skip,
    /// The clock stands while a program can run, and jumps when none can.
    Events,
}

impl Pace {
    /// As it is written in scenarios and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Skip => "skip",
            Self::Events => "events",
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Real, Self::Skip, Self::Events];
        all.into_iter().find(|pace| pace.name() == text).ok_or_else(|| {
            format!(
                "`{text}` is not a pace; write `real`, `skip` to jump over idle time, or `events` \
                 to let time pass in jumps alone"
            )
        })
    }
}

/// What happens while a kernel may be about to send something by a timer of its own, which runs on host
/// time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelTimers {
    /// The clock runs along with it.
    #[default]
    Wait,
    /// The clock jumps all the same, and what the kernel sends is late by that.
    Late,
}

impl FromStr for KernelTimers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "wait" => Ok(Self::Wait),
            "late" => Ok(Self::Late),
            _ => Err(format!(
                "`{text}` says nothing about timers of kernels; write `wait` or `late`"
            )),
        }
    }
}

/// How the time of a domain has passed so far.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct PaceStatus {
    pub pace: Pace,
    /// How it is found out that no program can run; empty where nothing is.
    pub method: String,
    /// Threads of programs that have run without being noticed by it, as was found out by other means.
    #[serde(default)]
    pub overlooked: u64,
    pub jumps: u64,
    /// Virtual time that was jumped over, in nanoseconds.
    pub skipped_ns: i64,
    /// Of that, while a kernel may have had a timer set, so that what it sent was late by up to that.
    pub late_kernels_ns: i64,
    /// Instants that went on for too long where the clock stands meanwhile, by the name of the program that
    /// had computed most: the clock ran until all waited again.
    #[serde(default)]
    pub overran: BTreeMap<String, u64>,
    /// What programs have computed, by the name of their node, where that takes virtual time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub computed: BTreeMap<String, Computed>,
    /// Virtual time that passed at host rate, in nanoseconds, by what kept it from being jumped over.
    pub kept_ns: Kept,
}

impl PaceStatus {
    /// All that is worth saying of a pace other than [`Pace::Real`], each time as `shown` writes nanoseconds.
    pub fn words(&self, shown: impl Fn(i64) -> String) -> String {
        let late = match self.late_kernels_ns {
            0 => String::new(),
            ns => format!(", {} of it over timers of the kernel", shown(ns)),
        };
        let mut parts = vec![format!(
            "{}, {} jumps over {}{late}",
            self.pace,
            self.jumps,
            shown(self.skipped_ns)
        )];
        let overran: Vec<_> =
            self.overran.iter().map(|(program, times)| format!("`{program}` {times}")).collect();
        if !overran.is_empty() {
            let sum: u64 = self.overran.values().sum();
            parts.push(format!("instants that overran: {sum} ({})", overran.join(", ")));
        }
        if self.overlooked > 0 {
            parts.push(format!("threads that ran unnoticed: {}", self.overlooked));
        }
        for (node, computed) in &self.computed {
            let [processor, took] = [computed.processor_ns, computed.took_ns]
                .map(|ns| shown(i64::try_from(ns).unwrap_or(i64::MAX)));
            parts.push(format!("{node} computed {processor}, which took {took}"));
        }
        let ran = self.kept_ns.words(&shown);
        match (ran.is_empty(), self.pace) {
            (false, _) => parts.push(format!("ran at host rate {ran}")),
            (true, Pace::Events) => parts.push("never ran at host rate".to_owned()),
            (true, _) => {}
        }
        parts.join("; ")
    }
}

/// Things that the agent is about to do for programs, which seem to wait meanwhile.
#[derive(Debug, Default)]
pub struct Works(Arc<AtomicU32>);

/// One of these, until it is dropped.
#[derive(Debug, Default)]
pub struct Work(Arc<AtomicU32>);

impl Works {
    /// Begins one, before it is taken from where others see that it is to be done.
    #[must_use]
    pub fn begin(&self) -> Work {
        self.0.fetch_add(1, Ordering::SeqCst);
        Work(Arc::clone(&self.0))
    }

    /// Whether there is none.
    pub fn are_done(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A thread of a program whose wait is over.
#[derive(Clone, Debug)]
pub struct Waiter {
    pub program: Arc<Program>,
    /// Its place in the table of the program.
    place: usize,
    /// The thread as the program numbers it.
    pub thread: u32,
    /// Until when it waits, in the time of the program.
    pub deadline: ProgramTime,
    /// [`SLEEPS`] or [`vtime::waits::CALLS`].
    how: u32,
}

impl Waiter {
    /// Tells the thread to look at the clock. Returns whether a signal has to end the native call in
    /// which it waits; it then waits for that signal, unless it learns that there is none.
    pub fn wake(&self) -> bool {
        let wait = self.wait();
        if !wait.wake(self.how) {
            return false;
        }
        if self.sleeps() {
            wake_all(wait.word());
        }
        !self.sleeps()
    }

    /// Whether it sleeps on a word, and no signal is needed to wake it.
    pub fn sleeps(&self) -> bool {
        self.how == SLEEPS
    }

    /// The signal could not be sent, or the thread is not in the call for which it said so.
    pub fn is_not_signalled(&self) {
        self.wait().is_not_signalled();
    }

    /// Takes its place from a thread that is not there any more.
    pub fn is_gone(&self) {
        self.wait().give_back(self.thread);
    }

    fn wait(&self) -> &Wait {
        // How many were taken the program may have changed since.
        self.program.waits().place(self.place)
    }
}

impl Domain {
    /// How its time passes.
    pub const fn pace(&self) -> Pace {
        self.pace
    }

    /// What the agent is about to do for programs.
    pub const fn works(&self) -> &Works {
        &self.works
    }

    /// Whether it may jump now: not while it is held, at its horizon or stalled by the host, and not
    /// once it was detached.
    pub fn runs(&self) -> bool {
        !self.is_let_go.load(Ordering::SeqCst)
            && self.page.holds() == 0
            && !self.is_at_horizon()
            && self.guard_allows(host_now())
    }

    /// Jumps forward to `when`, or to the horizon if that comes first, and wakes those parts of the
    /// agent whose time has come; waking programs is the caller's work. Returns how far; `None` if that
    /// does not lie ahead, or the clock is held.
    pub fn jump(&self, when: VirtualTime) -> Option<VirtualSpan> {
        let granted = self.granted();
        self.change(|clock, now: HostTime| {
            if self.pace == Pace::Events && !self.is_let_go.load(Ordering::SeqCst) {
                clock.stand(now);
            }
            let here = clock.at(now);
            let far = clock.jump(now, when.min(granted));
            (far, Changed { jump: far.map(|far| (here, here + far)), ..Changed::default() })
        })
    }

    /// Lets a clock stand that moves by jumps, or run as the host's does for a time. Those parts of the
    /// agent that wait look at it; waking programs is the caller's work. Once it was detached it runs.
    pub fn let_stand(&self, stands: bool) {
        self.change(|clock, now| {
            let resumes = match stands && !self.is_let_go.load(Ordering::SeqCst) {
                true => {
                    clock.stand(now);
                    false
                }
                false => clock.run(now),
            };
            ((), Changed { resumes, ..Changed::default() })
        });
    }

    /// Whether it moves by jumps alone at present.
    pub fn stands(&self) -> bool {
        self.state.lock().clock.stands()
    }

    /// How long a wait of so much host time that is just over was in virtual time, in nanoseconds.
    pub fn virtual_ns_of(&self, host_ns: i64) -> i64 {
        if self.stands() { 0 } else { virtual_ns(host_ns, self.page.tdf_millionths()) }
    }

    /// Virtual time that has passed in runs of the clock from one jump to the next that were at least as
    /// long as `notable`, which is the same each time. Nobody was kept waiting for as long in any other.
    pub fn long_runs(&self, notable: VirtualSpan) -> VirtualSpan {
        let mut state = self.state.lock();
        let now = state.clock.at(self.host_now());
        state.runs.long(now, notable)
    }

    /// Virtual time now, and how much of it was jumped over.
    pub(super) fn now_and_jumped(&self) -> (VirtualTime, VirtualSpan) {
        let state = self.state.lock();
        (state.clock.at(self.host_now()), state.clock.jumped())
    }

    /// How its time has passed so far.
    pub fn pace_status(&self) -> PaceStatus {
        let (jumps, skipped) = {
            let state = self.state.lock();
            (state.jumps, state.clock.jumped())
        };
        PaceStatus {
            pace: self.pace,
            method: (*self.method.lock()).to_owned(),
            overlooked: self.overlooked.load(Ordering::Relaxed),
            jumps,
            skipped_ns: skipped.as_ns(),
            late_kernels_ns: self.late_kernels_ns.load(Ordering::Relaxed),
            overran: self.overran.lock().clone(),
            computed: self.computed(),
            kept_ns: self.kept.lock().clone(),
        }
    }

    /// How it is found out that no program can run, in words, and how many threads of programs it
    /// has overlooked so far.
    pub fn set_method(&self, words: &'static str, overlooked: u64) {
        *self.method.lock() = words;
        self.overlooked.store(overlooked, Ordering::Relaxed);
    }

    /// It has jumped so far while a kernel may have had a timer set.
    pub fn note_late_kernels(&self, span: VirtualSpan) {
        self.late_kernels_ns.fetch_add(span.as_ns(), Ordering::Relaxed);
    }

    /// An instant has gone on for too long, in which this program has computed most.
    pub fn note_overrun(&self, program: String) {
        *self.overran.lock().entry(program).or_default() += 1;
    }

    /// What kept its clock from jumping.
    pub const fn kept(&self) -> &Mutex<Kept> {
        &self.kept
    }

    /// The next virtual time at which a part of the agent has something to do; one that has passed
    /// if it has something to do now. `None` if none waits for a time.
    pub fn next_due(&self) -> Option<VirtualTime> {
        let state = self.state.lock();
        let dues = state.watchers.iter().filter_map(|watcher| watcher.due());
        dues.min()
    }

    /// Wakes those parts of the agent whose time has come by itself: after a jump their own waits on the host
    /// last too long. Returns the next time at which one has something to do.
    pub fn ring_due(&self, now: VirtualTime) -> Option<VirtualTime> {
        let state = self.state.lock();
        state.watchers.iter().for_each(|watcher| watcher.ring_if_due(now, false));
        state.next_due_after(now)
    }

    /// The next virtual time beyond `now` for which a part of the agent waits.
    pub fn next_due_after(&self, now: VirtualTime) -> Option<VirtualTime> {
        self.state.lock().next_due_after(now)
    }

    /// Lets those who sleep look at the clock again, after a change of a factor or of whose time it is.
    pub(super) fn wake_sleepers(&self) {
        if self.pace != Pace::Real {
            let programs = self.present_programs();
            let waits = programs.iter().flat_map(|program| program.waits().present());
            waits.filter(|wait| wait.wake(SLEEPS)).for_each(|wait| wake_all(wait.word()));
        }
    }

    /// Takes their places from threads that are not there any more. Only while all threads that are
    /// there are known, and none of them runs.
    pub fn sweep<'a>(
        programs: impl Iterator<Item = &'a Arc<Program>>,
        is_there: impl Fn(&Program, u32) -> bool,
    ) {
        for program in programs {
            for wait in program.waits().present() {
                let thread = wait.thread();
                if thread != 0 && !is_there(program, thread) {
                    wait.give_back(thread);
                }
            }
        }
    }

    /// The threads of these programs whose wait is over at a time of the domain.
    pub fn overdue<'a>(
        programs: impl Iterator<Item = &'a Arc<Program>>,
        now: VirtualTime,
    ) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for program in programs {
            let (mut clock, reached) = (None, program.node.wakes().reached(now));
            for (place, wait) in program.waits().present().iter().enumerate() {
                let thread = wait.thread();
                if let (1.., Some((deadline, how))) = (thread, wait.awaits())
                    && let Some(until) =
                        clock.get_or_insert_with(|| program.own_clock()).reaches(deadline)
                    && until <= reached
                {
                    let program = Arc::clone(program);
                    waiters.push(Waiter { program, place, thread, deadline, how });
                }
            }
        }
        waiters
    }
}
