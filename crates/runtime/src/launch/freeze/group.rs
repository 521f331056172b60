//! A control group with the programs of one domain in it, which freezes and thaws them as one:
//! cgroups(7), the kernel's cgroup-v2.rst ("cgroup.freeze") and cgroup-v1/freezer-subsystem.rst.
//!
//! The group lies below that of the agent, so nobody's share of the machine changes. Its name
//! says whose it is: a later agent that finds it without its owner removes it ([`sweep`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libc::pid_t;
use rustix::event::{PollFd, PollFlags};

use super::account::Method;
use os::namespaces;
use os::process::{Identity, Process};

const PREFIX: &str = "quartercycle";
/// How long programs that were killed may take to leave the group.
pub(super) const EMPTY_LONGEST: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V1,
    V2,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) folder: PathBuf,
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
        sweep_in_passing(&parent);
        let folder = parent.join(own_name()?);
        fs::create_dir(&folder).map_err(|error| named(&error, &folder))?;
        Self::open(folder.clone()).inspect_err(|_| drop(fs::remove_dir(&folder)))
    }

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

    /// Puts a process into the group, with all that it will ever start. A stranger that has been given
    /// the number meanwhile goes back to where it was.
    pub(super) fn add(&self, process: Identity) -> io::Result<()> {
        let number = process.number.to_string();
        let before = fs::read_to_string(format!("/proc/{number}/cgroup"))?;
        fs::write(self.folder.join("cgroup.procs"), &number)?;
        if process.is_there() {
            return Ok(());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        fs::write(folder_of(self.version, &mounts, &before)?.join("cgroup.procs"), &number)
    }

    pub(super) fn freeze(&mut self) -> io::Result<()> {
        self.freeze.write_all(if self.version == Version::V2 { b"1" } else { b"FROZEN" })
    }

    pub(super) fn thaw(&mut self) -> io::Result<()> {
        self.freeze.write_all(if self.version == Version::V2 { b"0" } else { b"THAWED" })
    }

    pub(super) fn is_frozen(&mut self) -> bool {
        let mut text = String::new();
        let read = self.events.rewind().and_then(|()| self.events.read_to_string(&mut text));
        read.is_ok() && text.lines().any(|line| line == "frozen 1" || line == "FROZEN")
    }

    /// Waits for a change of [`Self::is_frozen`], at most so long; where the kernel reports none,
    /// only for a moment.
    pub(super) fn wait(&self, longest: Duration) {
        const MOMENT: Duration = Duration::from_micros(50);
        if self.version == Version::V1 {
            return std::thread::sleep(MOMENT.min(longest));
        }
        let until = domain::host_now()
            + vtime::HostSpan::from_ns(i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX));
        let entry = PollFd::new(&self.events, PollFlags::PRI);
        // That it cannot be polled means to look again, as a change does.
        let _ = domain::poll_until(&mut [entry], Some(until));
    }

    /// The threads in it, and in groups that programs have made below it.
    pub(super) fn threads(&self) -> Vec<pid_t> {
        let file = if self.version == Version::V2 { "cgroup.threads" } else { "tasks" };
        numbers(&folders(&self.folder), file)
    }

    /// Whether a thread is in it: numbers are given to others when their owners are gone.
    pub(super) fn has(&self, thread: pid_t) -> bool {
        let groups = fs::read_to_string(format!("/proc/{thread}/cgroup")).unwrap_or_default();
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        groups.lines().any(|line| line.split('/').any(|part| part == name))
    }

    /// Whether a thread must be detached before it can be traced: in v1 it only stops then.
    pub(super) fn stops_after_thaw(&self) -> bool {
        self.version == Version::V1
    }

    /// Thaws what is in it, kills what has not left after `patience`, and removes it, with the groups
    /// that programs have made below it. Returns whether it is gone after at most `longest` more:
    /// a process that waits for a file system which hangs cannot be killed.
    pub(super) fn end(mut self, patience: Duration, longest: Duration) -> bool {
        let begun = Instant::now();
        loop {
            let (waited, folders) = (begun.elapsed(), folders(&self.folder));
            // Removed by somebody else already, if not.
            let _ = self.thaw();
            if waited >= patience {
                self.kill(&folders);
            }
            // From the lowest up.
            for folder in folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
            if !self.folder.exists() {
                return true;
            }
            if waited >= patience + longest {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill(&self, folders: &[PathBuf]) {
        for folder in folders.iter().filter(|_| self.version == Version::V1) {
            // It may have been frozen by itself.
            let _ = fs::write(folder.join("freezer.state"), "THAWED");
        }
        // Linux 5.14.
        if fs::write(self.folder.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        for process in numbers(folders, "cgroup.procs") {
            // The handle is that of one process; only then it is looked whether it is in here.
            if let Ok(handle) = Process::open(process)
                && self.has(process)
            {
                handle.kill();
            }
        }
    }
}

/// A folder and those below it, each before its own. Programs may make as many as they like, and
/// remove them meanwhile.
fn folders(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut looked) = (vec![top.to_owned()], 0);
    while let Some(folder) = found.get(looked) {
        looked += 1;
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
        found.extend(below);
    }
    found
}

fn numbers(folders: &[PathBuf], file: &str) -> Vec<pid_t> {
    let texts = folders.iter().filter_map(|folder| fs::read_to_string(folder.join(file)).ok());
    texts
        .flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// What became of the groups of agents that are gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    pub removed: usize,
    /// Those that could not be, with the processes in them that do not end.
    pub left: Vec<(PathBuf, Vec<i32>)>,
}

/// Removes groups whose agents are gone, and ends what is in them.
pub fn sweep() -> Swept {
    let mut swept = Swept::default();
    for folder in [Version::V2, Version::V1].map(own_folder).iter().flatten() {
        for orphan in orphans(folder) {
            let Ok(group) = Group::open(orphan.clone()) else { continue };
            if group.end(Duration::ZERO, EMPTY_LONGEST) {
                swept.removed += 1;
            } else {
                let processes = numbers(&folders(&orphan), "cgroup.procs");
                swept.left.push((orphan, processes));
            }
        }
    }
    swept
}

/// The same without waiting for anything: what is not gone at once, the next agent finds.
fn sweep_in_passing(parent: &Path) {
    for orphan in orphans(parent) {
        if let Ok(group) = Group::open(orphan) {
            group.end(Duration::ZERO, Duration::ZERO);
        }
    }
}

fn orphans(parent: &Path) -> Vec<PathBuf> {
    let (Ok(entries), Ok(namespace)) = (fs::read_dir(parent), namespace()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let dead = names.filter(|name| is_orphan(name, namespace) && is_own(&parent.join(name)));
    dead.map(|name| parent.join(name)).collect()
}

/// Whether this user has made a group: where groups are handed on to somebody else, that user may
/// give one any name.
fn is_own(group: &Path) -> bool {
    let user = namespaces::effective_user();
    fs::symlink_metadata(group).is_ok_and(|found| found.is_dir() && found.uid() == user)
}

/// Whether a folder is the group of an agent that is gone. Numbers of processes mean something
/// in their own namespace only, and so do the moments at which they began.
fn is_orphan(name: &str, own_namespace: u64) -> bool {
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().split('-').skip(1);
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (Some(namespace), Some(process), Some(begun)) = (number(), number(), number()) else {
        return false;
    };
    let Ok(process) = pid_t::try_from(process) else { return false };
    namespace == own_namespace
        && Identity::of_process(process).map(|now| now.began).ok() != Some(begun)
}

fn own_name() -> io::Result<String> {
    let own = std::process::id();
    let begun = Identity::of_process(own.cast_signed())?.began;
    Ok(format!("{PREFIX}-{}-{own}-{begun}", namespace()?))
}

/// The namespaces that this process is in of process numbers and of time, from which one sees when another process began
/// (time_namespaces(7)); both numbers have 32 bits. Linux before 5.6 has the former alone.
fn namespace() -> io::Result<u64> {
    let of = |kind| fs::metadata(format!("/proc/self/ns/{kind}")).map(|namespace| namespace.ino());
    Ok((of("pid")? << 32) | of("time").unwrap_or(0))
}

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
    mounted.ok_or_else(|| io::Error::other("it is not mounted where this process can see it"))
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

    /// A group of this name, if this user may make one.
    fn named_group(name: &str) -> Option<Group> {
        let made = [Version::V2, Version::V1].into_iter().find_map(|version| {
            let folder = own_folder(version).ok()?.join(name);
            fs::create_dir(&folder).ok()?;
            Group::open(folder).ok()
        });
        if made.is_none() {
            println!("not measured: this user may make no control group");
        }
        made
    }

    #[test]
    fn a_group_in_which_a_program_made_others_is_removed_with_all_that_is_in_them() {
        let name = format!("{PREFIX}-test-{}", std::process::id());
        let Some(mut group) = named_group(&name) else { return };
        let below = group.folder.join("made/by/a/program");
        fs::create_dir_all(&below).unwrap();
        let mut busy = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = busy.id().cast_signed();
        fs::write(below.join("cgroup.procs"), process.to_string()).unwrap();
        assert!(group.has(process) && group.threads() == [process]);
        assert!(!group.has(std::process::id().cast_signed()));
        group.freeze().unwrap();
        let folder = group.folder.to_owned();
        // What cannot be removed at once costs the agents that come no time.
        let looked = Instant::now();
        let reaper = std::thread::spawn(move || busy.wait());
        assert!(group.end(Duration::ZERO, Duration::from_secs(60)), "{looked:?}");
        assert!(!folder.exists());
        assert!(!reaper.join().unwrap().unwrap().success(), "it was killed");
    }

    #[test]
    fn a_process_that_has_the_number_of_another_one_goes_back_to_where_it_was() {
        let name = format!("{PREFIX}-strangers-{}", std::process::id());
        let Some(group) = named_group(&name) else { return };
        let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = stranger.id().cast_signed();
        let groups = || fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
        let before = groups();
        let known = Identity::of_process(process).unwrap();
        group.add(Identity { began: known.began - 1, ..known }).unwrap();
        assert_eq!(groups(), before);
        group.add(known).unwrap();
        assert!(group.has(process));
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        assert!(group.end(Duration::ZERO, Duration::from_secs(60)));
    }

    #[test]
    fn a_group_that_cannot_be_removed_is_not_waited_for_and_not_said_to_be_gone() {
        let mut stays = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = stays.id().cast_signed();
        // Killed, it stops before it has ended, as one does not end that waits in the kernel.
        // SAFETY: a child of this test.
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, libc::PTRACE_O_TRACEEXIT) };
        let name = format!("{PREFIX}-{}-{}-1", namespace().unwrap(), std::process::id());
        // Other tests look for groups of agents that are gone, and remove those that are empty.
        let group = loop {
            let Some(group) = named_group(&name) else {
                stays.kill().unwrap();
                stays.wait().unwrap();
                return;
            };
            if group.add(Identity::of_process(process).unwrap()).is_ok() {
                break group;
            }
        };
        let parent = group.folder.parent().unwrap().to_owned();
        let folder = group.folder.to_owned();
        let begun = Instant::now();
        sweep_in_passing(&parent);
        let once = begun.elapsed();
        assert!(folder.exists());
        assert!(!group.end(Duration::ZERO, Duration::from_millis(1)), "it is still there");
        assert!(once < EMPTY_LONGEST, "{once:?}");
        let left = sweep();
        assert!(
            left.left
                .iter()
                .any(|(path, processes)| *path == folder && processes.contains(&process)),
            "{left:?}"
        );
        let mut status = 0;
        // SAFETY: the tracee of this thread, which is detached at its end.
        unsafe {
            libc::waitpid(process, &raw mut status, libc::__WALL);
            libc::ptrace(libc::PTRACE_DETACH, process, 0, 0);
        }
        stays.wait().unwrap();
        // Another test may have been faster.
        if let Ok(group) = Group::open(folder) {
            assert!(group.end(Duration::ZERO, Duration::from_secs(60)));
        }
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

    /// There the agents of this one began at another moment, and would be taken for gone.
    #[test]
    fn another_time_namespace_is_another_one() {
        let mut other = std::process::Command::new("unshare");
        other.args(["--time", "--fork", "stat", "-L", "-c", "%i", "/proc/self/ns/time"]);
        let other = other.output().unwrap();
        if !other.status.success() {
            println!("not measured: {}", String::from_utf8_lossy(&other.stderr));
            return;
        }
        let other: u64 = String::from_utf8(other.stdout).unwrap().trim().parse().unwrap();
        let own = namespace().unwrap();
        assert_ne!(own & 0xffff_ffff, other);
        let there = own >> 32 << 32 | other;
        assert!(!is_orphan(&format!("{PREFIX}-{there}-{}-1", std::process::id()), own));
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
