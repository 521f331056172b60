//! The states of a relay as digital channels: streams, publishers, elements, breakers, and what other
//! devices say; and what they were when.

use std::collections::VecDeque;

use iec61850::comtrade::Digital;
use iec61850::goose::Liveness;
use iec61850::stream::State;
use protection::PhaseSet;
use substation::engine::Change;
use substation::settings::{Entry, Input, Relay, SignalKind};

use crate::event::What;

/// Changes that are kept; a relay that changes more in a record loses the first.
const CHANGES_MAX: usize = 65_536;

/// Where the channels of each kind begin.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    pub(super) all: Vec<Digital>,
    elements: usize,
    breakers: usize,
    publishers: usize,
    /// Of each entry of each subscription: that it is true, and of positions that it is false.
    entries: Vec<Vec<(usize, Option<usize>)>>,
}

impl Channels {
    pub(super) fn of(relay: &Relay) -> Self {
        let mut all = Vec::new();
        let mut add = |name: String, component: &str| {
            all.push(Digital { name, component: component.to_owned(), normal: false });
            all.len() - 1
        };
        for stream in relay.protection.streams.keys() {
            add(format!("{stream} valid"), stream);
        }
        let elements = relay.protection.streams.len();
        for element in relay.protection.elements.keys() {
            add(format!("{element} start"), "");
            add(format!("{element} operate"), "");
        }
        let breakers = elements + 2 * relay.protection.elements.len();
        for breaker in relay.protection.trips.elements_by_breaker.keys() {
            add(format!("{breaker} trip"), breaker);
        }
        let publishers = breakers + relay.protection.trips.elements_by_breaker.len();
        for publisher in relay.subscriptions.keys() {
            add(format!("{publisher} alive"), publisher);
        }
        let mut entries = Vec::new();
        for (publisher, subscription) in &relay.subscriptions {
            let each = subscription.entries.iter().enumerate().map(|(number, entry)| match entry {
                Entry::PolePosition(breaker, pole) => {
                    let pole = PhaseSet::phase(*pole);
                    let closed = add(format!("{breaker} {pole} closed"), publisher);
                    (closed, Some(add(format!("{breaker} {pole} open"), publisher)))
                }
                Entry::Position(breaker) => {
                    let closed = add(format!("{breaker} closed"), publisher);
                    (closed, Some(add(format!("{breaker} open"), publisher)))
                }
                Entry::Input(input, element) => {
                    (add(format!("{} {element}", input.word()), publisher), None)
                }
                Entry::InitiatePole(element, pole) => {
                    let word = Input::Initiate.word();
                    (add(format!("{word} {element} {}", PhaseSet::phase(*pole)), publisher), None)
                }
                Entry::Trip(breaker) => (add(format!("order {breaker}"), publisher), None),
                Entry::Reset(breaker) => (add(format!("reset {breaker}"), publisher), None),
                Entry::Group(_) | Entry::Quality(_) | Entry::Unused => {
                    (add(format!("{publisher} {number}"), publisher), None)
                }
            });
            entries.push(each.collect());
        }
        Self { all, elements, breakers, publishers, entries }
    }

    /// The channel of a start, an operation or a trip, by the place of the element or breaker.
    pub(super) const fn of_signal(&self, kind: SignalKind, place: usize) -> usize {
        match kind {
            SignalKind::Start => self.elements + 2 * place,
            SignalKind::Operate => self.elements + 2 * place + 1,
            _ => self.breakers + place,
        }
    }

    /// Tells which channels an event changes, and to what.
    pub(super) fn changes(&self, what: &What, mut tell: impl FnMut(usize, bool)) {
        match *what {
            What::Change(Change::Stream(stream, state)) => tell(stream, state == State::Valid),
            What::Change(Change::Start(element, on)) => {
                tell(self.of_signal(SignalKind::Start, element), on);
            }
            What::Change(Change::Operate(element, on)) => {
                tell(self.of_signal(SignalKind::Operate, element), on);
            }
            What::Change(Change::Trip(breaker, on)) => {
                tell(self.of_signal(SignalKind::Trip, breaker), on);
            }
            What::Publisher(publisher, liveness) => {
                tell(self.publishers + publisher, liveness == Liveness::Alive);
            }
            What::Value(publisher, entry, value) => {
                let (is_true, is_false) = self.entries[publisher][entry];
                tell(is_true, value == Some(true));
                if let Some(is_false) = is_false {
                    tell(is_false, value == Some(false));
                }
            }
            What::Change(Change::Group(_) | Change::Poles(..) | Change::Reclosing(..))
            | What::Refused(..)
            | What::GroupWanted(..)
            | What::Overrun(..) => {}
        }
    }
}

/// A channel that became true or false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) at_ns: u64,
    pub(super) channel: usize,
    pub(super) on: bool,
}

/// What the channels were of late.
#[derive(Clone, Debug)]
pub(super) struct States {
    /// Before the first edge.
    before: Vec<bool>,
    edges: VecDeque<Edge>,
}

impl States {
    pub(super) fn new(channels: usize) -> Self {
        Self { before: vec![false; channels], edges: VecDeque::new() }
    }

    pub(super) fn put(&mut self, edge: Edge) {
        self.edges.push_back(edge);
        while self.edges.len() > CHANGES_MAX {
            self.forget_first();
        }
    }

    pub(super) fn forget_before(&mut self, at_ns: u64) {
        while self.edges.front().is_some_and(|edge| edge.at_ns < at_ns) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(edge) = self.edges.pop_front() {
            self.before[edge.channel] = edge.on;
        }
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter()
    }

    /// The states of each channel at these times, which go up.
    pub(super) fn at(&self, times_ns: impl Iterator<Item = u64>) -> Vec<Vec<bool>> {
        let mut states = vec![Vec::new(); self.before.len()];
        let (mut now, mut edges) = (self.before.clone(), self.edges.iter().peekable());
        for time_ns in times_ns {
            while let Some(edge) = edges.next_if(|edge| edge.at_ns <= time_ns) {
                now[edge.channel] = edge.on;
            }
            states.iter_mut().zip(&now).for_each(|(states, state)| states.push(*state));
        }
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use substation::settings;

    #[test]
    fn each_state_of_a_relay_has_its_channel() {
        let relay = settings::read(
            "relay.yaml",
            include_str!("../../../../scenarios/feeder-fault/relay.yaml"),
        );
        let relay = relay.expect("the settings are good");
        let channels = Channels::of(&relay);
        let named = |what: &What| -> Vec<(String, bool)> {
            let mut told = Vec::new();
            channels
                .changes(what, |channel, on| told.push((channels.all[channel].name.clone(), on)));
            told
        };
        for (place, element) in relay.protection.elements.keys().enumerate() {
            let started = named(&What::Change(Change::Start(place, true)));
            assert_eq!(started, [(format!("{element} start"), true)]);
            let operated = named(&What::Change(Change::Operate(place, false)));
            assert_eq!(operated, [(format!("{element} operate"), false)]);
        }
        for (place, breaker) in relay.protection.trips.elements_by_breaker.keys().enumerate() {
            let tripped = named(&What::Change(Change::Trip(place, true)));
            assert_eq!(tripped, [(format!("{breaker} trip"), true)]);
        }
        let valid = named(&What::Change(Change::Stream(0, State::Valid)));
        assert_eq!(valid, [("line valid".to_owned(), true)]);
    }

    #[test]
    fn states_are_those_of_the_last_edge_also_of_one_that_is_forgotten() {
        let mut states = States::new(2);
        for (at_ns, channel, on) in [(10, 0, true), (20, 1, true), (30, 0, false)] {
            states.put(Edge { at_ns, channel, on });
        }
        let expected = [[false, true, true, false], [false, false, true, true]];
        assert_eq!(states.at([5, 10, 20, 31].into_iter()), expected);
        states.forget_before(25);
        assert_eq!(states.edges().count(), 1);
        assert_eq!(states.at([26, 30].into_iter()), [[true, false], [true, true]]);
    }
}
