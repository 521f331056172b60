//! A relay node: hears what its relay decides and how the breaker stands, and speaks for the
//! relay, in either protocol.
//!
//! What it says is up to [`arbiter`](super::arbiter) and [`peer`](super::peer); here is what both
//! have in common: where it stands, how it learns of the breaker, whose keys it uses.

use crate::CommonTime;

use super::arbiter::Arbiter;
use super::counters::{Counters, WorkingKeys};
use super::parameters::CLOCK_ERROR_MAX;
use super::peer::Peer;
use super::recovery::{Announcements, Inquiry};
use super::speaker::Speaker;
use super::{
    Acknowledgement, Action, Attempt, Effect, EffectOf, Gen, Message, MessageOf, NodeId, Party,
    Protocol, Refusal, RelayState, Scheme, Tick,
};

/// What happens to a relay node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event<P, C, K> {
    /// The relay decides that the breaker be in this state. A relay whose elements operate decides
    /// so again in each of its cycles; a command to close is one decision.
    Decided(Action),
    /// The relay no longer wants what it decided: its elements have dropped off, a command was
    /// taken back.
    Withdrawn,
    /// A message came through the channel, which has found out from whom.
    Received { from: Party, message: Message<P, C, K> },
    /// Nothing that the channel lets through has come from the breaker node for longer than it is
    /// ever silent. It may have lost its memory of this node's key, and then the two have no channel.
    BreakerSilent,
    /// The time of [`Relay::next_deadline`] has come.
    Deadline,
}

/// The events of a scheme.
pub type EventOf<S> =
    Event<<S as Scheme>::Proof, <S as Scheme>::Certificate, <S as Scheme>::WorkingKey>;

/// What a node knows of the breaker, and what it makes of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Standing {
    /// Nothing yet; its relay says this, and has decided this since the node was born, and when.
    Unknown { relay: Action, decided: Option<(Action, CommonTime)> },
    /// As of this gen.
    Known { state: RelayState, generation: Gen },
}

/// How a node makes itself heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum ProtocolState<P, C> {
    Arbiter(Arbiter),
    Peer(Peer<P, C>),
}

/// The state machine of a relay node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Relay<P, C> {
    speaker: Speaker,
    standing: Standing,
    protocol: ProtocolState<P, C>,
    /// In which tick it last spoke, while it attempts something.
    spoke: Option<Tick>,
    inquiry: Inquiry,
    announcements: Announcements,
    keys: WorkingKeys,
}

impl<P, C> Relay<P, C>
where
    P: Clone + Eq,
    C: Clone,
{
    /// A node that has just been born, for the first time or again. Its relay stands so; its own
    /// working key has this counter; of others it knows these (all zero if it knows nothing).
    pub fn born(
        now: CommonTime,
        speaker: Speaker,
        relay: Action,
        counter: u64,
        counters: Counters,
    ) -> Self {
        let protocol = match speaker.subject.protocol {
            Protocol::Arbiter => ProtocolState::Arbiter(Arbiter::default()),
            Protocol::Peer => ProtocolState::Peer(Peer::new()),
        };
        Self {
            speaker,
            standing: Standing::Unknown { relay, decided: None },
            protocol,
            spoke: None,
            inquiry: Inquiry::new(now),
            announcements: Announcements::new(now, speaker.me, counter, &speaker.parameters),
            keys: WorkingKeys::new(counters),
        }
    }

    /// Takes in an event and says what is to be done, including all that is due now.
    pub fn step<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        event: EventOf<S>,
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) {
        self.expire(Tick::at(now));
        match event {
            Event::Decided(action) => self.decide(now, Some(action)),
            Event::Withdrawn => self.decide(now, None),
            Event::Received { from, message } => {
                if let Err(why) = self.receive(now, from, message, scheme, effects) {
                    effects.push(Effect::Refused { from, why });
                }
            }
            Event::BreakerSilent => {
                self.announcements.breaker_is_silent(now, &self.speaker.parameters);
            }
            Event::Deadline => {}
        }
        self.speak(now, scheme, effects);
        self.ask(now, effects);
        self.announce(now, scheme, effects);
    }

    /// When [`Event::Deadline`] is to come, at the latest.
    pub fn next_deadline(&self) -> CommonTime {
        let asks = self.inquiry.next();
        let announces = self.announcements.next(&self.keys.counters);
        let speaks = self.attempt().and(self.spoke).map(|tick| tick.plus(1).begin());
        [announces, speaks].into_iter().flatten().fold(asks, CommonTime::min)
    }

    /// Where it stands; nothing before the breaker node has answered.
    pub const fn state(&self) -> Option<RelayState> {
        match self.standing {
            Standing::Unknown { .. } => None,
            Standing::Known { state, .. } => Some(state),
        }
    }

    /// The breaker's next action as far as it knows; nothing before the breaker node has answered.
    pub const fn generation(&self) -> Option<Gen> {
        match self.standing {
            Standing::Unknown { .. } => None,
            Standing::Known { generation, .. } => Some(generation),
        }
    }

    /// What it wants the breaker to do next, if anything.
    pub fn attempt(&self) -> Option<Attempt> {
        match self.standing {
            Standing::Unknown { .. } => None,
            Standing::Known { state, generation } => {
                state.attempted().map(|action| Attempt { action, generation })
            }
        }
    }

    /// What has expired counts no more, and leaves no trace.
    fn expire(&mut self, tick: Tick) {
        match &mut self.protocol {
            ProtocolState::Arbiter(arbiter) => arbiter.forget(tick),
            ProtocolState::Peer(peer) => peer.expire(tick, &self.speaker),
        }
        self.keys.renew(tick);
    }

    fn decide(&mut self, now: CommonTime, action: Option<Action>) {
        let before = self.attempt();
        match &mut self.standing {
            Standing::Unknown { relay, decided } => {
                *decided = action.map(|action| (action, now));
                *relay = action.unwrap_or(*relay);
            }
            Standing::Known { state, .. } => {
                *state = action.map_or_else(|| state.withdrawn(), |action| state.decided(action));
            }
        }
        self.attempt_changed(now, before);
    }

    fn attempt_changed(&mut self, now: CommonTime, before: Option<Attempt>) {
        if self.attempt() == before {
            return;
        }
        self.spoke = None;
        if self.attempt().is_some() {
            self.inquiry.hasten(now, &self.speaker.parameters);
        }
    }

    fn receive<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        from: Party,
        message: MessageOf<S>,
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) -> Result<(), Refusal> {
        match (from, message) {
            (Party::Breaker, Message::Acknowledgement(acknowledgement)) => {
                self.acknowledged(now, &acknowledgement, effects)
            }
            (Party::Relay(node), _) if node == self.speaker.me => Err(Refusal::Misdirected),
            (Party::Relay(node), Message::Share { attempt, tick, proof, proof_next }) => {
                self.share(now, node, (attempt, tick), [proof, proof_next], scheme, effects)
            }
            (Party::Relay(node), Message::Announcement { key }) => {
                let counter = self.admit(now, node, key, scheme, effects)?;
                let message = Message::Noted { counter, key: scheme.working_key() };
                effects.push(Effect::Send { to: from, message });
                Ok(())
            }
            (_, Message::Noted { counter, key }) => {
                self.announcements.noted(from, counter);
                match (from, key) {
                    (Party::Relay(node), Some(key)) => {
                        self.admit(now, node, key, scheme, effects).map(|_| ())
                    }
                    _ => Ok(()),
                }
            }
            _ => Err(Refusal::Misdirected),
        }
    }

    /// The breaker node says how it stands.
    fn acknowledged<K>(
        &mut self,
        now: CommonTime,
        by: &Acknowledgement,
        effects: &mut Vec<Effect<P, C, K>>,
    ) -> Result<(), Refusal> {
        if !self.inquiry.answered(by, &self.speaker.parameters) {
            return Err(Refusal::Stale);
        }
        self.heed_counters(now, by, effects);
        let before = self.attempt();
        match self.standing {
            Standing::Unknown { relay, decided } => {
                let entered = RelayState::entered(relay, by.state);
                // The breaker may have acted since the decision; clocks differ.
                let least = by.acted_at.plus(2 * CLOCK_ERROR_MAX);
                let state = match decided {
                    Some((action, at)) if at > least => entered.decided(action),
                    _ => entered,
                };
                self.standing = Standing::Known { state, generation: by.generation };
            }
            Standing::Known { generation, .. } if by.generation < generation => {
                return Err(Refusal::OldGen);
            }
            Standing::Known { generation, .. } if by.generation == generation => {}
            Standing::Known { state, .. } => {
                let state = state.overtaken(by.state);
                self.standing = Standing::Known { state, generation: by.generation };
            }
        }
        if let ProtocolState::Peer(peer) = &mut self.protocol {
            peer.reached(by.generation);
        }
        self.attempt_changed(now, before);
        Ok(())
    }

    /// The breaker node knows a newer key of a node than this one does: somebody may have the
    /// older one who should not.
    fn heed_counters<K>(
        &mut self,
        now: CommonTime,
        by: &Acknowledgement,
        effects: &mut Vec<Effect<P, C, K>>,
    ) {
        for (node, &counter) in NodeId::ALL.into_iter().zip(&by.counters) {
            if node != self.speaker.me && self.keys.counters.raise(node, counter) {
                self.forget(node);
                self.announcements.hasten(now, &self.speaker.parameters);
                effects.push(Effect::Distrust { node, counter });
            }
        }
    }

    /// Shares made with a key that is no longer used are worth nothing.
    fn forget(&mut self, node: NodeId) {
        if let ProtocolState::Peer(peer) = &mut self.protocol {
            peer.forget(node);
        }
    }

    /// A node has sent its working key; the counter, if it is in use afterwards.
    fn admit<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        node: NodeId,
        key: S::WorkingKey,
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) -> Result<u64, Refusal> {
        let admitted = self.keys.admit(Tick::at(now), node, key, scheme, effects)?;
        if admitted.is_new {
            self.forget(node);
        }
        Ok(admitted.counter)
    }

    fn share<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        node: NodeId,
        about: (Attempt, Tick),
        proofs: [P; 2],
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) -> Result<(), Refusal> {
        let (ProtocolState::Peer(peer), Standing::Known { state, generation }) =
            (&mut self.protocol, self.standing)
        else {
            return Err(Refusal::Misdirected);
        };
        let possible = Attempt { action: state.breaker().opposite(), generation };
        let heard = super::peer::Heard { node, attempt: about.0, tick: about.1, proofs };
        peer.hear::<S>(Tick::at(now), heard, possible, &self.speaker, effects)?;
        if state.attempted().is_some() {
            peer.combine(Tick::at(now), possible, &self.speaker, scheme, effects);
        }
        Ok(())
    }

    fn speak<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) {
        let tick = Tick::at(now);
        let Some(attempt) = self.attempt() else { return };
        if self.spoke == Some(tick) {
            return;
        }
        self.spoke = Some(tick);
        match &mut self.protocol {
            ProtocolState::Arbiter(by) => by.speak(tick, attempt, &self.speaker, scheme, effects),
            ProtocolState::Peer(by) => by.speak(tick, attempt, &self.speaker, scheme, effects),
        }
    }

    fn ask<K>(&mut self, now: CommonTime, effects: &mut Vec<Effect<P, C, K>>) {
        let attempts = self.attempt().is_some();
        if self.inquiry.due(now, &self.speaker.parameters, attempts) {
            let message = Message::Query { tick: Tick::at(now) };
            effects.push(Effect::Send { to: Party::Breaker, message });
        }
    }

    fn announce<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        now: CommonTime,
        scheme: &S,
        effects: &mut Vec<EffectOf<S>>,
    ) {
        let to = self.announcements.due(now, &self.keys.counters, &self.speaker.parameters);
        for to in to {
            if let Some(key) = scheme.working_key() {
                effects.push(Effect::Send { to, message: Message::Announcement { key } });
            }
        }
    }
}
