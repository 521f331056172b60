//! The processors of this machine, which tests share, or have to themselves while they measure.
//!
//! Whatever starts programs calls [`beside_others`], so a test that is [`alone`] is.

use std::cell::RefCell;
use std::process::{Child, Command, Stdio};
use std::sync::{Barrier, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::hangs::{Watched, watched};

static MACHINE: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "they are held, and given back when they are dropped")]
enum Share {
    Part(RwLockReadGuard<'static, ()>, Watched),
    All(RwLockWriteGuard<'static, ()>, Watched),
}

thread_local! {
    /// What the test of this thread has until it ends.
    static SHARE: RefCell<Option<Share>> = const { RefCell::new(None) };
}

/// Waits until no other test runs programs; until this one ends, others wait for it.
pub(crate) fn alone() {
    SHARE.take();
    let all = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    SHARE.set(Some(Share::All(all, watched())));
}

/// Waits until no test is alone. Threads that a test has started (they have no name) are covered by
/// what it has itself: if they waited for a test that waits for it, none would go on.
pub(crate) fn beside_others() {
    if thread::current().name().is_none() {
        return;
    }
    let part = || {
        let part = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Share::Part(part, watched())
    };
    SHARE.with_borrow_mut(|share| {
        share.get_or_insert_with(part);
    });
}

/// Keeps all processors from everybody for a while, as a hypervisor would. Returns whether it may, and
/// says so if not.
pub(crate) fn take_processors(span: Duration) -> bool {
    let cores = os::realtime::allowed_cores().unwrap();
    let together = Barrier::new(cores.len());
    let may = thread::scope(|scope| {
        let takers = cores.into_iter().map(|core| {
            let together = &together;
            scope.spawn(move || {
                let may = os::realtime::pin(core).and_then(|()| os::realtime::fifo(99)).is_ok();
                together.wait();
                let begun = Instant::now();
                while may && begun.elapsed() < span {}
                may
            })
        });
        let takers: Vec<_> = takers.collect();
        takers.into_iter().all(|taker| taker.join().unwrap())
    });
    if !may {
        println!("not measured: no right to SCHED_FIFO 99");
    }
    may
}

/// As many programs that never wait as there are processors.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    pub(crate) fn start() -> Self {
        let spin = |_| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap()
        };
        Self((0..thread::available_parallelism().unwrap().get()).map(spin).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
