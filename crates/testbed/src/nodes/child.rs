//! An agent as a child process of whoever starts it: the runner, or a relay on another machine.

use std::io::PipeReader;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::Context;

use os::{fds, sockets};

/// An agent, and the ways to it.
#[derive(Debug)]
pub struct AgentChild {
    pub process: Child,
    /// For orders and reports.
    pub socket: UnixStream,
    /// Lines of programs, as [`super::orders::Output`].
    pub written: PipeReader,
}

/// Starts an agent of this program, which has its socket in the folder `folder_of_sockets`.
///
/// # Errors
/// When there is no process to be had.
pub fn start(folder_of_sockets: &Path) -> anyhow::Result<AgentChild> {
    let (socket, theirs) = UnixStream::pair()?;
    let (written, writer) = std::io::pipe()?;
    let ends = [theirs.as_raw_fd(), writer.as_raw_fd()].map(|fd| fd.to_string());
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", "--owner", &ends[0], "--outputs", &ends[1]]);
    command.env(sockets::VARIABLE, folder_of_sockets);
    // Ctrl-Z must not stop the agent and leave the programs running; Ctrl-C is for the runner.
    command.process_group(0);
    fds::inherit(&mut command, theirs.as_fd());
    fds::inherit(&mut command, writer.as_fd());
    let process = command.spawn().context("cannot start the agent")?;
    Ok(AgentChild { process, socket, written })
}
