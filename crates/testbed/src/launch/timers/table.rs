//! Deadlines of timers, and which are due. Reads no clock: callers pass virtual time in.

use std::collections::{BTreeMap, BTreeSet};

use vtime::{VirtualSpan, VirtualTime};

/// Setting of a timer, and what is left of it: time to the next expiration (zero: disarmed) and
/// the period (zero: once).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Setting {
    pub(super) left: VirtualSpan,
    pub(super) period: VirtualSpan,
}

#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    next: Option<VirtualTime>,
    period: VirtualSpan,
}

/// The timers of a domain by key.
#[derive(Debug)]
pub(super) struct Table<K> {
    timers: BTreeMap<K, Timer>,
    queue: BTreeSet<(VirtualTime, K)>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { timers: BTreeMap::new(), queue: BTreeSet::new() }
    }
}

impl<K: Ord + Copy> Table<K> {
    /// Arms a timer, or disarms it if `next` is `None`; makes it if it is new. Answers what it
    /// was.
    pub(super) fn set(
        &mut self,
        key: K,
        next: Option<VirtualTime>,
        period: VirtualSpan,
        now: VirtualTime,
    ) -> Setting {
        let before = self.get(key, now);
        self.remove(key);
        self.timers.insert(key, Timer { next, period });
        self.queue.extend(next.map(|next| (next, key)));
        before
    }

    /// What is left of a timer. As the kernel, it never says zero of one that is armed.
    pub(super) fn get(&self, key: K, now: VirtualTime) -> Setting {
        let timer = self.timers.get(&key).copied().unwrap_or_default();
        let left =
            timer.next.map_or(VirtualSpan::ZERO, |next| (next - now).max(VirtualSpan::from_ns(1)));
        Setting { left, period: timer.period }
    }

    /// Forgets a timer.
    pub(super) fn remove(&mut self, key: K) {
        if let Some(next) = self.timers.remove(&key).and_then(|timer| timer.next) {
            self.queue.remove(&(next, key));
        }
    }

    /// When the next timer is due.
    pub(super) fn next(&self) -> Option<VirtualTime> {
        self.queue.first().map(|(next, _)| *next)
    }

    /// Takes the timer that has been due longest at `now`, with how often it has expired.
    pub(super) fn take_due(&mut self, now: VirtualTime) -> Option<(K, u64)> {
        let (due, key) = *self.queue.first().filter(|(next, _)| *next <= now)?;
        self.queue.pop_first();
        let timer = self.timers.get_mut(&key).expect("queued timers are in the table");
        timer.next = None;
        if timer.period <= VirtualSpan::ZERO {
            return Some((key, 1));
        }
        let periods = (now - due).as_ns() / timer.period.as_ns() + 1;
        let next = due + VirtualSpan::from_ns(timer.period.as_ns().saturating_mul(periods));
        timer.next = Some(next);
        self.queue.insert((next, key));
        Some((key, periods.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: i64) -> VirtualTime {
        VirtualTime::from_ns(ns)
    }

    fn span(ns: i64) -> VirtualSpan {
        VirtualSpan::from_ns(ns)
    }

    #[test]
    fn a_timer_expires_once_and_is_then_disarmed() {
        let mut table = Table::default();
        table.set('a', Some(at(100)), VirtualSpan::ZERO, at(0));
        assert_eq!(table.get('a', at(40)).left, span(60));
        assert_eq!(table.take_due(at(99)), None);
        assert_eq!(table.take_due(at(100)), Some(('a', 1)));
        assert_eq!(table.take_due(at(1000)), None);
        assert_eq!(table.get('a', at(1000)), Setting::default());
    }

    #[test]
    fn a_period_that_was_missed_is_counted() {
        let mut table = Table::default();
        table.set('a', Some(at(100)), span(10), at(0));
        assert_eq!(table.take_due(at(135)), Some(('a', 4)));
        assert_eq!(table.next(), Some(at(140)));
    }

    #[test]
    fn setting_anew_replaces_and_tells_what_it_was() {
        let mut table = Table::default();
        table.set('a', Some(at(100)), span(7), at(0));
        let before = table.set('a', None, VirtualSpan::ZERO, at(30));
        assert_eq!(before, Setting { left: span(70), period: span(7) });
        assert_eq!((table.next(), table.take_due(at(1000))), (None, None));
    }

    proptest! {
        /// However late somebody looks, no expiration is lost or invented, and none is early.
        #[test]
        fn expirations_add_up(first in 1..1000i64, period in 1..50i64, looks in proptest::collection::vec(1..300i64, 1..50)) {
            let mut table = Table::default();
            table.set((), Some(at(first)), span(period), at(0));
            let (mut now, mut seen) = (0, 0);
            for look in looks {
                now += look;
                while let Some(((), count)) = table.take_due(at(now)) {
                    seen += count;
                }
                let expected = if now < first { 0 } else { (now - first) / period + 1 };
                prop_assert_eq!(seen, expected.unsigned_abs());
            }
        }
    }
}
