//! Programs whose file would give them another user, group or capabilities: set-user-ID and
//! set-group-ID programs, and files with capabilities, see execve(2) and capabilities(7).
//!
//! A filter demands `PR_SET_NO_NEW_PRIVS`, under which the kernel runs such a program without what
//! its file gives it. It would fail later, in words of its own; so it is refused, in words of ours.
//! Where the kernel would give nothing natively either, the program runs: its user has it all
//! already, the file lies on a `nosuid` mount, or other users are not known in its name space.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use os::process::{field, status_of};
use rustix::fs::{StatVfsMountFlags, statvfs};

/// User and group of a program before the exec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Credentials {
    user: u32,
    group: u32,
}

/// What a file gives to the process that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FilePrivileges {
    user: Option<u32>,
    group: Option<u32>,
    capabilities: bool,
}

/// Why a process that has just become a program lacks what the file of it should give it; `None`
/// if it lacks nothing.
pub(super) fn missing(process: libc::pid_t) -> Option<String> {
    let file = format!("/proc/{process}/exe");
    let privileges = FilePrivileges::of(Path::new(&file), &fs::metadata(&file).ok()?);
    let credentials = Credentials::of(process)?;
    let what = privileges.beyond(credentials)?;
    let elsewhere = || fs::read_link(format!("/proc/{process}/ns/user")).ok() != own_users();
    if elsewhere() || is_nosuid(&file) {
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

impl FilePrivileges {
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
    fn beyond(self, credentials: Credentials) -> Option<String> {
        match self {
            Self { user: Some(user), .. } if user != credentials.user => {
                Some(format!("as user {user}"))
            }
            Self { group: Some(group), .. } if group != credentials.group => {
                Some(format!("as group {group}"))
            }
            Self { capabilities: true, .. } if credentials.user != 0 => {
                Some("with the capabilities of its file".to_owned())
            }
            _ => None,
        }
    }
}

impl Credentials {
    fn of(process: libc::pid_t) -> Option<Self> {
        let status = status_of(process);
        // Real, effective, saved and that of the file system.
        let effective = |name: &str| field(&status, name)?.split_whitespace().nth(1)?.parse().ok();
        Some(Self { user: effective("Uid")?, group: effective("Gid")? })
    }
}

fn has_capabilities(path: &Path) -> bool {
    // No buffer: only the length is wanted.
    rustix::fs::getxattr(path, c"security.capability", &mut [0_u8; 0])
        .is_ok_and(|length| length > 0)
}

/// Whether the file lies on a mount that gives nothing.
fn is_nosuid(file: &str) -> bool {
    statvfs(file).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Credentials = Credentials { user: 1000, group: 100 };
    const ROOT: Credentials = Credentials { user: 0, group: 0 };
    const NOTHING: FilePrivileges = FilePrivileges { user: None, group: None, capabilities: false };

    #[test]
    fn a_file_that_gives_what_one_has_gives_nothing() {
        let own = FilePrivileges { user: Some(1000), group: Some(100), ..NOTHING };
        let all = FilePrivileges { user: Some(0), capabilities: true, ..NOTHING };
        for (privileges, who) in [(NOTHING, USER), (own, USER), (all, ROOT)] {
            assert_eq!(privileges.beyond(who), None, "{privileges:?} {who:?}");
        }
    }

    #[test]
    fn another_user_another_group_and_capabilities_are_reported_by_name() {
        let user = |user| FilePrivileges { user: Some(user), ..NOTHING };
        let group = FilePrivileges { group: Some(42), ..NOTHING };
        let capable = FilePrivileges { capabilities: true, ..NOTHING };
        for (privileges, who, missing) in [
            (user(0), USER, "as user 0"),
            (user(1000), ROOT, "as user 1000"),
            (group, USER, "as group 42"),
            (capable, USER, "with the capabilities of its file"),
        ] {
            assert_eq!(privileges.beyond(who).as_deref(), Some(missing));
        }
    }
}
