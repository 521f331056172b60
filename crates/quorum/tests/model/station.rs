//! A station as the checker explores it: who there is, what the state is, what a step does.
//!
//! The nodes are the state machines of `quorum`, with proofs as symbols; here is only
//! what carries messages between them, and notes what the judge has to know.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quorum::{
    Action, Breaker, BreakerEvent, BreakerEventOf, CommonTime, Counters, Effect, Event, Gen,
    Message, NODES, NodeId, Parameters, Party, Protocol, Relay, Remembered, Speaker, Tick,
};

use super::judge::{self, Due, Fault};
use crate::bench::{Done, Heard, Said, acknowledgement, subject};
use crate::symbolic::{Certificate, Proof, Symbolic};

/// The tick in which runs begin: long after the breaker's dwell, and not at the begin of the scale.
pub(crate) const BEGIN: Tick = Tick(100);
/// Longer than any run.
const NEVER: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    /// What was said arrives at any time, any number of times, in any order, or never.
    Any,
    /// What correct nodes say arrives once, in any order, before any clock ticks.
    Prompt,
}

#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) protocol: Protocol,
    pub(crate) parameters: Parameters,
    /// Who is correct, and up from the begin.
    pub(crate) correct: Vec<NodeId>,
    pub(crate) hostile: NodeId,
    /// How the breaker stands at the begin.
    pub(crate) stands: Action,
    /// If the hostile node is reborn, correct: who is hostile from when the breaker node knows
    /// its new key.
    pub(crate) heir: Option<NodeId>,
    pub(crate) network: Network,
    /// Whether relay nodes hear each other.
    pub(crate) peers_hear: bool,
    /// For how many ticks statements that have expired, or are of gens that have passed, may still
    /// arrive. If for none, it is taken for granted that they are refused.
    pub(crate) late_ticks: u64,
    pub(crate) ticks: u64,
    /// How often the breaker can have moved by then.
    pub(crate) moves: u64,
    /// How many steps gave evidence against a hostile node.
    pub(crate) evidence: AtomicU64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) relay: Relay<Proof, Certificate>,
    pub(crate) keys: [u64; NODES],
    pub(crate) tick: Tick,
    /// At which gen of the breaker its relay decided what it attempts.
    pub(crate) decided: Option<Gen>,
}

/// All nodes, their clocks, and what is on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) nodes: Vec<Node>,
    pub(crate) breaker: Breaker,
    pub(crate) breaker_keys: [u64; NODES],
    pub(crate) tick: Tick,
    /// When the breaker last moved, by its clock.
    pub(crate) acted: Option<Tick>,
    /// What correct nodes have said, while it is of use to anybody.
    pub(crate) said: BTreeSet<(Party, Said)>,
    /// On a prompt network: what has yet to arrive, and where.
    pub(crate) pending: BTreeSet<(Party, Party, Said)>,
    pub(crate) due: Option<Due>,
    pub(crate) fault: Option<Fault>,
}

impl Station {
    /// So many nodes are correct and up, from the second on. The first one is hostile, because it
    /// is the one whose proofs others look at first. The rest are down.
    pub(crate) fn new(
        protocol: Protocol,
        network: Network,
        correct: usize,
        ticks: u64,
        moves: u64,
    ) -> Self {
        let ms = Duration::from_millis;
        let look_ahead_ticks = u64::from(protocol == Protocol::Peer);
        let parameters = Parameters {
            look_ahead_ticks,
            dwell_before_trip: ms(2 + look_ahead_ticks),
            dwell_before_close: ms(3 + look_ahead_ticks),
            query_interval: NEVER,
            heartbeat_min: NEVER,
            heartbeat_max: NEVER,
            presence_interval: NEVER,
            ..Parameters::default()
        };
        assert_eq!(parameters.problem(), None);
        Self {
            protocol,
            parameters,
            correct: NodeId::ALL[1..=correct].to_vec(),
            hostile: NodeId::ALL[0],
            stands: Action::Close,
            heir: None,
            network,
            peers_hear: protocol == Protocol::Peer,
            late_ticks: 0,
            ticks,
            moves,
            evidence: AtomicU64::new(0),
        }
    }

    /// Long after the last action, at gen 0, everybody known to everybody.
    pub(crate) fn begin(&self) -> State {
        let remembered = Remembered {
            state: self.stands,
            generation: Gen(0),
            acted_at: CommonTime::ZERO,
            counters: Counters::new([1; NODES]),
        };
        let subject = subject(self.protocol);
        let mut breaker = Breaker::new(CommonTime::ZERO, subject, self.parameters, remembered);
        let mut scheme = Symbolic::new(None, [1; NODES]);
        breaker.step(BEGIN.begin(), BreakerEvent::Deadline, &mut scheme, &mut Vec::new());
        State {
            nodes: self.correct.iter().map(|&id| self.settled(id)).collect(),
            breaker,
            breaker_keys: [1; NODES],
            tick: BEGIN,
            acted: None,
            said: BTreeSet::new(),
            pending: BTreeSet::new(),
            due: None,
            fault: None,
        }
    }

    fn speaker(&self, me: NodeId) -> Speaker {
        Speaker { me, subject: subject(self.protocol), parameters: self.parameters }
    }

    /// A node that knows all and is known to all.
    pub(crate) fn settled(&self, id: NodeId) -> Node {
        let keys = self.next_keys();
        let counters = Counters::new(keys);
        let relay = Relay::born(BEGIN.begin(), self.speaker(id), self.stands, 1, counters);
        let mut node = Node { id, relay, keys, tick: BEGIN, decided: None };
        let others = NodeId::ALL.into_iter().filter(|&other| other != id).map(Party::Relay);
        for from in others.chain([Party::Breaker]) {
            node.step(Event::Received { from, message: Message::Noted { counter: 1, key: None } });
        }
        let message = acknowledgement(self.stands, 0, BEGIN.0);
        node.step(Event::Received { from: Party::Breaker, message });
        node
    }

    /// The keys that relay nodes use of each other. If one is reborn, they know its next one
    /// already: it is the breaker node that has yet to learn of it.
    fn next_keys(&self) -> [u64; NODES] {
        let mut keys = [1; NODES];
        if self.heir.is_some() {
            keys[self.hostile.index()] = 2;
        }
        keys
    }

    pub(crate) fn liar(&self, state: &State) -> NodeId {
        match self.heir {
            Some(heir) if state.breaker_keys[self.hostile.index()] != 1 => heir,
            _ => self.hostile,
        }
    }

    /// The hostile node is reborn, at the time of some clock, with a new key.
    pub(crate) fn is_born(&self, state: &mut State, tick: Tick, stands: Action) {
        let id = self.hostile;
        let keys = self.next_keys();
        let speaker = self.speaker(id);
        let relay = Relay::born(tick.begin(), speaker, stands, 2, Counters::new(keys));
        state.nodes.push(Node { id, relay, keys, tick, decided: None });
        self.relay_step(state, id, Event::Deadline);
    }

    /// A message arrives, if the channel lets it pass: under the sender's present key, or keys
    /// themselves.
    pub(crate) fn arrives(&self, state: &mut State, from: (Party, u64), to: Party, message: Said) {
        let (from, key) = from;
        let keys = match to {
            Party::Breaker => state.breaker_keys,
            Party::Relay(id) => state.node(id).keys,
        };
        let passes = match from {
            Party::Breaker => true,
            Party::Relay(id) => {
                matches!(message, Message::Announcement { .. } | Message::Noted { .. })
                    || keys[id.index()] == key
            }
        };
        match (to, from) {
            _ if !passes => {}
            (Party::Breaker, Party::Relay(from)) => {
                self.breaker_step(state, BreakerEvent::Received { from, message });
            }
            (Party::Relay(to), from) => {
                self.relay_step(state, to, Event::Received { from, message });
            }
            (Party::Breaker, Party::Breaker) => {}
        }
    }

    /// A node takes in an event; what it says is on its way.
    pub(crate) fn relay_step(&self, state: &mut State, id: NodeId, event: Heard) {
        let generation = state.breaker.remembered().generation;
        let node = state.node_mut(id);
        let decides = matches!(event, Event::Decided(_) | Event::Withdrawn);
        let effects = node.step(event);
        if decides {
            node.decided = Some(generation);
        }
        if node.relay.generation().is_some() && node.relay.attempt().is_none() {
            node.decided = None;
        }
        state.fault = state.fault.or(judge::attempts(state.node(id)));
        for effect in effects {
            self.carry_out(state, Party::Relay(id), effect);
        }
    }

    /// The breaker node takes in an event; what it does is judged.
    pub(crate) fn breaker_step(&self, state: &mut State, event: BreakerEventOf<Symbolic>) {
        let before = state.breaker.remembered();
        let mut scheme = Symbolic::new(None, state.breaker_keys);
        let mut effects = Vec::new();
        state.breaker.step(state.tick.begin(), event, &mut scheme, &mut effects);
        for effect in effects {
            if let Effect::Operate { action, generation } = effect {
                let judged = judge::operates(self, state, &before, action, generation);
                state.fault = state.fault.or(judged);
                state.acted = Some(state.tick);
            }
            self.carry_out(state, Party::Breaker, effect);
        }
    }

    fn carry_out(&self, state: &mut State, by: Party, effect: Done) {
        match effect {
            Effect::Send { to, message } => self.send(state, by, to, message),
            Effect::Blame(evidence) if evidence.node == self.liar(state) => {
                self.evidence.fetch_add(1, Ordering::Relaxed);
            }
            Effect::Blame(_) => state.fault = state.fault.or(Some(Fault::BlamesCorrect)),
            Effect::Adopt { node, counter, .. } => {
                let keys = match by {
                    Party::Breaker => &mut state.breaker_keys,
                    Party::Relay(id) => &mut state.node_mut(id).keys,
                };
                keys[node.index()] = counter;
            }
            Effect::Distrust { node, .. } => {
                if let Party::Relay(id) = by {
                    state.node_mut(id).keys[node.index()] = 0;
                }
            }
            Effect::Operate { .. } | Effect::Refused { .. } => {}
        }
    }

    fn send(&self, state: &mut State, by: Party, to: Party, message: Said) {
        let is_up = match to {
            Party::Breaker => true,
            Party::Relay(id) => {
                state.nodes.iter().any(|node| node.id == id)
                    && (self.peers_hear || by == Party::Breaker)
            }
        };
        if self.network == Network::Prompt && is_up {
            state.pending.insert((by, to, message.clone()));
        }
        let is_stated = matches!(message, Message::Vote { .. } | Message::Share { .. });
        if self.network == Network::Any || is_stated {
            state.said.insert((by, message));
        }
    }
}

impl Node {
    pub(crate) fn step(&mut self, event: Heard) -> Vec<Done> {
        self.step_counted(event).0
    }

    /// And how many combinations that took.
    pub(crate) fn step_counted(&mut self, event: Heard) -> (Vec<Done>, u64) {
        let mut scheme = Symbolic::new(Some(self.id), self.keys);
        let mut effects = Vec::new();
        self.relay.step(self.tick.begin(), event, &mut scheme, &mut effects);
        (effects, scheme.combinations)
    }
}

impl State {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        self.nodes.iter().find(|node| node.id == id).expect("the node is up")
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.id == id).expect("the node is up")
    }

    /// All clocks; no two differ by more than a tick.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = (Party, Tick)> {
        let relays = self.nodes.iter().map(|node| (Party::Relay(node.id), node.tick));
        relays.chain([(Party::Breaker, self.tick)])
    }
}
