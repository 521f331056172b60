//! Jumps over time in which nobody can do anything: when the clock may, and how far.
//!
//! A thread of the agent looks again and again whether all threads of the domain sleep, and all
//! of the agent's own. It looks at each twice ([`os::at_rest`]): those that slept all the while between were
//! not about to run. In between it takes what they wait for ([`vtime::waits`]), what the agent waits for
//! ([`domain::Watch::is_for`]) and what others know ([`Outlook`]). Then the clock jumps to the first of
//! these moments, and those whose time has come are woken: by the word on which they sleep, or by a signal
//! that ends the native call in which they wait, after which the image sees that its deadline has passed.
//!
//! Where the clock stands while anybody can run ([`domain::Pace::Events`]) all time passes in such jumps.
//! It runs for a time where it could not go on otherwise: for timers of kernels, for who was stopped from
//! outside, and for a program that does not wait. Nobody waits for host times then, so this
//! thread wakes all whose time comes.
//!
//! None of that needs root or a kernel of its own, and nobody's load makes a jump early: who waits for a
//! processor does not sleep. What makes it impossible to know makes the clock run at host rate, which is
//! always right.
//!
//! - [`jumper`]: the thread, and its decisions
//! - [`threads`]: the threads that must sleep; [`rest`]: whether they do; [`deadlines`]: until when they wait;
//!   [`ended`]: whose calls were ended for that
//! - [`segments`]: what kernels still owe to connections of programs
//! - [`instant`]: whether an instant has gone on for too long, where the clock stands
//! - [`account`]: what kept the clock from jumping, and for how long

mod account;
mod deadlines;
mod ended;
mod instant;
mod jumper;
mod rest;
mod segments;
mod threads;

pub use jumper::Jumper;
use vtime::{HostSpan, VirtualTime};

/// What a part of the agent that has nothing to do waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// Changes whenever it does anything.
    pub round: u64,
    /// Whether a kernel may be about to do something by timers of its own, which run on host time: then
    /// the clock has to run along with them.
    pub for_kernels: bool,
    /// Whether something may come from other hosts, so that the clock need not run along yet.
    pub others_may_send: bool,
}

/// What a part of the agent knows of events that no thread waits for.
pub trait Outlook: Send + Sync {
    /// What it waits for; `None` if it has something to do now, or something is on its way to it.
    fn look(&self) -> Option<Waits>;

    /// So much host time passed for timers of a kernel alone since the last look.
    fn ran_for_kernels(&self, span: HostSpan);

    /// When it waited as in `waits`, all slept, and nobody does anything before that time, to which the clock may not
    /// jump yet, as other hosts have granted no more; but, where something `is_owed`, when a timer of a kernel ends.
    fn all_sleep(&self, waits: &Waits, until: VirtualTime, is_owed: bool);

    /// The clock has jumped to there.
    fn jumped(&self, now: VirtualTime);
}
