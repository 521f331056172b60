//! Reads the settings of a relay node.

use std::time::Duration;

use iec61850::goose::Expected;
use quorum::Action;

use super::super::cursor::Map;
use super::super::problems::{Collector, Problems, listed, quoted};
use super::super::units::Unit;
use super::super::{Host, Mode, Relay, Stream, elements, streams, tree, trips};
use super::{NodeHost, Quorum, host, quorum};
use crate::protection::space_vector;

/// Largest limit of a current: what a relay's elements may be set to.
const CURRENT_MAX_A: f64 = 1e6;

/// A relay node.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What all nodes of the station are told.
    pub quorum: Quorum,
    /// What decides.
    pub decides: Decides,
    /// Where it runs.
    pub host: NodeHost,
}

/// What decides that the breaker be tripped or closed.
#[derive(Clone, PartialEq, Debug)]
pub enum Decides {
    /// Protection elements with their trip matrix.
    Elements {
        /// Streams, elements and trip matrix.
        relay: Box<Relay>,
        /// Which breaker of the trip matrix, in the order of the names.
        breaker: usize,
        /// From the end of a trip to the decision to close; never if there is none.
        close_after: Option<Duration>,
    },
    /// One instantaneous element.
    SpaceVector {
        /// Of the currents of this stream.
        stream: Box<Stream>,
        /// Its limits.
        settings: space_vector::Settings,
        /// Whether a current below the limit is a decision to close.
        closes: bool,
    },
    /// A relay of somebody else, over GOOSE.
    Goose {
        /// The interface that leads to that relay and nowhere else.
        interface: String,
        /// Its message.
        expected: Expected,
        /// What the values of the message say.
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

/// Reads the settings of a relay node.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(text: &str) -> Result<Node, Problems> {
    let collector = Collector::default();
    let node = tree::parse(text, &collector).and_then(|value| node(&value, &collector));
    collector.finish(node)
}

fn node(value: &tree::Value, collector: &Collector) -> Option<Node> {
    let top = Map::new(value, "", collector)?;
    let name = top.text("node");
    let quorum = quorum(&top);
    let host = host(&top);
    let decides = match top.map("decides") {
        Some(map) => decides(&top, &map, &host),
        None => {
            let way_out = "add `decides` with `by: elements`, `space_vector` or `goose`";
            top.wrong("decides", "`decides` is missing", way_out);
            None
        }
    };
    top.finish();
    Some(Node { name: name?, quorum: quorum?, decides: decides?, host })
}

fn decides(top: &Map<'_>, map: &Map<'_>, host: &NodeHost) -> Option<Decides> {
    let decides = match map.choice("by", &["elements", "space_vector", "goose"])? {
        "elements" => by_elements(top, map),
        "space_vector" => by_space_vector(top, map),
        _ => by_goose(map, host),
    };
    map.finish();
    decides
}

fn by_elements(top: &Map<'_>, map: &Map<'_>) -> Option<Decides> {
    let frequency_hz = top.quantity("frequency", Unit::Frequency, 45.0..=65.0);
    let streams = streams::read(top, frequency_hz.unwrap_or(50.0), Mode::On);
    let relay = Relay {
        name: String::new(),
        frequency_hz: frequency_hz.unwrap_or(50.0),
        mode: Mode::On,
        streams,
        elements: elements::read(top),
        trips: trips(top),
        goose: std::collections::BTreeMap::new(),
        subscriptions: std::collections::BTreeMap::new(),
        host: Host::default(),
    };
    let breaker = map.text("breaker");
    let close_after =
        map.optional_time("close_after", Duration::from_millis(1), Duration::from_secs(600));
    let (name, breakers) = (breaker?, &relay.trips.elements_by_breaker);
    let Some(breaker) = breakers.keys().position(|known| *known == name) else {
        let what = format!("there is no breaker {} below `trips`", quoted(&name));
        map.wrong("breaker", what, listed(breakers.keys().map(String::as_str)));
        return None;
    };
    frequency_hz?;
    Some(Decides::Elements { relay: Box::new(relay), breaker, close_after })
}

fn by_space_vector(top: &Map<'_>, map: &Map<'_>) -> Option<Decides> {
    let frequency_hz = top.quantity("frequency", Unit::Frequency, 45.0..=65.0);
    let mut streams = streams::read(top, frequency_hz.unwrap_or(50.0), Mode::On);
    let name = map.text("stream");
    let pick_up_a = map.quantity("pick_up", Unit::Current, 0.0..=CURRENT_MAX_A);
    let drop_off_a = map.quantity("drop_off", Unit::Current, 0.0..=CURRENT_MAX_A);
    let closes = map.optional_choice("closes", &["yes", "no"]) != Some("no");
    let name = name?;
    let known = top.names_below("streams");
    if !known.contains(&name) {
        let what = format!("there is no stream {}", quoted(&name));
        map.wrong("stream", what, listed(known.iter().map(String::as_str)));
    }
    let stream = streams.remove(&name);
    let (pick_up_a, drop_off_a) = (pick_up_a?, drop_off_a?);
    if drop_off_a > pick_up_a {
        map.wrong("drop_off", "it is above `pick_up`", "make it lower than `pick_up`");
    }
    let settings = space_vector::Settings { pick_up_a, drop_off_a };
    Some(Decides::SpaceVector { stream: Box::new(stream?), settings, closes })
}

fn by_goose(map: &Map<'_>, host: &NodeHost) -> Option<Decides> {
    let interface = map.text("interface");
    if interface.is_some() && interface == host.interface {
        let what = "GOOSE between relay and harness would cross a shared network, where anyone \
                    can send it";
        map.wrong("interface", what, "use one that connects only to the relay");
    }
    let gocb_ref = map.visible_text("reference");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0..=0xbfff);
    let conf_rev = map.whole("conf_rev", 1..=u32::MAX);
    let texts = map.texts("entries");
    let entries: Vec<ForeignEntry> =
        texts.iter().filter_map(|text| foreign_entry(map, text)).collect();
    if entries.iter().all(|entry| *entry == ForeignEntry::Unused) && entries.len() == texts.len() {
        map.wrong("entries", "none of them triggers a decision", "write `trip` or `close`");
    }
    let expected = Expected {
        destination: destination?,
        app_id: app_id? as u16,
        gocb_ref: gocb_ref?,
        conf_rev: conf_rev?,
        entries: entries.len() as u32,
        simulated: false,
    };
    Some(Decides::Goose { interface: interface?, expected, entries })
}

fn foreign_entry(map: &Map<'_>, text: &str) -> Option<ForeignEntry> {
    match text {
        "trip" => Some(ForeignEntry::Decides(Action::Trip)),
        "close" => Some(ForeignEntry::Decides(Action::Close)),
        "unused" => Some(ForeignEntry::Unused),
        _ => {
            let way_out = "write `trip`, `close` or `unused`";
            map.wrong("entries", format!("{} is not an entry", quoted(text)), way_out);
            None
        }
    }
}
