//! Five nodes, their clocks and the network between them, a nanosecond at a time.
//!
//! The nodes are the state machines of `quorum`; the world carries out their effects
//! and shows everything to the [`Oracle`].

use std::collections::BTreeMap;
use std::time::Duration;

use quorum::{
    Action, Breaker, BreakerEvent, BreakerEventOf, CommonTime, Counters, Effect, Event, Gen,
    Message, NODES, NodeId, Party, Rejuvenation, Relay, Remembered, Speaker, Tick, TokenEvent,
    Tokens,
};

use super::hostile::{Datagram, Hostile};
use super::oracle::{Oracle, View};
use super::plan::{Mode, Plan, Style};
use crate::bench::{Done, Heard, subject};
use crate::symbolic::{Certificate, Proof, Symbolic, WorkingKey};
use random::Random;

/// Where the second of two twins sits, behind the four nodes.
pub(crate) const TWIN: usize = NODES;
/// Key of a node that the receiver does not know.
pub(crate) const NO_KEY: u64 = u64::MAX;
/// When runs begin: late enough for clocks that are behind.
const BEGIN_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A relay node of this world.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    /// None while it is down, or hostile without being a twin.
    pub(crate) relay: Option<Relay<Proof, Certificate>>,
    pub(crate) scheme: Symbolic,
    pub(crate) counter: u64,
    /// What it has written down of others' counters.
    written: [u64; NODES],
    wakes_ns: u64,
    /// What its relay decided last, and in which campaign.
    campaign: u64,
    last: Action,
}

impl Node {
    fn new(id: NodeId, last: Action) -> Self {
        Self {
            id,
            relay: None,
            scheme: Symbolic::new(Some(id), [NO_KEY; NODES]),
            counter: 0,
            written: [0; NODES],
            wakes_ns: u64::MAX,
            campaign: 0,
            last,
        }
    }
}

enum What {
    Arrives { to: Party, slot: Option<usize>, datagram: Datagram },
    Wakes { slot: usize },
    BreakerWakes,
    Decides { slot: usize, campaign: u64, action: Option<Action>, again: bool },
    Campaign,
    Lies,
    Dies(usize),
    IsBorn(usize),
    BreakerDies,
    TokenDue,
}

/// What is still to happen, in the order of time; what is due at one moment, in the order in
/// which it was put there, so that a seed gives one run.
#[derive(Default)]
struct Queue {
    order: BTreeMap<(u64, u64), What>,
    count: u64,
}

impl Queue {
    fn push(&mut self, ns: u64, what: What) {
        self.count += 1;
        self.order.insert((ns, self.count), what);
    }

    fn pop(&mut self) -> Option<(u64, What)> {
        self.order.pop_first().map(|((ns, _), what)| (ns, what))
    }
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) mode: Mode,
    pub(crate) random: Random,
    pub(crate) now_ns: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) breaker: Breaker,
    pub(crate) breaker_scheme: Symbolic,
    pub(crate) hostile: Option<Hostile>,
    /// The attacker who still has the key that a hostile node had before it was reborn.
    pub(crate) ghost: Option<Hostile>,
    pub(crate) oracle: Oracle,
    queue: Queue,
    written: Remembered,
    breaker_wakes_ns: u64,
    tokens: Tokens,
    campaigns: u64,
    pub(crate) events: u64,
}

impl World {
    pub(crate) fn new(seed: u64, mode: Mode) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::of(mode, &mut random);
        let begin = BEGIN_NS;
        let remembered = Remembered {
            state: random.pick(&[Action::Close, Action::Trip]),
            generation: Gen(random.below(5)),
            acted_at: CommonTime::ZERO,
            counters: Counters::default(),
        };
        let subject = subject(plan.protocol);
        let local =
            |slot: usize| CommonTime::from_ns(begin.wrapping_add_signed(plan.clock_ns[slot]));
        let breaker = Breaker::new(local(NODES), subject, plan.parameters, remembered);
        let nodes = NodeId::ALL.map(|id| Node::new(id, remembered.state));
        let rejuvenation = Rejuvenation {
            interval: Duration::from_millis(random.within(30, 300)),
            silence_max: Duration::from_millis(1200),
        };
        let mut world = Self {
            mode,
            now_ns: begin,
            nodes: nodes.into(),
            breaker,
            breaker_scheme: Symbolic::new(None, [NO_KEY; NODES]),
            hostile: plan.hostile.map(|(node, style)| Hostile::new(node, style, 1)),
            ghost: None,
            oracle: Oracle::new(&plan),
            queue: Queue::default(),
            written: remembered,
            breaker_wakes_ns: begin,
            tokens: Tokens::new(local(NODES), rejuvenation),
            campaigns: 0,
            events: 0,
            plan,
            random,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let begin = self.now_ns;
        if let Some((id, Style::Twins)) = self.plan.hostile {
            self.nodes.push(Node::new(id, self.nodes[id.index()].last));
        }
        self.queue.push(begin, What::BreakerWakes);
        for slot in 0..self.nodes.len() {
            self.queue.push(begin, What::IsBorn(slot));
        }
        self.queue.push(begin + 20 * MS, What::Campaign);
        self.queue.push(begin, What::Lies);
        self.queue.push(begin + 100 * MS, What::TokenDue);
        if self.plan.crashes {
            let slot = self.random.below(NODES as u64) as usize;
            self.queue.push(begin + self.random.below(200 * MS), What::Dies(slot));
            self.queue.push(begin + self.random.below(500 * MS), What::BreakerDies);
        }
    }

    /// Runs to the end of the plan.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let end = BEGIN_NS + self.plan.duration_ns;
        while let Some((ns, what)) = self.queue.pop() {
            if ns > end {
                break;
            }
            self.now_ns = ns;
            self.events += 1;
            self.happens(what)?;
            if self.mode == Mode::Liveness {
                let view = self.view();
                self.oracle.expects(self.now_ns, view, &self.breaker)?;
            }
        }
        Ok(())
    }

    fn happens(&mut self, what: What) -> Result<(), String> {
        match what {
            What::Arrives { to, slot, datagram } => self.arrives(to, slot, datagram)?,
            What::Wakes { slot } => {
                if self.nodes[slot].wakes_ns == self.now_ns {
                    self.nodes[slot].wakes_ns = u64::MAX;
                    self.relay_step(slot, Event::Deadline)?;
                }
            }
            What::BreakerWakes => {
                if self.breaker_wakes_ns == self.now_ns {
                    self.breaker_wakes_ns = u64::MAX;
                    self.breaker_step(BreakerEvent::Deadline)?;
                }
            }
            What::Decides { slot, campaign, action, again } => {
                self.decides(slot, campaign, action, again)?;
            }
            What::Campaign => self.campaign(),
            What::Lies => self.lies(),
            What::Dies(slot) => self.dies(slot),
            What::IsBorn(slot) => self.is_born(slot)?,
            What::BreakerDies => self.breaker_dies(),
            What::TokenDue => self.token_due(),
        }
        Ok(())
    }

    /// What a clock shows now; that of the breaker node is the last.
    pub(crate) fn local(&self, slot: usize) -> CommonTime {
        let clock = if slot == TWIN { self.nodes[TWIN].id.index() } else { slot };
        CommonTime::from_ns(self.now_ns.wrapping_add_signed(self.plan.clock_ns[clock]))
    }

    pub(crate) fn breaker_local(&self) -> CommonTime {
        CommonTime::from_ns(self.now_ns.wrapping_add_signed(self.plan.clock_ns[NODES]))
    }

    pub(crate) fn is_hostile(&self, node: NodeId) -> bool {
        self.hostile.as_ref().is_some_and(|hostile| hostile.node == node)
    }

    /// The correct relay nodes that are up.
    pub(crate) fn correct(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes[..NODES].iter();
        nodes.filter(|node| node.relay.is_some() && !self.is_hostile(node.id))
    }

    /// Whether each node is correct and up, what it attempts, and whose keys it knows.
    fn view(&self) -> [Option<View>; NODES] {
        std::array::from_fn(|slot| {
            let node = &self.nodes[slot];
            let relay = node.relay.as_ref().filter(|_| !self.is_hostile(node.id))?;
            let knows = |other: &Node| node.scheme.keys[other.id.index()] == other.counter;
            Some(View {
                attempt: relay.attempt(),
                generation: relay.generation(),
                is_known: self.breaker_scheme.keys[slot] == node.counter,
                knows: std::array::from_fn(|other| knows(&self.nodes[other])),
            })
        })
    }

    fn relay_step(&mut self, slot: usize, event: Heard) -> Result<(), String> {
        let now = self.local(slot);
        let mut effects = Vec::new();
        let node = &mut self.nodes[slot];
        let Some(relay) = &mut node.relay else { return Ok(()) };
        let combinations = node.scheme.combinations;
        relay.step(now, event, &mut node.scheme, &mut effects);
        let combinations = node.scheme.combinations - combinations;
        let (id, next) = (node.id, relay.next_deadline());
        self.oracle.works(id, Tick::at(now), combinations, effects.len())?;
        for effect in effects {
            self.relay_effect(slot, id, effect)?;
        }
        let next_ns = next.ns().wrapping_add_signed(-self.plan.clock_ns[id.index()]);
        let next_ns = next_ns.max(self.now_ns + 1);
        if self.nodes[slot].wakes_ns == u64::MAX || next_ns < self.nodes[slot].wakes_ns {
            let late = self.random.below(self.plan.network.wake_ns + 1);
            self.nodes[slot].wakes_ns = next_ns + late;
            self.queue.push(next_ns + late, What::Wakes { slot });
        }
        Ok(())
    }

    fn relay_effect(&mut self, slot: usize, id: NodeId, effect: Done) -> Result<(), String> {
        match effect {
            Effect::Send { to, message } => {
                let is_correct = !self.is_hostile(id);
                if is_correct {
                    self.oracle.says(id, self.now_ns, &message);
                }
                // Each twin has an audience of its own.
                if let (false, Party::Relay(peer)) = (is_correct, to)
                    && (peer.index() % 2 == 0) == (slot == TWIN)
                {
                    return Ok(());
                }
                let key = self.nodes[slot].counter;
                let datagram = Datagram { from: Party::Relay(id), key, message };
                self.send(to, datagram);
            }
            Effect::Adopt { node, counter, .. } => {
                self.nodes[slot].scheme.keys[node.index()] = counter;
                self.nodes[slot].written[node.index()] = counter;
            }
            Effect::Distrust { node, counter } => {
                self.nodes[slot].scheme.keys[node.index()] = NO_KEY;
                self.nodes[slot].written[node.index()] = counter;
            }
            Effect::Blame(evidence) => self.oracle.blames(evidence.node)?,
            Effect::Refused { .. } => {}
            Effect::Operate { .. } => return Err(format!("relay node {id} operates the breaker")),
        }
        Ok(())
    }

    fn breaker_step(&mut self, event: BreakerEventOf<Symbolic>) -> Result<(), String> {
        let now = self.breaker_local();
        let from = match &event {
            BreakerEvent::Received { from, .. } => Some(*from),
            BreakerEvent::Deadline => None,
        };
        let mut effects = Vec::new();
        let checks = self.breaker_scheme.checks;
        self.breaker.step(now, event, &mut self.breaker_scheme, &mut effects);
        let checks = self.breaker_scheme.checks - checks;
        self.oracle.checks(from, Tick::at(now), checks, effects.len())?;
        for effect in effects {
            match effect {
                Effect::Operate { action, generation } => self.operates(action, generation)?,
                Effect::Send { to, message } => {
                    self.send(to, Datagram { from: Party::Breaker, key: 0, message });
                }
                Effect::Adopt { node, counter, .. } => self.breaker_adopts(node, counter),
                Effect::Distrust { .. } => {
                    return Err("the breaker node distrusts a key by hearsay".into());
                }
                Effect::Blame(evidence) => self.oracle.blames(evidence.node)?,
                Effect::Refused { .. } => {}
            }
        }
        let next = self.breaker.next_deadline().ns();
        let next = next.wrapping_add_signed(-self.plan.clock_ns[NODES]).max(self.now_ns + 1);
        if self.breaker_wakes_ns == u64::MAX || next < self.breaker_wakes_ns {
            self.breaker_wakes_ns = next;
            self.queue.push(next, What::BreakerWakes);
        }
        Ok(())
    }

    fn operates(&mut self, action: Action, generation: Gen) -> Result<(), String> {
        self.written = self.breaker.remembered();
        let mut liars = [false; NODES];
        if let Some(hostile) = &self.hostile {
            liars[hostile.node.index()] = true;
        }
        if let Some(ghost) = &self.ghost {
            let known = self.breaker_scheme.keys[ghost.node.index()];
            liars[ghost.node.index()] |= known == ghost.key;
        }
        let local = self.breaker_local();
        self.oracle.operates(self.now_ns, local, action, generation, liars)
    }

    fn breaker_adopts(&mut self, node: NodeId, counter: u64) {
        self.breaker_scheme.keys[node.index()] = counter;
        self.written.counters = self.breaker.remembered().counters;
        // The breaker node hands out tokens, so it knows that the holder is back.
        self.tokens_step(TokenEvent::Reborn(node));
        let was_hostile = self.ghost.as_ref().is_some_and(|ghost| ghost.node == node);
        if was_hostile && self.hostile.is_none() && self.random.chance(500) {
            self.corrupt_another(node);
        }
    }

    /// The attacker has lost a node to its rebirth and takes another one.
    fn corrupt_another(&mut self, but: NodeId) {
        let node = self.random.pick(&NodeId::ALL);
        if node != but && self.nodes[node.index()].relay.is_some() {
            let key = self.nodes[node.index()].counter;
            self.nodes[node.index()].relay = None;
            self.nodes[node.index()].wakes_ns = u64::MAX;
            self.hostile = Some(Hostile::new(node, Style::Anything, key));
            self.oracle.corrupted(node);
        }
    }

    /// Into the network. What hostile nodes send goes as they like.
    pub(crate) fn send(&mut self, to: Party, datagram: Datagram) {
        let network = self.plan.network;
        if self.random.chance(network.lost) {
            return;
        }
        let mut delay = self.random.within(network.delay_min_ns, network.delay_max_ns);
        if self.random.chance(network.late) {
            delay += self.random.below(network.late_ns);
        }
        if self.random.chance(network.repeated) {
            let again = self.now_ns + delay + self.random.below(self.random_span());
            self.put(again, to, datagram.clone());
        }
        self.put(self.now_ns + delay, to, datagram);
    }

    fn random_span(&self) -> u64 {
        if self.events.is_multiple_of(2) { 3000 * MS } else { 3 * MS }
    }

    /// Arrives at this time, whatever the network is like.
    pub(crate) fn put(&mut self, ns: u64, to: Party, datagram: Datagram) {
        if let Party::Relay(node) = to
            && self.nodes.len() > TWIN
            && self.nodes[TWIN].id == node
        {
            let twin = datagram.clone();
            self.queue.push(ns, What::Arrives { to, slot: Some(TWIN), datagram: twin });
        }
        let slot = match to {
            Party::Relay(node) => Some(node.index()),
            Party::Breaker => None,
        };
        self.queue.push(ns, What::Arrives { to, slot, datagram });
    }

    fn arrives(
        &mut self,
        to: Party,
        slot: Option<usize>,
        datagram: Datagram,
    ) -> Result<(), String> {
        if let (Party::Relay(node), Some(hostile)) = (to, &mut self.hostile)
            && hostile.node == node
        {
            hostile.hears(&datagram);
        }
        let Datagram { from, key, message } = datagram;
        // The channel: under the sender's present key, or for keys themselves under its root key,
        // which no hostile node gets hold of; safety must not depend on that.
        let known = |keys: &[u64; NODES]| match (from, &message) {
            (Party::Breaker, _) => true,
            (
                Party::Relay(node),
                Message::Announcement { key } | Message::Noted { key: Some(key), .. },
            ) => self.mode == Mode::Safety || *key == WorkingKey::certified(node, key.counter),
            (Party::Relay(node), _) => keys[node.index()] == key,
        };
        match (to, from) {
            (Party::Breaker, Party::Relay(from)) if known(&self.breaker_scheme.keys) => {
                self.tokens_step(TokenEvent::Heard(from));
                self.breaker_step(BreakerEvent::Received { from, message })
            }
            (Party::Relay(_), from) => {
                let slot = slot.expect("relay nodes have a slot");
                if known(&self.nodes[slot].scheme.keys) {
                    return self.relay_step(slot, Event::Received { from, message });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn decides(
        &mut self,
        slot: usize,
        campaign: u64,
        action: Option<Action>,
        again: bool,
    ) -> Result<(), String> {
        if self.nodes[slot].campaign != campaign {
            return Ok(());
        }
        if let Some(action) = action {
            self.nodes[slot].last = action;
            if self.nodes[slot].relay.is_some() && !self.is_hostile(self.nodes[slot].id) {
                self.oracle.decides(self.nodes[slot].id, self.now_ns, action);
            }
        }
        if again {
            // Elements that operate say so in each cycle of the relay.
            let what = What::Decides { slot, campaign, action, again };
            self.queue.push(self.now_ns + MS, what);
        }
        self.relay_step(slot, action.map_or(Event::Withdrawn, Event::Decided))
    }

    /// Something happens in the grid, or an operator wants something.
    fn campaign(&mut self) {
        self.campaigns += 1;
        let state = self.breaker.remembered().state;
        let action = if self.random.chance(900) { state.opposite() } else { state };
        let skew_ns = self.random.pick(&[0, 300_000, 2 * MS, 10 * MS]);
        for slot in 0..self.nodes.len() {
            let differs = self.plan.disagreement && self.random.chance(250);
            let action = match self.random.below(3) {
                _ if !differs => Some(action),
                0 => None,
                1 => Some(action.opposite()),
                _ => continue,
            };
            let campaign = self.campaigns;
            self.nodes[slot].campaign = campaign;
            let again = action == Some(Action::Trip) && self.random.chance(700);
            let ns = self.now_ns + self.random.below(skew_ns + 1);
            self.queue.push(ns, What::Decides { slot, campaign, action, again });
        }
        let pause = self.random.pick(&[3 * MS, 25 * MS, 60 * MS]);
        let next = self.now_ns + self.random.within(pause / 2, pause);
        self.queue.push(next, What::Campaign);
    }

    fn lies(&mut self) {
        let mut pause = 10 * MS;
        if let Some(mut ghost) = self.ghost.take() {
            pause = pause.min(ghost.acts(self));
            self.ghost = Some(ghost);
        }
        if let Some(mut hostile) = self.hostile.take() {
            pause = pause.min(hostile.acts(self));
            self.hostile = Some(hostile);
        }
        self.queue.push(self.now_ns + pause, What::Lies);
    }

    /// In safety mode anybody, at any time.
    fn dies(&mut self, slot: usize) {
        self.destroy(slot);
        let back = self.now_ns + self.random.below(100 * MS);
        self.queue.push(back, What::IsBorn(slot));
        let next = self.random.below(NODES as u64) as usize;
        self.queue.push(back + self.random.below(200 * MS), What::Dies(next));
    }

    fn destroy(&mut self, slot: usize) {
        let node = &mut self.nodes[slot];
        node.relay = None;
        node.wakes_ns = u64::MAX;
        node.scheme.keys = [NO_KEY; NODES];
    }

    /// Clean, with a new working key. A hostile node is correct afterwards, but for what its old
    /// key has signed; twins stay what they are.
    fn is_born(&mut self, slot: usize) -> Result<(), String> {
        let id = self.nodes[slot].id;
        let twins = self.nodes.len() > TWIN && self.nodes[TWIN].id == id;
        if self.is_hostile(id) && !twins {
            if self.nodes[slot].counter == 0 {
                // The node is hostile from the begin: it has a key, and everybody knows it.
                self.nodes[slot].counter = 1;
                self.nodes[slot].scheme.keys[slot] = 1;
                self.announce_for_hostile(id);
                return Ok(());
            }
            self.ghost = self.hostile.take();
        }
        let now = self.local(slot);
        let forgets = self.random.chance(700);
        let node = &mut self.nodes[slot];
        node.counter += 1;
        node.scheme.keys = if forgets {
            [NO_KEY; NODES]
        } else {
            node.written.map(|counter| if counter == 0 { NO_KEY } else { counter })
        };
        node.scheme.keys[id.index()] = node.counter;
        let counters = if forgets { Counters::default() } else { Counters::new(node.written) };
        let (subject, parameters) = (subject(self.plan.protocol), self.plan.parameters);
        let speaker = Speaker { me: id, subject, parameters };
        node.relay = Some(Relay::born(now, speaker, node.last, node.counter, counters));
        self.oracle.is_born(id, self.now_ns);
        self.relay_step(slot, Event::Deadline)
    }

    pub(crate) fn announce_for_hostile(&mut self, id: NodeId) {
        let counter = self.nodes[id.index()].counter;
        let message = Message::Announcement { key: WorkingKey::certified(id, counter) };
        let datagram = Datagram { from: Party::Relay(id), key: counter, message };
        let breaker = (!self.plan.tells_peers_only).then_some(Party::Breaker);
        for to in NodeId::ALL.map(Party::Relay).into_iter().chain(breaker) {
            if to != Party::Relay(id) {
                self.put(self.now_ns + 1, to, datagram.clone());
            }
        }
    }

    fn breaker_dies(&mut self) {
        let now = self.breaker_local();
        let subject = subject(self.plan.protocol);
        self.breaker = Breaker::new(now, subject, self.plan.parameters, self.written);
        self.breaker_wakes_ns = self.now_ns + 1;
        self.queue.push(self.now_ns + 1, What::BreakerWakes);
        self.queue.push(self.now_ns + self.random.below(500 * MS), What::BreakerDies);
    }

    fn token_due(&mut self) {
        self.tokens_step(TokenEvent::Deadline);
        self.queue.push(self.now_ns + 10 * MS, What::TokenDue);
    }

    fn tokens_step(&mut self, event: TokenEvent) {
        let token = self.tokens.step(self.breaker_local(), event);
        let Some(node) = token.filter(|_| self.plan.rebirths) else { return };
        let twins = self.nodes.len() > TWIN && self.nodes[TWIN].id == node;
        let slot = node.index();
        if !self.is_hostile(node) {
            self.destroy(slot);
        }
        if twins {
            // They say that they were reborn, and were not.
            self.tokens_step(TokenEvent::Reborn(node));
        } else {
            let away = self.random.pick(&[MS, 10 * MS, 100 * MS]);
            self.queue.push(self.now_ns + away, What::IsBorn(slot));
        }
    }
}
