//! A relay node whose proof and a peer's are right and were not made for each other (FROST, just
//! after one of them was born).

use quorum::Action::Trip;
use quorum::{Event, Message, NoCertificate, NodeId, Party, Protocol, QUORUM, Scheme, Statement};

use crate::bench::{A, B, C, RelayBench, Told, attempt, blamed, certificate, sent, share, us};
use crate::symbolic::{Certificate, Proof, Symbolic, WorkingKey};

/// Symbols, of which those of one node go together with nobody's.
struct Apart {
    symbols: Symbolic,
    node: Option<NodeId>,
}

impl Scheme for Apart {
    type Proof = Proof;
    type Certificate = Certificate;
    type WorkingKey = WorkingKey;

    fn prove(&mut self, statement: &Statement) -> Option<Proof> {
        self.symbols.prove(statement)
    }

    fn is_proof(&mut self, node: NodeId, statement: &Statement, proof: &Proof) -> bool {
        self.symbols.is_proof(node, statement, proof)
    }

    fn combine(
        &mut self,
        statement: &Statement,
        proofs: [(NodeId, &Proof); QUORUM],
    ) -> Result<Certificate, NoCertificate> {
        if proofs.iter().any(|(node, _)| Some(*node) == self.node) {
            return Err(NoCertificate::NotTogether);
        }
        self.symbols.combine(statement, proofs)
    }

    fn certifies(&mut self, statement: &Statement, certificate: &Certificate) -> bool {
        self.symbols.certifies(statement, certificate)
    }

    fn working_key(&self) -> Option<WorkingKey> {
        self.symbols.working_key()
    }

    fn counter(key: &WorkingKey) -> u64 {
        Symbolic::counter(key)
    }

    fn is_certified(&mut self, node: NodeId, key: &WorkingKey) -> bool {
        self.symbols.is_certified(node, key)
    }
}

#[test]
fn whose_share_goes_together_with_none_is_not_blamed_and_tried_again_in_the_next_tick() {
    let trip = attempt(Trip, 0);
    let RelayBench { mut relay, scheme: symbols, .. } = RelayBench::new(Protocol::Peer);
    let mut scheme = Apart { symbols, node: Some(B) };
    let mut step = |at, event, scheme: &mut Apart| {
        let mut effects: Vec<Told> = Vec::new();
        relay.step(us(at), event, scheme, &mut effects);
        assert_eq!(blamed(&effects), []);
        let to_breaker = sent(&effects).into_iter().filter(|(to, _)| *to == Party::Breaker);
        let said = to_breaker.map(|(_, message)| message);
        said.filter(|message| matches!(message, Message::Certificate { .. })).collect::<Vec<_>>()
    };
    for node in [B, C] {
        let event = Event::Received { from: Party::Relay(node), message: share(node, trip, 100) };
        step(100_300, event, &mut scheme);
    }
    // Within the same step it is made with the next peer.
    let made = step(100_400, Event::Decided(Trip), &mut scheme);
    assert_eq!(made, [certificate([A, C], trip, 100)]);
    scheme.node = None;
    let made = step(101_000, Event::Deadline, &mut scheme);
    assert_eq!(made, [certificate([A, B], trip, 101)]);
}
