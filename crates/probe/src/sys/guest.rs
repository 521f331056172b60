//! What the first process of a guest asks of its kernel: mount(2), finit_module(2), poll(2), reboot(2).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Duration;

/// Of finit_module(2): the file is compressed.
const MODULE_INIT_COMPRESSED_FILE: libc::c_int = 4;

/// What is waited for at a descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) fd: &'a dyn AsFd,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// What is possible there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ready {
    /// A read does not block; it may tell the end.
    pub(crate) read: bool,
    /// A write does not block.
    pub(crate) write: bool,
    /// The other side is gone.
    pub(crate) ended: bool,
}

/// Waits until one of the wishes comes true, or for so long. poll(2)
pub(crate) fn wait_for<const N: usize>(
    wishes: [Option<Wish<'_>>; N],
    limit: Option<Duration>,
) -> io::Result<[Ready; N]> {
    let mut fds = wishes.map(|wish| {
        let wanted = |is: bool, event| if is { event } else { 0 };
        libc::pollfd {
            // The kernel skips those that are negative.
            fd: wish.map_or(-1, |wish| wish.fd.as_fd().as_raw_fd()),
            events: wish.map_or(0, |wish| {
                wanted(wish.read, libc::POLLIN) | wanted(wish.write, libc::POLLOUT)
            }),
            revents: 0,
        }
    });
    let limit = limit.map_or(-1, |limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX));
    // SAFETY: the descriptors are open, and the array is as long as is said.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), N as libc::nfds_t, limit) };
    match check(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
        Err(_) => return Ok([Ready::default(); N]),
        Ok(()) => {}
    }
    Ok(fds.map(|fd| Ready {
        read: fd.revents & (libc::POLLIN | libc::POLLHUP) != 0,
        write: fd.revents & libc::POLLOUT != 0,
        ended: fd.revents & (libc::POLLHUP | libc::POLLERR) != 0,
    }))
}

/// Mounts a file system that has no device. mount(2)
pub(crate) fn mount(kind: &str, place: &str) -> io::Result<()> {
    let (kind, place) = (CString::new(kind)?, CString::new(place)?);
    // SAFETY: three strings of C, and no data.
    check(unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) })
}

/// Names this machine. sethostname(2)
pub(crate) fn name_host(name: &str) -> io::Result<()> {
    // SAFETY: as many octets as are said.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })
}

/// Loads a module of the kernel. finit_module(2)
pub(crate) fn load_module(file: &File, is_packed: bool) -> io::Result<()> {
    let flags = if is_packed { MODULE_INIT_COMPRESSED_FILE } else { 0 };
    // SAFETY: an open file and a string of C without parameters.
    let result =
        unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), flags) };
    check(result as i32)
}

/// Ends all other processes at once: nothing of theirs is wanted any more. kill(2)
pub(crate) fn end_all_others() {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Turns the machine off. reboot(2)
pub(crate) fn turn_off() -> io::Result<std::convert::Infallible> {
    // SAFETY: takes a number; there is nothing on a disk.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    Err(io::Error::last_os_error())
}

fn check(result: i32) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
