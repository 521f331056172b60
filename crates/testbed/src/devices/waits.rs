//! How long the thread that serves points waited for a processor while that took virtual time.
//!
//! Each access holds the clock, and what this thread waits for meanwhile keeps nobody waiting. Who looks
//! at it from outside at intervals sees the sum of many waits, most of them in holds, and cannot
//! tell. So it notes each wait itself.

use std::sync::Arc;

use os::run_delay::RunDelay;

use domain::Domain;

#[derive(Debug)]
pub(super) struct Waits {
    domain: Arc<Domain>,
    /// `None` if the kernel does not count it.
    delay: Option<RunDelay>,
    /// What is noted, or took no virtual time.
    known_ns: i64,
}

impl Waits {
    pub(super) fn of_this_thread(domain: Arc<Domain>) -> Self {
        let delay = RunDelay::of_this_thread();
        let known_ns = delay.as_ref().map_or(0, RunDelay::ns);
        Self { domain, delay, known_ns }
    }

    /// Notes what was waited since the last call.
    pub(super) fn note(&mut self) {
        let waited_ns = self.take_ns();
        self.domain.lateness().points.note(self.domain.virtual_ns_of(waited_ns));
    }

    /// What was waited since the last call was in a hold.
    pub(super) fn leave_out(&mut self) {
        self.take_ns();
    }

    fn take_ns(&mut self) -> i64 {
        let now_ns = self.delay.as_ref().map_or(0, RunDelay::ns);
        now_ns - std::mem::replace(&mut self.known_ns, now_ns)
    }
}
