//! Threads that wake up at each tick. A canary does nothing else, on the core of the thread that must be
//! in time and before it: how late it is, is what the host takes away.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use iec61850::SampleTime;

use crate::exchange::{Filler, record};
use crate::time;

/// Ticks that are remembered: more than any overrun that is still worth an explanation.
const REMEMBERED: usize = 64;
const HAND_OVER_TICKS: u64 = 250;

/// Calls `work` at each tick from `begin` on until it shall stop, with the number of the tick and when
/// it was due. It returns when it was done; ticks that have passed by then are left out.
pub fn at_each_tick(
    begin: SampleTime,
    period: Duration,
    stop: &AtomicBool,
    mut work: impl FnMut(u64, SampleTime) -> SampleTime,
) {
    let (mut tick, mut due) = (0, begin);
    while !stop.load(Ordering::Relaxed) {
        time::sleep_until(due);
        let passed = 1 + ticks_in(work(tick, due).since(due), period);
        tick += passed;
        due = due.plus(Duration::from_nanos(passed * time::ns(period)));
    }
}

/// How many whole periods a span holds.
#[must_use]
pub const fn ticks_in(span: Duration, period: Duration) -> u64 {
    time::ns(span) / time::ns(period)
}

/// How late the canary woke up at each of the last ticks, ns.
#[derive(Debug)]
pub struct CanaryTicks([AtomicU64; REMEMBERED]);

impl Default for CanaryTicks {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; REMEMBERED])
    }
}

impl CanaryTicks {
    fn note(&self, tick: u64, late: Duration) {
        self.0[tick as usize % REMEMBERED].store(time::ns(late), Ordering::Relaxed);
    }

    /// How late it was at the worst of these ticks, as far as they are remembered.
    #[must_use]
    pub fn worst(&self, first: u64, last: u64) -> Duration {
        let ticks = first..=last.min(first + REMEMBERED as u64 - 1);
        let late_ns = ticks.map(|tick| self.0[tick as usize % REMEMBERED].load(Ordering::Relaxed));
        Duration::from_nanos(late_ns.max().unwrap_or(0))
    }
}

/// Wakes up at each tick until it shall stop.
pub fn run(
    begin: SampleTime,
    period: Duration,
    seen: &CanaryTicks,
    stop: &AtomicBool,
    mut lateness: Filler<Histogram<u64>>,
) {
    at_each_tick(begin, period, stop, |tick, due| {
        let awake = time::own();
        let late = awake.since(due);
        // Ticks that it slept through were as late as it is now, less what passed between.
        for behind in 0..=ticks_in(late, period) {
            seen.note(tick + behind, late - Duration::from_nanos(behind * time::ns(period)));
        }
        record(&mut lateness.sheet, late);
        if lateness.sheet.len() >= HAND_OVER_TICKS {
            lateness.hand_over();
        }
        awake
    });
    lateness.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_some_ticks_is_remembered() {
        let seen = CanaryTicks::default();
        for (tick, late_ns) in [(10, 5), (11, 900), (12, 7)] {
            seen.note(tick, Duration::from_nanos(late_ns));
        }
        assert_eq!(
            [seen.worst(10, 12), seen.worst(12, 12), seen.worst(9, 9)],
            [900, 7, 0].map(Duration::from_nanos)
        );
    }
}
