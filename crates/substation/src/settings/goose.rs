//! Reads `goose`: the messages that a relay publishes.

use std::collections::BTreeMap;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;
use iec61850::wire::{Form, Tag};

use super::model::{GooseControl, Mode, Signal, SignalKind};
use super::names::Names;
use super::texts::{group, known, visible};

/// Values that fit into a frame beside the names.
const SIGNALS_MAX: usize = 256;

pub(super) fn read(
    top: &Mapping<'_>,
    names: &Names<'_>,
    mode: Mode,
) -> BTreeMap<String, GooseControl> {
    top.by_name("goose", |cursor| one(&cursor.mapping()?, names, mode))
}

fn one(map: &Mapping<'_>, names: &Names<'_>, mode: Mode) -> Option<GooseControl> {
    let signals = signals(map, names);
    if mode == Mode::Test {
        for signal in unqualified(&signals) {
            let what = format!("{} would not be marked as a test", quoted(&signal.name));
            map.wrong("signals", what, "write `quality` after each signal, or `mode: on`");
        }
    }
    control(map, signals)
}

/// A message that says this; what says it is read here.
pub(super) fn control(map: &Mapping<'_>, signals: Vec<Signal>) -> Option<GooseControl> {
    let (repeat_min, repeat_max) = (map.time("repeat_min")?, map.time("repeat_max")?);
    if repeat_max < repeat_min {
        map.wrong("repeat_max", "it is shorter than `repeat_min`", "make it at least `repeat_min`");
    }
    let is_fixed = map.is("encoding", "fixed_length");
    Some(GooseControl {
        reference: map.parse("reference", visible)?.value,
        data_set: map.parse("data_set", visible)?.value,
        go_id: map.parse("go_id", visible)?.value,
        destination: map.parse("destination", group)?.value,
        app_id: map.whole("app_id")?.value as u16,
        tag: tag(map)?,
        conf_rev: map.whole("conf_rev")?.value as u32,
        repeat_min,
        repeat_max,
        form: if is_fixed { Form::FixedLength } else { Form::Ordinary },
        signals,
    })
}

pub(super) fn tag(map: &Mapping<'_>) -> Option<Tag> {
    Some(Tag::new(map.whole("priority")?.value as u8, map.whole("vlan")?.value as u16))
}

/// Signals such as `trip Q0`, `start I>` and `operate Z1`.
fn signals(map: &Mapping<'_>, names: &Names<'_>) -> Vec<Signal> {
    let items = map.items("signals");
    if items.len() > SIGNALS_MAX {
        let what = format!("{} signals do not fit into a frame", items.len());
        map.wrong("signals", what, format!("publish at most {SIGNALS_MAX} in a message"));
    }
    let mut signals: Vec<Signal> = Vec::new();
    for item in &items {
        let read = item.parse(|text| signal(text, signals.last(), names));
        signals.extend(read.map(|read| read.value));
    }
    signals
}

/// A signal, or the quality of the signal before it.
fn signal(text: &str, before: Option<&Signal>, names: &Names<'_>) -> Result<Signal, Fault> {
    if text == "quality" {
        return before.and_then(quality_of).ok_or_else(|| {
            let fix = "write it after the signal whose quality it is";
            Fault::new("there is no signal before this `quality`", fix)
        });
    }
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    let (kind, what, there) = match kind {
        "trip" => (SignalKind::Trip, ["breaker", "breakers"], &names.breakers),
        "start" => (SignalKind::Start, ["element", "elements"], &names.elements),
        "operate" => (SignalKind::Operate, ["element", "elements"], &names.elements),
        _ => {
            let fix = "write it as `trip Q0`, `start I>`, `operate I>` or `quality`";
            return Err(Fault::new(format!("{} is not a signal", quoted(text)), fix));
        }
    };
    Ok(Signal { kind, name: known(name, what, there)? })
}

/// The quality behind a signal; nothing behind a quality.
fn quality_of(signal: &Signal) -> Option<Signal> {
    let kind = match signal.kind {
        SignalKind::Start | SignalKind::Operate => SignalKind::ElementQuality,
        SignalKind::Trip => SignalKind::TripQuality,
        SignalKind::ElementQuality | SignalKind::TripQuality => return None,
    };
    Some(Signal { kind, name: signal.name.clone() })
}

/// Signals that have no quality behind them.
fn unqualified(signals: &[Signal]) -> impl Iterator<Item = &Signal> {
    let behind = signals.iter().skip(1).map(Some).chain([None]);
    let each = signals.iter().zip(behind).filter(|(signal, behind)| {
        let quality = quality_of(signal);
        quality.is_some() && quality.as_ref() != *behind
    });
    each.map(|(signal, _)| signal)
}
