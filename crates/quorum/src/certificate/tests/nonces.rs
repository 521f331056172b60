//! How nonces are exchanged: at what cost, how soon, and what becomes of those that only one of
//! a pair knows.

use super::*;
use crate::wire::{Commitment, SLOTS};

const A: NodeId = NodeId::ALL[0];
const B: NodeId = NodeId::ALL[1];

const BASE: [u8; 32] = {
    let mut octets = [0x66; 32];
    octets[0] = 0x58;
    octets
};

/// The point of order 2, y = -1: on the curve, and not of the group.
const OF_SMALL_ORDER: [u8; 32] = {
    let mut octets = [0xff; 32];
    octets[0] = 0xec;
    octets[31] = 0x7f;
    octets
};

impl Nodes {
    /// What one node offers to another in this tick. What it offers to others is lost.
    fn offer(&mut self, from: NodeId, to: NodeId) -> Option<Commitments> {
        self.offers(from).into_iter().find_map(|(node, offer)| (node == to).then_some(offer))
    }

    fn committed(&mut self, from: NodeId, to: NodeId, offer: &Commitments) -> bool {
        self.nodes[to.index()].committed(from, offer)
    }

    fn prove(&mut self, node: NodeId, statement: &Statement) -> Option<Proof> {
        self.nodes[node.index()].prove(statement)
    }

    /// What each of two nodes makes of its proof and the other one's.
    fn combine(
        &mut self,
        statement: &Statement,
        nodes: [NodeId; 2],
        proofs: [&Proof; 2],
    ) -> [Result<Certificate, NoCertificate>; 2] {
        let pair = [(nodes[0], proofs[0]), (nodes[1], proofs[1])];
        nodes.map(|node| self.nodes[node.index()].combine(statement, pair))
    }
}

/// New commitments for all slots, of points of which each is this one.
fn commitments(serial: u64, point: [u8; 32]) -> Commitments {
    let (hiding, binding) = (point, point);
    let offered = (0..SLOTS as u8).map(|slot| Commitment { slot, serial, hiding, binding });
    Commitments::new(true, [0; SLOTS], offered.collect()).unwrap()
}

#[test]
fn a_flood_of_commitments_costs_a_few_looks_in_a_tick_and_nobody_else_anything() {
    let mut all = Nodes::new(CertificateKind::Frost);
    let [mut serial, mut least] = [1_000_000; 2];
    for _ in 0..3 {
        for _ in 0..500 {
            assert!(all.committed(B, A, &commitments(serial, BASE)));
            serial += 1;
        }
        // Whatever was found good is confirmed.
        all.tick = all.tick.plus(1);
        let seen = *all.offer(A, B).unwrap().seen();
        assert_eq!(seen.iter().filter(|seen| **seen >= least).count(), 4);
        assert_eq!(seen.iter().max(), Some(&least), "of each slot the first");
        least = serial;
    }
    // Those that are none cost as much.
    let none = commitments(serial, OF_SMALL_ORDER);
    assert_eq!((0..500).filter(|_| !all.committed(B, A, &none)).count(), 1);
    assert!(all.committed(B, A, &commitments(serial, BASE)), "it is not looked at");
    // What another peer says is.
    assert!(all.committed(NodeId::ALL[2], A, &commitments(serial, BASE)));
    all.tick = all.tick.plus(1);
    let offers = all.offers(A);
    let taken = [B, NodeId::ALL[2]].map(|peer| {
        let (_, offer) = offers.iter().find(|(node, _)| *node == peer).unwrap();
        offer.seen().iter().filter(|seen| **seen >= serial).count()
    });
    assert_eq!(taken, [0, 4]);
}

#[test]
fn who_is_born_has_nonces_with_all_within_a_few_ticks() {
    let mut all = Nodes::new(CertificateKind::Frost);
    all.nodes[B.index()] = keyring(&all.station, Party::Relay(B), 2);
    all.introduce(B);
    all.exchange(18, &NodeId::ALL);
    for ahead in 0..SLOTS as u64 {
        let statement = all.statement(Action::Trip, all.tick.plus(ahead));
        let proofs = NodeId::ALL.map(|node| all.prove(node, &statement).unwrap());
        for peer in NodeId::ALL.into_iter().filter(|node| *node != B) {
            let made = all.combine(&statement, [B, peer], [&proofs[1], &proofs[peer.index()]]);
            assert!(made.iter().all(Result::is_ok), "{ahead} ahead: {made:?}");
        }
    }
}

#[test]
fn what_was_lost_is_made_up_for_within_a_few_ticks() {
    let mut all = Nodes::new(CertificateKind::Frost);
    // In an attempt of A nothing of what it says comes through.
    for _ in 0..40 {
        all.tick = all.tick.plus(1);
        all.offers(A);
        let statement = all.statement(Action::Trip, all.tick);
        all.prove(A, &statement);
    }
    let statement = all.statement(Action::Trip, all.tick);
    assert_eq!(all.prove(A, &statement), None);
    // At last those that were spent are made again, and the peer takes a few of all 16 in a tick.
    all.exchange(16, &[A, B]);
    let mut found = 0;
    for ahead in 1..=SLOTS as u64 {
        let statement = all.statement(Action::Trip, all.tick.plus(ahead));
        let proofs = [A, B].map(|node| all.prove(node, &statement));
        let [Some(one), Some(other)] = &proofs else { continue };
        found += usize::from(all.combine(&statement, [A, B], [one, other])[0].is_ok());
    }
    assert_eq!(found, SLOTS);
}

#[test]
fn an_attempt_of_all_may_last_and_who_joins_it_late_finds_nonces_at_once() {
    let mut all = Nodes::new(CertificateKind::Frost);
    let begin = all.tick;
    for passed in 1..=120 {
        all.exchange(1, &NodeId::ALL);
        let attempting = if passed < 60 { &NodeId::ALL[..3] } else { &NodeId::ALL[..] };
        // For this tick and the next one, as shares are.
        let next = all.statement(Action::Trip, begin.plus(passed + 1));
        for node in attempting {
            assert!(all.prove(*node, &next).is_some(), "{node} after {passed} ticks");
        }
        let statement = all.statement(Action::Trip, begin.plus(passed));
        let proofs = NodeId::ALL.map(|node| all.prove(node, &statement));
        for (i, one) in attempting.iter().enumerate() {
            for other in &attempting[..i] {
                let [Some(first), Some(second)] = [one, other].map(|node| &proofs[node.index()])
                else {
                    panic!("{one} or {other} after {passed} ticks: no proof")
                };
                let made = all.combine(&statement, [*one, *other], [first, second]);
                assert!(made.iter().all(Result::is_ok), "{one}, {other}, {passed}: {made:?}");
            }
        }
    }
}

#[test]
fn nonces_that_a_peer_does_not_have_are_not_spent() {
    let mut all = Nodes::introduced(CertificateKind::Frost);
    for _ in 0..60 {
        all.tick = all.tick.plus(1);
        all.offers(A);
        if let Some(offer) = all.offer(B, A) {
            assert!(all.committed(B, A, &offer));
        }
    }
    let statement = all.statement(Action::Trip, all.tick);
    assert_eq!(all.prove(A, &statement), None, "B has none of its commitments");
}

#[test]
fn an_old_offer_that_comes_after_a_new_one_takes_nothing_back() {
    let mut all = Nodes::introduced(CertificateKind::Frost);
    let mut old = None;
    for _ in 0..40 {
        all.tick = all.tick.plus(1);
        for (from, to) in [(A, B), (B, A)] {
            if let Some(offer) = all.offer(from, to) {
                assert!(all.committed(from, to, &offer));
                old = if from == A { Some(offer) } else { old };
            }
        }
    }
    let slot = all.tick.0 % SLOTS as u64;
    let old = old.unwrap();
    let old = old.as_slice().iter().filter(|offered| u64::from(offered.slot) == slot);
    let old = Commitments::new(false, [0; SLOTS], old.copied().collect()).unwrap();
    assert_eq!(old.as_slice().len(), 1);
    // It is spent, made again and confirmed; then the old one comes once more.
    let statement = all.statement(Action::Trip, all.tick);
    assert!([A, B].into_iter().all(|node| all.prove(node, &statement).is_some()));
    all.exchange(SLOTS as u64, &[A, B]);
    assert!(all.committed(A, B, &old));
    let statement = all.statement(Action::Trip, all.tick);
    let [one, other] = [A, B].map(|node| all.prove(node, &statement).unwrap());
    let made = all.combine(&statement, [A, B], [&one, &other]);
    assert!(made.iter().all(Result::is_ok), "{made:?}");
}

#[test]
fn who_proved_just_before_the_peers_new_nonces_came_is_not_blamed_and_blames_nobody() {
    let mut all = Nodes::new(CertificateKind::Frost);
    // A has spent those of a slot, B has not.
    let statement = all.statement(Action::Trip, all.tick);
    let next = all.statement(Action::Trip, all.tick.plus(SLOTS as u64));
    all.prove(A, &statement).unwrap();
    all.exchange(6, &[A, B]);
    // A makes new ones. Before they come, B proves with the old ones; A, which then hears that B
    // has the new ones, with these.
    all.tick = all.tick.plus(1);
    let new = all.offer(A, B).unwrap();
    let late = all.prove(B, &next).unwrap();
    assert!(all.committed(A, B, &new));
    all.exchange(1, &[B, A]);
    let early = all.prove(A, &next).unwrap();
    let made = all.combine(&next, [A, B], [&early, &late]);
    assert_eq!(made, [const { Err(NoCertificate::NotTogether) }; 2]);
}
