//! State machines, keys, channels and datagrams together, over a network of octets with a delay:
//! nodes that know nothing but root keys find each other, trip and close, beside one that sends
//! corrupt proofs, and one that is reborn.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::BTreeMap;

use quorum::certificate::Keyring;
use quorum::channel::Channels;
use quorum::dealer::{Station, generate};
use quorum::keys::{Secret, Working};
use quorum::wire::{Certificate, CertificateKind, Message, Payload, Proof};
use quorum::{
    Action, Breaker, BreakerEvent, BreakerId, CommonTime, Counters, Effect, Epoch, Event, EventOf,
    Gen, NodeId, Parameters, Party, Protocol, Relay, Remembered, Speaker, StationId, Tick,
};

/// How long a datagram is on its way.
const DELAY_NS: u64 = 100_000;

enum Machine {
    Relay(Box<Relay<Proof, Certificate>>),
    Breaker(Box<Breaker>),
}

struct Member {
    machine: Machine,
    channels: Channels,
    keyring: Keyring,
    /// Whether it sends corrupt proofs.
    is_hostile: bool,
}

struct World {
    station: Station,
    protocol: Protocol,
    now_ns: u64,
    members: BTreeMap<Party, Member>,
    /// Datagrams on their way, by time and number.
    network: BTreeMap<(u64, u64), (Party, Vec<u8>)>,
    sent: u64,
    operated: Vec<(Action, u64)>,
    blamed: Vec<NodeId>,
    refused: u64,
}

impl World {
    fn new(protocol: Protocol, kind: CertificateKind) -> Self {
        let seed = Secret::new([5; 32]);
        let station = generate(StationId(1), Epoch(1), BreakerId(1), kind, &seed);
        let mut world = Self {
            station,
            protocol,
            now_ns: 1_000_000_000,
            members: BTreeMap::new(),
            network: BTreeMap::new(),
            sent: 0,
            operated: Vec::new(),
            blamed: Vec::new(),
            refused: 0,
        };
        Party::ALL.into_iter().for_each(|party| world.born(party, 1, Action::Close));
        world
    }

    fn born(&mut self, party: Party, counter: u64, state: Action) {
        let membership = &self.station.membership;
        let root = &self.station.secrets[usize::from(party.octet())];
        let seed = Secret::new([party.octet() + 8 * counter as u8; 32]);
        let (now, parameters) = (CommonTime::from_ns(self.now_ns), Parameters::default());
        let subject = membership.subject(self.protocol);
        let (working, machine) = match party {
            Party::Relay(me) => {
                let speaker = Speaker { me, subject, parameters };
                let relay = Relay::born(now, speaker, state, counter, Counters::default());
                let working = Working::born(root, membership, counter, &seed);
                (working, Machine::Relay(Box::new(relay)))
            }
            Party::Breaker => {
                let remembered = Remembered {
                    state,
                    generation: Gen(0),
                    acted_at: CommonTime::ZERO,
                    counters: Counters::default(),
                };
                let breaker = Breaker::new(now, subject, parameters, remembered);
                let working = Working::of_breaker(root, membership);
                (working, Machine::Breaker(Box::new(breaker)))
            }
        };
        let working = working.unwrap();
        let keyring = Keyring::new(membership, &working, root.share.as_ref()).unwrap();
        let channels = Channels::new(working, membership);
        let member = Member { machine, channels, keyring, is_hostile: false };
        self.members.insert(party, member);
    }

    fn decide(&mut self, nodes: &[usize], action: Action) {
        for node in nodes {
            self.step(Party::Relay(NodeId::ALL[*node]), Event::Decided(action));
        }
    }

    fn step(&mut self, party: Party, event: EventOf<Keyring>) {
        let now = CommonTime::from_ns(self.now_ns);
        let mut effects = Vec::new();
        let member = self.members.get_mut(&party).unwrap();
        match &mut member.machine {
            Machine::Relay(relay) => relay.step(now, event, &mut member.keyring, &mut effects),
            Machine::Breaker(breaker) => {
                let event = match event {
                    Event::Received { from: Party::Relay(from), message } => {
                        BreakerEvent::Received { from, message }
                    }
                    _ => BreakerEvent::Deadline,
                };
                breaker.step(now, event, &mut member.keyring, &mut effects);
            }
        }
        for effect in effects {
            match effect {
                Effect::Operate { action, .. } => self.operated.push((action, self.now_ns)),
                Effect::Send { to, message } => self.send(party, to, &Payload::Message(message)),
                Effect::Adopt { node, key, .. } => {
                    let member = self.members.get_mut(&party).unwrap();
                    assert!(member.channels.adopt(node, &key) && member.keyring.adopt(node, &key));
                }
                Effect::Distrust { node, counter } => {
                    let member = self.members.get_mut(&party).unwrap();
                    member.channels.distrust(node, counter);
                    member.keyring.distrust(node);
                }
                Effect::Blame(evidence) => self.blamed.push(evidence.node),
                Effect::Refused { .. } => {}
            }
        }
    }

    fn send(&mut self, from: Party, to: Party, payload: &Payload) {
        let member = self.members.get_mut(&from).unwrap();
        let mut payload = payload.clone();
        if member.is_hostile
            && let Payload::Message(Message::Share { proof, .. } | Message::Vote { proof, .. }) =
                &mut payload
        {
            match proof {
                Proof::Signature(octets) => octets[5] ^= 1,
                Proof::Frost(shares) => {
                    shares.iter_mut().flatten().for_each(|share| share.z_share[5] ^= 1);
                }
                Proof::Bls(octets) => octets[5] ^= 1,
            }
        }
        let (network, sent) = (&mut self.network, &mut self.sent);
        let at = self.now_ns + DELAY_NS;
        member.channels.seal(to, &payload, |datagram| {
            *sent += 1;
            network.insert((at, *sent), (to, datagram.to_vec()));
        });
    }

    fn run(&mut self, until_ns: u64) {
        let until = self.now_ns + until_ns;
        loop {
            let tick = Tick::at(CommonTime::from_ns(self.now_ns)).plus(1).begin().ns();
            let deadline = |member: &Member| match &member.machine {
                Machine::Relay(relay) => relay.next_deadline().ns(),
                Machine::Breaker(breaker) => breaker.next_deadline().ns(),
            };
            let deadlines = self.members.iter().map(|(party, m)| (deadline(m), *party));
            let (deadline, party) = deadlines.min().unwrap();
            let arrival = self.network.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            let next = tick.min(deadline).min(arrival).max(self.now_ns);
            if next > until {
                self.now_ns = until;
                return;
            }
            self.now_ns = next;
            if arrival <= next {
                let (_, (to, datagram)) = self.network.pop_first().unwrap();
                self.arrive(to, &datagram);
            } else if deadline <= next {
                self.step(party, Event::Deadline);
            } else {
                self.commit();
            }
        }
    }

    fn arrive(&mut self, to: Party, datagram: &[u8]) {
        let member = self.members.get_mut(&to).unwrap();
        match (member.channels.open(datagram), to) {
            (Ok((from, Payload::Message(message))), _) => {
                self.step(to, Event::Received { from, message });
            }
            (Ok((Party::Relay(from), Payload::Commitments(commitments))), _) => {
                assert!(member.keyring.committed(from, &commitments));
            }
            _ => self.refused += 1,
        }
    }

    /// A tick begins: nonces are exchanged.
    fn commit(&mut self) {
        let tick = Tick::at(CommonTime::from_ns(self.now_ns));
        for party in Party::ALL {
            let mut seed = [party.octet(); 32];
            seed[..8].copy_from_slice(&tick.0.to_be_bytes());
            let keyring = &mut self.members.get_mut(&party).unwrap().keyring;
            for (to, commitments) in keyring.commitments(tick, &Secret::new(seed)) {
                self.send(party, Party::Relay(to), &Payload::Commitments(commitments));
            }
        }
    }
}

#[test]
fn relays_act_as_one_with_any_protocol_and_certificate() {
    const MS: u64 = 1_000_000;
    for (protocol, kind) in [
        (Protocol::Arbiter, CertificateKind::TwoSignatures),
        (Protocol::Peer, CertificateKind::TwoSignatures),
        (Protocol::Peer, CertificateKind::Frost),
        (Protocol::Peer, CertificateKind::Bls),
    ] {
        let mut world = World::new(protocol, kind);
        world.run(100 * MS);
        assert_eq!(world.operated, [], "{protocol}, {kind}: nobody wanted anything");
        // Node 0 is hostile; nodes 1 and 3 see a fault.
        let hostile = Party::Relay(NodeId::ALL[0]);
        world.members.get_mut(&hostile).unwrap().is_hostile = true;
        let begin = world.now_ns;
        world.decide(&[0, 1, 3], Action::Trip);
        world.run(30 * MS);
        let [(Action::Trip, at)] = world.operated[..] else {
            panic!("{protocol}, {kind}: {:?}", world.operated)
        };
        // Two hops and a tick, without the time that computing takes.
        assert!(at - begin <= 2 * MS, "{protocol}, {kind}: {} µs", (at - begin) / 1000);
        assert!(!world.blamed.is_empty(), "{protocol}, {kind}");
        assert!(world.blamed.iter().all(|node| *node == NodeId::ALL[0]), "{:?}", world.blamed);
        // Node 1 is reborn, knows only root keys, and closes with node 2.
        let before = world.refused;
        world.born(Party::Relay(NodeId::ALL[1]), 2, Action::Trip);
        world.run(100 * MS);
        assert!(world.refused > before, "what was on its way to the earlier life is refused");
        world.decide(&[1, 2], Action::Close);
        world.run(30 * MS);
        assert_eq!(world.operated.len(), 2, "{protocol}, {kind}");
        assert_eq!(world.operated[1].0, Action::Close);
        assert!(world.blamed.iter().all(|node| *node == NodeId::ALL[0]), "{:?}", world.blamed);
    }
}
