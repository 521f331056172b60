//! Namespaces for a node, none of which has a name on the host: what a process makes in them is
//! gone when the last process in them is. namespaces(7), mount_namespaces(7), pid_namespaces(7)

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use libc::{c_int, c_long};

/// Gives the calling process, which must have one thread, fresh namespaces for mounts, network,
/// IPC and host name, and forks the first process of a fresh one for processes. Answers the number
/// of that to the caller, which stays outside, as its other children do; 0 in the first, which dies
/// with the caller. The caller is invisible to whatever runs in the namespace of processes.
///
/// # Errors
/// When the kernel refuses, with what it refused.
pub fn enter() -> io::Result<libc::pid_t> {
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    // SAFETY: takes a number.
    check(unsafe { libc::unshare(flags) }, "make namespaces (needs root or user namespaces)")?;
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mount(None, c"/", None, private, None)
        .map_err(|error| explained(&error, "part with mounts"))?;
    // SAFETY: this process has one thread, so its copy is whole.
    let child = unsafe { fork(libc::CLONE_NEWPID, None) };
    let child = child.map_err(|error| explained(&error, "make a namespace of processes"))?;
    if child == 0 {
        // SAFETY: takes numbers, and cannot fail. The process outside dies with the agent, and
        // this one with it.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    }
    Ok(child)
}

/// Lets the next children of the calling process be in the namespace of processes of another one.
/// setns(2)
///
/// # Errors
/// When that one is gone, or the kernel refuses.
pub fn put_children_where(process: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes numbers.
    match unsafe { libc::setns(process.as_raw_fd(), libc::CLONE_NEWPID) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// fork(2) with flags of clone(2), which library functions do not take. Before the child runs, the
/// kernel stores its number, as the caller sees it, in the word (`CLONE_PARENT_SETTID`).
///
/// # Errors
/// When the kernel refuses.
///
/// # Safety
/// The calling process must have one thread, or its copy make nothing but system calls; and no flag
/// may let the two share memory.
pub unsafe fn fork(flags: c_int, number: Option<&AtomicU32>) -> io::Result<libc::pid_t> {
    let (word, told) =
        number.map_or((std::ptr::null_mut(), 0), |word| (word.as_ptr(), libc::CLONE_PARENT_SETTID));
    let flags = c_long::from(flags | told | libc::SIGCHLD);
    // SAFETY: as the caller says; without a stack of its own, the child goes on with a copy of
    // this one. The word outlives the call.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, word, 0, 0) };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child as libc::pid_t) }
}

/// Makes the calling process, which must have one thread, root of a user namespace of its own,
/// so that an ordinary user can have the other namespaces. user_namespaces(7)
///
/// # Errors
/// When this host lets ordinary users have none.
pub fn become_root_of_own() -> io::Result<()> {
    // SAFETY: these take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: takes a number.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, "make a user namespace")?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Whether this process may do what only root may, in its user namespace.
#[must_use]
pub fn is_root() -> bool {
    effective_user() == 0
}

/// The user that this process acts for.
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Names the host of this namespace.
///
/// # Errors
/// When the name is too long.
pub fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: the kernel reads as many octets as it is told.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }, "set the host name")
        .map(drop)
}

/// Gives the calling process a root folder of its own, in memory, that shows everything the host
/// has, a `/proc` of its own namespace, and additional empty folders to mount on: mount points
/// need folders, and none may be made on the host.
///
/// # Errors
/// When the kernel refuses a mount, with which.
pub fn private_root(additional: &[&str]) -> io::Result<()> {
    // Everything at the root is cloned before anything is mounted over it.
    let mut entries = Vec::new();
    for entry in fs::read_dir("/")? {
        let entry = entry?;
        if entry.path() != Path::new("/proc") {
            entries.push((entry.file_name(), Entry::of(&entry)?));
        }
    }
    let stage_path = Path::new("/tmp");
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mount(Some(c"tmpfs"), c"/tmp", Some(c"tmpfs"), flags, Some(c"mode=0755"))
        .map_err(|error| explained(&error, "mount a root in memory"))?;
    for (name, entry) in entries {
        entry.show(&stage_path.join(&name))?;
    }
    for folder in additional {
        fs::create_dir_all(stage_path.join(folder.trim_start_matches('/')))?;
    }
    let proc = stage_path.join("proc");
    fs::create_dir_all(&proc)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(c"proc"), &text(&proc)?, Some(c"proc"), flags, None)
        .map_err(|error| explained(&error, "mount /proc"))?;
    std::env::set_current_dir(stage_path)?;
    // pivot_root(".", ".") puts the old root on top of the new one, to be taken off again.
    let here = c".".as_ptr();
    // SAFETY: both arguments are C strings.
    let changed = unsafe { libc::syscall(libc::SYS_pivot_root, here, here) };
    check(changed as i32, "change the root")?;
    // SAFETY: a C string and a number.
    check(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) }, "leave the old root")?;
    std::env::set_current_dir("/")
}

/// Something at the root of the host, and how it comes to be at another root.
enum Entry {
    Folder(OwnedFd),
    File(OwnedFd),
    Link(PathBuf),
}

impl Entry {
    fn of(entry: &fs::DirEntry) -> io::Result<Self> {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_symlink() {
            return fs::read_link(&path).map(Self::Link);
        }
        let clone = clone_tree(&path)?;
        Ok(if kind.is_dir() { Self::Folder(clone) } else { Self::File(clone) })
    }

    fn show(self, at: &Path) -> io::Result<()> {
        match self {
            Self::Link(target) => std::os::unix::fs::symlink(target, at),
            Self::Folder(clone) => {
                fs::create_dir(at)?;
                attach(&clone, at)
            }
            Self::File(clone) => {
                fs::File::create(at)?;
                attach(&clone, at)
            }
        }
    }
}

/// A detached copy of a tree of mounts. open_tree(2)
fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    let flags =
        OPEN_TREE_CLONE | libc::O_CLOEXEC.unsigned_abs() | libc::AT_RECURSIVE.unsigned_abs();
    let path_text = text(path)?;
    // SAFETY: the path is a C string; the result is checked and owned by nobody else.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path_text.as_ptr(), flags);
        check(fd as i32, &format!("copy the mount of {}", path.display()))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Attaches a detached tree. move_mount(2)
fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    let at_text = text(at)?;
    // SAFETY: the paths are C strings and the descriptor is open.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            at_text.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(result as i32, &format!("mount {}", at.display())).map(drop)
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: each pointer is null or a live C string.
    let result = unsafe {
        libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, pointer(options).cast())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn check(result: i32, doing: &str) -> io::Result<i32> {
    if result >= 0 { Ok(result) } else { Err(explained(&io::Error::last_os_error(), doing)) }
}

fn explained(error: &io::Error, doing: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {doing}: {error}"))
}
