//! What a program has given to the kernel, as far as timers need it from outside: its memory,
//! its timerfds, its signals.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long, c_void, pid_t};

/// The process of a thread, by the number of its first thread.
pub(super) fn process_of(thread: pid_t) -> io::Result<pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    number.and_then(|number| number.trim().parse().ok()).ok_or(io::ErrorKind::NotFound.into())
}

/// The thread of a process that it knows by this number, in our numbers.
pub(super) fn thread_known_as(process: pid_t, number: pid_t) -> Option<pid_t> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    tasks.flatten().find_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        let innermost: pid_t = numbers.split_whitespace().last()?.parse().ok()?;
        (innermost == number).then(|| task.file_name().to_str()?.parse().ok())?
    })
}

/// Whether a signal waits to be delivered to a thread or its process.
pub(super) fn is_pending(thread: pid_t, signal: c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let masks = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")));
    masks
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .any(|mask| mask & 1 << (signal - 1) != 0)
}

/// Reads numbers of 64 bits from the memory of a thread.
pub(in crate::launch) fn read<const N: usize>(thread: pid_t, address: u64) -> io::Result<[i64; N]> {
    let mut words = [0i64; N];
    let length = size_of_val(&words);
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: length };
    // SAFETY: `local` describes live memory; the kernel checks the other side.
    let count =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    whole(count, length).map(|()| words)
}

/// Writes octets to the memory of a thread.
pub(super) fn write(thread: pid_t, address: u64, octets: &[u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: octets.len() };
    // SAFETY: `local` describes live memory, which is only read; the kernel checks the other side.
    let count =
        unsafe { libc::process_vm_writev(thread, &raw const local, 1, &raw const remote, 1, 0) };
    whole(count, octets.len())
}

fn whole(count: isize, length: usize) -> io::Result<()> {
    match usize::try_from(count) {
        Ok(count) if count == length => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// A process that cannot be mistaken for another one of the same number.
#[derive(Debug)]
pub(in crate::launch) struct Process {
    pub(in crate::launch) number: pid_t,
    handle: OwnedFd,
}

impl Process {
    pub(in crate::launch) fn open(number: pid_t) -> io::Result<Self> {
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        let handle = unsafe { owned(libc::syscall(libc::SYS_pidfd_open, number, 0))? };
        Ok(Self { number, handle })
    }

    /// Whether it has not ended.
    pub(super) fn is_alive(&self) -> bool {
        // SAFETY: signal 0 is not delivered; the descriptor is open.
        let result = unsafe {
            let none = std::ptr::null::<c_void>();
            libc::syscall(libc::SYS_pidfd_send_signal, self.handle.as_raw_fd(), 0, none, 0)
        };
        result == 0
    }

    /// Ends it.
    pub(in crate::launch) fn kill(&self) {
        // SAFETY: numbers and a null pointer; the descriptor is open.
        unsafe {
            let none = std::ptr::null::<c_void>();
            let handle = self.handle.as_raw_fd();
            libc::syscall(libc::SYS_pidfd_send_signal, handle, libc::SIGKILL, none, 0);
        }
    }

    /// A copy of a descriptor of the process.
    pub(in crate::launch) fn descriptor(&self, fd: c_int) -> io::Result<OwnedFd> {
        let handle = self.handle.as_raw_fd();
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        unsafe { owned(libc::syscall(libc::SYS_pidfd_getfd, handle, fd, 0)) }
    }

    /// A timerfd of the process.
    ///
    /// # Errors
    /// EBADF if the number is no descriptor, EINVAL if it is no timerfd.
    pub(super) fn timer(&self, fd: c_int) -> io::Result<TimerFd> {
        let copy = self.descriptor(fd)?;
        let link = fs::read_link(format!("/proc/self/fd/{}", copy.as_raw_fd()))?;
        if link.as_os_str() != "anon_inode:[timerfd]" {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(TimerFd(copy))
    }
}

/// A timerfd that a program has too.
#[derive(Debug)]
pub(super) struct TimerFd(OwnedFd);

impl TimerFd {
    /// The clock that it was made for.
    pub(super) fn clock(&self) -> Option<c_int> {
        c_int::try_from(self.info("clockid:")?).ok()
    }

    /// Another descriptor of the same timer.
    pub(super) fn copy(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// The order of two timers, by which descriptors of the same one are equal. kcmp(2)
    pub(super) fn order(&self, other: &Self) -> Ordering {
        const KCMP_FILE: c_int = 0;
        let own = std::process::id();
        let (one, two) = (self.0.as_raw_fd(), other.0.as_raw_fd());
        // SAFETY: takes numbers only.
        match unsafe { libc::syscall(libc::SYS_kcmp, own, own, KCMP_FILE, one, two) } {
            0 => Ordering::Equal,
            1 => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    /// Takes back expirations that nobody has read, as setting it does.
    pub(super) fn reset(&self) {
        let none = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        };
        // SAFETY: a live structure and a null pointer.
        unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const none, std::ptr::null_mut())
        };
    }

    /// Takes its setting over from the kernel, which lets it expire no more. Answers the
    /// nanoseconds that were left (0: it was not armed) and its period.
    pub(super) fn take_over(&self) -> io::Result<[i64; 2]> {
        let unread = self.info("ticks:").unwrap_or(0);
        let before = self.setting()?;
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let none = libc::itimerspec { it_interval: zero, it_value: zero };
        let mut last = none;
        // SAFETY: live structures.
        let set =
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const none, &raw mut last) };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        let [left, period] = parts(&last);
        // It has expired between the two looks.
        let missed = left > before[0] || left == 0 && before[0] > 0;
        let unread = unread.unsigned_abs() + u64::from(missed);
        if unread > 0 {
            self.expire(unread)?;
        }
        Ok([left, period])
    }

    fn setting(&self) -> io::Result<[i64; 2]> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut setting = libc::itimerspec { it_interval: zero, it_value: zero };
        // SAFETY: a live structure.
        match unsafe { libc::timerfd_gettime(self.0.as_raw_fd(), &raw mut setting) } {
            0 => Ok(parts(&setting)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Adds expirations to those that nobody has read. `TFD_IOC_SET_TICKS` of
    /// `include/uapi/linux/timerfd.h`.
    pub(super) fn expire(&self, times: u64) -> io::Result<()> {
        const SET_TICKS: libc::c_ulong = 1 << 30 | 8 << 16 | (b'T' as libc::c_ulong) << 8;
        // Taken away before more are added, so that a program that reads it at this moment gets
        // each of them once.
        let ticks = self.take().saturating_add(times);
        // SAFETY: the request reads the number of 64 bits that it is given.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), SET_TICKS, &raw const ticks) };
        if result == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // A kernel without CONFIG_CHECKPOINT_RESTORE: it can be made to expire once.
            error if error.raw_os_error() == Some(libc::ENOTTY) => self.expire_once(),
            error => Err(error),
        }
    }

    /// Takes the expirations that nobody has read. Never waits for one: the flag that would say
    /// so is the program's, and shared.
    fn take(&self) -> u64 {
        let mut ticks = [0u8; 8];
        let to = libc::iovec { iov_base: ticks.as_mut_ptr().cast(), iov_len: ticks.len() };
        // SAFETY: reads 8 octets into an array of 8.
        let count =
            unsafe { libc::preadv2(self.0.as_raw_fd(), &raw const to, 1, -1, libc::RWF_NOWAIT) };
        match count {
            8 => u64::from_ne_bytes(ticks),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => 0,
            // Before Linux 6.10 it cannot be asked not to wait; they stay until they are replaced.
            _ => self.info("ticks:").unwrap_or(0).unsigned_abs(),
        }
    }

    fn expire_once(&self) -> io::Result<()> {
        let past = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec { tv_sec: 0, tv_nsec: 1 },
        };
        let (fd, flags) = (self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
        // SAFETY: a live structure and a null pointer.
        let set =
            unsafe { libc::timerfd_settime(fd, flags, &raw const past, std::ptr::null_mut()) };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn info(&self, name: &str) -> Option<i64> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd())).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    }
}

fn parts(setting: &libc::itimerspec) -> [i64; 2] {
    let ns = |time: libc::timespec| time.tv_sec.saturating_mul(1_000_000_000) + time.tv_nsec;
    [ns(setting.it_value), ns(setting.it_interval)]
}

/// The signal of a POSIX timer, `struct siginfo` with `SI_TIMER`.
#[repr(C)]
pub(super) struct TimerSignal {
    signal: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: i64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<TimerSignal>() == size_of::<libc::siginfo_t>());

impl TimerSignal {
    pub(super) fn new(signal: c_int, timer: c_int, overrun: c_int, value: i64) -> Self {
        const SI_TIMER: c_int = -2;
        Self { signal, error: 0, code: SI_TIMER, padding: 0, timer, overrun, value, rest: [0; 12] }
    }

    /// Sends it to a process, or to one thread of it.
    pub(super) fn send(&self, process: pid_t, thread: Option<pid_t>) {
        // SAFETY: the structure is what the calls expect. That the program is gone is no concern.
        unsafe {
            match thread {
                Some(thread) => libc::syscall(
                    libc::SYS_rt_tgsigqueueinfo,
                    process,
                    thread,
                    self.signal,
                    std::ptr::from_ref(self),
                ),
                None => libc::syscall(
                    libc::SYS_rt_sigqueueinfo,
                    process,
                    self.signal,
                    std::ptr::from_ref(self),
                ),
            }
        };
    }
}

/// Sends SIGALRM to a process.
pub(super) fn send_alarm(process: pid_t) {
    // SAFETY: takes numbers only. That the program is gone is no concern.
    unsafe { libc::kill(process, libc::SIGALRM) };
}

/// # Safety
/// `fd` must be the result of a call that makes a descriptor.
unsafe fn owned(fd: c_long) -> io::Result<OwnedFd> {
    match c_int::try_from(fd) {
        // SAFETY: as the caller vouches.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
