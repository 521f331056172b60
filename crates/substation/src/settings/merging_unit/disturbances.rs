//! Reads `disturbances`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::cursor::Map;
use super::super::units::Unit;
use super::{Disturbance, DisturbanceKind, TIME_MAX};

/// Kinds by the word that settings use.
const KINDS: [(&str, DisturbanceKind); 7] = [
    ("loss", DisturbanceKind::Loss),
    ("duplicate", DisturbanceKind::Duplicate),
    ("reorder", DisturbanceKind::Reorder),
    ("unsynchronised", DisturbanceKind::Unsynchronised),
    ("invalid", DisturbanceKind::Invalid),
    ("questionable", DisturbanceKind::Questionable),
    ("test", DisturbanceKind::Test),
];

pub(super) fn read(top: &Map<'_>) -> BTreeMap<String, Disturbance> {
    let mut disturbances = BTreeMap::new();
    let streams = top.names_below("streams");
    let Some(all) = top.map("disturbances") else { return disturbances };
    for name in all.names() {
        if let Some(disturbance) = all.map(&name).and_then(|map| one(&map, &streams)) {
            disturbances.insert(name, disturbance);
        }
    }
    disturbances
}

fn one(map: &Map<'_>, streams: &[String]) -> Option<Disturbance> {
    let word = map.choice("kind", &KINDS.map(|(word, _)| word));
    let struck = if map.has("streams") {
        map.names_in_list("streams", "stream", streams.iter())
    } else {
        map.know(&["streams"]);
        Vec::new()
    };
    let share = map.optional_quantity("share", Unit::Share, 0.0..=1.0).unwrap_or(1.0);
    let at = map.optional_time("at", Duration::ZERO, TIME_MAX).unwrap_or_default();
    let lasts = map.optional_time("lasts", Duration::from_micros(1), TIME_MAX);
    map.finish();
    let (_, kind) = KINDS.into_iter().find(|(known, _)| Some(*known) == word)?;
    Some(Disturbance { kind, streams: struck, share, at, lasts })
}
