//! Mounts the folder of points for the calling process, without helpers and without libfuse.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Mounts a FUSE file system on `target` in the mount namespace of the calling thread and
/// answers the device to pass to [`serve`](super::serve). Until that runs, a program that looks into
/// the folder waits. All users may look; the kernel checks permissions.
///
/// # Errors
/// When `/dev/fuse` cannot be opened or the kernel refuses the mount, with what was tried.
pub fn mount_here(target: &Path) -> io::Result<OwnedFd> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open("/dev/fuse")
        .map_err(|error| explained(&error, "open /dev/fuse (is the kernel module fuse loaded?)"))?;
    let device = OwnedFd::from(device);
    let path = CString::new(target.as_os_str().as_bytes())?;
    let (user, group) = user();
    let options = CString::new(format!(
        "fd={},rootmode=40000,user_id={user},group_id={group},allow_other,default_permissions",
        device.as_raw_fd()
    ))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_NOATIME;
    // SAFETY: all texts end in zero and live until the call returns.
    let mounted = unsafe {
        libc::mount(
            c"plant".as_ptr(),
            path.as_ptr(),
            c"fuse.quartercycle".as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    if mounted != 0 {
        let doing = format!("mount the plant's points on {}", target.display());
        return Err(explained(&io::Error::last_os_error(), &doing));
    }
    Ok(device)
}

pub(super) fn user() -> (u32, u32) {
    // SAFETY: these take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Makes reads of `device` answer at once: a request may be withdrawn between the moment it is
/// announced and the moment it is read.
pub(super) fn set_nonblocking(device: &impl AsFd) -> io::Result<()> {
    let fd = device.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open; these commands take and give integers.
    let set = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        flags < 0 || libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
    };
    if set { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn explained(error: &io::Error, doing: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {doing}: {error}"))
}
