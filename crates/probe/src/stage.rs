//! What every thread of a measurement knows: the plan, when it began, and whether it shall end.

use std::sync::Arc;

use crate::clock::{self, HostSpan, HostTime};
use crate::control::Control;
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::sink::Shared;

/// A thread asks whether it shall end at least this often.
const NAP: HostSpan = HostSpan::from_ms(100);

#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) plan: Arc<Plan>,
    pub(crate) began: HostTime,
    pub(crate) control: Arc<Control>,
}

impl Stage {
    /// The times of one thread. Those of several are spread over the period: nothing is learnt from
    /// threads that only wait for each other. What is over before the thread could begin is missed.
    pub(crate) fn schedule(&self, thread: usize, misses: &Shared) -> Schedule {
        let period_ns = self.plan.period_ns.cast_signed();
        let shift = HostSpan::from_ns(period_ns / self.plan.cores.len() as i64 * thread as i64);
        let period = HostSpan::from_ns(period_ns);
        let mut schedule = Schedule::new(self.began + shift + period, period, self.end() + shift);
        misses.miss(schedule.skip_to(clock::now()));
        schedule
    }

    pub(crate) fn end(&self) -> HostTime {
        self.began + HostSpan::from_ns(self.plan.duration_ns.cast_signed())
    }

    /// A time as a stream has it, ns.
    pub(crate) fn since_began_ns(&self, at: HostTime) -> i64 {
        (at - self.began).as_ns()
    }

    /// Lets time pass until shortly before `at`; `false` if the measurement shall end. Sleeping in
    /// one piece through a long period would keep it from ending.
    pub(crate) fn approach(&self, at: HostTime) -> bool {
        while !self.control.is_stopped() {
            let now = clock::now();
            if at - now < NAP + NAP {
                return true;
            }
            clock::sleep_until(now + NAP);
        }
        false
    }
}
