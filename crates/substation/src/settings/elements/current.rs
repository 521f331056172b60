//! Elements that compare currents: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Key, Table, key};
use ::settings::units::Dimension::{Angle, Number, Portion, Voltage};

use super::{
    AMPERES, CT_GUARD, DELAY, DELAY_MAX, FUSE_GUARD, PICK_UP_A, STREAM, WAY, function, way,
};
use crate::settings::model::Quantity;
use protection::broken_conductor;
use protection::curve::{Curve, Reset};
use protection::direction::{self, Polarisation};
use protection::overcurrent::{self, Timing};

const CURVES: [&str; Curve::ALL.len()] = {
    let mut names = [""; Curve::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Curve::ALL[at].name();
        at += 1;
    }
    names
};

const DEFINITE: Key = key("delay", DELAY_MAX, Optional, "from start to operation, or `curve`");
const CURVE: Key = key(
    "curve",
    Choice(&CURVES),
    Optional,
    "inverse-time curve, up to 30 times `pick_up`; or `delay`",
);
const K: Key = key("k", Within(Number, 0.01, 15.0), Optional, "multiplier of the curve");
const RESET: Key = key(
    "reset",
    DELAY_MAX,
    Optional,
    "from a whole turn of the disc to none, without current; at once without it",
);
const SECOND_HARMONIC: Key = key(
    "second_harmonic_max",
    Within(Portion, 0.05, 0.5),
    Optional,
    "share of the second harmonic above which it is blocked",
);
const OF: Key = key("of", Choice(&["phases", "residual"]), Default("phases"), "phase, or `3 I0`");

const QUANTITIES: [&str; 3] = ["phases", "residual", "negative_sequence"];

pub(super) static OVERCURRENT: Table = Table {
    what: "an overcurrent element",
    name: "overcurrent",
    keys: &[
        function(&["overcurrent"]),
        STREAM,
        key("of", Choice(&QUANTITIES), Default("phases"), "phase, `3 I0`, or `I2`"),
        PICK_UP_A,
        DEFINITE,
        CURVE,
        K,
        RESET,
        SECOND_HARMONIC,
        CT_GUARD,
    ],
};

pub(super) static DIRECTIONAL_OVERCURRENT: Table = Table {
    what: "a directional overcurrent element",
    name: "directional_overcurrent",
    keys: &[
        function(&["directional_overcurrent"]),
        STREAM,
        OF,
        PICK_UP_A,
        DEFINITE,
        CURVE,
        K,
        RESET,
        SECOND_HARMONIC,
        WAY,
        key(
            "characteristic",
            Within(Angle, -90.0, 90.0),
            Required,
            "by which current lags its voltage in the middle of ahead: about the angle of the line",
        ),
        key("polarising_min", Within(Voltage, 1.0, 1e5), Required, "primary voltage that it needs"),
        FUSE_GUARD,
        CT_GUARD,
    ],
};

pub(super) static BROKEN_CONDUCTOR: Table = Table {
    what: "a broken conductor element",
    name: "broken_conductor",
    keys: &[
        function(&["broken_conductor"]),
        STREAM,
        key("ratio", Within(Portion, 0.1, 1.0), Required, "`I2 / I1` above which it starts"),
        key("current_min", AMPERES, Required, "primary `I1` that it needs"),
        DELAY,
        CT_GUARD,
    ],
};

/// Which current an overcurrent element compares.
pub(super) fn quantity(map: &Mapping<'_>) -> Quantity {
    match map.choice("of").map(|word| word.value) {
        Some("residual") => Quantity::Residual,
        Some("negative_sequence") => Quantity::NegativeSequence,
        _ => Quantity::Phases,
    }
}

pub(super) fn overcurrent_settings(map: &Mapping<'_>) -> Option<overcurrent::Settings> {
    let timing = match (map.has("delay"), map.has("curve")) {
        (true, false) => {
            map.refuse(&["k", "reset"], "this is for `curve`");
            map.time("delay").map(Timing::Definite)
        }
        (false, true) => {
            map.require(&["k"]);
            inverse(map)
        }
        _ => {
            map.wrong("curve", "there must be either `delay` or `curve`", "keep one of them");
            None
        }
    };
    if map.is("of", "phases") {
        let what = "a current that is missing does not mislead phases";
        map.refuse(&["ct_supervision"], what);
    }
    Some(overcurrent::Settings {
        pick_up_a: map.quantity("pick_up")?,
        timing: timing?,
        second_harmonic_max: map.quantity("second_harmonic_max"),
    })
}

fn inverse(map: &Mapping<'_>) -> Option<Timing> {
    let name = map.choice("curve")?.value;
    let curve = Curve::ALL.into_iter().find(|known| known.name() == name)?;
    let reset = map.time("reset").map_or(Reset::Instantaneous, Reset::Inverse);
    Some(Timing::Inverse(curve, map.quantity("k")?, reset))
}

pub(super) fn directional(map: &Mapping<'_>) -> Option<direction::Settings> {
    let is_residual = map.is("of", "residual");
    Some(direction::Settings {
        overcurrent: overcurrent_settings(map)?,
        way: way(map),
        polarisation: if is_residual { Polarisation::Residual } else { Polarisation::Phases },
        characteristic_deg: map.quantity("characteristic")?,
        polarising_v_min: map.quantity("polarising_min")?,
    })
}

pub(super) fn broken_conductor(map: &Mapping<'_>) -> Option<broken_conductor::Settings> {
    Some(broken_conductor::Settings {
        ratio: map.quantity("ratio")?,
        current_a_min: map.quantity("current_min")?,
        delay: map.time("delay")?,
    })
}
