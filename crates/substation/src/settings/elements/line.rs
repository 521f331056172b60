//! Elements that look at the impedance of a line, and those that block them: their keys, and how they
//! are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Angle, Number, Time};

use super::{CURRENT_MIN, DELAY, FUSE_GUARD, OHMS, STREAM, VOLTS, WAY, function, way};
use crate::protection::distance::Shape;
use crate::protection::{Complex, Degrees, distance, fuse_failure, power_swing};
use crate::settings::texts::TEXT;

pub(super) static DISTANCE: Table = Table {
    what: "a distance element",
    name: "distance",
    keys: &[
        function(&["distance"]),
        STREAM,
        key("shape", Choice(&["mho", "quadrilateral"]), Required, "of the zone"),
        key("resistance", OHMS, Optional, "of a quadrilateral between phases: primary, per phase"),
        key(
            "earth_resistance",
            OHMS,
            Optional,
            "of a quadrilateral to earth: primary, per phase and not of the loop",
        ),
        key("reach", OHMS, Required, "primary positive sequence impedance up to its end"),
        key("angle", Within(Angle, 30.0, 90.0), Required, "of `reach`, above 0 if inductive"),
        WAY,
        key("earth_factor", Within(Number, 0.0, 10.0), Required, "`(Z0 - Z1) / 3 Z1`"),
        key("earth_factor_angle", Within(Angle, -180.0, 180.0), Default("0 deg"), "of that"),
        CURRENT_MIN,
        key(
            "healthy",
            VOLTS,
            Required,
            "primary, phase to earth: least positive sequence voltage before a fault that is remembered",
        ),
        DELAY,
        FUSE_GUARD,
        key("power_swing", TEXT, Optional, "element that blocks it during power swings"),
    ],
};

pub(super) static FUSE_FAILURE: Table = Table {
    what: "a fuse failure element",
    name: "fuse_failure",
    keys: &[
        function(&["fuse_failure"]),
        STREAM,
        key("healthy", VOLTS, Required, "primary, phase to earth: least voltage of a whole phase"),
        key("unbalance", VOLTS, Required, "primary, negative or zero sequence"),
        CURRENT_MIN,
    ],
};

pub(super) static POWER_SWING: Table = Table {
    what: "a power swing element",
    name: "power_swing",
    keys: &[
        function(&["power_swing"]),
        STREAM,
        key("resistance", OHMS, Required, "primary, of the inner rectangle, to both sides"),
        key("reactance", OHMS, Required, "primary, of the inner rectangle, up and down"),
        key("band", OHMS, Required, "primary, from the inner to the outer rectangle"),
        key("crossing_min", Within(Time, 0.005, 0.5), Default("30 ms"), "of a swing"),
        key("hold_max", Within(Time, 0.1, 60.0), Default("2 s"), "longest blocking"),
        CURRENT_MIN,
    ],
};

pub(super) fn distance_settings(map: &Mapping<'_>) -> Option<distance::Settings> {
    let of_quadrilaterals = ["resistance", "earth_resistance"];
    let shape = match map.choice("shape")?.value {
        "mho" => {
            map.refuse(&of_quadrilaterals, "this is for a quadrilateral");
            Shape::Mho
        }
        _ => {
            map.require(&of_quadrilaterals);
            Shape::Quadrilateral {
                resistance_ohm: map.quantity("resistance")?,
                earth_resistance_ohm: map.quantity("earth_resistance")?,
            }
        }
    };
    let polar =
        |magnitude, angle| Some(Complex::polar_deg(map.quantity(magnitude)?, map.quantity(angle)?));
    Some(distance::Settings {
        shape,
        reach: polar("reach", "angle")?,
        way: way(map),
        earth_factor: polar("earth_factor", "earth_factor_angle")?,
        current_a_min: map.quantity("current_min")?,
        healthy_v: map.quantity("healthy")?,
        delay: map.time("delay")?,
    })
}

pub(super) fn fuse_failure_settings(map: &Mapping<'_>) -> Option<fuse_failure::Settings> {
    Some(fuse_failure::Settings {
        healthy_v: map.quantity("healthy")?,
        unbalance_v: map.quantity("unbalance")?,
        current_a_min: map.quantity("current_min")?,
    })
}

pub(super) fn power_swing_settings(map: &Mapping<'_>) -> Option<power_swing::Settings> {
    Some(power_swing::Settings {
        resistance_ohm: map.quantity("resistance")?,
        reactance_ohm: map.quantity("reactance")?,
        band_ohm: map.quantity("band")?,
        crossing_min: map.time("crossing_min")?,
        hold_max: map.time("hold_max")?,
        current_a_min: map.quantity("current_min")?,
    })
}
