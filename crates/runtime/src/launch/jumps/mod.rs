//! Jumps over time in which nobody can do anything: when the clock may, and how far.
//!
//! A thread of the agent looks again and again whether all threads of the domain sleep, and all
//! of the agent's own. It looks at each twice ([`os::at_rest`]): those that slept all the while between were
//! not about to run. In between it takes what they wait for ([`vtime::waits`]), what the agent waits for
//! ([`crate::domain::Watch::is_for`]) and what others know ([`Outlook`]). Then the clock jumps to the first of
//! these moments, and those whose time has come are woken: by the word on which they sleep, or by a signal
//! that ends the native call in which they wait, after which the image sees that its deadline has passed.
//!
//! None of that needs root or a kernel of its own, and nobody's load makes a jump early: who waits for a
//! processor does not sleep. What makes it impossible to know makes the clock run at host rate, which is
//! always right.
//!
//! - [`jumper`]: the thread, and its decisions
//! - [`threads`]: the threads that must sleep
//! - [`segments`]: what kernels still owe to connections of programs
//! - [`kept`]: what kept the clock from jumping, and for how long

mod jumper;
mod kept;
mod segments;
mod threads;

pub use jumper::Jumper;
pub use kept::{Keeping, Kept};

/// What a part of the agent knows of events that no thread waits for.
pub trait Outlook: Send + Sync {
    /// Whether it has something to do now, or something is on its way to it.
    fn is_quiet(&self) -> bool;

    /// Whether a kernel may be about to do something by timers of its own, which run on host time: then
    /// the clock has to run along with them.
    fn is_owed(&self) -> bool;
}
