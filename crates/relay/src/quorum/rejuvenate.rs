//! `qcrelay rejuvenate`: starts the relay nodes, and has them destroyed and born anew, one after
//! the other, none while another one is down.
//!
//! It believes the breaker node, which is trusted, and hears from it who is alive and whose new key
//! is in use. It holds no key. When it ends, the nodes end with it.

use std::fs::{File, OpenOptions};
use std::io::{LineWriter, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use substation::SampleTime;
use substation::quorum::{NODES, NodeId, TokenEvent, Tokens};
use substation::settings::quorum::RejuvenationSettings;

use super::status::{Status, ask};

/// How often it asks the breaker node.
const LOOK: Duration = Duration::from_millis(20);

/// The nodes and the token.
#[derive(Debug)]
pub struct Rejuvenator<'s> {
    settings: &'s RejuvenationSettings,
    tokens: Tokens,
    children: [Option<Child>; NODES],
    /// Numbers of keys when a node was destroyed last.
    counters: [u64; NODES],
    /// The last status that was looked at.
    known: Option<Status>,
    records: Option<LineWriter<File>>,
    reborn: u64,
    unanswered: u64,
}

impl<'s> Rejuvenator<'s> {
    /// Starts all nodes.
    ///
    /// # Errors
    /// When a node cannot be started or the file of records not be opened.
    pub fn start(settings: &'s RejuvenationSettings) -> Result<Self> {
        let records = settings.records.as_deref().map(|path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map(LineWriter::new).with_context(|| path.to_owned())
        });
        let mut all = Self {
            settings,
            tokens: Tokens::new(now(), settings.rejuvenation),
            children: [const { None }; NODES],
            counters: [0; NODES],
            known: None,
            records: records.transpose()?,
            reborn: 0,
            unanswered: 0,
        };
        for node in NodeId::ALL {
            all.bear(node)?;
        }
        Ok(all)
    }

    /// Has nodes born anew until it shall stop; answers what was done.
    ///
    /// # Errors
    /// When a node cannot be started, or records not be written.
    pub fn run(mut self, stop: &AtomicBool) -> Result<Value> {
        while !stop.load(Ordering::Relaxed) {
            sleep(LOOK);
            match ask(self.settings.status) {
                Ok(status) => self.look(&status)?,
                Err(_) => self.unanswered += 1,
            }
            self.mourn()?;
        }
        Ok(json!({"reborn": self.reborn, "unanswered": self.unanswered}))
    }

    /// Takes in what the breaker node says, and does what follows from it.
    fn look(&mut self, status: &Status) -> Result<()> {
        let mut given = Vec::new();
        // Who is given a token below has not been destroyed yet, so nothing tells of its rebirth.
        let holder = self.tokens.holder();
        for node in NodeId::ALL {
            let index = node.index();
            let heard_ns = status.heard_ns[index];
            let is_new = self.known.as_ref().is_none_or(|known| known.heard_ns[index] != heard_ns);
            if heard_ns == 0 || !is_new {
                continue;
            }
            let is_reborn = holder == Some(node) && status.counters[index] > self.counters[index];
            let event = if is_reborn {
                self.reborn += 1;
                self.write(
                    &json!({"event": "reborn", "node": node.number(), "heard_ns": heard_ns}),
                )?;
                TokenEvent::Reborn(node)
            } else {
                TokenEvent::Heard(node)
            };
            given.extend(self.tokens.step(time(heard_ns), event));
        }
        given.extend(self.tokens.step(now(), TokenEvent::Deadline));
        self.known = Some(status.clone());
        for node in given {
            self.counters[node.index()] = status.counters[node.index()];
            self.destroy(node)?;
            self.bear(node)?;
        }
        Ok(())
    }

    /// Destroys the process of a node and with it all that it knew.
    fn destroy(&mut self, node: NodeId) -> Result<()> {
        if let Some(mut child) = self.children[node.index()].take() {
            child.kill().with_context(|| format!("{node} cannot be destroyed"))?;
            child.wait()?;
            self.write(&json!({"event": "destroyed", "node": node.number()}))?;
        }
        Ok(())
    }

    fn bear(&mut self, node: NodeId) -> Result<()> {
        let command = &self.settings.nodes[node.index()].command;
        let (program, arguments) = command.split_first().context("settings name a program")?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("{node} cannot be started: {program}"))?;
        self.children[node.index()] = Some(child);
        self.write(&json!({"event": "started", "node": node.number()}))
    }

    /// A node that ended by itself is started again: it is down, and no token is given meanwhile.
    fn mourn(&mut self) -> Result<()> {
        for node in NodeId::ALL {
            let Some(child) = &mut self.children[node.index()] else { continue };
            if let Some(status) = child.try_wait()? {
                self.write(&json!({
                    "event": "ended by itself",
                    "node": node.number(),
                    "status": status.to_string(),
                }))?;
                // Whatever ends it may end it at once again.
                sleep(LOOK);
                self.bear(node)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        let Some(out) = &mut self.records else { return Ok(()) };
        let mut line = line.clone();
        line["realtime_ns"] = realtime::realtime_ns().into();
        writeln!(out, "{line}").context("writing records")
    }
}

impl Drop for Rejuvenator<'_> {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            // It may have ended already.
            let _ended = child.kill();
            let _status = child.wait();
        }
    }
}

fn now() -> SampleTime {
    time(realtime::realtime_ns())
}

const fn time(realtime_ns: i64) -> SampleTime {
    SampleTime::from_ns(if realtime_ns < 0 { 0 } else { realtime_ns as u64 })
}
