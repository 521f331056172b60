//! What differs, and how it is written: the place, the time and both values.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

use report_kit::figure::seconds_to_ns;

/// The first difference of one kind in one place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    pub part: Part,
    /// Which requirement, point or file it is; empty where the part has but one.
    pub name: String,
    /// Number of the row or frame, from 1; absent where nothing is counted.
    pub number: Option<u64>,
    pub what: What,
    /// Scenario time at which the runs part, in nanoseconds; absent for what has no time.
    pub at_ns: Option<i64>,
    pub first: Value,
    pub second: Value,
    /// Unit of the values; empty where they have none, and for times.
    pub unit: String,
    /// How many more there are of this kind in this place.
    pub more: u64,
}

/// What a difference is part of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Scenario,
    /// Points of the plant, as they were recorded over time.
    Series,
    Capture,
    /// How the run ended.
    End,
    Verdict,
}

/// In what two runs differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The text of the scenario.
    Text,
    Variant,
    /// How long the run was to be, from zero.
    Duration,
    /// One of the runs does not have it.
    Missing,
    Time,
    Direction,
    Length,
    Payload,
    /// How a run ended.
    End,
    Outcome,
    Value,
    Unit,
}

impl What {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Variant => "variant",
            Self::Duration => "duration",
            Self::Missing => "missing",
            Self::Time => "time",
            Self::Direction => "direction",
            Self::Length => "length",
            Self::Payload => "payload",
            Self::End => "end",
            Self::Outcome => "outcome",
            Self::Value => "value",
            Self::Unit => "unit",
        }
    }
}

/// One of the two values that differ.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// This run has none.
    None,
    Text(String),
    Count(u64),
    /// JSON can write it: neither infinite nor NaN.
    Number(f64),
    /// A time in nanoseconds.
    TimeNs(i64),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        // JSON has no others.
        if value.is_finite() { Self::Number(value) } else { Self::Text(value.to_string()) }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(out, "–"),
            Self::Text(text) => write!(out, "{text}"),
            Self::Count(count) => write!(out, "{count}"),
            // As many digits as tell it from all others.
            Self::Number(number) => write!(out, "{number}"),
            Self::TimeNs(ns) => write!(out, "{} s", seconds_to_ns(*ns)),
        }
    }
}

impl Difference {
    pub(super) fn new(part: Part, name: &str, what: What, [first, second]: [Value; 2]) -> Self {
        let name = name.to_owned();
        let unit = String::new();
        Self { part, name, number: None, what, at_ns: None, first, second, unit, more: 0 }
    }

    /// Something that only one of the runs has.
    pub(super) fn missing(part: Part, name: &str, is_there: [bool; 2]) -> Self {
        let value = |there| if there { Value::from("there") } else { Value::None };
        Self::new(part, name, What::Missing, is_there.map(value))
    }

    pub(super) fn in_unit(self, unit: &str) -> Self {
        Self { unit: unit.to_owned(), ..self }
    }

    /// Of a row or frame: its number, from 1, and the time at which the runs part.
    pub(super) fn at(self, number: u64, at_ns: i64) -> Self {
        Self { number: Some(number), at_ns: Some(at_ns), ..self }
    }

    /// The order in which differences are reported: what makes the rest pointless, what is missing
    /// as a whole, what has a time by that, and then what follows from it: end and verdicts.
    pub(super) fn in_order(&self, other: &Self) -> Ordering {
        let rank = |one: &Self| match (one.part, one.at_ns) {
            (Part::Scenario, _) => 0,
            (Part::End, _) => 3,
            (Part::Verdict, _) if one.what != What::Missing => 4,
            (_, None) => 1,
            (_, Some(_)) => 2,
        };
        let key = |one: &Self| (rank(one), one.at_ns, one.part);
        let rest = |one: &Self| (one.number, one.what);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| rest(self).cmp(&rest(other)))
    }

    /// Where it is, for people.
    pub(super) fn place(&self) -> String {
        let name = match self.part {
            Part::Scenario => "scenario".to_owned(),
            Part::End => "run".to_owned(),
            Part::Verdict => format!("verdict `{}`", self.name),
            Part::Series | Part::Capture => self.name.clone(),
        };
        let of = if self.part == Part::Capture { "frame" } else { "row" };
        self.number.map_or_else(|| name.clone(), |number| format!("{name}, {of} {number}"))
    }

    /// Both values, with their unit.
    pub(super) fn values(&self) -> [String; 2] {
        [&self.first, &self.second].map(|value| match (value, self.unit.as_str()) {
            (Value::None | Value::Text(_) | Value::TimeNs(_), _) | (_, "") => value.to_string(),
            (value, unit) => format!("{value} {unit}"),
        })
    }
}

/// Differences of one kind in one place: the first, and how many there are.
#[derive(Debug, Default)]
pub(super) struct Tally(Option<Difference>);

impl Tally {
    /// Counts one; only the first is made.
    pub(super) fn add(&mut self, make: impl FnOnce() -> Difference) {
        match &mut self.0 {
            Some(first) => first.more += 1,
            none => *none = Some(make()),
        }
    }

    pub(super) fn found(self) -> Option<Difference> {
        self.0
    }
}
