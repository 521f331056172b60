//! The timers of a program tree, and the thread that lets them expire. Each tree has one, so that
//! none waits for another: how often its timers expire delays its own timers alone. Its calls are
//! answered by the thread that receives them, of which it has one of its own too.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::pace::Pace;
use super::pool::Pool;
use super::tree::{Ask, Timers};
use crate::domain::{self, Domain, Serving, Watch};

/// A tree of programs, as others see it.
pub(super) struct Tree {
    timers: Mutex<Timers>,
    is_over: AtomicBool,
    /// Rings when there is something to do.
    bell: OwnedFd,
}

impl Tree {
    /// Starts its thread.
    ///
    /// # Errors
    /// When there are no descriptors or threads left.
    pub(super) fn start(
        name: &str,
        domain: &Arc<Domain>,
        pool: &Arc<Pool>,
    ) -> io::Result<Arc<Self>> {
        let watch = domain.watch()?;
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        let bell = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let timers = Mutex::new(Timers::new(name, Arc::clone(domain), Arc::clone(pool)));
        let tree = Arc::new(Self { timers, is_over: AtomicBool::new(false), bell });
        let (own, domain, name) = (Arc::clone(&tree), Arc::clone(domain), name.to_owned());
        thread::Builder::new().name("timers".into()).spawn(move || {
            let _serving = Serving::begin(&domain, &name);
            own.work(&watch);
        })?;
        Ok(tree)
    }

    /// Answers a call.
    pub(super) fn answer(&self, ask: Ask) -> io::Result<i64> {
        let answer = self.timers().answer(ask);
        if ask.sets() {
            self.ring();
        }
        answer
    }

    /// Does something to its timers.
    pub(super) fn with_timers<T>(&self, act: impl FnOnce(&mut Timers) -> T) -> T {
        let answer = act(&mut self.timers());
        self.ring();
        answer
    }

    /// Ends its thread.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.ring();
    }

    fn work(&self, watch: &Watch) {
        punctual();
        let mut pace = Pace::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let next = self.timers().expire(&mut pace);
            if self.wait(watch, next).is_err() {
                return;
            }
        }
    }

    /// Waits until host time `next`, or until something has changed.
    fn wait(&self, watch: &Watch, next: Option<vtime::HostTime>) -> io::Result<()> {
        let mut fds = [domain::readable(watch.fd()), domain::readable(self.bell.as_fd())];
        domain::poll_until(&mut fds, next)?;
        watch.clear();
        let mut count = [0u8; 8];
        // SAFETY: reads 8 octets into an array of 8; the descriptor does not block.
        unsafe { libc::read(self.bell.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        Ok(())
    }

    fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes 8 octets from an array of 8; a full counter (EAGAIN) is readable anyway.
        unsafe { libc::write(self.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn timers(&self) -> MutexGuard<'_, Timers> {
        // A panic aborts the process, so a poisoned lock cannot be seen; the state is whole.
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has this thread woken at the moment it asked for, not up to 50 us later as others: what expires
/// late is seen by the program, which natively is interrupted by its timer before it is run.
fn punctual() {
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
