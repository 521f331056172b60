//! Until when the threads of programs wait: what each program says is read again only when one of its threads
//! has run, so that a jump costs no look at a thousand others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::{Domain, NodeTime, Program};
use vtime::VirtualTime;

/// What one program said when it was read last.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    first: Option<VirtualTime>,
    untold: u64,
}

/// The first deadline of each program.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    programs: BTreeMap<u64, Arc<Program>>,
    said: BTreeMap<u64, Said>,
    order: BTreeSet<(VirtualTime, u64)>,
    untold: u64,
    /// To be read again.
    changed: BTreeSet<u64>,
    /// How often the times of programs had begun to run in another way.
    lines: u64,
}

impl Deadlines {
    /// The programs whose time is that of the domain.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Arc<Program>> {
        self.programs.values()
    }

    /// One of them by its number.
    pub(super) fn program(&self, number: u64) -> Option<&Arc<Program>> {
        self.programs.get(&number)
    }

    /// These are there from now on.
    pub(super) fn know(&mut self, programs: impl Iterator<Item = Arc<Program>>) {
        let programs = programs.map(|program| (program.number, program)).collect();
        *self = Self { programs, lines: self.lines, ..Self::default() };
        self.all_have_changed();
    }

    /// A thread of this one has run, or was told that its time has come.
    pub(super) fn has_changed(&mut self, program: u64) {
        self.changed.insert(program);
    }

    /// What is due reaches the programs of this node at other times than before.
    pub(super) fn those_at_have_changed(&mut self, node: &Arc<NodeTime>) {
        let here = self.programs.iter().filter(|(_, program)| Arc::ptr_eq(program.node(), node));
        self.changed.extend(here.map(|(number, _)| *number));
    }

    pub(super) fn all_have_changed(&mut self) {
        self.changed = self.programs.keys().copied().collect();
    }

    /// Those whose time has come are told so; for what they wait next is not known yet.
    pub(super) fn those_due_have_changed(&mut self, now: VirtualTime) {
        while let Some((first, number)) =
            self.order.first().copied().filter(|(first, _)| *first <= now)
        {
            self.order.remove(&(first, number));
            self.said.entry(number).or_default().first = None;
            self.changed.insert(number);
        }
    }

    /// Those to be read again that have waited for this time, or one before: so they may not say any more.
    pub(super) fn changed_and_due(&self, now: VirtualTime) -> Vec<u64> {
        self.changed.iter().copied().filter(|number| self.is_due(*number, now)).collect()
    }

    /// The first time of the domain for which a thread waits, and how often one so far has not found a place to
    /// say so. Reads what those say that have changed.
    pub(super) fn first(&mut self, domain: &Domain) -> (Option<VirtualTime>, u64) {
        let lines = domain.lines_changed();
        if lines != self.lines {
            self.lines = lines;
            self.all_have_changed();
        }
        for number in std::mem::take(&mut self.changed) {
            let Some(program) = self.programs.get(&number) else { continue };
            let (first, untold) = program.awaits();
            let before = self.said.insert(number, Said { first, untold }).unwrap_or_default();
            before.first.map(|first| self.order.remove(&(first, number)));
            first.map(|first| self.order.insert((first, number)));
            self.untold = self.untold - before.untold + untold;
        }
        (self.order.first().map(|(first, _)| *first), self.untold)
    }

    /// Whether a thread of this one waits for this time, or one before.
    pub(super) fn is_due(&self, program: u64, now: VirtualTime) -> bool {
        let first = self.said.get(&program).and_then(|said| said.first);
        first.is_some_and(|first| first <= now)
    }

    /// Those of which a thread waits for this time, or one before.
    pub(super) fn due(&self, now: VirtualTime) -> impl Iterator<Item = &Arc<Program>> {
        let due = self.order.range(..=(now, u64::MAX));
        due.filter_map(|(_, number)| self.programs.get(number))
    }
}
