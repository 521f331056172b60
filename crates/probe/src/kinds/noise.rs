//! Scheduling noise, as oslat measures it: a thread looks at the clock all the time; whenever it
//! could not, something else had its core.
//!
//! A sample is the longest gap of each period, at the time when it began. All gaps are in the
//! histogram.

use super::each;
use crate::clock::{self, HostSpan};
use crate::facts::Facts;
use crate::gaps::Histogram;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::stage::Stage;
use crate::threads::Task;

/// # Errors
/// If the threads would leave no core to anybody else.
pub(super) fn tasks(plan: &Plan, sinks: Vec<Sink>) -> Result<Vec<Task>, String> {
    let online = Facts::of_this_machine().online();
    let takes_all = online.is_some_and(|cores| cores.iter().all(|core| plan.cores.contains(&core)));
    if takes_all && plan.priority.is_some() {
        return Err("noise: busy SCHED_FIFO threads on all cores would stop this machine; leave \
                    one core free, or set priority to null"
            .to_owned());
    }
    Ok(each(plan, sinks, |stage: &Stage, thread, sink| spin(stage, thread, sink)))
}

fn spin(stage: &Stage, thread: usize, mut sink: Sink) {
    let mut schedule = stage.schedule(thread, &sink.shared);
    let mut gaps = Histogram::default();
    let mut longest = (clock::now(), HostSpan::ZERO);
    let mut before = longest.0;
    while let Some(at) = schedule.next() {
        let now = clock::now();
        let gap = now - before;
        gaps.add(gap.as_ns());
        if gap > longest.1 {
            longest = (before, gap);
        }
        before = now;
        if now < at {
            continue;
        }
        if stage.control.is_stopped() {
            break;
        }
        sink.take(longest.0, longest.1);
        sink.shared.miss(schedule.woke(now));
        sink.gaps(&mut gaps);
        longest = (now, HostSpan::ZERO);
        // What was just done is no gap.
        before = clock::now();
    }
    sink.last_gaps(&mut gaps);
}
