//! Reads the settings of a merging unit: names and streams, and the other parts by their files.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::stream::StreamKey;
use iec61850::wire::{Synchronisation, Tag};

use super::super::cursor::Map;
use super::super::problems::{Collector, Problems, quoted};
use super::super::tree;
use super::super::units::Unit;
use super::{
    MergingUnit, PublishedStream, STREAMS_MAX, TIME_MAX, TrippedBreaker, disturbances, sources,
};

/// Later than this a frame would be one of another sample altogether.
const PHASE_MAX: Duration = Duration::from_millis(20);
/// Samples in a frame so that it stays below 1500 octets with the longest name.
const ASDUS_MAX: u32 = 8;

/// Reads the settings of a merging unit.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(text: &str) -> Result<MergingUnit, Problems> {
    let collector = Collector::default();
    let unit = tree::parse(text, &collector).and_then(|value| unit(&value, &collector));
    collector.finish(unit)
}

fn unit(value: &tree::Value, collector: &Collector) -> Option<MergingUnit> {
    let top = Map::new(value, "", collector)?;
    let name = top.text("merging_unit");
    let frequency_hz = top.quantity("frequency", Unit::Frequency, 45.0..=65.0);
    let interface = top.has("interface").then(|| top.text("interface")).flatten();
    let duration = top.optional_time("duration", Duration::from_millis(1), TIME_MAX);
    let seed = top.optional_whole("seed", 0..=u32::MAX).unwrap_or(1);
    let sources = sources::read(&top, frequency_hz.unwrap_or(50.0));
    let streams = streams(&top);
    let disturbances = disturbances::read(&top);
    let breaker = top.map("breaker").map(|map| breaker(&map));
    top.finish();
    Some(MergingUnit {
        name: name?,
        frequency_hz: frequency_hz?,
        interface,
        duration,
        seed,
        sources,
        streams,
        disturbances,
        breaker: breaker.flatten(),
    })
}

fn streams(top: &Map<'_>) -> BTreeMap<String, PublishedStream> {
    let mut streams: BTreeMap<String, PublishedStream> = BTreeMap::new();
    let sources = top.names_below("sources");
    let Some(all) = top.map("streams") else {
        top.wrong("streams", "`streams` is missing", "add at least one stream");
        return streams;
    };
    let names = all.names();
    if names.len() > STREAMS_MAX {
        let what = format!("{} streams are too many", names.len());
        top.wrong("streams", what, format!("publish at most {STREAMS_MAX} from one program"));
    }
    for name in names {
        let Some(stream) = all.map(&name).and_then(|map| stream(&map, &sources)) else { continue };
        if let Some((other, _)) = streams.iter().find(|(_, known)| known.key == stream.key) {
            let what = format!("destination, APPID and svID are those of {}", quoted(other));
            all.wrong(&name, what, "give each stream its own");
        }
        streams.insert(name, stream);
    }
    streams
}

fn stream(map: &Map<'_>, sources: &[String]) -> Option<PublishedStream> {
    let sv_id = map.visible_text("sv_id");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0x4000..=0x7fff);
    let rate = map.quantity("rate", Unit::Frequency, 1000.0..=15_360.0);
    let asdus = map.optional_whole("asdus", 1..=ASDUS_MAX);
    let conf_rev = map.optional_whole("conf_rev", 0..=u32::MAX).unwrap_or(1);
    let vlan = map.optional_whole("vlan", 0..=4094).unwrap_or(0);
    let priority = map.optional_whole("priority", 0..=7).unwrap_or(4);
    let is_tagged = map.optional_choice("tag", &["yes", "no"]) != Some("no");
    let phase = map.optional_time("phase", Duration::ZERO, PHASE_MAX).unwrap_or_default();
    let words = ["none", "local", "global"];
    let synchronisation = match map.optional_choice("synchronisation", &words) {
        Some("none") => Synchronisation::None,
        Some("local") => Synchronisation::Local,
        _ => Synchronisation::Global,
    };
    let source = map.name("source", "source", sources.iter());
    map.finish();
    let rate = rate?;
    if rate.fract() != 0.0 {
        map.wrong("rate", "samples per second must be a whole number", "write it as `4000 Hz`");
        return None;
    }
    let rate = rate as u16;
    let asdus = asdus.map_or_else(|| usual_asdus(rate), |asdus| asdus as u8);
    if !rate.is_multiple_of(asdus.into()) {
        let what = format!("{rate} samples per second are not a whole number of frames of {asdus}");
        map.wrong("asdus", what, "give a divisor of `rate`");
    }
    Some(PublishedStream {
        key: StreamKey { destination: destination?, app_id: app_id? as u16, sv_id: sv_id? },
        tag: is_tagged.then(|| Tag::new(priority as u8, vlan as u16)),
        conf_rev,
        rate,
        asdus,
        phase,
        synchronisation,
        source: source?,
    })
}

/// Samples in a frame as the profiles have them: IEC 61869-9 sends 4800 a second in twos and
/// 14,400 in sixes, 9-2LE sends 80 a period singly and 256 in eights.
#[must_use]
pub(super) const fn usual_asdus(rate: u16) -> u8 {
    match rate {
        4800 => 2,
        14_400 => 6,
        12_800 | 15_360 => 8,
        _ => 1,
    }
}

fn breaker(map: &Map<'_>) -> Option<TrippedBreaker> {
    let reference = map.visible_text("reference");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0..=0xbfff);
    let value = map.optional_whole("value", 0..=255).unwrap_or(0);
    let opening = map.time("opening", Duration::ZERO, Duration::from_secs(10));
    let position = map.optional_text("position").map(str::to_owned);
    map.finish();
    Some(TrippedBreaker {
        reference: reference?,
        destination: destination?,
        app_id: app_id? as u16,
        value: value as usize,
        opening: opening?,
        position,
    })
}
