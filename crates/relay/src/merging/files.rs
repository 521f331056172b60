//! Reads the records that settings name, and makes generators of sources.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use anyhow::{Context, bail};
use iec61850::comtrade::{Record, evenly, resample};
use settings::Spot;
use substation::settings::merging_unit::{MergingUnit, Playback, RecordFiles, Source};

use super::capture;
use super::generator::{Generator, Values};
use super::plant::PhasorWaves;
use super::playback::{self, Channels};
use super::waves::Waves;
use crate::program::{self, bad_input, folder_of};

const RECORD_OCTETS_MAX: u64 = 1 << 32;
/// Rates of records that can be waves: recorders of travelling waves take a million samples a second.
const RECORD_HZ: std::ops::RangeInclusive<f64> = 100.0..=10e6;
/// Most time that a channel may be late; recorders scan their channels within a period of sampling.
const SKEW_S_MAX: f64 = 0.1;
/// Samples of a record at the rate of a stream: an hour and more.
const PLAYED_SAMPLES_MAX: f64 = 50e6;

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
            let data = data.as_ref().map(|data| folder.join(data));
            comtrade(&folder.join(configuration), data.as_deref(), channels, rate)?
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

/// Channels of a fault record in primary A and V, and their rate. Without `data`, `configuration` is a
/// combined file.
fn comtrade(
    configuration: &Path,
    data: Option<&Path>,
    names: &[String],
    to_hz: u16,
) -> anyhow::Result<(Channels, f64)> {
    let octets = program::octets(configuration, RECORD_OCTETS_MAX)?;
    let record = match data {
        Some(data) => {
            let text = String::from_utf8_lossy(&octets);
            Record::parse(&text, &program::octets(data, RECORD_OCTETS_MAX)?)
        }
        None => Record::parse_combined(&octets),
    };
    let record = record.with_context(|| configuration.display().to_string())?;
    if record.time_s.is_empty() {
        bail!("{}: it contains no samples", data.unwrap_or(configuration).display());
    }
    channels(&record, names, to_hz).with_context(|| configuration.display().to_string())
}

fn channels(record: &Record, names: &[String], to_hz: u16) -> anyhow::Result<(Channels, f64)> {
    let all_zero = vec![0.0; record.time_s.len()];
    let hz = match record.configuration.rates[..] {
        [rate] => rate.hz,
        [] => evenly(&all_zero, &record.time_s).map(|(_, hz)| hz).context(
            "no rate, and stamps that do not increase; only records with one rate, or a stamp for each \
             sample, can be played",
        )?,
        _ => bail!(
            "{} rates; only records with one rate can be played",
            record.configuration.rates.len()
        ),
    };
    let (least, most) = (RECORD_HZ.start(), RECORD_HZ.end());
    if !RECORD_HZ.contains(&hz) {
        bail!("{hz} samples per second; only records with {least} to {most} can be played");
    }
    if all_zero.len() as f64 * f64::from(to_hz) / hz > PLAYED_SAMPLES_MAX {
        bail!("it is longer than {PLAYED_SAMPLES_MAX} samples of the stream; cut it");
    }
    let mut channels = Channels::default();
    for (channel, name) in channels.iter_mut().zip(names) {
        *channel = if name == "none" { all_zero.clone() } else { primary(record, name, hz)? };
    }
    Ok((channels, hz))
}

/// A channel in primary A or V, at even times and without its skew.
fn primary(record: &Record, name: &str, hz: f64) -> anyhow::Result<Vec<f64>> {
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
    let values: Vec<f64> = record.analog[index].iter().map(|value| value * factor).collect();
    let even = if record.configuration.rates.is_empty() {
        evenly(&values, &record.time_s).map(|(even, _)| even)
    } else {
        None
    };
    let values = even.unwrap_or(values);
    let late_s = channel.skew_us * 1e-6;
    if late_s == 0.0 {
        return Ok(values);
    }
    if late_s.abs() > SKEW_S_MAX {
        bail!(
            "channel `{name}` is skewed by {} us; at most {SKEW_S_MAX} s can be taken out",
            channel.skew_us
        );
    }
    Ok(resample(&values, hz, hz, late_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of one channel whose samples are late, and, without a rate, unevenly stamped.
    fn record(rate: &str, skew_us: f64, unit: &str) -> Record {
        let wave = |time_s: f64| (2.0 * std::f64::consts::PI * 50.0 * time_s).sin();
        let configuration = format!(
            "station,7,1999\n1,1A,0D\n1,IA,A,,{unit},0.001,0,{skew_us},-9,9,100,5,S\n50\n{rate}\n\
             01/01/2020,00:00:00.0\n01/01/2020,00:00:00.1\nASCII\n10\n"
        );
        let line = |n: u32| {
            let stamp = if rate.starts_with('1') { n * 25 } else { n * 25 + n % 3 };
            let time_s = f64::from(stamp) * 1e-5 + skew_us * 1e-6;
            format!("{},{stamp},{:.0}\n", n + 1, 1e6 * wave(time_s))
        };
        let data: String = (0..2000).map(line).collect();
        Record::parse(&configuration, data.as_bytes()).expect("it is a record")
    }

    fn names() -> Vec<String> {
        ["IA", "none", "none", "none", "none", "none", "none", "none"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_record_is_played_without_its_skew_and_at_even_times() {
        for (rate, skew_us) in [("1\n4000,2000", 0.0), ("1\n4000,2000", 120.0), ("0\n0,2000", 0.0)]
        {
            let (channels, hz) = channels(&record(rate, skew_us, "A"), &names(), 4000).expect(rate);
            assert!((hz - 4000.0).abs() < 1.0, "{hz}");
            let wave = |n: usize| 20e3 * (2.0 * std::f64::consts::PI * 50.0 * n as f64 / hz).sin();
            for (n, value) in channels[0].iter().enumerate().take(1900).skip(100) {
                assert!((value - wave(n)).abs() < 60.0, "{rate} {skew_us} {n}");
            }
        }
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        let said = |rate: &str, skew_us: f64, unit: &str| {
            channels(&record(rate, skew_us, unit), &names(), 4000).unwrap_err().to_string()
        };
        assert!(said("2\n4000,1000\n1000,2000", 0.0, "A").starts_with("2 rates; only"));
        assert!(
            said("1\n1e-9,2000", 0.0, "A").contains("samples per second; only records with 100")
        );
        assert!(
            said("1\n1e11,2000", 0.0, "A").contains("samples per second; only records with 100")
        );
        assert!(said("1\n4000,2000", 1e12, "A").contains("is skewed by"));
        assert!(said("1\n4000,2000", 0.0, "Ohm").contains("only A and V"));
    }
}
