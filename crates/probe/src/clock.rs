//! `CLOCK_MONOTONIC` with types of its own: a moment is no length, and neither is what a stream writes,
//! which is since the stream began.

pub(crate) use vtime::{HostSpan, HostTime};

pub(crate) fn now() -> HostTime {
    HostTime::from_ns(os::realtime::now_ns())
}

/// Sleeps until then; signals do not end it.
pub(crate) fn sleep_until(at: HostTime) {
    os::realtime::sleep_until(at.as_ns());
}
