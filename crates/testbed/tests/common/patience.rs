//! Bounds on wall time that hold on a loaded machine too. What an idle one does within a bound takes
//! as many times longer as there are others that want each processor, so the bound is multiplied by
//! that. On an idle machine it stays as strict as it is written.

use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A bound on an idle machine, as it is on this one now.
pub(crate) fn patience(idle: Duration) -> Duration {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[expect(clippy::cast_precision_loss, reason = "a handful of cores")]
    let queue = wanting() / cores as f64;
    // Twice that: a thread that comes late is often made to wait again.
    idle.mul_f64(1.0 + 2.0 * queue)
}

/// No bound on anything: far more than what a test waits for takes, and less than for ever.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

#[track_caller]
pub(crate) fn within(longest: Duration, otherwise: impl Display, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < longest, "{otherwise}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether others want the processors of this machine as well, or its host has taken them away
/// lately: then a run may say of its verdicts that it was disturbed, which is right and not what a
/// test is about.
pub(crate) fn is_loaded() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[expect(clippy::cast_precision_loss, reason = "a handful of cores")]
    let cores = cores as f64;
    wanting() > cores || last_stall().is_some_and(|at| at.elapsed() < REMEMBERED)
}

/// Who sleeps on a core of its own and comes this late had no processor.
const STALL: Duration = Duration::from_millis(4);
/// Longer than most runs of tests.
const REMEMBERED: Duration = Duration::from_secs(60);

/// When a core was last seen to be away. The first caller begins to watch: a thread
/// on each core that sleeps a millisecond at a time.
pub(crate) fn last_stall() -> Option<Instant> {
    static LAST: OnceLock<Arc<Mutex<Option<Instant>>>> = OnceLock::new();
    let last = LAST.get_or_init(|| {
        let last = Arc::default();
        for core in os::realtime::allowed_cores().unwrap_or_default() {
            let last = Arc::clone(&last);
            std::thread::spawn(move || sleep_on(core, &last));
        }
        last
    });
    *last.lock().unwrap()
}

fn sleep_on(core: usize, last: &Mutex<Option<Instant>>) {
    if os::realtime::pin(core).is_err() {
        return;
    }
    let nap = Duration::from_millis(1);
    loop {
        let begun = Instant::now();
        std::thread::sleep(nap);
        if begun.elapsed() > nap + STALL {
            *last.lock().unwrap() = Some(Instant::now());
        }
    }
}

/// How many threads want a processor: now, or in the last minute, whichever is more.
fn wanting() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut fields = text.split(' ');
    let mean: f64 = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
    let now = fields.nth(2).and_then(|field| field.split('/').next()?.parse().ok());
    mean.max(now.unwrap_or(0.0))
}
