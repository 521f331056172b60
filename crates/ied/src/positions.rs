//! Where breakers are, as all subscribed messages tell together: of all poles, or of each.
//!
//! They are joined as protection joins them ([`Contacts`]): who is silent, or contradicts another one,
//! makes the position unknown.

use protection::PhaseSet;
use substation::engine::Contacts;
use substation::settings::{Entry, Relay};

/// What each value of each subscription last told. Numbers are places in the order of the names.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Positions {
    told: Vec<Vec<Told>>,
}

/// A value of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Told {
    /// The breaker that it tells of, and the pole where it is of one alone.
    of: Option<(usize, Option<usize>)>,
    is_closed: Option<bool>,
}

impl Positions {
    /// What subscriptions of a relay will tell; nothing is known yet.
    pub(crate) fn new(relay: &Relay) -> Self {
        let told = |entry: &Entry| {
            let pole = match entry {
                Entry::Position(_) => Some(None),
                Entry::PolePosition(_, pole) => Some(Some(*pole)),
                _ => None,
            };
            Told { of: relay.protection.place(entry).zip(pole), is_closed: None }
        };
        let subscriptions = relay.subscriptions.values();
        let told = |entries: &Vec<Entry>| entries.iter().map(told).collect();
        Self { told: subscriptions.map(|subscription| told(&subscription.entries)).collect() }
    }

    /// Takes a value in; the breaker that it tells of.
    pub(crate) fn take(
        &mut self,
        subscription: usize,
        entry: usize,
        is_closed: Option<bool>,
    ) -> Option<usize> {
        let told = &mut self.told[subscription][entry];
        told.is_closed = is_closed;
        told.of.map(|(breaker, _)| breaker)
    }

    /// Whether anybody tells of this breaker.
    pub(crate) fn are_told(&self, breaker: usize) -> bool {
        self.told.iter().flatten().any(|told| told.of.is_some_and(|(of, _)| of == breaker))
    }

    /// The open poles of a breaker, while all are known.
    pub(crate) fn open(&self, breaker: usize) -> Option<PhaseSet> {
        let mut contacts = Contacts::default();
        for told in self.told.iter().flatten() {
            if let Some((_, pole)) = told.of.filter(|(of, _)| *of == breaker) {
                contacts.tell(pole, told.is_closed);
            }
        }
        contacts.open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
relay: bay
frequency: 50 Hz
streams:
  s01: {sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
elements:
  I>: {function: overcurrent, stream: s01, pick_up: 400 A, delay: 100 ms}
trips:
  breakers: {Q0: [I>], Q1: [I>], Q2: [I>]}
subscriptions:
  one: {reference: XCBR/LLN0$GO$gcb01, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [position Q1]}
  two: {reference: XCBR/LLN0$GO$gcb02, destination: '01:0c:cd:01:00:03', app_id: 3, conf_rev: 1, entries: [position Q1, position Q2 A, position Q2 B, position Q2 C]}
";
    const CLOSED: Option<PhaseSet> = Some(PhaseSet::NONE);
    const OPEN: Option<PhaseSet> = Some(PhaseSet::ALL);

    fn positions() -> Positions {
        let relay = substation::settings::read("", TEXT);
        Positions::new(&relay.unwrap_or_else(|problems| panic!("{problems}")))
    }

    #[test]
    fn a_position_that_two_tell_is_known_while_they_agree() {
        let mut positions = positions();
        let mut after = |subscription, is_closed| {
            assert_eq!(positions.take(subscription, 0, is_closed), Some(1));
            positions.open(1)
        };
        assert_eq!(after(0, Some(true)), None, "the other one is silent");
        assert_eq!(after(1, Some(true)), CLOSED);
        assert_eq!(after(0, Some(false)), None);
        assert_eq!(after(1, Some(false)), OPEN);
        assert_eq!(after(0, None), None);
    }

    #[test]
    fn a_position_of_single_poles_is_known_when_each_is() {
        let mut positions = positions();
        assert_eq!([0, 1, 2].map(|breaker| positions.are_told(breaker)), [false, true, true]);
        let mut after = |pole: usize, is_closed| {
            assert_eq!(positions.take(1, 1 + pole, Some(is_closed)), Some(2));
            positions.open(2)
        };
        assert_eq!([after(0, true), after(1, true), after(2, true)], [None, None, CLOSED]);
        assert_eq!(after(1, false), Some(PhaseSet::phase(1)));
        assert_eq!([after(0, false), after(2, false)].last(), Some(&OPEN));
    }
}
