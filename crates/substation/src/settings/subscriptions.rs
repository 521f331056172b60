//! Reads `subscriptions`: GOOSE messages of other devices, and what their values are for.

use std::collections::BTreeMap;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;
use iec61850::goose::Expected;

use super::names::Names;
use super::qualities::{self, Written};
use super::texts::{group, known, visible};

/// A message of another device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscription {
    /// Group, control block and number of values, which identify it.
    pub expected: Expected,
    pub entries: Vec<Entry>,
}

/// What a value is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Position of a breaker: a double point (`01` open, `10` closed), or a boolean that is true
    /// for closed.
    Position(String),
    /// Position of one pole of a breaker, by its place.
    PolePosition(String, usize),
    /// Tells an element something while it is true.
    Input(Input, String),
    /// Tells an element ([`Input::Initiate`]) of a trip of one pole, by its place, while it is true.
    InitiatePole(String, usize),
    /// Trips a breaker while it is true: a breaker that failed to clear its fault, the other end of a
    /// line.
    Trip(String),
    /// Takes back the trip of a breaker that stays (lockout) when it becomes true.
    Reset(String),
    /// This setting group, from 1, is to be active while it is true, if no other one is to be.
    Group(u8),
    /// Quality of other values of the message, by their numbers from 0: they are unknown unless this
    /// is good and no test.
    Quality(Vec<usize>),
    /// Nothing: the relay does not use the value.
    Unused,
}

/// What another device tells an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// It may not look.
    Block,
    /// A trip of all poles by another device, which starts what follows a trip.
    Initiate,
    /// What the other end of a line sends: permission, or that it blocks.
    Receive,
    /// Whether the trip circuit of a breaker is healthy.
    Circuit,
    /// An order to close a breaker.
    Close,
    /// The breaker has the energy to close.
    Ready,
}

impl Input {
    /// All, in the order of their places.
    pub const ALL: [Self; 6] =
        [Self::Block, Self::Initiate, Self::Receive, Self::Circuit, Self::Close, Self::Ready];

    /// Its word in an entry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Initiate => "initiate",
            Self::Receive => "receive",
            Self::Circuit => "circuit",
            Self::Close => "close",
            Self::Ready => "ready",
        }
    }

    /// What takes it, in singular and plural, and its functions; without any, all elements do.
    const fn takers(self) -> ([&'static str; 2], &'static [&'static str]) {
        match self {
            Self::Block => (["element", "elements"], &[]),
            Self::Initiate => (
                ["breaker failure or reclosing element", "breaker failure and reclosing elements"],
                &["breaker_failure", "reclosing"],
            ),
            Self::Receive => {
                (["teleprotection element", "teleprotection elements"], &["teleprotection"])
            }
            Self::Circuit | Self::Close => (
                ["breaker supervision element", "breaker supervision elements"],
                &["breaker_supervision"],
            ),
            Self::Ready => (["reclosing element", "reclosing elements"], &["reclosing"]),
        }
    }
}

pub(super) fn read(top: &Mapping<'_>, names: &Names<'_>) -> BTreeMap<String, Subscription> {
    top.by_name("subscriptions", |cursor| one(&cursor.mapping()?, names))
}

fn one(map: &Mapping<'_>, names: &Names<'_>) -> Option<Subscription> {
    let written = Written::all(map, "entries");
    let entry = |(index, value): (usize, &Written<'_>)| {
        value.parse(|text| match value.is_quality() {
            true => qualities::guarded(text, index, &written).map(Entry::Quality),
            false => entry(text, names),
        })
    };
    let entries: Vec<Entry> = written.iter().enumerate().filter_map(entry).collect();
    let simulated = map.is("simulated", "yes");
    Some(Subscription { expected: expected(map, entries.len(), simulated)?, entries })
}

/// A message with so many values.
pub(super) fn expected(map: &Mapping<'_>, entries: usize, simulated: bool) -> Option<Expected> {
    Some(Expected {
        destination: map.parse("destination", group)?.value,
        app_id: map.whole("app_id")?.value as u16,
        gocb_ref: map.parse("reference", visible)?.value,
        conf_rev: map.whole("conf_rev")?.value as u32,
        dat_set: map.parse("data_set", visible).map(|text| text.value),
        go_id: map.parse("go_id", visible).map(|text| text.value),
        entries: entries as u32,
        simulated,
    })
}

fn entry(text: &str, names: &Names<'_>) -> Result<Entry, Fault> {
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    let breaker = || names.breaker(name);
    if let Some(input) = Input::ALL.into_iter().find(|input| input.word() == kind) {
        let (what, functions) = input.takers();
        let there = names.elements_of(functions);
        return Ok(match pole(name, &there).filter(|_| input == Input::Initiate) {
            Some((element, pole)) => Entry::InitiatePole(element.into(), pole),
            None => Entry::Input(input, known(name, what, &there)?),
        });
    }
    match (kind, name) {
        ("unused", "") => Ok(Entry::Unused),
        ("position", breaker) if !breaker.is_empty() => Ok(match pole(breaker, &names.breakers) {
            Some((breaker, pole)) => Entry::PolePosition(breaker.into(), pole),
            None => Entry::Position(breaker.into()),
        }),
        ("trip", _) => breaker().map(Entry::Trip),
        ("reset", _) => breaker().map(Entry::Reset),
        ("group", number) => group_of(number, names.groups).map(Entry::Group),
        _ => {
            let fix = "write `position Q0`, `position Q0 A`, `block I>`, `trip Q0`, `reset Q0`, `initiate BF`, \
                       `initiate BF A`, `ready AR`, `receive POTT`, `circuit SUP`, `close SUP`, `group 2`, `quality`, \
                       `quality of 2` or `unused`";
            Err(Fault::new(format!("{} is not an entry", quoted(text)), fix))
        }
    }
}

/// The number of a setting group that is there.
fn group_of(text: &str, groups: usize) -> Result<u8, Fault> {
    let number = text.parse().ok().filter(|number| (1..=groups).contains(&usize::from(*number)));
    number.ok_or_else(|| {
        let fix = match groups {
            1 => "there is group 1 alone: add `groups`".to_owned(),
            last => format!("the groups are 1 to {last}"),
        };
        Fault::new(format!("there is no group {}", quoted(text)), fix)
    })
}

/// How the poles of a breaker are written.
pub(super) const POLES: [&str; 3] = ["A", "B", "C"];

/// The name and the place of the pole in `Q0 A`; nothing where that is one of the names itself, or none.
pub(super) fn pole<'t>(text: &'t str, names: &[&str]) -> Option<(&'t str, usize)> {
    let (name, letter) = text.rsplit_once(' ').filter(|_| !names.contains(&text))?;
    let pole = POLES.iter().position(|known| *known == letter)?;
    names.contains(&name).then_some((name, pole))
}
