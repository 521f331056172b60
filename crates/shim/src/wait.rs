//! Waiting for a virtual time on the host.
//!
//! A wait of a program has a virtual deadline and something native that may end it sooner. While
//! the clock runs, the native call gets the host time at which the clock will be there if
//! nothing changes. If it times out too early, the clock was held or slowed meanwhile, and the
//! wait goes on: so it is never early, and late only as the native call is. A rate that grows
//! would make it late; the agent then cuts the native call short before time goes on.
//!
//! While the clock is stopped no deadline can pass, and none sooner than at the present factors
//! from now. So a wait whose deadline is far is a native call until then: it costs nothing
//! meanwhile, and its release need not wake it. One whose deadline is near sleeps on the
//! `resumed` word of the clock page, which wakes it at the moment the clock runs again, and looks
//! at intervals whether something native has happened; looking late costs host time but no
//! virtual time. Where many look, each is late, and from then on looks less often: so a crowd does
//! not keep the processors from the process that is to release it.
//!
//! A clock that jumps is there before the host time that was worked out. So each wait is told to the
//! agent first ([`crate::told`]), which wakes those whose time has come. One that stands and moves by
//! jumps alone leads nobody there otherwise, so nobody looks at it in between.

use core::marker::PhantomData;

use vtime::page::Epoch;
use vtime::{HostSpan, HostTime, ProgramTime};

use crate::clock;
use crate::pages;
use crate::told::Told;
use crate::word::{FROZEN, Word, wait_on, wait_restartably_on};

/// Longest native wait. The agent reports a rate that grows, but cannot reach a thread that
/// somebody else traces: that one notices after this at the latest.
const SLICE_NS_MAX: i64 = 5_000_000_000;
/// First interval at which a thread looks for native events while the clock is stopped, and the
/// longest where looks come on time.
const LOOK_NS_MIN: i64 = 200_000;
const LOOK_NS_MAX: i64 = 5_000_000;
/// Longest interval in a crowd: a program that is asked to end while the clock is stopped has half a
/// second.
const LOOK_NS_CROWDED: i64 = 200_000_000;
/// So many times as long as the last look was late is the next interval: then looks take some
/// hundredths of a processor, however many threads look.
const PATIENCE: i64 = 50;

/// Longest native wait of which the agent does not know: it keeps the clock from jumping, so it
/// tries again to tell.
const UNTOLD_NS_MAX: i64 = 200_000_000;

/// Longest native wait while a clock stands that moves by jumps.
const STANDS_NS_MAX: i64 = 1_000_000_000;

/// A host time that never comes. A wait without any would not end at a signal handler with
/// SA_RESTART, but a sleep does.
const FOR_EVER: HostTime = HostTime::from_ns(i64::MAX);

pub(crate) const EINTR: isize = -4;
pub(crate) const EAGAIN: isize = -11;
pub(crate) const EINVAL: isize = -22;
pub(crate) const ETIMEDOUT: isize = -110;
/// Freezes in a row that may cut a call short that waits for no time.
const IN_NO_TIME_MAX: u32 = 100;

#[derive(Clone, Copy)]
pub(crate) struct Deadline(pub(crate) ProgramTime);

impl Deadline {
    pub(crate) fn after_ns(ns: i64) -> Self {
        Self(ProgramTime::from_ns(clock::now().as_ns().saturating_add(ns)))
    }

    /// When a clock of the program shows `ns`.
    pub(crate) fn at_ns(epoch: Epoch, ns: i64) -> Self {
        Self(ProgramTime::from_ns(ns.saturating_sub(clock::epoch_ns(epoch))))
    }

    pub(crate) fn has_passed(self) -> bool {
        self.left_ns() == 0
    }

    /// Nanoseconds of the program left, 0 if it has passed.
    #[inline(never)]
    pub(crate) fn left_ns(self) -> i64 {
        (self.0 - clock::now()).as_ns().max(0)
    }
}

/// What the host can do now towards a deadline.
enum Step {
    /// The deadline has passed, by so many nanoseconds of the program.
    Passed(i64),
    /// Wait until this host time, or until this word has another value.
    Until(HostTime, Word),
    Still(Still),
}

struct Still {
    /// Nobody's deadline passes before this host time, so that it makes no difference until then
    /// whether the clock is released.
    not_before: HostTime,
    /// Changes with the factors.
    dilated: Word,
    resumed: Word,
    /// A stall of the host keeps it from going on. Its end changes the word above too, unless it
    /// comes in this very moment: so it must not be slept on for ever.
    stalled: bool,
}

#[inline(never)]
fn step(deadline: Deadline) -> Step {
    let (snapshot, page) = clock::snapshot();
    let now = clock::host_now();
    let late_ns = (clock::seen(&snapshot, now) - deadline.0).as_ns();
    if late_ns >= 0 {
        return Step::Passed(late_ns);
    }
    let dilated = Word(page.dilated(), snapshot.clock.dilated);
    let stalled = match snapshot.reaches(deadline.0) {
        Some(host) if snapshot.clock.limit < host && host <= now => true,
        Some(host) => return Step::Until(host, dilated),
        // Beyond the horizon the clock may still be running, but it stops before the deadline.
        None => false,
    };
    // Where the clock moves by jumps the agent wakes whoever it leads to his time, and nobody else. It may
    // not know a thread when the clock runs for a time.
    let not_before = match page.stands() {
        true => now + HostSpan::from_ns(STANDS_NS_MAX),
        false => snapshot.not_before(deadline.0, now, pages::own().factors(page)),
    };
    let resumed = Word(page.resumed(), snapshot.clock.resumed);
    Step::Still(Still { not_before, dilated, resumed, stalled })
}

struct Pace {
    /// From one look to the next while the clock is stopped.
    interval_ns: i64,
    /// When the present turn ends at the latest.
    due: HostTime,
    turn: Turn,
    has_waited: bool,
}

#[derive(Clone, Copy)]
enum Turn {
    /// The deadline has passed: a last look.
    Last,
    /// A wait on the host; the clock says why it is over.
    Wait,
    /// The same while the clock is stopped.
    WaitStill,
    /// A look, and a sleep on this word.
    Look(Word),
}

impl Pace {
    const fn new() -> Self {
        Self { interval_ns: LOOK_NS_MIN, due: FOR_EVER, turn: Turn::Last, has_waited: false }
    }

    /// Begins a turn. Returns how long a native call may last in it.
    #[inline(never)]
    fn begin(&mut self, deadline: Deadline) -> i64 {
        let step = step(deadline);
        let has_waited = core::mem::replace(&mut self.has_waited, true);
        let now = clock::host_now();
        (self.turn, self.due) = match step {
            Step::Passed(late_ns) => {
                note(late_ns, has_waited);
                (Turn::Last, now)
            }
            Step::Until(host, _) => (Turn::Wait, host),
            Step::Still(still) if (still.not_before - now).as_ns() >= self.interval_ns => {
                (Turn::WaitStill, still.not_before)
            }
            Step::Still(still) => {
                self.due = now + HostSpan::from_ns(self.interval_ns);
                self.turn = Turn::Look(still.resumed);
                return 0;
            }
        };
        (self.due - now).as_ns().clamp(0, SLICE_NS_MAX)
    }

    /// Ends a turn in which nothing native has happened. Answers [`EINTR`] if a handler ends the
    /// wait.
    #[inline(never)]
    fn end(&mut self, after: AfterHandler) -> isize {
        let ended = match self.turn {
            Turn::Last | Turn::Wait => return 0,
            Turn::WaitStill => 0,
            Turn::Look(resumed) if after == AfterHandler::MayGoOn => {
                wait_restartably_on(resumed, self.due)
            }
            Turn::Look(resumed) => wait_on(resumed, self.due),
        };
        self.has_looked();
        if ended == EINTR && after != AfterHandler::GoesOn { EINTR } else { 0 }
    }

    /// A look has come in vain, or late. They never become more frequent again: a crowd that looks
    /// in turn would not see itself.
    fn has_looked(&mut self) {
        let late_ns = (clock::host_now() - self.due).as_ns().clamp(0, LOOK_NS_CROWDED);
        let patient_ns = (late_ns * PATIENCE).min(LOOK_NS_CROWDED);
        let doubled_ns = (self.interval_ns * 2).min(LOOK_NS_MAX);
        self.interval_ns = self.interval_ns.max(doubled_ns).max(patient_ns);
    }
}

/// Sleeps until the deadline. Returns 0, or [`EINTR`] after a signal handler has run.
pub(crate) fn sleep(deadline: Deadline) -> isize {
    let mut pace = Pace::new();
    let mut told = Told::new();
    loop {
        told.sleeps(deadline.0);
        let ended = match step(deadline) {
            Step::Passed(late_ns) => {
                note(late_ns, pace.has_waited);
                return 0;
            }
            Step::Until(host, dilated) => match told.word() {
                Some(word) => wait_on(word, host),
                None if told.is_untold() => wait_on(dilated, host.min(soon())),
                None => wait_on(dilated, host),
            },
            Step::Still(still) => {
                let now = clock::host_now();
                let far = (still.not_before - now).as_ns() >= LOOK_NS_CROWDED;
                if pages::page().stands() {
                    match told.word() {
                        Some(word) => wait_on(word, FOR_EVER),
                        None => wait_on(still.resumed, soon()),
                    }
                } else if far && told.word().is_none() {
                    wait_on(still.dilated, still.not_before)
                } else if still.stalled {
                    pace.due = now + HostSpan::from_ns(pace.interval_ns);
                    let ended = wait_on(still.resumed, pace.due);
                    pace.has_looked();
                    ended
                } else {
                    wait_on(still.resumed, FOR_EVER)
                }
            }
        };
        // As in the kernel, a sleep whose time has come is over, though a handler has run then.
        if ended == EINTR && !deadline.has_passed() {
            return EINTR;
        }
        pace.has_waited = true;
    }
}

/// Counts how late a wait ended. A wait for a time that is over already is none.
fn note(late_ns: i64, has_waited: bool) {
    if has_waited {
        pages::own().late_waits().note(late_ns);
    }
}

/// What a call does natively after a signal handler has run while it waited, see signal(7).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterHandler {
    /// It answers [`EINTR`], always.
    Ends,
    /// It goes on if the handler was installed with SA_RESTART.
    MayGoOn,
    /// It goes on, always.
    GoesOn,
}

/// Makes a native call that may wait, and that handlers end, until it has something to say.
pub(crate) fn until(deadline: Deadline, call: impl FnMut(i64) -> Option<isize>) -> Option<isize> {
    until_or_handler(deadline, AfterHandler::Ends, call)
}

/// Makes a native call that may wait, again and again until it has something to say or the
/// deadline has passed. `call` gets the longest host time to wait (relative, in nanoseconds) and
/// answers `None` if it waited that long in vain, or [`FROZEN`]. Returns `None` if the deadline has
/// passed.
pub(crate) fn until_or_handler(
    deadline: Deadline,
    after: AfterHandler,
    mut call: impl FnMut(i64) -> Option<isize>,
) -> Option<isize> {
    until_made(deadline, after, Call::of(&mut call))
}

/// A call, by the address of what makes it, so that the loop around it is in the image only once.
struct Call<'c> {
    make: unsafe fn(*mut (), i64) -> Option<isize>,
    of: *mut (),
    lives: PhantomData<&'c mut ()>,
}

impl<'c> Call<'c> {
    fn of<F: FnMut(i64) -> Option<isize>>(call: &'c mut F) -> Self {
        /// # Safety
        /// `call` must be the address of an `F` that nobody else uses.
        unsafe fn make<F: FnMut(i64) -> Option<isize>>(
            call: *mut (),
            longest_ns: i64,
        ) -> Option<isize> {
            // SAFETY: as the caller vouches.
            (unsafe { &mut *call.cast::<F>() })(longest_ns)
        }
        Self { make: make::<F>, of: (&raw mut *call).cast(), lives: PhantomData }
    }

    fn make(&mut self, longest_ns: i64) -> Option<isize> {
        // SAFETY: made for what is there, which is borrowed for as long as this lives.
        unsafe { (self.make)(self.of, longest_ns) }
    }
}

#[inline(never)]
fn until_made(deadline: Deadline, after: AfterHandler, mut call: Call<'_>) -> Option<isize> {
    let mut pace = Pace::new();
    let mut told = Told::new();
    let mut cut_short = false;
    let mut in_no_time = 0;
    loop {
        told.calls(deadline.0);
        let longest_ns = if cut_short { 0 } else { pace.begin(deadline) };
        let longest_ns = if told.is_untold() { longest_ns.min(UNTOLD_NS_MAX) } else { longest_ns };
        match call.make(longest_ns) {
            // Calls that wait for no time may enter the kernel's wait too (semtimedop(2)) and be cut
            // short there; one that the kernel does not have always says so.
            Some(FROZEN) if longest_ns > 0 || in_no_time < IN_NO_TIME_MAX => {
                in_no_time = if longest_ns > 0 { 0 } else { in_no_time + 1 };
                cut_short = true;
                continue;
            }
            Some(result) => return Some(result),
            None if cut_short => {
                cut_short = false;
                continue;
            }
            None => {}
        }
        if let Turn::Last = pace.turn {
            return None;
        }
        if pace.end(after) == EINTR {
            return Some(EINTR);
        }
    }
}

/// When to try again to tell of a wait.
fn soon() -> HostTime {
    clock::host_now() + HostSpan::from_ns(UNTOLD_NS_MAX)
}
