//! In whose name a relay node speaks, whichever protocol it speaks by.

use super::{Attempt, NodeId, Parameters, Statement, Subject, Tick};

/// Who speaks, about what, by which rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Speaker {
    pub me: NodeId,
    /// Of which breaker, by which protocol, under which keys.
    pub subject: Subject,
    pub parameters: Parameters,
}

impl Speaker {
    /// What is said of an attempt in a tick.
    pub(super) const fn statement(&self, attempt: Attempt, tick: Tick) -> Statement {
        let Attempt { action, generation } = attempt;
        Statement { subject: self.subject, action, generation, tick }
    }
}
