//! Elements that know temperatures from currents: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Required};
use ::settings::table::Shape::Within;
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Portion, Time};

use super::{AMPERES, STREAM, function};
use protection::thermal;

pub(super) static THERMAL: Table = Table {
    what: "a thermal overload element",
    name: "thermal",
    keys: &[
        function(&["thermal"]),
        STREAM,
        key("current_max", AMPERES, Required, "primary current that may flow for ever"),
        key("time_constant", Within(Time, 10.0, 86_400.0), Required, "of what is heated"),
        key("alarm", Within(Portion, 0.5, 0.99), Default("90 %"), "of the heat: it starts"),
        key("release", Within(Portion, 0.5, 0.99), Default("95 %"), "of the heat: it drops off"),
        key("initial", Within(Portion, 0.0, 0.99), Default("0 %"), "heat when the relay starts"),
    ],
};

pub(super) fn settings(map: &Mapping<'_>) -> Option<thermal::Settings> {
    Some(thermal::Settings {
        current_a_max: map.quantity("current_max")?,
        time_constant: map.time("time_constant")?,
        alarm: map.quantity("alarm")?,
        release: map.quantity("release")?,
        initial: map.quantity("initial")?,
    })
}
