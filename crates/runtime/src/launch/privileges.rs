//! Programs whose file would give them another user, group or capabilities: set-user-ID and
//! set-group-ID programs, and files with capabilities, see execve(2) and capabilities(7).
//!
//! A filter demands `PR_SET_NO_NEW_PRIVS`, under which the kernel runs such a program without what
//! its file gives it. It would fail later, in words of its own; so it is refused, in words of ours.
//! Where the kernel would give nothing natively either, the program runs: its user has it all
//! already, the file lies on a `nosuid` mount, or other users are not known in its name space.

use std::ffi::CString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who a program is before the exec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Who {
    user: u32,
    group: u32,
}

/// What a file gives to whoever runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gift {
    user: Option<u32>,
    group: Option<u32>,
    capabilities: bool,
}

/// Why a process that has just become a program lacks what the file of it should give it; `None`
/// if it lacks nothing.
pub(super) fn missing(process: libc::pid_t) -> Option<String> {
    let file = format!("/proc/{process}/exe");
    let gift = Gift::of(Path::new(&file), &fs::metadata(&file).ok()?);
    let who = Who::of(process)?;
    let what = gift.beyond(who)?;
    let elsewhere = || fs::read_link(format!("/proc/{process}/ns/user")).ok() != own_users();
    if elsewhere() || ignores_gifts(&file) {
        return None;
    }
    Some(format!(
        "it must run {what}, which is not possible for programs in virtual time; run qcycle as \
         a user with these rights, or a copy of the file without them"
    ))
}

fn own_users() -> Option<std::path::PathBuf> {
    fs::read_link("/proc/self/ns/user").ok()
}

impl Gift {
    fn of(path: &Path, file: &Metadata) -> Self {
        // Without the right to execute for the group, the bit means mandatory locks.
        const SET_GROUP: u32 = libc::S_ISGID | libc::S_IXGRP;
        let mode = file.mode();
        Self {
            user: (mode & libc::S_ISUID != 0).then_some(file.uid()),
            group: (mode & SET_GROUP == SET_GROUP).then_some(file.gid()),
            capabilities: has_capabilities(path),
        }
    }

    /// What of it `who` does not have, in words.
    fn beyond(self, who: Who) -> Option<String> {
        match self {
            Self { user: Some(user), .. } if user != who.user => Some(format!("as user {user}")),
            Self { group: Some(group), .. } if group != who.group => {
                Some(format!("as group {group}"))
            }
            Self { capabilities: true, .. } if who.user != 0 => {
                Some("with the capabilities of its file".to_owned())
            }
            _ => None,
        }
    }
}

impl Who {
    fn of(process: libc::pid_t) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        // Real, effective, saved and that of the file system.
        let effective = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        Some(Self { user: effective("Uid:")?, group: effective("Gid:")? })
    }
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let name = c"security.capability";
    // SAFETY: two C strings; a length of zero asks for the size only.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// Whether the file lies on a mount that gives nothing.
fn ignores_gifts(file: &str) -> bool {
    let flags = || -> io::Result<libc::c_ulong> {
        let path = CString::new(file)?;
        // SAFETY: a structure of integers, of which the kernel fills all or none.
        let mut about: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: a C string and a live structure.
        match unsafe { libc::statvfs(path.as_ptr(), &raw mut about) } {
            0 => Ok(about.f_flag),
            _ => Err(io::Error::last_os_error()),
        }
    };
    flags().is_ok_and(|flags| flags & libc::ST_NOSUID != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Who = Who { user: 1000, group: 100 };
    const ROOT: Who = Who { user: 0, group: 0 };
    const NOTHING: Gift = Gift { user: None, group: None, capabilities: false };

    #[test]
    fn a_file_that_gives_what_one_has_gives_nothing() {
        assert_eq!(NOTHING.beyond(USER), None);
        assert_eq!(Gift { user: Some(1000), group: Some(100), ..NOTHING }.beyond(USER), None);
        assert_eq!(Gift { user: Some(0), capabilities: true, ..NOTHING }.beyond(ROOT), None);
    }

    #[test]
    fn another_user_another_group_and_capabilities_are_told_by_name() {
        let told = |gift: Gift, who| gift.beyond(who).unwrap();
        assert_eq!(told(Gift { user: Some(0), ..NOTHING }, USER), "as user 0");
        assert_eq!(told(Gift { user: Some(1000), ..NOTHING }, ROOT), "as user 1000");
        assert_eq!(told(Gift { group: Some(42), ..NOTHING }, USER), "as group 42");
        let capable = Gift { capabilities: true, ..NOTHING };
        assert_eq!(told(capable, USER), "with the capabilities of its file");
    }
}
