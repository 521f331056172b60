//! Calls with which one thread wakes another: eventfd(2), futex(2), real-time signals (signal(7)).

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

/// A counter in the kernel that can be waited for.
#[derive(Debug)]
pub(crate) struct Eventfd(OwnedFd);

impl Eventfd {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn add(&self) -> io::Result<()> {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight octets are read.
        let count = unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        whole(count)
    }

    /// Waits until it is not zero, and makes it zero.
    pub(crate) fn take(&self) -> io::Result<()> {
        read_number(&self.0).map(|_| ())
    }
}

/// Reads the number of eight octets that eventfd(2) and timerfd_create(2) give.
pub(super) fn read_number(fd: &OwnedFd) -> io::Result<u64> {
    let mut number = [0; 8];
    // SAFETY: eight octets are written.
    let count = unsafe { libc::read(fd.as_raw_fd(), number.as_mut_ptr().cast(), number.len()) };
    whole(count)?;
    Ok(u64::from_ne_bytes(number))
}

fn whole(count: isize) -> io::Result<()> {
    match count {
        8 => Ok(()),
        ..0 => Err(io::Error::last_os_error()),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// A word in memory that can be waited for.
#[derive(Debug, Default)]
pub(crate) struct Futex {
    word: AtomicU32,
}

impl Futex {
    /// Sets the word and wakes who waits.
    pub(crate) fn wake(&self) {
        self.word.store(1, Ordering::Release);
        // SAFETY: the word lives as long as this call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
            )
        };
    }

    /// Waits until the word is set, and clears it.
    pub(crate) fn wait(&self) -> io::Result<()> {
        while self.word.swap(0, Ordering::AcqRel) == 0 {
            // SAFETY: the word lives as long as this call; no time is given.
            let result = unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    0,
                    std::ptr::null::<libc::timespec>(),
                )
            };
            let error = io::Error::last_os_error();
            // Set meanwhile, or woken for nothing: look again.
            let again = [libc::EAGAIN, libc::EINTR].map(Some).contains(&error.raw_os_error());
            if result < 0 && !again {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// A real-time signal to the one thread that waits for it; all threads block it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    waiter: AtomicI32,
}

impl Signal {
    /// Sends it, once somebody waits.
    pub(crate) fn send_to_waiter(&self) -> io::Result<()> {
        let mut waiter = self.waiter.load(Ordering::Acquire);
        while waiter == 0 {
            std::thread::sleep(Duration::from_micros(100));
            waiter = self.waiter.load(Ordering::Acquire);
        }
        // SAFETY: takes numbers only; the thread is one of this process.
        let result =
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), waiter, libc::SIGRTMIN()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) fn wait(&self) -> io::Result<()> {
        self.waiter.store(super::thread::id(), Ordering::Release);
        // SAFETY: a set of bits.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is written, and then read; nothing is asked about the signal.
        let result = unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGRTMIN());
            libc::sigwaitinfo(&raw const set, std::ptr::null_mut())
        };
        if result > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
