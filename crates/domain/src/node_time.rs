//! When what is due reaches a node whose programs compute: the processor time that they use keeps it busy.
//!
//! It is looked at whenever somebody has to know: before the clock jumps, when the node has sent something, and
//! when one of its programs asks for something outside. What a process has used in all is the clock of its
//! processor time, which counts threads that have ended too; what one has used that has ended since the last
//! look is lost. clock_getcpuclockid(3) A process in which a program begins is known from then on, one that is
//! forked when the agent finds it.
//!
//! Programs are told at each look how far they are ahead, and count on from there ([`vtime::ahead`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use libc::pid_t;
use os::process::processor_time_ns;
use parking_lot::Mutex;
use vtime::ahead::Busy;
use vtime::{HostSpan, HostTime, VirtualSpan, VirtualTime, Wakes};

use super::{Domain, Program, host_now};

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
    processes: BTreeMap<pid_t, Seen>,
    /// They see time pass while they compute.
    programs: Vec<Weak<Program>>,
    looked: HostTime,
    /// For how long the clock had run then, without its jumps.
    ran: VirtualSpan,
    /// Host time for which the clock ran and less was used, as is seen by looks that are no more exact than this.
    credit: HostSpan,
    computed: Computed,
}

/// As far as the time of the clock and that of processors may be apart at a look.
const CREDIT_MAX: HostSpan = HostSpan::from_ms(10);

/// A process of a program.
#[derive(Debug)]
struct Seen {
    threads: Vec<pid_t>,
    /// When it was looked at last, in nanoseconds.
    used_ns: u64,
    /// It has begun since all were found last.
    is_new: bool,
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
            looked: HostTime::ZERO,
            ran: VirtualSpan::ZERO,
            credit: HostSpan::ZERO,
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

    /// These were found to be its programs, and their processes and threads.
    pub fn know(&self, programs: &[Arc<Program>], processes: BTreeMap<pid_t, Vec<pid_t>>) {
        let state = &mut *self.state.lock();
        for program in programs {
            state.knows(program);
        }
        state.processes.retain(|process, seen| seen.is_new || processes.contains_key(process));
        for (process, threads) in processes {
            // One that another has forked begins with nothing.
            let used_ns = state.processes.get(&process).map_or(0, |seen| seen.used_ns);
            state.processes.insert(process, Seen { threads, used_ns, is_new: false });
        }
    }

    /// A program is about to begin in this process.
    pub(super) fn begins(&self, process: pid_t) {
        if self.takes_processor_time {
            let seen = Seen { threads: vec![process], used_ns: 0, is_new: true };
            self.state.lock().processes.entry(process).or_insert(seen);
        }
    }

    /// With what a program begins in a process, which numbers itself so.
    pub(super) fn busy(&self, process: pid_t, own_number: i32) -> Option<Busy> {
        let state = self.state.lock();
        self.takes_processor_time.then(|| state.busy(process, own_number))
    }

    /// A program has begun.
    pub(super) fn has_begun(&self, program: &Arc<Program>) {
        if self.takes_processor_time {
            self.state.lock().knows(program);
        }
    }
}

impl State {
    fn knows(&mut self, program: &Arc<Program>) {
        let program = Arc::downgrade(program);
        if !self.programs.iter().any(|one| one.ptr_eq(&program)) {
            self.programs.push(program);
        }
    }

    fn busy(&self, process: pid_t, own_number: i32) -> Busy {
        let seen = self.processes.get(&process);
        Busy {
            millionths: self.wakes.millionths(),
            // None has the number 0.
            process: seen.map_or(0, |_| own_number),
            until: self.wakes.busy_until(),
            used_ns: seen.map_or(0, |seen| seen.used_ns),
        }
    }

    /// Takes in what its processes have used until now.
    fn look(&mut self, now: VirtualTime, ran: VirtualSpan) -> bool {
        let mut spent_ns = 0;
        self.processes.retain(|process, seen| {
            let used_ns = processor_time_ns(*process, &seen.threads);
            let Some(used_ns) = used_ns else { return false };
            // Less, if another one has its number.
            spent_ns += used_ns.checked_sub(seen.used_ns).unwrap_or(used_ns);
            seen.used_ns = used_ns;
            true
        });
        let before = self.wakes;
        self.computes(spent_ns, now, ran);
        self.programs.retain(|program| program.strong_count() > 0);
        let programs: Vec<_> = self.programs.iter().filter_map(Weak::upgrade).collect();
        self.is_no_earlier_than(&programs, now);
        if self.wakes != before || spent_ns > 0 {
            for program in programs {
                program.is_ahead(self.busy(program.process, program.own_process));
            }
        }
        self.wakes != before
    }

    /// What a process has used that has ended since the last look is not seen, but what it has seen of the time is.
    /// A program can write there anything: so it is no more than one may have computed since.
    fn is_no_earlier_than(&mut self, programs: &[Arc<Program>], now: VirtualTime) {
        let host = host_now();
        let since = host - std::mem::replace(&mut self.looked, host);
        let most = now.max(self.wakes.busy_until()) + self.wakes.takes(since);
        for program in programs {
            self.wakes = self.wakes.has_seen(program.has_seen().min(most), now);
        }
    }

    fn computes(&mut self, spent_ns: u64, now: VirtualTime, ran: VirtualSpan) {
        // Another thread may have looked since `now`.
        let ran_since = HostSpan::from_ns((ran - self.ran).as_ns().max(0));
        self.ran = self.ran.max(ran);
        let spent = HostSpan::from_ns(i64::try_from(spent_ns).unwrap_or(i64::MAX));
        // What was used while the clock ran has taken what it took by that.
        let free = if ran_since > HostSpan::ZERO { ran_since + self.credit } else { ran_since };
        self.credit = (free - spent).clamp(HostSpan::ZERO, CREDIT_MAX);
        let charged = (spent - free).max(HostSpan::ZERO);
        self.wakes = self.wakes.computes(charged, now);
        self.computed.processor_ns += charged.as_ns().unsigned_abs();
        self.computed.took_ns += self.wakes.takes(charged).as_ns().unsigned_abs();
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
        state.computes(5_000_000, ms(10), VirtualSpan::ZERO);
        assert_eq!(leaves(&state, ms(10)), ms(15));
        // It has jumped to 20 ms, and run to 24 ms.
        state.computes(4_000_000, ms(24), VirtualSpan::from_ms(4));
        assert_eq!(leaves(&state, ms(24)), ms(24));
        state.computes(4_000_000, ms(25), VirtualSpan::from_ms(5));
        assert_eq!(leaves(&state, ms(25)), ms(28));
        assert_eq!(state.computed, Computed { processor_ns: 8_000_000, took_ns: 8_000_000 });
    }

    #[test]
    fn a_process_is_seen_to_compute_also_in_threads_that_have_ended() {
        let start = Start { pace: Pace::Events, ..Start::default() };
        let domain = Domain::new(start).unwrap();
        domain.let_stand(true);
        let node = NodeTime::new("board", Wakes::AT_ONCE.for_processor_time(4_000_000));
        let own = std::process::id().cast_signed();
        node.know(&[], BTreeMap::from([(own, vec![own])]));
        domain.look_at(&node);
        let before = node.computed();
        let begun = processor_time_ns(std::process::id().cast_signed(), &[]).unwrap();
        let burn = move || {
            let used = || processor_time_ns(std::process::id().cast_signed(), &[]).unwrap();
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
