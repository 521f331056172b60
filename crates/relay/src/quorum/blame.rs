//! What nodes are blamed for: all of it is counted, and as much of it is taken down as others need to
//! see for themselves. Who lies can do so thousands of times a second, for years, and must not fill
//! the disk of those who note it.

use quorum::{Evidence, Misdeed, NODES};

/// Lines of each kind of misdeed of a node that may come at once.
const AT_ONCE: u64 = 64;
/// Time after which there is one more: some 100 kB a day from a node that does all there is.
const REFILL_NS: i64 = 600_000_000_000;
/// Kinds of misdeeds.
const KINDS: usize = 3;

/// What was noted of all nodes.
#[derive(Debug, Default)]
pub(super) struct Blame {
    counts: [u64; NODES],
    left: [[Left; KINDS]; NODES],
}

/// Lines that there may still be.
#[derive(Clone, Copy, Debug)]
struct Left {
    lines: u64,
    /// Since when refills are counted.
    since_ns: i64,
}

impl Default for Left {
    fn default() -> Self {
        Self { lines: AT_ONCE, since_ns: 0 }
    }
}

impl Blame {
    /// Counts it, and says whether it is worth a line; it is `now_ns` since any moment.
    pub(super) fn note<P>(&mut self, now_ns: i64, evidence: &Evidence<P>) -> bool {
        let node = evidence.node.index();
        self.counts[node] = self.counts[node].saturating_add(1);
        let kind = match evidence.misdeed {
            Misdeed::WrongProof { .. } => 0,
            Misdeed::Equivocation { .. } => 1,
            Misdeed::Impossible { .. } => 2,
        };
        self.left[node][kind].take(now_ns)
    }

    /// How often each node did something.
    pub(super) const fn counts(&self) -> &[u64; NODES] {
        &self.counts
    }
}

impl Left {
    const fn take(&mut self, now_ns: i64) -> bool {
        let refills = now_ns.saturating_sub(self.since_ns) / REFILL_NS;
        if refills > 0 {
            let lines = self.lines.saturating_add(refills as u64);
            self.lines = if lines < AT_ONCE { lines } else { AT_ONCE };
            self.since_ns = now_ns;
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
    fn all_is_counted_and_what_is_taken_down_has_a_limit_of_its_own() {
        let mut blame = Blame::default();
        let mut lines = |node: usize, now_ns: i64| {
            let noted = (0..5000).filter(|_| blame.note(now_ns, &impossible(node)));
            noted.count() as u64
        };
        let now_ns = 1_800_000_000_000_000_000;
        assert_eq!(lines(3, now_ns), AT_ONCE);
        assert_eq!(lines(3, now_ns + REFILL_NS - 1), 0);
        assert_eq!(lines(2, now_ns), AT_ONCE, "nobody else pays for it");
        assert_eq!(lines(3, now_ns + 2 * REFILL_NS), 2);
        assert_eq!(lines(3, now_ns + 1000 * REFILL_NS), AT_ONCE);
        assert_eq!(blame.counts(), &[0, 0, 5000, 20_000]);
    }
}
