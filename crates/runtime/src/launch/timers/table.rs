//! Deadlines of timers, and which are due. Reads no clock: callers pass the time in.
//!
//! Each timer counts in the time of one program, its lane, and the times of two programs cannot
//! be compared: so each lane has a queue of its own.

use std::collections::{BTreeMap, BTreeSet};

use vtime::{ProgramSpan, ProgramTime};

/// Setting of a timer, and what is left of it: time to the next expiration (zero: disarmed) and
/// the period (zero: once).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Setting {
    pub(super) left: ProgramSpan,
    pub(super) period: ProgramSpan,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Due<K> {
    pub(super) key: K,
    /// How often, since it last did.
    pub(super) times: u64,
    /// How long the first of these is over.
    pub(super) late: ProgramSpan,
    /// Zero: it has no further ones.
    pub(super) period: ProgramSpan,
}

/// The number of the program in whose time a timer counts.
pub(super) type Lane = u64;

#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    lane: Lane,
    next: Option<ProgramTime>,
    period: ProgramSpan,
}

#[derive(Debug)]
pub(super) struct Table<K> {
    timers: BTreeMap<K, Timer>,
    queues: BTreeMap<Lane, BTreeSet<(ProgramTime, K)>>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { timers: BTreeMap::new(), queues: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> Table<K> {
    /// Arms a timer, or disarms it if `next` is `None`; makes it if it is new.
    pub(super) fn set(
        &mut self,
        key: K,
        lane: Lane,
        next: Option<ProgramTime>,
        period: ProgramSpan,
    ) {
        self.remove(key);
        self.insert(key, Timer { lane, next, period });
    }

    /// The lane of a timer; `None` if it was never set.
    pub(super) fn lane(&self, key: K) -> Option<Lane> {
        self.timers.get(&key).map(|timer| timer.lane)
    }

    /// What is left of a timer when its lane has come to `now`. As the kernel, it never says zero
    /// of one that is armed.
    pub(super) fn get(&self, key: K, now: ProgramTime) -> Setting {
        let timer = self.timers.get(&key).copied().unwrap_or_default();
        let left =
            timer.next.map_or(ProgramSpan::ZERO, |next| (next - now).max(ProgramSpan::from_ns(1)));
        Setting { left, period: timer.period }
    }

    pub(super) fn remove(&mut self, key: K) {
        let Some(Timer { lane, next: Some(next), .. }) = self.timers.remove(&key) else { return };
        let Some(queue) = self.queues.get_mut(&lane) else { return };
        queue.remove(&(next, key));
        if queue.is_empty() {
            self.queues.remove(&lane);
        }
    }

    /// Lets a timer count in another lane, whose time is the same at this moment.
    pub(super) fn change_lane(&mut self, key: K, lane: Lane) {
        let Some(timer) = self.timers.get(&key).copied() else { return };
        self.remove(key);
        self.insert(key, Timer { lane, ..timer });
    }

    /// The lanes in which a timer is armed, and when the next one of each is due.
    pub(super) fn next(&self) -> impl Iterator<Item = (Lane, ProgramTime)> + '_ {
        self.queues.iter().filter_map(|(lane, queue)| Some((*lane, queue.first()?.0)))
    }

    /// Takes the timer of a lane that has been due longest at `now`.
    pub(super) fn take_due(&mut self, lane: Lane, now: ProgramTime) -> Option<Due<K>> {
        let (due, key) = *self.queues.get(&lane)?.first().filter(|(next, _)| *next <= now)?;
        let mut timer = *self.timers.get(&key)?;
        self.remove(key);
        let late = now - due;
        let times = if timer.period <= ProgramSpan::ZERO {
            timer.next = None;
            1
        } else {
            let periods = late.as_ns() / timer.period.as_ns() + 1;
            let elapsed = timer.period.as_ns().saturating_mul(periods);
            timer.next = Some(due + ProgramSpan::from_ns(elapsed));
            periods.unsigned_abs()
        };
        self.insert(key, timer);
        Some(Due { key, times, late, period: timer.period })
    }

    fn insert(&mut self, key: K, timer: Timer) {
        if let Some(next) = timer.next {
            self.queues.entry(timer.lane).or_default().insert((next, key));
        }
        self.timers.insert(key, timer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: i64) -> ProgramTime {
        ProgramTime::from_ns(ns)
    }

    fn span(ns: i64) -> ProgramSpan {
        ProgramSpan::from_ns(ns)
    }

    fn due(key: char, times: u64, late: i64, period: i64) -> Option<Due<char>> {
        Some(Due { key, times, late: span(late), period: span(period) })
    }

    #[test]
    fn a_timer_expires_once_and_is_then_disarmed() {
        let mut table = Table::default();
        table.set('a', 1, Some(at(100)), ProgramSpan::ZERO);
        assert_eq!(table.get('a', at(40)).left, span(60));
        assert_eq!(table.take_due(1, at(99)), None);
        assert_eq!(table.take_due(1, at(100)), due('a', 1, 0, 0));
        assert_eq!(table.take_due(1, at(1000)), None);
        assert_eq!(table.get('a', at(1000)), Setting::default());
    }

    #[test]
    fn a_period_that_was_missed_is_counted() {
        let mut table = Table::default();
        table.set('a', 1, Some(at(100)), span(10));
        assert_eq!(table.take_due(1, at(135)), due('a', 4, 35, 10));
        assert_eq!(table.next().collect::<Vec<_>>(), [(1, at(140))]);
    }

    #[test]
    fn setting_again_replaces() {
        let mut table = Table::default();
        table.set('a', 1, Some(at(100)), span(7));
        assert_eq!(table.get('a', at(30)), Setting { left: span(70), period: span(7) });
        table.set('a', 1, None, ProgramSpan::ZERO);
        assert_eq!(table.next().next(), None);
        assert_eq!(table.take_due(1, at(1000)), None);
    }

    #[test]
    fn lanes_do_not_see_each_other() {
        let mut table = Table::default();
        table.set('a', 1, Some(at(100)), ProgramSpan::ZERO);
        table.set('b', 2, Some(at(50)), ProgramSpan::ZERO);
        assert_eq!(table.take_due(1, at(99)), None);
        table.change_lane('b', 1);
        assert_eq!((table.lane('b'), table.take_due(2, at(99))), (Some(1), None));
        assert_eq!(table.take_due(1, at(99)), due('b', 1, 49, 0));
    }

    proptest! {
        /// However late somebody looks, no expiration is lost or invented, and none is early.
        #[test]
        fn expirations_add_up(first in 1..1000i64, period in 1..50i64, looks in proptest::collection::vec(1..300i64, 1..50)) {
            let mut table = Table::default();
            table.set((), 1, Some(at(first)), span(period));
            let (mut now, mut seen) = (0, 0);
            for look in looks {
                now += look;
                while let Some(due) = table.take_due(1, at(now)) {
                    seen += due.times;
                }
                let expected = if now < first { 0 } else { (now - first) / period + 1 };
                prop_assert_eq!(seen, expected.unsigned_abs());
            }
        }
    }
}
