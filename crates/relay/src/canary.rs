//! A thread that does nothing but wake up with the task, on its core and before it. How late it
//! is, is what the host takes away.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use hdrhistogram::Histogram;

use crate::exchange::{Filler, record};

/// Ticks that are remembered: more than any overrun that is still worth an explanation.
const REMEMBERED: usize = 64;
/// Ticks between two hand-overs.
const HAND_OVER_TICKS: u64 = 250;

/// How late the canary woke up at each of the last ticks.
#[derive(Debug)]
pub(crate) struct Seen {
    late_ns: [AtomicI64; REMEMBERED],
}

impl Default for Seen {
    fn default() -> Self {
        Self { late_ns: std::array::from_fn(|_| AtomicI64::new(0)) }
    }
}

impl Seen {
    /// The canary woke up.
    pub(crate) fn note(&self, tick: u64, late_ns: i64) {
        self.late_ns[tick as usize % REMEMBERED].store(late_ns, Ordering::Relaxed);
    }

    /// How late it was at the worst of these ticks, as far as they are remembered.
    pub(crate) fn worst_ns(&self, first: u64, last: u64) -> i64 {
        let ticks = first..=last.min(first + REMEMBERED as u64 - 1);
        let late =
            ticks.map(|tick| self.late_ns[tick as usize % REMEMBERED].load(Ordering::Relaxed));
        late.max().unwrap_or(0)
    }
}

/// Wakes up at each tick until it shall stop.
pub(crate) fn run(
    begin_ns: i64,
    period_ns: i64,
    seen: &Seen,
    stop: &AtomicBool,
    mut lateness: Filler<Histogram<u64>>,
) -> Box<Histogram<u64>> {
    let mut tick = 0u64;
    while !stop.load(Ordering::Relaxed) {
        let due_ns = begin_ns + tick as i64 * period_ns;
        os::realtime::sleep_until(due_ns);
        let late_ns = os::realtime::now_ns() - due_ns;
        // Ticks that it slept through were as late as it is now, less what passed between.
        let missed = (late_ns / period_ns) as u64;
        for behind in 0..=missed {
            seen.note(tick + behind, late_ns - behind as i64 * period_ns);
        }
        record(lateness.sheet(), late_ns);
        if lateness.sheet().len() >= HAND_OVER_TICKS {
            lateness.hand_over();
        }
        tick += missed + 1;
    }
    lateness.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_some_ticks_is_remembered() {
        let seen = Seen::default();
        for (tick, late_ns) in [(10, 5), (11, 900), (12, 7)] {
            seen.note(tick, late_ns);
        }
        assert_eq!(
            [seen.worst_ns(10, 12), seen.worst_ns(12, 12), seen.worst_ns(9, 9)],
            [900, 7, 0]
        );
    }
}
