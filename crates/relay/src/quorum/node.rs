//! The loop of a relay node: samples and datagrams in, what the relay and the state machine decide
//! out, all in one thread, so that nothing waits for another thread between a sample and a vote.
//!
//! It decides on the newest sample only: after a pause, those that wait are all taken in before
//! anything is said.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorum::certificate::Keyring;
use quorum::keys::{Membership, Secret};
use quorum::wire::{Certificate, Payload, Proof};
use quorum::{
    Action, CommonTime, Counters, Effect, Event, EventOf, Message, NODES, NodeId, Party, Relay,
    Speaker, Tick,
};
use realtime::time::Now;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substation::decider::{Decider, Decision};

use super::bus::Received;
use super::frames::{Frames, Taken};
use super::harness::{Asked, Harness};
use super::memory::{Found, Memory};
use super::records::What;

/// What a relay node must find again after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// The number of its own working keys. It goes on under other keys of the station.
    pub(crate) counter: u64,
    /// Under which keys the following was learnt.
    membership: [u8; 32],
    /// The least numbers of the others' working keys.
    counters: [u64; NODES],
}

impl Remembered {
    /// What a node is born with: what was found, but of the others nothing that was learnt under
    /// other keys than those of this membership.
    pub(crate) fn or_new(found: Option<Found<Self>>, membership: &Membership) -> Self {
        let membership = membership.fingerprint();
        let found = found.map(|found| found.remembered).unwrap_or_default();
        let is_of_these = found.membership == membership;
        let counters = if is_of_these { found.counters } else { [0; NODES] };
        Self { counter: found.counter + 1, membership, counters }
    }

    /// A key with this number is the least that is good.
    pub(crate) const fn learn(&mut self, node: NodeId, counter: u64) {
        self.counters[node.index()] = counter;
    }

    /// What the state machine knows of the others' keys at first: their numbers, and that none is there.
    pub(crate) fn known(&self) -> Counters {
        let mut known = Counters::default();
        for (node, counter) in NodeId::ALL.into_iter().zip(self.counters) {
            let _is_higher = known.raise(node, counter);
        }
        known
    }
}

/// Where seeds come from: random octets of the kernel.
pub(crate) type Seeds = Box<dyn FnMut() -> Option<Secret> + Send>;

pub(crate) struct Node<'s> {
    pub(crate) harness: Harness,
    pub(crate) decider: Decider,
    pub(crate) frames: Frames<'s>,
    pub(crate) relay: Relay<Proof, Certificate>,
    pub(crate) memory: Memory,
    pub(crate) remembered: Remembered,
    /// Seeds of nonces, where certificates need some.
    pub(crate) seeds: Option<Seeds>,
    /// When something from the breaker node was let through last, or it was given up on.
    breaker_heard: CommonTime,
    /// How long it may be silent.
    silence_max: Duration,
    effects: Vec<Asked>,
    recorded: Option<Decision>,
    has_certified: bool,
}

impl<'s> Node<'s> {
    pub(crate) fn new(
        mut harness: Harness,
        speaker: Speaker,
        decider: Decider,
        frames: Frames<'s>,
        (memory, remembered): (Memory, Remembered),
        seeds: Option<Seeds>,
    ) -> Self {
        let now = harness.clock.read();
        let counter = remembered.counter;
        harness.record(now, What::Born { counter });
        let known = remembered.known();
        // What its relay says is known with the first sample.
        let relay = Relay::born(now.common, speaker, Action::Close, counter, known);
        Self {
            harness,
            decider,
            frames,
            relay,
            memory,
            remembered,
            seeds,
            breaker_heard: now.common,
            silence_max: 2 * speaker.parameters.heartbeat_max,
            effects: Vec::with_capacity(64),
            recorded: None,
            has_certified: false,
        }
    }

    /// Runs until it shall stop; answers what became of everything.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<Value> {
        self.harness.begin();
        let mut inbox = Vec::with_capacity(128);
        let mut has_frames = true;
        while !stop.load(Ordering::Relaxed) {
            let now = self.harness.clock.read();
            let tick = self.harness.begins_tick(now);
            // At each tick whatever the wait has found: it may have ended before a pause of the host.
            let taken = if has_frames || tick.is_some() {
                self.frames.receive(now, &mut self.decider)?
            } else {
                Taken::NOTHING
            };
            if taken.is_all && (taken.count > 0 || tick.is_some()) {
                self.decide()?;
            }
            if let Some(tick) = tick {
                self.commit(tick);
                self.listen()?;
            }
            self.harness.receive(&mut inbox)?;
            for received in inbox.drain(..) {
                self.take(received)?;
            }
            if self.harness.clock.read().common >= self.relay.next_deadline() {
                self.step(Event::Deadline, CommonTime::ZERO)?;
            }
            has_frames = if taken.is_all {
                self.harness.wait(Some(self.frames.socket()), self.relay.next_deadline())?
            } else {
                true
            };
        }
        let mut summary = self.harness.summary();
        summary["frames"] = json!(self.frames.counters);
        Ok(summary)
    }

    fn decide(&mut self) -> io::Result<()> {
        let now = self.harness.clock.read();
        let Some(decision) = self.decider.look(now.own) else { return Ok(()) };
        if self.recorded.replace(decision) != Some(decision) {
            let sample = self.frames.newest;
            self.harness.record(now, What::Decided { decision, sample });
        }
        let event = match decision {
            Decision::Decided(action) => Event::Decided(action),
            Decision::Withdrawn => Event::Withdrawn,
        };
        self.step(event, CommonTime::ZERO)
    }

    /// Gives peers commitments to new nonces, where certificates need them.
    fn commit(&mut self, tick: Tick) {
        let Some(seed) = self.seeds.as_mut().and_then(|seeds| seeds()) else { return };
        for (node, commitments) in self.harness.scheme.scheme.commitments(tick, &seed) {
            self.harness.bus.send(Party::Relay(node), &Payload::Commitments(commitments));
        }
    }

    /// Looks whether the breaker node is silent.
    fn listen(&mut self) -> io::Result<()> {
        let now = self.harness.clock.read().common;
        if now.since(self.breaker_heard) <= self.silence_max {
            return Ok(());
        }
        self.breaker_heard = now;
        self.step(Event::BreakerSilent, CommonTime::ZERO)
    }

    fn take(&mut self, received: Received) -> io::Result<()> {
        let Received { from, payload, stamp } = received;
        if from == Party::Breaker {
            self.breaker_heard = self.harness.clock.read().common;
        }
        match (from, payload) {
            (from, Payload::Message(message)) => {
                self.step(Event::Received { from, message }, stamp)
            }
            (Party::Relay(node), Payload::Commitments(commitments)) => {
                self.harness.scheme.scheme.committed(node, &commitments);
                Ok(())
            }
            (Party::Breaker, Payload::Commitments(_)) => Ok(()),
        }
    }

    fn step(&mut self, event: EventOf<Keyring>, received: CommonTime) -> io::Result<()> {
        let now = self.harness.clock.read();
        let before = (self.relay.attempt(), self.relay.generation());
        let learns = match &event {
            Event::Received { message: Message::Acknowledgement(by), .. } => Some(*by),
            _ => None,
        };
        let from = match &event {
            Event::Received { from: Party::Relay(node), .. } => Some(*node),
            _ => None,
        };
        self.harness.scheme.take_spent();
        let mut effects = std::mem::take(&mut self.effects);
        self.relay.step(now.common, event, &mut self.harness.scheme, &mut effects);
        let cryptography = self.harness.scheme.take_spent();
        let certifies = effects.iter().any(|effect| {
            matches!(effect, Effect::Send { message: Message::Certificate { .. }, .. })
        });
        for effect in effects.drain(..) {
            self.carry_out(now, effect)?;
        }
        self.effects = effects;
        let attempt = self.relay.attempt();
        if attempt != before.0 {
            self.has_certified = false;
        }
        if let (Some(attempt), true) = (attempt, attempt != before.0) {
            let sent = self.harness.clock.read();
            self.harness.record(sent, What::Spoke { attempt, cryptography });
        }
        if let (Some(attempt), true, false) = (attempt, certifies, self.has_certified) {
            self.has_certified = true;
            let sent = self.harness.clock.read();
            let what = What::Certified { attempt, from, received, cryptography };
            self.harness.record(sent, what);
        }
        if let (Some(by), true) = (learns, self.relay.generation() != before.1) {
            let quorum::Acknowledgement { generation, state, acted_at, .. } = by;
            self.harness.record(now, What::Learnt { generation, state, acted_at, received });
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Now, effect: Asked) -> io::Result<()> {
        match effect {
            Effect::Adopt { node, key, counter } => {
                self.remembered.learn(node, counter);
                self.memory.write(&self.remembered)?;
                self.harness.adopt(now, node, &key);
            }
            Effect::Distrust { node, counter } => {
                self.remembered.learn(node, counter);
                self.memory.write(&self.remembered)?;
                self.harness.distrust(now, node, counter);
            }
            Effect::Operate { .. } => unreachable!("a relay node has no breaker"),
            effect => self.harness.carry_out(now, effect),
        }
        Ok(())
    }
}
