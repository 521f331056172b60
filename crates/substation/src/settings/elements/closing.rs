//! Elements that close breakers, or release that: their keys, and how they are read.

use std::collections::BTreeMap;
use std::time::Duration;

use ::settings::Fault;
use ::settings::cursor::Mapping;
use ::settings::problems::quoted;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Several, Within};
use ::settings::table::{Shape, Table, key};
use ::settings::units::Dimension::{Angle, Frequency, Time};

use super::{FUSE_GUARD, VOLTS, breaker, check_poles, check_position, function};
use crate::settings::model::{Element, Function, ReclosingElement};
use crate::settings::names::Names;
use crate::settings::texts::{TEXT, YES_NO, known};
use protection::trip::Matrix;
use protection::{PhaseSet, reclosing, synchro_check};

pub(super) static SYNCHRO_CHECK: Table = Table {
    what: "a synchro-check element",
    name: "synchro_check",
    keys: &[
        function(&["synchro_check"]),
        key("line", TEXT, Required, "stream with the voltages of the line"),
        key("bus", TEXT, Required, "stream with the voltages of the busbar"),
        key("phases", Choice(&["all", "a", "b", "c"]), Default("all"), "that are compared"),
        key("live", VOLTS, Required, "primary, to earth, from which a side is live"),
        key("dead", VOLTS, Required, "primary, to earth, up to which a side is dead"),
        key("difference", VOLTS, Required, "largest, of the magnitudes, primary"),
        key("slip", Within(Frequency, 0.01, 2.0), Required, "largest difference of frequencies"),
        key("angle", Within(Angle, 1.0, 90.0), Required, "largest difference of angles"),
        key("energise", Several(&SIDES), Optional, "what may be dead; nothing without it"),
        key("hold", Within(Time, 0.0, 60.0), Required, "how long all must hold"),
        key("closing", Within(Time, 0.0, 0.5), Default("0 s"), "time that the breaker takes"),
        FUSE_GUARD,
    ],
};

const SIDES: Shape = Choice(&["dead_line", "dead_bus", "both_dead"]);

pub(super) fn synchro_check_settings(map: &Mapping<'_>) -> Option<synchro_check::Settings> {
    let sides = ["line", "bus"].map(|key| map.text(key).map(|name| name.value));
    if sides[0].is_some() && sides[0] == sides[1] {
        map.wrong("bus", "both sides are one stream", "give that of the other side of the breaker");
    }
    let (live_v_min, dead_v_max) = (map.quantity("live")?, map.quantity("dead")?);
    if dead_v_max >= live_v_min {
        map.wrong("dead", "it is not below `live`", "make it lower than `live`");
    }
    let energise = map.parse_all("energise", |text| Ok(text.to_owned()));
    let may = |side: &str| energise.iter().any(|named| named == side);
    let phases = match map.choice("phases")?.value {
        "a" => PhaseSet::phase(0),
        "b" => PhaseSet::phase(1),
        "c" => PhaseSet::phase(2),
        _ => PhaseSet::ALL,
    };
    Some(synchro_check::Settings {
        phases,
        live_v_min,
        dead_v_max,
        difference_v_max: map.quantity("difference")?,
        slip_hz_max: map.quantity("slip")?,
        angle_deg_max: map.quantity("angle")?,
        energise: synchro_check::Energise {
            dead_line: may("dead_line"),
            dead_bus: may("dead_bus"),
            both_dead: may("both_dead"),
        },
        hold: map.time("hold")?,
        closing: map.time("closing")?,
    })
}

const DEAD_TIME: Shape = Within(Time, 0.1, 300.0);
/// Shots of a cycle, as usual in the trade.
const SHOTS_MAX: usize = 4;

pub(super) static RECLOSING: Table = Table {
    what: "a reclosing element",
    name: "reclosing",
    keys: &[
        function(&["reclosing"]),
        key("breaker", TEXT, Required, "breaker that it closes"),
        key("initiate_by", Several(&TEXT), Required, "elements whose trips begin a cycle"),
        key("shots", Several(&DEAD_TIME), Optional, "dead times after trips of all poles"),
        key("dead_time_single", DEAD_TIME, Optional, "of the first shot after a trip of one pole"),
        key("reclaim", Within(Time, 0.1, 300.0), Required, "closed for so long, it is ready"),
        key("release", TEXT, Optional, "`synchro_check` that it needs, but for one pole"),
        key("needs_ready", YES_NO, Default("no"), "`yes`: a `ready` that the breaker has energy"),
        key("open_within", Within(Time, 0.05, 10.0), Default("500 ms"), "trip and opening"),
        key("release_within", Within(Time, 0.0, 600.0), Default("5 s"), "after the dead time"),
        key("close_within", Within(Time, 0.02, 10.0), Default("500 ms"), "the longest order"),
        key("open_pole_blocks", Several(&TEXT), Optional, "elements blocked with one pole open"),
    ],
};

pub(super) static POLE_DISCORDANCE: Table = Table {
    what: "a pole discordance element",
    name: "pole_discordance",
    keys: &[
        function(&["pole_discordance"]),
        key("breaker", TEXT, Required, "breaker whose poles it compares"),
        key("delay", Within(Time, 0.05, 60.0), Required, "from poles that differ to operation"),
    ],
};

pub(super) fn pole_discordance(map: &Mapping<'_>, names: &Names<'_>) -> Option<Function> {
    let breaker = breaker(map, names)?;
    Some(Function::PoleDiscordance { breaker, delay: map.time("delay")? })
}

pub(super) fn reclosing_element(map: &Mapping<'_>, names: &Names<'_>) -> Option<ReclosingElement> {
    let element = |text: &str| known(text, ["element", "elements"], &names.elements);
    let checks = names.elements_of(&["synchro_check"]);
    let check =
        |text: &str| known(text, ["synchro-check element", "synchro-check elements"], &checks);
    let breaker = breaker(map, names);
    let initiate_by = map.parse_all("initiate_by", element);
    // A current that one phase lacks looks like that of a transformer that failed.
    let misled = names.elements_of(&["ct_supervision"]);
    let others = names.elements_of(&super::TRIP_NOTHING);
    let is_other = |text: &str| others.contains(&text) && !misled.contains(&text);
    let open_pole_blocks = map.parse_all("open_pole_blocks", |text| match is_other(text) {
        true => {
            let what = format!("{} is not misled by an open pole", quoted(text));
            Err(Fault::new(what, "name elements that trip, or `ct_supervision` elements"))
        }
        false => element(text),
    });
    let release = map.parse("release", check).map(|name| name.value);
    let shots: Vec<Duration> = map
        .items("shots")
        .iter()
        .filter_map(|item| item.quantity().map(Duration::from_secs_f64))
        .collect();
    if shots.len() > SHOTS_MAX {
        let what = format!("{} shots", shots.len());
        map.wrong("shots", what, format!("give at most {SHOTS_MAX}"));
    }
    let dead_time_single = map.time("dead_time_single");
    if !map.has("shots") && !map.has("dead_time_single") {
        let fix = "give dead times of `shots`, `dead_time_single`, or both";
        map.wrong("shots", "it would never close", fix);
    }
    if dead_time_single.is_none() {
        map.refuse(&["open_pole_blocks"], "this is for `dead_time_single`");
    }
    Some(ReclosingElement {
        breaker: breaker?,
        initiate_by,
        release,
        needs_ready: map.is("needs_ready", "yes"),
        open_pole_blocks,
        times: reclosing::Settings {
            shots,
            dead_time_single,
            reclaim: map.time("reclaim")?,
            open_within: map.time("open_within")?,
            release_within: map.time("release_within")?,
            close_within: map.time("close_within")?,
        },
    })
}

/// What reclosing elements need elsewhere in the settings: a trip that ends, a row of the trip matrix,
/// messages that tell where the contacts are. Without them they would lock out at the first trip.
pub(in crate::settings) fn check(
    top: &Mapping<'_>,
    names: &Names<'_>,
    elements: &BTreeMap<String, Element>,
    trips: &Matrix,
) {
    let mut breakers: Vec<&str> = Vec::new();
    for (name, cursor) in top.named("elements") {
        let Some(map) = cursor.form() else { continue };
        let element = match elements.get(name.value).map(|element| &element.function) {
            Some(Function::Reclosing(element)) => element,
            Some(Function::PoleDiscordance { breaker, .. }) => {
                check_poles(&map, names, breaker);
                continue;
            }
            _ => continue,
        };
        let breaker = element.breaker.as_str();
        if breakers.contains(&breaker) {
            map.wrong("breaker", "another element closes it already", "keep one of them");
        }
        breakers.push(breaker);
        check_trips(&map, element, trips);
        if element.times.dead_time_single.is_some() {
            check_poles(&map, names, breaker);
        } else {
            check_position(&map, names, breaker);
        }
        if element.needs_ready && names.told(&format!("ready {}", name.value)) == 0 {
            let fix = format!("subscribe to a message with `ready {}`", name.value);
            map.wrong("needs_ready", "no message tells it", fix);
        }
    }
}

fn check_trips(map: &Mapping<'_>, element: &ReclosingElement, trips: &Matrix) {
    let breaker = &element.breaker;
    let row = trips.elements_by_breaker.get(breaker);
    for name in &element.initiate_by {
        if !row.is_some_and(|row| row.contains(name)) {
            let what = format!("{} does not trip {}", quoted(name), quoted(breaker));
            map.wrong("initiate_by", what, format!("add it to the row of `{breaker}` in `trips`"));
        }
    }
    if trips.lockout {
        let what = "trips stay (`lockout: yes`), so the breaker could not be closed";
        map.wrong("breaker", what, "write `lockout: no` in `trips`");
    }
    if element.times.open_within <= trips.pulse_min {
        let what = "it is not longer than `pulse_min`, so each trip would be too long";
        map.wrong("open_within", what, "make it longer");
    }
    let is_single = trips.single_pole.contains_key(breaker);
    if element.times.dead_time_single.is_some() && !is_single {
        let what = format!("{} is never tripped in one pole", quoted(breaker));
        map.wrong("dead_time_single", what, format!("add `single_pole: {breaker}` to `trips`"));
    }
}
