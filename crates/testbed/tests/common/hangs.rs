//! Tests that never end, by a fault of what they test: nobody would learn which, and the rest would never be
//! tested. So somebody watches how long each takes, and ends all with a look at what hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::process::abort;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use os::process::{Identity, descendants, threads_of};

/// No bound on anything: several times what the longest test takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(25 * 60);
const LOOK: Duration = Duration::from_secs(1);

static RUNNING: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// That a test runs; until this is dropped.
pub(crate) struct Watched(String);

/// Watches the test of this thread.
pub(crate) fn watched() -> Watched {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| drop(thread::spawn(watch)));
    let name = thread::current().name().unwrap_or("main").to_owned();
    running().insert(name.clone(), Instant::now());
    Watched(name)
}

impl Drop for Watched {
    fn drop(&mut self) {
        running().remove(&self.0);
    }
}

fn running() -> MutexGuard<'static, BTreeMap<String, Instant>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() {
    loop {
        thread::sleep(LOOK);
        let hangs = overdue(&running(), Instant::now());
        if !hangs.is_empty() {
            eprintln!("hangs: {}; what comes from here:", hangs.join(", "));
            let own: BTreeSet<Identity> =
                Identity::of_process(std::process::id().cast_signed()).into_iter().collect();
            for process in descendants(&own) {
                tell(process.number);
                os::signals::send(process.number.cast_unsigned(), libc::SIGKILL);
            }
            abort();
        }
    }
}

fn overdue(running: &BTreeMap<String, Instant>, now: Instant) -> Vec<String> {
    let late = running.iter().filter(|(_, begun)| now.duration_since(**begun) > LONGEST);
    late.map(|(name, _)| name.clone()).collect()
}

/// What the kernel says of each thread of a process.
fn tell(process: i32) {
    for thread in threads_of(process) {
        let read = |file: &str| {
            let octets = std::fs::read(format!("/proc/{process}/task/{thread}/{file}"));
            String::from_utf8_lossy(&octets.unwrap_or_default()).replace(['\0', '\n'], " ")
        };
        eprintln!(
            "  {process} {thread}: {}\n    in {} {}\n    {}",
            read("cmdline"),
            read("syscall"),
            read("wchan"),
            read("status")
        );
    }
}

#[test]
fn who_takes_too_long_is_named() {
    let long_ago = Instant::now();
    let now = long_ago + LONGEST + LOOK;
    let running = [("slow", long_ago), ("quick", now)].map(|(name, at)| (name.to_owned(), at));
    let running = BTreeMap::from(running);
    assert_eq!(overdue(&running, now), ["slow"]);
    drop(watched());
}
