//! Exit codes of `qcycle`, by name. Scripts and CI tell a missed requirement from a broken set-up
//! by them. The numbers of set-up and internal failures follow `sysexits.h`.

/// How `qcycle` ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Done; where there were requirements, all are met.
    Met = 0,
    /// The run is complete and at least one requirement is missed.
    Missed = 10,
    /// The run is complete, none is missed or disturbed, and at least one could not be measured.
    NotMeasured = 11,
    /// The run ended early: a part died that the scenario needs. Results up to then are kept.
    PartFailed = 12,
    /// The run is complete, none is missed, and at least one was disturbed: programs were kept from
    /// acting in time by the machine or by somebody, so it says nothing of them.
    Disturbed = 13,
    /// A command line that makes no sense (`EX_USAGE`).
    Usage = 64,
    /// The scenario or its data is wrong (`EX_DATAERR`); nothing was started.
    BadScenario = 65,
    /// Something the run needs is missing on this machine (`EX_UNAVAILABLE`).
    BrokenSetup = 69,
    /// What was to be printed could not be written (`EX_IOERR`); a closed pipe is no such failure.
    CannotWrite = 74,
    /// A bug of Quartercycle (`EX_SOFTWARE`).
    Internal = 70,
    /// Ended by Ctrl-C or a signal; what was recorded is kept.
    Interrupted = 130,
}
