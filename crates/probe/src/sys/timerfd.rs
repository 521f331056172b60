//! A timer that is read like a file (timerfd_create(2)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A timer of `CLOCK_MONOTONIC` that expires periodically.
#[derive(Debug)]
pub(crate) struct Timerfd(OwnedFd);

impl Timerfd {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Expires at a time and then each period.
    pub(crate) fn set(&self, first_ns: i64, period_ns: i64) -> io::Result<()> {
        let span =
            |ns: i64| libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        let times = libc::itimerspec { it_interval: span(period_ns), it_value: span(first_ns) };
        let fd = self.0.as_raw_fd();
        // SAFETY: the times are read; the old ones are not asked for.
        let result = unsafe {
            libc::timerfd_settime(
                fd,
                libc::TFD_TIMER_ABSTIME,
                &raw const times,
                std::ptr::null_mut(),
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until it has expired; returns how often it did since the last time.
    pub(crate) fn expired(&self) -> io::Result<u64> {
        super::wake::read_number(&self.0)
    }
}
