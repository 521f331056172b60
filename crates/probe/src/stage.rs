//! What every thread of a measurement knows: the plan, when it began, and whether it shall end.

use std::sync::Arc;

use crate::control::Control;
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::sink::Misses;

/// A thread asks whether it shall end at least this often, ns.
const NAP_NS: i64 = 100_000_000;

/// What every thread of a measurement knows.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) plan: Arc<Plan>,
    /// `CLOCK_MONOTONIC`.
    pub(crate) began_ns: i64,
    pub(crate) control: Arc<Control>,
}

impl Stage {
    /// The times of one thread. Those of several are spread over the period: nothing is learnt from
    /// threads that only wait for each other. What is over before the thread could begin is missed.
    pub(crate) fn schedule(&self, thread: usize, misses: &Misses) -> Schedule {
        let period_ns = self.plan.period_ns.cast_signed();
        let shift_ns = period_ns / self.plan.cores.len() as i64 * thread as i64;
        let first_ns = self.began_ns + shift_ns + period_ns;
        let mut schedule = Schedule::new(first_ns, period_ns, self.end_ns() + shift_ns);
        misses.miss(schedule.skip_to(os::realtime::now_ns()));
        schedule
    }

    /// When it is over.
    pub(crate) fn end_ns(&self) -> i64 {
        self.began_ns.saturating_add(self.plan.duration_ns.cast_signed())
    }

    /// Lets time pass until shortly before `at_ns`; `false` if the measurement shall end. Sleeping
    /// in one piece through a long period would keep it from ending.
    pub(crate) fn approach(&self, at_ns: i64) -> bool {
        while !self.control.is_stopped() {
            let now_ns = os::realtime::now_ns();
            if at_ns - now_ns < 2 * NAP_NS {
                return true;
            }
            os::realtime::sleep_until(now_ns + NAP_NS);
        }
        false
    }
}
