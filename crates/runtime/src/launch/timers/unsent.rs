//! Signals of timers that could not be sent: their user has as many queued as are allowed
//! (`RLIMIT_SIGPENDING`, getrlimit(2)), of whatever program. The kernel has set room aside for those
//! of its own timers, so they always come; these come as soon as there is room again.

use std::collections::BTreeMap;

use vtime::{HostSpan, HostTime, VirtualSpan, VirtualTime};

const AGAIN: HostSpan = HostSpan::from_ns(1_000_000);

pub(super) struct Unsent<K> {
    expirations: BTreeMap<K, (u64, VirtualTime)>,
    tried: HostTime,
}

impl<K: Copy + Ord> Unsent<K> {
    pub(super) fn new() -> Self {
        Self { expirations: BTreeMap::new(), tried: HostTime::ZERO }
    }

    /// Keeps all expirations of a timer that there are. Returns how late the first of them is.
    pub(super) fn keep(
        &mut self,
        key: K,
        times: u64,
        (tried, now): (HostTime, VirtualTime),
    ) -> VirtualSpan {
        let kept = self.expirations.entry(key).or_insert((0, now));
        kept.0 = times;
        self.tried = tried;
        now - kept.1
    }

    pub(super) fn of(&self, key: K) -> u64 {
        self.expirations.get(&key).map_or(0, |kept| kept.0)
    }

    pub(super) fn forget(&mut self, key: K) {
        self.expirations.remove(&key);
    }

    pub(super) fn next(&self) -> Option<HostTime> {
        (!self.expirations.is_empty()).then(|| self.tried + AGAIN)
    }

    pub(super) fn due(&self, now: HostTime) -> Vec<K> {
        match self.next() {
            Some(next) if next <= now => self.expirations.keys().copied().collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_tried_again_and_added_up() {
        let at = HostTime::from_ns;
        let moment = |ns| (at(ns), VirtualTime::from_ns(ns / 2));
        let mut unsent = Unsent::new();
        assert_eq!((unsent.next(), unsent.due(at(5))), (None, vec![]));
        assert_eq!(unsent.keep('a', 2, moment(0)), VirtualSpan::ZERO);
        assert_eq!(unsent.keep('a', 5, moment(10)), VirtualSpan::from_ns(5));
        assert_eq!(unsent.keep('b', 1, moment(10)), VirtualSpan::ZERO);
        assert_eq!(unsent.next(), Some(at(1_000_010)));
        assert_eq!(unsent.due(at(1_000_009)), vec![]);
        assert_eq!(unsent.due(at(1_000_010)), vec!['a', 'b']);
        assert_eq!([unsent.of('a'), unsent.of('b'), unsent.of('c')], [5, 1, 0]);
        unsent.forget('a');
        assert_eq!((unsent.of('a'), unsent.due(at(2_000_000))), (0, vec!['b']));
    }
}
