//! Elements that compare power: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Power, ReactivePower};

use super::{AMPERES, DELAY, FUSE_GUARD, STREAM, VOLTS, function, way};
use protection::power::{self, Part};
use protection::voltage::Side;

/// A hundred watts, of a small machine, to what no line carries.
const VA: (f64, f64) = (1e2, 1e10);

pub(super) static POWER: Table = Table {
    what: "a power element",
    name: "power",
    keys: &[
        function(&["power"]),
        STREAM,
        key("side", Choice(&["under", "over"]), Required, "of the limit"),
        key("way", Choice(&["forward", "reverse"]), Required, "which way power counts"),
        key("active", Within(Power, VA.0, VA.1), Optional, "limit, three-phase, or `reactive`"),
        key("reactive", Within(ReactivePower, VA.0, VA.1), Optional, "limit, or `active`"),
        key("voltage_min", VOLTS, Required, "primary `U1` below which it is blocked"),
        key("current_min", AMPERES, Optional, "primary `I1` below which it is blocked"),
        DELAY,
        FUSE_GUARD,
    ],
};

pub(super) fn settings(map: &Mapping<'_>) -> Option<power::Settings> {
    let (part, limit) = match (map.has("active"), map.has("reactive")) {
        (true, false) => (Part::Active, map.quantity("active")),
        (false, true) => (Part::Reactive, map.quantity("reactive")),
        _ => {
            map.wrong(
                "reactive",
                "there must be either `active` or `reactive`",
                "keep one of them",
            );
            return None;
        }
    };
    Some(power::Settings {
        part,
        side: if map.is("side", "under") { Side::Under } else { Side::Over },
        way: way(map),
        pick_up_va: limit?,
        voltage_v_min: map.quantity("voltage_min")?,
        current_a_min: map.quantity("current_min").unwrap_or(0.0),
        delay: map.time("delay")?,
    })
}
