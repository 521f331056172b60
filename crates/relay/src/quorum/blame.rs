//! What nodes are blamed for: all of it is counted, and as much of it is recorded as others need to
//! see for themselves. Who lies can do so thousands of times a second, for years, and must not fill
//! the disk of those who note it.

use std::time::Duration;

use quorum::{CommonTime, Evidence, Misdeed, NODES};

/// Lines of each kind of misdeed of a node that may come at once.
const AT_ONCE: u64 = 64;
/// Time after which there is one more: some 100 kB a day from a node that does all there is.
const REFILL: Duration = Duration::from_secs(600);
const KINDS: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Blame {
    pub(super) counts: [u64; NODES],
    left: [[Left; KINDS]; NODES],
}

/// Lines that there may still be.
#[derive(Clone, Copy, Debug)]
struct Left {
    lines: u64,
    /// Since when refills are counted.
    since: CommonTime,
}

impl Default for Left {
    fn default() -> Self {
        Self { lines: AT_ONCE, since: CommonTime::ZERO }
    }
}

impl Blame {
    /// Counts it, and says whether it is worth a line.
    pub(super) fn note<P>(&mut self, now: CommonTime, evidence: &Evidence<P>) -> bool {
        let node = evidence.node.index();
        self.counts[node] = self.counts[node].saturating_add(1);
        let kind = match evidence.misdeed {
            Misdeed::WrongProof { .. } => 0,
            Misdeed::Equivocation { .. } => 1,
            Misdeed::Impossible { .. } => 2,
        };
        self.left[node][kind].take(now)
    }
}

impl Left {
    fn take(&mut self, now: CommonTime) -> bool {
        let refills = now.since(self.since).as_secs() / REFILL.as_secs();
        if refills > 0 {
            self.lines = self.lines.saturating_add(refills).min(AT_ONCE);
            self.since = now;
        }
        let is_there = self.lines > 0;
        self.lines = self.lines.saturating_sub(1);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use quorum::{
        Action, BreakerId, Epoch, Gen, NodeId, Protocol, Statement, StationId, Subject, Tick,
    };

    use super::*;

    fn impossible(node: usize) -> Evidence<()> {
        let subject = Subject {
            protocol: Protocol::Arbiter,
            station: StationId(1),
            breaker: BreakerId(1),
            epoch: Epoch(1),
        };
        let (generation, tick) = (Gen(0), Tick::default());
        let statement = Statement { subject, action: Action::Trip, generation, tick };
        let misdeed = Misdeed::Impossible { statement, proof: () };
        Evidence { node: NodeId::ALL[node], misdeed }
    }

    #[test]
    fn all_is_counted_and_what_is_recorded_has_a_limit_of_its_own() {
        let mut blame = Blame::default();
        let mut lines = |node: usize, now: CommonTime| {
            let noted = (0..5000).filter(|_| blame.note(now, &impossible(node)));
            noted.count() as u64
        };
        let now = CommonTime::from_ns(1_800_000_000_000_000_000);
        let later = |refills| now.plus(refills * REFILL);
        assert_eq!(lines(3, now), AT_ONCE);
        assert_eq!(lines(3, now.plus(REFILL - Duration::from_nanos(1))), 0);
        assert_eq!(lines(2, now), AT_ONCE, "nobody else pays for it");
        assert_eq!(lines(3, later(2)), 2);
        assert_eq!(lines(3, later(1000)), AT_ONCE);
        assert_eq!(blame.counts, [0, 0, 5000, 20_000]);
    }
}
