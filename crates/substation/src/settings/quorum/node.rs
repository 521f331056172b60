//! Reads the settings of a relay node.

use std::path::Path;
use std::time::Duration;

use ::settings::cursor::{self, Mapping};
use ::settings::problems::quoted;
use ::settings::table::Shape::Of;
use ::settings::{Fault, Problems};
use iec61850::goose::Expected;
use quorum::Action;

use super::super::names::{Names, below};
use super::super::texts::known;
use super::super::{Mode, Protection, Stream, elements, protection, streams, subscriptions};
use super::keys::RELAY_NODE;
use super::{NodeHost, Quorum, host, quorum};
use protection::space_vector;

/// One of the four relays that act as one.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub name: String,
    pub quorum: Quorum,
    pub decides: Decides,
    pub host: NodeHost,
}

/// What decides that the breaker be tripped or closed.
#[derive(Clone, PartialEq, Debug)]
pub enum Decides {
    /// Protection elements with their trip matrix.
    Elements {
        protection: Box<Protection>,
        /// Which breaker of the trip matrix, in the order of the names.
        breaker: usize,
        /// From the end of a trip to the decision to close; never if there is none.
        close_after: Option<Duration>,
    },
    SpaceVector {
        /// Of the currents of this stream.
        stream: Box<Stream>,
        settings: space_vector::Settings,
        /// Whether a current below the limit is a decision to close.
        closes: bool,
    },
    /// A relay of somebody else, over GOOSE.
    Goose {
        /// The interface that leads to that relay and nowhere else.
        interface: String,
        /// Control block and size of the message that it listens to.
        expected: Expected,
        entries: Vec<ForeignEntry>,
    },
}

/// What a value of the message of somebody else's relay says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignEntry {
    /// While it is true, the relay decides this.
    Decides(Action),
    /// Nothing that matters here.
    Unused,
}

/// Reads the settings of a relay node; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<Node, Problems> {
    cursor::read(file.as_ref(), text, const { &Of(&RELAY_NODE) }, node)
}

fn node(top: &Mapping<'_>) -> Option<Node> {
    top.check();
    let quorum = quorum(top);
    let host = host(top)?;
    let map = top.cursor("decides")?.form()?;
    let decides = match map.table.name {
        "elements" => by_elements(top, &map),
        "space_vector" => by_space_vector(top, &map),
        _ => by_goose(top, &map, &host),
    };
    Some(Node { name: top.text("node")?.value, quorum: quorum?, decides: decides?, host })
}

fn by_elements(top: &Mapping<'_>, map: &Mapping<'_>) -> Option<Decides> {
    top.require(&["frequency", "streams"]);
    let names = Names::of(top);
    let protection = protection(top, &names, Mode::On);
    let name = elements::breaker(map, &names)?;
    let protection = Box::new(protection?);
    let mut breakers = protection.trips.elements_by_breaker.keys();
    let breaker = breakers.position(|known| *known == name)?;
    Some(Decides::Elements { protection, breaker, close_after: map.time("close_after") })
}

fn by_space_vector(top: &Mapping<'_>, map: &Mapping<'_>) -> Option<Decides> {
    top.require(&["frequency", "streams"]);
    top.refuse(&["elements", "trips"], "this is for `by: elements`");
    let (pick_up_a, drop_off_a) = (map.quantity("pick_up")?, map.quantity("drop_off")?);
    if drop_off_a > pick_up_a {
        map.wrong("drop_off", "it is above `pick_up`", "make it lower than `pick_up`");
    }
    let settings = space_vector::Settings {
        pick_up_a,
        drop_off_a,
        samples: map.whole("samples")?.value as u32,
    };
    let there = below(top, "streams");
    let name = map.parse("stream", |text| known(text, ["stream", "streams"], &there));
    let mut streams = streams::read(top, top.quantity("frequency")?, Mode::On);
    let stream = Box::new(streams.remove(&name?.value)?);
    Some(Decides::SpaceVector { stream, settings, closes: map.is("closes", "yes") })
}

fn by_goose(top: &Mapping<'_>, map: &Mapping<'_>, host: &NodeHost) -> Option<Decides> {
    top.refuse(&["frequency", "streams", "elements", "trips"], "here the foreign relay decides");
    let interface = map.text("interface").map(|name| name.value);
    if interface.is_some() && interface == host.interface {
        let what = "GOOSE between relay and harness would cross a shared network, where anyone \
                    can send it";
        map.wrong("interface", what, "use one that connects only to the relay");
    }
    let (count, entries) = (map.items("entries").len(), map.parse_all("entries", foreign_entry));
    if entries.iter().all(|entry| *entry == ForeignEntry::Unused) && entries.len() == count {
        map.wrong("entries", "none of them triggers a decision", "write `trip` or `close`");
    }
    let expected = subscriptions::expected(map, entries.len(), false)?;
    Some(Decides::Goose { interface: interface?, expected, entries })
}

/// A word that the table allows.
fn foreign_entry(text: &str) -> Result<ForeignEntry, Fault> {
    match text {
        "trip" => Ok(ForeignEntry::Decides(Action::Trip)),
        "close" => Ok(ForeignEntry::Decides(Action::Close)),
        "unused" => Ok(ForeignEntry::Unused),
        _ => Err(Fault::new(
            format!("{} is not an entry", quoted(text)),
            "write `trip`, `close` or `unused`",
        )),
    }
}
