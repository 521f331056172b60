//! Keeps one load running: starts it on its cores, starts it again when it has ended well, and ends
//! all that it has started.
//!
//! Loads fork by the hundred (hackbench) and lose track of their children when they are killed. So
//! the keeper declares itself the parent of all orphans below it, and at its end kills what is left,
//! again and again until there is nothing. Hundreds of busy tasks would keep it from that for long, and
//! each other from dying, so it is more urgent than they while it does. It ends when it is asked to, and when the process that
//! measures is gone, whatever way that ended.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::tend::say_missing;
use crate::sys::process::{self, CALLER};

/// A load that ended well may be started again this soon; one that ends at once is no load.
const ENDS_AT_ONCE: Duration = Duration::from_millis(50);
/// So many times in a row it may end at once.
const ENDS_AT_ONCE_MAX: usize = 20;
/// How long a load may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// Keeps a load running on these cores, or all if there are none, until this process is asked to end,
/// or the process `parent` is gone, which started this one. Answers whether it ran until then.
///
/// # Errors
/// If this process cannot become what a keeper is.
pub fn keep(parent: u32, words: &[String], cores: &[usize]) -> io::Result<bool> {
    process::end_with_parent(parent)?;
    process::adopt_orphans()?;
    let signals = process::Waiting::for_end_or_child()?;
    if !cores.is_empty() {
        process::run_on(cores)?;
    }
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut at_once = 0;
    loop {
        let began = Instant::now();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => child.id(),
            Err(error) => {
                say_missing(program, &error);
                return Ok(false);
            }
        };
        let Some(status) = wait(child, &signals) else {
            process::ask_to_end(child);
            end_all();
            return Ok(true);
        };
        at_once = if began.elapsed() < ENDS_AT_ONCE { at_once + 1 } else { 0 };
        if let Some(why) = why_not_again(status, at_once) {
            say_missing(program, &io::Error::other(why));
            end_all();
            return Ok(false);
        }
    }
}

/// Why a load that has ended is not started again, if it is not.
fn why_not_again(status: ExitStatus, at_once: usize) -> Option<String> {
    if !status.success() {
        return Some(match status.signal() {
            Some(signal) => format!("ended by signal {signal}"),
            None => format!("ended with exit code {}", status.code().unwrap_or_default()),
        });
    }
    (at_once >= ENDS_AT_ONCE_MAX).then(|| "keeps ending immediately".to_owned())
}

/// Waits until this child has ended, or this process is asked to end, which answers nothing.
fn wait(child: u32, signals: &process::Waiting) -> Option<ExitStatus> {
    loop {
        while let Some((process, status)) = process::ended_child() {
            if process == child {
                return Some(status);
            }
        }
        if signals.next()? == process::KeeperSignal::End {
            return None;
        }
    }
}

/// Ends all below this process: those that were asked to get a moment, then each is killed, and so are
/// its children, which are this process's from then on.
fn end_all() {
    process::hurry(CALLER);
    let killed_from = Instant::now() + GRACE;
    loop {
        while process::ended_child().is_some() {}
        let children = process::children();
        if children.is_empty() {
            return;
        }
        if Instant::now() >= killed_from {
            for child in children {
                process::hurry(child);
                process::kill(child);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_started_again_unless_it_fails_or_does_nothing() {
        let (done, failed, killed) =
            (ExitStatus::from_raw(0), ExitStatus::from_raw(3 << 8), ExitStatus::from_raw(9));
        assert_eq!(why_not_again(done, 1), None);
        assert_eq!(why_not_again(failed, 0).as_deref(), Some("ended with exit code 3"));
        assert_eq!(why_not_again(killed, 0).as_deref(), Some("ended by signal 9"));
        assert!(why_not_again(done, ENDS_AT_ONCE_MAX).is_some());
    }
}
