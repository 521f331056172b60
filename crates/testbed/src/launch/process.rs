//! Processes and threads of programs, as others see them: who is meant by a number, and whether
//! it is still the same one.
//!
//! A number is given again once its process has ended. So what is remembered is a number together
//! with the moment at which its process began, and who is to be signalled is looked up anew: a
//! handle (pidfd) is opened, and kept only if it is of the one that was meant. So nobody else is ever
//! signalled, and no descriptor is held for a process that only might be.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long, c_uint, pid_t};

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

/// A process, or one thread of it, that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Identity {
    pub(super) number: pid_t,
    /// In ticks of the kernel since the machine began.
    began: u64,
}

impl Identity {
    /// Who has the number of a process now.
    pub(super) fn of_process(process: pid_t) -> io::Result<Self> {
        Self::of_thread(process, process)
    }

    /// Who has the number of a thread in a process now.
    pub(super) fn of_thread(process: pid_t, thread: pid_t) -> io::Result<Self> {
        let began = began(&stat(process, thread)?).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { number: thread, began })
    }

    /// Whether this process has not been waited for.
    pub(super) fn is_there(self) -> bool {
        Self::of_process(self.number).is_ok_and(|now| now == self)
    }

    /// Whether it runs, or stands; what has ended does not, waited for or not.
    pub(super) fn runs(self) -> bool {
        stat(self.number, self.number).is_ok_and(|stat| {
            began(&stat) == Some(self.began)
                && !behind_the_name(&stat)
                    .is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
        })
    }

    /// A handle of this process.
    ///
    /// # Errors
    /// ESRCH if it is gone, whoever may have its number now.
    pub(super) fn open(self) -> io::Result<Process> {
        let process = Process::open(self.number)?;
        // Opened first, so that it is of this one or else of nobody who is still there.
        if self.is_there() { Ok(process) } else { Err(gone()) }
    }
}

fn stat(process: pid_t, thread: pid_t) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{process}/task/{thread}/stat"))
}

/// The 22nd field of /proc/PID/stat.
fn began(stat: &str) -> Option<u64> {
    behind_the_name(stat)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The name, the second field of /proc/PID/stat, may have anything in it.
fn behind_the_name(stat: &str) -> Option<&str> {
    Some(stat.rsplit_once(')')?.1)
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// A process that cannot be mistaken for another one of the same number.
#[derive(Debug)]
pub(super) struct Process {
    handle: OwnedFd,
}

impl Process {
    pub(super) fn open(number: pid_t) -> io::Result<Self> {
        Self::open_as(number, 0)
    }

    /// A thread alone (Linux 6.9).
    ///
    /// # Errors
    /// EINVAL where the kernel knows no such handles.
    pub(super) fn open_thread(number: pid_t) -> io::Result<Self> {
        const PIDFD_THREAD: c_uint = libc::O_EXCL.unsigned_abs();
        Self::open_as(number, PIDFD_THREAD)
    }

    fn open_as(number: pid_t, flags: c_uint) -> io::Result<Self> {
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        let handle = unsafe { owned(libc::syscall(libc::SYS_pidfd_open, number, flags))? };
        Ok(Self { handle })
    }

    /// Sends a signal, with what the program is told about it.
    pub(super) fn signal(&self, signal: c_int, info: Option<&libc::siginfo_t>) -> io::Result<()> {
        let info = info.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the descriptor is open; `info` is null or a live structure.
        let result = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.handle.as_raw_fd(), signal, info, 0)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Ends it, unless it has ended.
    pub(super) fn kill(&self) {
        let _ = self.signal(libc::SIGKILL, None);
    }

    /// A copy of a descriptor of the process.
    pub(super) fn descriptor(&self, fd: c_int) -> io::Result<OwnedFd> {
        let handle = self.handle.as_raw_fd();
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        unsafe { owned(libc::syscall(libc::SYS_pidfd_getfd, handle, fd, 0)) }
    }
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
