//! The data file: one sample of all channels after the other (C37.111, clause 8).

use super::ComtradeError;
use super::combined::Combined;
use super::configuration::{Configuration, Encoding};

/// What stands for a value that is missing, in 16 bits.
const MISSING_16: i32 = -0x8000;
/// What stands for a value that is missing, in 32 bits.
const MISSING_32: i32 = i32::MIN;

/// A record: channels over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    pub configuration: Configuration,
    /// When each sample was taken, in seconds since the first.
    pub time_s: Vec<f64>,
    /// Values of each analog channel in its unit; not a number where one is missing.
    pub analog: Vec<Vec<f64>>,
    pub digital: Vec<Vec<bool>>,
}

/// One sample as it is written.
struct Sample {
    stamp: Option<f64>,
    analog: Vec<f64>,
    digital: Vec<bool>,
}

impl Record {
    /// Reads a record from the text of its configuration and the octets of its data.
    ///
    /// # Errors
    /// The first line or sample that is not as it must be.
    pub fn parse(configuration: &str, data: &[u8]) -> Result<Self, ComtradeError> {
        Self::read(Configuration::parse(configuration)?, data)
    }

    /// Reads a record from the octets of a combined file.
    ///
    /// # Errors
    /// The first line or sample that is not as it must be.
    pub fn parse_combined(file: &[u8]) -> Result<Self, ComtradeError> {
        let Combined { configuration, data, is_ascii } = Combined::parse(file)?;
        let text = String::from_utf8_lossy(configuration.octets);
        let read = Configuration::parse(&text).map_err(|error| configuration.place(error))?;
        if is_ascii != (read.encoding == Encoding::Ascii) {
            let [says, are] =
                [!is_ascii, is_ascii].map(|ascii| if ascii { "ASCII" } else { "binary" });
            let what = format!("the data are {are}, but the configuration says {says}");
            return Err(data.place(ComtradeError::new("data", 0, what)));
        }
        Self::read(read, data.octets)
            .map_err(|error| if is_ascii { data.place(error) } else { error })
    }

    fn read(configuration: Configuration, data: &[u8]) -> Result<Self, ComtradeError> {
        let samples = match configuration.encoding {
            Encoding::Ascii => ascii(&configuration, data)?,
            _ => binary(&configuration, data)?,
        };
        let (analog, digital) = (configuration.analog.len(), configuration.digital.len());
        let mut record = Self {
            time_s: Vec::with_capacity(samples.len()),
            analog: vec![Vec::with_capacity(samples.len()); analog],
            digital: vec![Vec::with_capacity(samples.len()); digital],
            configuration,
        };
        record.take(samples)?;
        Ok(record)
    }

    fn take(&mut self, samples: Vec<Sample>) -> Result<(), ComtradeError> {
        self.time_s = times_s(&self.configuration, &samples)?;
        for sample in samples {
            let channels = self.analog.iter_mut().zip(&self.configuration.analog);
            for ((values, channel), number) in channels.zip(sample.analog) {
                let value = number * channel.factor + channel.offset;
                values.push(if value.is_finite() { value } else { f64::NAN });
            }
            for (states, state) in self.digital.iter_mut().zip(sample.digital) {
                states.push(state);
            }
        }
        Ok(())
    }

    /// Values of the analog channel with this name, if there is one.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<&[f64]> {
        let index = self.configuration.analog.iter().position(|channel| channel.name == name)?;
        Some(&self.analog[index])
    }
}

/// When samples were taken: by the rates, which are exact, or else by the stamps, which are rounded.
/// Samples behind the last one of the last rate are taken to go on at that rate.
fn times_s(configuration: &Configuration, samples: &[Sample]) -> Result<Vec<f64>, ComtradeError> {
    if let Some(mut rate) = configuration.rates.first() {
        let mut following = configuration.rates[1..].iter();
        // The time before a sample is that of the rate which the sample belongs to.
        let (mut before_s, mut before) = (0.0, 0);
        let times_s = (0..samples.len()).map(|index| {
            while index >= rate.last {
                let Some(next) = following.next() else { break };
                let last = rate.last.saturating_sub(1);
                before_s += (last - before) as f64 / rate.hz;
                (before, rate) = (last, next);
            }
            before_s + (index - before) as f64 / rate.hz
        });
        return Ok(times_s.collect());
    }
    let first = samples.first().and_then(|sample| sample.stamp).unwrap_or_default();
    let time_s = |(index, sample): (usize, &Sample)| {
        let time_s = sample.stamp.map(|stamp| (stamp - first) * configuration.stamp_us * 1e-6);
        time_s.filter(|time_s| time_s.is_finite()).ok_or_else(|| {
            ComtradeError::new("data", index + 1, "there is neither a rate nor a stamp")
        })
    };
    samples.iter().enumerate().map(time_s).collect()
}

fn ascii(configuration: &Configuration, data: &[u8]) -> Result<Vec<Sample>, ComtradeError> {
    let wrong = |line: usize, what: String| ComtradeError::new("data", line, what);
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let text = std::str::from_utf8(data).map_err(|_| wrong(1, "the data are not text".into()))?;
    // Older recorders end the file with a control character of DOS.
    let lines = text.trim_end_matches(['\u{1a}', '\0', '\r', '\n', ' ']).lines().enumerate();
    let (analog, digital) = (configuration.analog.len(), configuration.digital.len());
    let mut samples = Vec::new();
    for (index, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() < 2 + analog + digital {
            let what = format!("{} fields, not {}", fields.len(), 2 + analog + digital);
            return Err(wrong(index + 1, what));
        }
        let number = |text: &str| match text {
            "" | "99999" => Ok(f64::NAN),
            _ => text.parse().map_err(|_| wrong(index + 1, format!("{text:?} is not a number"))),
        };
        let values = fields[2..2 + analog].iter().map(|text| number(text));
        let states = fields[2 + analog..2 + analog + digital].iter().map(|text| *text == "1");
        samples.push(Sample {
            stamp: number(fields[1]).ok().filter(|stamp| !stamp.is_nan()),
            analog: values.collect::<Result<_, _>>()?,
            digital: states.collect(),
        });
    }
    Ok(samples)
}

fn binary(configuration: &Configuration, data: &[u8]) -> Result<Vec<Sample>, ComtradeError> {
    let (analog, digital) = (configuration.analog.len(), configuration.digital.len());
    let analog_octets = if configuration.encoding == Encoding::Binary { 2 } else { 4 };
    let digital_octets = digital.div_ceil(16) * 2;
    let octets = 8 + analog * analog_octets + digital_octets;
    let rest = data.len() % octets;
    if rest != 0 {
        let what = format!("{rest} octets of the {octets} of a sample");
        return Err(ComtradeError::new("data", data.len() / octets + 1, what));
    }
    let sample = |octets: &[u8]| {
        let stamp = u32::from_le_bytes(octets[4..8].try_into().expect("four octets"));
        let (values, states) = octets[8..].split_at(analog * analog_octets);
        let state = |bit: usize| states[bit / 16 * 2 + bit % 16 / 8] & (1 << (bit % 8)) != 0;
        Sample {
            stamp: (stamp != u32::MAX).then_some(stamp.into()),
            analog: values
                .chunks_exact(analog_octets)
                .map(|octets| number(octets, configuration.encoding))
                .collect(),
            digital: (0..digital).map(state).collect(),
        }
    };
    Ok(data.chunks_exact(octets).map(sample).collect())
}

/// A number of an analog channel, little-endian.
fn number(octets: &[u8], encoding: Encoding) -> f64 {
    let (value, missing) = match (octets, encoding) {
        ([a, b], _) => (i16::from_le_bytes([*a, *b]).into(), MISSING_16),
        ([a, b, c, d], Encoding::Float32) => return f32::from_le_bytes([*a, *b, *c, *d]).into(),
        ([a, b, c, d], _) => (i32::from_le_bytes([*a, *b, *c, *d]), MISSING_32),
        _ => unreachable!("a number has two or four octets"),
    };
    if value == missing { f64::NAN } else { value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(revision: &str, encoding: &str) -> String {
        let ratio = if revision == "1991" { "" } else { ",100,5,S" };
        let year = if revision == "1991" { String::new() } else { format!(",{revision}") };
        let factor = if revision == "1991" { "" } else { "2\n" };
        format!(
            "station,7{year}\n3,2A,1D\n1,IA,A,,A,0.5,1,0,-9,9{ratio}\n2,UA,A,,kV,2,0,0,-9,9{ratio}\n\
             1,trip,,,0\n50\n1\n4000,3\n01/01/2020,00:00:00.0\n01/01/2020,00:00:00.1\n{encoding}\n{factor}"
        )
    }

    #[test]
    fn ascii_of_1991_and_1999() {
        for revision in ["1991", "1999"] {
            let data = b"1,0,10,-3,0\r\n2,250,,4,1\r\n3,500,99999,5,0\r\n\x1a";
            let record = Record::parse(&configuration(revision, "ASCII"), data).unwrap();
            assert_eq!(record.analog[0][0], 6.0);
            assert!(record.analog[0][1].is_nan() && record.analog[0][2].is_nan());
            assert_eq!(record.channel("UA").unwrap(), [-6.0, 8.0, 10.0]);
            assert_eq!(record.digital, [[false, true, false]]);
            assert_eq!(record.time_s, [0.0, 0.00025, 0.0005]);
            let ratio = if revision == "1991" { 1.0 } else { 20.0 };
            assert_eq!(record.configuration.analog[0].ratio, ratio);
        }
    }

    #[test]
    fn binary_of_2013() {
        let head = [1, 0, 0, 0, 0, 0, 0, 0];
        let cases = [
            ("BINARY", [10i16.to_le_bytes(), (-0x8000i16).to_le_bytes()].concat()),
            ("BINARY32", [10i32.to_le_bytes(), i32::MIN.to_le_bytes()].concat()),
            ("FLOAT32", [10f32.to_le_bytes(), f32::NAN.to_le_bytes()].concat()),
        ];
        for (encoding, values) in cases {
            let data = [&head[..], &values, &[1, 0]].concat();
            let record = Record::parse(&configuration("2013", encoding), &data).unwrap();
            assert_eq!(record.analog[0], [6.0], "{encoding}");
            assert!(record.analog[1][0].is_nan(), "{encoding}");
            assert_eq!(record.digital, [[true]]);
            let error = Record::parse(&configuration("2013", encoding), &data[1..]).unwrap_err();
            assert!(error.to_string().starts_with("data, line 1: "), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |from: &str, to: &str| {
            let text = configuration("1999", "ASCII").replacen(from, to, 1);
            Record::parse(&text, b"").unwrap_err().to_string()
        };
        assert_eq!(
            wrong("1999", "1984"),
            "configuration, line 1: revision \"1984\" is not known; known are 1991 (or none), 1997, 1999, \
             2000, 2001, 2008 (all read as 1999), 2013 and 2017 (read as 2013)"
        );
        assert!(wrong("3,2A", "4,2A").starts_with("configuration, line 2: 2 analog and 1 digital"));
        assert!(wrong("0.5", "x").starts_with("configuration, line 3: the factor"));
        assert!(wrong("0.5", "nan").contains("not finite"));
        assert!(wrong("ASCII", "EBCDIC").starts_with("configuration, line 11: data type"));
        assert!(wrong("3,2A,1D", "18446744073709551615,2A,1D").contains("are not"));
    }
}
