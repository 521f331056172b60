//! The ways between an agent and the runner that owns it, from the agent's side: a socket for
//! orders and reports, and a pipe for what programs write.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::orders::{Order, Output, Report};

/// Where reports and outputs go. Threads of the agent share it.
///
/// The two have locks of their own, since a lock is not fair: whoever writes without a pause
/// would keep all others from it.
#[derive(Debug)]
pub(super) struct Owner {
    reports: Mutex<UnixStream>,
    outputs: Mutex<File>,
}

impl Owner {
    pub(super) fn new(stream: &UnixStream, outputs: OwnedFd) -> std::io::Result<Self> {
        let reports = Mutex::new(stream.try_clone()?);
        Ok(Self { reports, outputs: Mutex::new(outputs.into()) })
    }

    /// Tells the runner something.
    pub(super) fn tell(&self, report: &Report) {
        send(&self.reports, report);
    }

    /// Tells of something that makes results doubtful.
    pub(super) fn warn(&self, text: String) {
        self.tell(&Report::Warning { text });
    }

    /// Hands on what a program wrote; waits while the runner cannot take it.
    pub(super) fn output(&self, output: &Output) {
        send(&self.outputs, output);
    }
}

/// Sends a line. If the runner is gone, the reader of its orders finds out and ends the agent.
fn send(to: &Mutex<impl Write>, message: &impl Serialize) {
    let mut line = serde_json::to_string(message).expect("a message is plain data");
    line.push('\n');
    let _ = to.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
}

/// The orders of the runner, in sequence, until it is gone.
pub(super) fn orders(stream: UnixStream) -> impl Iterator<Item = Order> {
    BufReader::new(stream).lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}
