//! Writes a record as revision 2013 has it (IEEE C37.111-2013, IEC 60255-24:2013): the text of the
//! configuration, and the octets of the data.
//!
//! The numbers of a channel are its values by `factor` and `offset`, rounded; values beyond what the
//! encoding holds become its limit, and those that are no numbers are missing. Names lose the commas
//! and line ends that the format cannot hold, and their middle where they are longer than it allows.

use std::fmt::Write as _;

use super::configuration::{Analog, Configuration, Encoding};
use super::data::Record;

/// Letters that the fields of texts may have (IEEE C37.111-2013, clause 7.4): of station, recorder and
/// circuit component, of channels, phases and units.
const TEXT_MAX: usize = 64;
const CHANNEL_MAX: usize = 128;
const PHASE_MAX: usize = 2;
const UNIT_MAX: usize = 32;

/// What the time of a record is worth: `tmq_code`, as IEEE C37.118 has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeQuality(u8);

impl TimeQuality {
    /// The clock follows a source that can be traced to universal time.
    pub const LOCKED: Self = Self(0);
    /// Nothing is known of the clock.
    pub const UNRELIABLE: Self = Self(0xf);

    /// A clock whose error is at most so many microseconds.
    #[must_use]
    pub fn within_us(error_us: u64) -> Self {
        // 4 is a microsecond, and each more ten times as much, to 10 s.
        let code = (4..=0xb).find(|code| error_us <= 10u64.pow(u32::from(code - 4)));
        code.map_or(Self::UNRELIABLE, Self)
    }

    /// The worse of two.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// A date and time as a configuration has them, in universal time, to the microsecond.
#[must_use]
pub fn date_and_time(realtime_ns: u64) -> String {
    let us = realtime_ns % 1_000_000_000 / 1000;
    let (year, month, day) = date(realtime_ns / 1_000_000_000 / 86_400);
    let (hour, minute, second) = time_of_day(realtime_ns / 1_000_000_000);
    format!("{day:02}/{month:02}/{year:04},{hour:02}:{minute:02}:{second:02}.{us:06}")
}

/// Year, month and day of a day since 1970 in the Gregorian calendar, counted in years that begin in
/// March, so that the day of a leap year is the last.
#[must_use]
pub const fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let is_next_year = month >= 10;
    let calendar_month = if is_next_year { month - 9 } else { month + 3 };
    let year = era * 400 + year + if is_next_year { 1 } else { 0 };
    (year, calendar_month, day - (153 * month + 2) / 5 + 1)
}

/// Hour, minute and second of the day at a second since 1970.
#[must_use]
pub const fn time_of_day(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

impl Record {
    /// The text of its configuration, and the octets of its data.
    #[must_use]
    pub fn write(&self, quality: TimeQuality) -> (String, Vec<u8>) {
        let data = match self.configuration.encoding {
            Encoding::Ascii => self.ascii(),
            encoding => self.binary(encoding),
        };
        (self.configuration.write(quality), data)
    }

    fn stamp(&self, sample: usize) -> u32 {
        let stamp = self.time_s[sample] * 1e6 / self.configuration.stamp_us;
        // All ones are no stamp.
        stamp.round().clamp(0.0, f64::from(u32::MAX - 1)) as u32
    }

    /// Numbers of a sample; `None` where one is missing.
    fn numbers(&self, sample: usize) -> impl Iterator<Item = Option<f64>> {
        let (min, max) = limits(self.configuration.encoding);
        let channels = self.analog.iter().zip(&self.configuration.analog);
        channels.map(move |(values, channel)| {
            let number = (values[sample] - channel.offset) / channel.factor;
            number.is_finite().then(|| number.clamp(min, max))
        })
    }

    fn ascii(&self) -> Vec<u8> {
        let mut text = String::new();
        for sample in 0..self.time_s.len() {
            let _infallible = write!(text, "{},{}", sample + 1, self.stamp(sample));
            for number in self.numbers(sample) {
                let shown = number.map_or(String::new(), |number| number.round().to_string());
                let _infallible = write!(text, ",{shown}");
            }
            for states in &self.digital {
                text.push_str(if states[sample] { ",1" } else { ",0" });
            }
            text.push_str("\r\n");
        }
        text.into_bytes()
    }

    fn binary(&self, encoding: Encoding) -> Vec<u8> {
        let mut data = Vec::new();
        for sample in 0..self.time_s.len() {
            data.extend((sample as u32 + 1).to_le_bytes());
            data.extend(self.stamp(sample).to_le_bytes());
            for number in self.numbers(sample) {
                match encoding {
                    Encoding::Binary => {
                        let number = number.map_or(i16::MIN, |number| number.round() as i16);
                        data.extend(number.to_le_bytes());
                    }
                    Encoding::Float32 => {
                        let number = number.map_or(f32::NEG_INFINITY, |number| number as f32);
                        data.extend(number.to_le_bytes());
                    }
                    _ => {
                        let number = number.map_or(i32::MIN, |number| number.round() as i32);
                        data.extend(number.to_le_bytes());
                    }
                }
            }
            for word in self.digital.chunks(16) {
                let bits = word.iter().enumerate();
                let set = bits.map(|(bit, states)| u16::from(states[sample]) << bit);
                data.extend(set.sum::<u16>().to_le_bytes());
            }
        }
        data
    }
}

impl Configuration {
    fn write(&self, quality: TimeQuality) -> String {
        let (analog, digital) = (self.analog.len(), self.digital.len());
        let mut lines = vec![
            format!("{},{},2013", clean(&self.station, TEXT_MAX), clean(&self.recorder, TEXT_MAX)),
            format!("{},{analog}A,{digital}D", analog + digital),
        ];
        let channels = self.analog.iter().zip(1..);
        lines.extend(channels.map(|(channel, number)| line(channel, number, self.encoding)));
        lines.extend(self.digital.iter().zip(1..).map(|(channel, number)| {
            let name = clean(&channel.name, CHANNEL_MAX);
            let component = clean(&channel.component, TEXT_MAX);
            format!("{number},{name},,{component},{}", u8::from(channel.normal))
        }));
        lines.push(self.frequency_hz.to_string());
        lines.push(self.rates.len().to_string());
        lines.extend(self.rates.iter().map(|rate| format!("{},{}", rate.hz, rate.last)));
        if self.rates.is_empty() {
            lines.push(format!("0,{}", self.samples));
        }
        lines.extend([self.begin.clone(), self.trigger.clone()]);
        let encoding = match self.encoding {
            Encoding::Ascii => "ASCII",
            Encoding::Binary => "BINARY",
            Encoding::Binary32 => "BINARY32",
            Encoding::Float32 => "FLOAT32",
        };
        lines.extend([encoding.to_owned(), self.stamp_us.to_string()]);
        // Universal time, here and there; and nothing is known of leap seconds.
        lines.extend(["0,0".to_owned(), format!("{:X},3", quality.0)]);
        lines.into_iter().flat_map(|line| [line, "\r\n".to_owned()]).collect()
    }
}

fn line(channel: &Analog, number: usize, encoding: Encoding) -> String {
    let Analog { name, phase, component, unit, factor, offset, skew_us, ratio, is_primary } =
        channel;
    let (name, phase) = (clean(name, CHANNEL_MAX), clean(phase, PHASE_MAX));
    let (component, unit) = (clean(component, TEXT_MAX), clean(unit, UNIT_MAX));
    let (min, max) = limits(encoding);
    let limits = match encoding {
        Encoding::Float32 => format!("{min:e},{max:e}"),
        _ => format!("{min},{max}"),
    };
    let side = if *is_primary { "P" } else { "S" };
    format!(
        "{number},{name},{phase},{component},{unit},{factor},{offset},{skew_us},{limits},{ratio},1,{side}"
    )
}

/// The least and the largest number that an encoding holds beside the one for a missing value.
fn limits(encoding: Encoding) -> (f64, f64) {
    match encoding {
        Encoding::Ascii => (-99_998.0, 99_998.0),
        Encoding::Binary => (-32_767.0, 32_767.0),
        Encoding::Binary32 => (-f64::from(i32::MAX), f64::from(i32::MAX)),
        Encoding::Float32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
    }
}

/// A text without what separates fields and lines, and no longer than its field. What is too long keeps
/// its begin and its end, which tells channels of one stream apart.
fn clean(text: &str, letters_max: usize) -> String {
    let kept =
        text.chars().map(|letter| if letter == ',' || letter.is_control() { ' ' } else { letter });
    let kept: String = kept.collect();
    let letters: Vec<char> = kept.trim().chars().collect();
    if letters.len() <= letters_max {
        return letters.into_iter().collect();
    }
    let end = letters_max / 2;
    let begin = &letters[..letters_max - end - 1];
    begin.iter().chain(&['~']).chain(&letters[letters.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::configuration::{Digital, Rate, Revision};
    use super::*;

    fn encodings() -> impl Strategy<Value = Encoding> {
        prop::sample::select(vec![
            Encoding::Ascii,
            Encoding::Binary,
            Encoding::Binary32,
            Encoding::Float32,
        ])
    }

    fn record(
        encoding: Encoding,
        analog: &[(String, f64, Vec<Option<i16>>)],
        digital: &[(String, Vec<bool>)],
        samples: usize,
    ) -> Record {
        let channel = |(name, factor, _): &(String, f64, Vec<_>)| Analog {
            name: name.clone(),
            phase: "A".into(),
            component: "line".into(),
            unit: "kV".into(),
            factor: *factor,
            offset: 0.0,
            skew_us: 0.0,
            ratio: 1.0,
            is_primary: true,
        };
        let state = |(name, _): &(String, Vec<bool>)| Digital {
            name: name.clone(),
            component: "Q0".into(),
            normal: false,
        };
        let value = |number: &Option<i16>, factor| {
            number.map_or(f64::NAN, |number| f64::from(number) * factor)
        };
        let values = |(_, factor, numbers): &(_, f64, Vec<Option<i16>>)| {
            numbers[..samples].iter().map(|number| value(number, *factor)).collect()
        };
        Record {
            configuration: Configuration {
                station: "station".into(),
                recorder: "bay".into(),
                revision: Revision::Of2013,
                analog: analog.iter().map(channel).collect(),
                digital: digital.iter().map(state).collect(),
                frequency_hz: 50.0,
                rates: vec![Rate { hz: 4800.0, last: samples }],
                samples,
                begin: date_and_time(1_582_934_399_999_999_000),
                trigger: date_and_time(1_582_934_400_100_000_000),
                encoding,
                stamp_us: 1.0,
            },
            time_s: (0..samples).map(|sample| sample as f64 / 4800.0).collect(),
            analog: analog.iter().map(values).collect(),
            digital: digital.iter().map(|(_, states)| states[..samples].to_vec()).collect(),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            encoding in encodings(),
            samples in 1usize..40,
            analog in vec(("[A-Za-z0-9 >]{1,9}x", 1e-4f64..1e3, vec(any::<Option<i16>>(), 40)), 0..5),
            digital in vec(("[A-Za-z0-9 >]{1,9}x", vec(any::<bool>(), 40)), 0..40),
        ) {
            // What stands for a missing value in 16 bits is none.
            let analog: Vec<_> = analog.into_iter().map(|(name, factor, numbers)| {
                let numbers = numbers.into_iter().map(|n| n.filter(|n| *n != i16::MIN)).collect();
                (name.trim().to_owned(), factor, numbers)
            }).collect();
            let digital: Vec<_> =
                digital.into_iter().map(|(name, states)| (name.trim().to_owned(), states)).collect();
            let record = record(encoding, &analog, &digital, samples);
            let (configuration, data) = record.write(TimeQuality::LOCKED);
            let read = Record::parse(&configuration, &data).unwrap();
            prop_assert_eq!(&read.configuration, &record.configuration);
            prop_assert_eq!(&read.time_s, &record.time_s);
            prop_assert_eq!(&read.digital, &record.digital);
            for (values, (_, factor, numbers)) in read.analog.iter().zip(&analog) {
                for (value, number) in values.iter().zip(numbers) {
                    let expected = number.map(|number| f64::from(number) * factor);
                    let is_same = expected.map_or(value.is_nan(), |expected| *value == expected);
                    prop_assert!(is_same, "{value}, not {expected:?}");
                }
            }
        }
    }

    #[test]
    fn names_cannot_break_a_line_and_values_cannot_break_an_encoding() {
        let analog = [("a,b\r\nc".to_owned(), 1.0, vec![Some(1)])];
        for (encoding, max) in [
            (Encoding::Ascii, 99_998.0),
            (Encoding::Binary, 32_767.0),
            (Encoding::Binary32, 2_147_483_647.0),
        ] {
            let mut record = record(encoding, &analog, &[], 1);
            record.analog[0][0] = 1e12;
            let (configuration, data) = record.write(TimeQuality::UNRELIABLE);
            let read = Record::parse(&configuration, &data).unwrap();
            assert_eq!(read.configuration.analog[0].name, "a b  c");
            assert_eq!(read.analog[0][0], max, "{encoding:?}");
            assert!(configuration.ends_with("\r\n0,0\r\nF,3\r\n"), "{configuration}");
        }
    }

    #[test]
    fn names_that_are_too_long_lose_their_middle() {
        let long = format!("{}ä IA", "x".repeat(300));
        let mut record = record(Encoding::Ascii, &[(long.clone(), 1.0, vec![Some(1)])], &[], 1);
        let Configuration { station, recorder, analog, .. } = &mut record.configuration;
        (*station, *recorder) = (long.clone(), "bay".repeat(30));
        (analog[0].component, analog[0].unit) = (long.clone(), long);
        let (configuration, data) = record.write(TimeQuality::LOCKED);
        let read = Record::parse(&configuration, &data).unwrap().configuration;
        let channel = &read.analog[0];
        let texts =
            [&read.station, &read.recorder, &channel.name, &channel.component, &channel.unit];
        assert_eq!(texts.map(|text| text.chars().count()), [64, 64, 128, 64, 32]);
        assert_eq!(channel.unit, format!("{}~{}ä IA", "x".repeat(15), "x".repeat(12)));
        assert_eq!(clean(&"x".repeat(64), 64), "x".repeat(64));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date_and_time(0), "01/01/1970,00:00:00.000000");
        assert_eq!(date_and_time(1_582_934_399_999_999_999), "28/02/2020,23:59:59.999999");
        assert_eq!(date_and_time(1_582_934_400_000_000_000), "29/02/2020,00:00:00.000000");
        assert_eq!(date_and_time(4_107_542_400_123_456_000), "01/03/2100,00:00:00.123456");
    }

    #[test]
    fn the_quality_of_a_time_is_the_next_power_of_ten() {
        let codes = [(0, 4), (1, 4), (2, 5), (1000, 7), (1001, 8), (10_000_000, 11)];
        for (error_us, code) in codes {
            assert_eq!(TimeQuality::within_us(error_us), TimeQuality(code), "{error_us} us");
        }
        assert_eq!(TimeQuality::within_us(10_000_001), TimeQuality::UNRELIABLE);
        assert_eq!(TimeQuality(7).or_worse(TimeQuality::LOCKED), TimeQuality(7));
    }
}
