//! What a thread tells the agent of its waits where the clock jumps ([`vtime::waits`]), and what it does
//! when the agent wakes it.
//!
//! A sleep ends at the word of its place. A native call ends by a signal: the kernel has the call
//! answer `EINTR`, or is about to make it, for the first time or again; in all of these cases it answers
//! as if a freeze had cut it short, and the wait looks at the clock. No other call may be ended by that
//! signal: so a wait is not over, and does not begin, while one is on its way.

use vtime::image::WAKE;
use vtime::waits::{CALLS, SIGNALLED, SLEEPS, Standing, Wait};
use vtime::{HostSpan, ProgramTime};

use crate::arch::{self, SignalFrame, nr};
use crate::clock;
use crate::pages;
use crate::signal::SignalInfo;
use crate::word::{Word, wait_on};

/// Longest wait for a signal that is on its way: the agent may have ended before it sent it.
const ON_ITS_WAY_MAX: HostSpan = HostSpan::from_ms(1000);

/// The calls in which the image waits for programs.
const THAT_WAIT: [i32; 13] = [
    nr::PPOLL,
    nr::PSELECT6,
    nr::EPOLL_PWAIT,
    nr::EPOLL_PWAIT2,
    nr::FUTEX,
    nr::FUTEX_WAITV,
    nr::FUTEX_WAIT,
    nr::SEMTIMEDOP,
    nr::MQ_TIMEDSEND,
    nr::MQ_TIMEDRECEIVE,
    nr::RT_SIGTIMEDWAIT,
    nr::IO_GETEVENTS,
    nr::IO_PGETEVENTS,
];

/// A wait of this thread, from its begin to its end; nothing where the clock does not jump.
pub(crate) enum Told {
    /// The clock does not jump.
    Nothing,
    /// No place was free.
    Untold,
    In(&'static Wait, Standing),
}

impl Told {
    #[inline(never)]
    pub(crate) fn new() -> Self {
        if !pages::page().jumps() {
            return Self::Nothing;
        }
        let Some(wait) = place() else { return Self::Untold };
        // A handler may wait while the wait that it has interrupted is not over.
        let before = wait.stands();
        settle(wait);
        Self::In(wait, before)
    }

    /// To be told before each look at the clock: it then sleeps on [`Self::word`].
    pub(crate) fn sleeps(&mut self, deadline: ProgramTime) {
        self.begin(deadline, SLEEPS);
    }

    /// Likewise: it then makes a native call.
    pub(crate) fn calls(&mut self, deadline: ProgramTime) {
        self.begin(deadline, CALLS);
    }

    #[inline(never)]
    fn begin(&mut self, deadline: ProgramTime, how: u32) {
        match self {
            Self::Nothing => return,
            Self::Untold => *self = Self::new(),
            // A handler has forked, and this is the child.
            Self::In(wait, _) if wait.thread() != number() => {
                *self = place().map_or(Self::Untold, |wait| Self::In(wait, Standing::AWAKE));
            }
            Self::In(..) => {}
        }
        if let Self::In(wait, _) = self {
            settle(wait);
            wait.begin(deadline, how);
        }
    }

    /// Whether the agent does not know of this wait though it should.
    pub(crate) const fn is_untold(&self) -> bool {
        matches!(self, Self::Untold)
    }

    pub(crate) fn word(&self) -> Option<Word> {
        let Self::In(wait, _) = self else { return None };
        Some(Word(wait.word(), SLEEPS))
    }
}

impl Drop for Told {
    #[inline(never)]
    fn drop(&mut self) {
        if let Self::In(wait, before) = self
            && wait.thread() == number()
        {
            settle(wait);
            wait.go_on(before);
        }
    }
}

/// From now on the agent sends no signal; waits for the one that is on its way.
#[inline(never)]
fn settle(wait: &'static Wait) {
    if !wait.retract() {
        return;
    }
    let until = clock::host_now() + ON_ITS_WAY_MAX;
    while wait.is_signalled() && clock::host_now() < until {
        wait_on(Word(wait.word(), SIGNALLED), until);
    }
    wait.is_not_signalled();
}

/// This thread as its process numbers it.
fn number() -> u32 {
    // SAFETY: takes nothing.
    unsafe { arch::syscall(nr::GETTID, [0; 6]) as u32 }
}

#[inline(never)]
fn place() -> Option<&'static Wait> {
    pages::waits().of(number())
}

/// The agent wakes this thread, which may be in a native call of the image: that answers `result`.
pub(crate) fn woken(frame: &mut SignalFrame, result: isize) {
    if signal_has_come() {
        frame.registers.cut_call_short(&THAT_WAIT, result);
    }
}

/// The signal of the agent has come. Returns whether it was on its way.
pub(crate) fn signal_has_come() -> bool {
    pages::page().jumps() && place().is_some_and(Wait::signal_has_come)
}

/// Whether a SIGSYS is the one by which the agent wakes this thread. Where the program may have no more
/// signals queued (RLIMIT_SIGPENDING), the kernel delivers it without what was sent along. sigqueue(3)
pub(crate) fn is_wake(info: &SignalInfo) -> bool {
    /// `si_code` of a signal of which the kernel knows no more, and what stands there for who sent it.
    const SI_USER: i32 = 0;
    const NOBODY: u64 = 0;
    let is_signalled = || pages::page().jumps() && place().is_some_and(Wait::is_signalled);
    info.code == WAKE || info.code == SI_USER && info.address == NOBODY && is_signalled()
}
