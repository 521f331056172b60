//! One node on a bench: events in by hand, effects out to be looked at.

use std::time::Duration;

use quorum::{
    Acknowledgement, Action, Attempt, Breaker, BreakerEvent, BreakerEventOf, BreakerId, CommonTime,
    Counters, Effect, EffectOf, Epoch, Event, EventOf, Evidence, Gen, Message, MessageOf, NODES,
    NodeId, Parameters, Party, Protocol, Refusal, Relay, Remembered, Scheme, Speaker, Statement,
    StationId, Subject, Tick,
};

use crate::symbolic::{Certificate, Proof, Symbolic};

pub(crate) const A: NodeId = NodeId::ALL[0];
pub(crate) const B: NodeId = NodeId::ALL[1];
pub(crate) const C: NodeId = NodeId::ALL[2];
pub(crate) const D: NodeId = NodeId::ALL[3];

pub(crate) type Said = MessageOf<Symbolic>;
pub(crate) type Heard = EventOf<Symbolic>;
pub(crate) type Done = EffectOf<Symbolic>;

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

/// The only action that the breaker can do next.
pub(crate) fn possible(remembered: &Remembered) -> Attempt {
    Attempt { action: remembered.state.opposite(), generation: remembered.generation }
}

pub(crate) fn vote(node: NodeId, attempt: Attempt, tick: u64) -> Said {
    let tick = Tick(tick);
    let proof = proof(node, subject(Protocol::Arbiter).statement(attempt, tick));
    Message::Vote { attempt, tick, proof }
}

pub(crate) fn share(node: NodeId, attempt: Attempt, tick: u64) -> Said {
    let tick = Tick(tick);
    let [proof, proof_next] = [tick, tick.plus(1)]
        .map(|tick| proof(node, subject(Protocol::Peer).statement(attempt, tick)));
    Message::Share { attempt, tick, proof, proof_next }
}

pub(crate) fn certificate(nodes: [NodeId; 2], attempt: Attempt, tick: u64) -> Said {
    let tick = Tick(tick);
    let statement = subject(Protocol::Peer).statement(attempt, tick);
    let certificate = Certificate::of(nodes.map(|node| proof(node, statement)));
    Message::Certificate { attempt, tick, certificate }
}

/// One bit flipped in each proof.
pub(crate) fn broken(message: Said) -> Said {
    match message {
        Said::Vote { attempt, tick, proof } => Said::Vote { attempt, tick, proof: proof.broken() },
        Said::Share { attempt, tick, proof, proof_next } => {
            let (proof, proof_next) = (proof.broken(), proof_next.broken());
            Said::Share { attempt, tick, proof, proof_next }
        }
        Said::Certificate { attempt, tick, certificate } => {
            Said::Certificate { attempt, tick, certificate: certificate.broken() }
        }
        Said::Announcement { key } => Said::Announcement { key: key.broken() },
        other => other,
    }
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
        let remembered = Remembered {
            state: Action::Close,
            generation: Gen(0),
            acted_at: CommonTime::ZERO,
            counters: Counters::new([1; NODES]),
        };
        let (start, parameters) = (CommonTime::ZERO, Parameters::default());
        let breaker = Breaker::new(start, subject(protocol), parameters, remembered);
        Self { breaker, scheme: Symbolic::new(None, [1; NODES]), now: us(100_000) }
    }

    pub(crate) fn at(&mut self, now: CommonTime) -> &mut Self {
        self.now = now;
        self
    }

    fn step(&mut self, event: BreakerEventOf<Symbolic>) -> Vec<Done> {
        let mut effects = Vec::new();
        self.breaker.step(self.now, event, &mut self.scheme, &mut effects);
        effects
    }

    pub(crate) fn hears(&mut self, from: NodeId, message: Said) -> Vec<Done> {
        self.step(BreakerEvent::Received { from, message })
    }

    pub(crate) fn wakes(&mut self) -> Vec<Done> {
        self.step(BreakerEvent::Deadline)
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

    pub(crate) fn step(&mut self, event: Heard) -> Vec<Done> {
        let mut effects = Vec::new();
        self.relay.step(self.now, event, &mut self.scheme, &mut effects);
        effects
    }

    pub(crate) fn hears(&mut self, from: Party, message: Said) -> Vec<Done> {
        self.step(Event::Received { from, message })
    }

    pub(crate) fn decides(&mut self, action: Action) -> Vec<Done> {
        self.step(Event::Decided(action))
    }

    pub(crate) fn wakes(&mut self) -> Vec<Done> {
        self.step(Event::Deadline)
    }
}

pub(crate) fn acknowledgement(state: Action, generation: u64, tick: u64) -> Said {
    acknowledgement_of_keys(state, generation, tick, [1; NODES])
}

/// From a breaker node that knows keys with these counters.
pub(crate) fn acknowledgement_of_keys(
    state: Action,
    generation: u64,
    tick: u64,
    counters: [u64; NODES],
) -> Said {
    let (generation, tick) = (Gen(generation), Tick(tick));
    let acted_at = CommonTime::ZERO;
    Message::Acknowledgement(Acknowledgement { generation, state, acted_at, tick, counters })
}

pub(crate) fn actions(effects: &[Done]) -> Vec<Action> {
    let action = |effect: &_| match effect {
        Effect::Operate { action, .. } => Some(*action),
        _ => None,
    };
    effects.iter().filter_map(action).collect()
}

pub(crate) fn sent(effects: &[Done]) -> Vec<(Party, Said)> {
    let message = |effect: &_| match effect {
        Effect::Send { to, message } => Some((*to, message.clone())),
        _ => None,
    };
    effects.iter().filter_map(message).collect()
}

/// The certificates that were sent to the breaker node.
pub(crate) fn certified(effects: &[Done]) -> Vec<Said> {
    let is_certificate =
        |(to, message): &_| *to == Party::Breaker && matches!(message, Message::Certificate { .. });
    sent(effects).into_iter().filter(is_certificate).map(|(_, message)| message).collect()
}

pub(crate) fn blamed(effects: &[Done]) -> Vec<Evidence<Proof>> {
    let evidence = |effect: &_| match effect {
        Effect::Blame(evidence) => Some(evidence.clone()),
        _ => None,
    };
    effects.iter().filter_map(evidence).collect()
}

/// Why a message was refused.
pub(crate) fn refused(effects: &[Done]) -> Option<Refusal> {
    effects.iter().find_map(|effect| match effect {
        Effect::Refused { why, .. } => Some(*why),
        _ => None,
    })
}
