//! The clock page as shared memory, and the few system calls that the owner of a clock needs.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use vtime::page::Epoch;
use vtime::{ClockPage, HostTime};

/// A clock page in a sealed memfd, mapped for its owner.
#[derive(Debug)]
pub struct SharedPage {
    memory: OwnedFd,
    page: NonNull<ClockPage>,
}

// SAFETY: the page consists of atomics, and the mapping lives until the last owner drops it.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

/// Length of the mapping; one page of x86-64, and a part of one where pages are larger.
const LENGTH: usize = 4096;
const _: () = assert!(size_of::<ClockPage>() <= LENGTH);

impl SharedPage {
    /// A fresh page whose clock is at rest.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn new(epochs: [i64; Epoch::COUNT]) -> io::Result<Self> {
        // SAFETY: the name is a C string; results are checked before use; the mapping is fresh,
        // aligned to a page, large enough by the assertion above, and initialised by `write`.
        unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            let fd = libc::memfd_create(c"quartercycle-clock".as_ptr(), flags);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let memory = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd, LENGTH as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
            if libc::fcntl(fd, libc::F_ADD_SEALS, seals) != 0 {
                return Err(io::Error::last_os_error());
            }
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let at = libc::mmap(std::ptr::null_mut(), LENGTH, access, libc::MAP_SHARED, fd, 0);
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let page = NonNull::new(at.cast::<ClockPage>()).expect("mmap never answers null");
            page.write(ClockPage::new(epochs));
            Ok(Self { memory, page })
        }
    }
}

impl Deref for SharedPage {
    type Target = ClockPage;

    fn deref(&self) -> &ClockPage {
        // SAFETY: mapped, initialised and of atomics only, for as long as `self` lives.
        unsafe { self.page.as_ref() }
    }
}

impl AsFd for SharedPage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nobody else unmaps.
        unsafe { libc::munmap(self.page.as_ptr().cast(), LENGTH) };
    }
}

/// Host time: the host's `CLOCK_MONOTONIC`.
#[must_use]
pub fn host_now() -> HostTime {
    HostTime::from_ns(host_clock_ns(libc::CLOCK_MONOTONIC))
}

/// A clock of the host in nanoseconds.
pub(super) fn host_clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec; the clocks asked for exist on every Linux since 3.10.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert!(result == 0, "clock {clock} exists");
    time.tv_sec * vtime::time::NS_PER_S + time.tv_nsec
}

/// Wakes all waiters of a futex word in shared memory.
pub(super) fn wake_all(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE only uses the address as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// An entry of [`poll_until`] that waits for input.
#[must_use]
pub fn readable(fd: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// Waits until one of `fds` is ready or host time has reached `until` (for ever if `None`).
/// Answers how many are ready.
///
/// # Errors
/// What `ppoll` reports; an interruption by a signal counts as "none ready".
pub fn poll_until(fds: &mut [libc::pollfd], until: Option<HostTime>) -> io::Result<usize> {
    let timeout = until.map(|until| {
        let left = (until - host_now()).as_ns().max(0);
        libc::timespec {
            tv_sec: left / vtime::time::NS_PER_S,
            tv_nsec: left % vtime::time::NS_PER_S,
        }
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `fds` is a valid slice for the length given, `timeout` null or a live timespec.
    let ready = unsafe {
        libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout, std::ptr::null())
    };
    if ready >= 0 {
        return Ok(ready.unsigned_abs() as usize);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}
