//! Reads `subscriptions`: GOOSE messages of other devices, and what their values are for.

use std::collections::BTreeMap;

use super::cursor::Map;
use super::problems::{listed, quoted};
use crate::goose::Expected;

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
    /// Quality of the value before it: that is unknown unless this is good and no test.
    Quality,
    /// Nothing.
    Unused,
}

pub(super) fn read(top: &Map<'_>) -> BTreeMap<String, Subscription> {
    let elements = top.names_below("elements");
    let mut subscriptions = BTreeMap::new();
    let Some(all) = top.map("subscriptions") else { return subscriptions };
    for name in all.names() {
        let Some(map) = all.map(&name) else { continue };
        if let Some(subscription) = one(&map, &elements) {
            subscriptions.insert(name, subscription);
        }
    }
    subscriptions
}

fn one(map: &Map<'_>, elements: &[String]) -> Option<Subscription> {
    let gocb_ref = map.visible_text("reference");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0..=0xbfff);
    let conf_rev = map.whole("conf_rev", 1..=u32::MAX);
    let simulated = map.optional_choice("simulated", &["yes", "no"]) == Some("yes");
    let texts = map.texts("entries");
    let entries: Vec<Entry> = texts.iter().filter_map(|text| entry(map, text, elements)).collect();
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

fn entry(map: &Map<'_>, text: &str, elements: &[String]) -> Option<Entry> {
    match text.split_once(' ') {
        None if text == "quality" => Some(Entry::Quality),
        None if text == "unused" => Some(Entry::Unused),
        Some(("position", breaker)) => Some(Entry::Position(breaker.into())),
        Some(("block", element)) if elements.iter().any(|known| known == element) => {
            Some(Entry::Block(element.into()))
        }
        Some(("block", element)) => {
            let way_out = listed(elements.iter().map(String::as_str));
            map.wrong("entries", format!("there is no element {}", quoted(element)), way_out);
            None
        }
        _ => {
            let way_out = "write `position Q0`, `block I>`, `quality` or `unused`";
            map.wrong("entries", format!("{} is no entry", quoted(text)), way_out);
            None
        }
    }
}
