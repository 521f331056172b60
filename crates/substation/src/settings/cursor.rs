//! A mapping from which readers take typed values. Whatever is wrong is reported where it stands
//! and the reader gets `None` and carries on; keys that nobody asked for are reported at the end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use iec61850::wire::MacAddress;

use super::problems::{Collector, listed, quoted};
use super::tree::{Content, Value};
use super::units::{self, Unit};

/// A mapping.
#[derive(Debug)]
pub(super) struct Map<'a> {
    line: usize,
    path: String,
    entries: &'a [(String, usize, Value)],
    asked: RefCell<BTreeSet<String>>,
    collector: &'a Collector,
}

impl<'a> Map<'a> {
    /// The mapping at `path`; anything else is reported.
    pub(super) fn new(value: &'a Value, path: &str, collector: &'a Collector) -> Option<Self> {
        let Content::Mapping(entries) = &value.content else {
            collector.report(value.line, path, "this is not a mapping", "write `key: value` lines");
            return None;
        };
        let (asked, path) = (RefCell::default(), path.to_owned());
        Some(Self { line: value.line, path, entries, asked, collector })
    }

    /// The keys, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(key, ..)| key.clone()).collect()
    }

    /// The keys of the mapping below a key, right or wrong; what is wrong with them is reported
    /// once, where they are read.
    pub(super) fn names_below(&self, key: &str) -> Vec<String> {
        let value = self.entries.iter().find(|(name, ..)| name == key).map(|(.., value)| value);
        match value.map(|value| &value.content) {
            Some(Content::Mapping(entries)) => {
                entries.iter().map(|(key, ..)| key.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// As [`Map::names_below`], of those mappings in which a key has this text.
    pub(super) fn names_below_where(&self, key: &str, inner: &str, text: &str) -> Vec<String> {
        let value = self.entries.iter().find(|(name, ..)| name == key).map(|(.., value)| value);
        let Some(Content::Mapping(entries)) = value.map(|value| &value.content) else {
            return Vec::new();
        };
        let has_it = |value: &Value| match &value.content {
            Content::Mapping(entries) => entries.iter().any(|(name, _, value)| {
                name == inner && matches!(&value.content, Content::Text(found) if found == text)
            }),
            _ => false,
        };
        let named = entries.iter().filter(|(.., value)| has_it(value));
        named.map(|(name, ..)| name.clone()).collect()
    }

    /// Makes keys known that could not be read because others contradict them.
    pub(super) fn know(&self, keys: &[&str]) {
        self.asked.borrow_mut().extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// Whether a key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, ..)| name == key)
    }

    /// Reports something about a key, or about the mapping if the key is not there.
    pub(super) fn wrong(&self, key: &str, what: impl Into<String>, way_out: impl Into<String>) {
        let line = self.entries.iter().find(|(name, ..)| name == key).map_or(self.line, |e| e.1);
        self.collector.report(line, &self.path_of(key), what, way_out);
    }

    /// Reports keys that nobody asked for.
    pub(super) fn finish(&self) {
        let asked = self.asked.borrow();
        for (key, ..) in self.entries.iter().filter(|(key, ..)| !asked.contains(key)) {
            self.wrong(key, "unknown key", listed(asked.iter().map(String::as_str)));
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn optional(&self, key: &str) -> Option<&'a Value> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.entries.iter().find(|(name, ..)| name == key).map(|(.., value)| value)
    }

    /// Reports a key that must be there and is not.
    fn require<T>(&self, key: &str, read: impl FnOnce() -> Option<T>) -> Option<T> {
        if !self.has(key) {
            self.asked.borrow_mut().insert(key.to_owned());
            let way_out = format!("add `{key}`");
            self.collector.report(self.line, &self.path, format!("`{key}` is missing"), way_out);
            return None;
        }
        read()
    }

    /// A text that may be left out.
    pub(super) fn optional_text(&self, key: &str) -> Option<&'a str> {
        match &self.optional(key)?.content {
            Content::Text(text) if !text.is_empty() => Some(text),
            _ => {
                self.wrong(key, "this is not a text", "write one value");
                None
            }
        }
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.require(key, || self.optional_text(key)).map(str::to_owned)
    }

    /// A text that goes into frames: printable ASCII, not too long.
    pub(super) fn visible_text(&self, key: &str) -> Option<String> {
        let text = self.text(key)?;
        if text.len() <= 129 && text.bytes().all(|octet| matches!(octet, 0x20..=0x7e)) {
            return Some(text);
        }
        self.wrong(
            key,
            "this cannot be sent in a frame",
            "use at most 129 printable ASCII characters",
        );
        None
    }

    /// A mapping below a key that may be left out.
    pub(super) fn map(&self, key: &str) -> Option<Map<'a>> {
        Map::new(self.optional(key)?, &self.path_of(key), self.collector)
    }

    /// A quantity that may be left out.
    pub(super) fn optional_quantity(
        &self,
        key: &str,
        unit: Unit,
        range: RangeInclusive<f64>,
    ) -> Option<f64> {
        let value = match units::parse(self.optional_text(key)?, unit) {
            Ok(value) => value,
            Err((what, way_out)) => {
                self.wrong(key, what, way_out);
                return None;
            }
        };
        if range.contains(&value) {
            return Some(value);
        }
        let (name, factor) = unit.first();
        let told = |limit: &f64| format!("{} {name}", limit / factor).trim().to_owned();
        let way_out = format!("give {} to {}", told(range.start()), told(range.end()));
        self.wrong(key, format!("{} is out of range", told(&value)), way_out);
        None
    }

    /// A quantity.
    pub(super) fn quantity(
        &self,
        key: &str,
        unit: Unit,
        range: RangeInclusive<f64>,
    ) -> Option<f64> {
        self.require(key, || self.optional_quantity(key, unit, range))
    }

    /// A time that may be left out.
    pub(super) fn optional_time(
        &self,
        key: &str,
        min: Duration,
        max: Duration,
    ) -> Option<Duration> {
        let range = min.as_secs_f64()..=max.as_secs_f64();
        let seconds = self.optional_quantity(key, Unit::Time, range)?;
        Some(Duration::from_nanos((seconds * 1e9).round() as u64))
    }

    /// A time.
    pub(super) fn time(&self, key: &str, min: Duration, max: Duration) -> Option<Duration> {
        self.require(key, || self.optional_time(key, min, max))
    }

    /// A whole number, decimal or hexadecimal (`0x4000`), that may be left out.
    pub(super) fn optional_whole(&self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let text = self.optional_text(key)?;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (min, max) = (range.start(), range.end());
            let way_out =
                format!("give a whole number from {min} to {max}, or 0x{min:x} to 0x{max:x}");
            self.wrong(key, format!("{} is not such a number", quoted(text)), way_out);
        }
        number
    }

    /// A whole number.
    pub(super) fn whole(&self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        self.require(key, || self.optional_whole(key, range))
    }

    /// One of some words, that may be left out.
    pub(super) fn optional_choice<'w>(&self, key: &str, words: &[&'w str]) -> Option<&'w str> {
        let text = self.optional_text(key)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let way_out = listed(words.iter().copied());
            self.wrong(key, format!("{} is not one of the words", quoted(text)), way_out);
        }
        found
    }

    /// One of some words.
    pub(super) fn choice<'w>(&self, key: &str, words: &[&'w str]) -> Option<&'w str> {
        self.require(key, || self.optional_choice(key, words))
    }

    /// A multicast address.
    pub(super) fn group_address(&self, key: &str) -> Option<MacAddress> {
        let text = self.text(key)?;
        match text.parse::<MacAddress>() {
            Ok(address) if address.is_group() => Some(address),
            _ => {
                let what = format!("{} is not a multicast address", quoted(&text));
                self.wrong(key, what, "write it as `01:0c:cd:04:00:01`");
                None
            }
        }
    }

    /// The items of a list of texts, which must be there.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let Some(value) = self.require(key, || self.optional(key)) else { return Vec::new() };
        let text = |value: &Value| match &value.content {
            Content::Text(text) => Some(text.clone()),
            _ => None,
        };
        let items = match &value.content {
            Content::List(items) => items.iter().map(text).collect(),
            Content::Text(one) => Some(vec![one.clone()]),
            Content::Mapping(_) => None,
        };
        match items {
            Some(items) if !items.is_empty() => items,
            _ => {
                self.wrong(key, "this is not a list of names", "write `[one, another]`");
                Vec::new()
            }
        }
    }

    /// A list of names that must be among `known`; `what` says what they name.
    pub(super) fn names_in_list<'k>(
        &self,
        key: &str,
        what: &str,
        known: impl Iterator<Item = &'k String> + Clone,
    ) -> Vec<String> {
        let names = self.texts(key);
        for name in names.iter().filter(|name| !known.clone().any(|known| known == *name)) {
            let way_out = listed(known.clone().map(String::as_str));
            self.wrong(key, format!("there is no {what} {}", quoted(name)), way_out);
        }
        names
    }

    /// A name that must be among `known`.
    pub(super) fn name<'k>(
        &self,
        key: &str,
        what: &str,
        known: impl Iterator<Item = &'k String> + Clone,
    ) -> Option<String> {
        let name = self.text(key)?;
        if known.clone().any(|known| *known == name) {
            return Some(name);
        }
        let way_out = listed(known.map(String::as_str));
        self.wrong(key, format!("there is no {what} {}", quoted(&name)), way_out);
        None
    }
}
