//! Elements that look at the impedance of a line, and those that block them: their keys, and how they
//! are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Table, key};
use ::settings::units::Dimension::{Angle, Number, Time};

use super::{CT_GUARD, CURRENT_MIN, DELAY, FUSE_GUARD, OHMS, STREAM, VOLTS, WAY, function, way};
use crate::settings::texts::TEXT;
use protection::distance::Shape;
use protection::load::Load;
use protection::{Complex, Degrees, distance, fuse_failure, power_swing};

/// Of a quadrilateral, where none is set.
const TILT_DEG: f64 = 5.0;

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
        key(
            "tilt",
            Within(Angle, 0.0, 30.0),
            Optional,
            "of its upper line, downwards; 5 deg without it",
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
        key("power_swing", TEXT, Optional, "element that tells it of power swings"),
        key("load_resistance", OHMS, Optional, "primary, the least of load, positive sequence"),
        key("load_angle", Within(Angle, 10.0, 60.0), Optional, "the largest of load"),
        CT_GUARD,
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
        key(
            "crossing_min",
            Within(Time, 0.005, 0.5),
            Default("30 ms"),
            "least time of a swing through the band",
        ),
        key("hold_max", Within(Time, 0.1, 60.0), Default("2 s"), "longest blocking"),
        CURRENT_MIN,
    ],
};

pub(super) fn distance_settings(map: &Mapping<'_>) -> Option<distance::Settings> {
    let of_quadrilaterals = ["resistance", "earth_resistance"];
    let tilt_deg = map.quantity("tilt").unwrap_or(TILT_DEG);
    let shape = match map.choice("shape")?.value {
        "mho" => {
            map.refuse(&of_quadrilaterals, "this is for a quadrilateral");
            map.refuse(&["tilt"], "this is for a quadrilateral");
            Shape::Mho
        }
        _ => {
            map.require(&of_quadrilaterals);
            Shape::Quadrilateral {
                resistance_ohm: map.quantity("resistance")?,
                earth_resistance_ohm: map.quantity("earth_resistance")?,
                tilt_deg,
            }
        }
    };
    if map.has("load_resistance") || map.has("load_angle") {
        map.require(&["load_resistance", "load_angle"]);
    }
    let region = map.quantity("load_resistance").zip(map.quantity("load_angle"));
    if region.is_some_and(|(_, angle_deg)| angle_deg >= map.quantity("angle").unwrap_or(90.0)) {
        let what = "faults of all phases on the line have such an angle too";
        map.wrong("load_angle", what, "make it less than `angle`, by 20 degrees or more");
    }
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
        load: region.map(|(resistance_ohm, angle_deg)| Load { resistance_ohm, angle_deg }),
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
