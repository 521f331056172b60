//! The states of a relay as digital channels: streams, publishers, elements, breakers and their poles,
//! reclosing, setting groups, and what other devices say; and what they were when.

use std::collections::VecDeque;
use std::mem::replace;
use std::ops::Range;

use iec61850::comtrade::Digital;
use iec61850::goose::Liveness;
use iec61850::stream::State;
use protection::PhaseSet;
use protection::reclosing::State as Cycling;
use substation::engine::Change;
use substation::settings::{Entry, Function, Input, Relay, SignalKind};

use crate::event::What;

/// Changes that are kept; a relay that changes more in a record loses the first.
const CHANGES_MAX: usize = 65_536;

/// Where the channels of each kind begin.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    pub(super) all: Vec<Digital>,
    elements: usize,
    breakers: usize,
    /// Of each breaker that has a drive for each pole: its pole A.
    poles: Vec<Option<usize>>,
    /// Of each element that is a reclosing one: its lockout, before that it is in progress.
    reclosing: Vec<Option<usize>>,
    /// Of setting groups; none, where there is only one.
    groups: Range<usize>,
    /// The group that is active at the start, from 1.
    first_group: u8,
    publishers: usize,
    /// Of each entry of each subscription: that it is true, and of positions that it is false.
    entries: Vec<Vec<(usize, Option<usize>)>>,
}

impl Channels {
    pub(super) fn of(relay: &Relay) -> Self {
        let (protection, mut all) = (&relay.protection, Vec::new());
        let matrix = &protection.trips;
        let mut add = |name: String, component: &str| {
            all.push(Digital { name, component: component.to_owned(), normal: false });
            all.len() - 1
        };
        for stream in protection.streams.keys() {
            add(format!("{stream} valid"), stream);
        }
        let elements = protection.streams.len();
        for element in protection.elements.keys() {
            add(format!("{element} start"), "");
            add(format!("{element} operate"), "");
        }
        let breakers = elements + 2 * protection.elements.len();
        for breaker in matrix.elements_by_breaker.keys() {
            add(format!("{breaker} trip"), breaker);
        }
        let publishers = breakers + matrix.elements_by_breaker.len();
        for publisher in relay.subscriptions.keys() {
            add(format!("{publisher} alive"), publisher);
        }
        let poles = matrix.elements_by_breaker.keys().map(|breaker| {
            let mut of = |pole| add(format!("{breaker} {} trip", PhaseSet::phase(pole)), breaker);
            matrix.single_pole.contains_key(breaker).then(|| [of(0), of(1), of(2)][0])
        });
        let poles = poles.collect();
        let reclosing = protection.elements.iter().map(|(name, element)| {
            let Function::Reclosing(cycle) = &element.function else { return None };
            let lockout = add(format!("{name} lockout"), &cycle.breaker);
            add(format!("{name} in progress"), &cycle.breaker);
            Some(lockout)
        });
        let reclosing = reclosing.collect();
        let group_count = Some(protection.groups.count()).filter(|count| *count > 1);
        let groups: Vec<usize> =
            (1..=group_count.unwrap_or(0)).map(|group| add(format!("group {group}"), "")).collect();
        let first = groups.first().copied().unwrap_or(0);
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
        Self {
            elements,
            breakers,
            poles,
            reclosing,
            groups: first..first + groups.len(),
            first_group: protection.groups.active,
            publishers,
            entries,
            all,
        }
    }

    /// What the channels are before anything has changed.
    pub(super) fn at_start(&self) -> Vec<bool> {
        let mut states = vec![false; self.all.len()];
        self.group(self.first_group, |channel, on| states[channel] = on);
        states
    }

    /// The channel of a signal, by the place of its element or breaker; qualities have none.
    pub(super) fn of_signal(&self, kind: SignalKind, place: usize) -> Option<usize> {
        match kind {
            SignalKind::Start => Some(self.elements + 2 * place),
            SignalKind::Operate => Some(self.elements + 2 * place + 1),
            SignalKind::Trip => Some(self.breakers + place),
            SignalKind::TripPole(pole) => self.poles[place].map(|first| first + pole),
            SignalKind::Lockout => self.reclosing[place],
            SignalKind::ElementQuality | SignalKind::TripQuality => None,
        }
    }

    /// Tells of which channels an event is, and what they are now.
    pub(super) fn changes(&self, what: &What, mut tell: impl FnMut(usize, bool)) {
        let mut signal = |kind, place, on| {
            if let Some(channel) = self.of_signal(kind, place) {
                tell(channel, on);
            }
        };
        match *what {
            What::Change(Change::Stream(stream, state)) => tell(stream, state == State::Valid),
            What::Change(Change::Start(element, on)) => signal(SignalKind::Start, element, on),
            What::Change(Change::Operate(element, on)) => signal(SignalKind::Operate, element, on),
            What::Change(Change::Trip(breaker, on)) => signal(SignalKind::Trip, breaker, on),
            What::Change(Change::Poles(breaker, poles)) => {
                for pole in 0..3 {
                    signal(SignalKind::TripPole(pole), breaker, poles.has(pole));
                }
            }
            What::Change(Change::Reclosing(element, cycling, _)) => {
                let Some(lockout) = self.reclosing[element] else { return };
                tell(lockout, matches!(cycling, Cycling::Lockout(_)));
                tell(lockout + 1, is_in_progress(cycling));
            }
            What::Change(Change::Group(group)) => self.group(group, tell),
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
            // A group that is wanted becomes another channel's when it is active.
            What::Refused(..) | What::GroupWanted(..) | What::Overrun(..) => {}
        }
    }

    fn group(&self, active: u8, mut tell: impl FnMut(usize, bool)) {
        for (channel, group) in self.groups.clone().zip(1..) {
            tell(channel, group == active);
        }
    }
}

/// Whether a breaker is opened and closed again now.
const fn is_in_progress(cycling: Cycling) -> bool {
    match cycling {
        Cycling::Tripping | Cycling::DeadTime | Cycling::AwaitingRelease | Cycling::Closing => true,
        Cycling::NotReady | Cycling::Ready | Cycling::Reclaiming | Cycling::Lockout(_) => false,
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
    /// After the last one.
    now: Vec<bool>,
    edges: VecDeque<Edge>,
}

impl States {
    /// States that are these before the first edge.
    pub(super) fn new(before: Vec<bool>) -> Self {
        Self { now: before.clone(), before, edges: VecDeque::new() }
    }

    /// The same, with the times that others have for those of the edges; they go up as well.
    pub(super) fn at_times(&self, time_ns: impl Fn(u64) -> u64) -> Self {
        let edges = self.edges.iter().map(|edge| Edge { at_ns: time_ns(edge.at_ns), ..*edge });
        Self { before: self.before.clone(), now: self.now.clone(), edges: edges.collect() }
    }

    /// Takes an edge in, none before the last one; answers when it is. An event may tell what has not
    /// changed, as that of poles tells all of them: that is no edge.
    pub(super) fn put(&mut self, edge: Edge) -> Option<u64> {
        if replace(&mut self.now[edge.channel], edge.on) == edge.on {
            return None;
        }
        let at_ns = self.edges.back().map_or(edge.at_ns, |last| last.at_ns.max(edge.at_ns));
        self.edges.push_back(Edge { at_ns, ..edge });
        while self.edges.len() > CHANGES_MAX {
            self.forget_first();
        }
        Some(at_ns)
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
    use protection::reclosing::Reason;
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
    fn poles_reclosing_and_groups_have_channels_and_each_signal_its_own() {
        let relay = super::super::tests::relay("");
        let channels = Channels::of(&relay);
        let name = |channel: usize| channels.all[channel].name.as_str();
        let told = |what: &What| {
            let mut told = Vec::new();
            channels.changes(what, |channel, on| told.push((name(channel), on)));
            told
        };
        let poles = What::Change(Change::Poles(0, PhaseSet::phase(1)));
        let expected = [("Q0 A trip", false), ("Q0 B trip", true), ("Q0 C trip", false)];
        assert_eq!(told(&poles), expected);
        let place = relay.protection.elements.keys().position(|name| name == "AR").expect("it is");
        let lockout = Cycling::Lockout(Reason::FinalTrip);
        for (state, locked, in_progress) in [
            (lockout, true, false),
            (Cycling::DeadTime, false, true),
            (Cycling::Ready, false, false),
        ] {
            let what = What::Change(Change::Reclosing(place, state, 0));
            assert_eq!(told(&what), [("AR lockout", locked), ("AR in progress", in_progress)]);
        }
        let group = What::Change(Change::Group(2));
        assert_eq!(told(&group), [("group 1", false), ("group 2", true)]);
        let at_start = channels.at_start();
        let on: Vec<_> = (0..at_start.len()).filter(|c| at_start[*c]).map(name).collect();
        assert_eq!(on, ["group 1"]);
        let signal = |kind, place| channels.of_signal(kind, place).map(name);
        assert_eq!(signal(SignalKind::TripPole(2), 0), Some("Q0 C trip"));
        assert_eq!(signal(SignalKind::Lockout, place), Some("AR lockout"));
        assert_eq!(signal(SignalKind::TripQuality, 0), None);
    }

    #[test]
    fn states_are_those_of_the_last_edge_also_of_one_that_is_forgotten() {
        let mut states = States::new(vec![false; 2]);
        for (at_ns, channel, on) in [(10, 0, true), (20, 1, true), (30, 0, false)] {
            assert_eq!(states.put(Edge { at_ns, channel, on }), Some(at_ns));
            assert_eq!(
                states.put(Edge { at_ns: at_ns + 1, channel, on }),
                None,
                "it is so already"
            );
        }
        let expected = [[false, true, true, false], [false, false, true, true]];
        assert_eq!(states.at([5, 10, 20, 31].into_iter()), expected);
        states.forget_before(25);
        assert_eq!(states.edges().count(), 1);
        assert_eq!(states.at([26, 30].into_iter()), [[true, false], [true, true]]);
    }
}
