//! A node as a whole: files, sockets, two real-time threads, and what the thread that may block does
//! beside them.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use iec61850::stream::StreamKey;
use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use os::packet::PacketSocket;
use quorum::wire::CertificateKind;
use quorum::{Protocol, Speaker};
use realtime::canary::at_each_tick;
use realtime::exchange::{Outbox, outbox};
use realtime::lines::Lines;
use realtime::prepare::Scheduling;
use realtime::supervise::{Supervisor, TimedThread, Watch, listen};
use realtime::{prepare, time};
use rtrb::Consumer;
use serde_json::Value;
use substation::decider::{Decider, Elements, Foreign, Instantaneous};
use substation::engine::Engine;
use substation::settings::WhenDown;
use substation::settings::quorum::{BreakerNode, Decides, Node as NodeSettings, NodeHost};

use super::birth::{Identity, seed};
use super::breaker::{self, BreakerLoop};
use super::bus::Bus;
use super::frames::Frames;
use super::harness::{Harness, WaitQueue};
use super::memory::{self, Disk, Memory};
use super::node::{self, Node, Seeds};
use super::operate::Operator;
use super::records::{MEMORY_LOST, MEMORY_NEW, NodeEvent, What};
use super::status::{self, Shown};
use crate::host;
use crate::links::Watched;
use crate::run::open;

/// Events that may wait for being written.
const EVENTS_MAX: usize = 4096;
/// Time between two looks of the canary: an eighth of a quarter cycle at 60 Hz.
const CANARY_PERIOD: Duration = Duration::from_micros(500);

/// Checks the files that the settings of a relay node name; they are relative to `folder`.
pub(crate) fn check_node(settings: &NodeSettings, folder: &Path) -> Result<()> {
    let quorum = &settings.quorum;
    Identity::read(quorum, folder)?.node(quorum)?;
    memory::check::<node::Remembered>(&folder.join(&quorum.memory))
}

/// As [`check_node`], for the breaker node.
pub(crate) fn check_breaker(settings: &BreakerNode, folder: &Path) -> Result<()> {
    let quorum = &settings.quorum;
    Identity::read(quorum, folder)?.of_breaker(quorum)?;
    memory::check::<breaker::Remembered>(&folder.join(&quorum.memory))
}

/// Runs a relay node until `stop`, or for `duration`; files are relative to `folder`.
pub(crate) fn run_node(
    settings: &NodeSettings,
    folder: &Path,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<(Value, Option<String>)> {
    let (quorum, host) = (&settings.quorum, &settings.host);
    let identity = Identity::read(quorum, folder)?;
    let me = identity.node(quorum)?;
    let interface = match &settings.decides {
        Decides::Goose { interface, .. } => Some(interface.as_str()),
        _ => host.interface.as_deref(),
    };
    let Some(interface) = interface else {
        bail!("no interface is given: add `interface` to `host`");
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
    let (queues, events, waits) = queues(host);
    let bus = Bus::open(quorum, channels).with_context(|| {
        format!("{me}: its address in `addresses` cannot be used: use one of this host")
    })?;
    let harness = Harness::new(bus, keyring, events, waits);
    let disk = memory.disk();
    let frames = Frames::new(&socket, streams);
    let work = Node::new(harness, speaker, decider, frames, (memory, remembered), seeds);
    let mut watch = NodeWatch::new(host, folder, format!("node {}", me.number()), (queues, disk))?;
    watch.link = Some((Watched::new(interface, WhenDown::Alarm), &socket));
    watch.run((host, duration, stop), |ending| work.run(ending))
}

/// What decides, and where its frames come from.
fn relay(
    settings: &NodeSettings,
    interface: &str,
) -> Result<(PacketSocket, Option<Vec<StreamKey>>, Decider)> {
    Ok(match &settings.decides {
        Decides::Elements { protection, breaker, close_after } => {
            let keys: Vec<_> =
                protection.streams.values().map(|stream| stream.key.clone()).collect();
            let elements = Elements::new(Engine::new(protection), *breaker, *close_after);
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

fn samples(interface: &str, keys: &[StreamKey]) -> Result<PacketSocket> {
    let socket = open(interface, ETHERTYPE_SAMPLED_VALUES)?;
    for key in keys {
        socket.join(key.destination.0).context("joining the group of a stream")?;
    }
    Ok(socket)
}

/// Runs the breaker node until `stop`, or for `duration`; files are relative to `folder`.
pub(crate) fn run_breaker(
    settings: &BreakerNode,
    folder: &Path,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<(Value, Option<String>)> {
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
    let (membership, mut channels, keyring) = identity.of_breaker(quorum)?;
    // Nodes that run on have seen its numbers up to some time ago.
    channels.number_after(time::common().ns());
    let (queues, events, waits) = queues(host);
    let bus = Bus::open(quorum, channels)
        .context("the address in `breaker_address` cannot be used: use one of this host")?;
    let harness = Harness::new(bus, keyring, events, waits);
    let message = settings.goose.as_ref().zip(socket.as_ref().map(|(_, socket)| socket));
    let operator = Operator::new(settings.breaker, (remembered.state(), ordered), message);
    let shown = Arc::new(Shown::default());
    let status = settings.status.map(|address| listen(address, "status")).transpose()?;
    let disk = memory.disk();
    let about = (membership.subject(quorum.protocol), quorum.parameters);
    let work = BreakerLoop::new(harness, about, operator, (memory, remembered), shown.clone())
        .context("saving the state of the breaker")?;
    let mut watch = NodeWatch::new(host, folder, "breaker".into(), (queues, disk))?;
    let link = socket.as_ref().map(|(interface, socket)| (*interface, socket));
    watch.link = link.map(|(interface, socket)| (Watched::new(interface, WhenDown::Alarm), socket));
    watch.status = status.map(|status| (status, shown));
    watch.run((host, duration, stop), |ending| work.run(ending))
}

/// The queues of events and of waits for the core, to the thread that may block.
type Queues = Vec<Consumer<NodeEvent>>;

fn queues(host: &NodeHost) -> (Queues, Outbox<NodeEvent>, Option<WaitQueue>) {
    let (events, events_out) = outbox(EVENTS_MAX);
    let (waits, waits_out) = outbox(EVENTS_MAX);
    (vec![events_out, waits_out], events, host.wait_min.map(|min| (min, waits)))
}

struct NodeWatch<'s> {
    party: String,
    link: Option<(Watched, &'s PacketSocket)>,
    /// How often the memory did not reach the disk.
    disk_failures: Arc<AtomicU64>,
    queues: Queues,
    records: Lines,
    status: Option<(TcpListener, Arc<Shown>)>,
    warnings: Vec<String>,
}

impl<'s> NodeWatch<'s> {
    fn new(
        host: &NodeHost,
        folder: &Path,
        party: String,
        (queues, disk): (Queues, Disk),
    ) -> Result<Self> {
        let records = host.records.as_deref().map(|path| folder.join(path));
        Ok(Self {
            party,
            link: None,
            disk_failures: disk.follow_on().context("starting the thread of the disk")?,
            queues,
            records: host::records(records.as_deref(), host.rotation)?,
            status: None,
            warnings: Vec::new(),
        })
    }

    /// Runs the thread that must be in time, and a canary on its core and before it; returns what
    /// became of everything, and why it ended before its time, if it did.
    fn run(
        mut self,
        (host, duration, stop): (&NodeHost, Option<Duration>, &AtomicBool),
        work: impl FnOnce(&AtomicBool) -> io::Result<Value> + Send,
    ) -> Result<(Value, Option<String>)> {
        let (mut warnings, _awake) = prepare::process();
        warnings.extend(time::doubt());
        let (stalls, stalls_out) = outbox(EVENTS_MAX);
        self.queues.insert(0, stalls_out);
        let (mut summary, mut stalls_lost) = (Value::Null, 0_u64);
        let scheduling = host::scheduling(host.thread);
        let before = Scheduling { core: host.thread.core, priority: host.canary_priority };
        let threads = vec![
            TimedThread::new("node", scheduling, |ending| {
                summary = work(ending)?;
                Ok(())
            }),
            TimedThread::new("canary", before, |ending| {
                stalls_lost = record_stalls(host.stall_min, stalls, ending);
                Ok(())
            }),
        ];
        let require_realtime = host.require_realtime;
        let supervisor = Supervisor { stop, duration, cache_group: None, require_realtime };
        let failure = supervisor.run(threads, warnings, &mut self)?;
        let records = self.records.account();
        self.warnings.extend(records.as_ref().and_then(|records| records.warning.clone()));
        summary["party"] = self.party.into();
        summary["records_lost"] = records.as_ref().map_or(0, |records| records.lost).into();
        summary["records_write_errors"] = records.map_or(0, |records| records.write_errors).into();
        summary["memory_sync_errors"] = self.disk_failures.load(Ordering::Relaxed).into();
        summary["stalls_lost"] = stalls_lost.into();
        summary["warnings"] = self.warnings.into();
        Ok((summary, failure))
    }
}

impl Watch for NodeWatch<'_> {
    fn begun(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
        terminal::err!("qcrelay: {} runs", self.party);
    }

    /// Writes what has happened, and answers who asks.
    fn look(&mut self, is_last: bool) -> Result<()> {
        for queue in &mut self.queues {
            while let Ok(event) = queue.pop() {
                let about_memory = match event.what {
                    What::MemoryNew => Some(MEMORY_NEW),
                    What::MemoryLost { .. } => Some(MEMORY_LOST),
                    _ => None,
                };
                if let Some(warning) = about_memory {
                    terminal::err!("qcrelay: warning: {warning}");
                    self.warnings.push(warning.into());
                }
                self.records.add(event.line());
            }
        }
        if is_last {
            self.records.finish();
        } else {
            self.records.write();
        }
        if let Some((listener, shown)) = &self.status {
            status::serve(listener, shown);
        }
        let failure =
            self.link.as_mut().and_then(|(watched, socket)| watched.look(socket.link()).1);
        failure.map_or(Ok(()), |failure| bail!(failure))
    }
}

/// Records each time that the canary wakes up late, with begin and length, so that an action that took
/// long can be compared with what the host took away meanwhile; returns how many found no room in the
/// queue.
fn record_stalls(min: Duration, mut events: Outbox<NodeEvent>, stop: &AtomicBool) -> u64 {
    at_each_tick(time::own().plus(CANARY_PERIOD), CANARY_PERIOD, stop, |_, due| {
        let (awake, at) = (time::own(), time::common());
        let late = awake.since(due);
        if late >= min {
            events.push(NodeEvent { at, what: What::Stall { late } });
        }
        awake
    });
    events.lost
}
