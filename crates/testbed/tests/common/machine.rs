//! The processors of this machine, which tests share, or have to themselves while they measure.
//!
//! Whatever starts programs calls [`beside_others`], so a test that is [`alone`] is.

use std::cell::RefCell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;

static MACHINE: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "they are held, and given back when they are dropped")]
enum Share {
    Part(RwLockReadGuard<'static, ()>),
    All(RwLockWriteGuard<'static, ()>),
}

thread_local! {
    /// What the test of this thread has until it ends.
    static SHARE: RefCell<Option<Share>> = const { RefCell::new(None) };
}

/// Waits until no other test runs programs; until this one ends, others wait for it.
pub(crate) fn alone() {
    SHARE.take();
    SHARE.set(Some(Share::All(MACHINE.write().unwrap_or_else(PoisonError::into_inner))));
}

/// Waits until no test is alone. Threads that a test has started (they have no name) are covered by
/// what it has itself: if they waited for a test that waits for it, none would go on.
pub(crate) fn beside_others() {
    if thread::current().name().is_none() {
        return;
    }
    let part = || Share::Part(MACHINE.read().unwrap_or_else(PoisonError::into_inner));
    SHARE.with_borrow_mut(|share| {
        share.get_or_insert_with(part);
    });
}
