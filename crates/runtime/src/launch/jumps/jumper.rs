//! The thread that looks whether the clock may jump, and lets it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use libc::pid_t;
use vtime::image::WAKE;
use vtime::{HostSpan, HostTime, VirtualSpan, VirtualTime};

use super::account::Account;
use super::instant::Instant;
use super::segments::Which;
use super::threads::Threads;
use super::{Outlook, Waits};
use crate::launch::freeze::calls;
use crate::launch::timers::queue;
use domain::{Domain, Keeping, KernelTimers, Pace, Waiter, host_now};

/// A jump takes as long as some tens of microseconds, so there is none over less.
const WORTH: VirtualSpan = VirtualSpan::from_ns(30_000);
/// So long after a jump it looks again and again, and lets go of the processor in between: a program that was
/// woken often takes less, and to sleep takes longer than that.
const AT_ONCE: HostSpan = HostSpan::from_ns(60_000);
/// By so much the clock passes the time of a wait, while somebody computes, before this thread ends it: most end
/// by themselves. A kernel lets ordinary timers be later (`timer_slack_ns`).
const GRACE: VirtualSpan = VirtualSpan::from_ns(30_000);
/// From one look to the next after that, and more the longer nothing has changed.
const LOOK_MIN: HostSpan = HostSpan::from_ns(8_000);
const LOOK_MAX: HostSpan = HostSpan::from_ns(250_000);
/// The same while all sleep and only something from outside can wake them: an idle server must not cost a
/// processor.
const LOOK_IDLE_MAX: HostSpan = HostSpan::from_ns(4_000_000);
/// The same while a clock runs that stands otherwise, and this thread alone wakes whose time has come.
const LOOK_RUNNING: HostSpan = HostSpan::from_ns(50_000);
/// The same where nobody can jump whatever programs do.
const STILL: HostSpan = HostSpan::from_ns(1_000_000);

/// Lets the clock of a domain jump, until it is dropped.
pub struct Jumper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    domain: Arc<Domain>,
    outlooks: Vec<Arc<dyn Outlook>>,
    kernel_timers: KernelTimers,
    is_over: AtomicBool,
}

impl Jumper {
    /// Begins, if that is the pace of the domain. `outlooks` are those parts of the agent that know of
    /// events for which no thread waits.
    ///
    /// # Errors
    /// When there is no thread, or `/proc` does not say what it must.
    pub fn start(
        domain: &Arc<Domain>,
        outlooks: Vec<Arc<dyn Outlook>>,
        kernel_timers: KernelTimers,
    ) -> io::Result<Option<Self>> {
        if domain.pace() == Pace::Real {
            return Ok(None);
        }
        let shared = Arc::new(Shared {
            domain: Arc::clone(domain),
            outlooks,
            kernel_timers,
            is_over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let (sender, begun) = std::sync::mpsc::channel();
        let run = move || {
            let carries = !own.outlooks.is_empty();
            let which = if carries { Which::WithinHosts } else { Which::All };
            let threads = Threads::new(Arc::clone(&own.domain), which);
            let (threads, answer) = match threads {
                Ok(threads) => (Some(threads), Ok(())),
                Err(error) => (None, Err(error)),
            };
            let _ = sender.send(answer);
            if let Some(threads) = threads {
                own.run(threads);
            }
        };
        let thread = thread::Builder::new().name("jumper".into()).spawn(run)?;
        begun.recv().map_err(io::Error::other)??;
        Ok(Some(Self { shared, thread: Some(thread) }))
    }
}

impl Drop for Jumper {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a look has led to.
enum Turn {
    Jumped,
    /// Somebody was woken whose time had come by itself.
    Woke,
    Kept(Keeping),
    /// The clock is held, stands at its horizon or stalls.
    Still,
}

impl Shared {
    fn run(&self, mut threads: Threads) {
        os::realtime::exact_timeouts();
        // Where the clock stands nobody is late. Without descriptors it looks again a while later.
        let runs = self.domain.pace() == Pace::Skip;
        let released = if runs { self.domain.watch().ok() } else { None };
        let mut account = Account::begin(self.domain.now());
        let mut instant = Instant::begin(host_now());
        let mut pause = LOOK_MIN;
        let mut seen = host_now();
        let mut woke = seen;
        while !self.is_over.load(Ordering::Relaxed) {
            let nudges = self.domain.nudges();
            let turn = self.turn(&mut threads);
            let now = self.domain.now();
            if let Turn::Kept(Keeping::KernelTimers) = turn {
                let ran = host_now() - seen;
                self.outlooks.iter().for_each(|outlook| outlook.ran_for_kernels(ran));
            }
            seen = host_now();
            let mut next = None;
            match (self.domain.pace(), &turn) {
                (Pace::Events, _) => self.let_run(&turn, &mut threads, &mut instant),
                (_, Turn::Kept(why)) => {
                    if may_wake_without_a_note(*why) {
                        threads.any_may_have_run();
                    }
                    next = self.serve(&mut threads);
                }
                (_, Turn::Jumped | Turn::Woke | Turn::Still) => {}
            }
            let mut note = |why| account.note(&mut self.domain.kept().lock(), now, why);
            match turn {
                Turn::Jumped => account.jumped(now),
                Turn::Woke => note(Some(Keeping::Program)),
                Turn::Kept(why) => note(Some(why)),
                Turn::Still => note(None),
            }
            pause = match turn {
                Turn::Jumped | Turn::Woke => {
                    woke = seen;
                    LOOK_MIN
                }
                Turn::Kept(Keeping::Program | Keeping::Agent) if seen - woke < AT_ONCE => LOOK_MIN,
                Turn::Kept(why) => {
                    let longest = if why == Keeping::NoDeadline { LOOK_IDLE_MAX } else { LOOK_MAX };
                    (pause + HostSpan::from_ns(pause.as_ns() / 2)).min(longest)
                }
                Turn::Still => {
                    threads.stand_still(host_now());
                    STILL
                }
            };
            pause = if instant.has_overrun() { pause.min(LOOK_RUNNING) } else { pause };
            // What other hosts do changes that, and the network says so.
            if let Turn::Kept(Keeping::Hosts | Keeping::NoDeadline) = turn
                && self.domain.has_hosts()
            {
                self.domain.wait_for_nudge(nudges, LOOK_MAX);
                continue;
            }
            if host_now() - woke < AT_ONCE {
                thread::yield_now();
            } else {
                // Whose time comes soon after a hold is not to wait for the next look.
                if let (Turn::Still, Some(released)) = (&turn, &released) {
                    let _ = released.wait(Some(host_now() + pause));
                    if !self.domain.runs() {
                        continue;
                    }
                    (next, pause) = (self.serve(&mut threads), LOOK_MAX);
                }
                let until = host_now() + pause;
                let until = next.map_or(until, |next| until.min(next));
                os::realtime::sleep_until(until.as_ns());
            }
        }
    }

    /// While somebody keeps a clock that runs from jumping, the times of others come: their own waits on the host
    /// last for too long since the last jump, so this thread wakes them. Returns when the next one's time comes.
    fn serve(&self, threads: &mut Threads) -> Option<HostTime> {
        let (domain, now) = (&self.domain, self.domain.now());
        let (first, _) = threads.first_awaited();
        if first.is_some_and(|first| first <= now) {
            threads.rouse_due(now);
            wake(threads, Domain::overdue(threads.due(now - GRACE), now - GRACE), false);
        }
        let due = domain.ring_due(now);
        let (first, _) = threads.first_awaited();
        let first = first.map(|first| if first + GRACE > now { first } else { now } + GRACE);
        domain.host_time_of(first.into_iter().chain(due).min()?)
    }

    /// Lets a clock run that stands otherwise, while it could not go on in jumps alone.
    fn let_run(&self, turn: &Turn, threads: &mut Threads, instant: &mut Instant) {
        let now = host_now();
        let runs = match turn {
            Turn::Still => return,
            // Their timers go on whoever is awake.
            Turn::Kept(Keeping::Program | Keeping::Agent)
                if instant.runs_for_kernels && self.are_owed(threads) =>
            {
                true
            }
            Turn::Jumped | Turn::Woke => false,
            Turn::Kept(Keeping::NoDeadline | Keeping::Hosts) => false,
            Turn::Kept(Keeping::Program | Keeping::Agent) if instant.has_overrun() => true,
            Turn::Kept(Keeping::Agent) => false,
            Turn::Kept(Keeping::Program) => {
                if let Some(thread) = instant.look(now, threads.spent()) {
                    self.domain.note_overrun(threads.name(thread));
                }
                instant.has_overrun()
            }
            Turn::Kept(
                Keeping::KernelTimers
                | Keeping::Stopped
                | Keeping::Untold
                | Keeping::Unseen
                | Keeping::Descriptors,
            ) => true,
        };
        if !matches!(turn, Turn::Kept(Keeping::Program | Keeping::Agent)) {
            *instant = Instant::begin(now);
        }
        instant.runs_for_kernels = match turn {
            Turn::Kept(Keeping::KernelTimers) => true,
            Turn::Kept(Keeping::Program | Keeping::Agent) => instant.runs_for_kernels && runs,
            _ => false,
        };
        if self.domain.stands() == runs {
            self.domain.let_stand(!runs);
        }
        if runs {
            let now = self.domain.now();
            wake(threads, Domain::overdue(threads.programs(), now), false);
            threads.forget_due(now);
            threads.any_may_have_run();
        }
    }

    /// Whether a kernel may still have something to send by itself; also where somebody is about to look.
    fn are_owed(&self, threads: &mut Threads) -> bool {
        let mut waits = self.outlooks.iter().map(|outlook| outlook.look());
        waits.any(|waits| waits.is_none_or(|waits| waits.for_kernels)) || threads.are_owed()
    }

    /// Lets other hosts know that all have slept as they were seen, and until when.
    fn tell_sleep(&self, seen: &[Waits], until: VirtualTime, is_owed: bool) {
        for (outlook, waits) in self.outlooks.iter().zip(seen) {
            outlook.all_sleep(waits, until, is_owed);
        }
    }

    /// What each part waits for; `None` if one has something to do.
    fn look_out(&self) -> Option<Vec<Waits>> {
        self.outlooks.iter().map(|outlook| outlook.look()).collect()
    }

    fn turn(&self, threads: &mut Threads) -> Turn {
        let domain = &self.domain;
        if !domain.runs() {
            return Turn::Still;
        }
        if let Err(why) = threads.sleep() {
            return Turn::Kept(why);
        }
        let Some(outlooks) = self.look_out().filter(|_| domain.works().are_done()) else {
            return Turn::Kept(Keeping::Agent);
        };
        if let Err(why) = threads.are_all() {
            return Turn::Kept(why);
        }
        let (first, untold) = threads.first_awaited();
        let due = domain.next_due();
        threads.agent_waits_until(due);
        // Before the second look, which sees whom such a timer has woken meanwhile.
        let owed = outlooks.iter().any(|waits| waits.for_kernels) || threads.are_owed();
        if !threads.have_slept() {
            return Turn::Kept(Keeping::Program);
        }
        if self.look_out().as_ref() != Some(&outlooks) {
            return Turn::Kept(Keeping::Agent);
        }
        threads.sweep();
        if threads.keep_untold(untold) {
            return Turn::Kept(Keeping::Untold);
        }
        let now = domain.now();
        match next(first, due, now) {
            Next::Overdue => {
                threads.rouse_due(now);
                wake_due(threads, now);
                Turn::Woke
            }
            Next::Agent => Turn::Kept(Keeping::Agent),
            // All hosts are to stand there.
            _ if domain.runs_to().is_some_and(|to| to > now && to <= first_of(first, due)) => {
                let to = domain.runs_to().unwrap_or(now);
                domain.jump(to).map_or(Turn::Kept(Keeping::Hosts), |_| Turn::Jumped)
            }
            Next::None => {
                self.tell_sleep(&outlooks, VirtualTime::MAX, owed);
                Turn::Kept(Keeping::NoDeadline)
            }
            Next::At(when) if owed && self.kernel_timers == KernelTimers::Wait => {
                // What the kernel waits for may be on its way from another host.
                self.tell_sleep(&outlooks, when, true);
                let comes = outlooks.iter().any(|waits| waits.others_may_send);
                Turn::Kept(if comes { Keeping::Hosts } else { Keeping::KernelTimers })
            }
            Next::At(when) if when - now < WORTH && domain.pace() == Pace::Skip => {
                Turn::Kept(Keeping::Program)
            }
            Next::At(when) if when > domain.granted() => {
                self.tell_sleep(&outlooks, when, false);
                Turn::Kept(Keeping::Hosts)
            }
            Next::At(when) => match domain.jump(when) {
                None => Turn::Still,
                Some(far) => {
                    if owed {
                        domain.note_late_kernels(far);
                    }
                    // Where the clock stands, what the agent does at this moment comes before what programs do,
                    // as timers of a kernel that were set before the waits: these are overdue when it is done.
                    let now = domain.now();
                    self.outlooks.iter().for_each(|outlook| outlook.jumped(now));
                    // Whom the jump wakes is noted.
                    threads.agent_is_told(domain.next_due_after(now));
                    if domain.pace() == Pace::Skip || due.is_none_or(|due| due > now) {
                        wake_due(threads, now);
                    }
                    Turn::Jumped
                }
            },
        }
    }
}

/// The first of these times; the last there is if there is none.
fn first_of(first: Option<VirtualTime>, due: Option<VirtualTime>) -> VirtualTime {
    first.into_iter().chain(due).min().unwrap_or(VirtualTime::MAX)
}

/// What comes next, where all sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The wait of a thread is over, and it has not noticed.
    Overdue,
    /// The agent has something to do.
    Agent,
    At(VirtualTime),
    None,
}

fn next(first: Option<VirtualTime>, due: Option<VirtualTime>, now: VirtualTime) -> Next {
    match (first, due) {
        (Some(first), _) if first <= now => Next::Overdue,
        (_, Some(due)) if due <= now => Next::Agent,
        (Some(first), Some(due)) => Next::At(first.min(due)),
        (Some(when), None) | (None, Some(when)) => Next::At(when),
        (None, None) => Next::None,
    }
}

/// Whether parts of hosts may wake programs of which the kernel then notes nothing, while this keeps the clock.
const fn may_wake_without_a_note(why: Keeping) -> bool {
    match why {
        Keeping::Program | Keeping::Agent => false,
        Keeping::KernelTimers
        | Keeping::NoDeadline
        | Keeping::Hosts
        | Keeping::Stopped
        | Keeping::Untold
        | Keeping::Unseen
        | Keeping::Descriptors => true,
    }
}

/// Wakes those whose time has come, where all sleep.
fn wake_due(threads: &mut Threads, now: VirtualTime) {
    wake(threads, Domain::overdue(threads.due(now), now), true);
    threads.forget_due(now);
}

/// Wakes these, whose time has come. A thread that is not known is not there if all are known, and else can be
/// woken if it sleeps on a word.
fn wake(threads: &mut Threads, overdue: Vec<Waiter>, are_all_known: bool) {
    for waiter in overdue {
        let found = threads.thread(waiter.program.number, waiter.thread);
        match found {
            Some((_, thread))
                if !waiter.sleeps() && !threads.is_to_be_ended(thread, waiter.deadline) => {}
            Some((process, thread)) => {
                // A handler may have jumped out of the wait, or the thread may be in one.
                let is_elsewhere =
                    || calls::call_of(thread).is_some_and(|call| !calls::is_by_image(call));
                if waiter.wake() && (is_elsewhere() || !end_call(process, thread)) {
                    waiter.is_not_signalled();
                }
            }
            None if are_all_known => waiter.is_gone(),
            None if waiter.sleeps() => _ = waiter.wake(),
            None => {}
        }
        threads.wakes(waiter.program.number, found.map(|(_, thread)| thread));
    }
}

/// Ends the native call in which a thread waits. Returns whether the signal is sent.
fn end_call(process: pid_t, thread: pid_t) -> bool {
    // SAFETY: a structure of integers.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (libc::SIGSYS, WAKE);
    // Fails if it is gone.
    queue(process, thread, libc::SIGSYS, &info).is_ok()
}
