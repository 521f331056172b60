//! Reads the records that settings name, and makes generators of sources.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use anyhow::{Context, bail};
use iec61850::comtrade::{Rate, Record, evenly, resample, resample_sections};
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

/// When the samples of a record are taken.
enum Pace<'r> {
    /// At one rate, in Hz.
    Even(f64),
    /// When their stamps say so, at this mean rate in Hz.
    Stamped(f64),
    /// At several rates, one after the other.
    Sections(&'r [Rate]),
}

fn pace(record: &Record) -> anyhow::Result<Pace<'_>> {
    Ok(match &record.configuration.rates[..] {
        [rate] => Pace::Even(rate.hz),
        [] => Pace::Stamped(evenly(&record.time_s, &record.time_s).map(|(_, hz)| hz).context(
            "no rate, and stamps that do not increase; only records with rates, or a stamp for each \
             sample, can be played",
        )?),
        rates => Pace::Sections(rates),
    })
}

fn channels(record: &Record, names: &[String], to_hz: u16) -> anyhow::Result<(Channels, f64)> {
    let to_hz = f64::from(to_hz);
    let pace = pace(record)?;
    let rates_hz = match &pace {
        Pace::Even(hz) | Pace::Stamped(hz) => vec![*hz],
        Pace::Sections(rates) => rates.iter().map(|rate| rate.hz).collect(),
    };
    let (least, most) = (RECORD_HZ.start(), RECORD_HZ.end());
    if let Some(hz) = rates_hz.iter().find(|hz| !RECORD_HZ.contains(hz)) {
        bail!("{hz} samples per second; only records with {least} to {most} can be played");
    }
    if record.time_s.last().is_some_and(|end_s| end_s * to_hz > PLAYED_SAMPLES_MAX) {
        bail!("it is longer than {PLAYED_SAMPLES_MAX} samples of the stream; cut it");
    }
    // Sections end at the rate of the stream, others stay at their own.
    let hz = if let Pace::Sections(_) = pace { to_hz } else { rates_hz[0] };
    let mut channels = Channels::default();
    for (channel, name) in channels.iter_mut().zip(names).filter(|(_, name)| *name != "none") {
        *channel = primary(record, name, &pace, to_hz)?;
    }
    let length = channels.iter().map(Vec::len).max().unwrap_or(0);
    let length = if length == 0 { record.time_s.len() } else { length };
    for channel in channels.iter_mut().filter(|channel| channel.is_empty()) {
        *channel = vec![0.0; length];
    }
    Ok((channels, hz))
}

/// A channel in primary A or V, at even times and without its skew.
fn primary(record: &Record, name: &str, pace: &Pace<'_>, to_hz: f64) -> anyhow::Result<Vec<f64>> {
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
    let late_s = channel.skew_us * 1e-6;
    if late_s.abs() > SKEW_S_MAX {
        bail!(
            "channel `{name}` is skewed by {} us; at most {SKEW_S_MAX} s can be taken out",
            channel.skew_us
        );
    }
    let factor = if channel.is_primary { prefix } else { prefix * channel.ratio };
    let values: Vec<f64> = record.analog[index].iter().map(|value| value * factor).collect();
    let (even, hz) = match pace {
        Pace::Sections(rates) => {
            return Ok(resample_sections(&values, &record.time_s, rates, to_hz, late_s));
        }
        Pace::Even(hz) => (values, *hz),
        Pace::Stamped(hz) => {
            (evenly(&values, &record.time_s).map_or(values, |(even, _)| even), *hz)
        }
    };
    Ok(if late_s == 0.0 { even } else { resample(&even, hz, hz, late_s) })
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
    fn a_record_with_two_rates_is_played_at_that_of_the_stream() {
        // The samples are those of 4000 Hz; said to be of 2000 Hz, the wave has half the frequency.
        let record = record("2\n4000,1000\n2000,2000", 0.0, "A");
        let (channels, hz) = channels(&record, &names(), 4000).expect("it can be played");
        assert_eq!((hz, channels[0].len()), (4000.0, channels[1].len()));
        assert!((2997..=3000).contains(&channels[0].len()), "{}", channels[0].len());
        let wave = |turns: f64| 20e3 * (2.0 * std::f64::consts::PI * turns).sin();
        for (n, value) in channels[0].iter().enumerate().take(2900).skip(100) {
            let sample = if n < 1000 { n as f64 } else { 999.0 + (n as f64 - 999.0) / 2.0 };
            assert!((value - wave(50.0 * sample / 4000.0)).abs() < 200.0, "{n}: {value}");
        }
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        let said = |rate: &str, skew_us: f64, unit: &str| {
            channels(&record(rate, skew_us, unit), &names(), 4000).unwrap_err().to_string()
        };
        assert!(said("2\n4000,1000\n50,2000", 0.0, "A").starts_with("50 samples per second; only"));
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
