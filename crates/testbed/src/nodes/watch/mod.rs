//! Watches what keeps programs from acting in time, and reports it to the runner.
//!
//! A verdict is about the programs only if they could run when they wanted to. So a thread of the
//! agent looks at intervals
//!
//! - how long each thread of the programs was runnable without running (`/proc/…/schedstat`), and, at
//!   a time dilation factor below 1, how much longer it computed than natively;
//! - whether a thread that did not run was stopped, or blocked in the kernel, at this look and the one
//!   before;
//! - how late timed waits of programs ended, which the image notes in their own pages: that shows a
//!   host that was gone as well;
//! - how late the agent itself was: with frames, and with timers and execs of each program, and how
//!   long its threads waited;
//! - whether the kernel's ARP table, which all network namespaces share, was full;
//! - whether this thread itself ran when it wanted to: if not, and others did not have its processor,
//!   then the agent was stopped, or the host was gone, and nobody took frames and writes meanwhile.
//!
//! A wait that the kernel counts at one look has ended since the look before, so it lay between then
//! less its length, and now: it is known when somebody was late, to an interval. All is reported in
//! virtual time. What is done during a hold takes none and cannot be separated from the rest within one
//! interval, so there delays are upper bounds.
//!
//! Looking must not disturb. Each node is looked at less often the longer that takes, so thousands of
//! threads in one node cost no more than a few, and nothing of the resolution in the others.
//!
//! - [`delays`]: how far threads fell behind, from what the kernel counts of them
//! - [`ledger`]: what of it is worth reporting, bounded
//! - [`threads`]: what the kernel counts of them
//! - [`neighbours`]: what it counts of its ARP table

mod delays;
mod ledger;
mod neighbours;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use os::realtime::thread_cpu_ns;
use os::run_delay::RunDelay;
use vtime::VirtualSpan;
use vtime::late::Late;

use delays::{Delay, Delays, Moment, Reading};
use ledger::Ledger;
use neighbours::Neighbours;
use threads::Tree;

use super::orders::Report;
use super::owner::Owner;
use crate::devices::SERVER_NAME;
use domain::{Domain, host_now};
use results::disturbance::{Cause, Disturbance};

/// Host time between two looks at a node.
const EVERY: Duration = Duration::from_millis(50);
/// A look may take this part of a processor until the next one of the same node.
const COST_PART: i64 = 50;
/// However much a look takes, so often is a node looked at.
const RARELY: Duration = Duration::from_millis(500);
/// Host time for which the last look waits for those to run that want to.
const PATIENCE: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(5);
/// How often the runner is sent how far was watched, if there is nothing else to report.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// Threads of the agent that all programs wait for, and what they do. Others serve one program each.
const OWN_THREADS: [(&str, &str); 2] = [("network", FRAMES), (SERVER_NAME, POINTS)];
const FRAMES: &str = "the testbed with frames";
const POINTS: &str = "the testbed with points of the plant";
/// Who stopped the agent, or took its host away, has kept everybody waiting.
const ALL: &str = "all of the testbed";
/// What all network namespaces of a host share.
const NEIGHBOURS: &str = "the ARP table of this kernel";
/// In runs of a clock that jumps which are shorter than this, or than what is reported, nobody is taken to
/// be kept waiting: they are what programs need.
const NOTABLE_NS_MAX: i64 = 500_000;
/// A thread that sleeps this long sees when it did not run for longer.
const NAP: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) name: String,
    /// Its first process, which is not one of its programs.
    pub(super) process: i32,
}

/// A watch that goes on until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch: `nodes` and the programs that run in them, by the names of their nodes.
    /// Delays of at least `least_ns` are reported one by one; and, if nodes have a network, what else this
    /// kernel's table of its addresses has lost.
    pub(super) fn start(
        domain: Arc<Domain>,
        nodes: Vec<Watched>,
        programs: BTreeMap<String, String>,
        (least_ns, has_network): (i64, bool),
        owner: Arc<Owner>,
    ) -> std::io::Result<Self> {
        if !threads::are_counted() {
            owner.warn(
                "this kernel does not report how long programs wait for a processor \
                 (CONFIG_SCHED_INFO, CONFIG_PROC_CHILDREN): on a busy host only late wake-ups and \
                 frames are detected"
                    .to_owned(),
            );
        }
        let notable = VirtualSpan::from_ns(least_ns.min(NOTABLE_NS_MAX));
        let (stop, stopped) = channel();
        let now = Instant::now();
        let place = |node, tree| Place { node, tree, delays: Delays::default(), next: now };
        let nodes =
            nodes.into_iter().map(|node| place(Some(node.name), Tree::of(Some(node.process))));
        let mut round = Round {
            places: [place(None, Tree::of(None))].into_iter().chain(nodes).collect(),
            taken: moment(&domain, notable),
            notable,
            domain,
            programs,
            ledger: Ledger::new(least_ns),
            owner,
            reported: now,
            neighbours: has_network.then(Neighbours::now),
            own_delay: None,
        };
        let thread = thread::Builder::new().name("watch".into());
        let thread = thread.spawn(move || round.run(&stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic aborts the process.
            let _ = thread.join();
        }
    }
}

struct Place {
    /// Name of the node; the agent itself if `None`.
    node: Option<String>,
    tree: Tree,
    delays: Delays,
    next: Instant,
}

impl Place {
    /// What the kernel counts of its threads. The last time this waits for those that are about to run,
    /// as only then their counts report how long they have waited.
    fn read(&mut self, begun: &BTreeMap<i32, String>, is_last: bool) -> Vec<Reading> {
        let until = Instant::now() + PATIENCE;
        loop {
            let readings = self.tree.read(begun);
            if !is_last || Instant::now() > until || !self.delays.are_undecided(&readings) {
                return readings;
            }
            thread::sleep(AGAIN);
        }
    }
}

struct Round {
    domain: Arc<Domain>,
    places: Vec<Place>,
    programs: BTreeMap<String, String>,
    ledger: Ledger,
    owner: Arc<Owner>,
    /// When late waits and the agent's own lateness were taken last.
    taken: Moment,
    notable: VirtualSpan,
    reported: Instant,
    neighbours: Option<Neighbours>,
    /// What this thread waits for a processor, if the kernel counts it.
    own_delay: Option<RunDelay>,
}

/// How long after a look that took so much of a processor the next one is. Not the time that it took:
/// looks take long on a busy host, which is the one to watch closely.
fn until_next(cost_ns: i64) -> Duration {
    Duration::from_nanos((cost_ns * COST_PART).unsigned_abs()).clamp(EVERY, RARELY)
}

impl Round {
    fn run(&mut self, stopped: &Receiver<()>) {
        self.own_delay = RunDelay::of_this_thread();
        loop {
            let (before, ran) = (self.now(), thread_cpu_ns());
            self.look(false);
            self.note_stand(before, thread_cpu_ns() - ran);
            let next = self.places.iter().map(|place| place.next).min().unwrap_or(self.reported);
            if self.naps_until(next.min(Instant::now() + EVERY), stopped) {
                break;
            }
        }
        self.look(true);
    }

    /// Waits, and notes where it took longer. Returns whether the watch is over.
    fn naps_until(&mut self, until: Instant, stopped: &Receiver<()>) -> bool {
        loop {
            let nap = until.saturating_duration_since(Instant::now()).min(NAP);
            let before = self.now();
            if stopped.recv_timeout(nap) == Err(RecvTimeoutError::Disconnected) {
                return true;
            }
            self.note_stand(before, i64::try_from(nap.as_nanos()).unwrap_or(i64::MAX));
            if Instant::now() >= until {
                return false;
            }
        }
    }

    /// Now, and how long this thread has waited for a processor in all.
    fn now(&self) -> (Moment, i64) {
        (moment(&self.domain, self.notable), self.own_delay.as_ref().map_or(0, RunDelay::ns))
    }

    /// Notes that more time has passed than this thread has slept or computed, or waited.
    fn note_stand(&mut self, (before, waited_before_ns): (Moment, i64), spent_ns: i64) {
        let (now, waited_ns) = self.now();
        let waited_ns = waited_ns - waited_before_ns;
        let largest_ns = delays::stood_ns(before, now, spent_ns, waited_ns);
        let late = Delay::late(before, now, Late { largest_ns, sum_ns: largest_ns });
        self.ledger.add((None, ALL.to_owned()), Cause::Late, &late);
    }

    fn look(&mut self, is_last: bool) {
        let (names, served) = (self.names(), self.domain.lateness().served());
        for place in &mut self.places {
            if !is_last && Instant::now() < place.next {
                continue;
            }
            let ran_ns = thread_cpu_ns();
            let begun_by = if place.node.is_some() { &names } else { &served };
            let readings = place.read(begun_by, is_last);
            let delays = place.delays.look(moment(&self.domain, self.notable), readings, is_last);
            for delay in delays {
                let (key, cause) = match (&place.node, own_thread(&delay.who)) {
                    (Some(node), _) => ((Some(node.clone()), delay.who.clone()), delay.cause),
                    (None, Some(does)) => ((None, does.to_owned()), delay.cause),
                    // What serves one program makes that one wait.
                    (None, None) => match delay.who.strip_prefix(threads::SERVES) {
                        Some(name) => {
                            let node = self.programs.get(name).cloned();
                            ((node, name.to_owned()), Cause::Served)
                        }
                        None => continue,
                    },
                };
                self.ledger.add(key, cause, &delay);
            }
            place.next = Instant::now() + until_next(thread_cpu_ns() - ran_ns);
        }
        self.take_lateness();
        let now = moment(&self.domain, self.notable);
        self.report(now, is_last);
    }

    /// The names of programs by the processes that began them.
    fn names(&self) -> BTreeMap<i32, String> {
        let programs = self.domain.present_programs();
        programs.into_iter().map(|program| (program.process, program.name.clone())).collect()
    }

    /// Takes what was noted of late waits, and by the agent of itself.
    fn take_lateness(&mut self) {
        let (before, now) = (self.taken, moment(&self.domain, self.notable));
        self.taken = now;
        for program in self.domain.present_programs() {
            let key = (self.programs.get(&program.name).cloned(), program.name.clone());
            let late = Delay::late(before, now, program.take_late_waits());
            self.ledger.add(key, Cause::WokeLate, &late);
        }
        let lateness = self.domain.lateness();
        for since in lateness.take_served() {
            let key = (self.programs.get(&since.name).cloned(), since.name);
            if since.refused > 0 {
                self.ledger.note(key.clone(), Cause::Refused, before.at.as_ns(), now.at.as_ns());
            }
            for (cause, late) in [(Cause::Served, since.served), (Cause::Stamped, since.stamped)] {
                self.ledger.add(key.clone(), cause, &Delay::late(before, now, late));
            }
        }
        for (does, lateness) in [(FRAMES, &lateness.frames), (POINTS, &lateness.points)] {
            let late = Delay::late(before, now, lateness.take());
            self.ledger.add((None, does.to_owned()), Cause::Late, &late);
        }
        if self.neighbours.as_mut().is_some_and(Neighbours::have_lost) {
            let key = (None, NEIGHBOURS.to_owned());
            self.ledger.note(key, Cause::Full, before.at.as_ns(), now.at.as_ns());
        }
    }

    fn report(&mut self, now: Moment, is_last: bool) {
        let disturbances: Vec<Disturbance> = self.ledger.take(now.at.as_ns(), is_last);
        if is_last || !disturbances.is_empty() || self.reported.elapsed() >= REPORT_EVERY {
            self.reported = Instant::now();
            self.owner.report(&Report::Watched { to_ns: now.at.as_ns(), disturbances });
        }
    }
}

fn moment(domain: &Domain, notable: VirtualSpan) -> Moment {
    // The clock first: what passes between the two readings then counts as delay, not as none.
    let at = domain.now();
    let ran = domain.long_runs(notable);
    Moment { at, host: host_now(), tdf_millionths: domain.page().tdf_millionths(), ran }
}

/// What a thread of the agent does for programs, if anything.
fn own_thread(name: &str) -> Option<&'static str> {
    OWN_THREADS.iter().find(|(own, _)| *own == name).map(|(_, does)| *does)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_looked_at_often_whatever_a_look_costs() {
        assert_eq!(until_next(0), EVERY);
        assert_eq!(until_next(4_000_000), Duration::from_millis(200));
        assert_eq!(until_next(60_000_000), RARELY);
    }
}
