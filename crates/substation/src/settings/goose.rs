//! Reads `goose`: the messages that a relay publishes.

use std::collections::BTreeMap;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;
use iec61850::wire::{Form, Tag};

use super::model::{GooseControl, Mode, Signal, SignalKind};
use super::names::Names;
use super::qualities::{self, Written};
use super::subscriptions;
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
    let signals = signals(map, names, mode);
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

/// Signals such as `trip Q0`, `start I>` and `operate Z1`, and their qualities wherever they stand.
fn signals(map: &Mapping<'_>, names: &Names<'_>, mode: Mode) -> Vec<Signal> {
    let written = Written::all(map, "signals");
    if written.len() > SIGNALS_MAX {
        let what = format!("{} signals do not fit into a frame", written.len());
        map.wrong("signals", what, format!("publish at most {SIGNALS_MAX} in a message"));
    }
    let value = |value: &Written<'_>| match value.is_quality() {
        true => None,
        false => value.parse(|text| signal(text, names)),
    };
    let values: Vec<Option<Signal>> = written.iter().map(value).collect();
    let mut are_qualified = vec![false; values.len()];
    let mut signals = Vec::new();
    for (index, value) in written.iter().enumerate() {
        if value.is_quality() {
            let of = value.parse(|text| qualities::guarded(text, index, &written));
            for guarded in of.iter().flatten() {
                are_qualified[*guarded] = true;
            }
            let quality = of.and_then(|of| value.parse(|_| quality_of(&of, &values)));
            signals.extend(quality.flatten());
        } else {
            signals.extend(values[index].clone());
        }
    }
    let unqualified = values.iter().zip(are_qualified).filter(|(_, is_qualified)| !is_qualified);
    for signal in unqualified.filter_map(|(signal, _)| signal.as_ref()) {
        if mode == Mode::Test {
            let what = format!("{} would not be marked as a test", quoted(&signal.name));
            map.wrong("signals", what, "write `quality` after each signal, or `mode: on`");
        }
    }
    signals
}

/// A signal that is no quality.
pub(super) fn signal(text: &str, names: &Names<'_>) -> Result<Signal, Fault> {
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    if let ("trip", Some((breaker, pole))) = (kind, subscriptions::pole(name, &names.breakers)) {
        if !names.single_pole.iter().any(|known| known == breaker) {
            let what = format!("{} is never tripped in one pole", quoted(breaker));
            return Err(Fault::new(what, "write `trip` and its name alone"));
        }
        return Ok(Signal { kind: SignalKind::TripPole(pole), name: breaker.to_owned() });
    }
    let reclosing = names.elements_of(&["reclosing"]);
    let (kind, what, there) = match kind {
        "trip" => (SignalKind::Trip, ["breaker", "breakers"], &names.breakers),
        "start" => (SignalKind::Start, ["element", "elements"], &names.elements),
        "send" => (
            SignalKind::Start,
            ["teleprotection element", "teleprotection elements"],
            &names.elements_of(&["teleprotection"]),
        ),
        "operate" => (SignalKind::Operate, ["element", "elements"], &names.elements),
        "lockout" => (SignalKind::Lockout, ["reclosing element", "reclosing elements"], &reclosing),
        _ => {
            let fix = "write it as `trip Q0`, `trip Q0 A`, `start I>`, `operate I>`, `send POTT`, \
                       `lockout AR`, `quality` or `quality of 2`";
            return Err(Fault::new(format!("{} is not a signal", quoted(text)), fix));
        }
    };
    Ok(Signal { kind, name: known(name, what, there)? })
}

/// The quality of these signals; nothing when one of them is wrong, which is reported.
fn quality_of(of: &[usize], values: &[Option<Signal>]) -> Result<Option<Signal>, Fault> {
    let quality = |index: &usize| {
        let Signal { kind, name } = values[*index].clone()?;
        let kind = match kind {
            SignalKind::Trip | SignalKind::TripPole(_) => SignalKind::TripQuality,
            _ => SignalKind::ElementQuality,
        };
        Some(Signal { kind, name })
    };
    let Some(qualities) = of.iter().map(quality).collect::<Option<Vec<Signal>>>() else {
        return Ok(None);
    };
    if qualities.iter().any(|quality| *quality != qualities[0]) {
        let fix = "give signals of one element, or trips of one breaker";
        return Err(Fault::new("these signals have different qualities", fix));
    }
    Ok(qualities.into_iter().next())
}
