//! What a program leaves behind: processes whose parent ended before they did.
//!
//! The keeper declares itself their new parent, so that all processes of a domain stay its
//! descendants, however often they fork and whatever session they move to. So it can collect
//! them when they end, and end them when the domain does: nobody would follow what they start
//! then, or own their clock.

use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use crate::launch::freeze::parent_of;

/// How long what is on its way to its end anyway, such as the rest of a pipeline, is given.
const GRACE: Duration = Duration::from_millis(100);

/// Makes this process the parent of those of its descendants that lose theirs.
pub(super) fn adopt() -> io::Result<()> {
    // SAFETY: takes numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A child of this process that has ended, if there is one.
pub(super) fn ended() -> Option<(i32, ExitStatus)> {
    use std::os::unix::process::ExitStatusExt;
    let mut status = 0;
    // SAFETY: `status` is a valid int. No other part of this process waits for its children.
    let process = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (process > 0).then(|| (process, ExitStatus::from_raw(status)))
}

/// Ends all descendants of this process. Answers how many did not end by themselves.
pub(super) fn end() -> usize {
    let mut killed = BTreeSet::new();
    let mut waited = Duration::ZERO;
    while collect() {
        let nap = Duration::from_millis(2);
        if waited >= GRACE {
            for process in children() {
                // SAFETY: a child that was not waited for, so its number is its own.
                unsafe { libc::kill(process, libc::SIGKILL) };
                killed.insert(process);
            }
            wait_for_one();
        } else {
            std::thread::sleep(nap);
            waited += nap;
        }
    }
    killed.len()
}

/// Collects children that have ended. Answers whether there are others.
fn collect() -> bool {
    while ended().is_some() {}
    // SAFETY: no status is asked for, and nothing is collected.
    let result = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    result == 0
}

fn wait_for_one() {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
}

/// Children of this process, running or not, by what `/proc` says of all processes.
fn children() -> Vec<i32> {
    let own = std::process::id().cast_signed();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.filter(|process| parent_of(*process) == Some(own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_by_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = child.id().cast_signed();
        assert!(children().contains(&number));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(parent_of(number), None);
    }
}
