//! Elements that close breakers, or release that: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Several, Within};
use ::settings::table::{Shape, Table, key};
use ::settings::units::Dimension::{Angle, Frequency, Time};

use super::{FUSE_GUARD, VOLTS, function};
use crate::protection::{PhaseSet, synchro_check};
use crate::settings::texts::TEXT;

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
