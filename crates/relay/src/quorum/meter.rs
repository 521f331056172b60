//! What the host takes of each core: many short slices add up to a slow action, and no single one
//! of them is a stall.
//!
//! On each core a thread before all others wakes up each quarter of a millisecond. When it is late, its
//! own run delay says for how long it was ready and something else had the core (the kernel's soft
//! interrupts, its reserve for ordinary tasks); for the rest its interrupt itself came late, so the
//! core was gone: to a hypervisor, to firmware, or to the kernel with interrupts off. From that its
//! typical lateness is taken away. A slice that begins and ends between two beats is not seen, and
//! of others what lies before the beat, so the sums are lower bounds.
//!
//! One of these for each core, not for each node: nodes that share cores would beat too often.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use os::run_delay::RunDelay;
use realtime::canary::at_each_tick;
use realtime::exchange::{Outbox, outbox};
use realtime::lines::Lines;
use realtime::prepare::Scheduling;
use realtime::supervise::{Supervisor, TimedThread, Watch};
use realtime::{prepare, time};
use rtrb::Consumer;
use serde_json::{Value, json};
use substation::settings::Rotation;

use super::records::{NodeEvent, What};
use crate::host;

/// Time between two beats: of what can make an action late by milliseconds none is missed, and a beat
/// each 100 µs took a seventh of a core from those whom it watches.
const PERIOD: Duration = Duration::from_micros(250);
/// Before everything but the kernel's own.
const PRIORITY: i32 = 99;
/// What is worth a line, ns: more than wake-ups differ from each other on a core that is left alone.
const TAKEN_MIN_NS: i64 = 20_000;
/// Step of the running median, ns.
const STEP_NS: i64 = 50;
/// The most that is taken for typical, ns: a core that is gone at each beat is no typical one.
const TYPICAL_MAX_NS: i64 = 60_000;
/// Lines that may wait for being written: at one for each beat, a second.
const EVENTS_MAX: usize = 4096;

/// What was measured on a core so far; ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Beats {
    count: u64,
    typical_ns: i64,
    taken_ns: i64,
    waited_ns: i64,
    lost: u64,
    /// Whether the kernel counts run delays: without, all lateness is taken for the host's.
    counts_delays: bool,
}

/// What one beat measured, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slice {
    taken_ns: i64,
    waited_ns: i64,
}

impl Beats {
    /// A beat came late by so much, and for a part of that others had the core.
    fn note(&mut self, late_ns: i64, waited_ns: i64) -> Option<Slice> {
        self.count += 1;
        let waited_ns = waited_ns.clamp(0, late_ns.max(0));
        let woken_ns = late_ns - waited_ns;
        let slice = Slice { taken_ns: (woken_ns - self.typical_ns).max(0), waited_ns };
        // A median that needs no memory (Ma, Muthukrishnan and Sandler 2013, "Frugal streaming").
        let step_ns = if woken_ns > self.typical_ns { STEP_NS } else { -STEP_NS };
        self.typical_ns = (self.typical_ns + step_ns).clamp(0, TYPICAL_MAX_NS);
        if slice.taken_ns.max(slice.waited_ns) < TAKEN_MIN_NS {
            return None;
        }
        let counted = |ns: i64| if ns < TAKEN_MIN_NS { 0 } else { ns };
        let slice =
            Slice { taken_ns: counted(slice.taken_ns), waited_ns: counted(slice.waited_ns) };
        self.taken_ns += slice.taken_ns;
        self.waited_ns += slice.waited_ns;
        Some(slice)
    }

    fn sums(&self, core: usize) -> Value {
        json!({
            "core": core,
            "beats": self.count,
            "typical_ns": self.typical_ns,
            "taken_ns": self.taken_ns,
            "waited_ns": self.counts_delays.then_some(self.waited_ns),
            "events_lost": self.lost,
        })
    }
}

/// Measures until `stop`, or for `duration`; returns the sums. An error is that of the file.
pub(crate) fn run(
    cores: &[usize],
    (path, rotation): (Option<&Path>, Rotation),
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Value> {
    let records = host::records(path, rotation)?;
    let (warnings, _awake) = prepare::process();
    let begin = Instant::now();
    let mut measured = vec![Beats::default(); cores.len()];
    let mut watch = MeterWatch { queues: Vec::new(), records, warnings: Vec::new() };
    let threads = cores.iter().zip(&mut measured).map(|(&core, beats)| {
        let (events, queue) = outbox(EVENTS_MAX);
        watch.queues.push(queue);
        let scheduling = Scheduling { core: Some(core), priority: PRIORITY };
        TimedThread::new("meter", scheduling, move |ending| {
            *beats = beat(core, events, ending);
            Ok(())
        })
    });
    let threads = threads.collect();
    let supervisor = Supervisor { stop, duration, cache_group: None, require_realtime: false };
    if let Some(failure) = supervisor.run(threads, warnings, &mut watch)? {
        bail!(failure);
    }
    let measured_ns = time::ns(begin.elapsed());
    let cores: Vec<_> =
        cores.iter().zip(&measured).map(|(core, beats)| beats.sums(*core)).collect();
    let records = watch.records.account();
    watch.warnings.extend(records.as_ref().and_then(|records| records.warning.clone()));
    Ok(json!({
        "measured_ns": measured_ns,
        "cores": cores,
        "records_lost": records.map_or(0, |records| records.lost),
        "warnings": watch.warnings,
    }))
}

struct MeterWatch {
    queues: Vec<Consumer<NodeEvent>>,
    records: Lines,
    warnings: Vec<String>,
}

impl Watch for MeterWatch {
    fn begun(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
        terminal::err!("qcrelay: the meter runs");
    }

    fn look(&mut self, is_last: bool) -> Result<()> {
        for queue in &mut self.queues {
            while let Ok(event) = queue.pop() {
                self.records.add(event.line());
            }
        }
        if is_last {
            self.records.finish();
        } else {
            self.records.write();
        }
        Ok(())
    }
}

/// Beats on a core until it shall stop.
fn beat(core: usize, mut events: Outbox<NodeEvent>, ending: &AtomicBool) -> Beats {
    let delay = RunDelay::of_this_thread();
    let delay_ns = || delay.as_ref().map_or(0, RunDelay::ns);
    let mut beats = Beats { counts_delays: delay.is_some(), ..Beats::default() };
    let mut known_ns = delay_ns();
    at_each_tick(time::own().plus(PERIOD), PERIOD, ending, |_, due| {
        let (awake, at) = (time::own(), time::common());
        let late = awake.since(due);
        let now_ns = delay_ns();
        let waited_ns = now_ns - std::mem::replace(&mut known_ns, now_ns);
        if let Some(Slice { taken_ns, waited_ns }) = beats.note(time::ns(late) as i64, waited_ns) {
            let [taken, waited] = [taken_ns, waited_ns].map(|ns| Duration::from_nanos(ns as u64));
            events.push(NodeEvent { at, what: What::Taken { core, late, taken, waited } });
        }
        awake
    });
    Beats { lost: events.lost, ..beats }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1000;

    /// Beats of a core that is left alone.
    fn settled() -> Beats {
        let mut beats = Beats::default();
        for number in 0..10_000 {
            let _first = beats.note(30 * US + number % 7 * 100, 2 * US);
        }
        Beats { taken_ns: 0, waited_ns: 0, ..beats }
    }

    #[test]
    fn what_is_typical_is_learnt_and_no_slice() {
        let mut beats = settled();
        assert!((27 * US..30 * US).contains(&beats.typical_ns), "{beats:?}");
        assert_eq!(beats.note(35 * US, 0), None);
        assert_eq!((beats.taken_ns, beats.waited_ns), (0, 0));
    }

    #[test]
    fn short_slices_add_up() {
        let mut beats = settled();
        for _ in 0..10 {
            beats.note(228 * US, 0).expect("a slice");
            assert_eq!(beats.note(30 * US, 0), None);
        }
        assert!((1980 * US..2020 * US).contains(&beats.taken_ns), "{beats:?}");
        assert_eq!(beats.waited_ns, 0);
    }

    #[test]
    fn what_others_had_is_not_the_hosts() {
        let mut beats = settled();
        let slice = beats.note(530 * US, 500 * US).expect("a slice");
        assert_eq!(slice, Slice { taken_ns: 0, waited_ns: 500 * US });
        // Run delays of more than the beat was late are of before it.
        let slice = beats.note(100 * US, 300 * US).expect("a slice");
        assert_eq!(slice, Slice { taken_ns: 0, waited_ns: 100 * US });
    }

    #[test]
    fn a_core_that_is_always_gone_is_not_typical() {
        let mut beats = Beats::default();
        for _ in 0..10_000 {
            let _slice = beats.note(500 * US, 0);
        }
        let slice = beats.note(500 * US, 0).expect("a slice");
        assert_eq!(slice.taken_ns, 500 * US - TYPICAL_MAX_NS);
    }
}
