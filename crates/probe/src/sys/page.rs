//! A page of memory that can be given back and touched again.

use std::io;
use std::ptr::NonNull;

/// A page of anonymous memory.
#[derive(Debug)]
pub(crate) struct Page {
    at: NonNull<u8>,
    octets: usize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Page {}

impl Page {
    pub(crate) fn map() -> io::Result<Self> {
        // SAFETY: takes a number only.
        let octets = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).expect("a mapping is nowhere near zero");
        let page = Self { at, octets };
        // Where all memory is locked this page is not, or it could not be given back.
        // SAFETY: the mapping is this one's own.
        let result = unsafe { libc::munlock(page.at.as_ptr().cast(), octets) };
        if result == 0 { Ok(page) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives the memory back: the next touch is a fault.
    pub(crate) fn give_back(&mut self) -> io::Result<()> {
        // SAFETY: what is in the page is nobody's.
        let result =
            unsafe { libc::madvise(self.at.as_ptr().cast(), self.octets, libc::MADV_DONTNEED) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) fn touch(&mut self) {
        // SAFETY: the first octet of a mapping that may be written.
        unsafe { self.at.as_ptr().write_volatile(1) };
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own and not used afterwards.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.octets) };
    }
}
