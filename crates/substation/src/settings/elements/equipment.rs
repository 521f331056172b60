//! Elements of one piece of equipment: their keys, and how they are read.

use ::settings::cursor::{Cursor, Mapping};
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Several, Within};
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Admittance, Angle, Number, Portion, Time, Voltage};

use super::{AMPERES, CT_GUARD, DELAY, FUSE_GUARD, PICK_UP_A, STREAM, breaker, function};
use crate::settings::model::Function;
use crate::settings::names::Names;
use crate::settings::texts::{TEXT, YES_NO};
use protection::{admittance, breaker_failure, differential, restricted_earth};

pub(super) static DIFFERENTIAL: Table = Table {
    what: "a differential element",
    name: "differential",
    keys: &[
        function(&["differential"]),
        key("streams", Several(&TEXT), Required, "a stream for each side"),
        key("pick_up", Within(Portion, 0.05, 2.0), Required, "least difference, of `rated`"),
        key("slope", Within(Portion, 0.05, 1.0), Required, "share of restraint up to the knee"),
        key("knee", Within(Number, 0.5, 20.0), Required, "restraint there, in units of `rated`"),
        key("slope_beyond", Within(Portion, 0.05, 1.5), Required, "the share beyond the knee"),
        key("unrestrained", Within(Number, 1.0, 50.0), Required, "in `rated`; nothing blocks it"),
        key("second_harmonic_max", Within(Portion, 0.05, 1.0), Default("15 %"), "blocks above"),
        key("fifth_harmonic_max", Within(Portion, 0.05, 1.0), Default("35 %"), "blocks above"),
        DELAY,
        key("rated", Several(&AMPERES), Required, "primary current of each side"),
        key("charging", Within(Admittance, 0.0, 0.1), Default("0 S"), "primary, capacitive"),
        key("clocks", Several(&Within(Number, 0.0, 11.0)), Optional, "hours by which a side lags"),
        CT_GUARD,
    ],
};

pub(super) static ADMITTANCE: Table = Table {
    what: "an admittance element",
    name: "admittance",
    keys: &[
        function(&["admittance"]),
        STREAM,
        key("residual_min", Within(Voltage, 1.0, 1e5), Required, "primary `U0` that it needs"),
        key("admittance_min", Within(Admittance, 1e-6, 1.0), Required, "primary `3 I0 / -U0`"),
        key("tilt", Within(Angle, -30.0, 30.0), Default("5 deg"), "of the limit"),
        key("harmonics", YES_NO, Default("yes"), "whether it uses several frequencies"),
        DELAY,
        FUSE_GUARD,
    ],
};

pub(super) static BREAKER_FAILURE: Table = Table {
    what: "a breaker failure element",
    name: "breaker_failure",
    keys: &[
        function(&["breaker_failure"]),
        STREAM,
        key("breaker", TEXT, Required, "breaker whose trips it watches"),
        PICK_UP_A,
        key("retrip_delay", Within(Time, 0.0, 1.0), Required, "from a trip to the next try"),
        key("backup_delay", Within(Time, 0.0, 2.0), Required, "from a trip to operation"),
    ],
};

pub(super) static RESTRICTED_EARTH: Table = Table {
    what: "a restricted earth fault element",
    name: "restricted_earth",
    keys: &[
        function(&["restricted_earth"]),
        STREAM,
        key("pick_up", AMPERES, Required, "primary difference above which it starts"),
        key("slope", Within(Portion, 0.05, 1.0), Required, "share of the largest current"),
        DELAY,
        CT_GUARD,
    ],
};

pub(super) fn restricted_earth(map: &Mapping<'_>) -> Option<restricted_earth::Settings> {
    Some(restricted_earth::Settings {
        pick_up_a: map.quantity("pick_up")?,
        slope: map.quantity("slope")?,
        delay: map.time("delay")?,
    })
}

pub(super) fn differential_settings(map: &Mapping<'_>) -> Option<Function> {
    let sides = map.items("streams").len();
    if sides == 1 {
        let what = "a differential needs two sides or more";
        map.wrong("streams", what, "give a stream for each side");
    }
    let rated = of_sides(map, "rated", sides);
    let clocks =
        if map.has("clocks") { of_sides(map, "clocks", sides) } else { Some(vec![0.0; sides]) };
    let (slope, slope_beyond) = (map.quantity("slope")?, map.quantity("slope_beyond")?);
    if slope_beyond < slope {
        map.wrong("slope_beyond", "it is less than `slope`", "make it at least `slope`");
    }
    let settings = differential::Settings {
        pick_up: map.quantity("pick_up")?,
        slope,
        knee: map.quantity("knee")?,
        slope_beyond,
        unrestrained: map.quantity("unrestrained")?,
        second_harmonic_max: map.quantity("second_harmonic_max")?,
        fifth_harmonic_max: map.quantity("fifth_harmonic_max")?,
        delay: map.time("delay")?,
    };
    let clocks = clocks?.into_iter().map(|clock| clock as u8);
    let sides = rated?.into_iter().zip(clocks).collect();
    Some(Function::Differential { settings, sides, charging_s: map.quantity("charging")? })
}

/// As many quantities as there are sides.
fn of_sides(map: &Mapping<'_>, key: &str, sides: usize) -> Option<Vec<f64>> {
    let items = map.items(key);
    if !items.is_empty() && items.len() != sides {
        let what = format!("{} values for {sides} sides", items.len());
        map.wrong(key, what, "give one for each of `streams`");
        return None;
    }
    items.iter().map(Cursor::quantity).collect()
}

pub(super) fn admittance_settings(map: &Mapping<'_>) -> Option<admittance::Settings> {
    Some(admittance::Settings {
        residual_v_min: map.quantity("residual_min")?,
        admittance_s_min: map.quantity("admittance_min")?,
        tilt_deg: map.quantity("tilt")?,
        multi_frequency: map.is("harmonics", "yes"),
        delay: map.time("delay")?,
    })
}

pub(super) fn breaker_failure_settings(map: &Mapping<'_>, names: &Names<'_>) -> Option<Function> {
    let breaker = breaker(map, names);
    let (retrip_delay, backup_delay) = (map.time("retrip_delay")?, map.time("backup_delay")?);
    if backup_delay < retrip_delay {
        let what = "it is shorter than `retrip_delay`";
        map.wrong("backup_delay", what, "make it at least `retrip_delay`");
    }
    let pick_up_a = map.quantity("pick_up")?;
    let settings = breaker_failure::Settings { pick_up_a, retrip_delay, backup_delay };
    Some(Function::BreakerFailure { breaker: breaker?, settings })
}
