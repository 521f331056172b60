//! Arbiter Protocol, relay side: a vote to the breaker node at once and at each begin of a tick.

use super::effect::Turn;
use super::{Attempt, Message, Party, Scheme, Speaker, Tick};

/// The voice of a relay node in the Arbiter Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Arbiter {
    /// The newest vote: another one for the same would say nothing new.
    voted: Option<(Attempt, Tick)>,
}

impl Arbiter {
    /// What was said in another tick is forgotten.
    pub(super) fn forget(&mut self, now: Tick) {
        self.voted = self.voted.filter(|&(_, tick)| tick == now);
    }

    /// Votes, if that was not done in this tick.
    pub(super) fn speak<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        attempt: Attempt,
        speaker: &Speaker,
    ) {
        let tick = turn.tick();
        if self.voted == Some((attempt, tick)) {
            return;
        }
        self.voted = Some((attempt, tick));
        if let Some(proof) = turn.scheme.prove(&speaker.subject.statement(attempt, tick)) {
            turn.send(Party::Breaker, Message::Vote { attempt, tick, proof });
        }
    }
}
