//! What no correct node says, kept with the statements that were signed, so that others can see
//! for themselves who did it.
//!
//! The channel has authenticated the sender, so nobody is blamed for what another one sent; a
//! statement with a valid proof convinces third parties besides. Being late, silent or verbose is
//! no evidence: networks do that. Nor is a wrong certificate: its sender may have verified
//! it, with a peer's key that has changed since, or that the breaker node does not have yet.

use super::{NodeId, Statement};

/// Something that a node should not have said.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Evidence<P> {
    pub node: NodeId,
    pub misdeed: Misdeed<P>,
}

/// What a node should not have said.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Misdeed<P> {
    /// A proof that does not prove the statement that it came with.
    WrongProof { statement: Statement, proof: P },
    /// Two proofs of one statement, in the order in which they came, of which at least one is wrong.
    Equivocation { statement: Statement, proofs: [P; 2] },
    /// A statement that no correct node makes: that the breaker do what it has done last, or as
    /// an action that is not next. A trip and a close for one gen are never both possible.
    Impossible { statement: Statement, proof: P },
}
