//! The protection elements: their keys, with the range that makes sense for each, and how they are
//! read; a file for each family.
//!
//! All currents, voltages and impedances are those of the primary side, root mean square. Currents
//! count out of the busbar, into what is protected.

pub(super) mod closing;
mod current;
mod equipment;
mod line;
pub(super) mod logic;
mod power;
mod supervision;
mod thermal;
mod voltage;

use std::collections::BTreeMap;

use ::settings::cursor::Mapping;
use ::settings::problems::quoted;
use ::settings::table::Need::{Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Forms, Key, Shape, key};
use ::settings::units::Dimension::{Current, Impedance, Time, Voltage};

use super::model::{Element, Function};
use super::names::Names;
use super::subscriptions::POLES;
use super::texts::{TEXT, known};
use protection::direction::Way;

pub(super) static ELEMENT: Forms = Forms {
    what: "functions",
    item: "element",
    forms: &[
        &current::OVERCURRENT,
        &current::DIRECTIONAL_OVERCURRENT,
        &voltage::VOLTAGE,
        &voltage::FREQUENCY,
        &line::DISTANCE,
        &equipment::DIFFERENTIAL,
        &equipment::ADMITTANCE,
        &equipment::BREAKER_FAILURE,
        &line::FUSE_FAILURE,
        &line::POWER_SWING,
        &current::BROKEN_CONDUCTOR,
        &voltage::FREQUENCY_RATE,
        &power::POWER,
        &supervision::CT_SUPERVISION,
        &logic::SWITCH_ONTO_FAULT,
        &logic::TELEPROTECTION,
        &logic::BREAKER_SUPERVISION,
        &thermal::THERMAL,
        &equipment::RESTRICTED_EARTH,
        &closing::SYNCHRO_CHECK,
        &closing::RECLOSING,
        &closing::POLE_DISCORDANCE,
    ],
};

/// Functions that release, block or alarm.
pub(super) const TRIP_NOTHING: [&str; 6] = [
    "breaker_supervision",
    "ct_supervision",
    "fuse_failure",
    "power_swing",
    "reclosing",
    "synchro_check",
];

const AMPERES: Shape = Within(Current, 1.0, 100_000.0);
const VOLTS: Shape = Within(Voltage, 1.0, 1e6);
pub(super) const OHMS: Shape = Within(Impedance, 0.01, 1000.0);
const DELAY_MAX: Shape = Within(Time, 0.0, 300.0);

const STREAM: Key = key("stream", TEXT, Required, "the stream that it uses");
const PICK_UP_A: Key = key("pick_up", AMPERES, Required, "primary current above which it starts");
const DELAY: Key = key("delay", DELAY_MAX, Required, "from start to operation");
const WAY: Key = key("way", Choice(&["forward", "reverse"]), Required, "where it looks");
const FUSE_GUARD: Key =
    key("fuse_failure", TEXT, Optional, "element that blocks it while voltages are not trusted");
const CT_GUARD: Key =
    key("ct_supervision", TEXT, Optional, "element that blocks it while currents are not trusted");
const CURRENT_MIN: Key = key("current_min", AMPERES, Required, "primary current that it needs");

/// The key by which the form of an element is chosen.
const fn function(word: &'static [&'static str; 1]) -> Key {
    key("function", Choice(word), Required, "what the element does")
}

pub(super) fn read(top: &Mapping<'_>, names: &Names<'_>) -> BTreeMap<String, Element> {
    let elements = top.by_name("elements", |cursor| element(&cursor.form()?, names));
    logic::after(top, names, &elements);
    elements
}

/// An element with all its settings.
pub(super) fn element(map: &Mapping<'_>, names: &Names<'_>) -> Option<Element> {
    let stream = |text: &str| known(text, ["stream", "streams"], &names.streams);
    let one = |key: &str| map.parse(key, stream).map(|name| name.value);
    let streams: Vec<String> = match map.table.name {
        "differential" => map.parse_all("streams", stream),
        "synchro_check" => ["line", "bus"].into_iter().filter_map(one).collect(),
        _ => map.table.find("stream").and_then(|_| one("stream")).into_iter().collect(),
    };
    let guards = guards(map, names);
    let function = match map.table.name {
        "overcurrent" => current::overcurrent_settings(map)
            .map(|settings| Function::Overcurrent { of: current::quantity(map), settings }),
        "directional_overcurrent" => current::directional(map).map(Function::Directional),
        "voltage" => voltage::voltage_settings(map).map(Function::Voltage),
        "frequency" => voltage::frequency(map).map(Function::Frequency),
        "distance" => line::distance_settings(map).map(Function::Distance),
        "differential" => equipment::differential_settings(map),
        "admittance" => equipment::admittance_settings(map).map(Function::Admittance),
        "fuse_failure" => line::fuse_failure_settings(map).map(Function::FuseFailure),
        "power_swing" => line::power_swing_settings(map).map(Function::PowerSwing),
        "broken_conductor" => current::broken_conductor(map).map(Function::BrokenConductor),
        "frequency_rate" => voltage::frequency_rate(map).map(Function::FrequencyRate),
        "power" => power::settings(map).map(Function::Power),
        "ct_supervision" => supervision::ct_supervision(map).map(Function::CtSupervision),
        "switch_onto_fault" => logic::switch_onto(map, names).map(Function::SwitchOntoFault),
        "teleprotection" => logic::pilot(map, names).map(Function::Teleprotection),
        "breaker_supervision" => logic::breaker_supervision(map, names),
        "thermal" => thermal::settings(map).map(Function::Thermal),
        "restricted_earth" => equipment::restricted_earth(map).map(Function::RestrictedEarth),
        "synchro_check" => closing::synchro_check_settings(map).map(Function::SynchroCheck),
        "reclosing" => closing::reclosing_element(map, names).map(Function::Reclosing),
        "pole_discordance" => closing::pole_discordance(map, names),
        _ => equipment::breaker_failure_settings(map, names),
    };
    Some(Element { streams, function: function?, guards })
}

fn way(map: &Mapping<'_>) -> Way {
    if map.is("way", "forward") { Way::Forward } else { Way::Reverse }
}

/// The breaker of an element, if it is given and there.
pub(super) fn breaker(map: &Mapping<'_>, names: &Names<'_>) -> Option<String> {
    Some(map.parse("breaker", |text| names.breaker(text))?.value)
}

/// What messages say where each pole of a breaker is.
fn poles(breaker: &str) -> [String; 3] {
    POLES.map(|pole| format!("position {breaker} {pole}"))
}

/// Reports that no message tells where a breaker is. It is known, as for [`crate::engine::Engine`],
/// from each of its poles once one of them is told, else from all together.
fn check_position(map: &Mapping<'_>, names: &Names<'_>, breaker: &str) {
    let whole = format!("position {breaker}");
    if poles(breaker).iter().any(|pole| names.told(pole) > 0) {
        check_poles(map, names, breaker);
    } else if names.told(&whole) == 0 {
        let what = format!("no message tells the position of {}", quoted(breaker));
        map.wrong("breaker", what, format!("write `{whole}` under `subscriptions`"));
    }
}

/// Reports that no message tells where each pole of a breaker is.
fn check_poles(map: &Mapping<'_>, names: &Names<'_>, breaker: &str) {
    let poles = poles(breaker);
    if !poles.iter().all(|pole| names.told(pole) > 0) {
        let [a, b, c] = poles;
        let fix = format!("write `{a}`, `{b}` and `{c}` under `subscriptions`");
        map.wrong("breaker", "no message tells which pole is open", fix);
    }
}

/// Elements on the same stream, or on one of several, that block this one.
fn guards(map: &Mapping<'_>, names: &Names<'_>) -> Vec<String> {
    let guard = |kind: &&str| {
        map.table.find(kind)?;
        let one = |key: &str| map.text(key).into_iter().map(|name| name.value).collect();
        let streams: Vec<String> = match map.table.name {
            "differential" => map.parse_all("streams", |text| Ok(text.to_owned())),
            "synchro_check" => one("line"),
            _ => one("stream"),
        };
        let on = |stream: &String| names.elements_with(kind, Some(stream));
        let there: Vec<&str> = streams.iter().flat_map(on).collect();
        let what = [
            &*format!("element with `function: {kind}` on its stream"),
            &*format!("elements with `function: {kind}` on its stream"),
        ];
        Some(map.parse(kind, |text| known(text, what, &there))?.value)
    };
    ["fuse_failure", "power_swing", "ct_supervision"].iter().filter_map(guard).collect()
}
