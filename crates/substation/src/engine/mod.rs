//! All elements of a relay, run together: samples in as they come, one step each millisecond,
//! decisions out.
//!
//! The relay acts on nothing that it does not trust. An element is given phasors only while its
//! streams are valid, as well synchronised as the settings want, of good quality in the channels
//! that it looks at, and while no subscribed message blocks it; else it is given none, forgets
//! what it had begun, and cannot operate. Once made, nothing here asks for memory.

mod arrival;
mod element;
mod stream;

use std::collections::BTreeMap;

use iec61850::SampleTime;
use iec61850::stream::{Counters, State};

use crate::protection::Decision;
use crate::protection::trip::TripLogic;
use crate::settings::{Element, Protection};
pub use arrival::Arrival;
use element::{Orders, Running};
use stream::Subscribed;

/// Something that is other than it was at the step before. Numbers are places in the order of
/// the names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// An element sees a fault, or no longer.
    Start(usize, bool),
    /// An element has operated, or has dropped off.
    Operate(usize, bool),
    /// A breaker is tripped, or no longer.
    Trip(usize, bool),
    /// A stream can be used or not.
    Stream(usize, State),
}

/// A relay without its inputs and outputs.
#[derive(Clone, Debug)]
pub struct Engine {
    streams: Vec<Subscribed>,
    elements: Vec<Running>,
    blocked: Vec<bool>,
    /// Breaker failure elements to which another device reported a trip.
    initiated: Vec<bool>,
    /// Elements that have something to look at that they can trust.
    seeing: Vec<bool>,
    /// Elements that block each element.
    guards: Vec<Vec<usize>>,
    /// Elements that block others now.
    guarding: Vec<bool>,
    /// By name, in the order of `elements`.
    decisions: BTreeMap<String, Decision>,
    breakers: Vec<String>,
    logic: TripLogic,
    /// Breakers that another device trips.
    ordered: Vec<bool>,
    tripped: Vec<bool>,
    changes: Vec<Change>,
}

impl Engine {
    /// An engine whose elements are at rest.
    #[must_use]
    pub fn new(protection: &Protection) -> Self {
        let streams: Vec<Subscribed> = protection
            .streams
            .values()
            .map(|stream| Subscribed::new(stream, protection.frequency_hz))
            .collect();
        let names: Vec<&String> = protection.streams.keys().collect();
        let breakers: Vec<String> = protection.trips.elements_by_breaker.keys().cloned().collect();
        let elements: Vec<Running> = protection
            .elements
            .values()
            .map(|element| Running::new(element, &names, &breakers))
            .collect();
        let place = |name: &String| protection.elements.keys().position(|known| known == name);
        let places = |element: &Element| element.guards.iter().filter_map(place).collect();
        let changes_max = streams.len() + 2 * elements.len() + breakers.len();
        Self {
            blocked: vec![false; elements.len()],
            initiated: vec![false; elements.len()],
            seeing: vec![false; elements.len()],
            guarding: vec![false; elements.len()],
            guards: protection.elements.values().map(places).collect(),
            ordered: vec![false; breakers.len()],
            decisions: protection.elements.keys().map(|n| (n.clone(), Decision::NONE)).collect(),
            tripped: vec![false; breakers.len()],
            logic: TripLogic::new(protection.trips.clone()),
            changes: Vec::with_capacity(changes_max),
            streams,
            elements,
            breakers,
        }
    }

    /// A sample has come.
    pub fn sample(&mut self, arrival: &Arrival) {
        if let Some(stream) = self.streams.get_mut(usize::from(arrival.stream)) {
            stream.receive(arrival);
        }
    }

    /// A message of another device blocks an element.
    pub fn block(&mut self, element: usize) {
        self.blocked[element] = true;
    }

    /// A message of another device tells a breaker failure element of a trip.
    pub fn initiate(&mut self, element: usize) {
        self.initiated[element] = true;
    }

    /// A message of another device trips a breaker.
    pub fn order(&mut self, breaker: usize) {
        self.ordered[breaker] = true;
    }

    /// A message of another device takes back a trip that stays.
    pub fn reset(&mut self, breaker: usize) {
        self.logic.reset(breaker);
    }

    /// No message of another device wants anything.
    pub fn forget_orders(&mut self) {
        for orders in [&mut self.blocked, &mut self.initiated, &mut self.ordered] {
            orders.fill(false);
        }
    }

    /// Looks at everything at this moment; answers what has changed.
    pub fn step(&mut self, now: SampleTime) -> &[Change] {
        self.changes.clear();
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if let Some(state) = stream.step(now) {
                self.changes.push(Change::Stream(index, state));
            }
        }
        // Those that block others first.
        self.decide(now, true);
        self.decide(now, false);
        self.trip(now);
        &self.changes
    }

    /// Whether an element has started or operated.
    #[must_use]
    pub fn decision(&self, element: usize) -> Decision {
        self.decisions.values().nth(element).copied().unwrap_or_default()
    }

    /// Whether an element has something to look at that it can trust.
    #[must_use]
    pub fn sees(&self, element: usize) -> bool {
        self.seeing.get(element).copied().unwrap_or(false)
    }

    /// Whether a breaker is tripped.
    #[must_use]
    pub fn is_tripped(&self, breaker: usize) -> bool {
        self.tripped.get(breaker).copied().unwrap_or(false)
    }

    /// Counters of each stream, in the order of their names.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = (State, &Counters)> {
        self.streams.iter().map(|stream| (stream.state(), stream.counters()))
    }

    /// When the newest sample of each stream came, if there is one.
    pub fn newest(&self) -> impl ExactSizeIterator<Item = Option<SampleTime>> {
        self.streams.iter().map(Subscribed::newest)
    }

    /// What the elements say that block others, or that do not.
    fn decide(&mut self, now: SampleTime, guards: bool) {
        let each = self.elements.iter_mut().zip(self.decisions.values_mut()).enumerate();
        for (index, (element, decision)) in each.filter(|(_, (e, _))| e.is_guard() == guards) {
            let is_guarded = self.guards[index].iter().any(|guard| self.guarding[*guard]);
            let orders = Orders {
                is_blocked: self.blocked[index] || is_guarded,
                is_initiated: self.initiated[index],
                tripped: &self.tripped,
            };
            let new = element.step(now, &mut self.streams, &orders);
            self.seeing[index] = element.sees(&self.streams);
            self.guarding[index] = guards && new.operate;
            if new.start != decision.start {
                self.changes.push(Change::Start(index, new.start));
            }
            if new.operate != decision.operate {
                self.changes.push(Change::Operate(index, new.operate));
            }
            *decision = new;
        }
    }

    fn trip(&mut self, now: SampleTime) {
        let mut tripped = self.logic.update(now, &self.decisions, &self.ordered).peekable();
        for (index, name) in self.breakers.iter().enumerate() {
            // Both are in the order of the names.
            let is_tripped = tripped.next_if(|tripped| *tripped == name).is_some();
            if is_tripped != self.tripped[index] {
                self.tripped[index] = is_tripped;
                self.changes.push(Change::Trip(index, is_tripped));
            }
        }
    }
}
