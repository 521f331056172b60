//! The pages of a domain as shared memory, and the few system calls that the owner of a clock needs.

use std::ffi::CStr;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use vtime::HostTime;
use vtime::history::DomainPage;
use vtime::image::{OWN, OWN_SIZE, PAGE_SIZE, WAITS};
use vtime::own_page::OwnPage;
use vtime::waits::Waits;

/// What may lie in memory that other processes map too, and may write to at any time.
///
/// # Safety
/// All of it is atomic integers, in a layout that is the same to all (`#[repr(C)]`), of which any
/// octets are a value; no number is an address, and nothing happens when it is dropped.
pub unsafe trait SharedMemory: Sync {
    /// Octets of the memory, of which the value is the head; the rest is zero at first.
    const ROOM: usize = PAGE_SIZE;
}

// SAFETY: one atomic integer.
unsafe impl SharedMemory for AtomicU32 {}
// SAFETY: atomic integers; the layout is asserted where it is defined.
unsafe impl SharedMemory for OwnPage {
    const ROOM: usize = OWN_SIZE;
}
// SAFETY: as above.
unsafe impl SharedMemory for Waits {}
// SAFETY: as above.
unsafe impl SharedMemory for DomainPage {}

/// A value in a sealed memfd, or in memory of a device, mapped for its owner.
#[derive(Debug)]
pub struct Shared<T: SharedMemory> {
    memory: OwnedFd,
    /// Through which others may read; `None` where `memory` can be opened again for that.
    for_reading: Option<OwnedFd>,
    value: Mapped<T>,
}

/// Memory of a device, which the kernel changes too.
#[derive(Debug)]
pub struct DeviceMemory {
    /// What can be mapped to read and to write.
    pub device: OwnedFd,
    /// The same memory, which cannot be written to through this.
    pub for_reading: OwnedFd,
}

/// Who may write to shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writers {
    /// Its owner alone, whatever privileges others have (Linux 5.1; before, those who are given a
    /// descriptor for reading and may open it again, through `/proc`, can write too).
    Owner,
    /// Anyone who is given its descriptor.
    All,
}

/// A value in shared memory whose descriptor somebody else has, or nobody any more.
#[derive(Debug)]
pub struct Mapped<T: SharedMemory>(NonNull<T>);

// SAFETY: `T` is as good as its own claim, and the mapping lives until the last owner drops it.
unsafe impl<T: SharedMemory + Send> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: SharedMemory> Sync for Mapped<T> {}

impl<T: SharedMemory> Shared<T> {
    const FITS: () = assert!(
        size_of::<T>() <= T::ROOM && align_of::<T>() <= PAGE_SIZE && !std::mem::needs_drop::<T>()
    );

    /// Moves a value into fresh shared memory.
    pub fn new(name: &CStr, value: T, writers: Writers) -> io::Result<Self> {
        let () = Self::FITS;
        let memory = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&memory, T::ROOM as u64)?;
        let value = Self::place(&memory, value)?;
        // Sealed last: the mapping that is there keeps its right to write.
        let size = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        if writers == Writers::All
            || fcntl_add_seals(&memory, size | SealFlags::FUTURE_WRITE).is_err()
        {
            fcntl_add_seals(&memory, size)?;
        }
        Ok(Self { memory, for_reading: None, value })
    }

    /// Moves a value into memory of a device, to which nobody else writes yet.
    pub fn in_device(memory: DeviceMemory, value: T) -> io::Result<Self> {
        let () = Self::FITS;
        let DeviceMemory { device, for_reading } = memory;
        let value = Self::place(&device, value)?;
        Ok(Self { memory: device, for_reading: Some(for_reading), value })
    }

    fn place(memory: &OwnedFd, value: T) -> io::Result<Mapped<T>> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let none = std::ptr::null_mut();
        // SAFETY: the mapping is fresh, and nobody relies on what was at its address.
        let at = unsafe { mmap(none, T::ROOM, access, MapFlags::SHARED, memory, 0)? };
        let place = NonNull::new(at.cast::<T>()).expect("mmap never returns null");
        // SAFETY: aligned to a page, and large enough by the assertion of the caller.
        unsafe { place.write(value) };
        Ok(Mapped(place))
    }

    /// The descriptor of the memory, and the value in it.
    #[must_use]
    pub fn into_parts(self) -> (OwnedFd, Mapped<T>) {
        (self.memory, self.value)
    }

    /// The same memory behind a descriptor that cannot be written through.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        if let Some(for_reading) = &self.for_reading {
            return for_reading.try_clone();
        }
        let path = format!("/proc/self/fd/{}", self.memory.as_raw_fd());
        Ok(std::fs::File::open(path)?.into())
    }
}

impl<T: SharedMemory> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Mapped<OwnPage> {
    /// What lies behind the page of a program: what its threads wait for.
    pub fn waits(&self) -> &Waits {
        // SAFETY: in the same mapping, which has room for it as is asserted where it is defined; of
        // atomic integers, of which any octets are a value.
        unsafe { self.0.byte_add(WAITS - OWN).cast().as_ref() }
    }
}

impl<T: SharedMemory> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped and initialised for as long as `self` lives.
        unsafe { self.0.as_ref() }
    }
}

impl<T: SharedMemory> AsFd for Shared<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

impl<T: SharedMemory> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `Shared::place`, which nobody else unmaps.
        // That it fails, nobody can do anything about.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), T::ROOM) };
    }
}

/// Host time: the host's `CLOCK_MONOTONIC`.
pub fn host_now() -> HostTime {
    HostTime::from_ns(os::realtime::now_ns())
}

pub(super) fn wake_all(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE only uses the address as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// An entry of [`poll_until`] that waits for input.
pub fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

/// The same, which waits for room for output as well.
pub fn readable_or_writable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::OUT)
}

/// Waits until one of `fds` is ready or host time has reached `until` (for ever if `None`). Returns how
/// many are ready.
///
/// # Errors
/// What `ppoll` reports; an interruption by a signal counts as "none ready".
pub fn poll_until(fds: &mut [PollFd<'_>], until: Option<HostTime>) -> io::Result<usize> {
    let timeout = until.map(|until| {
        let left = (until - host_now()).as_ns().max(0);
        Timespec { tv_sec: left / vtime::time::NS_PER_S, tv_nsec: left % vtime::time::NS_PER_S }
    });
    match poll(fds, timeout.as_ref()) {
        Err(Errno::INTR) => Ok(0),
        ready => Ok(ready?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// A program with all privileges finds the memory that it has mapped in `/proc`.
    #[test]
    fn memory_of_its_owner_can_be_written_by_nobody_else() {
        for (writers, succeeds) in [(Writers::Owner, false), (Writers::All, true)] {
            let shared = Shared::new(c"test", AtomicU32::new(7), writers).unwrap();
            let path = format!("/proc/self/fd/{}", shared.as_fd().as_raw_fd());
            let again = std::fs::File::options().read(true).write(true).open(path).unwrap();
            assert_eq!(again.write_at(&[1], 0).is_ok(), succeeds);
            // SAFETY: a fresh mapping, whose result is only looked at.
            let mapped = unsafe {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let (at, fd) = (std::ptr::null_mut(), again.as_raw_fd());
                libc::mmap(at, PAGE_SIZE, access, libc::MAP_SHARED, fd, 0)
            };
            assert_eq!(mapped != libc::MAP_FAILED, succeeds);
            shared.store(8, std::sync::atomic::Ordering::Relaxed);
        }
    }
}
