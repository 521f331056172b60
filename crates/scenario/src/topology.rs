//! Which parts of the network reach each other, and where switches form a loop.
//!
//! The network has no spanning tree protocol: a broadcast in a loop of switches would circle
//! for ever, so loops are refused. Nodes and attackers have one link each and close none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Links between named parts, without direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Topology {
    neighbours: BTreeMap<String, BTreeSet<String>>,
}

impl Topology {
    pub(super) fn connect(&mut self, from: &str, to: &str) {
        for (one, other) in [(from, to), (to, from)] {
            self.neighbours.entry(one.to_owned()).or_default().insert(other.to_owned());
        }
    }

    pub(super) fn joins(&self, one: &str, other: &str) -> bool {
        self.neighbours.get(one).is_some_and(|neighbours| neighbours.contains(other))
    }

    /// The shortest way between two parts, both included; `None` if there is none.
    pub(super) fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::from([(to, to)]);
        let mut waiting = VecDeque::from([to]);
        while let Some(here) = waiting.pop_front() {
            if here == from {
                let next = |here: &&str| (*here != to).then(|| came_from[here]);
                let path = std::iter::successors(Some(from), next);
                return Some(path.map(str::to_owned).collect());
            }
            for next in self.neighbours.get(here).into_iter().flatten() {
                if !came_from.contains_key(next.as_str()) {
                    came_from.insert(next, here);
                    waiting.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_found_if_there_is_one() {
        let mut topology = Topology::default();
        for (from, to) in [("a", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "b"), ("x", "y")] {
            topology.connect(from, to);
        }
        assert_eq!(topology.path("a", "b").unwrap(), ["a", "s1", "s2", "s3", "b"]);
        assert_eq!(topology.path("y", "x").unwrap(), ["y", "x"]);
        assert_eq!(topology.path("a", "a").unwrap(), ["a"]);
        assert_eq!(topology.path("a", "x"), None);
        assert_eq!(topology.path("a", "nowhere"), None);
    }
}
