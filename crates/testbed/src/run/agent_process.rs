//! The agent as a child of the runner, at the other end of a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::event::RunEvent;
use super::outputs::{LastLines, Outputs};
use crate::nodes::orders::{Order, Report};
use os::fds;
use os::sockets;

/// How long an agent may take to end once nobody orders anything any more.
const DROP_LONGEST: Duration = Duration::from_secs(2);

/// An agent. Dropping it ends it and everything that it made.
#[derive(Debug)]
pub(super) struct AgentProcess {
    process: Child,
    socket: UnixStream,
    outputs: JoinHandle<()>,
    last_lines: LastLines,
}

impl AgentProcess {
    /// Starts an agent, which has its socket in the folder `sockets`. What programs write goes to
    /// `outputs`, reports go to `events`.
    ///
    /// The reader of reports never waits for the session, so the session may wait until the agent
    /// takes an order. The reader of outputs waits for the disk, and programs then wait for it.
    pub(super) fn start(
        sockets: &Path,
        events: Sender<RunEvent>,
        mut outputs: Outputs,
    ) -> anyhow::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let (written, writer) = std::io::pipe()?;
        let ends = [theirs.as_raw_fd(), writer.as_raw_fd()].map(|fd| fd.to_string());
        let mut command = Command::new("/proc/self/exe");
        command.args(["agent", "--owner", &ends[0], "--outputs", &ends[1]]);
        command.env(sockets::VARIABLE, sockets);
        // Ctrl-Z must not stop the agent and leave the programs running; Ctrl-C is for the runner.
        command.process_group(0);
        fds::inherit(&mut command, theirs.as_fd());
        fds::inherit(&mut command, writer.as_fd());
        let process = command.spawn().context("cannot start the agent")?;
        drop((theirs, writer));
        let (losses, last_lines) = (events.clone(), outputs.last_lines());
        let last = last_lines.clone();
        let outputs = thread::Builder::new().name("outputs".into()).spawn(move || {
            for line in BufReader::new(written).lines().map_while(Result::ok) {
                // What cannot be read was cut off with its agent, or is a mistake of it; whose
                // lines they were is not known, and the next may be good.
                let lost = match serde_json::from_str(&line) {
                    Ok(output) => outputs.write(&output).into_iter().collect(),
                    Err(_) => last.losses(None, "the agent sent a message that cannot be read"),
                };
                for loss in lost {
                    // A session that is over learns of nothing more.
                    let _ = losses.send(RunEvent::Lost(loss));
                }
            }
            for loss in outputs.changed() {
                let _ = losses.send(RunEvent::Lost(loss));
            }
        })?;
        let reader = BufReader::new(socket.try_clone()?);
        thread::Builder::new().name("reports".into()).spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                let happened = match serde_json::from_str::<Report>(&line) {
                    Ok(report) => RunEvent::Report(report),
                    Err(error) => {
                        RunEvent::AgentGone(format!("the agent sent an invalid message: {error}"))
                    }
                };
                if events.send(happened).is_err() {
                    return;
                }
            }
            let _ = events.send(RunEvent::AgentGone("the agent ended unexpectedly".to_owned()));
        })?;
        Ok(Self { process, socket, outputs, last_lines })
    }

    /// Orders something. The reader of its reports finds out if the agent is gone.
    pub(super) fn order(&mut self, order: &Order) {
        let mut line = serde_json::to_string(order).expect("an order is plain data");
        line.push('\n');
        let _ = self.socket.write_all(line.as_bytes());
    }

    /// Ends an agent that does not end by itself. Its programs die with it.
    pub(super) fn kill(&mut self) {
        // Gone already, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Whether all that programs have written is recorded, within so long.
    pub(super) fn outputs_within(&self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        while !self.outputs.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        self.outputs.is_finished()
    }

    /// Up to when lines of programs are recorded.
    pub(super) const fn last_lines(&self) -> &LastLines {
        &self.last_lines
    }

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
        // An agent whose runner is gone tidies up and ends.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if self.end_within(DROP_LONGEST).is_none() {
            self.kill();
        }
    }
}
