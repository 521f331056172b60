//! The configuration file: channels, rates, and how the data are written (C37.111, clause 7).

use super::ComtradeError;

/// Most channels that are read; the standard allows 999,999, memory does not.
const CHANNELS_MAX: usize = 10_000;

/// Rates that can be: of samples in thirty years, and of light over a millimetre.
const RATES_HZ: std::ops::RangeInclusive<f64> = 1e-9..=1e12;

/// Years that records state: of C37.111, of its drafts, and of standards with the same text (IEC
/// 60255-24:2001, GB/T 22386-2008, GB/T 14598.24-2017).
const REVISIONS: &str =
    "1991 (or none), 1997, 1999, 2000, 2001, 2008 (all read as 1999), 2013 and 2017 (read as 2013)";

/// Year of the standard that a record follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Revision {
    Of1991,
    Of1999,
    Of2013,
}

/// How the data file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Ascii,
    Binary,
    Binary32,
    Float32,
}

/// An analog channel, and how its numbers become values.
#[derive(Clone, PartialEq, Debug)]
pub struct Analog {
    pub name: String,
    /// Phase, if it is of one.
    pub phase: String,
    /// What of the circuit it is measured on (`ccbm`).
    pub component: String,
    pub unit: String,
    /// What a number in the data is multiplied by.
    pub factor: f64,
    /// What is then added.
    pub offset: f64,
    /// Time by which the samples of this channel are late, in microseconds.
    pub skew_us: f64,
    /// Ratio of the instrument transformer; 1 when the record does not say.
    pub ratio: f64,
    /// Whether values are primary; records of 1991 do not say, and are taken for secondary.
    pub is_primary: bool,
}

/// A digital channel: a state per sample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digital {
    pub name: String,
    /// What of the circuit it is about (`ccbm`).
    pub component: String,
    /// Its state when all is well.
    pub normal: bool,
}

/// Samples at one rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    /// Samples per second, in Hz.
    pub hz: f64,
    /// Number of the last sample at this rate, from 1.
    pub last: usize,
}

/// All that the configuration says.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    pub station: String,
    pub recorder: String,
    pub revision: Revision,
    pub analog: Vec<Analog>,
    pub digital: Vec<Digital>,
    /// Nominal frequency, in Hz.
    pub frequency_hz: f64,
    /// Rates in order; empty when only the stamps of the samples tell.
    pub rates: Vec<Rate>,
    /// Samples, as far as the configuration says.
    pub samples: usize,
    /// When the first sample was taken, as it is written.
    pub begin: String,
    /// When the trigger was, as it is written.
    pub trigger: String,
    pub encoding: Encoding,
    /// Microseconds of one count of the stamps of samples.
    pub stamp_us: f64,
}

/// Lines of the file, with their numbers.
struct Lines<'t> {
    lines: std::str::Lines<'t>,
    number: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self, what: &str) -> Result<Vec<&'t str>, ComtradeError> {
        self.number += 1;
        match self.lines.next() {
            Some(line) => Ok(line.split(',').map(str::trim).collect()),
            None => Err(self.wrong(format!("the file ends before {what}"))),
        }
    }

    fn wrong(&self, what: impl Into<String>) -> ComtradeError {
        ComtradeError::new("configuration", self.number, what)
    }

    fn number<T: std::str::FromStr>(&self, text: &str, what: &str) -> Result<T, ComtradeError> {
        text.parse().map_err(|_| self.wrong(format!("{what} is not such a number: {text:?}")))
    }

    /// A number that is neither infinite nor none at all.
    fn real(&self, text: &str, what: &str) -> Result<f64, ComtradeError> {
        match self.number::<f64>(text, what)? {
            value if value.is_finite() => Ok(value),
            _ => Err(self.wrong(format!("{what} is not finite: {text:?}"))),
        }
    }
}

impl Configuration {
    /// Reads the text of a `.cfg` file.
    ///
    /// # Errors
    /// The first line that is not as it must be.
    pub fn parse(text: &str) -> Result<Self, ComtradeError> {
        // Older recorders end the file with a control character of DOS.
        let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\u{1a}', '\0']);
        let mut lines = Lines { lines: text.lines(), number: 0 };
        let head = lines.next("the station")?;
        let field = |index: usize| head.get(index).copied().unwrap_or_default();
        let revision = match field(2) {
            "" | "1991" => Revision::Of1991,
            "1997" | "1999" | "2000" | "2001" | "2008" => Revision::Of1999,
            "2013" | "2017" => Revision::Of2013,
            other => {
                let what = format!("revision {other:?} is not known; known are {REVISIONS}");
                return Err(lines.wrong(what));
            }
        };
        let (analog_count, digital_count) = counts(&mut lines)?;
        let analog = (0..analog_count)
            .map(|_| analog(&mut lines, revision))
            .collect::<Result<Vec<_>, _>>()?;
        let digital =
            (0..digital_count).map(|_| digital(&mut lines)).collect::<Result<Vec<_>, _>>()?;
        let line = lines.next("the nominal frequency")?;
        let frequency_hz = lines.real(line[0], "the nominal frequency")?;
        let (rates, samples) = rates(&mut lines)?;
        let begin = lines.next("the time of the first sample")?.join(",");
        let trigger = lines.next("the time of the trigger")?.join(",");
        let line = lines.next("the type of the data")?;
        let encoding = match line[0].to_ascii_uppercase().as_str() {
            "ASCII" => Encoding::Ascii,
            "BINARY" => Encoding::Binary,
            "BINARY32" => Encoding::Binary32,
            "FLOAT32" => Encoding::Float32,
            other => return Err(lines.wrong(format!("data type {other:?} is not known"))),
        };
        let stamp_us = if revision == Revision::Of1991 {
            1.0
        } else {
            // Some recorders leave it out.
            let line = lines.next("the factor of the stamps").unwrap_or_default();
            match line.first() {
                None | Some(&"") => 1.0,
                Some(text) => lines.real(text, "the factor")?,
            }
        };
        Ok(Self {
            station: field(0).into(),
            recorder: field(1).into(),
            revision,
            analog,
            digital,
            frequency_hz,
            rates,
            samples,
            begin,
            trigger,
            encoding,
            stamp_us,
        })
    }
}

/// Numbers of analog and digital channels, from `88, 24A, 64D`.
fn counts(lines: &mut Lines<'_>) -> Result<(usize, usize), ComtradeError> {
    let line = lines.next("the numbers of channels")?;
    let [total, analog, digital, ..] = line[..] else {
        return Err(lines.wrong("three channel counts are expected here"));
    };
    let count = |text: &str, letter: char| {
        let digits = text.trim_end_matches([letter, letter.to_ascii_lowercase()]);
        lines.number::<usize>(digits.trim(), "a number of channels")
    };
    let (total, analog, digital) = (count(total, ' ')?, count(analog, 'A')?, count(digital, 'D')?);
    if analog.checked_add(digital) != Some(total) || total > CHANNELS_MAX {
        return Err(lines.wrong(format!(
            "{analog} analog and {digital} digital channels are not {total}, or over {CHANNELS_MAX}"
        )));
    }
    Ok((analog, digital))
}

fn analog(lines: &mut Lines<'_>, revision: Revision) -> Result<Analog, ComtradeError> {
    let line = lines.next("an analog channel")?;
    let needed = if revision == Revision::Of1991 { 10 } else { 13 };
    if line.len() < needed {
        return Err(lines.wrong(format!("an analog channel has {needed} fields")));
    }
    let factor = lines.real(line[5], "the factor of a channel")?;
    let offset = lines.real(line[6], "the offset of a channel")?;
    let skew_us = if line[7].is_empty() { 0.0 } else { lines.real(line[7], "the skew")? };
    let (mut ratio, mut is_primary) = (1.0, false);
    if revision != Revision::Of1991 {
        let primary = lines.real(line[10], "the primary side of a ratio")?;
        let secondary = lines.real(line[11], "the secondary side of a ratio")?;
        if primary > 0.0 && secondary > 0.0 {
            ratio = primary / secondary;
        }
        is_primary = line[12].eq_ignore_ascii_case("p");
    }
    let [name, phase, component, unit] = [1, 2, 3, 4].map(|field| line[field].to_owned());
    Ok(Analog { name, phase, component, unit, factor, offset, skew_us, ratio, is_primary })
}

fn digital(lines: &mut Lines<'_>) -> Result<Digital, ComtradeError> {
    let line = lines.next("a digital channel")?;
    let (Some(name), Some(state)) = (line.get(1), line.last()) else {
        return Err(lines.wrong("a digital channel has at least a number, a name and a state"));
    };
    // Records of 1991 have no such field.
    let component = if line.len() > 4 { line[3] } else { "" };
    Ok(Digital { name: (*name).into(), component: component.into(), normal: *state == "1" })
}

/// The rates, and the number of all samples.
fn rates(lines: &mut Lines<'_>) -> Result<(Vec<Rate>, usize), ComtradeError> {
    let line = lines.next("the number of rates")?;
    let count = lines.number::<usize>(line[0], "the number of rates")?;
    let mut rates = Vec::new();
    let mut samples = 0;
    // With no rate there is one line still, which says how many samples there are.
    for _ in 0..count.max(1) {
        let line = lines.next("a rate")?;
        let [hz, last, ..] = line[..] else {
            return Err(lines.wrong("a rate and the number of its last sample are expected here"));
        };
        let (hz, last) = (lines.real(hz, "a rate")?, lines.number::<usize>(last, "a sample")?);
        if last < samples || (hz != 0.0 && !RATES_HZ.contains(&hz)) {
            return Err(lines.wrong("rates are positive, and samples count up"));
        }
        samples = last;
        if count > 0 && hz > 0.0 {
            rates.push(Rate { hz, last });
        }
    }
    Ok((rates, samples))
}
