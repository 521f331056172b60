//! An agent as the runner has it: a process of this machine, which is the agent itself or the ssh session that leads
//! to it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::event::EventsOf;
use super::hearing::Hearing;
use super::outputs::{LastLines, Outputs};
use super::said::{self, Said};
use crate::nodes::child::{self, AgentChild};
use crate::nodes::orders::{Order, Output, Report};
use runtime::agent::registry;

/// How long an agent may take to end once nobody orders anything any more; over ssh, its relay takes longer than
/// the agent itself.
const DROP_LONGEST: Duration = Duration::from_secs(2);
const DROP_LONGEST_OVER_SSH: Duration = Duration::from_secs(5);
/// How long captures may take to come from another machine.
const FILES_LONGEST: Duration = Duration::from_secs(600);

/// An agent. Dropping it ends it and everything that it made.
#[derive(Debug)]
pub(super) struct AgentProcess {
    process: Child,
    orders: Orders,
    outputs: JoinHandle<()>,
    last_lines: LastLines,
    said: Option<Said>,
}

/// The way of orders to an agent.
#[derive(Debug)]
pub(super) enum Orders {
    Socket(UnixStream),
    /// To a thread that writes them to a session of ssh, which may be slow; `None` once it is to end.
    Session(Option<Sender<Vec<u8>>>, Arc<Hearing>),
}

impl AgentProcess {
    /// Starts an agent on this machine, which has its socket in the folder `sockets`. What programs write goes to
    /// `outputs`, reports go to `events`.
    ///
    /// The reader of reports never waits for the session, so the session may wait until the agent
    /// takes an order. The reader of outputs waits for the disk, and programs then wait for it.
    pub(super) fn start(
        sockets: &Path,
        events: EventsOf,
        mut outputs: Outputs,
    ) -> anyhow::Result<Self> {
        let AgentChild { process, socket, written } = child::start(sockets)?;
        let (losses, last_lines) = (events.clone(), outputs.last_lines());
        let last = last_lines.clone();
        let outputs = thread::Builder::new().name("outputs".into()).spawn(move || {
            for line in BufReader::new(written).lines().map_while(Result::ok) {
                // What cannot be read was cut off with its agent, or is a mistake of it; whose
                // lines they were is not known, and the next may be good.
                match serde_json::from_str::<Output>(&line) {
                    Ok(output) => losses.record(&mut outputs, &output),
                    Err(_) => {
                        let reason = "the agent sent a message that cannot be read";
                        last.losses(None, reason).into_iter().for_each(|loss| losses.lost(loss));
                    }
                }
            }
            outputs.changed().into_iter().for_each(|loss| losses.lost(loss));
        })?;
        let reader = BufReader::new(socket.try_clone()?);
        thread::Builder::new().name("reports".into()).spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                let is_heard = match serde_json::from_str::<Report>(&line) {
                    Ok(report) => events.report(report),
                    Err(error) => {
                        events.gone(format!("the agent sent an invalid message: {error}"))
                    }
                };
                if !is_heard {
                    return;
                }
            }
            events.gone("the agent ended unexpectedly".to_owned());
        })?;
        Ok(Self { process, orders: Orders::Socket(socket), outputs, last_lines, said: None })
    }

    /// One that is reached by the session `process` of ssh; `outputs` ends when nothing more can come.
    pub(super) fn over_ssh(
        process: Child,
        orders: Sender<Vec<u8>>,
        outputs: JoinHandle<()>,
        last_lines: LastLines,
        (hearing, said): (Arc<Hearing>, Said),
    ) -> Self {
        let orders = Orders::Session(Some(orders), hearing);
        Self { process, orders, outputs, last_lines, said: Some(said) }
    }

    /// Orders something. The reader of its reports finds out if the agent is gone.
    pub(super) fn order(&mut self, order: &Order) {
        let mut line = serde_json::to_string(order).expect("an order is plain data");
        line.push('\n');
        match &mut self.orders {
            Orders::Socket(socket) => _ = socket.write_all(line.as_bytes()),
            Orders::Session(session, _) => {
                let _ = session.as_ref().map(|to| to.send(line.into_bytes()));
            }
        }
    }

    /// Has nothing more to do with an agent of which nothing may be heard any more: one here is killed, one on another machine
    /// is let go, so that its relay ends it and sends home what there is.
    pub(super) fn abandon(&mut self) {
        match &mut self.orders {
            Orders::Socket(_) => {
                self.kill();
                // One that was killed has left its socket; that it stays there does no harm.
                let _ = registry::remove_dead();
            }
            Orders::Session(session, hearing) => {
                *session = None;
                if hearing.is_silent() {
                    self.kill();
                }
            }
        }
    }

    /// Ends an agent that does not end by itself. Its programs die with it.
    pub(super) fn kill(&mut self) {
        // Gone already, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Whether all that programs have written is recorded, within so long; from another machine, until its session
    /// ends or is silent for too long, or for too long in all.
    pub(super) fn outputs_within(&self, longest: Duration) -> bool {
        let begun = Instant::now();
        let is_late = || match &self.orders {
            Orders::Socket(_) => begun.elapsed() >= longest,
            Orders::Session(_, hearing) => hearing.is_silent() || begun.elapsed() >= FILES_LONGEST,
        };
        while !self.outputs.is_finished() && !is_late() {
            thread::sleep(Duration::from_millis(1));
        }
        self.outputs.is_finished()
    }

    /// Up to when lines of programs are recorded.
    pub(super) const fn last_lines(&self) -> &LastLines {
        &self.last_lines
    }

    /// How it has ended, in words, if it does so soon.
    pub(super) fn end_in_words(&mut self) -> String {
        let status = self.end_within(Duration::from_secs(1)).map(|status| status.to_string());
        match &self.said {
            Some(said) => said::end_in_words(status.as_deref(), &said.last()),
            None => status.map_or_else(String::new, |status| format!(" ({status})")),
        }
    }

    fn end_within(&mut self, longest: Duration) -> Option<ExitStatus> {
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
        let longest = match &mut self.orders {
            Orders::Socket(socket) => {
                let _ = socket.shutdown(std::net::Shutdown::Both);
                DROP_LONGEST
            }
            Orders::Session(session, hearing) => {
                *session = None;
                if hearing.is_reached() { DROP_LONGEST_OVER_SSH } else { Duration::ZERO }
            }
        };
        if self.end_within(longest).is_none() {
            self.kill();
        }
    }
}
