//! Timerfds of programs. The agent has a descriptor of its own of each that is armed, through which
//! it lets it expire: whatever number the program knows it by, and in whatever process, it is that
//! one. So it stays there when all programs have closed it, and whether they have is looked up.

use std::cmp::Ordering;
use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, pid_t};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_gettime, timerfd_settime};

use os::process::{Process, live_thread_of};

/// Where links to timerfds in `/proc` lead.
pub(super) const TIMERFD: &str = "anon_inode:[timerfd]";

#[derive(Debug)]
pub(super) struct TimerFd(OwnedFd);

impl TimerFd {
    /// The timerfd that a process has under this number.
    ///
    /// # Errors
    /// EBADF if it is no descriptor, EINVAL if it is no timerfd.
    pub(super) fn of(process: &Process, fd: c_int) -> io::Result<Self> {
        let copy = process.descriptor(fd)?;
        let link = fs::read_link(format!("/proc/self/fd/{}", copy.as_raw_fd()))?;
        if link.as_os_str() != TIMERFD {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Self(copy))
    }

    pub(super) fn clock(&self) -> Option<c_int> {
        c_int::try_from(self.info("clockid:")?).ok()
    }

    /// The order of two timers, by which descriptors of the same one are equal. kcmp(2)
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let own = std::process::id().cast_signed();
        self.order_with(own, other.0.as_raw_fd()).unwrap_or(Ordering::Greater)
    }

    /// The same of this one and what a process has under a number.
    ///
    /// # Errors
    /// EBADF if that is no descriptor, ESRCH if the process is gone, EPERM if it is closed to this
    /// user.
    pub(super) fn order_with(&self, process: pid_t, fd: c_int) -> io::Result<Ordering> {
        const KCMP_FILE: c_int = 0;
        let (own, one) = (std::process::id(), self.0.as_raw_fd());
        let process = live_thread_of(process);
        // SAFETY: takes numbers only.
        match unsafe { libc::syscall(libc::SYS_kcmp, own, process, KCMP_FILE, one, fd) } {
            0 => Ok(Ordering::Equal),
            1 => Ok(Ordering::Less),
            2 => Ok(Ordering::Greater),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Takes back expirations that nobody has read, as setting it does.
    pub(super) fn reset(&self) {
        // Fails for no open timerfd.
        let _ = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once_at(0));
    }

    /// Takes its setting over from the kernel, which lets it expire no more. Returns the
    /// nanoseconds that were left (0: it was not armed) and its period.
    pub(super) fn take_over(&self) -> io::Result<[i64; 2]> {
        let unread = self.info("ticks:").unwrap_or(0);
        let before = parts(&timerfd_gettime(&self.0)?);
        let last = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once_at(0))?;
        let [left, period] = parts(&last);
        // It has expired between the two looks.
        let missed = left > before[0] || left == 0 && before[0] > 0;
        let unread = unread.unsigned_abs() + u64::from(missed);
        if unread > 0 {
            self.expire(unread)?;
        }
        Ok([left, period])
    }

    /// Adds expirations to those that nobody has read. `TFD_IOC_SET_TICKS` of
    /// `include/uapi/linux/timerfd.h`.
    pub(super) fn expire(&self, times: u64) -> io::Result<()> {
        const SET_TICKS: libc::c_ulong = 1 << 30 | 8 << 16 | (b'T' as libc::c_ulong) << 8;
        // Read before more are added, so that a program that reads it at this moment gets
        // each of them once.
        let ticks = self.take().saturating_add(times);
        // SAFETY: the request reads the number of 64 bits that it is given.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), SET_TICKS, &raw const ticks) };
        if result == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // A kernel without CONFIG_CHECKPOINT_RESTORE: it can be made to expire once.
            error if error.raw_os_error() == Some(libc::ENOTTY) => {
                timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once_at(1))?;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Takes the expirations that nobody has read. Never waits for one: the flag that would say
    /// so is the program's, and shared.
    fn take(&self) -> u64 {
        let mut ticks = [0u8; 8];
        let to = &mut [IoSliceMut::new(&mut ticks)];
        match preadv2(&self.0, to, u64::MAX, ReadWriteFlags::NOWAIT) {
            Ok(8) => u64::from_ne_bytes(ticks),
            Err(Errno::AGAIN) => 0,
            // Before Linux 6.10 it cannot be asked not to wait; they stay until they are replaced.
            _ => self.info("ticks:").unwrap_or(0).unsigned_abs(),
        }
    }

    fn info(&self, name: &str) -> Option<i64> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd())).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    }
}

/// A setting that expires once, at so many nanoseconds (0: never).
const fn once_at(ns: i64) -> Itimerspec {
    let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
    Itimerspec { it_interval, it_value: Timespec { tv_sec: 0, tv_nsec: ns } }
}

fn parts(setting: &Itimerspec) -> [i64; 2] {
    let ns = |time: Timespec| time.tv_sec.saturating_mul(1_000_000_000) + time.tv_nsec;
    [ns(setting.it_value), ns(setting.it_interval)]
}
