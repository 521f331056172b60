//! Wake-up latency: how long after the time it asked for a thread runs.
//!
//! As cyclictest does: one thread for each core sleeps until absolute times, period after period,
//! and looks at the clock when it runs. A wake-up later than a whole period leaves out the periods
//! that are over, which are counted: the next time asked for lies in the future again.

use std::io;
use std::thread;
use std::time::Duration;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One thread on each.
    pub cores: Vec<usize>,
    /// Of SCHED_FIFO; none: as ordinary threads.
    pub priority: Option<i32>,
    /// Between two wake-ups.
    pub period: Duration,
    /// How long.
    pub duration: Duration,
}

/// The wake-ups of one core.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CoreLatency {
    /// Which core.
    pub core: usize,
    /// Latency of each wake-up, ns, in their order.
    pub latency_ns: Vec<u32>,
    /// Periods that were over before the thread woke up.
    pub missed: u64,
}

impl CoreLatency {
    /// The greatest latency, ns.
    #[must_use]
    pub fn max_ns(&self) -> u32 {
        self.latency_ns.iter().copied().max().unwrap_or(0)
    }
}

/// Measures, for as long as the plan says.
///
/// # Errors
/// If a thread cannot be bound to its core or get its priority; nothing was measured then.
pub fn measure(plan: &Plan) -> io::Result<Vec<CoreLatency>> {
    let threads: Vec<_> = plan
        .cores
        .iter()
        .map(|&core| {
            let plan = plan.clone();
            thread::Builder::new().name(format!("wakeups-{core}")).spawn(move || one(&plan, core))
        })
        .collect::<io::Result<_>>()?;
    threads.into_iter().map(|thread| thread.join().expect("a probe does not panic")).collect()
}

fn one(plan: &Plan, core: usize) -> io::Result<CoreLatency> {
    realtime::pin(core)?;
    if let Some(priority) = plan.priority {
        realtime::fifo(priority)?;
    }
    let mut schedule = Schedule::new(realtime::now_ns(), plan);
    let mut measured = CoreLatency { core, ..CoreLatency::default() };
    // Memory for all of it now: a growing vector would be a page fault between two wake-ups.
    measured.latency_ns.reserve_exact(schedule.wakeups_max());
    while let Some(at_ns) = schedule.next_ns {
        realtime::sleep_until(at_ns);
        measured.latency_ns.push(schedule.woke(realtime::now_ns()));
    }
    measured.missed = schedule.missed;
    Ok(measured)
}

/// When to wake up next; no clock of its own.
#[derive(Debug)]
struct Schedule {
    next_ns: Option<i64>,
    begin_ns: i64,
    end_ns: i64,
    period_ns: i64,
    missed: u64,
}

impl Schedule {
    fn new(now_ns: i64, plan: &Plan) -> Self {
        let ns = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX / 4);
        let period_ns = ns(plan.period).max(1);
        let end_ns = now_ns.saturating_add(ns(plan.duration));
        let next_ns = Some(now_ns + period_ns).filter(|next| *next <= end_ns);
        Self { next_ns, begin_ns: now_ns, end_ns, period_ns, missed: 0 }
    }

    fn wakeups_max(&self) -> usize {
        usize::try_from((self.end_ns - self.begin_ns) / self.period_ns).unwrap_or(0)
    }

    /// The latency of a wake-up; sets the next time.
    fn woke(&mut self, now_ns: i64) -> u32 {
        let Some(at_ns) = self.next_ns else { return 0 };
        let late_ns = (now_ns - at_ns).max(0);
        let over = late_ns / self.period_ns;
        self.missed += over.unsigned_abs();
        let next_ns = at_ns + (over + 1) * self.period_ns;
        self.next_ns = Some(next_ns).filter(|next| *next <= self.end_ns);
        u32::try_from(late_ns).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(period_ms: u64, duration_ms: u64) -> Plan {
        let [period, duration] = [period_ms, duration_ms].map(Duration::from_millis);
        Plan { cores: vec![0], priority: None, period, duration }
    }

    #[test]
    fn times_are_absolute_and_a_late_one_leaves_out_what_is_over() {
        let mut schedule = Schedule::new(0, &plan(1, 10));
        assert_eq!((schedule.next_ns, schedule.wakeups_max()), (Some(1_000_000), 10));
        assert_eq!(schedule.woke(1_000_300), 300);
        assert_eq!(schedule.next_ns, Some(2_000_000));
        assert_eq!(schedule.woke(5_400_000), 3_400_000);
        assert_eq!((schedule.next_ns, schedule.missed), (Some(6_000_000), 3));
        assert_eq!(schedule.woke(9_000_000), 3_000_000);
        assert_eq!(schedule.next_ns, Some(10_000_000));
        schedule.woke(10_000_001);
        assert_eq!(schedule.next_ns, None);
    }

    #[test]
    fn each_period_is_a_sample_or_a_miss() {
        let measured = measure(&plan(2, 100)).unwrap();
        let core = &measured[0];
        assert_eq!(core.latency_ns.len() as u64 + core.missed, 50);
        assert!(core.max_ns() > 0);
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error() {
        assert!(measure(&Plan { cores: vec![1000], ..plan(1, 5) }).is_err());
    }
}
