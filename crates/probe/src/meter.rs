//! The stall meter: a thread of the lowest class that looks at the clock all the time, and notes
//! when it could not although it was not waiting for another task.
//!
//! Then the core itself was gone: to a hypervisor, to firmware, to interrupts. For how long it
//! waited for others the kernel reports (run delay). Because it spins, the core never idles: wake-ups
//! become faster, a sibling thread of the processor slower, and power is burnt. Hence it is off
//! unless asked for.

use os::run_delay::RunDelay;

use crate::clock::{self, HostSpan, HostTime};
use crate::plan::Plan;
use crate::stage::Stage;
use crate::threads::{Role, Task};

/// From this length on a gap is noted.
const GAP: HostSpan = HostSpan::from_ns(50_000);
/// A gap that is shorter than this holds no switch to another task and back.
const NO_SWITCH: HostSpan = HostSpan::from_ns(1_000);
/// Gaps that wait for the collector; more in a tenth of a second are not worth knowing singly.
const QUEUE: usize = 1024;

/// A time in which a core was gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gap {
    pub(crate) at: HostTime,
    pub(crate) length: HostSpan,
}

/// A task for each core of the plan, and where its gaps arrive.
pub(crate) fn tasks(plan: &Plan) -> (Vec<Task>, Vec<rtrb::Consumer<Gap>>) {
    let task = |&core: &usize| {
        let (gaps, arrive) = rtrb::RingBuffer::new(QUEUE);
        let work = Box::new(move |stage| spin(&stage, gaps));
        (Task { name: format!("meter-{core}"), core, role: Role::Meter, work }, arrive)
    };
    plan.cores.iter().map(task).unzip()
}

/// Whether this kernel reports how long a task waits for others; without that a meter cannot tell
/// them from a core that is gone.
pub(crate) fn is_possible() -> bool {
    RunDelay::of_this_thread().is_some()
}

fn spin(stage: &Stage, mut gaps: rtrb::Producer<Gap>) {
    let Some(run_delay) = RunDelay::of_this_thread() else { return };
    let mut waited_ns = run_delay.ns();
    let mut before = clock::now();
    while before < stage.end() && !stage.control.is_stopped() {
        let now = clock::now();
        if now - before < NO_SWITCH {
            before = now;
            continue;
        }
        let until_now_ns = run_delay.ns();
        let length = now - before - HostSpan::from_ns(until_now_ns - waited_ns);
        if length >= GAP {
            // If there is no room the collector has enough of them.
            let _ = gaps.push(Gap { at: before, length });
        }
        waited_ns = until_now_ns;
        // What was just done is no gap.
        before = clock::now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::control::Control;

    /// A busy thread on the same core takes nearly all of it: that is waiting, and no gap.
    #[test]
    fn a_core_that_others_have_is_not_gone() {
        if !is_possible() {
            return eprintln!("not tested: this kernel does not count run delays");
        }
        let stage = Stage {
            plan: Arc::new(Plan { duration_ns: 300_000_000, ..Plan::default() }),
            began: clock::now(),
            control: Arc::new(Control::default()),
        };
        let (gaps, mut arrive) = rtrb::RingBuffer::new(QUEUE);
        let waited_ns = std::thread::scope(|scope| {
            scope.spawn(|| {
                os::realtime::pin(0).unwrap();
                while clock::now() < stage.end() {}
            });
            let meter = scope.spawn(|| {
                os::realtime::pin(0).unwrap();
                crate::sys::thread::lowest_priority().unwrap();
                spin(&stage, gaps);
                RunDelay::of_this_thread().unwrap().ns()
            });
            meter.join().unwrap()
        });
        let gone_ns: i64 =
            std::iter::from_fn(|| arrive.pop().ok()).map(|gap| gap.length.as_ns()).sum();
        assert!(gone_ns < waited_ns, "{gone_ns} ns gone, {waited_ns} ns waited");
    }
}
