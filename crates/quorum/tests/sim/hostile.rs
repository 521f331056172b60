//! What hostile nodes send. They have their own key, all that they have heard, and the luck of an
//! attacker who knows what everybody is up to; what they cannot do is to prove in another's name.

use quorum::{
    Acknowledgement, Action, Attempt, CommonTime, Gen, NODES, NodeId, Party, Protocol, Scheme, Tick,
};

use super::plan::Style;
use super::world::{NO_KEY, World};
use crate::bench::{Said, broken, possible, subject};
use crate::symbolic::{Certificate, Proof, Symbolic, WorkingKey};
use random::Random;

/// A message on its way, with the counter of the key under which the channel authenticates it.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) from: Party,
    pub(crate) key: u64,
    pub(crate) message: Said,
}

/// How much of what it hears a hostile node remembers.
const HEARD_MAX: usize = 64;

/// A hostile node, or an attacker with the key that one had.
pub(crate) struct Hostile {
    pub(crate) node: NodeId,
    style: Style,
    pub(crate) key: u64,
    scheme: Symbolic,
    heard: Vec<Datagram>,
}

impl Hostile {
    pub(crate) fn new(node: NodeId, style: Style, key: u64) -> Self {
        let mut keys = [NO_KEY; NODES];
        keys[node.index()] = key;
        Self { node, style, key, scheme: Symbolic::new(Some(node), keys), heard: Vec::new() }
    }

    pub(crate) fn hears(&mut self, datagram: &Datagram) {
        if self.heard.len() == HEARD_MAX {
            self.heard.swap_remove(0);
        }
        self.heard.push(datagram.clone());
    }

    /// Does something, and says how long it waits until the next thing, in nanoseconds.
    pub(crate) fn acts(&mut self, world: &mut World) -> u64 {
        match self.style {
            Style::Anything => {
                let message = self.anything(world);
                let copies = world.random.pick(&[1, 1, 1, 2, 5]);
                self.sends(world, message, copies);
            }
            Style::Pump => self.pumps(world),
            Style::Corrupt { copies } => {
                let about = self.likely(world);
                let message = self.states(world, about).map(broken);
                self.sends(world, message, copies);
            }
            Style::Equivocate => self.equivocates(world),
            Style::Agree => self.agrees(world),
            Style::Replay => self.replays(world),
            Style::Twins | Style::Silent => return 1_000_000_000,
        }
        match self.style {
            // A flood in about every other tick.
            Style::Corrupt { .. } => world.random.within(500_000, 3_000_000),
            // Each tick begins at all nodes in these, and what is said twice is refused.
            Style::Agree => 200_000,
            _ => world.random.within(20_000, 1_500_000),
        }
    }

    fn sends(&self, world: &mut World, message: Option<Said>, copies: u64) {
        let Some(message) = message else { return };
        let to = self.somebody(&mut world.random, world.plan.protocol, &message);
        for _ in 0..copies {
            self.passes(world, to, message.clone());
        }
    }

    fn passes(&self, world: &mut World, to: Party, message: Said) {
        let delay = world.random.below(400_000);
        let datagram = Datagram { from: Party::Relay(self.node), key: self.key, message };
        world.put(world.now_ns + delay, to, datagram);
    }

    /// To whom such a message goes; now and then to somebody else.
    fn somebody(&self, random: &mut Random, protocol: Protocol, message: &Said) -> Party {
        let to_peer = matches!(message, Said::Share { .. }) || random.chance(30);
        if to_peer || (protocol == Protocol::Peer && random.chance(50)) {
            let away = random.within(1, NODES as u64 - 1) as usize;
            Party::Relay(NodeId::ALL[(self.node.index() + away) % NODES])
        } else {
            Party::Breaker
        }
    }

    /// The statement that is most likely to count, give or take a tick.
    fn likely(&self, world: &mut World) -> (Attempt, Tick) {
        let attempt = possible(&world.breaker.remembered());
        let tick = Tick::at(world.breaker_local()).plus(world.random.below(3)).minus(1);
        (attempt, tick)
    }

    fn anything_about(&self, world: &mut World) -> (Attempt, Tick) {
        let (likely, tick) = self.likely(world);
        let random = &mut world.random;
        let generation = match random.below(10) {
            0 => likely.generation.next(),
            1 => Gen(likely.generation.0.saturating_sub(1)),
            2 => random.pick(&[Gen(0), Gen(u64::MAX)]),
            _ => likely.generation,
        };
        let action = if random.chance(900) {
            likely.action
        } else {
            random.pick(&[Action::Trip, Action::Close])
        };
        let tick = match random.below(12) {
            0 => tick.plus(random.below(5)),
            1 => tick.minus(random.below(5)),
            2 => random.pick(&[Tick(0), Tick(u64::MAX), Tick(u64::MAX - 1)]),
            _ => tick,
        };
        (Attempt { action, generation }, tick)
    }

    /// A well-formed statement with its own proofs: a vote, a share, or a certificate together
    /// with a proof that it has heard.
    fn states(&mut self, world: &mut World, about: (Attempt, Tick)) -> Option<Said> {
        let (attempt, tick) = about;
        match world.plan.protocol {
            Protocol::Arbiter => self.votes(attempt, tick),
            Protocol::Peer if world.random.chance(500) => self.both(attempt, tick),
            Protocol::Peer => self.certifies(world),
        }
    }

    fn votes(&mut self, attempt: Attempt, tick: Tick) -> Option<Said> {
        let proof = self.proves(Protocol::Arbiter, attempt, tick)?;
        Some(Said::Vote { attempt, tick, proof })
    }

    fn proves(&mut self, protocol: Protocol, attempt: Attempt, tick: Tick) -> Option<Proof> {
        self.scheme.prove(&subject(protocol).statement(attempt, tick))
    }

    /// A certificate from a share that it has heard and its own proof of the same.
    fn certifies(&mut self, world: &mut World) -> Option<Said> {
        let shares: Vec<(Attempt, Tick, Proof)> = self.heard.iter().flat_map(shared).collect();
        if shares.is_empty() {
            return None;
        }
        let newest = shares.len().saturating_sub(6) as u64;
        let place = world.random.within(newest, shares.len() as u64 - 1) as usize;
        let (attempt, tick, theirs) = shares[place];
        let own = self.proves(world.plan.protocol, attempt, tick)?;
        let certificate = Certificate::of([theirs, own]);
        Some(Said::Certificate { attempt, tick, certificate })
    }

    fn anything(&mut self, world: &mut World) -> Option<Said> {
        let about = self.anything_about(world);
        let tick = about.1;
        match world.random.below(12) {
            0 => Some(Said::Query { tick }),
            1 => {
                let counter = self.key.saturating_sub(world.random.below(2));
                Some(Said::Announcement { key: WorkingKey::certified(self.node, counter) })
            }
            2 => {
                let others = world.random.pick(&NodeId::ALL);
                let key = Some(WorkingKey::certified(others, world.random.below(9)));
                Some(Said::Noted {
                    counter: world.random.below(4),
                    key: key.map(WorkingKey::broken),
                })
            }
            3 => Some(Said::Acknowledgement(Acknowledgement {
                generation: about.0.generation.next(),
                state: about.0.action,
                acted_at: CommonTime::from_ns(u64::MAX),
                tick,
                counters: [u64::MAX; NODES],
            })),
            4 => self.heard.last().map(|datagram| datagram.message.clone()),
            5 => self.states(world, about).map(broken),
            6 => {
                // One node twice.
                let own = self.proves(world.plan.protocol, about.0, tick)?;
                let certificate = Certificate::of([own, own]);
                Some(Said::Certificate { attempt: about.0, tick, certificate })
            }
            _ => self.states(world, about),
        }
    }

    /// Completes what one correct node attempts, in the ticks about now.
    fn pumps(&mut self, world: &mut World) {
        let attempts: Vec<(NodeId, Attempt)> = world
            .correct()
            .filter_map(|node| Some((node.id, node.relay.as_ref()?.attempt()?)))
            .collect();
        if attempts.is_empty() {
            return;
        }
        let (whose, attempt) = world.random.pick(&attempts);
        for tick in [-1, 0, 1] {
            let now = Tick::at(world.breaker_local());
            let tick = Tick(now.0.saturating_add_signed(tick));
            let (to, message) = match world.plan.protocol {
                Protocol::Arbiter => (Party::Breaker, self.votes(attempt, tick)),
                Protocol::Peer if world.random.chance(500) => {
                    (Party::Breaker, self.certifies(world))
                }
                Protocol::Peer => (Party::Relay(whose), self.both(attempt, tick)),
            };
            if let Some(message) = message {
                self.passes(world, to, message);
            }
        }
    }

    fn both(&mut self, attempt: Attempt, tick: Tick) -> Option<Said> {
        let proof = self.proves(Protocol::Peer, attempt, tick)?;
        let proof_next = self.proves(Protocol::Peer, attempt, tick.plus(1))?;
        Some(Said::Share { attempt, tick, proof, proof_next })
    }

    /// To each peer something else for one tick: sound, broken, the opposite, nothing.
    fn equivocates(&mut self, world: &mut World) {
        let (attempt, tick) = self.likely(world);
        for peer in NodeId::ALL {
            let opposite = Attempt { action: attempt.action.opposite(), ..attempt };
            let message = match world.random.below(4) {
                0 => self.both(attempt, tick),
                1 => self.both(attempt, tick).map(broken),
                2 => self.both(opposite, tick),
                _ => None,
            };
            if let Some(message) = message.filter(|_| peer != self.node) {
                self.passes(world, Party::Relay(peer), message);
            }
        }
        let message = self.states(world, (attempt, tick));
        self.sends(world, message, 1);
    }

    /// Sound words for all peers, so that each would rather certify with it.
    fn agrees(&mut self, world: &mut World) {
        let (attempt, tick) = self.likely(world);
        let Some(share) = self.both(attempt, tick) else { return };
        for peer in NodeId::ALL.into_iter().filter(|peer| *peer != self.node) {
            self.passes(world, Party::Relay(peer), share.clone());
        }
    }

    /// As its own, and as the one who sent it: what the channel would not let pass a second time.
    fn replays(&mut self, world: &mut World) {
        let own = self.likely(world);
        if let Some(message) = self.states(world, own) {
            self.hears(&Datagram { from: Party::Relay(self.node), key: self.key, message });
        }
        let place = world.random.below(self.heard.len() as u64) as usize;
        let Some(old) = self.heard.get(place).cloned() else { return };
        let peer = Party::Relay(world.random.pick(&NodeId::ALL));
        let to = world.random.pick(&[Party::Breaker, peer]);
        let from = Party::Relay(self.node);
        let old =
            if world.random.chance(500) { Datagram { from, key: self.key, ..old } } else { old };
        // Another one's datagram carries a tag for this node and no other.
        let to = if old.from == from { to } else { from };
        let at_ns = world.now_ns + world.random.below(3_000_000);
        world.put(at_ns, to, old);
    }
}

/// What a share says, tick by tick.
fn shared(datagram: &Datagram) -> Vec<(Attempt, Tick, Proof)> {
    match &datagram.message {
        Said::Share { attempt, tick, proof, proof_next } => {
            vec![(*attempt, *tick, *proof), (*attempt, tick.plus(1), *proof_next)]
        }
        _ => Vec::new(),
    }
}
