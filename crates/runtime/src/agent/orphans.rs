//! What a program leaves behind: processes whose parent ended before they did.
//!
//! The keeper declares itself their new parent, so that all processes of a domain stay its
//! descendants, however often they fork and whatever session they move to. So it can collect
//! them when they end, and end them when the domain does: nobody would follow what they start
//! then, or own their clock.

use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};

use os::process::{self, Identity};

/// How long what is on its way to its end anyway, such as the rest of a pipeline, is given.
const GRACE: Duration = Duration::from_millis(100);
/// Between two looks whether they have ended.
const NAP: Duration = Duration::from_millis(2);

/// Makes this process the parent of those of its descendants that lose theirs.
pub(super) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// A child of this process that has ended, if there is one.
pub(super) fn ended() -> Option<(i32, ExitStatus)> {
    use std::os::unix::process::ExitStatusExt;
    let mut status = 0;
    // SAFETY: `status` is a valid int. No other part of this process waits for its children.
    let process = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (process > 0).then(|| (process, ExitStatus::from_raw(status)))
}

/// Ends all descendants of this process. Returns how many did not end by themselves.
///
/// All at once: one may be unable to die before another one below it has, whose file system, say, or
/// whose answer as its debugger the kernel waits for on its behalf.
pub(super) fn end() -> usize {
    let begun = Instant::now();
    let mut killed = BTreeSet::new();
    while collect() {
        if begun.elapsed() >= GRACE {
            for process in descendants().into_iter().filter(|process| process.runs()) {
                if let Ok(handle) = process.open() {
                    handle.kill();
                    killed.insert(process);
                }
            }
        }
        std::thread::sleep(NAP);
    }
    killed.len()
}

/// Collects children that have ended. Returns whether there are others.
fn collect() -> bool {
    while ended().is_some() {}
    // SAFETY: no status is asked for, and nothing is collected.
    let result = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    result == 0
}

/// All that come from this process, running or not.
fn descendants() -> BTreeSet<Identity> {
    let own = Identity::of_process(std::process::id().cast_signed());
    process::descendants(&own.into_iter().collect())
}
