//! What signals do to a measurement: those that ask for an end end it, SIGCONT tells of a stop.

use std::io;
use std::sync::Arc;

use libc::{SIGCONT, SIGHUP, SIGINT, SIGTERM};

use crate::control::Control;

/// Has this process end its measurement when it is asked to, and notice when it was stopped.
pub(crate) fn obey(control: &Arc<Control>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let control = Arc::clone(control);
        // SAFETY: the action stores to an atomic and does nothing else.
        unsafe { signal_hook::low_level::register(signal, move || control.stop()) }?;
    }
    let control = Arc::clone(control);
    // SAFETY: the action reads a clock (clock_gettime(2) is safe in handlers) and stores to an
    // atomic.
    unsafe { signal_hook::low_level::register(SIGCONT, move || control.continued()) }?;
    Ok(())
}
