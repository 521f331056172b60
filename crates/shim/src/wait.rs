//! Waiting for a virtual time on the host.
//!
//! A wait of a program has a virtual deadline and something native that may end it sooner. While
//! the clock runs, the native call gets the host time at which the clock will be there if
//! nothing changes. If it times out too early, the clock was held or slowed meanwhile, and the
//! wait goes on: so it is never early, and late only as the native call is. While the clock
//! stands still no deadline can pass, so the thread sleeps on the `resumed` word of the clock
//! page, which wakes it at the moment the clock runs again, and only looks at intervals whether
//! something native has happened; looking late costs host time but no virtual time.
//!
//! A change of rate must reach a native wait in progress, so none lasts longer than
//! [`SLICE_NS_MAX`].

use core::sync::atomic::AtomicU32;

use vtime::page::Epoch;
use vtime::time::NS_PER_S;
use vtime::{HostSpan, HostTime, ProgramTime};

use crate::arch::{self, nr};
use crate::clock::{self, Timespec};

/// Longest native wait; a rate that changes meanwhile is noticed after this at the latest.
const SLICE_NS_MAX: i64 = 50_000_000;
/// First and longest interval at which a thread looks for native events while the clock stands.
const LOOK_NS_MIN: i64 = 200_000;
const LOOK_NS_MAX: i64 = 5_000_000;

/// A host time that never comes. A wait without any would not end at a signal handler with
/// SA_RESTART, but a sleep does.
const FOR_EVER: HostTime = HostTime::from_ns(i64::MAX);

pub(crate) const EINTR: isize = -4;
pub(crate) const EAGAIN: isize = -11;
pub(crate) const EINVAL: isize = -22;
pub(crate) const ETIMEDOUT: isize = -110;
/// What a call of ours answers that a freeze has cut short: `ENOSYS`, of
/// [`vtime::image::FROZEN_CALL`]. It has waited in vain.
pub(crate) const FROZEN: isize = -38;

const FUTEX_WAIT_BITSET: usize = 9;
const FUTEX_BITSET_MATCH_ANY: usize = 0xffff_ffff;

/// When a wait of a program ends.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(ProgramTime);

impl Deadline {
    /// At this time of the program.
    pub(crate) const fn at(when: ProgramTime) -> Self {
        Self(when)
    }

    /// `ns` from now.
    pub(crate) fn after_ns(ns: i64) -> Self {
        Self(ProgramTime::from_ns(clock::now().as_ns().saturating_add(ns)))
    }

    /// When a clock of the program shows `ns`.
    pub(crate) fn at_ns(epoch: Epoch, ns: i64) -> Self {
        Self(ProgramTime::from_ns(ns.saturating_sub(clock::page().epoch(epoch))))
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
    /// The clock stands still, with this value of its `resumed` word.
    Still(Word),
}

/// A futex word of a clock page, and the value that it had.
#[derive(Clone, Copy)]
struct Word(&'static AtomicU32, u32);

#[inline(never)]
fn step(deadline: Deadline) -> Step {
    let (snapshot, page) = clock::snapshot();
    let now = clock::host_now();
    let late_ns = (snapshot.at(now) - deadline.0).as_ns();
    if late_ns >= 0 {
        return Step::Passed(late_ns);
    }
    match snapshot.reaches(deadline.0) {
        // A stall of the host keeps the clock from going on; its end wakes who sleeps on this.
        Some(host) if snapshot.clock.limit < host && host <= now => {
            let look = now + HostSpan::from_ns(LOOK_NS_MIN);
            Step::Until(look, Word(page.resumed(), snapshot.clock.resumed))
        }
        Some(host) => Step::Until(host, Word(page.dilated(), snapshot.clock.dilated)),
        // Beyond the horizon the clock may still be running, but it stops before the deadline.
        None => Step::Still(Word(page.resumed(), snapshot.clock.resumed)),
    }
}

/// Sleeps until the deadline. Answers 0, or [`EINTR`] after a signal handler has run.
pub(crate) fn sleep(deadline: Deadline) -> isize {
    let mut has_waited = false;
    loop {
        let (word, until) = match step(deadline) {
            Step::Passed(late_ns) => {
                note(late_ns, has_waited);
                return 0;
            }
            Step::Until(host, dilated) => (dilated, host),
            Step::Still(resumed) => (resumed, FOR_EVER),
        };
        if wait_on(word, until) == EINTR {
            return EINTR;
        }
        has_waited = true;
    }
}

/// Counts how late a wait ended. Whoever asks for a time that is over already has not waited.
fn note(late_ns: i64, has_waited: bool) {
    if has_waited {
        clock::own().late_waits().note(late_ns);
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
/// answers `None` if it waited that long in vain. Answers `None` if the deadline has passed.
pub(crate) fn until_or_handler(
    deadline: Deadline,
    after: AfterHandler,
    mut call: impl FnMut(i64) -> Option<isize>,
) -> Option<isize> {
    let mut look_ns = LOOK_NS_MIN;
    let mut has_waited = false;
    loop {
        match step(deadline) {
            Step::Passed(late_ns) => {
                note(late_ns, has_waited);
                return call(0);
            }
            Step::Until(host, _) => {
                let left = (host - clock::host_now()).as_ns();
                if let Some(result) = call(left.clamp(0, SLICE_NS_MAX)) {
                    return Some(result);
                }
            }
            Step::Still(resumed) => {
                if let Some(result) = call(0) {
                    return Some(result);
                }
                let look = clock::host_now() + HostSpan::from_ns(look_ns);
                let ended = match after {
                    AfterHandler::MayGoOn => wait_restartably_on(resumed, look),
                    _ => wait_on(resumed, look),
                };
                if ended == EINTR && after != AfterHandler::GoesOn {
                    return Some(EINTR);
                }
                look_ns = (look_ns * 2).min(LOOK_NS_MAX);
            }
        }
        has_waited = true;
    }
}

/// Waits on a futex word of the clock page until host time `until`.
fn wait_on(Word(word, value): Word, until: HostTime) -> isize {
    let until =
        Timespec { seconds: until.as_ns() / NS_PER_S, nanoseconds: until.as_ns() % NS_PER_S };
    let until = &raw const until as usize;
    let word = word.as_ptr() as usize;
    let args = [word, FUTEX_WAIT_BITSET, value as usize, until, 0, FUTEX_BITSET_MATCH_ANY];
    // SAFETY: the word lies in the clock page; the kernel only reads it.
    unsafe { arch::syscall(nr::FUTEX, args) }
}

/// As [`wait_on`], but handlers with SA_RESTART do not end it: so the kernel does it for the newer
/// call, and for it only.
fn wait_restartably_on(word: Word, until: HostTime) -> isize {
    const ENOSYS: isize = -38;
    const FUTEX_32: u32 = 2;
    let awaited = Awaited {
        value: u64::from(word.1),
        address: word.0.as_ptr() as u64,
        flags: FUTEX_32,
        reserved: 0,
    };
    let time =
        Timespec { seconds: until.as_ns() / NS_PER_S, nanoseconds: until.as_ns() % NS_PER_S };
    let time = &raw const time as usize;
    let args = [&raw const awaited as usize, 1, 0, time, clock::CLOCK_MONOTONIC, 0];
    // SAFETY: the word lies in the clock page; the kernel only reads it.
    match unsafe { arch::syscall(nr::FUTEX_WAITV, args) } {
        // Linux before 5.16.
        ENOSYS => wait_on(word, until),
        result => result,
    }
}

/// `struct futex_waitv`
#[repr(C)]
struct Awaited {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}
