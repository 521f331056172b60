//! All elements of a relay, run together: samples in as they come, one step each millisecond,
//! decisions out.
//!
//! The relay acts on nothing that it does not trust. An element is given phasors only while its
//! streams are valid, as well synchronised as the settings want, of good quality in the channels
//! that it looks at, and while no subscribed message blocks it; else it is given none, forgets
//! what it had begun, and cannot operate. Once made, nothing here asks for memory, not even a change of
//! the setting group.

mod arrival;
mod context;
mod element;
mod groups;
mod inputs;
mod logic;
mod stream;

use iec61850::SampleTime;
use iec61850::stream::{Counters, State};

use crate::protection::trip::TripLogic;
use crate::protection::{Decision, Measurands};
use crate::settings::{Element, Input, Protection};
pub use arrival::Arrival;
use context::{Context, place};
use element::{Rank, Running};
use groups::Groups;
pub use groups::WAIT_MAX;
use inputs::{Inputs, Told};
use stream::Subscribed;
pub use stream::UNITS;
pub(crate) use stream::{CURRENT_A_MIN, VOLTAGE_V_MIN};

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
    /// Another setting group is active, by its number from 1.
    Group(u8),
}

/// A relay without its inputs and outputs.
#[derive(Clone, Debug)]
pub struct Engine {
    streams: Vec<Subscribed>,
    elements: Vec<Running>,
    groups: Groups,
    /// What other devices tell each element.
    inputs: Vec<Inputs>,
    /// Elements that have something to look at that they can trust.
    seeing: Vec<bool>,
    /// Elements that block each element.
    guards: Vec<Vec<usize>>,
    /// Elements that block others now.
    guarding: Vec<bool>,
    decisions: Vec<Decision>,
    logic: TripLogic,
    /// Breakers that another device trips.
    ordered: Vec<bool>,
    tripped: Vec<bool>,
    /// What other devices tell of each breaker's contacts.
    told: Vec<Told>,
    /// The same when all have told it, for elements.
    positions: Vec<Option<bool>>,
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
        let (groups, elements) = Groups::new(protection);
        let find = |name: &str| place(&protection.elements, name);
        let guards =
            |element: &Element| element.guards.iter().filter_map(|name| find(name)).collect();
        let breakers = protection.trips.elements_by_breaker.len();
        let changes_max = streams.len() + 2 * elements.len() + breakers + 1;
        Self {
            inputs: vec![Inputs::default(); elements.len()],
            seeing: vec![false; elements.len()],
            guarding: vec![false; elements.len()],
            guards: protection.elements.values().map(guards).collect(),
            ordered: vec![false; breakers],
            decisions: vec![Decision::NONE; elements.len()],
            tripped: vec![false; breakers],
            told: vec![Told::Nothing; breakers],
            positions: vec![None; breakers],
            logic: TripLogic::new(&protection.trips, find),
            changes: Vec::with_capacity(changes_max),
            streams,
            elements,
            groups,
        }
    }

    /// A sample has come; answers whether it is used.
    pub fn sample(&mut self, arrival: &Arrival) -> bool {
        let stream = self.streams.get_mut(usize::from(arrival.stream));
        stream.is_some_and(|stream| stream.receive(arrival))
    }

    /// A message of another device tells an element something; `None` while it is not heard, or says
    /// it without good quality.
    pub fn tell(&mut self, element: usize, input: Input, value: Option<bool>) {
        self.inputs[element].tell(input, value);
    }

    /// A message of another device tells whether a breaker is closed; `None` as for [`Engine::tell`].
    pub fn position(&mut self, breaker: usize, is_closed: Option<bool>) {
        self.told[breaker].tell(is_closed);
    }

    /// A message of another device trips a breaker.
    pub fn order(&mut self, breaker: usize) {
        self.ordered[breaker] = true;
    }

    /// A message of another device takes back a trip that stays.
    pub fn reset(&mut self, breaker: usize) {
        self.logic.reset(breaker);
    }

    /// No message of another device says anything.
    pub fn forget_messages(&mut self) {
        self.inputs.fill(Inputs::default());
        self.ordered.fill(false);
        self.told.fill(Told::Nothing);
    }

    /// Asks for a setting group, by its number from 1; says whether that is new. It is active from one
    /// of the next steps on ([`Change::Group`]): the first in which no element sees a fault whose
    /// settings differ, and at the latest after [`WAIT_MAX`].
    pub fn want_group(&mut self, now: SampleTime, number: u8) -> bool {
        self.groups.want(now, number)
    }

    /// Number of the active setting group, from 1.
    #[must_use]
    pub const fn group(&self) -> u8 {
        self.groups.active()
    }

    /// Looks at everything at this moment; answers what has changed.
    pub fn step(&mut self, now: SampleTime) -> &[Change] {
        self.changes.clear();
        let group = self.groups.step(now, &self.decisions, &mut self.elements);
        self.changes.extend(group.map(Change::Group));
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if let Some(state) = stream.step(now) {
                self.changes.push(Change::Stream(index, state));
            }
        }
        for (position, told) in self.positions.iter_mut().zip(&self.told) {
            *position = told.position();
        }
        for rank in Rank::ALL {
            self.decide(now, rank);
        }
        self.trip(now);
        &self.changes
    }

    /// Whether an element has started or operated.
    #[must_use]
    pub fn decision(&self, element: usize) -> Decision {
        self.decisions.get(element).copied().unwrap_or_default()
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

    /// What is measured of each stream at the last step, while it is valid.
    pub fn measurands(&self) -> impl ExactSizeIterator<Item = Option<Measurands>> {
        self.streams.iter().map(Subscribed::measurands)
    }

    /// What the elements of a rank say.
    fn decide(&mut self, now: SampleTime, rank: Rank) {
        for (index, element) in self.elements.iter_mut().enumerate() {
            if element.rank() != rank {
                continue;
            }
            let context = Context {
                inputs: &self.inputs[index],
                is_guarded: self.groups.is_blind(index)
                    || self.guards[index].iter().any(|guard| self.guarding[*guard]),
                decisions: &self.decisions,
                tripped: &self.tripped,
                positions: &self.positions,
            };
            let new = element.step(now, &mut self.streams, &context);
            self.seeing[index] = !self.groups.is_off(index) && element.sees(&self.streams);
            self.guarding[index] = rank == Rank::Guard && new.operate;
            let old = std::mem::replace(&mut self.decisions[index], new);
            if new.start != old.start {
                self.changes.push(Change::Start(index, new.start));
            }
            if new.operate != old.operate {
                self.changes.push(Change::Operate(index, new.operate));
            }
        }
    }

    fn trip(&mut self, now: SampleTime) {
        self.logic.update(now, &self.decisions, &self.ordered);
        for (index, is_tripped) in self.logic.tripped().enumerate() {
            if is_tripped != self.tripped[index] {
                self.tripped[index] = is_tripped;
                self.changes.push(Change::Trip(index, is_tripped));
            }
        }
    }
}
