//! Sharp timers for the calling thread.

/// Lets timeouts of this thread end when they are due. By default the kernel delays them by up
/// to 50 µs to save wake-ups, and every frame would be late by that.
pub(super) fn sharpen() {
    // SAFETY: takes no pointers; at worst the slack stays as it was, which costs lateness only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}
