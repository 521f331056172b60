//! Processes: who is whose child, and what ends with whom. prctl(2), waitpid(2), proc_pid_stat(5)

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use libc::{SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGTERM};

/// What signals ask of a keeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeeperSignal {
    /// A child has ended.
    Child,
    End,
}

/// Signals that are waited for, one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    set: libc::sigset_t,
}

impl Waiting {
    /// Blocks those that ask for an end, and the one that tells of children. Programs that are started
    /// do not inherit that: the standard library gives them an empty mask.
    pub(crate) fn for_end_or_child() -> io::Result<Self> {
        // SAFETY: a set of signals on the stack; the numbers are valid.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [SIGHUP, SIGINT, SIGTERM, SIGCHLD] {
                libc::sigaddset(&raw mut set, signal);
            }
            let result =
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            if result == 0 { Ok(Self { set }) } else { Err(io::Error::from_raw_os_error(result)) }
        }
    }

    /// Waits for the next.
    pub(crate) fn next(&self) -> Option<KeeperSignal> {
        let mut signal = 0;
        // SAFETY: a live set, and a number that is written.
        let result = unsafe { libc::sigwait(&raw const self.set, &raw mut signal) };
        (result == 0).then_some(if signal == SIGCHLD {
            KeeperSignal::Child
        } else {
            KeeperSignal::End
        })
    }
}

/// Has this process get SIGTERM when the one that started it ends.
pub(crate) fn end_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, SIGTERM) })?;
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::other("the parent is gone"))
    }
}

/// Makes this process the parent of those of its descendants that lose theirs.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) })
}

/// Binds this process, and what it will start, to cores.
pub(crate) fn run_on(cores: &[usize]) -> io::Result<()> {
    os::realtime::pin_thread(CALLER.cast_signed(), cores.iter().copied())
}

/// A child of this process that has ended, if there is one.
pub(crate) fn ended_child() -> Option<(u32, ExitStatus)> {
    let mut status = 0;
    // SAFETY: `status` is written. Nothing else in a keeper waits for its children.
    let process = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (process > 0).then(|| (process.unsigned_abs(), ExitStatus::from_raw(status)))
}

/// Children of this process, ended or not, by what `/proc` says of all processes.
pub(crate) fn children() -> Vec<u32> {
    let own = Some(std::process::id().cast_signed());
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.filter(|process: &u32| os::process::parent_of(process.cast_signed()) == own).collect()
}

/// The calling process, where a number of one is wanted.
pub(crate) const CALLER: u32 = 0;

/// Has the calling process, or a child of it, run before all ordinary ones. What is not allowed is
/// left: it then takes its turn.
pub(crate) fn hurry(process: u32) {
    let _ = os::realtime::fifo_thread(process.cast_signed(), 1);
}

/// Asks a child of this process to end.
pub(crate) fn ask_to_end(child: u32) {
    send(child, SIGTERM);
}

/// Kills a child of this process.
pub(crate) fn kill(child: u32) {
    send(child, SIGKILL);
}

fn send(child: u32, signal: i32) {
    // SAFETY: a signal to a child that was not waited for, so its number is its own.
    unsafe { libc::kill(child.cast_signed(), signal) };
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
