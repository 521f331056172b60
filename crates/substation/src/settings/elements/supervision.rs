//! Elements that watch transformers and block others: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Required};
use ::settings::table::Shape::Within;
use ::settings::table::{Table, key};
use ::settings::units::Dimension::Time;

use super::{AMPERES, STREAM, VOLTS, function};
use protection::ct_supervision;

pub(super) static CT_SUPERVISION: Table = Table {
    what: "a supervision of current transformers",
    name: "ct_supervision",
    keys: &[
        function(&["ct_supervision"]),
        STREAM,
        key("residual", AMPERES, Required, "primary `3 I0` above which one may have failed"),
        key("unbalance", VOLTS, Required, "primary `U2` or `U0` above which there is a fault"),
        key("voltage_min", VOLTS, Required, "primary `U1` that it needs"),
        key("delay", Within(Time, 0.0, 10.0), Default("0 s"), "from what it sees to blocking"),
    ],
};

pub(super) fn ct_supervision(map: &Mapping<'_>) -> Option<ct_supervision::Settings> {
    Some(ct_supervision::Settings {
        residual_a: map.quantity("residual")?,
        unbalance_v: map.quantity("unbalance")?,
        voltage_v_min: map.quantity("voltage_min")?,
        delay: map.time("delay")?,
    })
}
