//! A measurement from begin to end: threads are made ready, all begin together, the calling thread
//! collects what they take and writes it down.
//!
//! The collector wakes up ten times a second, or at once when a thread has been very late, and
//! flushes at least once a second, so that a crash of the machine costs at most the last second.
//! Hundreds of busy tasks beside it would keep an ordinary thread from that for seconds. So where
//! the threads that measure are real-time ones, it is one as well, of the lowest priority. The
//! memory it needs does not depend on the duration.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use os::realtime::AwakeProcessors;

use crate::blame::Witness;
use crate::clock::{self, HostSpan};
use crate::collect::Collector;
use crate::control::Control;
use crate::facts::Facts;
use crate::kinds;
use crate::meter;
use crate::plan::Plan;
use crate::sink;
use crate::stage::Stage;
use crate::stream::{End, Header, Note, Outcome, Writer};
use crate::sys::switches::Recorder;
use crate::threads::{Running, Task, Threads};

/// Between two looks of the collector.
const COLLECT_EVERY: Duration = Duration::from_millis(100);
/// However urgent, it does not look again earlier: on a platform where everything is late it must
/// not become a load itself.
const COLLECT_NOT_BEFORE: Duration = Duration::from_millis(10);
/// Of SCHED_FIFO; below all that measure, above all that is ordinary.
const COLLECT_PRIORITY: i32 = 1;
/// From the moment all threads are ready to the begin: time to get from one to the other.
const LEAD: HostSpan = HostSpan::from_ms(2);

/// Measures by a plan and writes the stream, until it is over or `control` ends it. Returns what it
/// wrote to, and how it ended, which the stream says as well. The calling thread collects, and stays
/// a real-time one of the lowest priority if those of the plan are above that.
///
/// # Panics
/// If the plan does not pass [`Plan::check`].
pub fn run<W: Write>(plan: &Plan, to: W, control: &Arc<Control>) -> io::Result<(W, Outcome)> {
    assert_eq!(plan.check(), Ok(()), "plans are checked where they are read");
    let mut warnings = Vec::new();
    let _awake = prepare(plan, &mut warnings);
    let (sinks, sources): (Vec<_>, Vec<_>) =
        plan.cores.iter().map(|&core| sink::way(plan, core)).unzip();
    let (meters, gaps) = meters(plan, &mut warnings);
    let threads = kinds::tasks(plan, sinks).and_then(|mut tasks| {
        tasks.extend(meters);
        Threads::ready(plan, tasks)
    });
    let recorders = if plan.record_switches { record(plan, &mut warnings) } else { Vec::new() };
    let facts = Facts::of_this_machine();
    let stage = Stage {
        plan: Arc::new(plan.clone()),
        began: clock::now() + LEAD,
        control: Arc::clone(control),
    };
    // They begin before anything is read or written: that may take long.
    let running = threads.map(|threads| {
        let (measuring, meters) = (threads.measuring(), threads.meters());
        let running = threads.begin(&stage);
        let witness = Witness::new(&stage, &measuring, &meters, recorders);
        (Collector::new(&stage, sources, gaps, witness), running)
    });
    let written = write(to, &stage, facts, warnings, running);
    // Threads end with the measurement, also if it ends because nothing can be written.
    written.inspect_err(|_| control.stop())
}

fn write<W: Write>(
    to: W,
    stage: &Stage,
    facts: Facts,
    warnings: Vec<String>,
    running: Result<(Collector, Running), String>,
) -> io::Result<(W, Outcome)> {
    let mut writer = Writer::new(to, &header(stage, facts))?;
    for text in warnings {
        writer.note(&Note::Warning { text })?;
    }
    let outcome = match running {
        Ok((collector, running)) => collect(&stage.plan, collector, &mut writer, running)?,
        Err(reason) => Outcome::NotMeasured(reason),
    };
    let end = End { at_ns: stage.since_began_ns(clock::now()), outcome: outcome.clone() };
    Ok((writer.end(&end)?, outcome))
}

/// Makes the process ready; what is refused is a warning.
fn prepare(plan: &Plan, warnings: &mut Vec<String>) -> Option<AwakeProcessors> {
    if plan.lock_memory
        && let Err(error) = os::realtime::lock_memory()
    {
        warnings.push(format!(
            "memory is not locked ({error}), so latencies include page faults; allow CAP_IPC_LOCK \
             or a higher RLIMIT_MEMLOCK"
        ));
    }
    if !plan.hold_awake {
        return None;
    }
    let refused = |error: &io::Error| {
        warnings.push(format!(
            "/dev/cpu_dma_latency: {error}: processors may enter deep idle states between samples"
        ));
    };
    AwakeProcessors::request().inspect_err(refused).ok()
}

/// Stall meters, if the plan wants them; that there can be none is a warning.
fn meters(plan: &Plan, warnings: &mut Vec<String>) -> (Vec<Task>, Vec<rtrb::Consumer<meter::Gap>>) {
    if !plan.stall_meter {
        return (Vec::new(), Vec::new());
    }
    if meter::is_possible() {
        return meter::tasks(plan);
    }
    let what = "no stall meter: this kernel does not record how long tasks wait for others \
                (CONFIG_SCHED_INFO)";
    warnings.push(what.to_owned());
    (Vec::new(), Vec::new())
}

/// Has the kernel record the switches of all cores where a thread may be; a refusal is a warning.
fn record(plan: &Plan, warnings: &mut Vec<String>) -> Vec<(usize, Recorder)> {
    let all = if plan.pinned { None } else { Facts::of_this_machine().online() };
    let cores = all.map_or_else(|| plan.cores.clone(), |cores| cores.iter().collect());
    let recorder = |core| Ok((core, Recorder::of_core(core)?));
    let refused = |error: &io::Error| {
        warnings.push(format!(
            "task switches are not recorded ({error}), so causes of stalls are less certain: \
             allow CAP_PERFMON, or kernel.perf_event_paranoid=0"
        ));
    };
    let recorders: io::Result<Vec<_>> = cores.into_iter().map(recorder).collect();
    recorders.inspect_err(refused).unwrap_or_default()
}

fn collect<W: Write>(
    plan: &Plan,
    mut collector: Collector,
    writer: &mut Writer<W>,
    running: Running,
) -> io::Result<Outcome> {
    if plan.priority.is_some_and(|priority| priority > COLLECT_PRIORITY) {
        // Threads that measure were allowed more, or this is the least of the warnings.
        let _ = os::realtime::fifo(COLLECT_PRIORITY);
    }
    while !running.are_finished() {
        let looked = Instant::now();
        thread::park_timeout(COLLECT_EVERY);
        thread::sleep(COLLECT_NOT_BEFORE.saturating_sub(looked.elapsed()));
        collector.collect(writer)?;
    }
    collector.finish(writer, &running.used())
}

fn header(stage: &Stage, facts: Facts) -> Header {
    let ago_ns = stage.since_began_ns(clock::now());
    Header {
        plan: Plan::clone(&stage.plan),
        facts,
        began_realtime_ns: os::realtime::realtime_ns() - ago_ns,
        began_monotonic_ns: stage.began.as_ns(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
