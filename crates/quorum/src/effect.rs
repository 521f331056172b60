//! What state machines ask of the program round them, and what they tell it.

use super::{Action, CommonTime, Evidence, Gen, Message, Misdeed, NodeId, Party, Scheme, Tick};

/// One thing to be done, in the order in which they come.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<P, C, K> {
    /// Move the breaker. To be done, and its next gen and the action written down where a restart
    /// finds them, before anything that follows.
    Operate { action: Action, generation: Gen },
    /// Send a message through the channel.
    Send { to: Party, message: Message<P, C, K> },
    /// Use this working key of a node from now on and no older one. The counter is to be written
    /// down, where a restart finds it, before anything that follows.
    Adopt { node: NodeId, key: K, counter: u64 },
    /// Use no working key of this node until it announces one: the breaker node knows a newer one
    /// than this node does. The counter, the least of a key to be adopted, is to be written down.
    Distrust { node: NodeId, counter: u64 },
    /// A node has said what no correct one says.
    Blame(Evidence<P>),
    /// A message changed nothing.
    Refused { from: Party, why: Refusal },
}

/// Why a message changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Refusal {
    /// Nobody sends this to this node in this protocol.
    Misdirected,
    /// About an action that the breaker has done already, as far as this node knows.
    OldGen,
    /// About an action that does not come next yet, as far as this node knows.
    FutureGen,
    /// The breaker stands so already.
    Impossible,
    /// Its tick is too long ago.
    Stale,
    /// Its tick is too far ahead.
    Early,
    /// The breaker has moved just now.
    Dwell,
    /// It says nothing new.
    Repeated,
    /// Its sender has had enough proofs verified in this tick.
    Budget,
    /// A proof, certificate or key is wrong.
    Wrong,
    /// A key that was superseded by a newer one.
    OldKey,
}

/// The effects of a scheme.
pub type EffectOf<S> =
    Effect<<S as Scheme>::Proof, <S as Scheme>::Certificate, <S as Scheme>::WorkingKey>;

/// The messages of a scheme.
pub type MessageOf<S> =
    Message<<S as Scheme>::Proof, <S as Scheme>::Certificate, <S as Scheme>::WorkingKey>;

/// What a step of a state machine has at hand.
pub(super) struct Turn<'a, S: Scheme> {
    pub(super) now: CommonTime,
    pub(super) scheme: &'a mut S,
    pub(super) effects: &'a mut Vec<EffectOf<S>>,
}

impl<S: Scheme> Turn<'_, S> {
    pub(super) const fn tick(&self) -> Tick {
        Tick::at(self.now)
    }

    pub(super) fn send(&mut self, to: Party, message: MessageOf<S>) {
        self.effects.push(Effect::Send { to, message });
    }

    pub(super) fn blame(&mut self, node: NodeId, misdeed: Misdeed<S::Proof>) {
        self.effects.push(Effect::Blame(Evidence { node, misdeed }));
    }
}
