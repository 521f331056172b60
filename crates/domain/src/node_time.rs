//! When what is due reaches a node whose programs compute: the processor time that they use keeps it busy.
//!
//! It is looked at whenever somebody has to know: before the clock jumps, when the node has sent something, and
//! when one of its programs asks for something outside. What a process has used in all is the clock of its
//! processor time, which counts threads that have ended too; what one has used that has ended since the last
//! look is lost. clock_getcpuclockid(3)
//!
//! Programs are told at each look how far they are ahead, and count on from there ([`vtime::ahead`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use libc::pid_t;
use os::process::processor_time_ns;
use parking_lot::Mutex;
use vtime::ahead::Busy;
use vtime::{HostSpan, VirtualSpan, VirtualTime, Wakes};

use super::{Domain, Program};

/// When what is due reaches a node, and its programs.
#[derive(Debug)]
pub struct NodeTime {
    name: String,
    state: Mutex<State>,
    takes_processor_time: bool,
}

#[derive(Debug)]
struct State {
    wakes: Wakes,
    /// What each process had used when it was looked at last, in nanoseconds.
    processes: BTreeMap<pid_t, u64>,
    /// They see time pass while they compute.
    programs: Vec<Weak<Program>>,
    /// For how long the clock had run then, without its jumps.
    ran: VirtualSpan,
    computed: Computed,
}

/// What the programs of a node have computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Computed {
    /// Processor time that was charged, in nanoseconds.
    pub processor_ns: u64,
    /// Virtual time that it took, in nanoseconds.
    pub took_ns: u64,
}

impl NodeTime {
    /// Of a node that has not computed yet.
    pub fn new(name: &str, wakes: Wakes) -> Self {
        let state = State {
            wakes,
            processes: BTreeMap::new(),
            programs: Vec::new(),
            ran: VirtualSpan::ZERO,
            computed: Computed::default(),
        };
        Self {
            name: name.to_owned(),
            state: Mutex::new(state),
            takes_processor_time: wakes.takes_processor_time(),
        }
    }

    /// Of whatever is at no node: at the very moment.
    pub fn at_once() -> Self {
        Self::new("", Wakes::AT_ONCE)
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the processor time that its programs use takes virtual time.
    pub const fn takes_processor_time(&self) -> bool {
        self.takes_processor_time
    }

    /// As it is by what was seen until now.
    pub fn wakes(&self) -> Wakes {
        self.state.lock().wakes
    }

    /// What its programs have computed until they were looked at last.
    pub fn computed(&self) -> Computed {
        self.state.lock().computed
    }

    /// Its programs and their processes are these from now on.
    pub fn know(&self, programs: &[Arc<Program>], processes: &BTreeSet<pid_t>) {
        let state = &mut *self.state.lock();
        state.programs = programs.iter().map(Arc::downgrade).collect();
        let used = |process: &pid_t| state.processes.get(process).copied().unwrap_or(0);
        state.processes = processes.iter().map(|process| (*process, used(process))).collect();
    }

    /// With what a program begins in a process, which numbers itself so.
    pub(super) fn begins(&self, process: pid_t, own_number: i32) -> Option<Busy> {
        let state = self.state.lock();
        let used = state.processes.get(&process).copied().or_else(|| processor_time_ns(process));
        self.takes_processor_time.then(|| state.busy(own_number, used))
    }
}

impl State {
    fn busy(&self, process: i32, used_ns: Option<u64>) -> Busy {
        Busy {
            millionths: self.wakes.millionths(),
            // None has the number 0.
            process: used_ns.map_or(0, |_| process),
            until: self.wakes.busy_until(),
            used_ns: used_ns.unwrap_or(0),
        }
    }

    /// Takes in what its processes have used until now.
    fn look(&mut self, now: VirtualTime, ran: VirtualSpan) -> bool {
        let mut spent_ns = 0;
        for (process, seen_ns) in &mut self.processes {
            let Some(used_ns) = processor_time_ns(*process) else { continue };
            // Less, if another one has its number.
            spent_ns += used_ns.checked_sub(*seen_ns).unwrap_or(used_ns);
            *seen_ns = used_ns;
        }
        let has_changed = self.computes(spent_ns, now, ran);
        if spent_ns > 0 {
            for program in self.programs.iter().filter_map(Weak::upgrade) {
                let used = self.processes.get(&program.process).copied();
                program.is_ahead(self.busy(program.own_process, used));
            }
        }
        has_changed
    }

    fn computes(&mut self, spent_ns: u64, now: VirtualTime, ran: VirtualSpan) -> bool {
        // Another thread may have looked since `now`.
        let ran_since = ran - self.ran;
        self.ran = self.ran.max(ran);
        let spent = HostSpan::from_ns(i64::try_from(spent_ns).unwrap_or(i64::MAX));
        let before = self.wakes;
        self.wakes = before.computes(spent, ran_since, now);
        self.computed.processor_ns += spent_ns;
        self.computed.took_ns += self.wakes.takes(spent).as_ns().unsigned_abs();
        self.wakes != before
    }
}

impl Domain {
    /// Looks what the programs of a node have computed until now, and returns by that when what is due reaches
    /// it, and whether that has changed. Nothing, where that takes no virtual time.
    pub fn look_at(&self, node: &NodeTime) -> (Wakes, bool) {
        if !node.takes_processor_time {
            return (node.wakes(), false);
        }
        let (now, jumped) = self.now_and_jumped();
        let mut state = node.state.lock();
        let has_changed = state.look(now, now - VirtualTime::ZERO - jumped);
        (state.wakes, has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pace, Start};

    fn ms(ms: i64) -> VirtualTime {
        VirtualTime::ZERO + VirtualSpan::from_ms(ms)
    }

    #[test]
    fn what_is_used_while_the_clock_runs_has_taken_that_time() {
        let node = NodeTime::new("board", Wakes::AT_ONCE.for_processor_time(1_000_000));
        let mut state = node.state.lock();
        let leaves = |state: &State, now| state.wakes.leaves(now);
        assert!(state.computes(5_000_000, ms(10), VirtualSpan::ZERO));
        assert_eq!(leaves(&state, ms(10)), ms(15));
        // It has jumped to 20 ms, and run to 24 ms.
        assert!(!state.computes(4_000_000, ms(24), VirtualSpan::from_ms(4)));
        assert!(state.computes(4_000_000, ms(25), VirtualSpan::from_ms(5)));
        assert_eq!(leaves(&state, ms(25)), ms(28));
        assert_eq!(state.computed, Computed { processor_ns: 13_000_000, took_ns: 13_000_000 });
    }

    #[test]
    fn a_process_is_seen_to_compute_also_in_threads_that_have_ended() {
        let start = Start { pace: Pace::Events, ..Start::default() };
        let domain = Domain::new(start).unwrap();
        domain.let_stand(true);
        let node = NodeTime::new("board", Wakes::AT_ONCE.for_processor_time(4_000_000));
        node.know(&[], &BTreeSet::from([std::process::id().cast_signed()]));
        domain.look_at(&node);
        let before = node.computed();
        let begun = processor_time_ns(std::process::id().cast_signed()).unwrap();
        let burn = move || {
            let used = || processor_time_ns(std::process::id().cast_signed()).unwrap();
            while used() - begun < 3_000_000 {}
        };
        std::thread::spawn(burn).join().unwrap();
        let (wakes, has_changed) = domain.look_at(&node);
        assert!(has_changed);
        let computed = node.computed();
        assert!(computed.processor_ns - before.processor_ns >= 3_000_000, "{computed:?}");
        assert_eq!(computed.took_ns, 4 * computed.processor_ns);
        let now = domain.now();
        assert_eq!((wakes.leaves(now) - now).as_ns().unsigned_abs(), computed.took_ns);
        assert_eq!(node.wakes(), wakes);
    }
}
