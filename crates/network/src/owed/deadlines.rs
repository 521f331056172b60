//! A table of what is owed, each entry until its deadline, in bounded memory.
//!
//! It holds only what is owed, and so is nearly empty whatever runs. If somebody floods it, the entry
//! that would end first is forgotten, but not that it was owed: the deadline of what was forgotten
//! counts on, so that an answer may be "for too long", never "no longer" too early.

use std::collections::{BTreeMap, BTreeSet};

use vtime::HostTime;

/// Entries by key, each with a host time after which it is owed no more.
#[derive(Clone, Debug)]
pub(super) struct Deadlines<K, V> {
    entries: BTreeMap<K, (HostTime, V)>,
    order: BTreeSet<(HostTime, K)>,
    entries_max: usize,
    forgotten: Option<(HostTime, K)>,
}

/// The entry that is owed longest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Last<K, V> {
    pub(super) until: HostTime,
    pub(super) key: K,
    /// `None` if there was no room for it.
    pub(super) value: Option<V>,
}

impl<K: Copy + Ord, V: Copy> Deadlines<K, V> {
    /// A table of at most so many entries.
    pub(super) fn new(entries_max: usize) -> Self {
        let (entries, order) = (BTreeMap::new(), BTreeSet::new());
        Self { entries, order, entries_max, forgotten: None }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).map(|&(_, value)| value)
    }

    /// Puts an entry in the place of the one with its key, if there is one.
    pub(super) fn set(&mut self, key: K, value: V, until: HostTime) {
        if let Some((before, _)) = self.entries.insert(key, (until, value)) {
            self.order.remove(&(before, key));
        }
        self.order.insert((until, key));
        if self.entries.len() > self.entries_max
            && let Some(first) = self.order.pop_first()
        {
            self.entries.remove(&first.1);
            self.forgotten = self.forgotten.max(Some(first));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.forgotten.is_none()
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some((until, _)) = self.entries.remove(key) {
            self.order.remove(&(until, *key));
        }
    }

    /// Removes what is owed no more at `now`.
    pub(super) fn expire(&mut self, now: HostTime) {
        while let Some(&(until, key)) = self.order.first()
            && until <= now
        {
            self.order.pop_first();
            self.entries.remove(&key);
        }
        self.forgotten = self.forgotten.filter(|&(until, _)| until > now);
    }

    /// The entry with the latest deadline, which may have passed, but for those that `moves` names.
    pub(super) fn last_but(&self, moves: impl Fn(&K) -> bool) -> Option<Last<K, V>> {
        let kept = self.order.iter().rev().find(|(_, key)| !moves(key)).map(|&(until, key)| {
            let value = self.get(&key);
            Last { until, key, value }
        });
        let forgotten = self.forgotten.map(|(until, key)| Last { until, key, value: None });
        match (kept, forgotten) {
            (Some(kept), Some(forgotten)) if forgotten.until > kept.until => Some(forgotten),
            (kept, forgotten) => kept.or(forgotten),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(ns: i64) -> HostTime {
        HostTime::from_ns(ns)
    }

    #[test]
    fn what_finds_no_room_is_owed_until_its_deadline() {
        let mut table = Deadlines::new(2);
        for (key, until) in [(1, 50), (2, 60), (3, 40)] {
            table.set(key, key * 10, ns(until));
        }
        assert_eq!(table.get(&3), None);
        assert_eq!(
            table.last_but(|_| false),
            Some(Last { until: ns(60), key: 2, value: Some(20) })
        );
        table.remove(&1);
        table.remove(&2);
        assert_eq!(table.last_but(|_| false), Some(Last { until: ns(40), key: 3, value: None }));
        table.expire(ns(39));
        assert!(table.last_but(|_| false).is_some());
        table.expire(ns(40));
        assert_eq!(table.last_but(|_| false), None);
    }

    proptest! {
        /// With or without room, something is owed at the same times, and never too short.
        #[test]
        fn little_room_shortens_nothing(
            steps in proptest::collection::vec((0u8..8, 0i64..100, any::<bool>()), 0..60),
            entries_max in 1usize..8, now in 0i64..100,
        ) {
            let (mut small, mut large) = (Deadlines::new(entries_max), Deadlines::new(100));
            for &(key, until, removes) in &steps {
                for table in [&mut small, &mut large] {
                    if removes { table.remove(&key) } else { table.set(key, key, ns(until)) }
                }
                prop_assert!(small.entries.len() <= entries_max);
                prop_assert_eq!(small.entries.len(), small.order.len());
            }
            small.expire(ns(now));
            large.expire(ns(now));
            let [small, large] = [small, large].map(|table| table.last_but(|_| false).map(|last| last.until));
            prop_assert!(small >= large);
        }
    }
}
