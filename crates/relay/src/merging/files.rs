//! Reads the records that settings name, and makes generators of sources.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use anyhow::{Context, bail};
use iec61850::comtrade::Record;
use settings::Spot;
use substation::settings::merging_unit::{MergingUnit, Playback, RecordFiles, Source};

use super::capture;
use super::generator::{Generator, Values};
use super::plant::PhasorWaves;
use super::playback::{self, Channels};
use super::waves::Waves;
use crate::program::{self, bad_input, folder_of};

const RECORD_OCTETS_MAX: u64 = 1 << 32;

/// A generator for each source and rate that a stream uses; files are found from the folder of
/// `settings`.
pub(crate) fn generators(
    unit: &MergingUnit,
    settings: &Path,
) -> anyhow::Result<BTreeMap<(String, u16), Generator>> {
    let mut generators = BTreeMap::new();
    for stream in unit.streams.values() {
        let Entry::Vacant(place) = generators.entry((stream.source.clone(), stream.rate)) else {
            continue;
        };
        let values = match &unit.sources[&stream.source] {
            Source::Waveform(waveform) => Values::Waves(Waves::new(waveform, stream.rate)),
            Source::Plant(_) => Values::Plant(PhasorWaves::new(unit.frequency_hz, stream.rate)),
            Source::Playback(source) => {
                let played = playback(source, folder_of(settings), stream.rate);
                Values::Playback(played.map_err(|error| {
                    let (file, Spot { line, column, key }) = (settings.display(), &source.spot);
                    bad_input(format!("{file}:{line}:{column}: {key}: {error:#}"))
                })?)
            }
        };
        place.insert(Generator::new(values));
    }
    Ok(generators)
}

fn playback(settings: &Playback, folder: &Path, rate: u16) -> anyhow::Result<playback::Playback> {
    let (channels, from_hz) = match &settings.record {
        RecordFiles::Comtrade { configuration, data, channels } => {
            comtrade(&folder.join(configuration), &folder.join(data), channels)?
        }
        RecordFiles::Capture { file, sv_id, rate } => {
            let path = folder.join(file);
            let octets = program::octets(&path, RECORD_OCTETS_MAX)?;
            let captured =
                capture::read(&octets, sv_id, *rate).with_context(|| path.display().to_string())?;
            (captured.channels, f64::from(*rate))
        }
    };
    let inception_s = settings.inception.map(|inception| inception.as_secs_f64());
    Ok(playback::Playback::new(&channels, from_hz, rate, inception_s))
}

/// Channels of a fault record in primary A and V, and their rate.
fn comtrade(
    configuration: &Path,
    data: &Path,
    names: &[String],
) -> anyhow::Result<(Channels, f64)> {
    let text = program::octets(configuration, RECORD_OCTETS_MAX)?;
    let octets = program::octets(data, RECORD_OCTETS_MAX)?;
    let record = Record::parse(&String::from_utf8_lossy(&text), &octets)
        .with_context(|| configuration.display().to_string())?;
    let [rate] = record.configuration.rates[..] else {
        let count = record.configuration.rates.len();
        bail!(
            "{}: {count} rates; only records with one rate can be played",
            configuration.display()
        );
    };
    if record.time_s.is_empty() {
        bail!("{}: it contains no samples", data.display());
    }
    let mut channels = Channels::default();
    for (channel, name) in channels.iter_mut().zip(names) {
        *channel = if name == "none" {
            vec![0.0; record.time_s.len()]
        } else {
            primary(&record, name).with_context(|| configuration.display().to_string())?
        };
    }
    Ok((channels, rate.hz))
}

/// A channel in primary A or V.
fn primary(record: &Record, name: &str) -> anyhow::Result<Vec<f64>> {
    let all = &record.configuration.analog;
    let Some(index) = all.iter().position(|channel| channel.name == name) else {
        let there: Vec<&str> = all.iter().map(|channel| channel.name.as_str()).collect();
        bail!("there is no channel `{name}`; the channels are: {}", there.join(", "));
    };
    let channel = &all[index];
    let prefix = match channel.unit.trim() {
        "A" | "V" => 1.0,
        "kA" | "kV" => 1e3,
        "mA" | "mV" => 1e-3,
        other => bail!("channel `{name}` is in `{other}`; only A and V with k or m are supported"),
    };
    let factor = if channel.is_primary { prefix } else { prefix * channel.ratio };
    Ok(record.analog[index].iter().map(|value| value * factor).collect())
}
