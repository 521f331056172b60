//! The socket between an agent and the runner that owns it, from the agent's side.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use super::orders::{Order, Report};

/// Where reports go. Threads of the agent share it.
#[derive(Debug)]
pub(super) struct Owner(Mutex<UnixStream>);

impl Owner {
    pub(super) fn new(stream: &UnixStream) -> std::io::Result<Self> {
        Ok(Self(Mutex::new(stream.try_clone()?)))
    }

    /// Tells the runner something. If it is gone, the reader of its orders finds out and ends
    /// the agent.
    pub(super) fn tell(&self, report: &Report) {
        let mut line = serde_json::to_string(report).expect("a report is plain data");
        line.push('\n');
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.write_all(line.as_bytes());
    }

    /// Tells of something that makes results doubtful.
    pub(super) fn warn(&self, text: String) {
        self.tell(&Report::Warning { text });
    }
}

/// The orders of the runner, in sequence, until it is gone.
pub(super) fn orders(stream: UnixStream) -> impl Iterator<Item = Order> {
    BufReader::new(stream).lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}
