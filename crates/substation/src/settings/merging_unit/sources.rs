//! Reads `sources`: waves that are computed, records, and simulated grids.

use std::collections::BTreeMap;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;

use super::super::texts::{rate, visible};
use super::{Plant, Playback, RecordFiles, Source, Transformer, Waveform, WaveformFault};
use crate::protection::{Complex, Degrees};

/// How far from a whole number of periods `every` may be, in periods.
const PERIOD_TOLERANCE: f64 = 1e-6;

pub(super) fn read(top: &Mapping<'_>, frequency_hz: f64) -> BTreeMap<String, Source> {
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

pub(super) fn element_of_plant(text: &str) -> Result<(), Fault> {
    if text.contains('.') {
        return Ok(());
    }
    let what = format!("{} has no class", quoted(text));
    Err(Fault::new(what, "give class and name, such as `line.650632`"))
}

fn comtrade(map: &Mapping<'_>) -> Option<Playback> {
    let channels = map.parse_all("channels", |text| Ok(text.to_owned()));
    if !channels.is_empty() && channels.len() != 8 {
        let what = format!("{} channels", channels.len());
        let fix = "give those of Ia Ib Ic In Ua Ub Uc Un, with `none` for one that stays zero";
        map.wrong("channels", what, fix);
    }
    let (configuration, data) = (map.text("configuration")?.value, map.text("data")?.value);
    let record = RecordFiles::Comtrade { configuration, data, channels };
    Some(Playback { record, inception: map.time("inception"), spot: map.place.spot() })
}

fn capture(map: &Mapping<'_>) -> Option<Playback> {
    let (file, sv_id) = (map.text("file")?.value, map.parse("sv_id", visible)?.value);
    let record = RecordFiles::Capture { file, sv_id, rate: map.parse("rate", rate)?.value };
    Some(Playback { record, inception: map.time("inception"), spot: map.place.spot() })
}
