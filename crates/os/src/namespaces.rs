//! Namespaces for a node, none of which has a name on the host: what a process makes in them is
//! gone when the last process in them is. namespaces(7), mount_namespaces(7), pid_namespaces(7)

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use libc::{c_int, c_long};
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{Signal, getegid, geteuid, pivot_root, set_parent_process_death_signal};
use rustix::system::sethostname;
use rustix::thread::{
    LinkNameSpaceType, ThreadNameSpaceType, UnshareFlags, move_into_link_name_space,
    move_into_thread_name_spaces, unshare_unsafe,
};

/// Gives the calling process, which must have one thread, fresh namespaces for mounts, network,
/// IPC and host name, and forks the first process of a fresh one for processes. Returns the number
/// of that to the caller, which stays outside, as its other children do; 0 in the first, which dies
/// with the caller. The caller is invisible to whatever runs in the namespace of processes.
pub fn enter() -> io::Result<libc::pid_t> {
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC;
    // SAFETY: descriptors stay shared.
    unsafe { unshare_unsafe(flags | UnshareFlags::NEWUTS) }
        .map_err(doing("make namespaces (needs root or user namespaces)"))?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(doing("part with mounts"))?;
    // SAFETY: this process has one thread, so its copy is whole.
    let child = unsafe { fork(libc::CLONE_NEWPID, None) };
    let child = child.map_err(doing("make a namespace of processes"))?;
    if child == 0 {
        // The process outside dies with the agent, and this one with it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    Ok(child)
}

/// Lets the next children of the calling process be in the namespace of processes of another one.
/// setns(2)
pub fn put_children_where(process: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_thread_name_spaces(process, ThreadNameSpaceType::PROCESS_ID)?)
}

/// Moves the calling thread into a network namespace. setns(2)
pub fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
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
    let (word, store) =
        number.map_or((std::ptr::null_mut(), 0), |word| (word.as_ptr(), libc::CLONE_PARENT_SETTID));
    let flags = c_long::from(flags | store | libc::SIGCHLD);
    // SAFETY: as the caller says; without a stack of its own, the child goes on with a copy of
    // this one. The word outlives the call.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, word, 0, 0) };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child as libc::pid_t) }
}

/// Makes the calling process, which must have one thread, root of a user namespace of its own,
/// so that an ordinary user can have the other namespaces. user_namespaces(7)
pub fn become_root_of_own() -> io::Result<()> {
    let (user, group) = (effective_user(), getegid().as_raw());
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(doing("make a user namespace"))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Whether this process may do what only root may, in its user namespace.
pub fn is_root() -> bool {
    effective_user() == 0
}

/// The user that this process acts for.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// Names the host of this namespace.
pub fn set_host_name(name: &str) -> io::Result<()> {
    sethostname(name.as_bytes()).map_err(doing("set the host name"))
}

/// Gives the calling process a root folder of its own, in memory, that shows everything the host
/// has, a `/proc` of its own namespace, and additional empty folders to mount on: mount points
/// need folders, and none may be made on the host.
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
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", stage_path, "tmpfs", flags, Some(c"mode=0755"))
        .map_err(doing("mount a root in memory"))?;
    for (name, entry) in entries {
        entry.show(&stage_path.join(&name))?;
    }
    for folder in additional {
        fs::create_dir_all(stage_path.join(folder.trim_start_matches('/')))?;
    }
    let proc = stage_path.join("proc");
    fs::create_dir_all(&proc)?;
    mount("proc", &proc, "proc", flags | MountFlags::NOEXEC, None).map_err(doing("mount /proc"))?;
    std::env::set_current_dir(stage_path)?;
    // pivot_root(".", ".") puts the old root on top of the new one, to be taken off again.
    pivot_root(".", ".").map_err(doing("change the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(doing("leave the old root"))?;
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
        // A detached copy of a tree of mounts.
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let clone = open_tree(CWD, &path, flags)
            .map_err(doing(&format!("copy the mount of {}", path.display())))?;
        Ok(if kind.is_dir() { Self::Folder(clone) } else { Self::File(clone) })
    }

    fn show(self, at: &Path) -> io::Result<()> {
        match self {
            Self::Link(target) => std::os::unix::fs::symlink(target, at),
            Self::Folder(clone) => fs::create_dir(at).and_then(|()| attach(&clone, at)),
            Self::File(clone) => fs::File::create(at).and_then(|_| attach(&clone, at)),
        }
    }
}

fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(doing(&format!("mount {}", at.display())))
}

/// Adds to an error what could not be done.
fn doing<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> io::Error {
    move |error| {
        let error = error.into();
        io::Error::new(error.kind(), format!("cannot {what}: {error}"))
    }
}
