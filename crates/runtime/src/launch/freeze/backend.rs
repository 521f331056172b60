//! What the thread of the freezer does to programs: gathers them, freezes them, thaws them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use libc::pid_t;
use vtime::HostSpan;

use super::account::Method;
use super::calls;
use super::group::Group;
use super::stop::Stopper;
use super::warden::Warden;
use os::process::{self, Identity};

/// How long a freeze may take before it is given up as incomplete.
const FREEZE_LONGEST: Duration = Duration::from_secs(1);
/// After this it is looked at who is not frozen; one that waits in the kernel for something that
/// cannot be interrupted (a file of ours, for one) computes nothing and is let be.
const LOOK_AFTER: Duration = Duration::from_micros(500);
/// How long a thread that was asked to stop is waited for.
const STOP_LONGEST: Duration = Duration::from_millis(20);
/// Most passes over new children; a program that forks faster is left to the next time.
const PASSES_MAX: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Backend {
    mechanism: Option<Mechanism>,
    /// First processes of the trees of programs, and the keepers and nodes that have started
    /// them and adopt what they leave behind.
    roots: BTreeSet<Identity>,
    pub(super) stopper: Stopper,
    /// What the last look at all programs took.
    looked: Duration,
}

#[derive(Debug)]
enum Mechanism {
    Group(Group, Warden),
    Ptrace,
}

impl Backend {
    /// Chooses the best way there is, or `only`. Returns it, and why no better one.
    pub(super) fn choose(&mut self, only: Option<Method>) -> (Method, String) {
        let mut reasons = Vec::new();
        for method in Method::ALL {
            if only.is_some_and(|only| only != method) {
                continue;
            }
            if method == Method::Ptrace {
                break;
            }
            match group(method) {
                Ok(mechanism) => {
                    self.mechanism = Some(mechanism);
                    return (method, reasons.join("; "));
                }
                Err(error) => reasons.push(format!("{method}: {error}")),
            }
        }
        self.mechanism = Some(Mechanism::Ptrace);
        (Method::Ptrace, reasons.join("; "))
    }

    pub(super) fn has_chosen(&self) -> bool {
        self.mechanism.is_some()
    }

    /// Takes up trees of programs by their first processes.
    pub(super) fn gather(&mut self, new: &[Identity]) {
        self.roots.retain(|root| root.is_there());
        let new: Vec<Identity> = new.iter().copied().filter(|root| root.is_there()).collect();
        for root in &new {
            self.roots.insert(*root);
            let parent = process::parent_of(root.number).filter(|parent| is_ours(*parent));
            self.roots.extend(parent.and_then(|parent| Identity::of_process(parent).ok()));
        }
        let Some(Mechanism::Group(group, _)) = &self.mechanism else { return };
        for root in &new {
            // Fails if it has ended already.
            let _ = group.add(*root);
        }
        // What they have started before is not in the group, but what that starts from now on is
        // as soon as it is: so one pass without anything new has found all.
        let mut seen: BTreeSet<Identity> = new.iter().copied().collect();
        for _ in 0..PASSES_MAX {
            let found = process::descendants(&self.roots);
            let unseen: Vec<Identity> = found.difference(&seen).copied().collect();
            if unseen.is_empty() {
                return;
            }
            for process in unseen {
                // The first process of a node is to collect what ends.
                if !is_ours(process.number) {
                    let _ = group.add(process);
                }
                seen.insert(process);
            }
        }
    }

    /// Whether a program may be computing. Where threads are stopped one by one, only those are that run.
    pub(super) fn one_runs(&self) -> bool {
        match &self.mechanism {
            None => false,
            Some(Mechanism::Ptrace) => true,
            Some(Mechanism::Group(group, _)) => one_runs(group),
        }
    }

    /// Freezes all. Returns whether nobody computes any more. Stopping threads one after the other may be
    /// given up; a group is frozen to the end, which takes less than a millisecond: who was only half on the
    /// way would see that a call of its was cut short.
    pub(super) fn freeze(&mut self, given_up: impl Fn() -> bool) -> bool {
        match &mut self.mechanism {
            None => true,
            Some(Mechanism::Ptrace) => self.stop_running(given_up),
            Some(Mechanism::Group(group, _)) => {
                let complete = group.freeze().is_ok() && settles(group);
                for thread in cut_short(&group.threads()) {
                    self.stopper.request_stop(thread, |thread| group.has(thread));
                }
                if !group.stops_after_thaw() {
                    self.stopper.wait(STOP_LONGEST);
                    self.stopper.detach_stopped();
                }
                complete
            }
        }
    }

    pub(super) fn thaw(&mut self) {
        if let Some(Mechanism::Group(group, _)) = &mut self.mechanism {
            // The group is gone if not, and its programs with it.
            let _ = group.thaw();
        }
        self.stopper.wait(STOP_LONGEST);
        self.stopper.detach_stopped();
    }

    /// During a freeze: what has begun to run since, and what has ended.
    pub(super) fn keep_frozen(&mut self) {
        let begun = Instant::now();
        self.stopper.look_at_all();
        match self.mechanism {
            Some(Mechanism::Ptrace) => drop(self.stop_running(|| false)),
            _ => self.stopper.detach_stopped(),
        }
        self.looked = begun.elapsed();
    }

    /// Whether a freeze must be kept up by looking again.
    pub(super) fn must_look(&self) -> bool {
        match &self.mechanism {
            None => false,
            Some(Mechanism::Ptrace) => true,
            Some(Mechanism::Group(group, _)) => {
                !group.stops_after_thaw() && self.stopper.is_waiting()
            }
        }
    }

    /// The time until the next look, so that looking takes a tenth of a processor at most.
    pub(super) fn rest(&self) -> HostSpan {
        HostSpan::from_ns(i64::try_from(self.looked.as_nanos()).unwrap_or(i64::MAX / 10) * 10)
    }

    pub(super) fn end(mut self) {
        self.thaw();
        if let Some(Mechanism::Group(_, warden)) = self.mechanism {
            warden.end();
        }
    }

    /// The threads of a process that run and can be stopped.
    fn running_of(&self, process: pid_t) -> Vec<pid_t> {
        let mut running = process::threads_of(process);
        running
            .retain(|thread| !self.stopper.has(*thread) && process::state_of(*thread) == Some('R'));
        if !running.is_empty() && calls::is_in_exec(process) {
            running.clear();
        }
        running
    }

    /// Stops whatever runs, until a look at all finds nobody who does. One that sleeps is left
    /// alone: it computes nothing.
    fn stop_running(&mut self, given_up: impl Fn() -> bool) -> bool {
        let begun = Instant::now();
        loop {
            let processes = process::descendants(&self.roots);
            let running = processes.iter().flat_map(|process| self.running_of(process.number));
            let running: Vec<pid_t> = running.collect();
            if running.is_empty() {
                return true;
            }
            let roots = &self.roots;
            let is_ours = |thread| process::comes_from(roots, thread);
            running.iter().for_each(|thread| self.stopper.request_stop(*thread, is_ours));
            self.stopper.wait(STOP_LONGEST);
            if given_up() || begun.elapsed() > FREEZE_LONGEST {
                return false;
            }
        }
    }
}

fn group(method: Method) -> std::io::Result<Mechanism> {
    let group = Group::make(method)?;
    match Warden::start(&group.folder) {
        Ok(warden) => Ok(Mechanism::Group(group, warden)),
        Err(error) => {
            group.end(Duration::ZERO, Duration::ZERO);
            Err(error)
        }
    }
}

fn one_runs(group: &Group) -> bool {
    group.threads().into_iter().any(|thread| process::state_of(thread) == Some('R'))
}

/// Waits until all of a group are frozen but for those that wait in the kernel.
fn settles(group: &mut Group) -> bool {
    let begun = Instant::now();
    let mut look_after = LOOK_AFTER;
    loop {
        if group.is_frozen() {
            return true;
        }
        if begun.elapsed() > FREEZE_LONGEST {
            return false;
        }
        if begun.elapsed() > look_after {
            if !one_runs(group) {
                return true;
            }
            look_after *= 2;
        }
        group.wait(LOOK_AFTER);
    }
}

/// The frozen threads that may be in a call which the freeze has cut short.
fn cut_short(threads: &[pid_t]) -> Vec<pid_t> {
    let calls = threads.iter().filter_map(|thread| Some((*thread, calls::call_of(*thread)?)));
    let calls: Vec<_> = calls.collect();
    let execs = calls.iter().filter(|(_, call)| call.is_exec());
    let in_exec: BTreeSet<Option<pid_t>> =
        execs.map(|(thread, _)| process::process_of(*thread)).collect();
    let cut = calls.into_iter().filter(|(thread, call)| {
        calls::may_be_cut_short(*call)
            // One that job control or a debugger has stopped is left as it is.
            && matches!(process::state_of(*thread), Some('S' | 'D'))
            && (in_exec.is_empty() || !in_exec.contains(&process::process_of(*thread)))
    });
    cut.map(|(thread, _)| thread).collect()
}

/// Whether a process is another one that runs the program that this one does: a keeper or a node.
pub(super) fn is_ours(process: pid_t) -> bool {
    if process.cast_unsigned() == std::process::id() {
        return false;
    }
    let program = |process: &str| {
        let file = fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((file.dev(), file.ino()))
    };
    let own = program("self");
    own.is_some() && program(&process.to_string()) == own
}
