//! The threads that must sleep for the clock to jump: those of programs, the agent's own, and those of
//! the kernel that hand over what is on its way between them.
//!
//! Who they are is found out anew whenever the host has started a process or a thread: the kernel
//! numbers these one after the other, and says which number was the last. It does so before it
//! shows the new one, so they are found out once more as soon as all that are known sleep: nobody is
//! just starting one then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use libc::pid_t;
use os::at_rest::{Found, Looked};
use os::{fds, process};
use vtime::{HostSpan, HostTime};

use super::instant::Spent;
use super::segments::{Namespaces, Which};
use crate::launch::members;
use domain::{Domain, Keeping, Program, host_now};

/// Whose a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Program,
    /// Or of a process that the agent is about to put into virtual time.
    Agent,
}

/// No host starts as many processes in this time as it has numbers for.
const NUMBERS_LAST: HostSpan = HostSpan::from_ms(1000);

struct Known {
    look: Looked,
    owner: Owner,
    process: pid_t,
    /// By its program, the thread as that numbers it.
    numbered: Option<(u64, u32)>,
    /// How often it had run when it was found asleep last.
    runs: u64,
}

/// The threads, and what was found of them.
pub(super) struct Threads {
    domain: Arc<Domain>,
    loadavg: File,
    /// What the kernel said of the last process it had started when these were found.
    last_started: Vec<u8>,
    /// Nobody is missing among those that were found.
    is_complete: bool,
    /// They are complete, and places of those that have ended were not taken from them yet.
    is_sweep_due: bool,
    untold: Untold,
    /// In the order of their numbers.
    programs: Vec<Arc<Program>>,
    known: Vec<Known>,
    by_number: BTreeMap<(u64, u32), usize>,
    /// Which was found awake last: it is likely to be found so next.
    awake: Option<usize>,
    /// Processes that are known to be in no program, as long as none begins.
    strangers: BTreeSet<pid_t>,
    programs_begun: u64,
    /// When it was looked whether all sleep.
    looked: Option<HostTime>,
    /// This thread, which looks.
    own: pid_t,
    /// Whether there are terminals, and the threads of the kernel.
    terminals: Option<File>,
    are_terminals: bool,
    namespaces: Namespaces,
    /// Why not all are looked at.
    cannot_look: Option<Keeping>,
    /// A program has begun whose process is not in it yet: it is still being put into virtual time.
    is_incomplete: bool,
}

impl Threads {
    /// To be made on the thread that looks.
    pub(super) fn new(domain: Arc<Domain>, connections: Which) -> io::Result<Self> {
        let this = std::fs::read_link("/proc/thread-self")?;
        let own = this.file_name().and_then(|name| name.to_str()?.parse().ok());
        let own = own.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            domain,
            loadavg: File::open("/proc/loadavg")?,
            last_started: Vec::new(),
            is_complete: false,
            is_sweep_due: false,
            untold: Untold::default(),
            programs: Vec::new(),
            known: Vec::new(),
            by_number: BTreeMap::new(),
            awake: None,
            strangers: BTreeSet::new(),
            programs_begun: 0,
            looked: None,
            own,
            terminals: File::open("/proc/sys/kernel/pty/nr").ok(),
            are_terminals: true,
            namespaces: Namespaces::new(connections),
            cannot_look: None,
            is_incomplete: false,
        })
    }

    /// The programs whose time is that of the domain.
    pub(super) fn programs(&self) -> &[Arc<Program>] {
        &self.programs
    }

    /// Process and thread, in our numbers.
    pub(super) fn thread(&self, program: u64, number: u32) -> Option<(pid_t, pid_t)> {
        let known = self.by_number.get(&(program, number)).map(|place| &self.known[*place]);
        known.map(|known| (known.process, known.look.thread()))
    }

    /// What threads of programs have run so far.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.known.iter().filter_map(|known| {
            let (program, _) = known.numbered?;
            let place = self.programs.binary_search_by_key(&program, |one| one.number).ok()?;
            let looks = self.programs[place].looks();
            Some(Spent { thread: known.look.thread(), ran_ns: known.look.ran_ns()?, looks })
        })
    }

    /// Name of the program of a thread.
    pub(super) fn name(&self, thread: pid_t) -> String {
        let known = self.known.iter().find(|known| known.look.thread() == thread);
        let number = known.and_then(|known| known.numbered).map(|(number, _)| number);
        let program = self.programs.iter().find(|program| Some(program.number) == number);
        program.map_or_else(String::new, |program| program.name.clone())
    }

    /// Nobody looks for now. After a while a number may be that of another process than before.
    pub(super) fn stand_still(&mut self, now: HostTime) {
        if self.looked.is_none_or(|looked| now - looked > NUMBERS_LAST) {
            self.strangers.clear();
        }
    }

    /// The first look: what keeps the clock, if one does not sleep.
    pub(super) fn sleep(&mut self) -> Result<(), Keeping> {
        self.looked = Some(host_now());
        self.find_if_any_was_started()?;
        if let Some(why) = self.cannot_look {
            return Err(why);
        }
        if self.is_incomplete {
            return Err(Keeping::Agent);
        }
        let last = self.awake.take().and_then(|place| Some((place, self.known.get(place)?)));
        if let Some((place, known)) = last
            && let Found::Awake(state) = known.look.look()
        {
            self.awake = Some(place);
            return Err(known.keeps(state));
        }
        let before = self.known.len();
        let awake = self.find_awake();
        let has_ended = self.known.len() < before;
        if has_ended {
            self.number();
        }
        match awake {
            Some(why) => Err(why),
            // Its end may be about to wake its parent.
            None if has_ended => Err(Keeping::Program),
            None => Ok(()),
        }
    }

    /// Looks at all until one is found awake; what that keeps the clock by. Leaves out those that have ended.
    fn find_awake(&mut self) -> Option<Keeping> {
        let mut at = 0;
        while let Some(known) = self.known.get_mut(at) {
            match known.look.look() {
                Found::Asleep(runs) => known.runs = runs,
                Found::Awake(state) => {
                    self.awake = Some(at);
                    return Some(known.keeps(state));
                }
                Found::Gone => {
                    self.known.swap_remove(at);
                    continue;
                }
            }
            at += 1;
        }
        None
    }

    /// After the first look: whether those that sleep are all there are.
    pub(super) fn are_all(&mut self) -> Result<(), Keeping> {
        if self.is_complete {
            return if self.are_distinct() { Ok(()) } else { Err(Keeping::Untold) };
        }
        let started = self.started();
        if started.as_ref() == Some(&self.last_started)
            && self.domain.programs_begun() == self.programs_begun
        {
            self.find();
            (self.is_complete, self.is_sweep_due) = (true, true);
        }
        Err(Keeping::Program)
    }

    /// Threads of a program in several namespaces may have the same number, so that they
    /// have one place for all.
    fn are_distinct(&self) -> bool {
        self.known.iter().filter(|known| known.numbered.is_some()).count() == self.by_number.len()
    }

    /// After the second look: frees the places of those that have ended.
    pub(super) fn sweep(&mut self) {
        if std::mem::take(&mut self.is_sweep_due) {
            let number = |program: &Program, thread| (program.number, thread);
            Domain::sweep(&self.programs, |program, thread| {
                self.by_number.contains_key(&number(program, thread))
            });
        }
    }

    /// Whether threads wait without saying so, who have not found a place so often until now.
    pub(super) fn keep_untold(&mut self, attempts: u64) -> bool {
        self.untold.is_going_on(attempts, host_now())
    }

    /// The second look: whether all have slept all the time since, and none was started.
    pub(super) fn have_slept(&self) -> bool {
        self.known.iter().all(|known| known.look.sleeps_on(known.runs))
            && self.started().is_some_and(|started| started == self.last_started)
            && self.domain.programs_begun() == self.programs_begun
    }

    fn find_if_any_was_started(&mut self) -> Result<(), Keeping> {
        let started = self.started().ok_or(Keeping::Unseen)?;
        let (begun, are_terminals) = (self.domain.programs_begun(), self.has_terminals());
        if started == self.last_started
            && begun == self.programs_begun
            && are_terminals == self.are_terminals
            && !self.is_incomplete
        {
            return Ok(());
        }
        if begun != self.programs_begun || are_terminals != self.are_terminals || self.is_incomplete
        {
            self.strangers.clear();
        }
        self.are_terminals = are_terminals;
        (self.last_started, self.programs_begun) = (started, begun);
        self.is_complete = false;
        self.find();
        Ok(())
    }

    /// The last word of `/proc/loadavg` is the number of the process or thread that was started last.
    fn started(&self) -> Option<Vec<u8>> {
        let mut octets = [0; 64];
        let count = self.loadavg.read_at(&mut octets, 0).ok()?;
        let last = octets[..count].rsplit(|octet| *octet == b' ').next()?;
        Some(last.to_vec())
    }

    fn has_terminals(&self) -> bool {
        let mut octet = [0];
        let Some(Ok(1)) = self.terminals.as_ref().map(|file| file.read_at(&mut octet, 0)) else {
            return true;
        };
        octet != *b"0"
    }

    /// Whether this is a thread of the kernel that hands over what is on its way: what comes from
    /// networks, and what was written to terminals (`tty_flip_buffer_push` leaves that to a queue of
    /// work).
    fn is_hander(&self, process: pid_t) -> bool {
        // The name of a worker says what it does, too, behind this.
        let name = process::name_of(process);
        name.starts_with("ksoftirqd/") || self.are_terminals && name.starts_with("kworker/u")
    }

    fn program_of(&self, process: pid_t, candidates: &members::Candidates) -> Option<u64> {
        candidates.have(process).then(|| members::program_of(&self.domain, process))?
    }

    fn find(&mut self) {
        let present = self.domain.present_programs();
        self.programs = present.into_iter().filter(|program| !program.is_free()).collect();
        let live: BTreeSet<u64> = self.programs.iter().map(|program| program.number).collect();
        let mut before: BTreeMap<pid_t, Known> =
            self.known.drain(..).map(|known| (known.look.thread(), known)).collect();
        self.cannot_look = None;
        // The agent needs descriptors for programs too.
        let mut fds_left = fds::limit() / 2;
        let agent = std::process::id().cast_signed();
        let candidates = members::Candidates::of(&self.domain);
        let all = process::all();
        let here: BTreeSet<pid_t> = all.iter().copied().collect();
        self.strangers.retain(|process| here.contains(process));
        let known_before: BTreeSet<pid_t> = before.values().map(|known| known.process).collect();
        let was_known = |process: pid_t| {
            let parent = process::parent_of(process);
            [Some(process), parent].into_iter().flatten().any(|one| known_before.contains(&one))
        };
        for process in all {
            let program = match process {
                _ if self.strangers.contains(&process) => continue,
                _ if process == agent || self.is_hander(process) => None,
                _ => match self.program_of(process, &candidates) {
                    Some(number) if live.contains(&number) => Some(number),
                    // It is in exec: the page of its new program comes before it sleeps again.
                    None if candidates.are_ours(process) || was_known(process) => None,
                    // Of a program that was detached.
                    Some(_) => continue,
                    None => {
                        self.strangers.insert(process);
                        continue;
                    }
                },
            };
            for thread in process::threads_of(process) {
                if thread == self.own {
                    continue;
                }
                let same = before.remove(&thread).filter(|known| {
                    known.process == process
                        && known.numbered.map(|(number, _)| number) == program
                        && known.look.look() != Found::Gone
                });
                let known = match same {
                    Some(known) => Ok(known),
                    None if fds_left < Looked::DESCRIPTORS => {
                        self.cannot_look = Some(Keeping::Descriptors);
                        continue;
                    }
                    None => Looked::open(process, thread).map(|look| Known {
                        look,
                        owner: if program.is_some() { Owner::Program } else { Owner::Agent },
                        process,
                        numbered: program.map(|number| (number, own_number(thread))),
                        runs: 0,
                    }),
                };
                match known {
                    Ok(known) => {
                        fds_left = fds_left.saturating_sub(Looked::DESCRIPTORS);
                        self.known.push(known);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(_) => self.cannot_look = Some(Keeping::Unseen),
                }
            }
        }
        let ours = self.known.iter().filter(|known| known.owner == Owner::Program);
        self.namespaces.find(&ours.map(|known| known.process).collect());
        self.is_incomplete = self.programs.iter().any(|program| self.is_awaited(program.process));
        self.number();
    }

    /// Whether a process that is there is in no program.
    fn is_awaited(&self, process: pid_t) -> bool {
        let is_in_one = |known: &Known| known.process == process && known.numbered.is_some();
        !self.known.iter().any(is_in_one)
            && process::state_of(process).is_some_and(|state| !matches!(state, 'Z' | 'X'))
    }

    /// Between the two looks: whether a timer of a kernel runs for a connection of a program.
    pub(super) fn are_owed(&mut self) -> bool {
        self.namespaces.are_owed()
    }

    fn number(&mut self) {
        let numbered = self.known.iter().enumerate();
        self.by_number =
            numbered.filter_map(|(place, known)| Some((known.numbered?, place))).collect();
    }
}

/// Threads that wait without a place try to find one several times a second.
#[derive(Debug, Default)]
struct Untold {
    attempts: u64,
    /// When the last one was seen.
    seen: Option<HostTime>,
}

impl Untold {
    /// So long after the last attempt nobody waits without a place who sleeps.
    const LASTS: HostSpan = HostSpan::from_ms(1000);

    fn is_going_on(&mut self, attempts: u64, now: HostTime) -> bool {
        if attempts != self.attempts {
            (self.attempts, self.seen) = (attempts, Some(now));
        }
        self.seen.is_some_and(|seen| now - seen < Self::LASTS)
    }
}

impl Known {
    /// What this thread keeps the clock by, in this state.
    fn keeps(&self, state: char) -> Keeping {
        match (self.owner, state) {
            (Owner::Program, 'T') => Keeping::Stopped,
            // By a debugger, or for a moment by the agent.
            (Owner::Program, 't') if is_traced_by_us(self.look.thread()) => Keeping::Agent,
            (Owner::Program, 't') => Keeping::Stopped,
            (Owner::Program, _) => Keeping::Program,
            (Owner::Agent, _) => Keeping::Agent,
        }
    }
}

/// Whether a thread is traced by one of this process, or by nobody any more.
fn is_traced_by_us(thread: pid_t) -> bool {
    let status = process::status_of(thread);
    let tracer = process::field(&status, "TracerPid").filter(|tracer| *tracer != "0");
    tracer
        .is_none_or(|tracer| std::fs::exists(format!("/proc/self/task/{tracer}")).unwrap_or(false))
}

/// A thread as its process numbers it, which may be in a namespace of its own. pid_namespaces(7)
fn own_number(thread: pid_t) -> u32 {
    let status = process::status_of(thread);
    let numbers =
        process::field(&status, "NSpid").and_then(|numbers| numbers.split_whitespace().last());
    numbers.and_then(|number| number.parse().ok()).unwrap_or(thread.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_without_a_place_are_over_when_nobody_has_tried_for_long() {
        let at = HostTime::from_ns;
        let mut untold = Untold::default();
        assert!(!untold.is_going_on(0, at(5)), "there never was one");
        assert!(untold.is_going_on(3, at(10)));
        assert!(untold.is_going_on(3, at(9)) && untold.is_going_on(3, at(1_000_000_009)));
        assert!(!untold.is_going_on(3, at(1_000_000_010)));
        assert!(untold.is_going_on(4, at(2_000_000_000)));
    }
}
