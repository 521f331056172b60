//! The signal bus as this host follows it: while it is asserted, whoever has done that, this host has one hold of all hosts.
//!
//! The edge stops the clock at once ([`Domain::stop_for_bus`]; the kernel module has done it by then); all agree on where
//! to stand as they always do, over the network. Nothing here waits for that: an edge that came meanwhile would find
//! nobody.
//!
//! An edge may be lost. So the level of the bus is looked at after each, and a few times a second.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use domain::{Domain, host_now, poll_until, readable};
use os::wake::Wake;
use signal_bus::{Drives, Watches};
use vtime::HostSpan;

use super::holding::AllHolds;

/// How often the level is looked at, whatever edges tell.
const LOOK: HostSpan = HostSpan::from_ms(100);
/// Priority of the thread, if the host grants it: above that of the network's, whatever that has to do.
const PRIORITY: i32 = 96;

/// Follows the bus until it is dropped.
#[derive(Debug)]
pub struct Following {
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Following {
    /// Follows the bus from now on, and asserts it while this host holds all. `tell` is told of what fails.
    pub fn start(
        (drives, watches): (Box<dyn Drives>, Box<dyn Watches>),
        all: Arc<AllHolds>,
        domain: Arc<Domain>,
        tell: impl Fn(io::Error) + Clone + Send + Sync + 'static,
    ) -> io::Result<Self> {
        all.drive(drives, tell.clone());
        let stop = Arc::new(Wake::new()?);
        let stopped = Arc::clone(&stop);
        let mut follower = Follower { watches, all, domain, holds: false };
        let thread = Builder::new().name("signal-bus".into()).spawn(move || {
            os::realtime::exact_timeouts();
            // Without it the stop may be late by what others compute.
            let _ = os::realtime::fifo(PRIORITY);
            if let Err(error) = follower.run(&stopped) {
                tell(error);
            }
            follower.ends();
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stop.wake();
        if let Some(thread) = self.thread.take() {
            // Its panic has ended the program.
            let _ = thread.join();
        }
    }
}

struct Follower {
    watches: Box<dyn Watches>,
    all: Arc<AllHolds>,
    domain: Arc<Domain>,
    /// Whether it has a hold, as the bus is asserted.
    holds: bool,
}

impl Follower {
    fn run(&mut self, stop: &Wake) -> io::Result<()> {
        loop {
            for asserted in self.watches.edges()? {
                self.follows(asserted);
            }
            let asserted = self.watches.is_asserted()?;
            if asserted != self.holds {
                self.follows(asserted);
            }
            let look = host_now() + LOOK;
            let until = self.watches.due().map_or(look, |due| due.min(look));
            let mut fds = [readable(self.watches.fd()), readable(stop.as_fd())];
            poll_until(&mut fds, Some(until))?;
            if !fds[1].revents().is_empty() {
                return Ok(());
            }
        }
    }

    /// Holds nothing any more, and leaves nobody who stops the clock without one who lets it go.
    fn ends(mut self) {
        self.follows(false);
        drop(self.watches);
        self.domain.release_bus();
    }

    fn follows(&mut self, asserted: bool) {
        if asserted {
            self.domain.stop_for_bus();
        }
        let is_there = asserted == self.holds || self.all.hold_by_itself(asserted);
        self.holds = asserted;
        match is_there {
            // It may have been stopped on its way to where all will stand.
            true => self.all.look(),
            false => self.domain.release_bus(),
        }
    }
}

#[cfg(test)]
mod tests;
