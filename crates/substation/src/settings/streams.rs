//! Reads `streams`.

use std::collections::BTreeMap;

use ::settings::cursor::{Cursor, Mapping, Placed};
use ::settings::problems::quoted;
use iec61850::stream::{Settings, StreamKey};

use super::model::{Mode, Stream, SynchronisationNeeded};
use super::texts::{group, rate, visible};
use protection::recent::Transformers;

/// Streams that one relay takes: ten times those of a station of virtual relays that was published.
const STREAMS_MAX: usize = 256;

pub(super) fn read(top: &Mapping<'_>, frequency_hz: f64, mode: Mode) -> BTreeMap<String, Stream> {
    let streams =
        distinct(top.named("streams"), |map| one(map, frequency_hz, mode), |stream| &stream.key);
    if streams.len() > STREAMS_MAX {
        let what = format!("{} streams are more than a relay can take", streams.len());
        top.wrong("streams", what, format!("give at most {STREAMS_MAX}, others to another relay"));
    }
    streams
}

/// Streams by name; two with the same key are reported.
pub(super) fn distinct<S>(
    all: Vec<(Placed<'_, &str>, Cursor<'_>)>,
    read: impl Fn(&Mapping<'_>) -> Option<S>,
    key: impl Fn(&S) -> &StreamKey,
) -> BTreeMap<String, S> {
    let mut streams = BTreeMap::new();
    for (name, cursor) in all {
        let Some(stream) = cursor.mapping().and_then(|map| read(&map)) else { continue };
        if let Some((other, _)) = streams.iter().find(|(_, known)| key(known) == key(&stream)) {
            let other: &String = other;
            let what = format!("destination, APPID and svID are those of {}", quoted(other));
            name.place.wrong(what, "give each stream its own");
        }
        streams.insert(name.value.to_owned(), stream);
    }
    streams
}

pub(super) fn key(map: &Mapping<'_>) -> Option<StreamKey> {
    Some(StreamKey {
        destination: map.parse("destination", group)?.value,
        app_id: map.whole("app_id")?.value as u16,
        sv_id: map.parse("sv_id", visible)?.value,
    })
}

fn one(map: &Mapping<'_>, frequency_hz: f64, mode: Mode) -> Option<Stream> {
    let rate = map.parse("rate", rate)?.value;
    let supervision = Settings {
        rate,
        channels: 8,
        conf_rev: map.whole("conf_rev")?.value as u32,
        late_max: map.time("late_max")?,
        // One period and what the mimic and the tracking of the frequency add.
        recovery_samples: (f64::from(rate) / frequency_hz * 1.25).ceil() as u32,
        simulated: map.is("simulated", "yes"),
        takes_tests: mode == Mode::Test,
    };
    let synchronisation = match map.choice("synchronisation")?.value {
        "none" => SynchronisationNeeded::None,
        "local" => SynchronisationNeeded::Local,
        _ => SynchronisationNeeded::Global,
    };
    let transformers = match map.is("voltage_transformers", "inductive") {
        true => Transformers::Inductive,
        false => Transformers::Capacitive,
    };
    Some(Stream { key: key(map)?, supervision, synchronisation, transformers })
}
