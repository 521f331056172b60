//! The three kinds of certificates behind the trait: two nodes make one, one node makes none,
//! and anybody who spoils it is named.

use super::*;
use crate::dealer::{Station, generate};
use crate::statement::{Action, BreakerId, Epoch, Gen, StationId};
use crate::wire::{CertificateKind, PairShare};
use proptest::prelude::*;

mod nonces;

/// Four nodes and the breaker node, who know each other.
struct Nodes {
    station: Station,
    nodes: [Keyring; NODES],
    breaker: Keyring,
    tick: Tick,
}

fn keyring(station: &Station, party: Party, counter: u64) -> Keyring {
    let root = &station.secrets[party.index()];
    let seed = Secret::new([party.octet() + 16 * counter as u8; 32]);
    let working = match party {
        Party::Relay(_) => Working::born(root, &station.membership, counter, &seed),
        Party::Breaker => Working::of_breaker(root, &station.membership),
    };
    Keyring::new(&station.membership, &working.unwrap(), root.share.as_ref()).unwrap()
}

impl Nodes {
    /// They know each other's keys, and have exchanged nonces.
    fn new(kind: CertificateKind) -> Self {
        let mut all = Self::introduced(kind);
        all.exchange(60, &NodeId::ALL);
        all
    }

    /// They know each other's keys only.
    fn introduced(kind: CertificateKind) -> Self {
        let seed = Secret::new([3; 32]);
        let station = generate(StationId(7), Epoch(1), BreakerId(1), kind, &seed);
        let nodes = NodeId::ALL.map(|node| keyring(&station, Party::Relay(node), 1));
        let breaker = keyring(&station, Party::Breaker, 0);
        let mut all = Self { station, nodes, breaker, tick: Tick(1000) };
        for node in NodeId::ALL {
            all.introduce(node);
        }
        all
    }

    /// Everybody adopts the key of a node, once it was found good.
    fn introduce(&mut self, node: NodeId) {
        let key = self.nodes[node.index()].working_key().unwrap();
        for keyring in self.nodes.iter_mut().chain([&mut self.breaker]) {
            assert!(keyring.is_certified(node, &key));
            assert!(keyring.adopt(node, &key));
        }
    }

    /// So many ticks pass, in which these nodes exchange nonces.
    fn exchange(&mut self, ticks: u64, among: &[NodeId]) {
        for _ in 0..ticks {
            self.tick = self.tick.plus(1);
            for &from in among {
                for (to, commitments) in self.offers(from) {
                    if among.contains(&to) {
                        assert!(self.nodes[to.index()].committed(from, &commitments));
                    }
                }
            }
        }
    }

    /// What a node offers in this tick.
    fn offers(&mut self, from: NodeId) -> Vec<(NodeId, Commitments)> {
        let seed = Secret::new([(self.tick.0 % 251) as u8 ^ from.number() << 6; 32]);
        self.nodes[from.index()].commitments(self.tick, &seed)
    }

    fn statement(&self, action: Action, tick: Tick) -> Statement {
        let subject = self.station.membership.subject(Protocol::Peer);
        Statement { subject, action, generation: Gen(5), tick }
    }
}

#[test]
fn any_two_nodes_make_a_certificate_and_one_makes_none() {
    for kind in CertificateKind::ALL {
        let mut all = Nodes::new(kind);
        let statement = all.statement(Action::Trip, all.tick);
        let proofs = NodeId::ALL.map(|node| all.nodes[node.index()].prove(&statement).unwrap());
        for (one, other) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 0)] {
            let ids = [NodeId::ALL[one], NodeId::ALL[other]];
            let pair = [(ids[0], &proofs[one]), (ids[1], &proofs[other])];
            let keyring = &mut all.nodes[one];
            let certificate = keyring.combine(&statement, pair).unwrap();
            assert!(all.breaker.certifies(&statement, &certificate), "{kind}, {one} and {other}");
            assert!(all.nodes[2].certifies(&statement, &certificate));
            assert!(all.nodes[one].is_proof(ids[1], &statement, &proofs[other]));
            // For that statement only.
            let changed = [
                Statement { action: Action::Close, ..statement },
                Statement { tick: statement.tick.plus(1), ..statement },
                Statement { generation: Gen(6), ..statement },
            ];
            for statement in changed {
                assert!(!all.breaker.certifies(&statement, &certificate));
                assert!(!all.nodes[one].is_proof(ids[1], &statement, &proofs[other]));
            }
        }
        let alone = [(NodeId::ALL[0], &proofs[0]), (NodeId::ALL[0], &proofs[0])];
        assert!(all.nodes[0].combine(&statement, alone).is_err(), "{kind}");
        assert_eq!(all.breaker.prove(&statement), None);
    }
}

#[test]
fn a_vote_is_a_signature_whatever_certificates_are() {
    for kind in CertificateKind::ALL {
        let mut all = Nodes::new(kind);
        let mut statement = all.statement(Action::Close, all.tick);
        statement.subject.protocol = Protocol::Arbiter;
        let proof = all.nodes[1].prove(&statement).unwrap();
        assert!(all.breaker.is_proof(NodeId::ALL[1], &statement, &proof));
        assert!(!all.breaker.is_proof(NodeId::ALL[2], &statement, &proof));
        // It is worth nothing in the other protocol.
        statement.subject.protocol = Protocol::Peer;
        assert!(!all.breaker.is_proof(NodeId::ALL[1], &statement, &proof));
    }
}

#[test]
fn who_was_reborn_is_believed_with_the_new_key_only() {
    let mut all = Nodes::new(CertificateKind::TwoSignatures);
    let statement = all.statement(Action::Trip, all.tick);
    let old = all.nodes[1].prove(&statement).unwrap();
    all.nodes[1] = keyring(&all.station, Party::Relay(NodeId::ALL[1]), 2);
    all.introduce(NodeId::ALL[1]);
    let new = all.nodes[1].prove(&statement).unwrap();
    assert!(!all.nodes[0].is_proof(NodeId::ALL[1], &statement, &old));
    assert!(all.nodes[0].is_proof(NodeId::ALL[1], &statement, &new));
    all.nodes[0].distrust(NodeId::ALL[1]);
    assert!(!all.nodes[0].is_proof(NodeId::ALL[1], &statement, &new));
}

#[test]
fn a_key_counts_only_if_the_root_key_has_certified_all_of_it() {
    let mut all = Nodes::new(CertificateKind::TwoSignatures);
    let key = all.nodes[1].working_key().unwrap();
    assert!(all.nodes[0].is_certified(NodeId::ALL[1], &key));
    assert_eq!(Keyring::counter(&key), 1);
    assert!(!all.nodes[0].is_certified(NodeId::ALL[2], &key));
    let mut forged = [key; 4];
    forged[0].counter = 2;
    forged[1].signing_key[0] ^= 1;
    forged[2].channel_key[0] ^= 1;
    forged[3].signature[0] ^= 1;
    for key in forged {
        assert!(!all.nodes[0].is_certified(NodeId::ALL[1], &key));
    }
}

#[test]
fn a_share_of_the_key_must_be_the_nodes_own() {
    for kind in [CertificateKind::Frost, CertificateKind::Bls] {
        let Station { membership, secrets } =
            generate(StationId(7), Epoch(1), BreakerId(1), kind, &Secret::new([3; 32]));
        let working = Working::born(&secrets[0], &membership, 1, &Secret::new([1; 32])).unwrap();
        let with = |share: &Secret| Keyring::new(&membership, &working, Some(share)).map(|_| ());
        assert_eq!(with(secrets[0].share.as_ref().unwrap()), Ok(()));
        assert_eq!(with(secrets[1].share.as_ref().unwrap()), Err(UnusableKeys), "{kind}");
    }
}

#[test]
fn nonces_are_spent_once() {
    let mut all = Nodes::new(CertificateKind::Frost);
    let tick = all.tick;
    let trip = all.statement(Action::Trip, tick);
    let first = all.nodes[0].prove(&trip).unwrap();
    // The same statement: the same shares, made with the same nonces once.
    assert_eq!(all.nodes[0].prove(&trip), Some(first));
    // Another statement of the slot: no nonces are left for it.
    assert_eq!(all.nodes[0].prove(&all.statement(Action::Close, tick)), None);
    let lap = tick.plus(16);
    assert_eq!(all.nodes[0].prove(&all.statement(Action::Trip, lap)), None);
    // New ones come when the statement has lost its authority, with other serials.
    all.exchange(16, &NodeId::ALL);
    let again = all.nodes[0].prove(&all.statement(Action::Trip, lap)).unwrap();
    let serials = |proof: &Proof| match proof {
        Proof::Frost(shares) => shares.map(|share| share.unwrap().own_serial),
        _ => panic!("{proof:?}"),
    };
    assert!(serials(&first).iter().all(|serial| !serials(&again).contains(serial)));
}

#[test]
fn an_attempt_may_last_for_as_long_as_it_takes() {
    let mut all = Nodes::new(CertificateKind::Frost);
    let among = [NodeId::ALL[0], NodeId::ALL[2]];
    for _ in 0..100 {
        all.exchange(1, &among);
        let statement = all.statement(Action::Trip, all.tick);
        let proofs = among.map(|node| all.nodes[node.index()].prove(&statement).unwrap());
        let pair = [(among[0], &proofs[0]), (among[1], &proofs[1])];
        let certificate = all.nodes[0].combine(&statement, pair).unwrap();
        assert!(all.breaker.certifies(&statement, &certificate));
    }
}

#[test]
fn who_has_no_nonces_for_the_other_is_not_blamed() {
    let mut all = Nodes::new(CertificateKind::Frost);
    // Node 1 is reborn, and has exchanged nonces with node 2 only.
    all.nodes[1] = keyring(&all.station, Party::Relay(NodeId::ALL[1]), 2);
    all.introduce(NodeId::ALL[1]);
    let statement = all.statement(Action::Trip, all.tick);
    assert_eq!(all.nodes[1].prove(&statement), None);
    all.exchange(40, &[NodeId::ALL[1], NodeId::ALL[2]]);
    let statement = all.statement(Action::Trip, all.tick);
    let proofs = NodeId::ALL.map(|node| all.nodes[node.index()].prove(&statement).unwrap());
    let with = |one: usize, other: usize| {
        [(NodeId::ALL[one], &proofs[one]), (NodeId::ALL[other], &proofs[other])]
    };
    let unblamed = Err(NoCertificate::NotTogether);
    assert_eq!(all.nodes[0].combine(&statement, with(0, 1)), unblamed);
    assert!(all.nodes[2].combine(&statement, with(2, 1)).is_ok());
    assert!(all.nodes[0].combine(&statement, with(0, 2)).is_ok());
}

/// A proof of which an octet is changed, in any of its fields.
fn corrupt(proof: &Proof, place: usize, flip: u8) -> Proof {
    match *proof {
        Proof::Signature(mut octets) => {
            octets[place % 64] ^= flip;
            Proof::Signature(octets)
        }
        Proof::Bls(mut octets) => {
            octets[place % 48] ^= flip;
            Proof::Bls(octets)
        }
        Proof::Frost(shares) => Proof::Frost(shares.map(|share| {
            share.map(|mut share: PairShare| {
                match place % 48 {
                    place @ 0..32 => share.z_share[place] ^= flip,
                    32..40 => share.own_serial ^= u64::from(flip),
                    _ => share.peer_serial ^= u64::from(flip),
                }
                share
            })
        })),
    }
}

proptest! {
    // Each case deals the keys of a station and exchanges nonces.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn one_corrupt_proof_names_its_node_and_costs_one_combination(
        kind in 0..CertificateKind::ALL.len(), place: usize, flip in 1..=u8::MAX,
        octets: [u8; 32],
    ) {
        let kind = CertificateKind::ALL[kind];
        let mut all = Nodes::new(kind);
        let statement = all.statement(Action::Trip, all.tick);
        let proofs = NodeId::ALL.map(|node| all.nodes[node.index()].prove(&statement).unwrap());
        let mut long = [0; 64];
        long[..32].copy_from_slice(&octets);
        let garbage = match kind {
            CertificateKind::TwoSignatures => Proof::Signature(long),
            CertificateKind::Frost => {
                let share = PairShare { own_serial: 1, peer_serial: 1, z_share: octets };
                Proof::Frost([Some(share); 3])
            }
            CertificateKind::Bls => Proof::Bls(*long.first_chunk().unwrap()),
        };
        for bad in [corrupt(&proofs[1], place, flip), garbage, Proof::Signature([0; 64])] {
            let own = (NodeId::ALL[0], &proofs[0]);
            let wrong = Err(NoCertificate::Wrong(NodeId::ALL[1]));
            let spoilt = all.nodes[0].combine(&statement, [own, (NodeId::ALL[1], &bad)]);
            prop_assert_eq!(spoilt, wrong);
            prop_assert!(!all.nodes[0].is_proof(NodeId::ALL[1], &statement, &bad));
            // The next peer is as good as ever.
            let pair = [own, (NodeId::ALL[2], &proofs[2])];
            let certificate = all.nodes[0].combine(&statement, pair).unwrap();
            prop_assert!(all.breaker.certifies(&statement, &certificate));
        }
    }

    #[test]
    fn no_octets_are_a_certificate(octets: [u8; 32], place: usize, flip in 1..=u8::MAX) {
        let mut long = [0; 64];
        long[..32].copy_from_slice(&octets);
        for kind in CertificateKind::ALL {
            let mut all = Nodes::new(kind);
            let statement = all.statement(Action::Trip, all.tick);
            let proofs = NodeId::ALL.map(|node| all.nodes[node.index()].prove(&statement).unwrap());
            let pair = [(NodeId::ALL[0], &proofs[0]), (NodeId::ALL[1], &proofs[1])];
            let mut good = all.nodes[0].combine(&statement, pair).unwrap();
            match &mut good {
                Certificate::TwoSignatures(two) => {
                    let [one, mut other] = *two.signatures();
                    other.1[place % 64] ^= flip;
                    good = Certificate::TwoSignatures(TwoSignatures::new(one, other).unwrap());
                }
                Certificate::Frost(signature) => signature[place % 64] ^= flip,
                Certificate::Bls(signature) => signature[place % 48] ^= flip,
            }
            let [one, other] = [(NodeId::ALL[0], long), (NodeId::ALL[3], long)];
            for bad in [
                good,
                Certificate::Frost(long),
                Certificate::Bls(*long.first_chunk().unwrap()),
                Certificate::TwoSignatures(TwoSignatures::new(one, other).unwrap()),
            ] {
                prop_assert!(!all.breaker.certifies(&statement, &bad), "{kind}: {bad:?}");
            }
        }
    }
}
