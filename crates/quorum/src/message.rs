//! What nodes say to each other, after the channel has found out who says it.
//!
//! A message carries no station, breaker, protocol or epoch: the receiver has its own, and a proof
//! made for another subject does not verify. The types of proofs, certificates and working keys
//! are those of a [`Scheme`](super::Scheme).

use super::{Action, CommonTime, Gen, NODES, NodeId, Tick};

/// Who sends or receives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Party {
    Relay(NodeId),
    Breaker,
}

/// An attempted action: what it is and which of the breaker's actions it would be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Attempt {
    pub action: Action,
    /// For which action of the breaker.
    pub generation: Gen,
}

/// One message; `P` is a proof of one node, `C` a certificate of two, `K` a certified working key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Message<P, C, K> {
    /// Arbiter Protocol, relay node to breaker node: this one is for it.
    Vote { attempt: Attempt, tick: Tick, proof: P },
    /// Peer Protocol, relay node to relay node: this one is for it, in this tick and the next, each
    /// with a proof of its own.
    Share { attempt: Attempt, tick: Tick, proof: P, proof_next: P },
    /// Peer Protocol, relay node to breaker node: two are for it.
    Certificate { attempt: Attempt, tick: Tick, certificate: C },
    /// Breaker node to relay node: how it stands. Also the heartbeat.
    Acknowledgement(Acknowledgement),
    /// Relay node to breaker node: how does it stand? Also a sign of life.
    Query { tick: Tick },
    /// A node that was reborn, to everybody: its working key, certified by its root key.
    Announcement { key: K },
    /// Answer to an announcement: the key is known and used from now on. A relay node adds its
    /// own, because who was reborn knows nobody's.
    Noted {
        /// Counter of the announced key.
        counter: u64,
        /// The answering relay node's own key; none from the breaker node.
        key: Option<K>,
    },
}

/// How the breaker stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Acknowledgement {
    /// The number of its next action.
    pub generation: Gen,
    /// What its last action was.
    pub state: Action,
    /// When that was, on the breaker node's clock; the begin of the scale if it has not acted.
    /// It is the same in every acknowledgement of one gen, however many votes come afterwards.
    pub acted_at: CommonTime,
    /// When this was sent.
    pub tick: Tick,
    /// The highest counter of a working key that the breaker node knows from each relay node.
    pub counters: [u64; NODES],
}
