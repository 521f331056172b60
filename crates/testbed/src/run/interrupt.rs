//! Ctrl-C and signals that ask to end: the first one ends the run in order, another one this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::event::RunEvent;
use os::signals;
use terminal::exit::Exit;

/// Signals that come together are one request to end.
const SIGNALS_TOGETHER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Interrupt {
    to: Mutex<Sender<RunEvent>>,
    /// The first signal, once there was one.
    first: AtomicI32,
}

impl Interrupt {
    /// Passes the first signal on. Another one ends this process at once: a user who asks twice does
    /// not want to wait for an engine that computes. The agent finds its runner gone and tidies up.
    pub(super) fn pass_on(arrivals: signals::Signals) -> std::io::Result<Arc<Self>> {
        let (nobody, _) = channel();
        let interrupt = Arc::new(Self { to: Mutex::new(nobody), first: AtomicI32::new(0) });
        let own = Arc::clone(&interrupt);
        let pass_on = move || {
            let first = arrivals.next().number;
            let first_at = Instant::now();
            own.first.store(first, Ordering::SeqCst);
            // A session that is over already learns of nothing.
            let _ = own.to.lock().send(RunEvent::Signal(first));
            arrivals.next();
            while first_at.elapsed() < SIGNALS_TOGETHER {
                arrivals.next();
            }
            signals::leave_at_once(Exit::Interrupted as i32);
        };
        thread::Builder::new().name("signals".into()).spawn(pass_on)?;
        Ok(interrupt)
    }

    /// Has a run learn of it from now on. Returns whether there is still to be one.
    pub(super) fn reaches(&self, run: Sender<RunEvent>) -> bool {
        *self.to.lock() = run;
        self.first.load(Ordering::SeqCst) == 0
    }
}
