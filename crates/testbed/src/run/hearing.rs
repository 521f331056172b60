//! Whether another machine is still heard.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::nodes::line;

/// When anything came last.
#[derive(Debug)]
pub(super) struct Hearing {
    last: Mutex<Instant>,
    /// Whether the machine is reached and has the program.
    is_reached: AtomicBool,
    /// Whether nobody listens now, as what came before is not recorded yet.
    is_busy: AtomicBool,
    is_over: AtomicBool,
}

impl Default for Hearing {
    fn default() -> Self {
        let [is_reached, is_busy, is_over] = [false; 3].map(AtomicBool::new);
        Self { last: Mutex::new(Instant::now()), is_reached, is_busy, is_over }
    }
}

/// That what came before is not recorded yet, until it is dropped.
pub(super) struct Busy<'h>(&'h Hearing);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.heard();
        self.0.is_busy.store(false, Ordering::Relaxed);
    }
}

impl Hearing {
    /// The machine is reached, and has the program.
    pub(super) fn reached(&self) {
        self.is_reached.store(true, Ordering::Relaxed);
    }

    /// The session is at its end, so that silence is nothing to tell of.
    pub(super) fn over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Nobody listens until this is dropped.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.is_busy.store(true, Ordering::Relaxed);
        Busy(self)
    }

    pub(super) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    pub(super) fn heard(&self) {
        *self.last.lock() = Instant::now();
    }

    pub(super) fn is_silent(&self) -> bool {
        let is_excused = [&self.is_busy, &self.is_over].iter().any(|is| is.load(Ordering::Relaxed));
        !is_excused && self.last.lock().elapsed() > line::SILENCE_LONGEST
    }
}
