//! A relay node: hears what its relay decides and how the breaker stands, and speaks for the
//! relay, in either protocol.
//!
//! What it says is up to [`arbiter`](super::arbiter) and [`peer`](super::peer); here is what both
//! have in common: where it stands, how it learns of the breaker, whose keys it uses.

use super::arbiter::Arbiter;
use super::counters::{Counters, WorkingKeys};
use super::effect::Turn;
use super::parameters::CLOCK_ERROR_MAX;
use super::peer::{Heard, Peer};
use super::recovery::{Announcements, Inquiry};
use super::{
    Acknowledgement, Action, Attempt, CommonTime, Effect, EffectOf, Gen, Message, MessageOf,
    NodeId, Parameters, Party, Protocol, Refusal, RelayState, Scheme, Subject, Tick,
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

/// In whose name a relay node speaks, about what and by which rules, whichever protocol it speaks by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Speaker {
    pub me: NodeId,
    pub subject: Subject,
    pub parameters: Parameters,
}

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
        let turn = &mut Turn { now, scheme, effects };
        self.expire(turn.tick());
        match event {
            Event::Decided(action) => self.decide(now, Some(action)),
            Event::Withdrawn => self.decide(now, None),
            Event::Received { from, message } => {
                if let Err(why) = self.receive(turn, from, message) {
                    turn.effects.push(Effect::Refused { from, why });
                }
            }
            Event::BreakerSilent => {
                self.announcements.breaker_is_silent(now, &self.speaker.parameters);
            }
            Event::Deadline => {}
        }
        self.speak(turn);
        self.ask(turn);
        self.announce(turn);
    }

    /// When [`Event::Deadline`] is to come, at the latest.
    pub fn next_deadline(&self) -> CommonTime {
        let asks = self.inquiry.next;
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
        turn: &mut Turn<'_, S>,
        from: Party,
        message: MessageOf<S>,
    ) -> Result<(), Refusal> {
        match (from, message) {
            (Party::Breaker, Message::Acknowledgement(acknowledgement)) => {
                self.acknowledged(turn, &acknowledgement)
            }
            (Party::Relay(node), _) if node == self.speaker.me => Err(Refusal::Misdirected),
            (Party::Relay(node), Message::Share { attempt, tick, proof, proof_next }) => {
                let proofs = [proof, proof_next];
                self.share(turn, Heard { node, attempt, tick, proofs })
            }
            (Party::Relay(node), Message::Announcement { key }) => {
                let counter = self.admit(turn, node, key)?;
                let message = Message::Noted { counter, key: turn.scheme.working_key() };
                turn.send(from, message);
                Ok(())
            }
            (_, Message::Noted { counter, key }) => {
                self.announcements.noted(from, counter);
                match (from, key) {
                    (Party::Relay(node), Some(key)) => self.admit(turn, node, key).map(|_| ()),
                    _ => Ok(()),
                }
            }
            _ => Err(Refusal::Misdirected),
        }
    }

    /// The breaker node says how it stands.
    fn acknowledged<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        by: &Acknowledgement,
    ) -> Result<(), Refusal> {
        if !self.inquiry.answered(by, &self.speaker.parameters) {
            return Err(Refusal::Stale);
        }
        self.heed_counters(turn, by);
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
        self.attempt_changed(turn.now, before);
        Ok(())
    }

    /// The breaker node knows a newer key of a node than this one does: somebody may have the
    /// older one who should not.
    fn heed_counters(&mut self, turn: &mut Turn<'_, impl Scheme>, by: &Acknowledgement) {
        for (node, &counter) in NodeId::ALL.into_iter().zip(&by.counters) {
            if node != self.speaker.me && self.keys.counters.raise(node, counter) {
                self.forget(node);
                self.announcements.hasten(turn.now, &self.speaker.parameters);
                turn.effects.push(Effect::Distrust { node, counter });
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
    fn admit<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        node: NodeId,
        key: S::WorkingKey,
    ) -> Result<u64, Refusal> {
        let admitted = self.keys.admit(turn, node, key)?;
        if admitted.is_new {
            self.forget(node);
        }
        Ok(admitted.counter)
    }

    fn share<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        turn: &mut Turn<'_, S>,
        heard: Heard<P>,
    ) -> Result<(), Refusal> {
        let (ProtocolState::Peer(peer), Standing::Known { state, generation }) =
            (&mut self.protocol, self.standing)
        else {
            return Err(Refusal::Misdirected);
        };
        let possible = Attempt { action: state.breaker().opposite(), generation };
        peer.hear(turn, heard, possible, &self.speaker)?;
        if state.attempted().is_some() {
            peer.combine(turn, possible, &self.speaker);
        }
        Ok(())
    }

    fn speak<S: Scheme<Proof = P, Certificate = C>>(&mut self, turn: &mut Turn<'_, S>) {
        let tick = turn.tick();
        let Some(attempt) = self.attempt() else { return };
        if self.spoke == Some(tick) {
            return;
        }
        self.spoke = Some(tick);
        match &mut self.protocol {
            ProtocolState::Arbiter(by) => by.speak(turn, attempt, &self.speaker),
            ProtocolState::Peer(by) => by.speak(turn, attempt, &self.speaker),
        }
    }

    fn ask(&mut self, turn: &mut Turn<'_, impl Scheme>) {
        let attempts = self.attempt().is_some();
        if self.inquiry.due(turn.now, &self.speaker.parameters, attempts) {
            turn.send(Party::Breaker, Message::Query { tick: turn.tick() });
        }
    }

    fn announce(&mut self, turn: &mut Turn<'_, impl Scheme>) {
        let to = self.announcements.due(turn.now, &self.keys.counters, &self.speaker.parameters);
        for to in to {
            if let Some(key) = turn.scheme.working_key() {
                turn.send(to, Message::Announcement { key });
            }
        }
    }
}
