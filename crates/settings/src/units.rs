//! Quantities as users write them: `12 ms`, `100 Mbit/s`, `2.37 kV`.
//!
//! A number without its unit is the classic mistake of configuration files, so every quantity
//! with a dimension has one, and a wrong one is refused rather than guessed. Times and rates
//! are exact: decimal digits to whole nanoseconds and bits, never through floating point;
//! what would need rounding is refused. Values of the plant are floating point because its
//! engine is, each the nearest to the decimal that was written.

use std::time::Duration;

use vtime::time::NS_PER_S;
use vtime::{HostSpan, Tdf, VirtualSpan};

use super::problems::{Fault, quoted};
use super::suggest;

/// Longest time, ten years: up to there the virtual clock is exact.
const TIME_NS_MAX: i64 = 10 * 365 * 24 * 3600 * NS_PER_S;

/// Digits of a number that are kept; with them a time in hours still fits 128 bits of ns.
const DIGITS_MAX: usize = 24;

const NUMBER_FIX: &str = "write it with digits and a decimal point, such as `12.5`";

/// What a unit measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// Seconds and their parts.
    Time,
    /// Bits per second, exact.
    Rate,
    /// Volts, root mean square where it alternates.
    Voltage,
    /// Watts of active power.
    Power,
    /// Volt-amperes of reactive power.
    ReactivePower,
    /// Amperes, root mean square where it alternates.
    Current,
    /// Hertz: of the grid, and samples a second.
    Frequency,
    /// Hertz per second, by which a frequency changes.
    FrequencyRate,
    /// Ohms of an impedance or its parts.
    Impedance,
    /// Siemens of an admittance or its parts.
    Admittance,
    /// Degrees of a full turn's 360.
    Angle,
    /// Parts of one, written in percent.
    Portion,
    /// Octets of files and memory.
    Size,
    /// Nothing: a plain number.
    Number,
}

impl Dimension {
    /// Its name, the unit for examples and limits, and how many of the smallest unit make one in
    /// which quantities are computed.
    const fn about(self) -> (&'static str, &'static str, f64) {
        match self {
            Self::Time => ("time", "s", 1e9),
            Self::Rate => ("rate", "Mbit/s", 1.0),
            Self::Voltage => ("voltage", "V", 1e3),
            Self::Power => ("power", "kW", 1.0),
            Self::ReactivePower => ("reactive power", "kvar", 1.0),
            Self::Current => ("current", "A", 1e3),
            Self::Frequency => ("frequency", "Hz", 1.0),
            Self::FrequencyRate => ("rate of change of frequency", "Hz/s", 1.0),
            Self::Impedance => ("impedance", "ohm", 1e3),
            Self::Admittance => ("admittance", "S", 1e6),
            Self::Angle => ("angle", "deg", 1.0),
            Self::Portion => ("share", "%", 100.0),
            Self::Size => ("size", "MiB", 1.0),
            Self::Number => ("number", "", 1.0),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.about().0
    }

    /// From the smallest to the largest, both in the base unit.
    pub(crate) fn range(self, min: f64, max: f64) -> String {
        let (_, shown, one) = self.about();
        let of_unit =
            |&(name, dimension, _): &(&str, Self, u64)| name == shown && dimension == self;
        let unit = UNITS.into_iter().find(of_unit).map_or(1, |(.., factor)| factor);
        let factor = one / unit as f64;
        format!("{} to {} {shown}", min * factor, max * factor).trim_end().to_owned()
    }

    pub(crate) fn example(self, number: &str) -> String {
        match self {
            Self::Time => format!("`{number} s` or `{number} ms`"),
            Self::Number => format!("`{number}`"),
            _ => format!("`{number} {}`", self.about().1),
        }
    }
}

/// A unit: what it measures, and how many of the smallest unit of its dimension it is.
const UNITS: [(&str, Dimension, u64); 35] = [
    ("ns", Dimension::Time, 1),
    ("us", Dimension::Time, 1_000),
    ("ms", Dimension::Time, 1_000_000),
    ("s", Dimension::Time, 1_000_000_000),
    ("min", Dimension::Time, 60_000_000_000),
    ("h", Dimension::Time, 3_600_000_000_000),
    ("bit/s", Dimension::Rate, 1),
    ("kbit/s", Dimension::Rate, 1_000),
    ("Mbit/s", Dimension::Rate, 1_000_000),
    ("Gbit/s", Dimension::Rate, 1_000_000_000),
    ("mV", Dimension::Voltage, 1),
    ("V", Dimension::Voltage, 1_000),
    ("kV", Dimension::Voltage, 1_000_000),
    ("W", Dimension::Power, 1),
    ("kW", Dimension::Power, 1_000),
    ("MW", Dimension::Power, 1_000_000),
    ("var", Dimension::ReactivePower, 1),
    ("kvar", Dimension::ReactivePower, 1_000),
    ("Mvar", Dimension::ReactivePower, 1_000_000),
    ("mA", Dimension::Current, 1),
    ("A", Dimension::Current, 1_000),
    ("kA", Dimension::Current, 1_000_000),
    ("Hz", Dimension::Frequency, 1),
    ("Hz/s", Dimension::FrequencyRate, 1),
    ("mohm", Dimension::Impedance, 1),
    ("ohm", Dimension::Impedance, 1_000),
    ("uS", Dimension::Admittance, 1),
    ("mS", Dimension::Admittance, 1_000),
    ("S", Dimension::Admittance, 1_000_000),
    ("deg", Dimension::Angle, 1),
    ("%", Dimension::Portion, 1),
    ("KiB", Dimension::Size, 1 << 10),
    ("MiB", Dimension::Size, 1 << 20),
    ("GiB", Dimension::Size, 1 << 30),
    ("", Dimension::Number, 1),
];

/// Names of the units of these dimensions.
pub fn names_of(dimensions: &[Dimension]) -> Vec<&'static str> {
    let known = UNITS.iter().filter(|(_, dimension, _)| dimensions.contains(dimension));
    known.map(|(name, ..)| *name).collect()
}

/// A time, such as `12 ms` or `1.5 h`; negative ones too.
///
/// # Errors
/// When it has no unit of time, is finer than a nanosecond or longer than ten years.
pub fn time(text: &str) -> Result<VirtualSpan, Fault> {
    let (number, factor) = with_unit(text, Dimension::Time)?;
    let too_long =
        || Fault::new(format!("{} is longer than ten years", quoted(text)), "give a shorter time");
    let ns = number.times(factor).ok_or_else(|| {
        Fault::new(format!("{} is finer than a nanosecond", quoted(text)), "use whole nanoseconds")
    })?;
    let ns = i64::try_from(ns).ok().filter(|ns| ns.abs() <= TIME_NS_MAX).ok_or_else(too_long)?;
    Ok(VirtualSpan::from_ns(ns))
}

/// How long a guard lets a processor of the host be silent.
///
/// # Errors
/// When it is no such time.
pub fn time_of_guard(text: &str) -> Result<HostSpan, Fault> {
    let sensible = |span: VirtualSpan| (100_000..=NS_PER_S).contains(&span.as_ns());
    let span = bounded(text, sensible, "is not a valid guard time", "give 100 us to 1 s")?;
    Ok(HostSpan::from_ns(span.as_ns()))
}

/// A time of zero or more.
pub fn time_not_negative(text: &str) -> Result<VirtualSpan, Fault> {
    bounded(text, |span| span >= VirtualSpan::ZERO, "is negative", "give zero or more")
}

/// A time of more than zero.
///
/// # Errors
/// When the text is no number with a unit of time, or not more than zero.
pub fn time_positive(text: &str) -> Result<VirtualSpan, Fault> {
    bounded(text, |span| span > VirtualSpan::ZERO, "is not a positive time", "give more than zero")
}

/// A time of whole milliseconds, at least one.
pub fn time_whole_ms(text: &str) -> Result<VirtualSpan, Fault> {
    time_positive(text)?;
    let whole = |span: VirtualSpan| span.as_ns() % 1_000_000 == 0;
    bounded(text, whole, "is not a whole number of milliseconds", "write it as `1 ms`")
}

fn bounded(
    text: &str,
    holds: impl Fn(VirtualSpan) -> bool,
    what: &str,
    fix: &str,
) -> Result<VirtualSpan, Fault> {
    let span = time(text)?;
    if holds(span) { Ok(span) } else { Err(Fault::new(format!("{} {what}", quoted(text)), fix)) }
}

/// A rate in bits per second, such as `100 Mbit/s`.
pub fn rate_bps(text: &str) -> Result<u64, Fault> {
    let (number, factor) = with_unit(text, Dimension::Rate)?;
    let bits = number.times(factor).and_then(|bits| u64::try_from(bits).ok());
    bits.filter(|bits| *bits > 0).ok_or_else(|| {
        let what = format!("{} is not a positive rate in whole bits per second", quoted(text));
        Fault::new(what, "write it as `100 Mbit/s`")
    })
}

/// A value in a unit of the model (`V`, `kW`, `kvar`, `s`, `ms`), or a plain number if the unit
/// is empty.
pub fn value(text: &str, unit: &str) -> Result<f64, Fault> {
    match unit {
        "s" => time(text).map(|span| span.as_ns() as f64 / 1e9),
        "ms" => time(text).map(|span| span.as_ns() as f64 / 1e6),
        "" => plain(text),
        unit => {
            let known = UNITS.iter().find(|(name, ..)| *name == unit);
            let &(_, dimension, base) = known.expect("units of the model stand in the table");
            let (number, factor) = with_unit(text, dimension)?;
            Ok(number.as_f64(i64::from(factor.ilog10()) - i64::from(base.ilog10())))
        }
    }
}

/// A quantity of relays from `min` to `max`, all in the unit that elements compute with: s, V, A,
/// Hz, ohm, S, degrees or parts of one. Exponents are allowed: `1e3 A`.
///
/// # Errors
/// When it is no number, has a wrong unit or is out of range.
pub fn quantity(text: &str, dimension: Dimension, min: f64, max: f64) -> Result<f64, Fault> {
    let text = text.trim();
    let (number, unit) = split(text, "-+.,_eE");
    let factor = factor_of(text, number, unit, dimension)?;
    let not_a_number = || Fault::new(format!("{} is not a number", quoted(number)), NUMBER_FIX);
    let parsed = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let (_, _, one) = dimension.about();
    let value = parsed.ok_or_else(not_a_number)? * factor as f64 / one;
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    let limits = format!("give {}", dimension.range(min, max));
    Err(Fault::new(format!("{} is out of range", quoted(text)), limits))
}

/// A time of zero or more, such as `90s` or `1.5 h`, as command lines have it.
///
/// # Errors
/// When it is no such time.
pub fn duration(text: &str) -> Result<Duration, Fault> {
    quantity(text, Dimension::Time, 0.0, TIME_NS_MAX as f64 / 1e9).map(nanoseconds)
}

/// As [`duration`], of more than zero.
///
/// # Errors
/// When it is no such time.
pub fn duration_positive(text: &str) -> Result<Duration, Fault> {
    match duration(text)? {
        Duration::ZERO => {
            let what = format!("{} is not a positive time", quoted(text));
            Err(Fault::new(what, "give more than zero"))
        }
        duration => Ok(duration),
    }
}

/// Seconds, to the nearest nanosecond.
pub(crate) fn nanoseconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

/// A plain number without a unit.
fn plain(text: &str) -> Result<f64, Fault> {
    let text = text.trim();
    let (number, unit) = split(text, "-+.,_");
    if !unit.is_empty() {
        let what = format!("{} is not a plain number", quoted(text));
        return Err(Fault::new(what, "write the number alone, such as `12`"));
    }
    Ok(Decimal::parse(number)?.as_f64(0))
}

/// A part of a whole: a plain number from 0 to less than 1.
pub fn share(text: &str) -> Result<f64, Fault> {
    let share = plain(text)?;
    if (0.0..1.0).contains(&share) {
        return Ok(share);
    }
    let what = format!("{} is not a share from 0 to less than 1", quoted(text));
    Err(Fault::new(what, "write it as `0.001`"))
}

/// A share from 0 to less than 1, in millionths.
pub fn per_million(text: &str) -> Result<u32, Fault> {
    let share = share(text)?;
    let millionths = (share * 1e6).round();
    if millionths >= 1e6 || (millionths == 0.0 && share > 0.0) {
        let what = format!("{} is no number of millionths", quoted(text));
        return Err(Fault::new(what, "give 0, or a share from 0.000001 to 0.999999"));
    }
    Ok(millionths as u32)
}

/// A whole number from `min` to `max`, decimal or hexadecimal (`0x4000`).
pub fn whole(text: &str, min: u64, max: u64) -> Result<u64, Fault> {
    let hexadecimal = text.strip_prefix("0x");
    let (digits, radix) = hexadecimal.map_or((text, 10), |digits| (digits, 16));
    // The parser of the standard library also takes a sign.
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    let number = is_number.then(|| u64::from_str_radix(digits, radix).ok()).flatten();
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
        let what = format!("{} is not a whole number from {min} to {max}", quoted(text));
        let fix = match hexadecimal {
            Some(_) => format!("give 0x{min:x} to 0x{max:x}"),
            None if number.is_some() => format!("give {min} to {max}"),
            None => "use digits only, such as `12`".into(),
        };
        Fault::new(what, fix)
    })
}

/// A time dilation factor.
pub fn factor(text: &str) -> Result<Tdf, Fault> {
    text.parse::<Tdf>().map_err(|error| {
        Fault::new(format!("{} is not a valid factor", quoted(text)), error.to_string())
    })
}

/// A number and the factor of its unit, which must be of `dimension`.
fn with_unit(text: &str, dimension: Dimension) -> Result<(Decimal, u64), Fault> {
    let text = text.trim();
    let (number, unit) = split(text, "-+.,_");
    let decimal = if number.is_empty() { None } else { Some(Decimal::parse(number)?) };
    let factor = factor_of(text, number, unit, dimension)?;
    Ok((decimal.expect("a text without number has no factor"), factor))
}

/// How many of the smallest unit of `dimension` this unit is; `text` is `number` and `unit`.
fn factor_of(text: &str, number: &str, unit: &str, dimension: Dimension) -> Result<u64, Fault> {
    if number.is_empty() {
        let what = format!("{} is not a valid {}", quoted(text), dimension.name());
        return Err(Fault::new(what, format!("write it as {}", dimension.example("12"))));
    }
    if unit.is_empty() && dimension != Dimension::Number {
        let what = format!("{} has no unit", quoted(text));
        return Err(Fault::new(what, format!("write it as {}", dimension.example(number))));
    }
    let of_dimension = || UNITS.iter().filter(|(_, of, _)| *of == dimension);
    if let Some((.., factor)) = of_dimension().find(|(name, ..)| *name == unit) {
        return Ok(*factor);
    }
    let what = match UNITS.iter().find(|(name, ..)| *name == unit) {
        Some((_, other, _)) => {
            let (other, needed) = (other.name(), dimension.name());
            format!("`{unit}` is a unit of {other}, where a {needed} is needed")
        }
        None => format!("{} is not a unit of {}", quoted(unit), dimension.name()),
    };
    if dimension == Dimension::Number {
        return Err(Fault::new(what, "write the number alone, such as `12`"));
    }
    let names = of_dimension().map(|(name, ..)| *name);
    Err(Fault::new(what, suggest::all(&format!("units of {}", dimension.name()), names)))
}

/// The number with which a text starts, of digits and these characters, and what follows it.
fn split<'t>(text: &'t str, others: &str) -> (&'t str, &'t str) {
    let number = |c: char| c.is_ascii_digit() || others.contains(c);
    let end = text.find(|c| !number(c)).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A decimal number, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Decimal {
    negative: bool,
    digits: i128,
    /// How many of the digits follow the point.
    decimals: u32,
}

impl Decimal {
    /// Reads `-12.5`: digits, perhaps a point and digits, perhaps a minus sign before them.
    fn parse(text: &str) -> Result<Self, Fault> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            let what = format!("{} is not a number", quoted(text));
            return Err(Fault::new(what, NUMBER_FIX));
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        if whole.len() + fraction.len() > DIGITS_MAX {
            let what = format!("{} has more than {DIGITS_MAX} digits", quoted(text));
            return Err(Fault::new(what, "round it"));
        }
        let digits = whole.bytes().chain(fraction.bytes());
        Ok(Self {
            negative: text.starts_with('-'),
            digits: digits.fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0')),
            decimals: u32::try_from(fraction.len()).expect("at most as many as digits are kept"),
        })
    }

    /// This number times `factor` if that is whole.
    fn times(self, factor: u64) -> Option<i128> {
        let product = self.digits * i128::from(factor);
        let divisor = 10i128.pow(self.decimals);
        let whole = (product % divisor == 0).then_some(product / divisor)?;
        Some(if self.negative { -whole } else { whole })
    }

    /// The floating-point number nearest to this times ten to the `exponent`.
    fn as_f64(self, exponent: i64) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let exponent = exponent - i64::from(self.decimals);
        let text = format!("{sign}{}e{exponent}", self.digits);
        text.parse().expect("digits and an exponent are a number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(text: &str) -> i64 {
        time(text).unwrap().as_ns()
    }

    #[test]
    fn durations_of_command_lines_are_more_than_zero() {
        assert_eq!(duration_positive("1 s"), Ok(Duration::from_secs(1)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        let refused = duration_positive("0 ms").unwrap_err().to_string();
        assert_eq!(refused, "`0 ms` is not a positive time; give more than zero");
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(ns("0.1 s"), 100_000_000);
        assert_eq!(ns("22.5 s"), 22_500_000_000);
        assert_eq!(ns("0.000000001 s"), 1);
        assert_eq!(ns("1.50 h"), 5_400_000_000_000);
        assert_eq!(ns("12ms"), 12_000_000);
        assert_eq!(ns(" -1  us "), -1_000);
        assert_eq!(ns("87600 h"), TIME_NS_MAX);
    }

    #[test]
    fn every_mistake_gets_its_own_fix() {
        let said = |text: &str| time(text).unwrap_err().to_string();
        assert_eq!(said("12"), "`12` has no unit; write it as `12 s` or `12 ms`");
        assert_eq!(
            said("12 V"),
            "`V` is a unit of voltage, where a time is needed; \
             the units of time are: ns, us, ms, s, min, h"
        );
        assert!(said("12 sec").starts_with("`sec` is not a unit of time; "));
        assert!(said("soon").starts_with("`soon` is not a valid time; write it as `12 s` or "));
        assert!(said("1,5 s").starts_with("`1,5` is not a number"));
        assert!(said("1e3 s").contains("is not a unit of time"));
        assert!(said("0.1 ns").contains("finer than a nanosecond"));
        assert!(said("87601 h").contains("longer than ten years"));
        assert!(said("1234567890123456789012345 s").contains("more than 24 digits"));
        for text in ["", "-", ".", "1.", ".5 s", "+1 s", "--1 s", "1_000 s"] {
            assert!(time(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn values_of_the_plant_are_the_nearest_to_what_was_written() {
        assert_eq!(value("2.37 kV", "V").unwrap(), 2370.0);
        assert_eq!(value("300 W", "kW").unwrap(), 0.3);
        assert_eq!(value("-1.5 MW", "kW").unwrap(), -1500.0);
        assert_eq!(value("0 kvar", "kvar").unwrap(), 0.0);
        assert_eq!(value("1.2 Mvar", "kvar").unwrap(), 1200.0);
        assert_eq!(value("17.6 s", "s").unwrap(), 17.6);
        assert_eq!(value("0.13 s", "ms").unwrap(), 130.0);
        assert_eq!(value("50", "").unwrap(), 50.0);
        assert!(value("50 %", "").is_err());
        assert!(value("50 kW", "kvar").is_err());
    }

    #[test]
    fn quantities_need_a_unit_that_fits() {
        let read = |text, dimension| quantity(text, dimension, 0.0, 1e6);
        assert_eq!(read("2 kA", Dimension::Current), Ok(2000.0));
        assert_eq!(read("+2e3 A", Dimension::Current), Ok(2000.0));
        assert_eq!(read("12.5ms", Dimension::Time), Ok(0.0125));
        assert_eq!(read("15 %", Dimension::Portion), Ok(0.15));
        assert_eq!(read("64 KiB", Dimension::Size), Ok(65_536.0));
        assert_eq!(read("50 uS", Dimension::Admittance), Ok(50e-6));
        assert_eq!(read("0.5", Dimension::Number), Ok(0.5));
        assert_eq!(read("20 kW", Dimension::Power), Ok(20_000.0));
        assert_eq!(read("0.5 Mvar", Dimension::ReactivePower), Ok(500_000.0));
        assert_eq!(
            read("-1.5 Hz/s", Dimension::FrequencyRate).unwrap_err().fix,
            "give 0 to 1000000 Hz/s"
        );
        let wrong = |text, dimension| read(text, dimension).unwrap_err().to_string();
        assert_eq!(wrong("2", Dimension::Current), "`2` has no unit; write it as `2 A`");
        assert!(wrong("2 kV", Dimension::Current).starts_with("`kV` is a unit of voltage, "));
        assert!(wrong("much", Dimension::Current).starts_with("`much` is not a valid current; "));
        assert!(wrong("1e999 A", Dimension::Current).starts_with("`1e999` is not a number; "));
        assert_eq!(
            wrong("0.5 A", Dimension::Number),
            "`A` is a unit of current, where a number is needed; \
             write the number alone, such as `12`"
        );
        assert_eq!(
            quantity("1 us", Dimension::Time, 0.0001, 0.02).unwrap_err().to_string(),
            "`1 us` is out of range; give 0.0001 to 0.02 s"
        );
    }

    #[test]
    fn whole_numbers_are_digits_within_their_limits() {
        assert_eq!((whole("12", 0, 20), whole("0x4000", 0, 0x7fff)), (Ok(12), Ok(0x4000)));
        for text in ["+5", "-5", "0x+5", "0x", "", "1.0", "99999999999999999999"] {
            assert!(whole(text, 0, u64::MAX).is_err(), "{text}");
        }
        let fix = |text| whole(text, 1, 20).unwrap_err().fix;
        assert_eq!([fix("21"), fix("0x15")], ["give 1 to 20", "give 0x1 to 0x14"]);
    }

    #[test]
    fn rates_are_whole_bits_above_zero() {
        assert_eq!(rate_bps("1.5 Mbit/s").unwrap(), 1_500_000);
        for text in ["0 bit/s", "0.5 bit/s", "-1 bit/s", "1 MB/s", "99999999999 Gbit/s"] {
            assert!(rate_bps(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_time_written_in_any_unit_is_read_back(
            ns in -TIME_NS_MAX..=TIME_NS_MAX,
            unit in 0usize..4,
        ) {
            let ((name, _, factor), size) = (UNITS[unit], ns.unsigned_abs());
            let decimals = factor.ilog10() as usize;
            let sign = if ns < 0 { "-" } else { "" };
            let text = if decimals == 0 {
                format!("{sign}{size} {name}")
            } else {
                format!("{sign}{}.{:0decimals$} {name}", size / factor, size % factor)
            };
            prop_assert_eq!(time(&text).unwrap().as_ns(), ns);
        }

        #[test]
        fn a_value_written_in_full_is_read_back(number in -1e12f64..1e12) {
            let text = format!("{number:.6} kW");
            let written: f64 = format!("{number:.6}").parse().unwrap();
            prop_assert_eq!(value(&text, "kW").unwrap(), written);
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in ".*", digits in "-?[0-9.]{0,60} ?[a-zA-Z/]{0,6}") {
            for text in [text, digits] {
                let _ = (time(&text), time_whole_ms(&text), rate_bps(&text), factor(&text));
                for unit in ["V", "kW", "kvar", "s", "ms", ""] {
                    if let Ok(value) = value(&text, unit) {
                        prop_assert!(value.is_finite());
                    }
                }
                let _ = whole(&text, 0, u64::MAX);
            }
        }
    }
}
