//! Reads `sources`: waves that are computed, and records.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::cursor::Map;
use super::super::problems::quoted;
use super::super::units::Unit;
use super::{Plant, Playback, RecordFiles, Source, TIME_MAX, Transformer, Waveform, WaveformFault};
use crate::protection::Complex;

/// Currents and voltages that 32 bits of 1 mA and 10 mV hold with room for an offset.
const CURRENT_MAX_A: f64 = 500_000.0;
const VOLTAGE_MAX_V: f64 = 5_000_000.0;
/// How far from a whole number of periods `every` may be, in periods.
const PERIOD_TOLERANCE: f64 = 1e-6;

pub(super) fn read(top: &Map<'_>, frequency_hz: f64) -> BTreeMap<String, Source> {
    let mut sources = BTreeMap::new();
    let Some(all) = top.map("sources") else {
        top.wrong("sources", "`sources` is missing", "add at least one source of samples");
        return sources;
    };
    for name in all.names() {
        let Some(map) = all.map(&name) else { continue };
        let kind = map.choice("kind", &["waveform", "comtrade", "capture", "plant"]);
        let source = match kind {
            Some("waveform") => waveform(&map, frequency_hz).map(Source::Waveform),
            Some("comtrade") => comtrade(&map).map(Source::Playback),
            Some("capture") => capture(&map).map(Source::Playback),
            Some(_) => plant(&map).map(Source::Plant),
            None => continue,
        };
        map.finish();
        if let Some(source) = source {
            sources.insert(name, source);
        }
    }
    sources
}

fn waveform(map: &Map<'_>, nominal_hz: f64) -> Option<Waveform> {
    let own_hz = map.optional_quantity("frequency", Unit::Frequency, 40.0..=70.0);
    let frequency_hz = own_hz.unwrap_or(nominal_hz);
    let voltage_v = map.quantity("voltage", Unit::Voltage, 0.0..=VOLTAGE_MAX_V);
    let current_a = map.quantity("current", Unit::Current, 0.0..=CURRENT_MAX_A);
    let lag_deg = map.optional_quantity("lag", Unit::Angle, -180.0..=180.0).unwrap_or(0.0);
    let current_harmonics = harmonics(map, "current_harmonics");
    let voltage_harmonics = harmonics(map, "voltage_harmonics");
    let fault_map = map.map("fault");
    let fault = fault_map.as_ref().map(|map| fault(map, frequency_hz));
    let transformer = map.map("transformer").map(|map| transformer(&map));
    Some(Waveform {
        frequency_hz,
        voltage: Complex::polar_deg(voltage_v?, 0.0),
        current: Complex::polar_deg(current_a?, -lag_deg),
        current_harmonics,
        voltage_harmonics,
        fault: fault.flatten(),
        transformer: transformer.flatten(),
    })
}

/// `{5: 3 %, 7: 2 %}`: numbers with shares of the fundamental.
fn harmonics(map: &Map<'_>, key: &str) -> Vec<(u8, f64)> {
    let Some(all) = map.map(key) else { return Vec::new() };
    let mut harmonics = Vec::new();
    for name in all.names() {
        let share = all.quantity(&name, Unit::Share, 0.0..=1.0);
        match name.parse::<u8>() {
            Ok(order @ 2..=50) => harmonics.extend(share.map(|share| (order, share))),
            _ => {
                let what = format!("{} is not the number of a harmonic", quoted(&name));
                all.wrong(&name, what, "give 2 to 50");
            }
        }
    }
    harmonics
}

fn fault(map: &Map<'_>, frequency_hz: f64) -> Option<WaveformFault> {
    let at = map.time("at", Duration::ZERO, TIME_MAX);
    let every = map.optional_time("every", Duration::from_millis(100), TIME_MAX);
    let lasts = map.optional_time("lasts", Duration::from_millis(1), TIME_MAX);
    let words = ["a", "b", "c", "ab", "bc", "ca", "abc"];
    let word = map.choice("phases", &words);
    let current_a = map.quantity("current", Unit::Current, 0.0..=CURRENT_MAX_A);
    let lag_deg = map.optional_quantity("lag", Unit::Angle, -180.0..=180.0).unwrap_or(80.0);
    let voltage_left = map.optional_quantity("voltage_left", Unit::Share, 0.0..=2.0);
    let inception_deg = map.optional_quantity("inception", Unit::Angle, -360.0..=360.0);
    let tau = map.optional_time("tau", Duration::ZERO, Duration::from_secs(1));
    map.finish();
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
    let phases = word.map(|word| ["a", "b", "c"].map(|phase| word.contains(phase)));
    Some(WaveformFault {
        at: at?,
        every,
        lasts,
        phases: phases?,
        current_a: current_a?,
        lag_deg,
        voltage_left: voltage_left.unwrap_or(0.0),
        inception_deg: inception_deg.unwrap_or(0.0),
        tau: tau.unwrap_or_default(),
    })
}

fn transformer(map: &Map<'_>) -> Option<Transformer> {
    let ratio = map.quantity("ratio", Unit::Number, 1.0..=100_000.0);
    let burden_ohm = map.quantity("burden", Unit::Impedance, 0.001..=1000.0);
    let saturation_v = map.quantity("saturation", Unit::Voltage, 1.0..=100_000.0);
    let remanence = map.optional_quantity("remanence", Unit::Share, -0.9..=0.9).unwrap_or(0.0);
    map.finish();
    Some(Transformer {
        ratio: ratio?,
        burden_ohm: burden_ohm?,
        saturation_v: saturation_v?,
        remanence,
    })
}

fn plant(map: &Map<'_>) -> Option<Plant> {
    let folder = map.optional_text("folder").unwrap_or("/plant").to_owned();
    let (bus, element) = (map.text("bus"), map.text("element"));
    let every = map.optional_time("every", Duration::from_micros(100), Duration::from_secs(1));
    if let Some(element) = element.as_ref().filter(|element| !element.contains('.')) {
        let what = format!("{} has no class", quoted(element));
        map.wrong("element", what, "give class and name, such as `line.650632`");
    }
    let every = every.unwrap_or(Duration::from_millis(1));
    Some(Plant { folder, bus: bus?, element: element?, every })
}

fn comtrade(map: &Map<'_>) -> Option<Playback> {
    let configuration = map.text("configuration");
    let data = map.text("data");
    let channels = map.texts("channels");
    let inception = map.optional_time("inception", Duration::ZERO, TIME_MAX);
    if !channels.is_empty() && channels.len() != 8 {
        let what = format!("{} channels", channels.len());
        map.wrong(
            "channels",
            what,
            "give those of Ia Ib Ic In Ua Ub Uc Un, with `none` for one that stays zero",
        );
    }
    let record = RecordFiles::Comtrade { configuration: configuration?, data: data?, channels };
    Some(Playback { record, inception })
}

fn capture(map: &Map<'_>) -> Option<Playback> {
    let file = map.text("file");
    let sv_id = map.visible_text("sv_id");
    let rate = map.quantity("rate", Unit::Frequency, 1000.0..=15_360.0);
    let inception = map.optional_time("inception", Duration::ZERO, TIME_MAX);
    let record = RecordFiles::Capture { file: file?, sv_id: sv_id?, rate: rate? as u16 };
    Some(Playback { record, inception })
}
