//! Whether all threads sleep that must for the clock to jump.
//!
//! Each that was woken is looked at until it is found asleep ([`os::at_rest`]); it is then known how often it
//! had run. That is the first look. If all have slept on at the second one, nobody was awake in between: who
//! wakes a thread makes it runnable before it sleeps itself. Without more the second look is one at every thread.
//! Where the kernel notes who is woken ([`os::wakings`]) it is one at those of the first, and nobody may have
//! been noted since: so a jump costs some looks at those that were woken by the last one. At those of the first
//! again, as the note comes before the thread is runnable: it may have been looked at between the two, but not
//! again after the one that has woken it was found asleep.
//!
//! What an interrupt wakes may be without a note. So all are looked at after a time in which kernels may have
//! woken somebody by their own timers, and so are, where the clock runs and programs wait for timers of the host, all threads of a program
//! of which a wait is over, and all of the agent once the time has come for which a part of it has waited: the clock
//! does not jump over that time, and whoever waits for a later one was not woken by a timer yet. Nor are notes
//! taken on trust: all are looked at every now and then. Threads of programs that have run without a note are counted, and
//! if there are many, notes count no more.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Keeping, host_now};
use libc::pid_t;
use os::at_rest::{Found, Looked};
use os::process;
use os::wakings::{Group, Wakings};
use vtime::{HostSpan, HostTime};

/// From one look at all threads to the next at least, where the kernel notes who is woken; and how many times as
/// long as the look took, as there may be thousands of them.
const PROVEN_FOR: HostSpan = HostSpan::from_ms(50);
const PROVEN_SELDOM: i64 = 50;

/// How much a look at which one has run without a note takes from the trust in notes, and how much may be taken.
/// What comes from outside, from a disk or another host, wakes by interrupts.
const DOUBT: u32 = 100;
const DOUBTS_MAX: u32 = 250;

/// Whose a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Program,
    /// Or of a process that the agent is about to put into virtual time.
    Agent,
}

/// A thread, and what was found of it.
#[derive(Debug)]
pub(super) struct Known {
    look: Looked,
    pub(super) owner: Owner,
    pub(super) process: pid_t,
    /// By its program, the thread as that numbers it.
    pub(super) numbered: Option<(u64, u32)>,
    /// How often it had run when it was found asleep last.
    runs: u64,
    /// It was not found asleep since it was woken.
    is_roused: bool,
    /// It was woken since all were looked at, as the kernel has noted.
    is_told: bool,
}

/// How it is found out that none was woken.
#[derive(Debug)]
pub(super) enum Hearing {
    /// Each is looked at.
    Looks,
    Notes(Wakings),
}

/// All that are known, by their number.
#[derive(Debug)]
pub(super) struct Rest {
    known: BTreeMap<pid_t, Known>,
    by_number: BTreeMap<(u64, u32), pid_t>,
    /// No two of a program have the same number.
    are_distinct: bool,
    /// Those in which they are.
    groups: Vec<Group>,
    /// Those that are [`Known::is_roused`]. The one that was found awake last is the last.
    roused: Vec<pid_t>,
    /// Those that were found asleep at the first look.
    settled: BTreeSet<pid_t>,
    hearing: Hearing,
    /// Any of them may have run without a note.
    is_stale: bool,
    /// When all are looked at next.
    prove_at: HostTime,
    /// Threads of programs that have run without a note.
    untold: u64,
    /// More with each look at which there were such, less with each other one.
    doubts: u32,
    /// Processes, with the program of each, of which a thread was found asleep that had run.
    ran: Vec<(pid_t, Option<u64>)>,
}

impl Known {
    /// A thread of which nothing was found yet.
    pub(super) const fn new(
        look: Looked,
        process: pid_t,
        owner: Owner,
        numbered: Option<(u64, u32)>,
    ) -> Self {
        Self { look, owner, process, numbered, runs: 0, is_roused: false, is_told: false }
    }

    /// Its number, which another one may have if it has ended.
    pub(super) const fn thread(&self) -> pid_t {
        self.look.thread()
    }

    /// Whether it is still there, if only to be waited for.
    pub(super) fn is_there(&self) -> bool {
        self.look.ran_ns().is_some()
    }

    /// How long it has run so far, in nanoseconds.
    pub(super) fn ran_ns(&self) -> Option<u64> {
        self.look.ran_ns()
    }

    /// What it keeps the clock by, in this state.
    fn keeps(&self, state: char) -> Keeping {
        match (self.owner, state) {
            (Owner::Program, 'T') => Keeping::Stopped,
            // By a debugger, or for a moment by the agent.
            (Owner::Program, 't') if is_traced_by_us(self.thread()) => Keeping::Agent,
            (Owner::Program, 't') => Keeping::Stopped,
            (Owner::Program, _) => Keeping::Program,
            (Owner::Agent, _) => Keeping::Agent,
        }
    }
}

impl Rest {
    pub(super) const fn new(hearing: Hearing) -> Self {
        Self {
            known: BTreeMap::new(),
            by_number: BTreeMap::new(),
            are_distinct: true,
            groups: Vec::new(),
            roused: Vec::new(),
            settled: BTreeSet::new(),
            hearing,
            is_stale: false,
            prove_at: HostTime::ZERO,
            untold: 0,
            doubts: 0,
            ran: Vec::new(),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    pub(super) fn get(&self, thread: pid_t) -> Option<&Known> {
        self.known.get(&thread)
    }

    /// Those that were not found asleep since they were woken.
    pub(super) fn roused(&self) -> impl Iterator<Item = &Known> {
        self.roused.iter().filter_map(|thread| self.known.get(thread))
    }

    /// By the number of a program, and that which the program has for the thread.
    pub(super) fn numbered(&self, program: u64, number: u32) -> Option<&Known> {
        self.known.get(self.by_number.get(&(program, number))?)
    }

    /// Whether no two have the same number in the same program.
    pub(super) const fn are_distinct(&self) -> bool {
        self.are_distinct
    }

    /// Gives up all that are known, to be known anew.
    pub(super) fn take(&mut self) -> BTreeMap<pid_t, Known> {
        std::mem::take(&mut self.known)
    }

    /// These are known from now on. Of those that were known before it is known whether they sleep.
    pub(super) fn know(&mut self, all: impl Iterator<Item = (Known, bool)>) {
        for (mut known, is_new) in all {
            known.is_roused |= is_new;
            self.known.insert(known.thread(), known);
        }
        let roused = self.known.values().filter(|known| known.is_roused);
        self.roused = roused.map(Known::thread).collect();
        self.number();
    }

    /// It is about to be woken.
    pub(super) fn rouse(&mut self, thread: pid_t) -> bool {
        let Some(known) = self.known.get_mut(&thread).filter(|known| !known.is_roused) else {
            return false;
        };
        known.is_roused = true;
        self.roused.push(thread);
        true
    }

    /// Some thread of this program may have been woken without a note.
    pub(super) fn rouse_all_of(&mut self, program: u64) {
        let its = self.by_number.range((program, 0)..=(program, u32::MAX));
        let its: Vec<_> = its.map(|(_, thread)| *thread).collect();
        its.into_iter().for_each(|thread| _ = self.rouse(thread));
    }

    /// Some thread of the agent may have been woken without a note.
    pub(super) fn rouse_agent(&mut self) {
        let its = self.known.values().filter(|known| known.owner == Owner::Agent);
        let its: Vec<_> = its.map(Known::thread).collect();
        its.into_iter().for_each(|thread| _ = self.rouse(thread));
    }

    /// Any of them may have run without a note by now.
    pub(super) const fn any_may_have_run(&mut self) {
        self.is_stale = true;
    }

    /// Of which processes a thread has run since this was last asked.
    pub(super) fn take_those_that_ran(&mut self) -> impl Iterator<Item = (pid_t, Option<u64>)> {
        self.ran.drain(..)
    }

    /// The first look: what keeps the clock, if one does not sleep.
    pub(super) fn sleep(&mut self) -> Result<(), Keeping> {
        self.hear();
        self.roused_sleep()?;
        if std::mem::take(&mut self.is_stale) {
            self.known.values_mut().for_each(|known| known.is_roused = true);
            self.roused = self.known.keys().copied().collect();
            self.roused_sleep()?;
        }
        Ok(())
    }

    fn roused_sleep(&mut self) -> Result<(), Keeping> {
        let mut has_ended = false;
        while let Some(thread) = self.roused.last() {
            let Some(known) = self.known.get_mut(thread) else {
                self.roused.pop();
                continue;
            };
            match known.look.look() {
                Found::Asleep(runs) => {
                    (known.runs, known.is_roused) = (runs, false);
                    self.settled.insert(*thread);
                    self.ran.push((known.process, known.numbered.map(|(program, _)| program)));
                }
                Found::Awake(state) => return Err(known.keeps(state)),
                Found::Gone => {
                    self.known.remove(thread);
                    has_ended = true;
                }
            }
            self.roused.pop();
        }
        if has_ended {
            self.number();
            // Its end may be about to wake its parent.
            return Err(Keeping::Program);
        }
        Ok(())
    }

    /// The second look: whether all have slept since the first one. If not, it is known of whom. Those programs that
    /// are due a timer of the host may just have woken.
    pub(super) fn sleep_on(&mut self, is_due: impl Fn(u64) -> bool) -> bool {
        let settled = std::mem::take(&mut self.settled);
        match self.hearing {
            Hearing::Looks => {
                let all = self.restless(self.known.keys());
                self.rouse_those(&all)
            }
            Hearing::Notes(_) => {
                let restless = self.restless(settled.iter());
                self.rouse_those(&restless) & self.hear()
                    && self.roused.is_empty()
                    && self.is_proven(is_due)
            }
        }
    }

    /// How many threads of programs have run without a note, as far as was seen.
    pub(super) const fn untold(&self) -> u64 {
        self.untold
    }

    /// How that is found out, in words.
    pub(super) const fn method(&self) -> &'static str {
        match self.hearing {
            Hearing::Looks => {
                "state, call and count of runs of each thread: of those that ran, then of all"
            }
            Hearing::Notes(_) => {
                "who was woken, as the kernel notes it; state, call and count of runs of those"
            }
        }
    }

    /// Whether the kernel has noted nobody who is known.
    fn hear(&mut self) -> bool {
        let Hearing::Notes(wakings) = &self.hearing else { return true };
        let mut was_quiet = true;
        wakings.take(&self.groups, |thread| {
            let Some(known) = self.known.get_mut(&thread) else { return };
            known.is_told = true;
            if !std::mem::replace(&mut known.is_roused, true) {
                self.roused.push(thread);
                was_quiet = false;
            }
        });
        was_quiet
    }

    /// They are looked at from the next first look on. Returns whether there is none.
    fn rouse_those(&mut self, restless: &[pid_t]) -> bool {
        restless.iter().for_each(|thread| _ = self.rouse(*thread));
        restless.is_empty()
    }

    /// Which of these have run since they were found asleep, or are about to.
    fn restless<'a>(&self, threads: impl Iterator<Item = &'a pid_t>) -> Vec<pid_t> {
        let known = threads.filter_map(|thread| self.known.get(thread));
        known.filter(|known| !known.look.sleeps_on(known.runs)).map(Known::thread).collect()
    }

    /// Whether all sleep of whom the kernel has noted nothing. If not, its notes count no more.
    fn is_proven(&mut self, is_due: impl Fn(u64) -> bool) -> bool {
        let now = host_now();
        if now < self.prove_at {
            return true;
        }
        let restless = self.restless(self.known.keys());
        let took = host_now() - now;
        let pause = PROVEN_FOR.max(HostSpan::from_ns(took.as_ns().saturating_mul(PROVEN_SELDOM)));
        self.prove_at = now + pause;
        let was_quiet = self.hear();
        let known = restless.iter().filter_map(|thread| self.known.get(thread));
        let untold = known.filter(|known| {
            !known.is_told && known.numbered.is_some_and(|(program, _)| !is_due(program))
        });
        let untold = untold.count();
        self.untold += untold as u64;
        self.doubts = if untold > 0 { self.doubts + DOUBT } else { self.doubts.saturating_sub(1) };
        if self.doubts > DOUBTS_MAX {
            self.hearing = Hearing::Looks;
        }
        self.known.values_mut().for_each(|known| known.is_told = false);
        self.rouse_those(&restless) && was_quiet
    }

    fn number(&mut self) {
        let numbered = || self.known.values().filter_map(|one| Some((one.numbered?, one.thread())));
        let (by_number, count) = (numbered().collect::<BTreeMap<_, _>>(), numbered().count());
        self.are_distinct = by_number.len() == count;
        self.by_number = by_number;
        self.groups = self.known.keys().filter_map(|thread| Group::of(*thread)).collect();
        self.groups.dedup();
    }
}

/// Whether a thread is traced by one of this process, or by nobody any more.
fn is_traced_by_us(thread: pid_t) -> bool {
    let status = process::status_of(thread);
    let tracer = process::field(&status, "TracerPid").filter(|tracer| *tracer != "0");
    tracer
        .is_none_or(|tracer| std::fs::exists(format!("/proc/self/task/{tracer}")).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// With notes, where they are to be had, and without.
    fn hearings() -> Vec<Hearing> {
        let notes = Wakings::begin().ok().map(Hearing::Notes);
        if notes.is_none() {
            println!("not measured: this user, or this kernel, does not note who is woken");
        }
        [Hearing::Looks].into_iter().chain(notes).collect()
    }

    fn cat() -> (Child, pid_t) {
        let child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let number = child.id().cast_signed();
        (child, number)
    }

    fn known(number: pid_t) -> (Known, bool) {
        let look = Looked::open(number, number).unwrap();
        (Known::new(look, number, Owner::Program, Some((1, number.cast_unsigned()))), true)
    }

    fn settle(rest: &mut Rest) {
        let begun = Instant::now();
        while rest.sleep().is_err() || !rest.sleep_on(|_| false) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{rest:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn who_was_woken_between_two_looks_is_found_however_short_it_ran() {
        use std::io::{Read as _, Write as _};
        for hearing in hearings() {
            let mut rest = Rest::new(hearing);
            let ((mut one, first), (mut two, second)) = (cat(), cat());
            rest.know([known(first), known(second)].into_iter());
            settle(&mut rest);
            assert!(rest.take_those_that_ran().count() >= 2);
            assert!(rest.sleep().is_ok() && rest.sleep_on(|_| false));
            for _ in 0..200 {
                assert!(rest.sleep().is_ok());
                one.stdin.as_mut().unwrap().write_all(b"x").unwrap();
                one.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
                assert!(!rest.sleep_on(|_| false), "{rest:?}");
                settle(&mut rest);
                let ran: Vec<_> = rest.take_those_that_ran().collect();
                assert!(ran.iter().all(|ran| *ran == (first, Some(1))) && !ran.is_empty());
            }
            two.kill().unwrap();
            two.wait().unwrap();
            assert!(
                rest.sleep().is_ok_and(|()| !rest.sleep_on(|_| false))
                    || rest.get(second).is_none()
            );
            settle(&mut rest);
            assert!(rest.get(second).is_none() && rest.get(first).is_some());
            one.kill().unwrap();
            one.wait().unwrap();
        }
    }

    #[test]
    fn notes_count_no_more_if_one_has_run_without() {
        for hearing in hearings() {
            let mut rest = Rest::new(hearing);
            let (mut child, number) = cat();
            rest.know([known(number)].into_iter());
            settle(&mut rest);
            let had_notes = matches!(rest.hearing, Hearing::Notes(_));
            for round in 1..=3 {
                rest.prove_at = HostTime::ZERO;
                rest.known.get_mut(&number).unwrap().runs -= 1;
                assert!(!rest.sleep_on(|_| false));
                assert_eq!(rest.untold(), if had_notes { round } else { 0 });
                assert_eq!(matches!(rest.hearing, Hearing::Notes(_)), had_notes && round < 3);
                settle(&mut rest);
            }
            assert!(rest.method().contains("of all"));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
