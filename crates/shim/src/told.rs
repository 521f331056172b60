//! What a thread tells the agent of its waits where the clock jumps ([`vtime::waits`]), and what it does
//! when the agent wakes it.
//!
//! A sleep ends at the word of its place. A native call ends by a signal: the kernel has the call
//! answer `EINTR`, or is about to make it, for the first time or again; in all of these cases it answers
//! as if a freeze had cut it short, and the wait looks at the clock.

use core::sync::atomic::AtomicU32;

use vtime::ProgramTime;
use vtime::waits::{CALLS, SLEEPS, Standing, Wait};

use crate::arch::{self, SignalFrame, nr};
use crate::pages;

/// What a call of ours answers that a freeze has cut short: `ENOSYS`, of
/// [`vtime::image::FROZEN_CALL`]. It has waited in vain.
pub(crate) const FROZEN: isize = -38;

/// A futex word of a page of ours, and the value that it had.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) &'static AtomicU32, pub(crate) u32);

/// A wait of this thread, from its begin to its end; nothing where the clock does not jump.
pub(crate) struct Told(Option<(&'static Wait, Standing)>);

impl Told {
    pub(crate) fn new() -> Self {
        // A handler may wait while the wait that it has interrupted is not over.
        Self(place().map(|wait| (wait, wait.stands())))
    }

    /// To be told before each look at the clock: it then sleeps on [`Self::word`].
    pub(crate) fn sleeps(&self, deadline: ProgramTime) {
        if let Some((wait, _)) = &self.0 {
            wait.begin(deadline, SLEEPS);
        }
    }

    /// Likewise: it then makes a native call.
    pub(crate) fn calls(&self, deadline: ProgramTime) {
        if let Some((wait, _)) = &self.0 {
            wait.begin(deadline, CALLS);
        }
    }

    pub(crate) fn word(&self) -> Option<Word> {
        self.0.as_ref().map(|(wait, _)| Word(wait.word(), SLEEPS))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some((wait, before)) = &self.0 {
            wait.go_on(before);
        }
    }
}

fn place() -> Option<&'static Wait> {
    if !pages::page().jumps() {
        return None;
    }
    // SAFETY: takes nothing.
    let thread = unsafe { arch::syscall(nr::GETTID, [0; 6]) };
    pages::waits().of(thread as u32)
}

/// The agent has woken this thread, which may be in a native call of the image.
pub(crate) fn woken(frame: &mut SignalFrame) {
    if place().is_some_and(Wait::was_woken) {
        frame.registers.cut_call_short(FROZEN);
    }
}
