//! Interfaces that only the thread of one test sees.

pub(crate) mod feeder;
pub(crate) mod goose;
pub(crate) mod paced;
pub(crate) mod running;

use std::cell::RefCell;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::sleep;
use std::time::Duration;

/// The processors of this machine.
static MACHINE: RwLock<()> = RwLock::new(());

/// What a test has of them: a part, beside others, or all.
#[expect(dead_code, reason = "they are held, and given back when they are dropped")]
enum Share {
    Part(RwLockReadGuard<'static, ()>),
    All(RwLockWriteGuard<'static, ()>),
}

thread_local! {
    /// What the test of this thread has until it ends.
    static SHARE: RefCell<Option<Share>> = const { RefCell::new(None) };
}

/// Waits until no other test has interfaces; until this one ends, others wait for it.
pub(crate) fn alone() {
    SHARE.take();
    SHARE.set(Some(Share::All(MACHINE.write().unwrap_or_else(PoisonError::into_inner))));
}

/// Waits until no test is alone.
fn beside_others() {
    let part = || Share::Part(MACHINE.read().unwrap_or_else(PoisonError::into_inner));
    SHARE.with_borrow_mut(|share| {
        share.get_or_insert_with(part);
    });
}

/// Puts this thread into a network namespace of its own, in which `east` and `west` are the two
/// ends of one cable; it vanishes with the thread. Says why and returns `false` where that is not
/// allowed.
pub(crate) fn cable(of_what: &str) -> bool {
    if !namespace(of_what) {
        return false;
    }
    if !ip("link add name east type veth peer name west") {
        not_measured(of_what, "no veth pair can be made here");
        return false;
    }
    bring_up(&["east", "west"]);
    true
}

/// As [`cable`], a bridge with these ends instead.
pub(crate) fn bus(of_what: &str, ends: &[&str]) -> bool {
    if !namespace(of_what) {
        return false;
    }
    if !ip("link add name bus type bridge mcast_snooping 0") {
        not_measured(of_what, "no bridge can be made here");
        return false;
    }
    assert!(ip("link set dev bus up"));
    for end in ends {
        assert!(ip(&format!("link add name {end} type veth peer name port-{end}")));
        assert!(ip(&format!("link set dev port-{end} master bus up")));
    }
    bring_up(ends);
    true
}

/// Puts this thread into a network namespace of its own.
fn namespace(of_what: &str) -> bool {
    beside_others();
    // SAFETY: takes a number only; network namespaces belong to threads.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        let error = std::io::Error::last_os_error();
        not_measured(of_what, &format!("a network namespace needs root ({error})"));
        return false;
    }
    true
}

fn bring_up(ends: &[&str]) {
    assert!(ends.iter().all(|end| ip(&format!("link set dev {end} up"))));
    // Until the kernel's worker has seen both ends up, what is sent is silently thrown away.
    while ends.iter().any(|end| !is_up(end)) {
        sleep(Duration::from_millis(2));
    }
}

/// Says what this host does not let a test measure, past what tests print: that is shown only where
/// one fails.
pub(crate) fn not_measured(what: &str, why: &str) {
    let _closed = writeln!(std::io::stderr(), "{what}: not measured: {why}");
}

/// Whether Python has a module.
pub(crate) fn has(module: &str) -> bool {
    let mut command = Command::new("python3");
    command.args(["-c", &format!("import {module}")]).stderr(Stdio::null());
    let is_there = command.status().is_ok_and(|status| status.success());
    if !is_there {
        not_measured(module, "it is not installed (`make test` installs it in .venv)");
    }
    is_there
}

pub(crate) fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

fn is_up(end: &str) -> bool {
    let shown = Command::new("ip").args(["-o", "link", "show", "dev", end]).output();
    shown.is_ok_and(|shown| String::from_utf8_lossy(&shown.stdout).contains("state UP"))
}
