//! Keeps one load running: starts it on its cores, starts it again when it has ended well, and ends
//! all that it has started.
//!
//! Loads fork by the hundred (hackbench) and lose track of their children when they are killed. So
//! the keeper declares itself the parent of all orphans below it, and at its end kills what is left,
//! again and again until there is nothing. Hundreds of busy tasks would keep it from that for long, and
//! each other from dying, so it is more urgent than they while it does. It ends when it is asked to,
//! and when the process that measures is gone, whatever way that ended.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use libc::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use os::signals::Signals;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal,
};

use super::tend::say_missing;

/// A load that ended well may be started again this soon; one that ends at once is no load.
const ENDS_AT_ONCE: Duration = Duration::from_millis(50);
/// So many times in a row it may end at once.
const ENDS_AT_ONCE_MAX: usize = 20;
/// How long a load may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// Keeps a load running on these cores, or all if there are none, until this process is asked to end,
/// or the process `parent` is gone, which started this one. Returns whether it ran until then.
///
/// # Errors
/// If this process cannot become what a keeper is.
pub fn keep(parent: u32, words: &[String], cores: &[usize]) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if std::os::unix::process::parent_id() != parent {
        return Err(io::Error::other("the parent is gone"));
    }
    set_child_subreaper(Some(getpid()))?;
    // Programs that are started do not inherit this: the standard library gives them an empty mask.
    let signals = Signals::block(&[SIGHUP, SIGINT, SIGTERM, SIGCHLD]);
    if !cores.is_empty() {
        os::realtime::pin_thread(CALLER, cores.iter().copied())?;
    }
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut at_once = 0;
    loop {
        let began = Instant::now();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => Pid::from_child(&child),
            Err(error) => {
                say_missing(program, &error);
                return Ok(false);
            }
        };
        let Some(status) = wait(child, &signals) else {
            let _ = kill_process(child, Signal::TERM);
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

/// Waits until this child has ended, or returns `None` when this process is asked to end.
fn wait(child: Pid, signals: &Signals) -> Option<ExitStatus> {
    loop {
        while let Some((process, status)) = ended_child() {
            if process == child {
                return Some(status);
            }
        }
        if signals.next().number != SIGCHLD {
            return None;
        }
    }
}

/// A child of this process that has ended, if there is one. Nothing else waits for its children.
fn ended_child() -> Option<(Pid, ExitStatus)> {
    let (process, status) = rustix::process::wait(WaitOptions::NOHANG).ok()??;
    Some((process, ExitStatus::from_raw(status.as_raw())))
}

/// Ends all below this process: those that were asked to get a moment, then each is killed, and so are
/// its children, which are this process's from then on.
fn end_all() {
    hurry(CALLER);
    let killed_from = Instant::now() + GRACE;
    loop {
        while ended_child().is_some() {}
        let children = os::process::children_of(getpid().as_raw_pid());
        if children.is_empty() {
            return;
        }
        if Instant::now() >= killed_from {
            for child in children {
                hurry(child);
                // A child that was not waited for, so the number is its own.
                let _ = Pid::from_raw(child).map(|child| kill_process(child, Signal::KILL));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The calling process, where a number of one is wanted.
const CALLER: i32 = 0;

/// Has the calling process, or a child of it, run before all ordinary ones. What is not allowed is
/// left: it then takes its turn.
fn hurry(process: i32) {
    let _ = os::realtime::fifo_thread(process, 1);
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
