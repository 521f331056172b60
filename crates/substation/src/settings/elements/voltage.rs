//! Elements that compare voltages and frequencies: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Key, Table, key};
use ::settings::units::Dimension::{Frequency, Voltage};

use super::{DELAY, FUSE_GUARD, STREAM, VOLTS, function};
use crate::protection::voltage::{Phases, Side};
use crate::protection::{frequency_limit, voltage};

const SIDE: Key = key("side", Choice(&["under", "over"]), Required, "of the limit");

pub(super) static VOLTAGE: Table = Table {
    what: "a voltage element",
    name: "voltage",
    keys: &[
        function(&["voltage"]),
        STREAM,
        SIDE,
        key("pick_up", VOLTS, Required, "primary voltage from phase to earth"),
        key("phases", Choice(&["any", "all"]), Default("any"), "how many must be beyond it"),
        key("dead_below", Within(Voltage, 0.0, 1e6), Default("0 V"), "primary, of a dead line"),
        DELAY,
        FUSE_GUARD,
    ],
};

pub(super) static FREQUENCY: Table = Table {
    what: "a frequency element",
    name: "frequency",
    keys: &[
        function(&["frequency"]),
        STREAM,
        SIDE,
        key("pick_up", Within(Frequency, 45.0, 65.0), Required, "limit of the frequency"),
        key("voltage_min", VOLTS, Optional, "voltage below which it is blocked, phase to earth"),
        DELAY,
    ],
};

fn side(map: &Mapping<'_>) -> Side {
    if map.is("side", "under") { Side::Under } else { Side::Over }
}

pub(super) fn voltage_settings(map: &Mapping<'_>) -> Option<voltage::Settings> {
    Some(voltage::Settings {
        side: side(map),
        pick_up_v: map.quantity("pick_up")?,
        phases: if map.is("phases", "all") { Phases::All } else { Phases::Any },
        delay: map.time("delay")?,
        dead_below_v: map.quantity("dead_below")?,
    })
}

pub(super) fn frequency(map: &Mapping<'_>) -> Option<frequency_limit::Settings> {
    let (pick_up_hz, delay) = (map.quantity("pick_up")?, map.time("delay")?);
    let voltage_v_min = map.quantity("voltage_min").unwrap_or(0.0);
    Some(frequency_limit::Settings { side: side(map), pick_up_hz, voltage_v_min, delay })
}
