//! Learns of the ends of traced threads while the thread that traces them cannot.
//!
//! A thread that runs another program keeps everybody from attaching to it until all others of its
//! process are gone, and a traced one is gone when its tracer has heard of its end (`de_thread` and
//! `ptrace_attach` of the kernel). So a tracer of some that attaches to the one in that moment waits
//! for itself. Another thread of its process may learn of ends in its place: wait(2), `__WNOTHREAD`.
//!
//! The first thread of a process ends for its tracer only after all others, which may be long after the
//! tracer has given up on it; and one that has run another program may end before the tracer knows of it by
//! its new number. Until somebody hears of it, its parent waits for it in vain. So ends are learned
//! of as long as anybody is traced.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use libc::{c_int, pid_t};

const LOOK: Duration = Duration::from_millis(1);

/// A thread that learns of ends. When this is dropped, it goes on until none is traced any more.
#[derive(Debug)]
pub(super) struct Reaper(Sender<pid_t>);

impl Reaper {
    pub(super) fn start() -> io::Result<Self> {
        let (traced, receiver) = channel();
        thread::Builder::new().name("reaper".into()).spawn(move || reap(&receiver))?;
        Ok(Self(traced))
    }

    /// A thread of a process is traced from now on: under its own number, and after an exec under that of
    /// the process. The tracer may learn of its end as well; the later of the two learns that
    /// there is no such thread.
    pub(super) fn traced(&self, process: pid_t, thread: pid_t) {
        for number in [process, thread] {
            // Fails only if the other side has panicked.
            let _ = self.0.send(number);
        }
    }
}

fn reap(receiver: &Receiver<pid_t>) {
    let mut numbers = BTreeSet::new();
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(number) => _ = numbers.insert(number),
            // Nobody may have a number now, and a thread that is traced take it over a moment later.
            Err(RecvTimeoutError::Timeout) => numbers.iter().for_each(|one| _ = is_there(*one)),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    while !numbers.is_empty() {
        numbers.retain(|number| is_there(*number));
        thread::sleep(LOOK);
    }
}

/// Whether a thread is there; learns of its end if it has ended.
fn is_there(thread: pid_t) -> bool {
    // The kernel reports the stops of traced threads whether asked or not, and these are for the
    // tracer to learn of: so it is looked at first.
    match state_change(thread, libc::WNOWAIT) {
        Some(libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) => {
            state_change(thread, 0);
            false
        }
        state => state.is_some(),
    }
}

/// What has become of a traced thread, in the words of `si_code`, 0 if nothing; `None` if there is
/// no such thread.
fn state_change(thread: pid_t, flags: c_int) -> Option<c_int> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::__WALL | flags;
    // SAFETY: the kernel fills `info`, whose zeroes are valid too.
    let (result, info) = unsafe {
        let id = thread.unsigned_abs();
        (libc::waitid(libc::P_PID, id, info.as_mut_ptr(), options), info.assume_init())
    };
    (result == 0).then_some(info.si_code)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::super::tree::{Tree, tests::threads};
    use super::*;
    use crate::launch::tracee::Tracee;

    #[test]
    fn the_ends_of_what_another_thread_traces_are_heard_of() {
        let mut child = threads();
        let process = child.id().cast_signed();
        let mut tree = Tree::stop(process, &[]).unwrap();
        let numbers: Vec<pid_t> = tree.processes[&process].keys().copied().collect();
        let reaper = Reaper::start().unwrap();
        numbers.iter().for_each(|thread| reaper.traced(process, *thread));
        child.kill().unwrap();
        // Its first thread is heard of last.
        while Path::new(&format!("/proc/{process}")).exists() {
            thread::sleep(LOOK);
        }
        let first = tree.processes.get_mut(&process).unwrap().get_mut(&process).unwrap();
        assert_eq!(first.tracee.wait().unwrap(), crate::launch::tracee::Stop::Gone);
        drop(tree);
        assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }

    /// Its tracer knows it by the number that it had before.
    #[test]
    fn the_end_of_one_that_has_run_another_program_is_heard_of() {
        let program = "import os, sys, threading\n\
                       go = lambda: sys.stdin.readline() and os.execv('/bin/true', ['true'])\n\
                       thread = threading.Thread(target=go)\n\
                       thread.start()\n\
                       print(thread.native_id, flush=True)";
        let mut python = Command::new("python3");
        let python = python.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let process = child.id().cast_signed();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let thread = line.trim().parse().unwrap();
        let tracee = Tracee::seize_among_others(thread).unwrap();
        let reaper = Reaper::start().unwrap();
        reaper.traced(process, thread);
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let begun = Instant::now();
        while Path::new(&format!("/proc/{process}")).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is never reaped");
            thread::sleep(LOOK);
        }
        drop(tracee);
        assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }
}
