//! Exit codes of all programs, by name. Scripts and CI distinguish a missed requirement from a broken
//! set-up by them. The numbers from 64 to 74 follow `sysexits.h`.

use std::fmt;

/// A command line that makes no sense, found after its words were read: what is wrong, and the fix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadUsage(pub String);

impl fmt::Display for BadUsage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for BadUsage {}

/// How a program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done; where there were requirements, all are met.
    Done = 0,
    /// The run is complete and at least one requirement is missed.
    Missed = 10,
    /// The run is complete, none is missed or disturbed, and at least one could not be measured.
    NotMeasured = 11,
    /// The run ended early: a part died that the scenario needs. Results up to then are kept.
    PartFailed = 12,
    /// The run is complete, none is missed, and at least one was disturbed: the machine or another
    /// process delayed programs, so it says nothing of them.
    Disturbed = 13,
    /// Runs that were compared are not the same.
    Different = 14,
    /// A command line that makes no sense (`EX_USAGE`).
    Usage = 64,
    /// A scenario, settings or data are wrong (`EX_DATAERR`); nothing was started.
    BadInput = 65,
    /// Something the run needs is missing on this machine (`EX_UNAVAILABLE`).
    BrokenSetup = 69,
    /// What was to be printed could not be written (`EX_IOERR`); a closed pipe is no such failure.
    CannotWrite = 74,
    /// Ended by Ctrl-C or a signal; what was recorded is kept.
    Interrupted = 130,
}

/// Ends the program at a panic of any of its threads: the first thing that a program does. A thread
/// that is gone while the others continue could leave a run without what it was to record. Released
/// programs abort anyway; those of development unwind, as tests do.
pub fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}
