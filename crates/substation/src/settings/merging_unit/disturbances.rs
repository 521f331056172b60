//! Reads `disturbances`.

use std::collections::BTreeMap;

use ::settings::cursor::Mapping;

use super::super::names::below;
use super::super::texts::known;
use super::{Disturbance, DisturbanceKind};

pub(super) fn read(top: &Mapping<'_>) -> BTreeMap<String, Disturbance> {
    let streams = below(top, "streams");
    top.by_name("disturbances", |cursor| one(&cursor.mapping()?, &streams))
}

fn one(map: &Mapping<'_>, streams: &[&str]) -> Option<Disturbance> {
    Some(Disturbance {
        streams: map.parse_all("streams", |text| known(text, ["stream", "streams"], streams)),
        kind: match map.choice("kind")?.value {
            "loss" => DisturbanceKind::Loss,
            "duplicate" => DisturbanceKind::Duplicate,
            "reorder" => DisturbanceKind::Reorder,
            "unsynchronised" => DisturbanceKind::Unsynchronised,
            "invalid" => DisturbanceKind::Invalid,
            "questionable" => DisturbanceKind::Questionable,
            _ => DisturbanceKind::Test,
        },
        share: map.quantity("share")?,
        at: map.time("at")?,
        lasts: map.time("lasts"),
    })
}
