//! How nodes prove what they say: the only place at which the state machines meet cryptography.
//!
//! Keys, nonces and randomness live behind this trait; the state machines hold proofs and never a
//! secret, so that they can be copied, compared and hashed by a model checker. Each call is a pure
//! function of what the scheme holds, is made at most as often as [`Parameters`](super::Parameters)
//! say, and never panics, whatever the octets of others are.

use super::{NodeId, QUORUM, Statement};
use std::fmt::Debug;
use std::hash::Hash;

/// Why two proofs make no certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoCertificate {
    /// The proof of this node is wrong.
    Wrong(NodeId),
    /// Nobody did wrong, but the two were not made for each other: the nodes had no nonces that
    /// both know, as it is just after one of them was born.
    NotTogether,
}

/// Proofs of one node, certificates of two, and certified working keys.
pub trait Scheme {
    /// What one node makes of a statement: a vote's signature, a share.
    type Proof: Clone + Eq + Ord + Hash + Debug;
    /// What proves that two distinct nodes made a statement.
    type Certificate: Clone + Eq + Ord + Hash + Debug;
    /// A node's working key with the counter and the signature of its root key.
    type WorkingKey: Clone + Eq + Ord + Hash + Debug;

    /// This node's proof of a statement; none if the scheme cannot make one now (it has run out
    /// of nonces exchanged beforehand).
    fn prove(&mut self, statement: &Statement) -> Option<Self::Proof>;

    /// Whether this is the proof of a statement by a node, under the node's present working key.
    fn is_proof(&mut self, node: NodeId, statement: &Statement, proof: &Self::Proof) -> bool;

    /// The certificate made of two distinct nodes' proofs, verified as the breaker node would.
    ///
    /// # Errors
    ///
    /// The node whose proof is wrong, or that these two go together in no certificate.
    fn combine(
        &mut self,
        statement: &Statement,
        proofs: [(NodeId, &Self::Proof); QUORUM],
    ) -> Result<Self::Certificate, NoCertificate>;

    /// Whether two distinct nodes made a statement.
    fn certifies(&mut self, statement: &Statement, certificate: &Self::Certificate) -> bool;

    /// This node's own working key; none at the breaker node.
    fn working_key(&self) -> Option<Self::WorkingKey>;

    /// The counter that a working key claims to have; nothing is verified.
    fn counter(key: &Self::WorkingKey) -> u64;

    /// Whether the root key of this node has certified a working key with its counter.
    fn is_certified(&mut self, node: NodeId, key: &Self::WorkingKey) -> bool;
}
