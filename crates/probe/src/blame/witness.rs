//! Gathers the evidence: reads what the kernel reports, and puts it into the terms of the verdict.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use os::run_delay::RunDelay;
use rustix::process::getpid;

use super::task::Identity;
use super::timeline::{IDLE, occupants};
use super::typical::Typical;
use super::verdict::{Case, Occupant, Who, verdict};
use crate::clock::{HostSpan, HostTime};
use crate::core_time::CoreTimes;
use crate::facts::Facts;
use crate::meter::Gap;
use crate::stage::Stage;
use crate::stream::{Detector, Evidence, Ran, Stall};
use crate::sys::switches::{Recorder, Switch};

/// Stalls of one thread that are explained each time the collector looks; the longest are.
const EXPLAINED_MAX: usize = 4;
/// Tasks that are named for one stall.
const NAMED_MAX: usize = 8;
/// The collector looks at least ten times a second: a stall that is this long has kept it away as
/// well if nothing ran, ns.
const FREEZE_NS_MIN: i64 = 300_000_000;
/// After the program goes on, its own handler of SIGCONT runs within this.
const CONTINUE_MAX: HostSpan = HostSpan::from_ms(200);
/// Number of the first namespace of processes (`PROC_PID_INIT_INO` of the kernel).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// A sample that was far too late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Late {
    pub(crate) thread: usize,
    pub(crate) core: usize,
    pub(crate) at: HostTime,
    pub(crate) length_ns: i64,
}

impl Late {
    /// The moment at which this many of so many parts of it are over.
    fn after(&self, parts: i64, of: i64) -> HostTime {
        self.at + HostSpan::from_ns(self.length_ns * parts / of)
    }
}

/// Watches over the threads of a measurement.
#[derive(Debug)]
pub(crate) struct Witness {
    stage: Stage,
    virtualised: bool,
    /// Whether the numbers of tasks are those of the machine: elsewhere, 0 is also who is outside.
    sees_all_tasks: bool,
    recorders: BTreeMap<usize, Recorder>,
    threads: Vec<Watched>,
    meters: BTreeSet<i32>,
    late: Vec<Late>,
    looked: HostTime,
}

#[derive(Debug)]
struct Watched {
    tid: i32,
    typical: Typical,
    run_delay: Option<RunDelay>,
    delayed: Option<Delayed>,
}

/// How long a thread was ready and did not run, and how much of that is usual.
#[derive(Clone, Copy, Debug, Default)]
struct Delayed {
    total_ns: i64,
    usual_ns_per_s: i64,
}

impl Witness {
    /// Begins to watch threads and meters of these numbers, with recorders for some cores.
    pub(crate) fn new(
        stage: &Stage,
        threads: &[i32],
        meters: &[i32],
        recorders: Vec<(usize, Recorder)>,
    ) -> Self {
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        let watched = |&tid| Watched {
            tid,
            typical: Typical::default(),
            run_delay: RunDelay::of_own_thread(tid),
            delayed: None,
        };
        let mut witness = Self {
            virtualised: Facts::of_this_machine().virtualised.is_some(),
            sees_all_tasks: namespace.is_ok_and(|name| name.as_os_str() == FIRST_PID_NAMESPACE),
            recorders: recorders.into_iter().collect(),
            threads: threads.iter().map(watched).collect(),
            meters: meters.iter().copied().collect(),
            late: Vec::new(),
            looked: stage.began,
            stage: stage.clone(),
        };
        witness.read_run_delays(stage.began, &BTreeSet::new());
        witness
    }

    /// A sample was taken; returns from which latency on the next is urgent.
    pub(crate) fn see(&mut self, late: Late) -> i64 {
        let typical = &mut self.threads[late.thread].typical;
        if typical.is_late(late.length_ns) {
            self.late.push(late);
        }
        typical.late_ns()
    }

    /// Explains what was too late since it last did, and gaps that meters saw.
    pub(crate) fn explain(
        &mut self,
        now: HostTime,
        core_times: &CoreTimes,
        mut gaps: Vec<(usize, Gap)>,
    ) -> Vec<Stall> {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|late| (late.thread, -late.length_ns));
        let mut stalls = Vec::new();
        if !late.is_empty() || !gaps.is_empty() {
            let steal_ns = core_times.stolen_since_read_ns();
            let seen = self.look(now, steal_ns);
            for of_one in late.chunk_by(|a, b| a.thread == b.thread) {
                let explain = |late: &Late| self.explain_late(late, &seen);
                stalls.extend(of_one.iter().take(EXPLAINED_MAX).map(explain));
            }
            gaps.sort_by_key(|(core, gap)| (*core, Reverse(gap.length)));
            for of_one in gaps.chunk_by(|a, b| a.0 == b.0) {
                let explain = |(core, gap): &(usize, Gap)| self.explain_gap(*core, gap, &seen);
                stalls.extend(of_one.iter().take(EXPLAINED_MAX).map(explain));
            }
        }
        let unusual = late.iter().map(|late| late.thread).collect();
        self.read_run_delays(now, &unusual);
        self.looked = now;
        stalls
    }

    fn look(&self, now: HostTime, steal_ns: BTreeMap<usize, i64>) -> Look {
        let switches = |(core, recorder): (&usize, &Recorder)| (*core, recorder.switches());
        let run_delay = |watched: &Watched| {
            let (total_ns, before) = (watched.run_delay.as_ref()?.ns_if_there()?, watched.delayed?);
            let since_s = (now - self.looked).as_ns() as f64 / 1e9;
            let usual_ns = (before.usual_ns_per_s as f64 * since_s) as i64;
            Some((total_ns - before.total_ns - usual_ns).max(0))
        };
        Look {
            switches: self.recorders.iter().map(switches).collect(),
            run_delay_ns: self.threads.iter().map(run_delay).collect(),
            steal_ns,
            own: os::process::threads_of(getpid().as_raw_pid()).into_iter().collect(),
        }
    }

    fn explain_late(&self, late: &Late, look: &Look) -> Stall {
        let end = late.after(1, 1);
        let ran = look.switches.get(&late.core).map(|switches| {
            let mut ran = occupants(switches, late.at, end);
            // It ran at the very end, or it would not have been late but lost.
            ran.remove(&self.threads[late.thread].tid);
            ran
        });
        let ran = ran.filter(|ran| !ran.is_empty());
        let (occupants, ran) = ran.map(|ran| self.named(ran)).unzip();
        let continued_at = self.stage.control.continued_at();
        let continued = (late.after(1, 2)..end + CONTINUE_MAX).contains(&continued_at);
        let run_delay_ns = look.run_delay_ns[late.thread];
        let mut case = Case {
            length_ns: late.length_ns,
            seen_by: Detector::Wakeup,
            priority: self.stage.plan.priority,
            virtualised: self.virtualised,
            continued,
            frozen: self.is_frozen(late, look),
            run_delay_ns,
            steal_ns: look.steal_ns.get(&late.core).copied(),
            occupants,
            suspect: None,
        };
        // A search through all tasks, and so only where nothing better is to be had.
        if case.occupants.is_none() && run_delay_ns.is_some_and(|ns| 2 * ns >= late.length_ns) {
            case.suspect = self.suspect(late.core, &look.own);
        }
        let idle_ns = |all: &Vec<Occupant>| {
            all.iter().filter(|one| one.who == Who::Nobody).map(|one| one.ran_ns).sum()
        };
        let evidence = Evidence {
            run_delay_ns,
            steal_ns: case.steal_ns,
            continued_at_ns: continued.then(|| self.stage.since_began_ns(continued_at)),
            idle_ns: case.occupants.as_ref().map(idle_ns),
            ran: ran.unwrap_or_default(),
        };
        self.stall(late.core, late.at, &case, evidence)
    }

    fn explain_gap(&self, core: usize, gap: &Gap, look: &Look) -> Stall {
        let case = Case {
            length_ns: gap.length.as_ns(),
            seen_by: Detector::Meter,
            priority: None,
            virtualised: self.virtualised,
            continued: (gap.at..gap.at + gap.length + CONTINUE_MAX)
                .contains(&self.stage.control.continued_at()),
            frozen: false,
            run_delay_ns: None,
            steal_ns: look.steal_ns.get(&core).copied(),
            occupants: None,
            suspect: None,
        };
        let evidence = Evidence { steal_ns: case.steal_ns, ..Evidence::default() };
        self.stall(core, gap.at, &case, evidence)
    }

    fn stall(&self, core: usize, at: HostTime, case: &Case, evidence: Evidence) -> Stall {
        let (cause, who) = verdict(case);
        let at_ns = self.stage.since_began_ns(at);
        let (length_ns, seen_by) = (case.length_ns, case.seen_by);
        Stall { core, at_ns, length_ns, seen_by, cause, who, evidence }
    }

    /// Who had a core, longest first, for the verdict, and for people: without nobody.
    fn named(&self, ran: BTreeMap<i32, i64>) -> (Vec<Occupant>, Vec<Ran>) {
        let mut ran: Vec<(i32, i64)> = ran.into_iter().collect();
        ran.sort_by_key(|(_, ran_ns)| -ran_ns);
        if !self.sees_all_tasks {
            ran.retain(|(tid, _)| *tid != IDLE);
        }
        let one = |(tid, ran_ns): (i32, i64)| {
            let identity = Identity::of(tid);
            let known = identity.as_ref();
            let described = Ran {
                tid,
                name: known.map_or_else(String::new, |known| known.name.clone()),
                policy: known.map_or_else(String::new, |known| known.policy.to_string()),
                kernel: known.is_some_and(|known| known.kernel),
                ran_ns,
            };
            let who = match identity {
                _ if tid == IDLE || self.meters.contains(&tid) => Who::Nobody,
                Some(known) if known.kernel => Who::Kernel(known.name),
                Some(known) => Who::Task(known.name, Some(known.policy)),
                None => Who::Task(format!("task {tid}, since ended"), None),
            };
            let described = (who != Who::Nobody).then_some(described);
            (Occupant { who, ran_ns }, described)
        };
        let (occupants, ran): (Vec<_>, Vec<_>) = ran.into_iter().take(NAMED_MAX).map(one).unzip();
        (occupants, ran.into_iter().flatten().collect())
    }

    /// Whether nothing of this program ran anywhere for most of a stall, and something else did.
    fn is_frozen(&self, late: &Late, look: &Look) -> bool {
        let middle = late.after(1, 5)..late.after(4, 5);
        if late.length_ns < FREEZE_NS_MIN || self.looked > middle.start {
            return false;
        }
        let within = look.switches.values().flatten().filter(|switch| middle.contains(&switch.at));
        let (mut own, mut others) = (false, false);
        for switch in within {
            own |= look.own.contains(&switch.to);
            others |= switch.to != IDLE && !look.own.contains(&switch.to);
        }
        others && !own
    }

    /// The most urgent task that ran last on a core and may delay a thread of this plan.
    fn suspect(&self, core: usize, own: &BTreeSet<i32>) -> Option<String> {
        let priority = Some(self.stage.plan.priority?);
        let tasks = os::process::all().into_iter().flat_map(os::process::threads_of);
        tasks
            .filter(|tid| !own.contains(tid))
            .filter_map(Identity::of)
            .filter(|one| one.core == core && !one.kernel && one.policy.may_delay(priority))
            .max_by_key(|one| one.policy.urgency())
            .map(|one| format!("{} ({})", one.name, one.policy))
    }

    /// Reads run delays for later. What a thread that was late had to wait is not its usual delay.
    fn read_run_delays(&mut self, now: HostTime, unusual: &BTreeSet<usize>) {
        let since_ns = (now - self.looked).as_ns().max(1);
        for (index, watched) in self.threads.iter_mut().enumerate() {
            let before = watched.delayed.unwrap_or_default();
            let is_first = before.total_ns == 0;
            let total_ns = watched.run_delay.as_ref().and_then(RunDelay::ns_if_there);
            watched.delayed = total_ns.map(|total_ns| Delayed {
                total_ns,
                usual_ns_per_s: if is_first || unusual.contains(&index) {
                    before.usual_ns_per_s
                } else {
                    ((total_ns - before.total_ns) as f64 / since_ns as f64 * 1e9) as i64
                },
            });
        }
    }
}

/// What was read for a few stalls together.
struct Look {
    switches: BTreeMap<usize, Vec<Switch>>,
    run_delay_ns: Vec<Option<i64>>,
    steal_ns: BTreeMap<usize, i64>,
    own: BTreeSet<i32>,
}
