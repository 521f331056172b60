//! A node as a whole: files, sockets, two real-time threads, and the thread that called, which does
//! all that may block until somebody says stop.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use os::packet::PacketSocket;
use quorum::wire::CertificateKind;
use quorum::{NodeId, Protocol, Speaker};
use rtrb::{Consumer, RingBuffer};
use serde_json::Value;
use substation::decider::{Decider, Elements, Foreign, Instantaneous};
use substation::engine::Engine;
use substation::settings::quorum::{BreakerNode, Decides, Node as NodeSettings, NodeHost};
use substation::settings::{Thread, WhenDown};

use super::birth::{Identity, seed};
use super::breaker::{self, BreakerLoop};
use super::bus::Bus;
use super::canary;
use super::clock;
use super::frames::Frames;
use super::harness::Harness;
use super::lines::{Lines, Lost};
use super::memory::{Disk, Memory};
use super::node::{self, Node, Seeds};
use super::operate::Operator;
use super::records::Event;
use super::status::{Server, Shown};
use crate::links::Watched;
use crate::prepare;
use crate::run::{Missing, open};

/// Events that may wait for being written.
const EVENTS_MAX: usize = 4096;
/// How often the thread that may block looks round.
const LOOK: Duration = Duration::from_millis(20);

/// How a node ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What became of everything.
    pub(crate) summary: Value,
    /// Why before its time, if it was.
    pub(crate) failure: Option<String>,
}

/// Runs a relay node until `stop`, or for `duration`; files are relative to `folder`.
pub(crate) fn run_node(
    settings: &NodeSettings,
    folder: &Path,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Ended> {
    let (quorum, host) = (&settings.quorum, &settings.host);
    let identity = Identity::read(quorum, folder)?;
    let me = identity.node()?;
    let interface = match &settings.decides {
        Decides::Goose { interface, .. } => Some(interface.as_str()),
        _ => host.interface.as_deref(),
    };
    let Some(interface) = interface else {
        bail!(Missing("no interface is given: add `interface` to `host`".into()));
    };
    let (socket, streams, decider) = relay(settings, interface)?;
    let (mut memory, found) = Memory::open(&folder.join(&quorum.memory))?;
    let remembered = node::Remembered::or_new(found, &identity.membership);
    // On the disk before anybody sees the key: no number is ever used twice.
    memory.write_through(&remembered).context("saving the number of the working keys")?;
    let (membership, channels, keyring) = identity.born(remembered.counter)?;
    let speaker =
        Speaker { me, subject: membership.subject(quorum.protocol), parameters: quorum.parameters };
    let needs_nonces = quorum.protocol == Protocol::Peer
        && membership.certificate.kind() == CertificateKind::Frost;
    let seeds = needs_nonces.then(|| Box::new(|| seed().ok()) as Seeds);
    let (events, events_out) = RingBuffer::new(EVENTS_MAX);
    let (waits, waits_out) = RingBuffer::new(EVENTS_MAX);
    let waits = host.wait_min.map(|min| (min, waits));
    let bus = Bus::open(quorum, channels).with_context(|| address_missing(me))?;
    let harness = Harness::new(bus, keyring, events, waits);
    let disk = memory.disk();
    let frames = Frames::new(&socket, streams);
    let work = Node::new(harness, speaker, decider, frames, (memory, remembered), seeds);
    let around = Around {
        host,
        party: format!("node {}", me.number()),
        socket: Some((interface, &socket)),
        disk,
        events: events_out,
        waits: waits_out,
        status: None,
        duration,
        stop,
    };
    around.run(folder, |ending| work.run(ending))
}

/// What decides, and where its frames come from.
fn relay(
    settings: &NodeSettings,
    interface: &str,
) -> Result<(PacketSocket, Option<Vec<iec61850::stream::StreamKey>>, Decider)> {
    Ok(match &settings.decides {
        Decides::Elements { relay, breaker, close_after } => {
            let keys: Vec<_> = relay.streams.values().map(|stream| stream.key.clone()).collect();
            let elements = Elements::new(Engine::new(relay), *breaker, *close_after);
            (samples(interface, &keys)?, Some(keys), Decider::Elements(Box::new(elements)))
        }
        Decides::SpaceVector { stream, settings, closes } => {
            let keys = vec![stream.key.clone()];
            let element = Instantaneous::new(stream, *settings, *closes);
            (samples(interface, &keys)?, Some(keys), Decider::Instantaneous(Box::new(element)))
        }
        Decides::Goose { expected, entries, .. } => {
            let socket = open(interface, ETHERTYPE_GOOSE)?;
            socket.join(expected.destination.0).context("joining the group of the relay")?;
            let foreign = Foreign::new(expected.clone(), entries.clone());
            (socket, None, Decider::Foreign(Box::new(foreign)))
        }
    })
}

fn samples(interface: &str, keys: &[iec61850::stream::StreamKey]) -> Result<PacketSocket> {
    let socket = open(interface, ETHERTYPE_SAMPLED_VALUES)?;
    for key in keys {
        socket.join(key.destination.0).context("joining the group of a stream")?;
    }
    Ok(socket)
}

fn address_missing(node: NodeId) -> Missing {
    Missing(format!("{node}: its address in `addresses` cannot be used: use one of this host"))
}

/// Runs the breaker node until `stop`, or for `duration`; files are relative to `folder`.
pub(crate) fn run_breaker(
    settings: &BreakerNode,
    folder: &Path,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Ended> {
    let (quorum, host) = (&settings.quorum, &settings.host);
    let identity = Identity::read(quorum, folder)?;
    let interface = host.interface.as_deref();
    let socket = match (&settings.goose, interface) {
        (Some(_), Some(interface)) => Some((interface, open(interface, 0)?)),
        _ => None,
    };
    let (memory, found) = Memory::open(&folder.join(&quorum.memory))?;
    let ordered = found.as_ref().and_then(breaker::Remembered::order);
    let remembered = breaker::Remembered::or_new(found, settings.initially, &identity.membership);
    let (membership, mut channels, keyring) = identity.of_breaker()?;
    // Nodes that run on have seen its numbers up to some time ago.
    channels.number_after(os::realtime::realtime_ns() as u64);
    let (events, events_out) = RingBuffer::new(EVENTS_MAX);
    let (waits, waits_out) = RingBuffer::new(EVENTS_MAX);
    let waits = host.wait_min.map(|min| (min, waits));
    let bus = Bus::open(quorum, channels)
        .context("the address in `breaker_address` cannot be used: use one of this host")?;
    let harness = Harness::new(bus, keyring, events, waits);
    let message = settings.goose.as_ref().zip(socket.as_ref().map(|(_, socket)| socket));
    let operator = Operator::new(settings.breaker, (remembered.state(), ordered), message);
    let shown = Arc::new(Shown::default());
    let status = settings.status.map(Server::bind).transpose().context("serving the status")?;
    let disk = memory.disk();
    let about = (membership.subject(quorum.protocol), quorum.parameters);
    let work = BreakerLoop::new(harness, about, operator, (memory, remembered), shown.clone())
        .context("saving the state of the breaker")?;
    let around = Around {
        host,
        party: "breaker".into(),
        socket: socket.as_ref().map(|(interface, socket)| (*interface, socket)),
        disk,
        events: events_out,
        waits: waits_out,
        status: status.map(|status| (status, shown)),
        duration,
        stop,
    };
    around.run(folder, |ending| work.run(ending))
}

/// What is round the thread that must be in time.
struct Around<'s> {
    host: &'s NodeHost,
    party: String,
    socket: Option<(&'s str, &'s PacketSocket)>,
    disk: Disk,
    events: Consumer<Event>,
    waits: Consumer<Event>,
    status: Option<(Server, Arc<Shown>)>,
    duration: Option<Duration>,
    stop: &'s AtomicBool,
}

impl Around<'_> {
    fn run(
        mut self,
        folder: &Path,
        work: impl FnOnce(&AtomicBool) -> io::Result<Value> + Send,
    ) -> Result<Ended> {
        let host = self.host;
        let mut records = host.records.as_deref().map(|path| Lines::open(&folder.join(path)));
        let mut records = records.take().transpose()?;
        let (mut warnings, _awake) = prepare::process();
        warnings.extend(clock::doubt());
        let (stall_events, stalls_out) = RingBuffer::new(EVENTS_MAX);
        let ending = AtomicBool::new(false);
        let mut failure = None;
        let mut lost = Lost::default();
        let mut watched =
            self.socket.map(|(interface, _)| Watched::new(interface, WhenDown::Alarm));
        let before = Thread { core: host.thread.core, priority: host.canary_priority };
        let mut queues = [stalls_out];
        let result = thread::scope(|scope| -> Result<(Value, u64)> {
            let (prepared, refused) = mpsc::channel();
            let ready = |name: &'static str, settings: Thread| {
                let prepared = prepared.clone();
                // Whoever asked may have given up; the thread runs and sees that it shall stop.
                move || drop(prepared.send(prepare::thread(name, settings, None)))
            };
            let (ready_node, ready_canary) = (ready("node", host.thread), ready("canary", before));
            let ending = &ending;
            let node =
                thread::Builder::new().name("node".into()).spawn_scoped(scope, move || {
                    ready_node();
                    work(ending)
                })?;
            let canary =
                thread::Builder::new().name("canary".into()).spawn_scoped(scope, move || {
                    ready_canary();
                    canary::run(host.stall_min, stall_events, ending)
                })?;
            warnings.extend((0..2).filter_map(|_| refused.recv().ok()).flatten());
            if host.require_realtime && !warnings.is_empty() {
                ending.store(true, Ordering::Relaxed);
                return Err(anyhow!(Missing(warnings.join("\n"))));
            }
            terminal::err!("qcrelay: {} runs", self.party);
            let begin = Instant::now();
            let mut is_over = false;
            while !is_over && failure.is_none() && !node.is_finished() {
                is_over = self.stop.load(Ordering::Relaxed)
                    || self.duration.is_some_and(|duration| begin.elapsed() >= duration);
                if !is_over {
                    thread::sleep(LOOK);
                }
                let looked = self.look(&mut records, &mut queues, &mut lost);
                failure = looked.err().map(|error| format!("{error:#}"));
                if let (Some(watched), Some((_, socket))) = (&mut watched, self.socket) {
                    failure = failure.take().or(watched.look(socket.link()).failure);
                }
            }
            ending.store(true, Ordering::Relaxed);
            let ended = node.join().expect("a thread of the node does not panic: that ends it");
            let summary = ended.unwrap_or_else(|error| {
                failure.get_or_insert_with(|| format!("the node: {error}"));
                Value::Null
            });
            Ok((summary, canary.join().expect("a canary does not panic")))
        });
        let (mut summary, stalls_lost) = result?;
        if let Err(error) = self.look(&mut records, &mut queues, &mut lost) {
            failure.get_or_insert_with(|| format!("{error:#}"));
        }
        warnings.extend(lost.why().map(str::to_owned));
        summary["party"] = self.party.into();
        summary["records_lost"] = lost.count().into();
        summary["stalls_lost"] = stalls_lost.into();
        summary["warnings"] = warnings.into();
        Ok(Ended { summary, failure })
    }

    /// Writes what has happened, lets the disk follow, and answers who asks.
    fn look(
        &mut self,
        records: &mut Option<Lines>,
        queues: &mut [Consumer<Event>],
        lost: &mut Lost,
    ) -> Result<()> {
        let mut count = 0;
        for queue in queues.iter_mut().chain([&mut self.events, &mut self.waits]) {
            while let Ok(event) = queue.pop() {
                if let Some(records) = records {
                    records.add(event.line());
                    count += 1;
                }
            }
        }
        if let Some(Err(error)) = records.as_mut().map(Lines::write) {
            lost.note(count, &error);
        }
        self.disk.follow().context("writing the state for a restart to disk")?;
        if let Some((server, shown)) = &self.status {
            server.serve(shown);
        }
        Ok(())
    }
}
