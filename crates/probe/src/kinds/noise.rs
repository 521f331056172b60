//! Scheduling noise, as oslat measures it: a thread looks at the clock all the time; whenever it
//! could not, something else had its core.
//!
//! A sample is the longest gap of each period, at the time when it began. All gaps are in the
//! histogram.

use super::each;
use crate::cores::Cores;
use crate::facts::Facts;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::stage::Stage;
use crate::threads::Task;

/// Width of a bin of the histogram, ns.
pub(crate) const BIN_NS: u64 = 1_000;
/// Bins of the histogram, the last of which holds all above.
pub(crate) const BINS: usize = 1_000;

/// Gaps of one thread since they were last handed over.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    pub(crate) bins: Box<[u64]>,
    pub(crate) max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; BINS].into(), max_ns: 0 }
    }
}

impl Histogram {
    fn add(&mut self, gap_ns: i64) {
        let gap_ns = gap_ns.max(0).cast_unsigned();
        let bin = (gap_ns / BIN_NS).min(BINS as u64 - 1);
        self.bins[bin as usize] += 1;
        self.max_ns = self.max_ns.max(gap_ns);
    }

    /// Takes all of another's gaps, which has none then.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        for (own, others) in self.bins.iter_mut().zip(&mut other.bins) {
            *own += std::mem::take(others);
        }
        self.max_ns = self.max_ns.max(std::mem::take(&mut other.max_ns));
    }
}

/// # Errors
/// If the threads would leave no core to anybody else.
pub(super) fn tasks(plan: &Plan, sinks: Vec<Sink>) -> Result<Vec<Task>, String> {
    let online = Facts::of_this_machine().cores_online.and_then(|list| list.parse::<Cores>().ok());
    let takes_all = online.is_some_and(|cores| cores.iter().all(|core| plan.cores.contains(&core)));
    if takes_all && plan.priority.is_some() {
        return Err("noise: busy SCHED_FIFO threads on all cores would stop this machine; leave \
                    one core free, or set priority to null"
            .to_owned());
    }
    Ok(each(plan, sinks, |stage: &Stage, thread, sink| spin(stage, thread, sink)))
}

fn spin(stage: &Stage, thread: usize, mut sink: Sink) {
    let mut schedule = stage.schedule(thread, &sink.misses());
    let mut gaps = Histogram::default();
    let mut longest = (os::realtime::now_ns(), 0);
    let mut before_ns = longest.0;
    while let Some(at_ns) = schedule.next_ns() {
        let now_ns = os::realtime::now_ns();
        let gap_ns = now_ns - before_ns;
        gaps.add(gap_ns);
        if gap_ns > longest.1 {
            longest = (before_ns, gap_ns);
        }
        before_ns = now_ns;
        if now_ns < at_ns {
            continue;
        }
        if stage.control.is_stopped() {
            break;
        }
        sink.take(longest.0, longest.1);
        sink.miss(schedule.woke(now_ns));
        sink.gaps(&mut gaps);
        longest = (now_ns, 0);
        // What was just done is no gap.
        before_ns = os::realtime::now_ns();
    }
    sink.last_gaps(&mut gaps);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_once_wherever_they_are() {
        let mut gaps = Histogram::default();
        for gap_ns in [-5, 0, 999, 1_000, 998_999, 999_000, i64::MAX] {
            gaps.add(gap_ns);
        }
        assert_eq!((gaps.bins[0], gaps.bins[1], gaps.bins[998], gaps.bins[999]), (3, 1, 1, 2));
        let mut all = Histogram::default();
        all.take_from(&mut gaps);
        all.take_from(&mut gaps);
        assert_eq!(all.bins.iter().sum::<u64>(), 7);
        assert_eq!((all.max_ns, gaps.max_ns), (i64::MAX as u64, 0));
    }
}
