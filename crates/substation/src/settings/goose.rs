//! Reads `goose`: the messages that a relay publishes.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::wire::{Form, Tag};

use super::cursor::Map;
use super::model::{GooseControl, Mode, Signal, SignalKind};
use super::problems::{listed, quoted};

/// Values that fit into a frame beside the names.
const SIGNALS_MAX: usize = 256;

/// Names that a signal may have.
struct Known {
    elements: Vec<String>,
    breakers: Vec<String>,
}

pub(super) fn read(top: &Map<'_>, mode: Mode) -> BTreeMap<String, GooseControl> {
    let breakers = top.map("trips").map(|trips| trips.names_below("breakers")).unwrap_or_default();
    let known = Known { elements: top.names_below("elements"), breakers };
    let mut messages = BTreeMap::new();
    let Some(all) = top.map("goose") else { return messages };
    for name in all.names() {
        let Some(map) = all.map(&name) else { continue };
        if let Some(message) = one(&map, &known, mode) {
            messages.insert(name, message);
        }
    }
    messages
}

fn one(map: &Map<'_>, known: &Known, mode: Mode) -> Option<GooseControl> {
    let signals = signals(map, known);
    if mode == Mode::Test {
        for signal in unqualified(&signals) {
            let what = format!("{} would not be marked as a test", quoted(&signal.name));
            map.wrong("signals", what, "write `quality` after each signal, or `mode: on`");
        }
    }
    control(map, signals)
}

/// A message that says this; what says it is read here.
pub(super) fn control(map: &Map<'_>, signals: Vec<Signal>) -> Option<GooseControl> {
    let reference = map.visible_text("reference");
    let data_set = map.visible_text("data_set");
    let go_id = map.visible_text("go_id");
    let destination = map.group_address("destination");
    let app_id = map.whole("app_id", 0..=0xbfff);
    let vlan = map.optional_whole("vlan", 0..=4094).unwrap_or(0);
    let priority = map.optional_whole("priority", 0..=7).unwrap_or(4);
    let conf_rev = map.whole("conf_rev", 1..=u32::MAX);
    let repeat_min = map.time("repeat_min", Duration::from_millis(1), Duration::from_secs(1));
    let repeat_max = map.time("repeat_max", Duration::from_millis(10), Duration::from_secs(60));
    let form = match map.optional_choice("encoding", &["ordinary", "fixed_length"]) {
        Some("fixed_length") => Form::FixedLength,
        _ => Form::Ordinary,
    };
    map.finish();
    let (repeat_min, repeat_max) = (repeat_min?, repeat_max?);
    if repeat_max < repeat_min {
        map.wrong("repeat_max", "it is shorter than `repeat_min`", "make it at least `repeat_min`");
    }
    Some(GooseControl {
        reference: reference?,
        data_set: data_set?,
        go_id: go_id?,
        destination: destination?,
        app_id: app_id? as u16,
        tag: Tag::new(priority as u8, vlan as u16),
        conf_rev: conf_rev?,
        repeat_min,
        repeat_max,
        form,
        signals,
    })
}

/// Signals such as `trip Q0`, `start I>` and `operate Z1`.
fn signals(map: &Map<'_>, known: &Known) -> Vec<Signal> {
    let texts = map.texts("signals");
    if texts.len() > SIGNALS_MAX {
        let what = format!("{} signals do not fit into a frame", texts.len());
        map.wrong("signals", what, format!("publish at most {SIGNALS_MAX} in a message"));
    }
    let mut signals: Vec<Signal> = Vec::new();
    for text in &texts {
        if text == "quality" {
            match signals.last().and_then(quality_of) {
                Some(quality) => signals.push(quality),
                None => map.wrong(
                    "signals",
                    "there is no signal before this `quality`",
                    "write it after the signal whose quality it is",
                ),
            }
            continue;
        }
        let (kind, name) = match text.split_once(' ') {
            Some(("trip", name)) => (SignalKind::Trip, name),
            Some(("start", name)) => (SignalKind::Start, name),
            Some(("operate", name)) => (SignalKind::Operate, name),
            _ => {
                let way_out = "write it as `trip Q0`, `start I>`, `operate I>` or `quality`";
                map.wrong("signals", format!("{} is not a signal", quoted(text)), way_out);
                continue;
            }
        };
        let names = match kind {
            SignalKind::Trip => &known.breakers,
            _ => &known.elements,
        };
        if names.iter().any(|known| known == name) {
            signals.push(Signal { kind, name: name.into() });
        } else {
            let what = format!("{} does not exist", quoted(text));
            map.wrong("signals", what, listed(names.iter().map(String::as_str)));
        }
    }
    signals
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
