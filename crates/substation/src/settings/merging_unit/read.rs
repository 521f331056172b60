//! Reads the settings of a merging unit: streams, the sources of their samples (waves that are
//! computed, records, simulated grids), and what goes wrong.

use std::collections::BTreeMap;
use std::path::Path;

use ::settings::Problems;
use ::settings::cursor::{self, Mapping};
use ::settings::problems::quoted;
use ::settings::table::Shape::Of;
use ::settings::units;
use iec61850::wire::Synchronisation;

use super::super::goose::{self, tag};
use super::super::names::below;
use super::super::streams::{distinct, key};
use super::super::texts::{group, known, rate, visible};
use super::keys::MERGING_UNIT;
use super::{
    Closes, Disturbance, DisturbanceKind, MergingUnit, Plant, Playback, PublishedStream,
    RecordFiles, STREAMS_MAX, Source, Transformer, TrippedBreaker, Waveform, WaveformFault,
};
use protection::{Complex, Degrees};

/// How far from a whole number of periods `every` may be, in periods.
const PERIOD_TOLERANCE: f64 = 1e-6;

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
    let sources = sources(top, frequency_hz.unwrap_or(50.0));
    let streams = streams(top);
    let names = below(top, "streams");
    let disturbances =
        top.by_name("disturbances", |cursor| disturbance(&cursor.mapping()?, &names));
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
    let of_pole = |text: &str| units::whole(text, 0, 255).map(|value| value as usize);
    let pole_values = map.parse_all("pole_values", of_pole);
    if !pole_values.is_empty() && pole_values.len() != 3 {
        let what = format!("{} values for three poles", pole_values.len());
        map.wrong("pole_values", what, "give those of A, B and C");
    }
    let closes = if map.has("close_value") {
        map.require(&["closing"]);
        map.refuse(&["position"], "a switch of a simulated grid is not closed again");
        Some(Closes {
            value: map.whole("close_value")?.value as usize,
            closing: map.time("closing")?,
        })
    } else {
        map.refuse(&["closing", "tells", "pole_values"], "this is for `close_value`");
        None
    };
    let tells = map.mapping("tells");
    Some(TrippedBreaker {
        pole_values,
        closes,
        tells: tells.and_then(|map| goose::control(&map, Vec::new())),
        reference: map.parse("reference", visible)?.value,
        destination: map.parse("destination", group)?.value,
        app_id: map.whole("app_id")?.value as u16,
        value: map.whole("value")?.value as usize,
        opening: map.time("opening")?,
        position: map.text("position").map(|file| file.value),
    })
}

fn disturbance(map: &Mapping<'_>, streams: &[&str]) -> Option<Disturbance> {
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

fn sources(top: &Mapping<'_>, frequency_hz: f64) -> BTreeMap<String, Source> {
    top.by_name("sources", |cursor| {
        let map = cursor.form()?;
        match map.table.name {
            "waveform" => waveform(&map, frequency_hz).map(Source::Waveform),
            "comtrade" => comtrade(&map).map(Source::Playback),
            "capture" => capture(&map).map(Source::Playback),
            _ => plant(&map).map(Source::Plant),
        }
    })
}

fn waveform(map: &Mapping<'_>, nominal_hz: f64) -> Option<Waveform> {
    let frequency_hz = map.quantity("frequency").unwrap_or(nominal_hz);
    let current_harmonics = harmonics(map, "current_harmonics");
    let voltage_harmonics = harmonics(map, "voltage_harmonics");
    let fault = map.mapping("fault").and_then(|map| fault(&map, frequency_hz));
    let transformer = map.mapping("transformer").and_then(|map| transformer(&map));
    Some(Waveform {
        frequency_hz,
        voltage: Complex::polar_deg(map.quantity("voltage")?, 0.0),
        current: Complex::polar_deg(map.quantity("current")?, -map.quantity("lag")?),
        current_harmonics,
        voltage_harmonics,
        fault,
        transformer,
    })
}

/// `{5: 3 %, 7: 2 %}`: numbers with shares of the fundamental.
fn harmonics(map: &Mapping<'_>, key: &str) -> Vec<(u8, f64)> {
    let mut harmonics = Vec::new();
    for (name, share) in map.named(key) {
        match name.value.parse::<u8>() {
            Ok(order @ 2..=50) => harmonics.extend(share.quantity().map(|share| (order, share))),
            _ => {
                let what = format!("{} is not the number of a harmonic", quoted(name.value));
                name.place.wrong(what, "give 2 to 50");
            }
        }
    }
    harmonics
}

fn fault(map: &Mapping<'_>, frequency_hz: f64) -> Option<WaveformFault> {
    let (at, every, lasts) = (map.time("at"), map.time("every"), map.time("lasts"));
    if let (Some(at), Some(every)) = (at, every) {
        let periods = every.as_secs_f64() * frequency_hz;
        if (periods - periods.round()).abs() > PERIOD_TOLERANCE {
            let what = format!("it is {periods:.3} periods, so the wave would jump");
            map.wrong("every", what, "give a whole number of periods");
        }
        // The moment of inception may be a period later.
        let needed_s = at.as_secs_f64() + 1.0 / frequency_hz;
        if lasts.unwrap_or_default().as_secs_f64() + needed_s >= every.as_secs_f64() {
            map.wrong("every", "the next fault would start before this one ends", "give more");
        }
    }
    let word = map.choice("phases")?.value;
    Some(WaveformFault {
        at: at?,
        every,
        lasts,
        phases: ["a", "b", "c"].map(|phase| word.contains(phase)),
        current_a: map.quantity("current")?,
        lag_deg: map.quantity("lag")?,
        voltage_left: map.quantity("voltage_left")?,
        inception_deg: map.quantity("inception")?,
        tau: map.time("tau")?,
        dies_after: map.time("dies_after"),
    })
}

fn transformer(map: &Mapping<'_>) -> Option<Transformer> {
    Some(Transformer {
        ratio: map.quantity("ratio")?,
        burden_ohm: map.quantity("burden")?,
        saturation_v: map.quantity("saturation")?,
        remanence: map.quantity("remanence")?,
    })
}

fn plant(map: &Mapping<'_>) -> Option<Plant> {
    Some(Plant {
        folder: map.text("folder")?.value,
        bus: map.text("bus")?.value,
        element: map.text("element")?.value,
        every: map.time("every")?,
    })
}

fn comtrade(map: &Mapping<'_>) -> Option<Playback> {
    let channels = map.parse_all("channels", |text| Ok(text.to_owned()));
    if !channels.is_empty() && channels.len() != 8 {
        let what = format!("{} channels", channels.len());
        let fix = "give those of Ia Ib Ic In Ua Ub Uc Un, with `none` for one that stays zero";
        map.wrong("channels", what, fix);
    }
    let configuration = map.text("configuration")?.value;
    let extension = Path::new(&configuration).extension();
    let data = if extension.is_some_and(|extension| extension.eq_ignore_ascii_case("cff")) {
        map.refuse(&["data"], "the combined file contains the data");
        None
    } else {
        map.require(&["data"]);
        Some(map.text("data")?.value)
    };
    let record = RecordFiles::Comtrade { configuration, data, channels };
    Some(Playback { record, inception: map.time("inception"), spot: map.place.spot() })
}

fn capture(map: &Mapping<'_>) -> Option<Playback> {
    let (file, sv_id) = (map.text("file")?.value, map.parse("sv_id", visible)?.value);
    let record = RecordFiles::Capture { file, sv_id, rate: map.parse("rate", rate)?.value };
    Some(Playback { record, inception: map.time("inception"), spot: map.place.spot() })
}
