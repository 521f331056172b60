//! The timers of a program tree, and the thread that lets them expire. Each tree has one, so that
//! none waits for another: how often its timers expire delays its own timers alone. Its calls are
//! answered by the thread that receives them, of which it has one of its own too.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use os::wake::Wake;
use parking_lot::Mutex;

use super::pace::Pace;
use super::pool::Pool;
use super::tree::{TimerCall, Timers};
use domain::{Domain, Serving, Watch};

pub(super) struct Tree {
    timers: Mutex<Timers>,
    is_over: AtomicBool,
    /// Wakes the thread when there is something to do.
    wake: Wake,
}

impl Tree {
    pub(super) fn start(
        name: &str,
        domain: &Arc<Domain>,
        pool: &Arc<Pool>,
    ) -> io::Result<Arc<Self>> {
        let watch = domain.watch()?;
        let wake = Wake::new()?;
        let timers = Mutex::new(Timers::new(name, Arc::clone(domain), Arc::clone(pool)));
        let tree = Arc::new(Self { timers, is_over: AtomicBool::new(false), wake });
        let (own, domain, name) = (Arc::clone(&tree), Arc::clone(domain), name.to_owned());
        thread::Builder::new().name("timers".into()).spawn(move || {
            let _serving = Serving::begin(&domain, &name);
            own.run(&watch);
        })?;
        Ok(tree)
    }

    pub(super) fn answer(&self, call: TimerCall) -> io::Result<i64> {
        let answer = self.timers.lock().answer(call);
        if call.sets() {
            self.wake.wake();
        }
        answer
    }

    pub(super) fn with_timers<T>(&self, act: impl FnOnce(&mut Timers) -> T) -> T {
        let answer = act(&mut self.timers.lock());
        self.wake.wake();
        answer
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake.wake();
    }

    fn run(&self, watch: &Watch) {
        // What expires late is seen by the program, which natively is interrupted by its timer before
        // it is run.
        os::realtime::exact_timeouts();
        let mut pace = Pace::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let next = {
                let mut timers = self.timers.lock();
                let next = timers.expire(&mut pace);
                watch.is_for(timers.due());
                next
            };
            if self.wait(watch, next).is_err() {
                return;
            }
        }
    }

    /// Waits until host time `next`, or until something has changed.
    fn wait(&self, watch: &Watch, next: Option<vtime::HostTime>) -> io::Result<()> {
        let mut fds = [domain::readable(watch.fd()), domain::readable(self.wake.as_fd())];
        domain::poll_until(&mut fds, next)?;
        watch.clear();
        self.wake.clear();
        Ok(())
    }
}
