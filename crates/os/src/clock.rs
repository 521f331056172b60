//! What the kernel knows of `CLOCK_REALTIME` from the program that disciplines it (ntpd, chronyd,
//! phc2sys). adjtimex(2)

use std::io;

/// What the kernel knows of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    /// A program disciplines it and has said so lately.
    pub is_synchronised: bool,
    /// Its hardware reports a failure.
    pub has_failed: bool,
    pub error_us_estimate: u64,
    /// Largest error in microseconds; it grows while no program disciplines the clock.
    pub error_us_max: u64,
    /// How far atomic time is ahead of universal time, in s; 0 if it is not known.
    pub tai_offset_s: i32,
}

/// Reads the state of the clock.
///
/// # Errors
/// Those of adjtimex(2), which reading never meets natively.
pub fn state() -> io::Result<ClockState> {
    // SAFETY: a plain structure of numbers; modes of zero change nothing.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is written.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(ClockState {
        is_synchronised: state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0,
        has_failed: timex.status & libc::STA_CLOCKERR != 0,
        error_us_estimate: u64::try_from(timex.esterror).unwrap_or(0),
        error_us_max: u64::try_from(timex.maxerror).unwrap_or(u64::MAX),
        tai_offset_s: timex.tai,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_its_clock() {
        let known = state().unwrap();
        assert!(known.error_us_max < 3_600_000_000, "{known:?}");
    }
}
