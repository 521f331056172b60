//! Sharp timers and a place before all programs for the calling thread.

/// Above every program of the testbed, canaries too: a wire is never late because somebody computes.
const PRIORITY: i32 = 95;

/// Lets timeouts of this thread end when they are due, and lets it run then. By default the kernel
/// delays timeouts by up to 50 µs to save wake-ups, and every frame would be late by that; and
/// programs that are real-time threads, or a host that has other work, would keep frames waiting.
pub(super) fn sharpen() {
    // SAFETY: takes no pointers; at worst the slack stays as it was, which costs lateness only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
    // Where that is not allowed, frames are later, and the results say by how much.
    let _ = os::realtime::fifo(PRIORITY);
}
