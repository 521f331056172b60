//! Quantities as users write them: `12 ms`, `100 Mbit/s`, `2.37 kV`.
//!
//! A number without its unit is the classic mistake of configuration files, so every quantity
//! with a dimension has one, and a wrong one is refused rather than guessed. Times and rates
//! are exact: decimal digits to whole nanoseconds and bits, never through floating point;
//! what would need rounding is refused. Values of the plant are floating point because its
//! engine is, each the nearest to the decimal that was written.

use vtime::time::NS_PER_S;
use vtime::{HostSpan, Tdf, VirtualSpan};

use super::problems::{Fault, quoted};
use super::suggest;

/// Longest time, ten years: up to there the virtual clock is exact.
const TIME_NS_MAX: i64 = 10 * 365 * 24 * 3600 * NS_PER_S;

/// Digits of a number that are kept; with them a time in hours still fits 128 bits of ns.
const DIGITS_MAX: usize = 24;

/// What a unit measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// Seconds and their parts.
    Time,
    /// Bits per second.
    Rate,
    /// Volts.
    Voltage,
    /// Watts.
    Power,
    /// Reactive volt-amperes.
    ReactivePower,
    /// Amperes.
    Current,
}

impl Dimension {
    fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Voltage => "voltage",
            Self::Power => "power",
            Self::ReactivePower => "reactive power",
            Self::Current => "current",
        }
    }

    fn example(self, number: &str) -> String {
        match self {
            Self::Time => format!("`{number} s` or `{number} ms`"),
            Self::Rate => format!("`{number} Mbit/s`"),
            Self::Voltage => format!("`{number} V`"),
            Self::Power => format!("`{number} kW`"),
            Self::ReactivePower => format!("`{number} kvar`"),
            Self::Current => format!("`{number} A`"),
        }
    }
}

/// A unit: what it measures, and how many of the base unit (ns, bit/s, V, W, kvar) it is.
const UNITS: [(&str, Dimension, u64); 18] = [
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
    ("V", Dimension::Voltage, 1),
    ("kV", Dimension::Voltage, 1_000),
    ("W", Dimension::Power, 1),
    ("kW", Dimension::Power, 1_000),
    ("MW", Dimension::Power, 1_000_000),
    ("kvar", Dimension::ReactivePower, 1),
    ("A", Dimension::Current, 1),
    ("kA", Dimension::Current, 1_000),
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
/// What is no such time, and the way out.
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
    way_out: &str,
) -> Result<VirtualSpan, Fault> {
    let span = time(text)?;
    if holds(span) {
        Ok(span)
    } else {
        Err(Fault::new(format!("{} {what}", quoted(text)), way_out))
    }
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
        "s" => time(text).map(|span| ns_as(span, 1e9)),
        "ms" => time(text).map(|span| ns_as(span, 1e6)),
        "" => plain(text),
        unit => {
            let known = UNITS.iter().find(|(name, ..)| *name == unit);
            let &(_, dimension, base) = known.expect("units of the model stand in the table");
            let (number, factor) = with_unit(text, dimension)?;
            Ok(number.as_f64(power_of_ten(factor) - power_of_ten(base)))
        }
    }
}

fn ns_as(span: VirtualSpan, ns_per_unit: f64) -> f64 {
    span.as_ns() as f64 / ns_per_unit
}

/// A plain number without a unit.
fn plain(text: &str) -> Result<f64, Fault> {
    let text = text.trim();
    let (number, unit) = split(text);
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

/// A whole number from `min` to `max`.
pub fn whole(text: &str, min: u64, max: u64) -> Result<u64, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
        let what = format!("{} is not a whole number from {min} to {max}", quoted(text));
        Fault::new(what, "use digits only, such as `12`")
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
    let (number, unit) = split(text);
    if number.is_empty() {
        let what = format!("{} is not a valid {}", quoted(text), dimension.name());
        return Err(Fault::new(what, format!("write it as {}", dimension.example("12"))));
    }
    let number_read = Decimal::parse(number)?;
    if unit.is_empty() {
        let what = format!("{} has no unit", quoted(text));
        return Err(Fault::new(what, format!("write it as {}", dimension.example(number))));
    }
    let of_dimension = || UNITS.iter().filter(|(_, of, _)| *of == dimension);
    if let Some((.., factor)) = of_dimension().find(|(name, ..)| *name == unit) {
        return Ok((number_read, *factor));
    }
    let what = match UNITS.iter().find(|(name, ..)| *name == unit) {
        Some((_, other, _)) => {
            let (other, needed) = (other.name(), dimension.name());
            format!("`{unit}` is a unit of {other}, where a {needed} is needed")
        }
        None => format!("{} is not a unit of {}", quoted(unit), dimension.name()),
    };
    let names = of_dimension().map(|(name, ..)| *name);
    Err(Fault::new(what, suggest::all(&format!("units of {}", dimension.name()), names)))
}

/// The number at the begin of a text, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ',' | '_');
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
            return Err(Fault::new(
                what,
                "write it with digits and a decimal point, such as `12.5`",
            ));
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

/// How many zeros a power of ten has.
fn power_of_ten(number: u64) -> i64 {
    i64::from(number.ilog10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(text: &str) -> i64 {
        time(text).unwrap().as_ns()
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
    fn every_mistake_gets_its_own_way_out() {
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
        assert_eq!(value("17.6 s", "s").unwrap(), 17.6);
        assert_eq!(value("0.13 s", "ms").unwrap(), 130.0);
        assert_eq!(value("50", "").unwrap(), 50.0);
        assert!(value("50 %", "").is_err());
        assert!(value("50 kW", "kvar").is_err());
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
            let (name, _, factor) = UNITS[unit];
            let (size, factor) = (ns.unsigned_abs(), factor);
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
