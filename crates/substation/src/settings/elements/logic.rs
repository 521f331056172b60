//! Elements that look at what other elements and other devices say: their keys, and how they are read.

use std::collections::BTreeMap;
use std::time::Duration;

use ::settings::cursor::{Cursor, Mapping};
use ::settings::problems::quoted;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Several, Within};
use ::settings::table::{Key, Table, key};
use ::settings::units::Dimension::{Portion, Time};

use super::{AMPERES, STREAM, VOLTS, breaker, check_position, function};
use crate::settings::model::{Element, Function, Pilot, SwitchOnto};
use crate::settings::names::Names;
use crate::settings::texts::{TEXT, known};
use protection::direction::Way;
use protection::teleprotection::{self, Scheme};
use protection::{breaker_supervision, switch_onto_fault, weak_infeed};

const BREAKER: Key = key("breaker", TEXT, Optional, "whose position a message tells");

pub(super) static SWITCH_ONTO_FAULT: Table = Table {
    what: "a switch-onto-fault element",
    name: "switch_onto_fault",
    keys: &[
        function(&["switch_onto_fault"]),
        STREAM,
        BREAKER,
        key("dead_below", VOLTS, Optional, "primary, of a dead line; with transformers on it"),
        key("current_min", AMPERES, Required, "primary, above which the line is alive"),
        key("dead_time", Within(Time, 0.05, 600.0), Default("200 ms"), "of a line before it is on"),
        key("armed", Within(Time, 0.05, 5.0), Default("500 ms"), "how long, once the line is on"),
        key("pick_up", AMPERES, Optional, "primary current above which it operates"),
        key("second_harmonic_max", Within(Portion, 0.05, 0.5), Default("15 %"), "blocks above"),
        key("elements", Several(&TEXT), Optional, "whose start operates it"),
    ],
};

pub(super) static TELEPROTECTION: Table = Table {
    what: "a teleprotection element",
    name: "teleprotection",
    keys: &[
        function(&["teleprotection"]),
        STREAM,
        key(
            "scheme",
            Choice(&["pott", "putt", "dcb"]),
            Required,
            "what is sent, and what it means",
        ),
        key("forward", Several(&TEXT), Required, "elements that look ahead, beyond the line"),
        key("underreaching", Several(&TEXT), Optional, "elements that send, with `putt`"),
        key("reverse", Several(&TEXT), Optional, "elements that look behind"),
        key("coordination", Within(Time, 0.0, 0.5), Default("0 s"), "least time before a trip"),
        key("reversal", Within(Time, 0.0, 0.5), Default("60 ms"), "of the guard after `reverse`"),
        key("unheard", Choice(&["wait", "trip"]), Default("wait"), "with `dcb`"),
        key("weak_infeed", Choice(&["no", "echo", "echo_and_trip"]), Default("no"), "with `pott`"),
        key("weak_delay", Within(Time, 0.005, 0.5), Default("40 ms"), "from a signal to its echo"),
        key("weak_below", VOLTS, Optional, "primary, phase to earth, for `echo_and_trip`"),
        BREAKER,
    ],
};

pub(super) static BREAKER_SUPERVISION: Table = Table {
    what: "a breaker supervision element",
    name: "breaker_supervision",
    keys: &[
        function(&["breaker_supervision"]),
        key("breaker", TEXT, Required, "whose position a message tells"),
        key("opening_max", Within(Time, 0.005, 10.0), Required, "from a trip to open contacts"),
        key("closing_max", Within(Time, 0.005, 10.0), Default("1 s"), "from a closing order"),
        key("unknown_max", Within(Time, 0.005, 60.0), Default("5 s"), "of a position"),
        key("circuit_delay", Within(Time, 0.0, 60.0), Default("3 s"), "of its trip circuit"),
    ],
};

/// Functions of elements that see faults of a line, in whatever direction.
const OF_LINES: [&str; 3] = ["overcurrent", "directional_overcurrent", "distance"];
/// Those of them that know a direction.
const DIRECTIONAL: [&str; 2] = ["directional_overcurrent", "distance"];

/// The breaker, if one is given; a message must tell where it is.
fn told_breaker(map: &Mapping<'_>, names: &Names<'_>) -> Option<String> {
    let name = breaker(map, names)?;
    check_position(map, names, &name);
    Some(name)
}

/// Elements of these functions that a key names.
fn elements(map: &Mapping<'_>, names: &Names<'_>, key: &str, functions: &[&str]) -> Vec<String> {
    let there = names.elements_of(functions);
    let words = functions.join(" or ");
    let what = [&*format!("{words} element"), &*format!("{words} elements")];
    map.parse_all(key, |text| known(text, what, &there))
}

pub(super) fn switch_onto(map: &Mapping<'_>, names: &Names<'_>) -> Option<SwitchOnto> {
    let breaker = told_breaker(map, names);
    if !map.has("breaker") && !map.has("dead_below") {
        let what = "nothing tells when the line is off";
        map.wrong("breaker", what, "give `breaker`; with transformers on the line, `dead_below`");
    }
    if !map.has("pick_up") && !map.has("elements") {
        map.wrong("pick_up", "nothing operates it", "give `pick_up`, `elements` or both");
    }
    let elements = elements(map, names, "elements", &OF_LINES);
    let settings = switch_onto_fault::Settings {
        current_a_min: map.quantity("current_min")?,
        dead_below_v: map.quantity("dead_below"),
        dead_time: map.time("dead_time")?,
        armed: map.time("armed")?,
        pick_up_a: map.quantity("pick_up"),
        second_harmonic_max: map.quantity("second_harmonic_max")?,
    };
    if settings.pick_up_a.is_some_and(|pick_up_a| pick_up_a <= settings.current_a_min) {
        let what = "it is not above `current_min`";
        map.wrong("pick_up", what, "give a current that no healthy line draws");
    }
    Some(SwitchOnto { breaker, elements, settings })
}

pub(super) fn pilot(map: &Mapping<'_>, names: &Names<'_>) -> Option<Pilot> {
    let named = |key| elements(map, names, key, &DIRECTIONAL);
    let (forward, underreaching, reverse) =
        (named("forward"), named("underreaching"), named("reverse"));
    let breaker = told_breaker(map, names);
    let coordination = map.time("coordination")?;
    let scheme = match map.choice("scheme")?.value {
        "pott" => {
            map.refuse(&["underreaching"], "this is for `putt`");
            map.refuse(&["unheard"], "this is for `dcb`");
            Scheme::Pott(weak_end(map)?)
        }
        "putt" => {
            map.refuse(&["unheard"], "this is for `dcb`");
            not_weak(map);
            map.require(&["underreaching"]);
            Scheme::Putt
        }
        _ => {
            map.refuse(&["underreaching"], "this is for `putt`");
            not_weak(map);
            map.require(&["reverse"]);
            if coordination == Duration::ZERO {
                let what = "`dcb` trips before the other end can block";
                map.wrong("coordination", what, "give more than its signal takes, such as `30 ms`");
            }
            Scheme::Dcb { trips_unheard: map.is("unheard", "trip") }
        }
    };
    let settings =
        teleprotection::Settings { scheme, coordination, reversal: map.time("reversal")? };
    Some(Pilot { breaker, forward, underreaching, reverse, settings })
}

fn weak_end(map: &Mapping<'_>) -> Option<Option<weak_infeed::Settings>> {
    let word = map.choice("weak_infeed")?.value;
    if word == "no" {
        map.refuse(&["weak_delay", "weak_below"], "this is for `weak_infeed`");
        return Some(None);
    }
    // An echo of a fault behind would trip the other end.
    map.require(&["reverse"]);
    if word == "echo" {
        map.refuse(&["weak_below"], "this is for `weak_infeed: echo_and_trip`");
    } else {
        map.require(&["weak_below"]);
    }
    let trip_below_v = map.quantity("weak_below");
    Some(Some(weak_infeed::Settings { delay: map.time("weak_delay")?, trip_below_v }))
}

fn not_weak(map: &Mapping<'_>) {
    map.refuse(&["weak_infeed", "weak_delay", "weak_below"], "this is for `pott`");
}

pub(super) fn breaker_supervision(map: &Mapping<'_>, names: &Names<'_>) -> Option<Function> {
    let breaker = told_breaker(map, names);
    let settings = breaker_supervision::Settings {
        opening_max: map.time("opening_max")?,
        closing_max: map.time("closing_max")?,
        unknown_max: map.time("unknown_max")?,
        circuit_delay: map.time("circuit_delay")?,
    };
    Some(Function::BreakerSupervision { breaker: breaker?, settings })
}

/// Elements that a teleprotection element names, by key, and where they must look.
fn directions(pilot: &Pilot) -> [(&'static str, &[String], Way); 3] {
    [
        ("forward", &pilot.forward, Way::Forward),
        ("underreaching", &pilot.underreaching, Way::Forward),
        ("reverse", &pilot.reverse, Way::Reverse),
    ]
}

/// Whether an element looks there; one that knows no direction looks everywhere.
fn looks(element: &Element, way: Way) -> bool {
    match &element.function {
        Function::Distance(settings) => settings.way == way,
        Function::Directional(settings) => settings.way == way,
        _ => true,
    }
}

/// Reports what a change of an element in another setting group takes from those of `first` that name
/// it. They are the same in all groups, so it is the change that is wrong.
pub(in crate::settings) fn check_change(
    change: &Cursor<'_>,
    name: &str,
    changed: Option<&Element>,
    first: &BTreeMap<String, Element>,
) {
    for (by, element) in first {
        for (key, way) in needs(&element.function, name) {
            let by = quoted(by);
            let Some(changed) = changed else {
                let what = format!("it is off, but {by} needs it (`{key}`)");
                change.place.wrong(what, "leave it in service in all groups");
                continue;
            };
            let given = change.keys().find(|(key, _)| *key == "way");
            if let Some((_, place)) = given.filter(|_| way.is_some_and(|way| !looks(changed, way)))
            {
                let what = format!("it looks the other way than {by} takes it to (`{key}`)");
                place.wrong(what, "leave it out, or add another element");
            }
        }
    }
}

/// Keys under which a function names an element that it cannot do its work without, each with the
/// direction in which that must look. What initiates reclosing, or is blocked by it, is not among
/// them: while it is off it trips nothing.
fn needs(function: &Function, name: &str) -> Vec<(&'static str, Option<Way>)> {
    let is_named = |names: &[String]| names.iter().any(|each| each == name);
    match function {
        Function::Teleprotection(pilot) => directions(pilot)
            .into_iter()
            .filter(|(_, names, _)| is_named(names))
            .map(|(key, _, way)| (key, Some(way)))
            .collect(),
        Function::SwitchOntoFault(settings) if is_named(&settings.elements) => {
            vec![("elements", None)]
        }
        Function::Reclosing(element) if element.release.as_deref() == Some(name) => {
            vec![("release", None)]
        }
        _ => Vec::new(),
    }
}

/// What can be said when all elements are known: a teleprotection element must hear the other end, and
/// what it names must look where it takes it to.
pub(super) fn after(top: &Mapping<'_>, names: &Names<'_>, elements: &BTreeMap<String, Element>) {
    for (name, cursor) in top.named("elements") {
        let Some(map) = cursor.form().filter(|map| map.table.name == "teleprotection") else {
            continue;
        };
        let name = name.value;
        match names.told(&format!("receive {name}")) {
            0 => {
                let what = format!("no message tells {} what the other end sends", quoted(name));
                map.wrong("scheme", what, format!("write `receive {name}` under `subscriptions`"));
            }
            1 => {}
            // Either would permit, where a line with three ends needs both.
            _ => {
                let what = format!("several values are what {} receives", quoted(name));
                map.wrong("scheme", what, "keep one of them: a scheme is for two ends");
            }
        }
        let Some(Function::Teleprotection(pilot)) = elements.get(name).map(|each| &each.function)
        else {
            continue;
        };
        for (key, named, way) in directions(pilot) {
            let fits = |name: &&String| elements.get(*name).is_none_or(|each| looks(each, way));
            if let Some(other) = named.iter().find(|name| !fits(name)) {
                let what = format!("{} looks the other way", quoted(other));
                map.wrong(key, what, "name elements whose `way` is that of this key");
            }
        }
    }
}
