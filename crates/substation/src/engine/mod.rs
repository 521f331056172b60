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
mod cycle;
mod element;
mod groups;
mod inputs;
mod logic;
mod stream;

use iec61850::SampleTime;
use iec61850::stream::{Counters, State};

use crate::settings::{Element, Function, Input, Protection};
pub use arrival::Arrival;
use context::{Context, place};
use element::{Rank, Running};
use groups::Groups;
pub use groups::WAIT_MAX;
pub use inputs::Contacts;
use inputs::Inputs;
use protection::reclosing::State as Cycling;
use protection::trip::{Asked, TripLogic};
use protection::{Decision, Measurands, PhaseSet};
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
    /// Other poles of a breaker are tripped that has a drive for each.
    Poles(usize, PhaseSet),
    /// A reclosing element is elsewhere in its cycle; the number of its shot.
    Reclosing(usize, Cycling, usize),
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
    /// Elements that are blocked, or are not among those.
    blind: Vec<bool>,
    /// Elements whose power swing element sees a swing.
    swinging: Vec<bool>,
    /// Elements that block each element.
    guards: Vec<Vec<usize>>,
    /// The same, of power swing elements that distance elements name.
    swings: Vec<Vec<usize>>,
    /// Elements that block others now.
    guarding: Vec<bool>,
    decisions: Vec<Decision>,
    logic: TripLogic,
    /// Breakers that another device trips.
    ordered: Vec<bool>,
    /// The same, and those that lose the poles that are left.
    all_poles: Vec<bool>,
    /// Breakers whose pole would be closed again.
    closes_pole: Vec<bool>,
    /// Breakers one pole of which is open on purpose.
    pole_open: Vec<bool>,
    /// Poles that are tripped of each breaker.
    tripped: Vec<PhaseSet>,
    /// Breakers that have a drive for each pole.
    by_pole: Vec<bool>,
    /// What other devices tell of each breaker's contacts.
    told: Vec<Contacts>,
    /// The same when all have told it, for elements.
    positions: Vec<Option<bool>>,
    open: Vec<Option<PhaseSet>>,
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
        let named = |element: &Element, swings: bool| {
            let guards =
                element.guards.iter().filter(|name| is_swing(element, name, protection) == swings);
            guards.filter_map(|name| find(name)).collect::<Vec<_>>()
        };
        let guards = |(name, element): (&String, &Element)| {
            named(element, false).into_iter().chain(blocked_by_cycles(name, protection)).collect()
        };
        let rows = &protection.trips.elements_by_breaker;
        let breakers = rows.len();
        let by_pole = |name: &String| protection.trips.single_pole.contains_key(name);
        let changes_max = streams.len() + 3 * elements.len() + 2 * breakers + 1;
        Self {
            inputs: vec![Inputs::default(); elements.len()],
            seeing: vec![false; elements.len()],
            blind: vec![true; elements.len()],
            swinging: vec![false; elements.len()],
            guarding: vec![false; elements.len()],
            guards: protection.elements.iter().map(guards).collect(),
            swings: protection.elements.values().map(|element| named(element, true)).collect(),
            ordered: vec![false; breakers],
            decisions: vec![Decision::NONE; elements.len()],
            all_poles: vec![false; breakers],
            closes_pole: vec![false; breakers],
            pole_open: vec![false; breakers],
            tripped: vec![PhaseSet::NONE; breakers],
            by_pole: rows.keys().map(by_pole).collect(),
            told: vec![Contacts::default(); breakers],
            positions: vec![None; breakers],
            open: vec![None; breakers],
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

    /// A message of another device tells an element of a trip of one pole, by its place; of all poles it
    /// tells by [`Input::Initiate`].
    pub fn initiate(&mut self, element: usize, pole: usize) {
        self.inputs[element].initiate(pole);
    }

    /// A message of another device tells whether a breaker is closed, all of it or one pole; `None` as
    /// for [`Engine::tell`].
    pub fn position(&mut self, breaker: usize, pole: Option<usize>, is_closed: Option<bool>) {
        self.told[breaker].tell(pole, is_closed);
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
        self.told.fill(Contacts::default());
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
        for (index, told) in self.told.iter().enumerate() {
            (self.positions[index], self.open[index]) = (told.position(), told.open());
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

    /// Whether any pole of a breaker is tripped.
    #[must_use]
    pub fn is_tripped(&self, breaker: usize) -> bool {
        !self.tripped(breaker).is_empty()
    }

    /// Poles of a breaker that are tripped.
    #[must_use]
    pub fn tripped(&self, breaker: usize) -> PhaseSet {
        self.tripped.get(breaker).copied().unwrap_or_default()
    }

    /// Whether a reclosing element closes no more.
    #[must_use]
    pub fn is_locked_out(&self, element: usize) -> bool {
        let cycle = self.elements.get(element).and_then(Running::cycle);
        cycle.is_some_and(|cycle| cycle.element.is_locked_out())
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
            let inputs = &self.inputs[index];
            let is_guarded = self.groups.is_blind(index)
                || self.guards[index].iter().any(|guard| self.guarding[*guard]);
            let is_swing = self.swings[index].iter().any(|guard| self.guarding[*guard]);
            let context = Context {
                inputs,
                is_guarded,
                is_swing,
                decisions: &self.decisions,
                blind: &self.blind,
                swinging: &self.swinging,
                tripped: &self.tripped,
                ordered: &self.ordered,
                positions: &self.positions,
                open: &self.open,
                pole_open: &self.pole_open,
            };
            let before = element.cycle().map(|cycle| cycle.element.state());
            let new = element.step(now, &mut self.streams, &context);
            let after = element.cycle().map(|cycle| cycle.element.state());
            if let Some((state, shot)) = after.filter(|_| after != before) {
                self.changes.push(Change::Reclosing(index, state, shot));
            }
            self.seeing[index] = !self.groups.is_off(index) && element.sees(&self.streams);
            let is_blocked = is_guarded || inputs.is(Input::Block);
            self.blind[index] = is_blocked || !self.seeing[index];
            self.swinging[index] = is_swing;
            self.guarding[index] = match element.cycle() {
                Some(cycle) => cycle.blocks(),
                None => rank == Rank::Guard && new.operate,
            };
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
        self.all_poles.copy_from_slice(&self.ordered);
        for cycle in self.elements.iter().filter_map(Running::cycle) {
            if let Some(breaker) = cycle.breaker {
                self.all_poles[breaker] |= cycle.orders.trip_rest;
                self.closes_pole[breaker] = cycle.element.closes_pole();
                self.pole_open[breaker] = cycle.element.is_pole_open();
            }
        }
        let (decisions, ordered) = (&self.decisions[..], &self.all_poles[..]);
        self.logic.update(now, &Asked { decisions, ordered, closes_pole: &self.closes_pole });
        for (index, poles) in self.logic.tripped().enumerate() {
            let before = std::mem::replace(&mut self.tripped[index], poles);
            if poles.is_empty() != before.is_empty() {
                self.changes.push(Change::Trip(index, !poles.is_empty()));
            }
            if self.by_pole[index] && poles != before {
                self.changes.push(Change::Poles(index, poles));
            }
        }
    }
}

/// Whether a guard of an element tells it of power swings, in which it looks for some faults still.
fn is_swing(element: &Element, guard: &str, protection: &Protection) -> bool {
    let tells = protection.elements.get(guard).map(|guard| &guard.function);
    matches!((&element.function, tells), (Function::Distance(_), Some(Function::PowerSwing(_))))
}

/// Places of the reclosing elements that block this one while a pole is open.
fn blocked_by_cycles<'p>(
    name: &'p String,
    protection: &'p Protection,
) -> impl Iterator<Item = usize> + 'p {
    let blocks = |function: &Function| match function {
        Function::Reclosing(cycle) => cycle.open_pole_blocks.contains(name),
        _ => false,
    };
    let elements = protection.elements.values().enumerate();
    elements.filter(move |(_, element)| blocks(&element.function)).map(|(place, _)| place)
}
