//! Which processes belong to which program of a domain.
//!
//! A program's processes come and go by fork without notice to anybody. But each of them has the
//! own page of its program at a place that is the same in all, and the memory behind it is of that
//! program alone. So the agent looks which memory it is, in `/proc/PID/maps`: what
//! stands in the page the program may have written, and reading it may take as long as the program
//! likes.
//!
//! Even that look goes through the memory of a process, which its owner can delay for
//! a while. So processes of other users are not looked at, unless they come from this agent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use libc::pid_t;
use vtime::image::OWN;

use domain::{Domain, Memory, Program};
use os::namespaces;
use os::process::{live_thread_of, parent_of};

/// Read of the maps of a process at once: the parts of ours come first, unless the program has
/// mapped something of its own at yet lower addresses.
const AT_ONCE: usize = 640;
/// Most of it that is read.
const LOOKED_AT: usize = 16 * 1024;

/// The number of the program of a process; `None` if it is in another domain or in none.
///
/// A process that is closed to this user (a program may ask for that, prctl(2) `PR_SET_DUMPABLE`)
/// says nothing; then it is taken for one of the program that it was seen to begin.
pub fn program_of(domain: &Domain, process: pid_t) -> Option<u64> {
    match own_memory(process) {
        Ok(memory) => domain.program_with(memory?),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            domain.last_begun_by(process)
        }
        Err(_) => None,
    }
}

pub(super) fn is_in_a_domain() -> bool {
    matches!(own_memory(std::process::id().cast_signed()), Ok(Some(_)))
}

/// The memory that a process has where programs in virtual time have their own page.
fn own_memory(process: pid_t) -> io::Result<Option<Memory>> {
    let mut maps = File::open(format!("/proc/{process}/maps"))?;
    let (mut octets, mut length) = (vec![0; LOOKED_AT], 0);
    while length < LOOKED_AT {
        let end = (length + AT_ONCE).min(LOOKED_AT);
        let count = maps.read(&mut octets[length..end])?;
        length += count;
        let text = String::from_utf8_lossy(&octets[..length]);
        // The last line may be cut off.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        if let Some(found) = find_own(whole) {
            return Ok(found);
        }
        if count == 0 {
            break;
        }
    }
    if length > 0 {
        return Ok(None);
    }
    match live_thread_of(process) {
        first if first == process => Ok(None),
        other => own_memory(other),
    }
}

/// What lies at the own page, in lines of `/proc/PID/maps`: `None` while they do not say.
fn find_own(lines: &str) -> Option<Option<Memory>> {
    for line in lines.lines() {
        let mut words = line.split_ascii_whitespace();
        let from = words.next()?.split('-').next()?;
        match usize::from_str_radix(from, 16).ok()? {
            from if from < OWN => {}
            from if from > OWN => return Some(None),
            _ => {
                let (device, inode) = (words.nth(2)?, words.next()?);
                let (major, minor) = device.split_once(':')?;
                let part = |text| u32::from_str_radix(text, 16).ok();
                let device = libc::makedev(part(major)?, part(minor)?);
                return Some(Some(Memory { device, inode: inode.parse().ok()? }));
            }
        }
    }
    None
}

/// Which processes can be members of a domain, by what the kernel says without a look at their
/// memory.
pub(super) struct Candidates {
    users: BTreeSet<u32>,
    /// Ancestor of all programs but attached ones.
    agent: pid_t,
    parents: RefCell<BTreeMap<pid_t, Option<pid_t>>>,
}

impl Candidates {
    pub(super) fn of(domain: &Domain) -> Self {
        let programs = domain.present_programs();
        let mut users: BTreeSet<u32> =
            programs.iter().filter_map(|program| owner(program.process)).collect();
        // Root's are those of who may look at all; a process that is closed to others is root's too.
        users.extend([namespaces::effective_user(), 0]);
        let agent = std::process::id().cast_signed();
        Self { users, agent, parents: RefCell::default() }
    }

    pub(super) fn have(&self, process: pid_t) -> bool {
        owner(process).is_some_and(|user| self.users.contains(&user)) || self.are_ours(process)
    }

    /// Whether the agent, or a program that it has started, has started it.
    pub(super) fn are_ours(&self, process: pid_t) -> bool {
        let parent =
            |of: &pid_t| *self.parents.borrow_mut().entry(*of).or_insert_with(|| parent_of(*of));
        let ancestors = std::iter::successors(Some(process), parent);
        ancestors.take_while(|process| *process > 1).any(|process| process == self.agent)
    }
}

/// The user of a process, or root where it is closed to others.
fn owner(process: pid_t) -> Option<u32> {
    fs::metadata(format!("/proc/{process}")).ok().map(|found| found.uid())
}

/// The processes of each program, by its number.
pub fn all(domain: &Domain) -> BTreeMap<u64, BTreeSet<pid_t>> {
    let mut members: BTreeMap<u64, BTreeSet<pid_t>> = BTreeMap::new();
    let candidates = Candidates::of(domain);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for process in processes.filter(|process| candidates.have(*process)) {
        if let Some(number) = program_of(domain, process) {
            members.entry(number).or_default().insert(process);
        }
    }
    members
}

/// The programs of a domain with the processes of each. Forgets those that are gone.
pub fn programs(domain: &Domain) -> Vec<(Arc<Program>, BTreeSet<pid_t>)> {
    let members = all(domain);
    sweep(domain, &members);
    let found = members.into_iter();
    found.filter_map(|(number, processes)| Some((domain.program(number)?, processes))).collect()
}

/// Looks which programs are gone, on threads of its own, one at a time: it looks at processes of
/// others too.
#[derive(Debug)]
pub(super) struct Sweeper {
    domain: Arc<Domain>,
    looks: Arc<AtomicBool>,
}

impl Sweeper {
    pub(super) fn new(domain: Arc<Domain>) -> Self {
        Self { domain, looks: Arc::default() }
    }

    /// Forgets the programs that are gone, if there are many to look for.
    pub(super) fn sweep_if_due(&self) {
        if self.domain.is_sweep_due() && !self.looks.swap(true, Ordering::Relaxed) {
            let (domain, looks) = (Arc::clone(&self.domain), Arc::clone(&self.looks));
            let look = move || {
                sweep(&domain, &all(&domain));
                looks.store(false, Ordering::Relaxed);
            };
            if thread::Builder::new().name("sweeper".into()).spawn(look).is_err() {
                // The next program asks again.
                self.looks.store(false, Ordering::Relaxed);
            }
        }
    }
}

fn sweep(domain: &Domain, members: &BTreeMap<u64, BTreeSet<pid_t>>) {
    domain.keep_programs(&members.keys().copied().collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Start;

    #[test]
    fn the_own_page_is_known_by_its_memory() {
        let own = format!("{OWN:08x}-{:08x} rw-s 00000000 00:01 2051 /memfd:own\n", OWN + 4096);
        let below = "00110000-00116000 r-xp 00000000 00:01 2049 /memfd:quartercycle-image\n";
        let other = "00400000-00401000 r--p 00000000 08:11 77 /usr/bin/a program\n";
        let found = Some(Some(Memory { device: libc::makedev(0, 1), inode: 2051 }));
        assert_eq!(find_own(&format!("{below}{own}")), found);
        assert_eq!(find_own(&format!("{below}{other}{own}")), Some(None), "it has none");
        assert_eq!(find_own(below), None, "it may come yet");
        for damaged in ["", "x", "00140000", "00140000-", "-\n", " \n"] {
            let _ = find_own(damaged);
        }
    }

    #[test]
    fn processes_of_others_are_looked_at_only_if_they_come_from_the_agent() {
        let domain = Domain::new(Start::default()).unwrap();
        let mut candidates = Candidates::of(&domain);
        let own = std::process::id().cast_signed();
        assert!(candidates.have(own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = child.id().cast_signed();
        candidates.users.clear();
        assert!(candidates.have(number), "it comes from here");
        candidates.agent = number;
        candidates.parents = RefCell::default();
        assert!(candidates.have(number) && !candidates.have(own));
        candidates.users = owner(own).into_iter().collect();
        assert!(candidates.have(own));
        child.kill().unwrap();
        child.wait().unwrap();
        candidates.parents = RefCell::default();
        candidates.agent = own;
        assert!(!candidates.have(number), "it is gone");
    }

    #[test]
    fn this_process_is_in_no_domain() {
        let domain = Domain::new(Start::default()).unwrap();
        assert_eq!(program_of(&domain, std::process::id().cast_signed()), None);
    }
}
