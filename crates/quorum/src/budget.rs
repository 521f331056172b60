//! How much work one sender can cause in a tick.

use super::{NODES, NodeId, Tick};

/// What each sender has used in the present tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Budget {
    tick: Tick,
    used: [u8; NODES],
}

impl Budget {
    /// It is this tick: what was used in another one is forgotten.
    pub(super) fn renew(&mut self, tick: Tick) {
        if self.tick != tick {
            *self = Self { tick, used: [0; NODES] };
        }
    }

    /// Takes one from what is allowed to a sender in this tick; false if there is nothing left.
    #[must_use]
    pub(super) fn spend(&mut self, tick: Tick, node: NodeId, allowed: u8) -> bool {
        self.renew(tick);
        let used = &mut self.used[node.index()];
        let left = *used < allowed;
        *used += u8::from(left);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_allowed_in_each_tick() {
        let mut budget = Budget::default();
        for tick in 0..3 {
            for node in NodeId::ALL {
                let spent = (0..1000).filter(|_| budget.spend(Tick(tick), node, 2)).count();
                assert_eq!(spent, 2);
            }
        }
        assert!(!budget.spend(Tick(2), NodeId::ALL[0], 0));
    }
}
