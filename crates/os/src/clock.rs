//! How far `CLOCK_REALTIME` may be off, as the kernel knows it from whoever disciplines it (ntpd,
//! chronyd, phc2sys).
//!
//! adjtimex(2).

use std::io;
use std::mem::zeroed;
use std::time::Duration;

/// What the kernel knows of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discipline {
    /// Whether somebody disciplines it.
    pub is_synchronised: bool,
    /// How far it may be off, as whoever disciplines it estimates.
    pub error_estimate: Duration,
    /// How far it may be off at most; grows while nobody disciplines it.
    pub error_max: Duration,
}

/// Asks the kernel.
///
/// # Errors
/// Those of adjtimex(2), which reading never meets natively.
pub fn discipline() -> io::Result<Discipline> {
    // SAFETY: a plain structure of numbers; modes of zero change nothing.
    let mut answer: libc::timex = unsafe { zeroed() };
    // SAFETY: the structure is written.
    let state = unsafe { libc::adjtimex(&raw mut answer) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    let span = |us: libc::c_long| Duration::from_micros(us.max(0) as u64);
    Ok(Discipline {
        is_synchronised: state != libc::TIME_ERROR && answer.status & libc::STA_UNSYNC == 0,
        error_estimate: span(answer.esterror),
        error_max: span(answer.maxerror),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_its_clock() {
        let known = discipline().unwrap();
        assert!(known.error_max < Duration::from_secs(3600), "{known:?}");
    }
}
