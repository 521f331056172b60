//! One node on a bench: events in by hand, effects out to be looked at.

use std::time::Duration;

use quorum::CommonTime;
use quorum::{
    Acknowledgement, Action, Attempt, Breaker, BreakerEvent, BreakerId, Counters, Effect, EffectOf,
    Epoch, Event, Evidence, Gen, Message, MessageOf, NODES, NodeId, Parameters, Party, Protocol,
    Refusal, Relay, Remembered, Scheme, Speaker, Statement, StationId, Subject, Tick,
};

use crate::symbolic::{Certificate, Proof, Symbolic};

pub(crate) const A: NodeId = NodeId::ALL[0];
pub(crate) const B: NodeId = NodeId::ALL[1];
pub(crate) const C: NodeId = NodeId::ALL[2];
pub(crate) const D: NodeId = NodeId::ALL[3];

pub(crate) type Told = Effect<Proof, Certificate, crate::symbolic::WorkingKey>;

/// A moment, in microseconds.
pub(crate) fn us(us: u64) -> CommonTime {
    CommonTime::from_ns(us * 1000)
}

pub(crate) fn subject(protocol: Protocol) -> Subject {
    Subject { protocol, station: StationId(7), breaker: BreakerId(3), epoch: Epoch(1) }
}

/// The proof of a node of this statement, with its first key.
pub(crate) fn proof(node: NodeId, statement: Statement) -> Proof {
    Symbolic::new(Some(node), [1; NODES]).prove(&statement).expect("a relay node has a key")
}

pub(crate) fn attempt(action: Action, generation: u64) -> Attempt {
    Attempt { action, generation: Gen(generation) }
}

pub(crate) fn statement(protocol: Protocol, attempt: Attempt, tick: u64) -> Statement {
    let Attempt { action, generation } = attempt;
    Statement { subject: subject(protocol), action, generation, tick: Tick(tick) }
}

pub(crate) fn vote(node: NodeId, attempt: Attempt, tick: u64) -> MessageOf<Symbolic> {
    let proof = proof(node, statement(Protocol::Arbiter, attempt, tick));
    Message::Vote { attempt, tick: Tick(tick), proof }
}

pub(crate) fn share(node: NodeId, attempt: Attempt, tick: u64) -> MessageOf<Symbolic> {
    let [proof, proof_next] =
        [tick, tick + 1].map(|tick| proof(node, statement(Protocol::Peer, attempt, tick)));
    Message::Share { attempt, tick: Tick(tick), proof, proof_next }
}

pub(crate) fn certificate(nodes: [NodeId; 2], attempt: Attempt, tick: u64) -> MessageOf<Symbolic> {
    let statement = statement(Protocol::Peer, attempt, tick);
    let certificate = Certificate::of(nodes.map(|node| proof(node, statement)));
    Message::Certificate { attempt, tick: Tick(tick), certificate }
}

/// A breaker node with its scheme.
pub(crate) struct BreakerBench {
    pub(crate) breaker: Breaker,
    pub(crate) scheme: Symbolic,
    pub(crate) now: CommonTime,
}

impl BreakerBench {
    /// Closed, at gen 0, all keys known, up since long before 100 ms, which it is now.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self::with(protocol, Parameters::default())
    }

    pub(crate) fn with(protocol: Protocol, parameters: Parameters) -> Self {
        let remembered = Remembered {
            state: Action::Close,
            generation: Gen(0),
            acted_at: CommonTime::ZERO,
            counters: Counters::new([1; NODES]),
        };
        let breaker = Breaker::new(CommonTime::ZERO, subject(protocol), parameters, remembered);
        Self { breaker, scheme: Symbolic::new(None, [1; NODES]), now: us(100_000) }
    }

    pub(crate) fn at(&mut self, now: CommonTime) -> &mut Self {
        self.now = now;
        self
    }

    pub(crate) fn hears(&mut self, from: NodeId, message: MessageOf<Symbolic>) -> Vec<Told> {
        let mut effects = Vec::new();
        let event = BreakerEvent::Received { from, message };
        self.breaker.step(self.now, event, &mut self.scheme, &mut effects);
        effects
    }

    pub(crate) fn wakes(&mut self) -> Vec<Told> {
        let mut effects = Vec::new();
        self.breaker.step(self.now, BreakerEvent::Deadline, &mut self.scheme, &mut effects);
        effects
    }
}

/// A relay node with its scheme.
pub(crate) struct RelayBench {
    pub(crate) relay: Relay<Proof, Certificate>,
    pub(crate) scheme: Symbolic,
    pub(crate) now: CommonTime,
}

impl RelayBench {
    /// Node A, known to all and knowing all, at gen 0 with the breaker closed, at 100 ms.
    pub(crate) fn new(protocol: Protocol) -> Self {
        let mut bench = Self::born(protocol, us(100_000), Action::Close, Counters::new([1; NODES]));
        bench.wakes();
        let others = [Party::Relay(B), Party::Relay(C), Party::Relay(D), Party::Breaker];
        for from in others {
            bench.hears(from, Message::Noted { counter: 1, key: None });
        }
        bench.hears(Party::Breaker, acknowledgement(Action::Close, 0, 100));
        bench
    }

    /// Node A, which has just been born.
    pub(crate) fn born(
        protocol: Protocol,
        now: CommonTime,
        relay: Action,
        counters: Counters,
    ) -> Self {
        let parameters = Parameters::default();
        let speaker = Speaker { me: A, subject: subject(protocol), parameters };
        let relay = Relay::born(now, speaker, relay, 1, counters);
        Self { relay, scheme: Symbolic::new(Some(A), [1; NODES]), now }
    }

    pub(crate) fn at(&mut self, now: CommonTime) -> &mut Self {
        self.now = now;
        self
    }

    pub(crate) fn after(&mut self, span: Duration) -> &mut Self {
        self.now = self.now.plus(span);
        self
    }

    pub(crate) fn step(
        &mut self,
        event: Event<Proof, Certificate, crate::symbolic::WorkingKey>,
    ) -> Vec<Told> {
        let mut effects = Vec::new();
        self.relay.step(self.now, event, &mut self.scheme, &mut effects);
        effects
    }

    pub(crate) fn hears(&mut self, from: Party, message: MessageOf<Symbolic>) -> Vec<Told> {
        self.step(Event::Received { from, message })
    }

    pub(crate) fn decides(&mut self, action: Action) -> Vec<Told> {
        self.step(Event::Decided(action))
    }

    pub(crate) fn wakes(&mut self) -> Vec<Told> {
        self.step(Event::Deadline)
    }
}

pub(crate) fn acknowledgement(state: Action, generation: u64, tick: u64) -> MessageOf<Symbolic> {
    Message::Acknowledgement(Acknowledgement {
        generation: Gen(generation),
        state,
        acted_at: CommonTime::ZERO,
        tick: Tick(tick),
        counters: [1; NODES],
    })
}

pub(crate) fn actions(effects: &[EffectOf<Symbolic>]) -> Vec<Action> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Operate { action, .. } => Some(*action),
            _ => None,
        })
        .collect()
}

pub(crate) fn sent(effects: &[Told]) -> Vec<(Party, MessageOf<Symbolic>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Send { to, message } => Some((*to, message.clone())),
            _ => None,
        })
        .collect()
}

pub(crate) fn blamed(effects: &[Told]) -> Vec<Evidence<Proof>> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Blame(evidence) => Some(evidence.clone()),
            _ => None,
        })
        .collect()
}

/// Why a message was refused.
pub(crate) fn refused(effects: &[Told]) -> Option<Refusal> {
    effects.iter().find_map(|effect| match effect {
        Effect::Refused { why, .. } => Some(*why),
        _ => None,
    })
}
