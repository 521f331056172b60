//! Memory of its own pages, and a page that can be given back and touched again.

use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munlock, munmap};
use rustix::param::page_size;

/// Pages that are mapped as long as this is there.
#[derive(Debug)]
pub(super) struct Mapping {
    at: NonNull<c_void>,
    pub(super) octets: usize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// The begin of what a descriptor stands for, read-only and shared with the kernel.
    pub(super) fn shared(fd: impl AsFd, octets: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let at = unsafe { mmap(null_mut(), octets, ProtFlags::READ, MapFlags::SHARED, fd, 0) }?;
        Ok(Self::new(at, octets))
    }

    fn new(at: *mut c_void, octets: usize) -> Self {
        Self { at: NonNull::new(at).expect("a mapping is nowhere near zero"), octets }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.at.as_ptr().cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own and not used afterwards.
        let _ = unsafe { munmap(self.at.as_ptr(), self.octets) };
    }
}

/// A page of anonymous memory.
#[derive(Debug)]
pub(crate) struct Page(Mapping);

impl Page {
    pub(crate) fn map() -> io::Result<Self> {
        let (octets, access) = (page_size(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at a place that the kernel chooses.
        let at = unsafe { mmap_anonymous(null_mut(), octets, access, MapFlags::PRIVATE) }?;
        let page = Self(Mapping::new(at, octets));
        // Where all memory is locked this page is not, or it could not be given back.
        // SAFETY: the mapping is this one's own.
        unsafe { munlock(at, octets) }?;
        Ok(page)
    }

    /// Gives the memory back: the next touch is a fault.
    pub(crate) fn give_back(&mut self) -> io::Result<()> {
        // SAFETY: what is in the page is nobody's.
        Ok(unsafe { madvise(self.0.at.as_ptr(), self.0.octets, Advice::LinuxDontNeed) }?)
    }

    pub(crate) fn touch(&mut self) {
        // SAFETY: the first octet of a mapping that may be written.
        unsafe { self.0.start().write_volatile(1) };
    }
}
