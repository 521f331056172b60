//! Which working keys are still good: each rebirth of a node has a key with a higher counter, and
//! no older one is ever used again.
//!
//! The breaker node is trusted to remember, so its acknowledgements carry what it knows: a node
//! reborn, which remembers nothing, is not deceived by an old key of another one.

use super::budget::Budget;
use super::effect::Turn;
use super::{Effect, NODES, NodeId, Refusal, Scheme, Tick};

/// What is known of the working keys of all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters {
    /// The counter of the key in use; 0 if there is none.
    adopted: [u64; NODES],
    /// The least counter that a key must have.
    least: [u64; NODES],
}

/// What a key with this counter is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Admission {
    /// Newer than any that was used.
    New,
    /// The one in use.
    Known,
    Old,
}

impl Counters {
    /// With the highest counters that were written down, and the keys that they stand for in use.
    pub const fn new(adopted: [u64; NODES]) -> Self {
        Self { adopted, least: adopted }
    }

    /// The highest counter known of each node.
    pub const fn highest(&self) -> [u64; NODES] {
        self.least
    }

    /// Whether a key of this node is in use.
    pub const fn is_in_use(&self, node: NodeId) -> bool {
        let i = node.index();
        self.adopted[i] != 0 && self.adopted[i] >= self.least[i]
    }

    /// What a key with this counter is to this node.
    pub const fn admission(&self, node: NodeId, counter: u64) -> Admission {
        let i = node.index();
        if counter < self.least[i] || counter < self.adopted[i] || counter == 0 {
            Admission::Old
        } else if counter == self.adopted[i] {
            Admission::Known
        } else {
            Admission::New
        }
    }

    /// A key is used from now on.
    pub fn adopt(&mut self, node: NodeId, counter: u64) {
        self.adopted[node.index()] = counter;
        self.least[node.index()] = counter;
    }

    /// The breaker node knows a key with this counter. True if the one in use here is older.
    #[must_use]
    pub fn raise(&mut self, node: NodeId, counter: u64) -> bool {
        let i = node.index();
        if counter <= self.least[i] {
            return false;
        }
        self.least[i] = counter;
        true
    }
}

/// Counters, and how much work keys may cause.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct WorkingKeys {
    pub(super) counters: Counters,
    checks: Budget,
    answers: Budget,
}

/// A key that is in use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Admitted {
    pub(super) counter: u64,
    /// Whether it was not in use before.
    pub(super) is_new: bool,
}

impl WorkingKeys {
    pub(super) fn new(counters: Counters) -> Self {
        Self { counters, checks: Budget::default(), answers: Budget::default() }
    }

    /// It is this tick.
    pub(super) fn renew(&mut self, tick: Tick) {
        self.checks.renew(tick);
        self.answers.renew(tick);
    }

    /// Uses a key that a node has sent, if its root key has certified it and it is not an old one.
    ///
    /// Only a key that claims to be new is verified: if those in use cost as much, anybody who repeats
    /// an old announcement in each tick would keep the node from ever announcing its next key.
    pub(super) fn admit<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        node: NodeId,
        key: S::WorkingKey,
    ) -> Result<Admitted, Refusal> {
        let counter = S::counter(&key);
        let admission = self.counters.admission(node, counter);
        let budget = match admission {
            Admission::Old => return Err(Refusal::OldKey),
            Admission::Known => &mut self.answers,
            Admission::New => &mut self.checks,
        };
        // A node is born once in a while: one look in a tick is plenty.
        if !budget.spend(turn.tick(), node, 1) {
            return Err(Refusal::Budget);
        }
        let is_new = admission == Admission::New;
        if is_new {
            if !turn.scheme.is_certified(node, &key) {
                return Err(Refusal::Wrong);
            }
            self.counters.adopt(node, counter);
            turn.effects.push(Effect::Adopt { node, key, counter });
        }
        Ok(Admitted { counter, is_new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId::ALL[1];

    #[test]
    fn counters_never_go_back() {
        let mut counters = Counters::new([3; NODES]);
        assert_eq!(counters.admission(NODE, 2), Admission::Old);
        assert_eq!(counters.admission(NODE, 3), Admission::Known);
        assert_eq!(counters.admission(NODE, 9), Admission::New);
        counters.adopt(NODE, 9);
        assert_eq!(counters.admission(NODE, 8), Admission::Old);
        assert_eq!(counters.highest(), [3, 9, 3, 3]);
    }

    #[test]
    fn who_remembers_nothing_believes_the_breaker_node() {
        let mut counters = Counters::default();
        assert_eq!(counters.admission(NODE, 0), Admission::Old);
        assert!(counters.raise(NODE, 5));
        assert!(!counters.raise(NODE, 4));
        assert_eq!(counters.admission(NODE, 4), Admission::Old);
        assert_eq!(counters.admission(NODE, 5), Admission::New);
        counters.adopt(NODE, 5);
        assert_eq!(counters.admission(NODE, 5), Admission::Known);
    }
}
