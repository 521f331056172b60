//! Reads the settings of a merging unit: names and streams, and the other parts by their files.

use std::collections::BTreeMap;
use std::path::Path;

use ::settings::Problems;
use ::settings::cursor::{self, Mapping};
use ::settings::table::Shape::Of;
use iec61850::wire::Synchronisation;

use super::super::goose::tag;
use super::super::names::below;
use super::super::streams::{distinct, key};
use super::super::texts::{group, known, rate, visible};
use super::keys::MERGING_UNIT;
use super::{MergingUnit, PublishedStream, STREAMS_MAX, TrippedBreaker, disturbances, sources};

/// Reads the settings of a merging unit; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<MergingUnit, Problems> {
    cursor::read(file.as_ref(), text, const { &Of(&MERGING_UNIT) }, unit)
}

fn unit(top: &Mapping<'_>) -> Option<MergingUnit> {
    top.check();
    let frequency_hz = top.quantity("frequency");
    let sources = sources::read(top, frequency_hz.unwrap_or(50.0));
    let streams = streams(top);
    let disturbances = disturbances::read(top);
    Some(MergingUnit {
        name: top.text("merging_unit")?.value,
        frequency_hz: frequency_hz?,
        interface: top.text("interface").map(|name| name.value),
        duration: top.time("duration"),
        seed: top.whole("seed")?.value as u32,
        sources,
        streams,
        disturbances,
        breaker: top.mapping("breaker").and_then(|map| breaker(&map)),
    })
}

fn streams(top: &Mapping<'_>) -> BTreeMap<String, PublishedStream> {
    let (sources, all) = (below(top, "sources"), top.named("streams"));
    if all.len() > STREAMS_MAX {
        let what = format!("{} streams are too many", all.len());
        top.wrong("streams", what, format!("publish at most {STREAMS_MAX} from one program"));
    }
    distinct(all, |map| stream(map, &sources), |stream| &stream.key)
}

fn stream(map: &Mapping<'_>, sources: &[&str]) -> Option<PublishedStream> {
    let source = map.parse("source", |text| known(text, ["source", "sources"], sources));
    let rate = map.parse("rate", rate)?.value;
    let asdus = map.whole("asdus").map_or_else(|| usual_asdus(rate), |asdus| asdus.value as u8);
    if !rate.is_multiple_of(asdus.into()) {
        let what = format!("{rate} samples per second are not a whole number of frames of {asdus}");
        map.wrong("asdus", what, "give a divisor of `rate`");
    }
    let tag = tag(map)?;
    Some(PublishedStream {
        key: key(map)?,
        tag: map.is("tag", "yes").then_some(tag),
        conf_rev: map.whole("conf_rev")?.value as u32,
        rate,
        asdus,
        phase: map.time("phase")?,
        synchronisation: match map.choice("synchronisation")?.value {
            "none" => Synchronisation::None,
            "local" => Synchronisation::Local,
            _ => Synchronisation::Global,
        },
        source: source?.value,
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

fn breaker(map: &Mapping<'_>) -> Option<TrippedBreaker> {
    Some(TrippedBreaker {
        reference: map.parse("reference", visible)?.value,
        destination: map.parse("destination", group)?.value,
        app_id: map.whole("app_id")?.value as u16,
        value: map.whole("value")?.value as usize,
        opening: map.time("opening")?,
        position: map.text("position").map(|file| file.value),
    })
}
