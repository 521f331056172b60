//! The process that outlives a killed agent for a moment: what is frozen in a control group stays
//! frozen when nobody is left to thaw it, and with version 1 it cannot even be killed.
//!
//! It waits for the end of a pipe from the agent, thaws the group, gives those who end the
//! programs (keepers and nodes) time to do so, ends what is left, and removes the group.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::group::{EMPTY_LONGEST, Group};

/// How long programs may take to end after their agent.
const PATIENCE: Duration = Duration::from_secs(1);

/// The warden of a group, from the agent's side.
#[derive(Debug)]
pub(super) struct Warden(Child);

impl Warden {
    pub(super) fn start(group: &Path) -> io::Result<Self> {
        let mut warden = Command::new("/proc/self/exe");
        warden.arg("warden").arg(group);
        warden.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Neither Ctrl-C, Ctrl-Z nor the end of a terminal reaches it. And it is begun by fork: in vfork(2) this
        // process could not be stopped as long as one is that has not come to its exec.
        // SAFETY: one system call between fork and exec.
        unsafe { warden.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
        warden.spawn().map(Self)
    }

    /// Lets it remove the group, and waits for that.
    pub(super) fn end(mut self) {
        drop(self.0.stdin.take());
        // Fails if it has ended already.
        let _ = self.0.wait();
    }
}

/// The process itself, until its agent is gone.
pub fn main(group: PathBuf) {
    // What `ps` shows; without it, the last part of `/proc/self/exe`.
    let _ = std::fs::write("/proc/self/comm", "qcycle-warden");
    let mut nothing = Vec::new();
    // Either way nobody is at the other end any more.
    let _ = io::stdin().read_to_end(&mut nothing);
    if let Ok(group) = Group::open(group) {
        group.end(PATIENCE, EMPTY_LONGEST);
    }
}
