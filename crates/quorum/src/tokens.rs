//! Who may be destroyed and reborn: one node after the other, and none while another one is
//! away, because two must remain who are correct.
//!
//! A token is what allows a rebirth. It goes round, and comes back when the node is heard to vote
//! again. While a node is down, only that one is reborn: it is away anyway, and a hostile node that
//! falls silent, or one that hangs after its rebirth, would otherwise end all rebirths for ever.

use std::time::Duration;

use super::{CommonTime, NODES, NodeId};

/// How often a node that is being reborn may be silent for too long until it is born once more.
const REBIRTH_MAX: u32 = 5;

/// How often nodes are reborn.
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
    /// The node whose token it is has been reborn, and its new key is in use.
    Reborn(NodeId),
    /// The time of [`Tokens::next_deadline`] has come.
    Deadline,
}

/// Decides which node is destroyed and reborn, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tokens {
    rejuvenation: Rejuvenation,
    /// Who is being reborn, and since when.
    holder: Option<(NodeId, CommonTime)>,
    /// Whose turn it is.
    turn: NodeId,
    next: CommonTime,
    heard: [Option<CommonTime>; NODES],
}

impl Tokens {
    /// Nobody has been heard yet; the first token is handed out after an interval.
    pub fn new(now: CommonTime, rejuvenation: Rejuvenation) -> Self {
        Self {
            rejuvenation,
            holder: None,
            turn: NodeId::ALL[0],
            next: now.plus(rejuvenation.interval),
            heard: [None; NODES],
        }
    }

    /// Takes in an event; answers who is to be destroyed and reborn now.
    #[must_use]
    pub fn step(&mut self, now: CommonTime, event: TokenEvent) -> Option<NodeId> {
        match event {
            TokenEvent::Heard(node) => self.heard[node.index()] = Some(now),
            TokenEvent::Reborn(node) => {
                self.heard[node.index()] = Some(now);
                if self.holder() == Some(node) {
                    self.holder = None;
                }
            }
            TokenEvent::Deadline => {}
        }
        if now < self.next_deadline() {
            return None;
        }
        let node = match self.holder {
            Some((node, _)) => node,
            None => self.in_turn().find(|node| self.is_down(now, *node)).unwrap_or(self.turn),
        };
        if node == self.turn {
            self.turn = NodeId::ALL[(node.index() + 1) % NODES];
        }
        self.next = now.plus(self.rejuvenation.interval);
        self.holder = Some((node, now));
        Some(node)
    }

    /// When [`TokenEvent::Deadline`] is to come.
    pub fn next_deadline(&self) -> CommonTime {
        let Rejuvenation { interval, silence_max } = self.rejuvenation;
        match self.holder {
            Some((_, since)) => since.plus(interval.max(REBIRTH_MAX * silence_max)),
            None => self.next,
        }
    }

    /// Who is being reborn.
    pub fn holder(&self) -> Option<NodeId> {
        self.holder.map(|(node, _)| node)
    }

    /// All of them, the one whose turn it is first.
    fn in_turn(&self) -> impl Iterator<Item = NodeId> {
        let first = self.turn.index();
        (0..NODES).map(move |place| NodeId::ALL[(first + place) % NODES])
    }

    /// Whether a node has been silent for too long.
    fn is_down(&self, now: CommonTime, node: NodeId) -> bool {
        let silence_max = self.rejuvenation.silence_max;
        self.heard[node.index()].is_none_or(|heard| now.since(heard) > silence_max)
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

    fn at(ms: u64) -> CommonTime {
        CommonTime::from_ns(ms * 1_000_000)
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
    fn no_token_is_given_while_a_node_is_away() {
        let mut tokens = tokens();
        for node in NodeId::ALL {
            assert_eq!(tokens.step(at(9500), TokenEvent::Heard(node)), None);
        }
        assert_eq!(tokens.step(at(9999), TokenEvent::Deadline), None);
        assert_eq!(tokens.step(at(10_000), TokenEvent::Deadline), Some(A));
        // Another node's rebirth, out of turn, gives nothing back.
        assert_eq!(tokens.step(at(19_000), TokenEvent::Reborn(B)), None);
        for node in NodeId::ALL {
            assert_eq!(tokens.step(at(19_500), TokenEvent::Heard(node)), None, "A is away");
        }
        assert_eq!(tokens.step(at(19_501), TokenEvent::Reborn(A)), None);
        assert_eq!(tokens.step(at(20_000), TokenEvent::Deadline), Some(B));
    }

    /// A hostile node may be silent, and one that was reborn may hang.
    #[test]
    fn who_is_down_is_reborn_and_nobody_else() {
        let mut tokens = tokens();
        let others_are_heard = |tokens: &mut Tokens, ms: u64| {
            [A, B, C].map(|node| tokens.step(at(ms), TokenEvent::Heard(node)))
        };
        assert_eq!(others_are_heard(&mut tokens, 9999), [None; 3]);
        assert_eq!(tokens.next_deadline(), at(10_000));
        assert_eq!(tokens.step(at(10_000), TokenEvent::Deadline), Some(D), "it is not its turn");
        for ms in [11_000, 15_000, 19_999] {
            assert_eq!(others_are_heard(&mut tokens, ms), [None; 3]);
        }
        assert_eq!(tokens.next_deadline(), at(20_000));
        assert_eq!(tokens.step(at(20_000), TokenEvent::Deadline), Some(D), "it has not come back");
        assert_eq!(tokens.step(at(20_500), TokenEvent::Reborn(D)), None);
        assert_eq!(others_are_heard(&mut tokens, 29_999), [None; 3]);
        assert_eq!(tokens.step(at(29_999), TokenEvent::Heard(D)), None);
        assert_eq!(tokens.step(at(30_000), TokenEvent::Deadline), Some(A));
    }

    proptest! {
        #[test]
        fn there_is_one_token(events in prop::collection::vec((0u64..3000, 0u8..4, 0u8..3), 0..400)) {
            let mut tokens = tokens();
            let (mut ms, mut away, mut heard) = (0, None::<(NodeId, u64)>, [None::<u64>; NODES]);
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
                if event == TokenEvent::Reborn(node) && away.is_some_and(|(who, _)| who == node) {
                    away = None;
                }
                if let Some(given) = tokens.step(at(ms), event) {
                    prop_assert!(away.is_none_or(|(node, since)| node == given && ms >= since + 10_000));
                    let is_down = heard.map(|at| at.is_none_or(|at| ms - at > 2000));
                    let others_are_up = is_down.iter().all(|is| !is);
                    prop_assert!(away.is_some() || others_are_up || is_down[given.index()]);
                    away = Some((given, ms));
                }
            }
        }
    }
}
