//! What reaches a measurement from outside: the wish to end it, and the news that the whole
//! program was stopped for a while.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::clock::{self, HostTime};

/// Shared by a measurement and what controls it; safe to use in a handler of a signal.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    continued_ns: AtomicI64,
    failed: OnceLock<String>,
}

impl Control {
    /// Ends the measurement soon; what there is, is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it shall end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the measurement, because something went wrong that should not have.
    pub(crate) fn fail(&self, what: String) {
        // The first failure is the one that explains the others.
        let _ = self.failed.set(what);
        self.stop();
    }

    pub(crate) fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    /// The program runs again after a stop (SIGCONT).
    pub fn continued(&self) {
        self.continued_ns.store(clock::now().as_ns(), Ordering::Relaxed);
    }

    /// When it last did; time 0 of the clock if never.
    pub(crate) fn continued_at(&self) -> HostTime {
        HostTime::from_ns(self.continued_ns.load(Ordering::Relaxed))
    }
}
