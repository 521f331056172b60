//! Reads `streams`.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::stream::{Settings, StreamKey};

use super::cursor::Map;
use super::model::{Mode, Stream, SynchronisationNeeded};
use super::problems::quoted;
use super::units::Unit;

pub(super) fn read(top: &Map<'_>, frequency_hz: f64, mode: Mode) -> BTreeMap<String, Stream> {
    let mut streams = BTreeMap::new();
    let Some(all) = top.map("streams") else {
        top.wrong("streams", "`streams` is missing", "add at least one stream");
        return streams;
    };
    for name in all.names() {
        let Some(stream) = all.map(&name).and_then(|map| one(&map, frequency_hz, mode)) else {
            continue;
        };
        if let Some((other, _)) =
            streams.iter().find(|(_, known): &(_, &Stream)| known.key == stream.key)
        {
            let what = format!("destination, APPID and svID are those of {}", quoted(other));
            all.wrong(&name, what, "give each stream its own");
        }
        streams.insert(name, stream);
    }
    streams
}

fn one(map: &Map<'_>, frequency_hz: f64, mode: Mode) -> Option<Stream> {
    let sv_id = map.visible_text("sv_id");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0x4000..=0x7fff);
    let rate = map.quantity("rate", Unit::Frequency, 1000.0..=15_360.0);
    let conf_rev =
        map.optional_whole("conf_rev", 0..=u32::MAX).or((!map.has("conf_rev")).then_some(1));
    let late_max =
        map.optional_time("late_max", Duration::from_micros(100), Duration::from_millis(20));
    let words = ["none", "local", "global"];
    let synchronisation = match map.optional_choice("synchronisation", &words) {
        Some("none") => SynchronisationNeeded::None,
        Some("local") => SynchronisationNeeded::Local,
        _ => SynchronisationNeeded::Global,
    };
    let simulated = map.optional_choice("simulated", &["yes", "no"]) == Some("yes");
    map.finish();
    let rate = rate?;
    if rate.fract() != 0.0 {
        map.wrong("rate", "samples per second must be a whole number", "write it as `4000 Hz`");
    }
    // One period and what the mimic and the tracking of the frequency add.
    let recovery_samples = (rate / frequency_hz * 1.25).ceil() as u32;
    let supervision = Settings {
        rate: rate as u16,
        channels: 8,
        conf_rev: conf_rev?,
        late_max: late_max.unwrap_or(Duration::from_millis(3)),
        recovery_samples,
        simulated,
        takes_tests: mode == Mode::Test,
    };
    let key = StreamKey { destination: destination?, app_id: app_id? as u16, sv_id: sv_id? };
    Some(Stream { key, supervision, synchronisation })
}
