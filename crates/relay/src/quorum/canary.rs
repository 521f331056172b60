//! The canary of a node: a thread that does nothing but wake up each half millisecond, on the
//! node's core and before it. Each time that it is late is taken down with begin and length, so that an
//! action that took long can be held against what the host took away meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rtrb::Producer;

use super::records::{Event, What};

/// Time between two looks: an eighth of a quarter cycle at 60 Hz.
const PERIOD_NS: i64 = 500_000;

/// Measures until it shall stop; answers how many stalls found no room in the queue.
pub(crate) fn run(stall_min: Duration, mut events: Producer<Event>, stop: &AtomicBool) -> u64 {
    let stall_min_ns = i64::try_from(stall_min.as_nanos()).unwrap_or(i64::MAX);
    let mut lost = 0;
    let mut due_ns = os::realtime::now_ns() + PERIOD_NS;
    while !stop.load(Ordering::Relaxed) {
        os::realtime::sleep_until(due_ns);
        let (now_ns, realtime_ns) = (os::realtime::now_ns(), os::realtime::realtime_ns());
        let late_ns = now_ns - due_ns;
        if late_ns >= stall_min_ns {
            let event = Event { realtime_ns, what: What::Stall { late_ns } };
            lost += u64::from(events.push(event).is_err());
        }
        due_ns += PERIOD_NS * (1 + late_ns / PERIOD_NS);
    }
    lost
}
