//! Learns of the ends of traced threads while the thread that traces them cannot.
//!
//! A thread that runs another program keeps everybody from attaching to it until all others of its
//! process are gone, and a traced one is gone when its tracer has heard of its end (`de_thread` and
//! `ptrace_attach` of the kernel). So a tracer of some that attaches to the one in that moment waits
//! for itself. Another thread of its process may learn of ends in its place: wait(2), `__WNOTHREAD`.

use std::io;
use std::mem::MaybeUninit;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libc::{c_int, pid_t};

const LOOK: Duration = Duration::from_millis(1);

/// A thread that learns of ends. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Reaper {
    traced: Option<Sender<pid_t>>,
    thread: Option<JoinHandle<()>>,
}

impl Reaper {
    pub(super) fn start() -> io::Result<Self> {
        let (traced, receiver) = channel();
        let thread = thread::Builder::new().name("reaper".into()).spawn(move || reap(&receiver))?;
        Ok(Self { traced: Some(traced), thread: Some(thread) })
    }

    /// A thread is traced from now on. The tracer may learn of its end as well; the later of the two
    /// learns that there is no such thread.
    pub(super) fn traced(&self, thread: pid_t) {
        // Fails only if the other side has panicked.
        let _ = self.traced.as_ref().map(|traced| traced.send(thread));
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.traced.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn reap(receiver: &Receiver<pid_t>) {
    let mut traced = Vec::new();
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(thread) => traced.push(thread),
            Err(RecvTimeoutError::Timeout) => traced.retain(|thread| is_there(*thread)),
            Err(RecvTimeoutError::Disconnected) => return,
        }
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
    use super::super::tree::{Tree, tests::threads};
    use super::*;

    #[test]
    fn the_ends_of_what_another_thread_traces_are_heard_of() {
        let mut child = threads();
        let process = child.id().cast_signed();
        let mut tree = Tree::stop(process, &[]).unwrap();
        let numbers: Vec<pid_t> = tree.processes[&process].keys().copied().collect();
        let reaper = Reaper::start().unwrap();
        numbers.iter().for_each(|thread| reaper.traced(*thread));
        child.kill().unwrap();
        // Its first thread is heard of last.
        while std::path::Path::new(&format!("/proc/{process}")).exists() {
            thread::sleep(LOOK);
        }
        let first = tree.processes.get_mut(&process).unwrap().get_mut(&process).unwrap();
        assert_eq!(first.tracee.wait().unwrap(), crate::launch::tracee::Stop::Gone);
        drop(tree);
        assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }
}
