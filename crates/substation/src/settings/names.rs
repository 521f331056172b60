//! Names by which parts of settings refer to each other, whether the named parts are right or not:
//! what is wrong with a part is reported once, where it is read.

use ::settings::Fault;
use ::settings::cursor::{Cursor, Mapping};

use super::texts::known;

/// Names of streams, elements and breakers of a relay.
pub(super) struct Names<'a> {
    pub(super) streams: Vec<&'a str>,
    pub(super) breakers: Vec<&'a str>,
    pub(super) elements: Vec<&'a str>,
    /// Number of the last setting group.
    pub(super) groups: usize,
    /// Breakers that have a drive for each pole.
    pub(super) single_pole: Vec<String>,
    /// Function and stream of each element that has them.
    places: Vec<(&'static str, Option<String>)>,
    /// What messages of other devices say, as written: `position Q0`.
    told: Vec<String>,
}

impl<'a> Names<'a> {
    pub(super) fn of(top: &Mapping<'a>) -> Self {
        let trips = top.mapping("trips");
        let elements = top.named("elements");
        let groups = top.table.find("groups").and_then(|_| top.mapping("groups"));
        Self {
            streams: below(top, "streams"),
            single_pole: trips.as_ref().map_or(Vec::new(), |trips| texts(trips, "single_pole")),
            breakers: trips.map_or(Vec::new(), |trips| below(&trips, "breakers")),
            places: elements.iter().map(|(_, element)| place(element)).collect(),
            told: told(top),
            groups: groups.map_or(1, |map| 1 + map.table.names().filter(|n| map.has(n)).count()),
            elements: elements.into_iter().map(|(name, _)| name.value).collect(),
        }
    }

    /// A breaker that is there.
    pub(super) fn breaker(&self, text: &str) -> Result<String, Fault> {
        known(text, ["breaker", "breakers"], &self.breakers)
    }

    /// How often messages of other devices say this.
    pub(super) fn told(&self, entry: &str) -> usize {
        self.told.iter().filter(|told| *told == entry).count()
    }

    /// Elements of any of these functions; all, if none is given.
    pub(super) fn elements_of(&self, functions: &[&str]) -> Vec<&'a str> {
        let all = self.elements.iter().zip(&self.places);
        let fits =
            |place: &(&str, Option<String>)| functions.is_empty() || functions.contains(&place.0);
        all.filter(|(_, place)| fits(place)).map(|(name, _)| *name).collect()
    }

    /// Elements of a function; those of one stream, if one is given.
    pub(super) fn elements_with(&self, function: &str, stream: Option<&str>) -> Vec<&'a str> {
        let fits = |place: &(&str, Option<String>)| {
            place.0 == function && (stream.is_none() || place.1.as_deref() == stream)
        };
        let all = self.elements.iter().zip(&self.places);
        all.filter(|(_, place)| fits(place)).map(|(name, _)| *name).collect()
    }
}

/// The names that the user gives below a key.
pub(super) fn below<'a>(map: &Mapping<'a>, key: &str) -> Vec<&'a str> {
    map.named(key).into_iter().map(|(name, _)| name.value).collect()
}

/// The texts of a list, those that are some.
fn texts(map: &Mapping<'_>, key: &str) -> Vec<String> {
    map.parse_all(key, |text| Ok(text.to_owned()))
}

/// Entries of subscriptions; none where the settings are of something that has no subscriptions.
fn told(top: &Mapping<'_>) -> Vec<String> {
    let subscriptions = top.table.find("subscriptions").map(|_| top.named("subscriptions"));
    let messages = subscriptions.into_iter().flatten();
    let entries = messages.filter_map(|(_, each)| Some(each.mapping()?.items("entries"))).flatten();
    entries.filter_map(|entry| Some(entry.parse(|text| Ok(text.to_owned()))?.value)).collect()
}

fn place(element: &Cursor<'_>) -> (&'static str, Option<String>) {
    let Some(map) = element.form() else { return ("", None) };
    let stream = map.table.find("stream").and_then(|_| map.text("stream"));
    (map.table.name, stream.map(|stream| stream.value))
}
