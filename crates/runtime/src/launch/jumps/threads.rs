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
use os::at_rest::Looked;
use os::wakings::Wakings;
use os::{fds, process};
use vtime::{HostSpan, HostTime, ProgramTime, VirtualTime};

use super::deadlines::Deadlines;
use super::ended::Ended;
use super::instant::Spent;
use super::rest::{Hearing, Known, Owner, Rest};
use super::segments::{Namespaces, Which};
use crate::launch::members;
use domain::{Domain, Keeping, NodeTime, Pace, Program, host_now};

/// So many times as long as it takes to find them out they are not found out anew while one is awake.
const FIND_SELDOM: i64 = 5;
/// No host starts as many processes in this time as it has numbers for.
const NUMBERS_LAST: HostSpan = HostSpan::from_ms(1000);

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
    rest: Rest,
    deadlines: Deadlines,
    ended: Ended,
    /// Processes that are known to be in no program, as long as none begins.
    strangers: BTreeSet<pid_t>,
    programs_begun: u64,
    /// When it was looked whether all sleep.
    looked: Option<HostTime>,
    /// Not before then are they found out anew while one is known to be awake.
    find_again: HostTime,
    /// This thread, which looks.
    own: pid_t,
    /// Whether there are terminals, and the threads of the kernel.
    terminals: Option<File>,
    are_terminals: bool,
    namespaces: Namespaces,
    /// Until when no part of the agent was to do anything; then one may have been woken by a timer of the host.
    agent_due: Option<VirtualTime>,
    /// What programs compute takes virtual time at some node.
    do_nodes_compute: bool,
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
        let hearing = match domain.pace() {
            Pace::Skip | Pace::Events => Wakings::begin().map_or(Hearing::Looks, Hearing::Notes),
            Pace::Real => Hearing::Looks,
        };
        let rest = Rest::new(hearing);
        domain.set_method(rest.method(), 0);
        Ok(Self {
            domain,
            loadavg: File::open("/proc/loadavg")?,
            last_started: Vec::new(),
            is_complete: false,
            is_sweep_due: false,
            untold: Untold::default(),
            rest,
            deadlines: Deadlines::default(),
            ended: Ended::default(),
            strangers: BTreeSet::new(),
            programs_begun: 0,
            looked: None,
            find_again: HostTime::ZERO,
            own,
            terminals: File::open("/proc/sys/kernel/pty/nr").ok(),
            are_terminals: true,
            namespaces: Namespaces::new(connections),
            agent_due: None,
            do_nodes_compute: false,
            cannot_look: None,
            is_incomplete: false,
        })
    }

    /// The programs whose time is that of the domain.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Arc<Program>> {
        self.deadlines.programs()
    }

    /// Those of which a thread waits for this time, or one before.
    pub(super) fn due(&self, now: VirtualTime) -> impl Iterator<Item = &Arc<Program>> {
        self.deadlines.due(now)
    }

    /// Between the two looks: the first time for which a thread waits, and how often one has not found a place to say
    /// so.
    pub(super) fn first_awaited(&mut self) -> (Option<VirtualTime>, u64) {
        if self.domain.pace() == Pace::Skip {
            let woken = self.deadlines.changed_and_due(self.domain.now());
            woken.into_iter().for_each(|program| self.rest.rouse_all_of(program));
        }
        self.deadlines.first(&self.domain)
    }

    /// Process and thread, in our numbers.
    pub(super) fn thread(&self, program: u64, number: u32) -> Option<(pid_t, pid_t)> {
        let known = self.rest.numbered(program, number);
        known.map(|known| (known.process, known.thread()))
    }

    /// A thread of a program is told that its time has come.
    pub(super) fn wakes(&mut self, program: u64, thread: Option<pid_t>) {
        self.deadlines.has_changed(program);
        thread.map(|thread| self.rest.rouse(thread));
    }

    /// Whether the native call of a thread is to be ended now, which waits for a time that has come.
    pub(super) fn is_to_be_ended(&mut self, thread: pid_t, deadline: ProgramTime) -> bool {
        self.ended.is_due(thread, deadline, host_now())
    }

    /// What those said whose time has come is not what they say next.
    pub(super) fn forget_due(&mut self, now: VirtualTime) {
        self.deadlines.those_due_have_changed(now);
    }

    /// Those of which a wait is over, maybe by a timer of the host, are looked at.
    pub(super) fn rouse_due(&mut self, now: VirtualTime) {
        let due: Vec<_> = self.deadlines.due(now).map(|program| program.number).collect();
        due.into_iter().for_each(|program| self.rest.rouse_all_of(program));
    }

    /// Between the two looks: the first time for which a part of the agent waits.
    pub(super) fn agent_waits_until(&mut self, due: Option<VirtualTime>) {
        self.look_at_agent_if_due();
        self.agent_due = due;
    }

    /// After a jump, which has woken those parts of the agent whose time has come.
    pub(super) const fn agent_is_told(&mut self, next: Option<VirtualTime>) {
        self.agent_due = next;
    }

    fn look_at_agent_if_due(&mut self) {
        if self.agent_due.is_some_and(|due| due <= self.domain.now()) {
            self.agent_due = None;
            self.rest.rouse_agent();
        }
    }

    /// The clock has run, and timers of the host may have woken anybody.
    pub(super) fn any_may_have_run(&mut self) {
        self.rest.any_may_have_run();
    }

    /// What threads of programs have run so far.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.rest.all().filter_map(|known| {
            let (program, _) = known.numbered?;
            let looks = self.deadlines.program(program)?.looks();
            Some(Spent { thread: known.thread(), ran_ns: known.ran_ns()?, looks })
        })
    }

    /// Name of the program of a thread.
    pub(super) fn name(&self, thread: pid_t) -> String {
        let number = self.rest.get(thread).and_then(|known| known.numbered);
        let program = number.and_then(|(program, _)| self.deadlines.program(program));
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
        let now = host_now();
        self.looked = Some(now);
        let found = self.known_sleep();
        if found.is_err() && now < self.find_again {
            return found;
        }
        if self.find_if_any_was_started()? {
            let took = host_now() - now;
            self.find_again = now + HostSpan::from_ns(took.as_ns() * FIND_SELDOM);
        }
        if let Some(why) = self.cannot_look {
            return Err(why);
        }
        if self.is_incomplete {
            return Err(Keeping::Agent);
        }
        found?;
        self.known_sleep()
    }

    fn known_sleep(&mut self) -> Result<(), Keeping> {
        self.look_at_agent_if_due();
        let found = self.rest.sleep();
        // Those too that run on: what a process has used is seen only as long as it is there.
        let running = self.rest.roused();
        let mut computing: BTreeSet<u64> =
            running.filter_map(|one| Some(one.numbered?.0)).collect();
        for (process, program) in self.rest.take_those_that_ran() {
            if let Some(program) = program {
                computing.insert(program);
                self.deadlines.has_changed(program);
                self.namespaces.ran(process);
            }
        }
        if self.do_nodes_compute {
            self.look_at_nodes_of(&computing);
        }
        found
    }

    /// Looks what the nodes of these programs have computed, which may put off what all programs there wait for.
    fn look_at_nodes_of(&mut self, programs: &BTreeSet<u64>) {
        let programs = programs.iter().filter_map(|number| self.deadlines.program(*number));
        let mut nodes: Vec<_> = programs.map(|program| Arc::clone(program.node())).collect();
        nodes.sort_by_key(Arc::as_ptr);
        nodes.dedup_by_key(|node| Arc::as_ptr(node));
        nodes.retain(|node| self.domain.look_at(node).1);
        for node in nodes {
            self.deadlines.those_at_have_changed(&node);
        }
    }

    /// After the first look: whether those that sleep are all there are.
    pub(super) fn are_all(&mut self) -> Result<(), Keeping> {
        if self.is_complete {
            return if self.rest.are_distinct() { Ok(()) } else { Err(Keeping::Untold) };
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

    /// After the second look: frees the places of those that have ended.
    pub(super) fn sweep(&mut self) {
        if std::mem::take(&mut self.is_sweep_due) {
            Domain::sweep(self.deadlines.programs(), |program, thread| {
                self.rest.numbered(program.number, thread).is_some()
            });
            self.deadlines.all_have_changed();
        }
    }

    /// Whether threads wait without saying so, who have not found a place so often until now.
    pub(super) fn keep_untold(&mut self, attempts: u64) -> bool {
        self.untold.is_going_on(attempts, host_now())
    }

    /// Tells nodes of whose processor time they are busy.
    fn tell_nodes(&mut self) {
        type Here = (Vec<Arc<Program>>, BTreeMap<pid_t, Vec<pid_t>>);
        let mut nodes: BTreeMap<*const NodeTime, Here> = BTreeMap::new();
        for program in self.deadlines.programs().filter(|one| one.node().takes_processor_time()) {
            let here = nodes.entry(Arc::as_ptr(program.node())).or_default();
            here.0.push(Arc::clone(program));
        }
        self.do_nodes_compute = !nodes.is_empty();
        if !self.do_nodes_compute {
            return;
        }
        for known in self.rest.all() {
            let program = known.numbered.and_then(|(number, _)| self.deadlines.program(number));
            let here = program.and_then(|one| nodes.get_mut(&Arc::as_ptr(one.node())));
            if let Some((_, processes)) = here {
                processes.entry(known.process).or_default().push(known.thread());
            }
        }
        for (programs, processes) in nodes.into_values() {
            programs[0].node().know(&programs, processes);
        }
    }

    /// The second look: whether all have slept all the time since, and none was started.
    pub(super) fn have_slept(&mut self) -> bool {
        let now = self.domain.now();
        let is_due = |program| self.deadlines.is_due(program, now);
        let sleep_on = self.rest.sleep_on(is_due);
        self.domain.set_method(self.rest.method(), self.rest.untold());
        sleep_on
            && self.started().is_some_and(|started| started == self.last_started)
            && self.domain.programs_begun() == self.programs_begun
    }

    /// Whether they were found out anew.
    fn find_if_any_was_started(&mut self) -> Result<bool, Keeping> {
        let started = self.started().ok_or(Keeping::Unseen)?;
        let (begun, are_terminals) = (self.domain.programs_begun(), self.has_terminals());
        if started == self.last_started
            && begun == self.programs_begun
            && are_terminals == self.are_terminals
            && !self.is_incomplete
        {
            return Ok(false);
        }
        if begun != self.programs_begun || are_terminals != self.are_terminals || self.is_incomplete
        {
            self.strangers.clear();
        }
        self.are_terminals = are_terminals;
        (self.last_started, self.programs_begun) = (started, begun);
        self.is_complete = false;
        self.find();
        Ok(true)
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
        self.deadlines.know(present.into_iter().filter(|program| !program.is_free()));
        let mut before = self.rest.take();
        let mut found = Vec::new();
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
                    Some(number) if self.deadlines.program(number).is_some() => Some(number),
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
                        && known.is_there()
                });
                let known = match same {
                    Some(known) => Ok((known, false)),
                    None if fds_left < Looked::DESCRIPTORS => {
                        self.cannot_look = Some(Keeping::Descriptors);
                        continue;
                    }
                    None => Looked::open(process, thread).map(|look| {
                        let owner = if program.is_some() { Owner::Program } else { Owner::Agent };
                        let numbered = program.map(|number| (number, process::own_number(thread)));
                        (Known::new(look, process, owner, numbered), true)
                    }),
                };
                match known {
                    Ok(known) => {
                        fds_left = fds_left.saturating_sub(Looked::DESCRIPTORS);
                        found.push(known);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(_) => self.cannot_look = Some(Keeping::Unseen),
                }
            }
        }
        self.rest.know(found.into_iter());
        if self.domain.pace() == Pace::Skip {
            // Until when they wait is read anew, so nobody is known to be due.
            self.rest.any_may_have_run();
        }
        let ours = self.rest.all().filter(|known| known.owner == Owner::Program);
        self.namespaces.find(&ours.map(|known| known.process).collect());
        self.tell_nodes();
        self.is_incomplete = self.deadlines.programs().any(|one| self.is_awaited(one.process));
    }

    /// Whether a process that is there is in no program.
    fn is_awaited(&self, process: pid_t) -> bool {
        let is_in_one = |known: &Known| known.process == process && known.numbered.is_some();
        !self.rest.all().any(is_in_one)
            && process::state_of(process).is_some_and(|state| !matches!(state, 'Z' | 'X'))
    }

    /// Between the two looks: whether a timer of a kernel runs for a connection of a program.
    pub(super) fn are_owed(&mut self) -> bool {
        self.namespaces.are_owed()
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
