//! The pages at their addresses: of the domain, of the process, and of the program.

use vtime::image::{CLOCK, Kind, OWN, PROCESS, Process, WAITS};
use vtime::waits::Waits;
use vtime::{ClockPage, OwnPage};

#[inline]
pub(crate) fn page() -> &'static ClockPage {
    // SAFETY: the launcher has mapped a valid page there before the program's first instruction,
    // and nothing unmaps it; it consists of atomics.
    unsafe { &*(CLOCK as *const ClockPage) }
}

/// The page of this program, whose constant part is all that is read through this.
#[inline]
pub(crate) fn process() -> &'static Process {
    // SAFETY: mapped by the launcher as above; `sigsys_action`, which changes, is only copied.
    unsafe { &*(PROCESS as *const Process) }
}

/// The own page of this program: its own line and its counters.
#[inline]
pub(crate) fn own() -> &'static OwnPage {
    // SAFETY: mapped by the launcher as above; consists of atomics.
    unsafe { &*(OWN as *const OwnPage) }
}

/// What threads of this program wait for.
pub(crate) fn waits() -> &'static Waits {
    // SAFETY: mapped by the launcher as above; consists of atomics.
    unsafe { &*(WAITS as *const Waits) }
}

pub(crate) fn count(kind: Kind) {
    own().counters().count(kind);
}
