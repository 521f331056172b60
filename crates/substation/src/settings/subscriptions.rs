//! Reads `subscriptions`: GOOSE messages of other devices, and what their values are for.

use std::collections::BTreeMap;

use iec61850::goose::Expected;

use super::cursor::Map;
use super::problems::{listed, quoted};

/// A message of another device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscription {
    /// Which it is.
    pub expected: Expected,
    /// What each of its values is for.
    pub entries: Vec<Entry>,
}

/// What a value is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Position of a breaker: a double point (`01` open, `10` closed), or a boolean that is true
    /// for closed.
    Position(String),
    /// Blocks an element while it is true.
    Block(String),
    /// Trips a breaker while it is true: a breaker that failed to clear its fault, the other end of a
    /// line.
    Trip(String),
    /// Tells a breaker failure element of a trip by another device while it is true.
    Initiate(String),
    /// Quality of the value before it: that is unknown unless this is good and no test.
    Quality,
    /// Nothing.
    Unused,
}

/// Names that an entry may have.
struct Known {
    elements: Vec<String>,
    failures: Vec<String>,
    breakers: Vec<String>,
}

pub(super) fn read(top: &Map<'_>) -> BTreeMap<String, Subscription> {
    let known = Known {
        elements: top.names_below("elements"),
        failures: top.names_below_where("elements", "function", "breaker_failure"),
        breakers: top.map("trips").map(|trips| trips.names_below("breakers")).unwrap_or_default(),
    };
    let mut subscriptions = BTreeMap::new();
    let Some(all) = top.map("subscriptions") else { return subscriptions };
    for name in all.names() {
        let Some(map) = all.map(&name) else { continue };
        if let Some(subscription) = one(&map, &known) {
            subscriptions.insert(name, subscription);
        }
    }
    subscriptions
}

fn one(map: &Map<'_>, known: &Known) -> Option<Subscription> {
    let gocb_ref = map.visible_text("reference");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0..=0xbfff);
    let conf_rev = map.whole("conf_rev", 1..=u32::MAX);
    let simulated = map.optional_choice("simulated", &["yes", "no"]) == Some("yes");
    let texts = map.texts("entries");
    let entries: Vec<Entry> = texts.iter().filter_map(|text| entry(map, text, known)).collect();
    map.finish();
    let expected = Expected {
        destination: destination?,
        app_id: app_id? as u16,
        gocb_ref: gocb_ref?,
        conf_rev: conf_rev?,
        entries: entries.len() as u32,
        simulated,
    };
    Some(Subscription { expected, entries })
}

fn entry(map: &Map<'_>, text: &str, known: &Known) -> Option<Entry> {
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    let (what, names, make): (_, _, fn(String) -> Entry) = match (kind, name) {
        ("quality", "") => return Some(Entry::Quality),
        ("unused", "") => return Some(Entry::Unused),
        ("position", breaker) if !breaker.is_empty() => {
            return Some(Entry::Position(breaker.into()));
        }
        ("block", _) => ("element", &known.elements, Entry::Block),
        ("trip", _) => ("breaker", &known.breakers, Entry::Trip),
        ("initiate", _) => ("breaker failure element", &known.failures, Entry::Initiate),
        _ => {
            let way_out = "write `position Q0`, `block I>`, `trip Q0`, `initiate BF`, `quality` or \
                           `unused`";
            map.wrong("entries", format!("{} is not an entry", quoted(text)), way_out);
            return None;
        }
    };
    if names.iter().any(|known| known == name) {
        return Some(make(name.into()));
    }
    let way_out = listed(names.iter().map(String::as_str));
    map.wrong("entries", format!("there is no {what} {}", quoted(name)), way_out);
    None
}
