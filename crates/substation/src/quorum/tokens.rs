//! Who may be destroyed and born anew: one node after the other, and none while another one is
//! away, because two must remain who are correct.
//!
//! A token is what allows a rebirth. It goes round, and comes back when the node is heard to vote
//! again. A node that takes too long is not waited for by everybody else's clock: it is down, and
//! no token is given until it is back.

use std::time::Duration;

use super::{NODES, NodeId};
use crate::SampleTime;

/// How rejuvenation goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rejuvenation {
    /// From the begin of one rebirth to the next, at least.
    pub interval: Duration,
    /// How long a node may be silent before it is taken to be down. More than two signs of life.
    pub silence_max: Duration,
}

/// What happens to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenEvent {
    /// An authentic message has come from a node.
    Heard(NodeId),
    /// The node whose token it is has been born anew, and its new key is in use.
    Reborn(NodeId),
    /// The time of [`Tokens::next_deadline`] has come.
    Deadline,
}

/// Hands out tokens.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tokens {
    rejuvenation: Rejuvenation,
    /// Who is being reborn.
    holder: Option<NodeId>,
    /// Whose turn it is.
    turn: NodeId,
    /// Not before this.
    next: SampleTime,
    heard: [Option<SampleTime>; NODES],
}

impl Tokens {
    /// Nobody has been heard yet; the first token is handed out after an interval.
    #[must_use]
    pub fn new(now: SampleTime, rejuvenation: Rejuvenation) -> Self {
        Self {
            rejuvenation,
            holder: None,
            turn: NodeId::ALL[0],
            next: now.plus(rejuvenation.interval),
            heard: [None; NODES],
        }
    }

    /// Takes in an event; answers who is to be destroyed and born anew now.
    #[must_use]
    pub fn step(&mut self, now: SampleTime, event: TokenEvent) -> Option<NodeId> {
        match event {
            TokenEvent::Heard(node) => self.heard[node.index()] = Some(now),
            TokenEvent::Reborn(node) => {
                self.heard[node.index()] = Some(now);
                if self.holder == Some(node) {
                    self.holder = None;
                }
            }
            TokenEvent::Deadline => {}
        }
        let due = self.holder.is_none() && now >= self.next;
        if !due || self.down(now).next().is_some() {
            return None;
        }
        let node = self.turn;
        self.turn = NodeId::ALL[(node.index() + 1) % NODES];
        self.next = now.plus(self.rejuvenation.interval);
        self.holder = Some(node);
        Some(node)
    }

    /// When to look again; nothing while a token is out or a node is down, because then only an
    /// event changes anything.
    #[must_use]
    pub fn next_deadline(&self, now: SampleTime) -> Option<SampleTime> {
        (self.holder.is_none() && self.down(now).next().is_none()).then_some(self.next)
    }

    /// Who is being reborn.
    #[must_use]
    pub const fn holder(&self) -> Option<NodeId> {
        self.holder
    }

    /// Who has been silent for too long.
    pub fn down(&self, now: SampleTime) -> impl Iterator<Item = NodeId> {
        let silence_max = self.rejuvenation.silence_max;
        NodeId::ALL.into_iter().filter(move |node| {
            self.heard[node.index()].is_none_or(|heard| now.since(heard) > silence_max)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: NodeId = NodeId::ALL[0];
    const B: NodeId = NodeId::ALL[1];
    const C: NodeId = NodeId::ALL[2];
    const D: NodeId = NodeId::ALL[3];

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    fn tokens() -> Tokens {
        let interval = Duration::from_secs(10);
        let silence_max = Duration::from_secs(2);
        Tokens::new(at(0), Rejuvenation { interval, silence_max })
    }

    #[test]
    fn a_token_goes_round_and_comes_back() {
        let mut tokens = tokens();
        let mut given = Vec::new();
        for ms in (0..60_000).step_by(500) {
            for node in NodeId::ALL {
                if tokens.holder() == Some(node) {
                    continue;
                }
                given.extend(tokens.step(at(ms), TokenEvent::Heard(node)).map(|n| (ms, n)));
            }
            // It takes a node 3 s to come back.
            if let Some(node) = tokens.holder()
                && given.last().is_some_and(|&(since, _)| ms >= since + 3000)
            {
                assert_eq!(tokens.step(at(ms), TokenEvent::Reborn(node)), None);
            }
        }
        let expected = [A, B, C, D, A].into_iter().zip((10_000..).step_by(10_000));
        assert_eq!(given, expected.map(|(node, ms)| (ms, node)).collect::<Vec<_>>());
    }

    #[test]
    fn no_token_is_given_while_a_node_is_down_or_away() {
        let mut tokens = tokens();
        for node in [A, B, C] {
            assert_eq!(tokens.step(at(9500), TokenEvent::Heard(node)), None);
        }
        assert_eq!(tokens.step(at(10_000), TokenEvent::Deadline), None);
        assert_eq!(tokens.next_deadline(at(10_000)), None);
        assert_eq!(tokens.step(at(10_001), TokenEvent::Heard(D)), Some(A));
        for node in NodeId::ALL {
            assert_eq!(tokens.step(at(21_000), TokenEvent::Heard(node)), None, "A is away");
        }
        // Another node's rebirth, out of turn, gives nothing back.
        assert_eq!(tokens.step(at(21_001), TokenEvent::Reborn(B)), None);
        assert_eq!(tokens.step(at(21_002), TokenEvent::Reborn(A)), Some(B));
    }

    proptest! {
        #[test]
        fn there_is_one_token(events in prop::collection::vec((0u64..3000, 0u8..4, 0u8..3), 0..400)) {
            let mut tokens = tokens();
            let (mut ms, mut away, mut heard) = (0, None, [None; NODES]);
            for (step, node, kind) in events {
                ms += step;
                let node = NodeId::new(node).unwrap();
                let event = match kind {
                    0 => TokenEvent::Heard(node),
                    1 => TokenEvent::Reborn(node),
                    _ => TokenEvent::Deadline,
                };
                if event != TokenEvent::Deadline {
                    heard[node.index()] = Some(ms);
                }
                if event == TokenEvent::Reborn(node) && away == Some(node) {
                    away = None;
                }
                if let Some(given) = tokens.step(at(ms), event) {
                    prop_assert_eq!(away, None);
                    prop_assert!(heard.iter().all(|at| at.is_some_and(|at| ms - at <= 2000)));
                    away = Some(given);
                }
            }
        }
    }
}
