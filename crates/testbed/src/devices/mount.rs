//! Mounts the folder of points, or a single file, for the calling process, without helpers and without libfuse.

use std::ffi::{CStr, CString};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use os::namespaces;
use rustix::mount::{MountFlags, mount};
use rustix::process::getegid;

/// Mounts a FUSE file system on `target` in the mount namespace of the calling thread and
/// answers the device to pass to [`serve`](super::serve). Until that runs, a program that looks into
/// the folder waits. All users may look; the kernel checks permissions.
///
/// # Errors
/// When `/dev/fuse` cannot be opened or the kernel refuses the mount, with what was tried.
pub fn mount_here(target: &Path) -> io::Result<OwnedFd> {
    mount_as(c"plant", libc::S_IFDIR, target).map_err(|error| {
        explained(&error, &format!("mount the plant's points on {}", target.display()))
    })
}

/// Mounts a file on `target`, which is one too or a device, and answers the device to pass to
/// [`Randomness::serve`](super::Randomness::serve): a file there.
///
/// # Errors
/// As [`mount_here`].
pub(super) fn mount_file_here(target: &Path) -> io::Result<OwnedFd> {
    mount_as(c"random", libc::S_IFREG, target)
        .map_err(|error| explained(&error, &format!("mount a file on {}", target.display())))
}

/// Opens the device of a new mount.
///
/// # Errors
/// When this user may not, or the kernel has no FUSE.
pub fn open_fuse() -> io::Result<OwnedFd> {
    // Reads answer at once: a request may be withdrawn between the moment it is announced and the
    // moment it is read.
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open("/dev/fuse")
        .map_err(|error| explained(&error, "open /dev/fuse (is the kernel module fuse loaded?)"))?;
    Ok(device.into())
}

fn mount_as(source: &CStr, kind: u32, target: &Path) -> io::Result<OwnedFd> {
    let device = open_fuse()?;
    let (user, group) = user();
    let options = CString::new(format!(
        "fd={},rootmode={kind:o},user_id={user},group_id={group},allow_other,default_permissions",
        device.as_raw_fd()
    ))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
    mount(source, target, "fuse.quartercycle", flags, options.as_c_str())?;
    Ok(device)
}

pub(super) fn user() -> (u32, u32) {
    (namespaces::effective_user(), getegid().as_raw())
}

fn explained(error: &io::Error, doing: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {doing}: {error}"))
}
