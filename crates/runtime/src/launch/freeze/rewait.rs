//! Waits in progress are computed again when time is to go faster than they assume.
//!
//! A wait of the image is a native call with the host time that is left at the present factors.
//! One that becomes less makes that too long, so threads in such calls are stopped for a moment and
//! the image learns that it has waited in vain; the clock is stopped meanwhile, so that nobody is late.
//!
//! A thread that runs may be on its way into such a call with a time that it has worked out before.
//! It is looked at again until it sleeps, or has computed for longer than that way takes.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use libc::pid_t;

use super::backend::is_ours;
use super::calls;
use super::stop::Stopper;
use os::process::{self, Identity};

/// How long the clock is stopped for it at most. Who is not reached by then notices when the native
/// call is over.
const LONGEST: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_micros(500);
/// More than the way from working a time out to waiting for it takes.
const WAY_NS: u64 = 1_000_000;

/// Has all waits of programs computed again that were begun by these processes or come from them. A
/// stranger that has been given such a number since has no wait of the image.
pub(super) fn restart_waits(processes: &[pid_t]) {
    let mut roots: BTreeSet<pid_t> = processes.iter().copied().collect();
    let parents = processes.iter().filter_map(|process| process::parent_of(*process));
    // They adopt what programs leave behind.
    let parents: BTreeSet<pid_t> = parents.collect();
    roots.extend(parents.into_iter().filter(|parent| is_ours(*parent)));
    let known = roots.iter().filter_map(|root| Identity::of_process(*root).ok()).collect();
    let mut all = roots;
    all.extend(process::descendants(&known).iter().map(|process| process.number));
    all.retain(|process| !calls::is_in_exec(*process));
    let threads = all.iter().flat_map(|process| process::threads_of(*process)).collect();
    // When a thread ends, the kernel detaches what it traces.
    thread::scope(|scope| _ = scope.spawn(|| reach(threads)).join());
}

fn reach(threads: Vec<pid_t>) {
    let begun = Instant::now();
    let mut stopper = Stopper::default();
    let mut on_their_way: BTreeMap<pid_t, Option<u64>> =
        threads.into_iter().map(|thread| (thread, None)).collect();
    loop {
        on_their_way.retain(|thread, since| may_be_on_its_way(*thread, since, &mut stopper));
        stopper.look();
        stopper.detach_stopped();
        let done = on_their_way.is_empty() && !stopper.is_waiting();
        if done || begun.elapsed() > LONGEST {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Stops a thread that waits for a host time. Returns whether it must be looked at again: it runs, and
/// has not computed long enough since the first look, at `since`.
fn may_be_on_its_way(thread: pid_t, since: &mut Option<u64>, stopper: &mut Stopper) -> bool {
    if let Some(call) = calls::call_of(thread) {
        if calls::waits_for_a_host_time(call) {
            stopper.request_stop_in_wait(thread, call);
        }
        return false;
    }
    match (process::state_of(thread), calls::computed_ns(thread)) {
        (Some('R'), Some(ns)) => ns < *since.get_or_insert(ns) + WAY_NS,
        _ => false,
    }
}
