//! What a relay node and the breaker node have in common: datagrams, keys, the clock, and what is
//! recorded of all that happens.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use os::datagram::wait_until;
use os::run_delay::RunDelay;
use quorum::certificate::Keyring;
use quorum::wire::{Payload, WorkingKey};
use quorum::{CommonTime, Effect, EffectOf, NodeId, Party, Refusal, Tick};
use realtime::exchange::Outbox;
use realtime::time::{self, Clock, Now};
use serde_json::{Map, Value, json};

use super::blame::Blame;
use super::bus::{Bus, Received};
use super::records::{NodeEvent, What, name_of};
use super::timed::Timed;

/// What state machines ask of a program that proves with a keyring.
pub(crate) type Asked = EffectOf<Keyring>;

/// Sockets that are waited for, at most: four parties, samples and GOOSE.
const WATCHED_MAX: usize = 8;

/// Which waits for the core are worth a line, and where those go.
pub(crate) type WaitQueue = (Duration, Outbox<NodeEvent>);

/// The part of a node that both kinds share.
#[derive(Debug)]
pub(crate) struct Harness {
    pub(crate) clock: Clock,
    pub(crate) bus: Bus,
    /// Keys of proofs and certificates.
    pub(crate) scheme: Timed<Keyring>,
    events: Outbox<NodeEvent>,
    tick: Tick,
    /// What state machines refused, from whom and why.
    refused: BTreeMap<(Party, Refusal), u64>,
    blame: Blame,
    waits: Option<Waits>,
}

/// How long the thread waited for its core, and what of it is worth a line.
#[derive(Debug)]
struct Waits {
    /// Of the thread that must be in time, from when it has begun.
    delay: Option<RunDelay>,
    known_ns: i64,
    min: Duration,
    /// A queue of its own: waits may be many, and must not crowd out what happens.
    events: Outbox<NodeEvent>,
}

impl Harness {
    /// Before the first tick; events go to `events`. `waits` says which waits for the core are worth
    /// a line, and where those go.
    pub(crate) fn new(
        bus: Bus,
        keyring: Keyring,
        events: Outbox<NodeEvent>,
        waits: Option<WaitQueue>,
    ) -> Self {
        let waits = waits.map(|(min, events)| Waits { delay: None, known_ns: 0, min, events });
        Self {
            clock: Clock::default(),
            bus,
            scheme: Timed::new(keyring),
            events,
            tick: Tick::default(),
            refused: BTreeMap::new(),
            blame: Blame::default(),
            waits,
        }
    }

    /// From here on it is the calling thread that must be in time.
    pub(crate) fn begin(&mut self) {
        if let Some(waits) = &mut self.waits {
            waits.delay = RunDelay::of_this_thread();
            waits.known_ns = waits.delay.as_ref().map_or(0, RunDelay::ns);
        }
    }

    /// Whether a tick has begun since this was last asked; if so, everybody is heard again.
    pub(crate) fn begins_tick(&mut self, now: Now) -> Option<Tick> {
        let tick = Tick::at(now.common);
        let has_begun = tick != std::mem::replace(&mut self.tick, tick);
        has_begun.then(|| self.bus.begin_tick()).map(|()| tick)
    }

    /// Waits for a datagram, the other socket, or common time: at the latest the next tick. Answers
    /// whether the other socket has something.
    pub(crate) fn wait(
        &mut self,
        other: Option<BorrowedFd<'_>>,
        deadline: CommonTime,
    ) -> io::Result<bool> {
        // What was waited for while something was done is not of the time that is slept below.
        self.note_wait();
        let mut sockets = [const { None }; WATCHED_MAX];
        let mut count = 0;
        for (place, socket) in sockets.iter_mut().zip(self.bus.sockets().chain(other)) {
            *place = Some(socket);
            count += 1;
        }
        let Some(first) = sockets[0] else {
            // All were heard enough in this tick.
            wait_until(&[], self.at_latest(deadline).ns() as i64)?;
            self.note_wait();
            return Ok(false);
        };
        let known: [BorrowedFd<'_>; WATCHED_MAX] = sockets.map(|socket| socket.unwrap_or(first));
        let ready = wait_until(&known[..count], self.at_latest(deadline).ns() as i64)?;
        self.note_wait();
        Ok(ready.has(self.bus.found(ready)))
    }

    /// Records how long the thread waited for its core since it last waited for anything else.
    fn note_wait(&mut self) {
        let Some(waits) = &mut self.waits else { return };
        let Some(delay) = &waits.delay else { return };
        let ns = delay.ns();
        let waited_ns = ns - std::mem::replace(&mut waits.known_ns, ns);
        let waited = Duration::from_nanos(waited_ns.max(0) as u64);
        if waited >= waits.min {
            waits.events.push(NodeEvent { at: time::common(), what: What::Waited { waited } });
        }
    }

    fn at_latest(&self, deadline: CommonTime) -> CommonTime {
        let at = self.tick.plus(1).begin().min(deadline);
        self.bus.next_resume().map_or(at, |resume| resume.min(at))
    }

    pub(crate) fn receive(&mut self, inbox: &mut Vec<Received>) -> io::Result<()> {
        inbox.clear();
        let now = self.clock.read().common;
        self.bus.receive(now, inbox)
    }

    /// Uses a working key from now on.
    pub(crate) fn adopt(&mut self, now: Now, node: NodeId, key: &WorkingKey) {
        // Keys that mean nothing are those of a node that is heard no more, and no concern of ours.
        self.scheme.scheme.adopt(node, key);
        self.bus.channels.adopt(node, key);
        self.record(now, What::Adopted { node, counter: key.counter });
    }

    /// Uses no working key of a node until it announces one.
    pub(crate) fn distrust(&mut self, now: Now, node: NodeId, counter: u64) {
        self.scheme.scheme.distrust(node);
        self.bus.channels.distrust(node, counter);
        self.record(now, What::Distrusted { node, counter });
    }

    /// Does what is the same in both kinds of nodes: sends, and records.
    pub(crate) fn carry_out(&mut self, now: Now, effect: Asked) {
        match effect {
            Effect::Send { to, message } => self.bus.send(to, &Payload::Message(message)),
            Effect::Refused { from, why } => *self.refused.entry((from, why)).or_default() += 1,
            Effect::Blame(evidence) => {
                if self.blame.note(now.common, &evidence) {
                    self.record(now, What::Blamed(Box::new(evidence)));
                }
            }
            Effect::Operate { .. } | Effect::Adopt { .. } | Effect::Distrust { .. } => {
                unreachable!("each kind of node does these by itself")
            }
        }
    }

    /// Records something; the thread that may block writes it.
    pub(crate) fn record(&mut self, now: Now, what: What) {
        self.events.push(NodeEvent { at: now.common, what });
    }

    pub(crate) fn summary(&self) -> Value {
        let mut refused = Map::new();
        for ((party, why), count) in &self.refused {
            refused.insert(format!("{}: {why:?}", name_of(*party)), (*count).into());
        }
        json!({
            "datagrams": self.bus.counters,
            "refused": refused,
            "misdeeds": self.blame.counts,
            "clock_jumps": self.clock.jumps,
            "events_lost": self.events.lost,
            "waits_lost": self.waits.as_ref().map(|waits| waits.events.lost),
        })
    }
}
