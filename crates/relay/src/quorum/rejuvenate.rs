//! `qcrelay rejuvenate`: starts the relay nodes, and has them destroyed and reborn, one after
//! the other, none while another one is down.
//!
//! It believes the breaker node, which is trusted, and hears from it who is alive and whose new key
//! is in use. It holds no key. When it ends, the nodes end with it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use quorum::{CommonTime, NODES, NodeId, TokenEvent, Tokens};
use realtime::lines::Lines;
use realtime::time;
use serde_json::{Value, json};
use substation::settings::quorum::RejuvenationSettings;

use super::status::{Status, ask};
use crate::host;

/// How often it asks the breaker node.
const LOOK: Duration = Duration::from_millis(20);
/// Time until a node that ended by itself is started again.
const MOURNING: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Rejuvenator<'s> {
    settings: &'s RejuvenationSettings,
    tokens: Tokens,
    children: [Option<Child>; NODES],
    /// Numbers of keys when a node was destroyed last.
    counters: [u64; NODES],
    /// The last status that was looked at.
    known: Option<Status>,
    records: Lines,
    folder: PathBuf,
    reborn: u64,
    unanswered: u64,
}

impl<'s> Rejuvenator<'s> {
    /// Starts all nodes; commands and files are relative to `folder`.
    pub(crate) fn start(settings: &'s RejuvenationSettings, folder: &Path) -> Result<Self> {
        let records = settings.records.as_deref().map(|path| folder.join(path));
        let mut all = Self {
            settings,
            tokens: Tokens::new(time::common(), settings.rejuvenation),
            children: [const { None }; NODES],
            counters: [0; NODES],
            known: None,
            records: host::records(records.as_deref(), settings.rotation)?,
            // A folder has a name also where none was given.
            folder: folder.join("."),
            reborn: 0,
            unanswered: 0,
        };
        for node in NodeId::ALL {
            let command = &settings.nodes[node.index()];
            all.bear(node).with_context(|| {
                format!("{node} cannot be started with {command:?}; correct its command in `nodes`")
            })?;
        }
        Ok(all)
    }

    /// Has nodes reborn until it shall stop; answers what was done. Nothing else ends it, because
    /// the nodes end with it.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Value {
        while !stop.load(Ordering::Relaxed) {
            sleep(LOOK);
            match ask(self.settings.status) {
                Ok(status) => self.look(&status),
                Err(_) => self.unanswered += 1,
            }
            self.mourn();
        }
        self.records.finish();
        json!({
            "reborn": self.reborn,
            "unanswered": self.unanswered,
            "records_lost": self.records.account().map_or(0, |records| records.lost),
        })
    }

    /// Takes in what the breaker node says, and does what follows from it.
    fn look(&mut self, status: &Status) {
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
                let number = node.number();
                self.write(json!({"event": "reborn", "node": number, "heard_ns": heard_ns}));
                TokenEvent::Reborn(node)
            } else {
                TokenEvent::Heard(node)
            };
            given.extend(self.tokens.step(CommonTime::from_ns(heard_ns), event));
        }
        given.extend(self.tokens.step(time::common(), TokenEvent::Deadline));
        self.known = Some(status.clone());
        for node in given {
            self.counters[node.index()] = status.counters[node.index()];
            self.destroy(node);
            // If it cannot be started now, it is mourned.
            let _started = self.bear(node);
        }
    }

    /// Destroys the process of a node and with it all that it knew.
    fn destroy(&mut self, node: NodeId) {
        if let Some(mut child) = self.children[node.index()].take() {
            end(&mut child);
            self.write(json!({"event": "destroyed", "node": node.number()}));
        }
    }

    fn bear(&mut self, node: NodeId) -> io::Result<()> {
        let command = &self.settings.nodes[node.index()];
        let (program, arguments) = command.split_first().expect("settings name a program");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        self.children[node.index()] = Some(command.spawn()?);
        self.write(json!({"event": "started", "node": node.number()}));
        Ok(())
    }

    /// A node that ended by itself, or could not be started, is started again.
    fn mourn(&mut self) {
        for node in NodeId::ALL {
            let how = match &mut self.children[node.index()] {
                Some(child) => match child.try_wait() {
                    Ok(Some(status)) => status.to_string(),
                    _ => continue,
                },
                None => "not started".into(),
            };
            self.children[node.index()] = None;
            let number = node.number();
            self.write(json!({"event": "ended by itself", "node": number, "status": how}));
            // Whatever ends it may end it at once again.
            sleep(MOURNING);
            if let Err(error) = self.bear(node) {
                terminal::err!(
                    "qcrelay: warning: {node} cannot be started ({error}); trying again"
                );
            }
        }
    }

    fn write(&mut self, mut line: Value) {
        line["realtime_ns"] = time::common().ns().into();
        self.records.add(line);
        self.records.write();
    }
}

impl Drop for Rejuvenator<'_> {
    fn drop(&mut self) {
        self.children.iter_mut().flatten().for_each(end);
    }
}

/// Ends a process, which may have ended already.
fn end(child: &mut Child) {
    let _ended = child.kill();
    let _status = child.wait();
}
