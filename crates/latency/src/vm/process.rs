//! What QEMU is given on its way from fork to exec, and what its threads get while it runs.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// A file in memory, which vanishes with the last that has it open.
pub(super) fn file_in_memory(name: &CStr, content: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a C string, and the descriptor is checked before it is taken over.
    let mut file = unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.write_all(content)?;
    Ok(file)
}

/// Lets the program that `command` starts end with the thread that starts it, however that ends.
pub(super) fn end_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let die_with_parent = move || {
        os::signals::die_with_parent()?;
        // The parent has ended before the kernel knew whom to watch.
        if std::os::unix::process::parent_id() != parent {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: two system calls between fork and exec, and no memory is asked for.
    unsafe { command.pre_exec(die_with_parent) };
}
