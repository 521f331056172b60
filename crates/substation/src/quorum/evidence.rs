//! What no correct node says, kept with the statements that were signed, so that others can see
//! for themselves who did it.
//!
//! The channel has authenticated the sender, so nobody is blamed for what another one sent; a
//! statement with a valid proof convinces third parties besides. Being late, silent or verbose is
//! no evidence: networks do that. Nor is a wrong certificate: whoever sends it may have verified
//! it, with a peer's key that has changed since, or that the breaker node does not have yet.

use std::collections::VecDeque;

use super::{NODES, NodeId, Statement};

/// How much evidence is kept: enough for an hour of one false share for each action, one action a
/// minute; beyond it the oldest goes.
pub const EVIDENCE_MAX: usize = 64;

/// Something that a node should not have said.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Evidence<P> {
    /// Who sent it.
    pub node: NodeId,
    /// What it was.
    pub misdeed: Misdeed<P>,
}

/// What a node should not have said.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Misdeed<P> {
    /// A proof that does not prove the statement that it came with.
    WrongProof {
        /// The statement.
        statement: Statement,
        /// Its alleged proof.
        proof: P,
    },
    /// Two proofs of one statement, of which at least one is wrong.
    Equivocation {
        /// The statement.
        statement: Statement,
        /// The one that came first, and the other one.
        proofs: [P; 2],
    },
    /// A statement that no correct node makes: that the breaker do what it has done last, or as
    /// an action that is not next. A trip and a close for one gen are never both possible.
    Impossible {
        /// The statement.
        statement: Statement,
        /// Its alleged proof.
        proof: P,
    },
}

/// The newest evidence, and how much there was of each node.
#[derive(Clone, Debug)]
pub struct EvidenceLog<P> {
    kept: VecDeque<Evidence<P>>,
    counts: [u64; NODES],
}

impl<P> EvidenceLog<P> {
    /// Nobody has done anything.
    #[must_use]
    pub fn new() -> Self {
        Self { kept: VecDeque::with_capacity(EVIDENCE_MAX), counts: [0; NODES] }
    }

    /// Takes down what an effect says.
    pub fn add(&mut self, evidence: Evidence<P>) {
        let count = &mut self.counts[evidence.node.index()];
        *count = count.saturating_add(1);
        if self.kept.len() == EVIDENCE_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(evidence);
    }

    /// What is kept, the oldest first.
    pub fn kept(&self) -> impl Iterator<Item = &Evidence<P>> {
        self.kept.iter()
    }

    /// How often this node did something, also what is kept no longer.
    #[must_use]
    pub const fn count(&self, node: NodeId) -> u64 {
        self.counts[node.index()]
    }
}

impl<P> Default for EvidenceLog<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::{Action, BreakerId, Epoch, Gen, Protocol, StationId, Subject, Tick};

    #[test]
    fn the_newest_is_kept_and_all_is_counted() {
        let subject = Subject {
            protocol: Protocol::Peer,
            station: StationId(1),
            breaker: BreakerId(1),
            epoch: Epoch(0),
        };
        let mut log = EvidenceLog::<u64>::new();
        for proof in 0..100 {
            let statement =
                Statement { subject, action: Action::Trip, generation: Gen(0), tick: Tick(proof) };
            let misdeed = Misdeed::WrongProof { statement, proof };
            log.add(Evidence { node: NodeId::ALL[2], misdeed });
        }
        assert_eq!((log.count(NodeId::ALL[2]), log.count(NodeId::ALL[1])), (100, 0));
        assert_eq!(log.kept().count(), EVIDENCE_MAX);
        let oldest = log.kept().next().unwrap();
        assert!(matches!(oldest.misdeed, Misdeed::WrongProof { proof: 36, .. }));
    }
}
