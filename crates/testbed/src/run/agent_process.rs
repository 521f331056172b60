//! The agent as a child of the runner, at the other end of a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::session::Happened;
use crate::agent::orders::{Order, Report};

/// An agent. Dropping it ends it and everything that it made.
#[derive(Debug)]
pub(super) struct AgentProcess {
    process: Child,
    socket: UnixStream,
}

impl AgentProcess {
    /// Starts an agent, whose reports go to `events`.
    pub(super) fn start(events: Sender<Happened>) -> anyhow::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let fd = theirs.as_raw_fd();
        let mut command = Command::new("/proc/self/exe");
        command.arg("agent").arg("--owner").arg(fd.to_string());
        let inherit = move || {
            // SAFETY: takes numbers only; the descriptor is open in the child as in the parent.
            match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(inherit) };
        let process = command.spawn().context("cannot start the agent")?;
        let reader = BufReader::new(socket.try_clone()?);
        thread::Builder::new().name("reports".into()).spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                let happened = match serde_json::from_str::<Report>(&line) {
                    Ok(report) => Happened::Report(report),
                    Err(error) => Happened::AgentGone(format!("the agent said nonsense: {error}")),
                };
                if events.send(happened).is_err() {
                    return;
                }
            }
            let _ = events.send(Happened::AgentGone("the agent ended unexpectedly".to_owned()));
        })?;
        Ok(Self { process, socket })
    }

    /// Orders something. That the agent is gone is found by whoever waits for its reports.
    pub(super) fn order(&mut self, order: &Order) {
        let mut line = serde_json::to_string(order).expect("an order is plain data");
        line.push('\n');
        let _ = self.socket.write_all(line.as_bytes());
    }

    /// How the agent ended, if it has within so long.
    pub(super) fn end_within(&mut self, longest: Duration) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + longest;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if Instant::now() >= until => return None,
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Its programs die with it, by whatever means it ends.
        if self.end_within(Duration::ZERO).is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
