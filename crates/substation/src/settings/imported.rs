//! What was found in files of a substation, as settings of a relay that a person completes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use iec61850::scl::{MessageBlock, Rate, Station, StreamBlock, ValueKind};

/// Samples a second that a relay takes.
const RATES: std::ops::RangeInclusive<f64> = 1000.0..=15_360.0;

/// What is wanted of a file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wanted<'a> {
    /// Nominal frequency, in Hz, which no SCL file tells.
    pub frequency_hz: f64,
    /// The device that the relay is: its messages are to be published, those of others heard.
    pub own: Option<&'a str>,
}

/// YAML of streams and messages, and what could not be made a part of it.
#[must_use]
pub fn from_scl(station: &Station, wanted: &Wanted<'_>) -> (String, Vec<String>) {
    let mut out = format!(
        "relay: {}\nfrequency: {} Hz\n",
        quoted(wanted.own.unwrap_or("imported")),
        wanted.frequency_hz
    );
    let mut names = Names::default();
    let mut left_out = Vec::new();
    let mut streams = String::new();
    for stream in &station.streams {
        match rate(stream.rate, wanted.frequency_hz) {
            Some(rate) => streams += &line_of(&names.of(&stream.name), stream, rate),
            None => left_out
                .push(format!("{}: left out: its sampling rate is not supported", stream.name)),
        }
    }
    section(&mut out, "streams", &streams);
    let is_own = |message: &&MessageBlock| Some(message.device.as_str()) == wanted.own;
    let published = station.messages.iter().filter(is_own);
    let published: String = published.map(|m| publication(&names.of(&m.name), m)).collect();
    section(&mut out, "goose", &published);
    let heard = station.messages.iter().filter(|message| !is_own(message));
    let heard: String = heard.map(|m| subscription(&names.of(&m.name), m)).collect();
    section(&mut out, "subscriptions", &heard);
    (out, left_out)
}

/// Names that were given, so that none is given twice, and from which number on to look for
/// another one.
#[derive(Default)]
struct Names(BTreeMap<String, u64>);

impl Names {
    fn of(&mut self, name: &str) -> String {
        let from = self.0.get(name).copied().unwrap_or(1);
        let numbered = |number| match number {
            1 => name.to_owned(),
            number => format!("{name}-{number}"),
        };
        let free = (from..).find(|number| !self.0.contains_key(&numbered(*number)));
        let number = free.expect("numbers do not end");
        self.0.insert(name.to_owned(), number + 1);
        self.0.entry(numbered(number)).or_insert(2);
        quoted(&numbered(number))
    }
}

fn section(out: &mut String, name: &str, lines: &str) {
    if !lines.is_empty() {
        let _infallible = write!(out, "\n{name}:\n{lines}");
    }
}

/// Samples a second, where a relay takes them.
fn rate(rate: Rate, frequency_hz: f64) -> Option<f64> {
    let rate = match rate {
        Rate::PerPeriod(samples) => f64::from(samples) * frequency_hz,
        Rate::PerSecond(samples) => f64::from(samples),
    };
    (RATES.contains(&rate) && rate.fract() == 0.0).then_some(rate)
}

fn line_of(name: &str, stream: &StreamBlock, rate: f64) -> String {
    let address = stream.address;
    format!(
        "  {name}:\n    sv_id: {}\n    destination: {}\n    app_id: {:#06x}\n    rate: {rate} Hz\n    \
         conf_rev: {}\n",
        quoted(&stream.sv_id),
        address.destination,
        address.app_id,
        stream.conf_rev
    )
}

fn subscription(name: &str, message: &MessageBlock) -> String {
    let mut text = head(name, message);
    text += "    entries:\n";
    for (index, value) in message.values.iter().enumerate() {
        let entry = match &value.kind {
            ValueKind::Position => quoted(&format!("position {}.{}", message.device, value.path)),
            ValueKind::Quality(of) => quality(index, of),
            ValueKind::Other => "unused".into(),
        };
        let _infallible = writeln!(text, "      - {entry}  # {}: {}", index + 1, value.path);
    }
    text
}

fn publication(name: &str, message: &MessageBlock) -> String {
    let mut text = head(name, message);
    let tag = message.address.tag;
    let _infallible = write!(text, "    vlan: {}\n    priority: {}\n", tag.vlan(), tag.priority());
    let defaults = [("repeat_min", 4, 1..=1000), ("repeat_max", 1000, 10..=60_000)];
    for ((key, default, range), told) in defaults.into_iter().zip(message.repeat_ms) {
        let ms = told.filter(|ms| range.contains(ms)).unwrap_or(default);
        let _infallible = writeln!(text, "    {key}: {ms} ms");
    }
    // Only a person knows which element or breaker of the relay each value is.
    text += "    signals:\n";
    for (index, value) in message.values.iter().enumerate() {
        let signal = match &value.kind {
            ValueKind::Quality(of) if !of.is_empty() => quality(index, of),
            _ => "which".into(),
        };
        let _infallible = writeln!(text, "      - {signal}  # {}: {}", index + 1, value.path);
    }
    text
}

/// The value at `index`, which is the quality of these.
fn quality(index: usize, of: &[usize]) -> String {
    match of {
        [] => "unused".into(),
        [before] if before + 1 == index => "quality".into(),
        all => {
            let numbers: Vec<String> = all.iter().map(|index| (index + 1).to_string()).collect();
            format!("quality of {}", numbers.join(" "))
        }
    }
}

fn head(name: &str, message: &MessageBlock) -> String {
    let address = message.address;
    format!(
        "  {name}:\n    reference: {}\n    data_set: {}\n    go_id: {}\n    destination: {}\n    app_id: \
         {:#06x}\n    conf_rev: {}\n",
        quoted(&message.reference),
        quoted(&message.data_set),
        quoted(&message.go_id),
        address.destination,
        address.app_id,
        message.conf_rev
    )
}

/// A text as YAML has it, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
