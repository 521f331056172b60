//! The programs of a domain, as far as its clock is concerned: the own page of each, by which the
//! program is dilated by itself or let go, and what it has called.
//!
//! A program here is what one exec has started, with the processes that it forks until they call
//! exec themselves. Who comes and goes is for others to find out ([`Domain::add_program`],
//! [`Domain::keep_programs`]); of those that are gone, only the counts are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use os::process::own_number;
use parking_lot::Mutex;
use random::{Random, seed_for, seed_named};
use vtime::ahead::Busy;
use vtime::image::Counters;
use vtime::late::Late;
use vtime::own::{Moment, OwnClock};
use vtime::own_page::Identity;
use vtime::waits::{Wait, Waits};
use vtime::{HostSpan, HostTime, OwnPage, ProgramTime, Tdf, VirtualClock, VirtualTime, Wakes};

use super::page::{self, Mapped, Shared, Writers, host_now};
use super::{Changed, Computed, Domain, NodeTime, look_again, relax, settled_host_now};

/// A sweep costs a look at each process of the host; this many programs may wait for one.
const UNSWEPT_MAX: usize = 64;
/// Times that a program is not found before it is held to be gone: a process that is forked
/// during a look may be missed by it.
pub const MISSES: u32 = 2;

/// A program of a domain.
#[derive(Debug)]
pub struct Program {
    /// Its number in the domain; numbers are not used again.
    pub number: u64,
    /// The name under which it was started, or what has started it.
    pub name: String,
    /// The process that called exec.
    pub process: i32,
    /// As it numbers itself.
    pub(super) own_process: i32,
    /// When what it waits for reaches it.
    pub(super) node: Arc<NodeTime>,
    page: Mapped<OwnPage>,
    memory: Memory,
    state: Mutex<State>,
}

/// Names the memory of an own page among all of this host, as `/proc/PID/maps` does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Memory {
    /// Where its file system counts.
    pub device: u64,
    pub inode: u64,
}

impl Memory {
    fn of(page: &OwnedFd) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let about = std::fs::File::from(page.try_clone()?).metadata()?;
        Ok(Self { device: about.dev(), inode: about.ino() })
    }
}

/// What the domain knows of a program. All that concerns its time is worked out from this, and
/// nothing from its page, to which the program may write.
#[derive(Debug)]
struct State {
    clock: OwnClock,
    published: u32,
    /// Host time that the domain had been held when the program began to follow it.
    paused_before: HostSpan,
    /// Host time that the program was held in what it followed before.
    paused: HostSpan,
    /// Sweeps that did not find it; `None` before it runs.
    missed: Option<u32>,
    seeds: Option<Seeds>,
}

/// From what follows what a program gets that is random, and what it starts.
#[derive(Debug)]
struct Seeds {
    seed: u64,
    children: Ordinals,
    /// How many files of random numbers it has opened.
    opened: u64,
}

/// How often each file was run by the same parent: with who begins first of different ones, its
/// seed does not change.
type Ordinals = BTreeMap<String, u64>;

impl Seeds {
    fn next(&mut self, file: &str) -> u64 {
        next_seed(self.seed, &mut self.children, file)
    }
}

/// The seed of the next program that runs a file under a parent with this seed.
fn next_seed(parent: u64, children: &mut Ordinals, file: &str) -> u64 {
    let count = children.entry(file.to_owned()).or_default();
    *count += 1;
    // 0 is none.
    seed_for(seed_named(parent, file), *count).max(1)
}

/// The programs of a domain by number, and what those that are gone have called.
#[derive(Debug, Default)]
pub(super) struct Programs {
    made: u64,
    present: BTreeMap<u64, Arc<Program>>,
    by_memory: BTreeMap<Memory, u64>,
    /// Of those that no other program has begun, by the name and the file.
    first: Ordinals,
    /// Of those, by the name, unless what is due reaches them at once.
    nodes: BTreeMap<String, Arc<NodeTime>>,
    /// How many were left by the last sweep.
    swept: usize,
    gone: Counters,
}

/// What is asked for a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Its time runs along that of the domain from now on, slower by this factor, also if it had
    /// been detached.
    Dilate(Tdf),
    /// Its time runs at host rate from now on, and no hold reaches it.
    Detach,
}

/// How a program runs along its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramClock {
    pub time: ProgramTime,
    /// The factor by which it is slower than its domain.
    pub tdf: Tdf,
    /// Whether it was detached.
    pub free: bool,
    /// Host time that it was held since it began.
    pub paused: HostSpan,
    /// What its `CLOCK_REALTIME` shows less that of the host, in nanoseconds.
    pub offset_ns: i64,
}

impl Program {
    /// The counters of its trapped calls.
    pub fn counters(&self) -> &Counters {
        self.page.counters()
    }

    /// How late its timed waits ended since this was last asked, as it says itself, beyond what it is to compute.
    pub fn take_late_waits(&self) -> Late {
        let expected = match self.node.takes_processor_time() {
            // For as long as it has computed, whatever that is.
            true => i64::MAX,
            false => self.node.wakes().charge().as_ns(),
        };
        self.page.late_waits().take().beyond(expected)
    }

    /// Tells it how far it is ahead of its domain by what it has computed.
    pub(super) fn is_ahead(&self, busy: Busy) {
        self.page.ahead().publish(busy);
    }

    /// The latest time of its domain that it has seen, as it says, where computing takes time.
    pub(super) fn has_seen(&self) -> VirtualTime {
        self.page.ahead().latest()
    }

    /// When what is due reaches it.
    pub const fn node(&self) -> &Arc<NodeTime> {
        &self.node
    }

    /// How often it has looked at a clock that stands, as it says.
    pub fn looks(&self) -> u64 {
        self.page.looks()
    }

    /// What its threads wait for, as they say.
    pub(super) fn waits(&self) -> &Waits {
        self.page.waits()
    }

    /// The time of the domain at which what is due at a time of its own reaches it.
    pub(super) fn reaches(&self, due: ProgramTime) -> Option<VirtualTime> {
        self.own_clock().reaches(due).map(|due| self.node.wakes().at(due))
    }

    /// The first time of the domain for which one of its threads waits, and how often one so far has not found a
    /// place to say so, as it has too many.
    pub fn awaits(&self) -> (Option<VirtualTime>, u64) {
        let waits = self.waits();
        let deadlines = waits.present().iter().filter(|wait| wait.thread() != 0);
        // Its time goes forward with that of the domain, so the order is the same.
        let first = deadlines.filter_map(Wait::awaits).map(|(deadline, _)| deadline).min();
        (first.and_then(|first| self.reaches(first)), u64::from(waits.untold()))
    }

    /// How its time runs.
    pub(super) fn own_clock(&self) -> OwnClock {
        self.state.lock().clock.clone()
    }

    /// Whether its time is no matter of its domain.
    pub fn is_free(&self) -> bool {
        matches!(self.state.lock().clock, OwnClock::Free(_))
    }

    /// From what follows what it reads from a file that it has opened and that is random; `None` where that
    /// is left to the kernel.
    pub fn opens_random(&self) -> Option<Random> {
        let mut state = self.state.lock();
        let seeds = state.seeds.as_mut()?;
        seeds.opened += 1;
        Some(Random::new(seed_for(!seeds.seed, seeds.opened)))
    }

    /// The octets that the kernel leaves at the beginning of a program for what it needs before it can ask
    /// (`AT_RANDOM`); `None` where they are the kernel's.
    pub fn begins_with(&self) -> Option<[u64; 2]> {
        let mut random = Random::new(seed_for(!self.state.lock().seeds.as_ref()?.seed, 0));
        Some([random.number(), random.number()])
    }

    /// Says that it runs: from now on it can be found, or be gone.
    pub fn runs(&self) {
        self.state.lock().missed = Some(0);
    }
}

impl Domain {
    /// Adds a program under a name that runs `file`, whose time goes on as that of the program with the number
    /// `parent`, if there is one. Returns it and its own page, to be mapped by it.
    pub fn add_program(
        &self,
        name: &str,
        file: &str,
        process: i32,
        parent: Option<u64>,
    ) -> io::Result<(Arc<Program>, OwnedFd)> {
        let parent = parent.and_then(|parent| self.program(parent));
        let node = match &parent {
            Some(parent) => Some(Arc::clone(&parent.node)),
            None => self.programs.lock().nodes.get(name).cloned(),
        };
        let node = node.unwrap_or_else(|| Arc::new(NodeTime::at_once()));
        // So that it begins no earlier than what ran in this process before has seen.
        node.begins(process);
        self.look_at(&node);
        // Held meanwhile, so that the parent's line does not change.
        let held = self.state.lock();
        let paused_before = held.clock.paused(self.host_now());
        let clock =
            parent.as_ref().map_or(OwnClock::Domain, |parent| parent.state.lock().clock.clone());
        let mut programs = self.programs.lock();
        programs.made += 1;
        let seed = match parent {
            Some(parent) => parent.state.lock().seeds.as_mut().map(|own| own.next(file)),
            None => {
                let file = format!("{name} {file}");
                self.seed.map(|seed| next_seed(seed, &mut programs.first, &file))
            }
        };
        let number = programs.made;
        let identity = Identity { domain: self.token, program: number };
        let epochs = self.page.epochs();
        let mut page = OwnPage::new(identity, epochs).with_random_seed(seed.unwrap_or(0));
        let own_process = own_number(process).cast_signed();
        if let Some(busy) = node.busy(process, own_process) {
            page = page.computing(busy);
        }
        let shared = Shared::new(c"quartercycle-own", page, Writers::All)?;
        let published = 1;
        shared.publish(&clock, published, node.takes_processor_time());
        let (descriptor, page) = shared.into_parts();
        let memory = Memory::of(&descriptor)?;
        let paused = HostSpan::ZERO;
        let seeds = seed.map(|seed| Seeds { seed, children: Ordinals::new(), opened: 0 });
        let state = State { clock, published, paused_before, paused, missed: None, seeds };
        let (name, state) = (name.to_owned(), Mutex::new(state));
        let program =
            Arc::new(Program { number, name, process, own_process, node, page, memory, state });
        program.node.has_begun(&program);
        programs.present.insert(number, Arc::clone(&program));
        programs.by_memory.insert(memory, number);
        Ok((program, descriptor))
    }

    /// Says on which nodes programs begin from now on, by the names under which they are started, and those that
    /// these start.
    pub fn set_nodes(&self, nodes: BTreeMap<String, Arc<NodeTime>>) {
        self.programs.lock().nodes = nodes;
    }

    /// What programs have computed, by the name of their node, where that takes virtual time.
    pub(super) fn computed(&self) -> BTreeMap<String, Computed> {
        let programs = self.programs.lock();
        let nodes = programs.nodes.values().filter(|node| node.takes_processor_time());
        nodes.map(|node| (node.name().to_owned(), node.computed())).collect()
    }

    /// The programs that are not known to be gone.
    pub fn present_programs(&self) -> Vec<Arc<Program>> {
        self.programs.lock().present.values().cloned().collect()
    }

    pub(super) fn processes(&self) -> Vec<i32> {
        self.programs.lock().present.values().map(|program| program.process).collect()
    }

    /// How many there ever were.
    pub fn programs_begun(&self) -> u64 {
        self.programs.lock().made
    }

    /// A program by its number.
    pub fn program(&self, number: u64) -> Option<Arc<Program>> {
        self.programs.lock().present.get(&number).cloned()
    }

    /// The number of the program whose own page is in this memory.
    pub fn program_with(&self, memory: Memory) -> Option<u64> {
        self.programs.lock().by_memory.get(&memory).copied()
    }

    /// Changes how the time of a program runs. It neither jumps nor goes back, and anyone who waits
    /// in the program learns of it at once.
    pub fn change_program(&self, program: &Program, change: Change) {
        self.change_programs(&[program], change);
    }

    /// Changes how the time of programs runs, of all at the same moment.
    pub fn change_programs(&self, programs: &[&Program], change: Change) {
        if programs.is_empty() {
            return;
        }
        self.change_factors(
            |_| programs.iter().any(|program| program.state.lock().quickens_by(change)),
            |clock, now| {
                for program in programs {
                    program.page.begin_change(program.state.lock().published.wrapping_add(1));
                }
                // No limit of the domain stops a detached program, and nothing has kept it waiting before.
                let moment = Moment { host: settled_host_now(), domain: clock.at_exactly(now) };
                for program in programs {
                    let mut state = program.state.lock();
                    state.change(change, moment, clock.paused(now));
                    let computes = program.node.takes_processor_time();
                    program.page.publish(&state.clock, state.published, computes);
                }
                self.lines_changed.fetch_add(1, Ordering::SeqCst);
                Changed { resumes: true, dilates: true, ..Changed::default() }
            },
        );
        // A program that was detached sleeps there.
        for program in programs {
            page::wake_all(program.page.free().dilated());
            page::wake_all(program.page.free().resumed());
        }
    }

    /// How often the time of a program has begun to run in another way along that of the domain.
    pub fn lines_changed(&self) -> u64 {
        self.lines_changed.load(Ordering::SeqCst)
    }

    /// How a program runs now.
    pub fn clock_of(&self, program: &Program) -> ProgramClock {
        self.clocks_of(&[program])[0]
    }

    /// How programs run now, all of them at the same moment.
    pub fn clocks_of(&self, programs: &[&Program]) -> Vec<ProgramClock> {
        let state = self.state.lock();
        let host = host_now();
        programs.iter().map(|program| self.clock_at(program, &state.clock, host)).collect()
    }

    fn clock_at(&self, program: &Program, clock: &VirtualClock, host: HostTime) -> ProgramClock {
        let reached = host.min(self.page.limit());
        let now = self.moment(clock, host);
        let own = program.state.lock();
        let free = matches!(own.clock, OwnClock::Free(_));
        let paused = own.paused_with(clock.paused(reached));
        let time = own.clock.at(now).0;
        let offset_ns = self.realtime_offset_ns(time.of_domain(), host);
        ProgramClock { time, tdf: own.clock.tdf(), free, paused, offset_ns }
    }

    /// Where the clock stands at a host time; no limit of the domain stops a detached program.
    fn moment(&self, clock: &VirtualClock, host: HostTime) -> Moment {
        Moment { host, domain: clock.at_exactly(host.min(self.page.limit())) }
    }

    /// Time of the program with this number now; that of the domain if there is none.
    pub fn now_of(&self, number: u64) -> ProgramTime {
        let Some(program) = self.program(number) else { return self.now().of_program() };
        let state = self.state.lock();
        let now = self.moment(&state.clock, host_now());
        let own = program.state.lock().clock.clone();
        drop(state);
        match own {
            OwnClock::Domain if program.node.takes_processor_time() => {
                let (wakes, _) = self.look_at(&program.node);
                wakes.leaves(now.domain.0).of_program()
            }
            _ => own.at(now).0,
        }
    }

    /// Whether what the program with this number computes takes virtual time: then it may be busy when it is due.
    pub fn computes(&self, number: u64) -> bool {
        self.program(number).is_some_and(|program| program.node.takes_processor_time())
    }

    /// The time of the program with this number of which all that was due has reached it.
    pub fn reached_by(&self, number: u64) -> ProgramTime {
        match self.program(number) {
            Some(program) if program.node.wakes() != Wakes::AT_ONCE => {
                let reached = program.node.wakes().reached(self.now());
                let (host, domain) = (host_now(), (reached, 0));
                program.own_clock().at(Moment { host, domain }).0
            }
            _ => self.now_of(number),
        }
    }

    /// The host time at which what is due at `when` reaches the program with this number if nothing changes.
    pub fn host_time_of_program(&self, number: u64, when: ProgramTime) -> Option<HostTime> {
        let program = self.program(number);
        if program.as_ref().is_some_and(|one| one.node.wakes() != Wakes::AT_ONCE && !one.is_free())
        {
            return self.host_time_of(self.virtual_time_of_program(number, when)?);
        }
        // Held meanwhile, so that both lines are those of one moment.
        let held = self.state.lock();
        let clock = self.page.snapshot(relax);
        let snapshot = match program {
            Some(program) => program.state.lock().clock.snapshot(clock),
            None => OwnClock::Domain.snapshot(clock),
        };
        drop(held);
        snapshot.reaches(when).map(|host| look_again(host, snapshot.clock.limit))
    }

    /// The virtual time of the domain at which what is due at `when` reaches the program with this number;
    /// `None` if it was detached.
    pub fn virtual_time_of_program(&self, number: u64, when: ProgramTime) -> Option<VirtualTime> {
        match self.program(number) {
            Some(program) => program.reaches(when),
            None => Some(when.of_domain()),
        }
    }

    /// Whether enough programs were added to look which of them are gone.
    pub fn is_sweep_due(&self) -> bool {
        let programs = self.programs.lock();
        programs.present.len() >= 2 * programs.swept + UNSWEPT_MAX
    }

    /// Forgets the programs that run no more, but for their counts: those that are not among
    /// `found` for the second time. Returns their numbers.
    pub fn keep_programs(&self, found: &BTreeSet<u64>) -> Vec<u64> {
        let mut programs = self.programs.lock();
        let gone: Vec<_> = programs
            .present
            .extract_if(.., |number, program| program.misses_when(found.contains(number)) >= MISSES)
            .collect();
        for (_, program) in &gone {
            programs.by_memory.remove(&program.memory);
            programs.gone.add(program.counters());
        }
        programs.swept = programs.present.len();
        gone.into_iter().map(|(number, _)| number).collect()
    }

    /// The program that a process was the last to begin.
    pub fn last_begun_by(&self, process: i32) -> Option<u64> {
        let programs = self.programs.lock();
        let mut newest = programs.present.values().rev();
        newest.find(|program| program.process == process).map(|program| program.number)
    }

    /// Calls that all programs of the domain have made so far.
    pub fn counters(&self) -> Counters {
        let (sum, programs) = (Counters::default(), self.programs.lock());
        programs.present.values().for_each(|program| sum.add(program.counters()));
        sum.add(&programs.gone);
        sum
    }
}

impl State {
    /// Whether the program may then run faster than it does.
    fn quickens_by(&self, change: Change) -> bool {
        match (change, &self.clock) {
            (Change::Dilate(tdf), OwnClock::Domain | OwnClock::Scaled(..)) => {
                tdf < self.clock.tdf()
            }
            (Change::Detach, _) | (_, OwnClock::Free(_)) => true,
        }
    }

    fn change(&mut self, change: Change, now: Moment, domain_paused: HostSpan) {
        self.published = self.published.wrapping_add(1);
        self.paused = self.paused_with(domain_paused);
        self.paused_before = domain_paused;
        self.clock = match change {
            Change::Dilate(tdf) => self.clock.scaled(now, tdf),
            Change::Detach => self.clock.detached(now),
        };
    }

    /// How long the program was held, if its domain was for so long.
    fn paused_with(&self, domain_paused: HostSpan) -> HostSpan {
        match self.clock {
            OwnClock::Free(_) => self.paused,
            _ => self.paused + (domain_paused - self.paused_before),
        }
    }
}

impl Program {
    /// Counts whether it was found. Returns how often it was not, one time after the other.
    fn misses_when(&self, found: bool) -> u32 {
        let mut state = self.state.lock();
        if let Some(missed) = &mut state.missed {
            *missed = if found { 0 } else { *missed + 1 };
        }
        state.missed.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;
    use std::time::Duration;
    use vtime::image::Kind;

    fn tdf(text: &str) -> Tdf {
        text.parse().unwrap()
    }

    #[test]
    fn a_program_is_dilated_by_itself_and_held_with_its_domain() {
        let domain = Domain::new(Start::default()).unwrap();
        let (slow, _) = domain.add_program("one", "program", 1, None).unwrap();
        let (plain, _) = domain.add_program("two", "program", 2, None).unwrap();
        let hold = domain.hold();
        domain.change_program(&slow, Change::Dilate(tdf("1000")));
        let begin = domain.now_of(slow.number);
        assert_eq!(begin, hold.at().of_program(), "it begins where the domain is");
        drop(hold);
        std::thread::sleep(Duration::from_millis(10));
        let held = domain.hold();
        let passed = |number| (domain.now_of(number) - begin).as_ns();
        let (of_slow, of_plain) = (passed(slow.number), passed(plain.number));
        assert_eq!(of_plain, (held.at().of_program() - begin).as_ns());
        assert!((of_slow - of_plain / 1000).abs() <= 1, "{of_slow} of {of_plain}");
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(passed(slow.number), of_slow, "a hold stops both");
        let standing = domain.clock_of(&slow);
        assert_eq!(standing.tdf, tdf("1000"));
        assert!(standing.paused >= HostSpan::from_ms(2));
    }

    #[test]
    fn a_child_goes_on_as_its_parent_stood() {
        let domain = Domain::new(Start { held: true, ..Start::default() }).unwrap();
        let (parent, _) = domain.add_program("one", "program", 1, None).unwrap();
        domain.change_program(&parent, Change::Dilate(tdf("4")));
        let (child, _) = domain.add_program("two", "program", 2, Some(parent.number)).unwrap();
        let (of_child, of_parent) = (domain.clock_of(&child), domain.clock_of(&parent));
        assert_eq!((of_child.time, of_child.tdf), (of_parent.time, of_parent.tdf));
        assert!(of_child.paused < of_parent.paused, "it was not there before");
        domain.change_program(&parent, Change::Dilate(tdf("8")));
        assert_eq!(domain.clock_of(&child).tdf, tdf("4"), "and has its own from then on");
    }

    #[test]
    fn who_was_detached_runs_while_the_domain_is_held_and_comes_back_without_a_jump() {
        let domain = Domain::new(Start { held: true, ..Start::default() }).unwrap();
        let (program, _) = domain.add_program("one", "program", 1, None).unwrap();
        domain.change_program(&program, Change::Detach);
        std::thread::sleep(Duration::from_millis(3));
        let gone_on = domain.now_of(program.number);
        assert!(gone_on.as_ns() >= 3_000_000);
        assert!(domain.clock_of(&program).free);
        assert!(domain.host_time_of_program(program.number, ProgramTime::MAX).is_none());
        assert!(domain.host_time_of_program(program.number, gone_on).is_some());
        domain.change_program(&program, Change::Dilate(Tdf::ONE));
        let back = domain.now_of(program.number);
        assert!(back >= gone_on);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(domain.now_of(program.number), back, "held with its domain again");
    }

    /// Writes noise into a page until the answer is dropped, as a hostile program might.
    fn scribble(page: OwnedFd) -> impl Drop {
        use std::os::unix::fs::FileExt;
        use std::sync::atomic::{AtomicBool, Ordering};
        struct Stop(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);
        impl Drop for Stop {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
                self.1.take().unwrap().join().unwrap();
            }
        }
        let (done, file) = (Arc::new(AtomicBool::new(false)), std::fs::File::from(page));
        // Odd counters, the mode of one that was detached, lines without end, and all else.
        let mut random = Random::new(1);
        file.write_all_at(&[0xff; vtime::image::PAGE_SIZE], 0).unwrap();
        let own = Arc::clone(&done);
        let writer = std::thread::spawn(move || {
            while !own.load(Ordering::Relaxed) {
                let noise = random.number();
                let (words, at) = ([u64::MAX, 1, 2, noise], noise >> 32 & 0x1f8);
                let word = words[(noise >> 20) as usize % words.len()];
                file.write_all_at(&word.to_le_bytes(), at).unwrap();
            }
        });
        Stop(done, Some(writer))
    }

    #[test]
    fn whatever_a_program_writes_into_its_page_moves_nobodys_time_and_keeps_nobody() {
        let domain = Domain::new(Start { held: true, ..Start::default() }).unwrap();
        let (hostile, page) = domain.add_program("hostile", "program", 1, None).unwrap();
        let (other, _page) = domain.add_program("other", "program", 2, None).unwrap();
        let scribbling = scribble(page);
        let ten = tdf("10");
        for round in 0..2000 {
            let both = [&*hostile, &*other];
            match round % 4 {
                0 => domain.change_programs(&both, Change::Dilate(ten)),
                1 => drop(domain.release_hold()),
                2 => domain.change_programs(&both, Change::Detach),
                _ => drop(domain.assert_hold()),
            }
            let [of_hostile, of_other] = <[_; 2]>::try_from(domain.clocks_of(&both)).unwrap();
            assert_eq!((of_hostile.time, of_hostile.tdf), (of_other.time, of_other.tdf));
            let (before, now) = (domain.now_of(other.number), domain.now_of(hostile.number));
            assert!(before <= now && now <= domain.now_of(other.number));
            let when = now + vtime::ProgramSpan::from_s(1);
            let reached = |program: &Program| domain.host_time_of_program(program.number, when);
            assert_eq!(reached(&hostile), reached(&other));
            let _ = domain.counters();
        }
        drop(scribbling);
    }

    #[test]
    fn counts_outlive_programs() {
        let domain = Domain::new(Start::default()).unwrap();
        let (program, _) = domain.add_program("one", "program", 1, None).unwrap();
        let (other, _) = domain.add_program("two", "program", 2, None).unwrap();
        program.counters().count(Kind::Sleep);
        other.counters().count(Kind::Sleep);
        let none = BTreeSet::new();
        assert!(domain.keep_programs(&none).is_empty() && domain.keep_programs(&none).is_empty());
        program.runs();
        other.runs();
        let found = BTreeSet::from([other.number]);
        assert!(domain.keep_programs(&found).is_empty(), "it may have been missed");
        assert_eq!(domain.keep_programs(&found), [program.number]);
        assert_eq!(domain.counters().get(Kind::Sleep), 2);
        assert!(domain.program(program.number).is_none());
    }
}
