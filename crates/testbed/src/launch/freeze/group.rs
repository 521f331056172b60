//! A control group with the programs of one domain in it, which freezes and thaws them as one:
//! cgroups(7), the kernel's cgroup-v2.rst ("cgroup.freeze") and cgroup-v1/freezer-subsystem.rst.
//!
//! The group lies below that of the agent, so nobody's share of the machine changes. Its name
//! says whose it is: a later agent that finds it without its owner removes it ([`sweep`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libc::pid_t;

use super::method::Method;
use super::threads;
use crate::launch::namespaces;

const PREFIX: &str = "quartercycle";
/// How long programs that were killed may take to leave the group.
const EMPTY_LONGEST: Duration = Duration::from_secs(2);

/// The version of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V1,
    V2,
}

/// A group of its own.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    version: Version,
    freeze: File,
    /// What says whether all are frozen; in v1 the same file.
    events: File,
}

impl Group {
    /// Makes a group below that of this process.
    ///
    /// # Errors
    /// With the reason: such groups are not mounted here, or are not for this user.
    pub(super) fn make(method: Method) -> io::Result<Self> {
        let version = match method {
            Method::CgroupV2 => Version::V2,
            Method::CgroupV1 => Version::V1,
            Method::Ptrace => return Err(io::ErrorKind::Unsupported.into()),
        };
        let parent = own_folder(version)?;
        sweep_folder(&parent);
        let folder = parent.join(own_name()?);
        fs::create_dir(&folder).map_err(|error| named(&error, &folder))?;
        Self::open(folder.clone()).inspect_err(|_| drop(fs::remove_dir(&folder)))
    }

    /// One that is there.
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        let v2 = folder.join("cgroup.freeze");
        let (version, freeze, events) = if v2.exists() {
            (Version::V2, v2, folder.join("cgroup.events"))
        } else {
            let state = folder.join("freezer.state");
            (Version::V1, state.clone(), state)
        };
        let write = OpenOptions::new().write(true).open(&freeze);
        let freeze = write.map_err(|error| named(&error, &freeze))?;
        let events = File::open(&events).map_err(|error| named(&error, &events))?;
        Ok(Self { folder, version, freeze, events })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a process into the group, with all that it will ever start.
    pub(super) fn add(&self, process: pid_t) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process.to_string())
    }

    /// Asks for all to be frozen.
    pub(super) fn freeze(&mut self) -> io::Result<()> {
        self.freeze.write_all(if self.version == Version::V2 { b"1" } else { b"FROZEN" })
    }

    /// Lets all go on.
    pub(super) fn thaw(&mut self) -> io::Result<()> {
        self.freeze.write_all(if self.version == Version::V2 { b"0" } else { b"THAWED" })
    }

    /// Whether all are frozen.
    pub(super) fn is_frozen(&mut self) -> bool {
        let mut text = String::new();
        let read = self.events.rewind().and_then(|()| self.events.read_to_string(&mut text));
        read.is_ok() && text.lines().any(|line| line == "frozen 1" || line == "FROZEN")
    }

    /// Waits for a change of [`Self::is_frozen`], at most so long; where nobody tells of one,
    /// only for a moment.
    pub(super) fn wait(&self, longest: Duration) {
        const MOMENT: Duration = Duration::from_micros(50);
        if self.version == Version::V1 {
            return std::thread::sleep(MOMENT.min(longest));
        }
        let until = crate::domain::host_now()
            + vtime::HostSpan::from_ns(i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX));
        let mut entry = crate::domain::readable(self.events.as_fd());
        entry.events = libc::POLLPRI;
        // That it cannot be polled means to look again, as a change does.
        let _ = crate::domain::poll_until(&mut [entry], Some(until));
    }

    /// The threads in it.
    pub(super) fn threads(&self) -> Vec<pid_t> {
        let file = if self.version == Version::V2 { "cgroup.threads" } else { "tasks" };
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Whether a thread must be let go before it can be traced: in v1 it only stops then.
    pub(super) fn stops_after_thaw(&self) -> bool {
        self.version == Version::V1
    }

    /// Thaws what is in it, kills what has not left after `patience`, and removes it.
    pub(super) fn end(mut self, patience: Duration) {
        // Removed by somebody else already, if not.
        let _ = self.thaw();
        let begun = Instant::now();
        while fs::remove_dir(&self.folder).is_err_and(|e| e.kind() != io::ErrorKind::NotFound) {
            if begun.elapsed() > patience {
                for thread in self.threads() {
                    // SAFETY: takes numbers; it is in the group of programs that shall end.
                    unsafe { libc::kill(thread, libc::SIGKILL) };
                }
            }
            if begun.elapsed() > patience + EMPTY_LONGEST {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Removes groups whose agents are gone, and ends what is in them. Answers how many there were.
pub fn sweep() -> usize {
    let folders = [Version::V2, Version::V1].map(own_folder);
    folders.iter().flatten().map(|folder| sweep_folder(folder)).sum()
}

fn sweep_folder(parent: &Path) -> usize {
    let Ok(entries) = fs::read_dir(parent) else { return 0 };
    let Ok(namespace) = namespace() else { return 0 };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let dead = names.filter(|name| is_orphan(name, namespace) && is_own(&parent.join(name)));
    let dead: Vec<String> = dead.collect();
    let groups = dead.iter().filter_map(|name| Group::open(parent.join(name)).ok());
    groups.map(|group| group.end(Duration::ZERO)).count()
}

/// Whether this user has made a group: where groups are handed on to somebody else, that user may
/// give one any name.
fn is_own(group: &Path) -> bool {
    let user = namespaces::effective_user();
    fs::symlink_metadata(group).is_ok_and(|found| found.is_dir() && found.uid() == user)
}

/// Whether a folder is the group of an agent that is gone. Numbers of processes mean something
/// in their own namespace only.
fn is_orphan(name: &str, own_namespace: u64) -> bool {
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().split('-').skip(1);
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (Some(namespace), Some(process), Some(begun)) = (number(), number(), number()) else {
        return false;
    };
    let Ok(process) = pid_t::try_from(process) else { return false };
    namespace == own_namespace && threads::begun(process) != Some(begun)
}

fn own_name() -> io::Result<String> {
    let own = std::process::id();
    let begun = threads::begun(own.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("{PREFIX}-{}-{own}-{begun}", namespace()?))
}

/// The namespace of process numbers that this process is in.
fn namespace() -> io::Result<u64> {
    fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino())
}

/// The folder of this process's own group.
fn own_folder(version: Version) -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    folder_of(version, &mounts, &groups)
}

/// As [`own_folder`], from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn folder_of(version: Version, mounts: &str, groups: &str) -> io::Result<PathBuf> {
    let own = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let fits = match version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|controller| controller == "freezer"),
        };
        fits.then_some(path)
    });
    let own = own.ok_or_else(|| io::Error::other("this kernel has none"))?;
    let mounted = mounts.lines().find_map(|line| {
        let (mount, super_block) = line.split_once(" - ")?;
        let (mut mount, mut super_block) = (mount.split(' ').skip(3), super_block.split(' '));
        let (root, folder) = (mount.next()?, mount.next()?);
        let (kind, options) = (super_block.next()?, super_block.nth(1)?);
        let fits = match version {
            Version::V2 => kind == "cgroup2",
            Version::V1 => kind == "cgroup" && options.split(',').any(|option| option == "freezer"),
        };
        let below = Path::new(own).strip_prefix(root).ok()?;
        fits.then(|| Path::new(folder).join(below))
    });
    mounted.ok_or_else(|| io::Error::other("it is not mounted where this process sees it"))
}

fn named(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
35 30 0:31 /docker/abc /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
36 30 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
";

    #[test]
    fn the_own_group_is_found_whatever_is_mounted_where() {
        let groups = "5:freezer:/docker/abc/inner\n3:cpu,cpuacct:/\n0::/user.slice/a\n";
        let folder = |version| folder_of(version, MOUNTS, groups).unwrap();
        assert_eq!(folder(Version::V2), Path::new("/sys/fs/cgroup/unified/user.slice/a"));
        assert_eq!(folder(Version::V1), Path::new("/sys/fs/cgroup/freezer/inner"));
        let elsewhere = folder_of(Version::V1, MOUNTS, "5:freezer:/\n").unwrap_err();
        assert!(elsewhere.to_string().contains("not mounted"), "{elsewhere}");
        let none = folder_of(Version::V1, MOUNTS, "0::/\n").unwrap_err();
        assert!(none.to_string().contains("has none"), "{none}");
    }

    #[test]
    fn only_groups_of_agents_that_are_gone_are_orphans() {
        let namespace = namespace().unwrap();
        assert!(!is_orphan(&own_name().unwrap(), namespace), "this one lives");
        let own = std::process::id();
        assert!(is_orphan(&format!("{PREFIX}-{namespace}-{own}-1"), namespace), "a reused number");
        assert!(!is_orphan(&format!("{PREFIX}-{}-{own}-1", namespace + 1), namespace));
        for foreign in ["quartercycle", "quartercycle-1", "system.slice", "quartercycle-a-b-c"] {
            assert!(!is_orphan(foreign, namespace), "{foreign}");
        }
    }

    #[test]
    fn groups_that_somebody_else_has_made_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let [own, link] = ["own", "link"].map(|name| parent.path().join(name));
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(is_own(&own) && !is_own(&link) && !is_own(&parent.path().join("gone")));
        if std::os::unix::fs::chown(&own, Some(65_534), None).is_ok() {
            assert!(!is_own(&own));
        } else {
            println!("not measured: only root gives folders to others");
        }
    }
}
