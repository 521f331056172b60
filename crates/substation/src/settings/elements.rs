//! Reads `elements`: the settings of each.

use std::collections::BTreeMap;

use ::settings::cursor::{Cursor, Mapping};

use super::model::{Element, Function, Quantity};
use super::names::Names;
use super::texts::known;
use crate::protection::curve::{Curve, Reset};
use crate::protection::direction::{Polarisation, Way};
use crate::protection::distance::Shape;
use crate::protection::overcurrent::Timing;
use crate::protection::voltage::{Phases, Side};
use crate::protection::{
    Complex, Degrees, admittance, breaker_failure, differential, direction, distance,
    frequency_limit, fuse_failure, overcurrent, power_swing, voltage,
};

pub(super) fn read(top: &Mapping<'_>, names: &Names<'_>) -> BTreeMap<String, Element> {
    top.by_name("elements", |cursor| element(&cursor.form()?, names))
}

fn element(map: &Mapping<'_>, names: &Names<'_>) -> Option<Element> {
    let is_differential = map.table.name == "differential";
    let key = if is_differential { "streams" } else { "stream" };
    let stream = |text: &str| known(text, ["stream", "streams"], &names.streams);
    let streams: Vec<String> = if is_differential {
        map.parse_all(key, stream)
    } else {
        map.parse(key, stream).into_iter().map(|name| name.value).collect()
    };
    let guards = guards(map, names);
    let function = match map.table.name {
        "overcurrent" => overcurrent_settings(map).map(|settings| {
            let is_residual = map.is("of", "residual");
            let of = if is_residual { Quantity::Residual } else { Quantity::Phases };
            Function::Overcurrent { of, settings }
        }),
        "directional_overcurrent" => directional(map).map(Function::Directional),
        "voltage" => voltage_settings(map).map(Function::Voltage),
        "frequency" => frequency(map).map(Function::Frequency),
        "distance" => distance_settings(map).map(Function::Distance),
        "differential" => differential_settings(map),
        "admittance" => admittance_settings(map).map(Function::Admittance),
        "fuse_failure" => fuse_failure_settings(map).map(Function::FuseFailure),
        "power_swing" => power_swing_settings(map).map(Function::PowerSwing),
        _ => breaker_failure_settings(map, names),
    };
    Some(Element { streams, function: function?, guards })
}

fn overcurrent_settings(map: &Mapping<'_>) -> Option<overcurrent::Settings> {
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

fn way(map: &Mapping<'_>) -> Way {
    if map.is("way", "forward") { Way::Forward } else { Way::Reverse }
}

fn directional(map: &Mapping<'_>) -> Option<direction::Settings> {
    let is_residual = map.is("of", "residual");
    Some(direction::Settings {
        overcurrent: overcurrent_settings(map)?,
        way: way(map),
        polarisation: if is_residual { Polarisation::Residual } else { Polarisation::Phases },
        characteristic_deg: map.quantity("characteristic")?,
        polarising_v_min: map.quantity("polarising_min")?,
    })
}

fn side(map: &Mapping<'_>) -> Side {
    if map.is("side", "under") { Side::Under } else { Side::Over }
}

fn voltage_settings(map: &Mapping<'_>) -> Option<voltage::Settings> {
    Some(voltage::Settings {
        side: side(map),
        pick_up_v: map.quantity("pick_up")?,
        phases: if map.is("phases", "all") { Phases::All } else { Phases::Any },
        delay: map.time("delay")?,
        dead_below_v: map.quantity("dead_below")?,
    })
}

fn frequency(map: &Mapping<'_>) -> Option<frequency_limit::Settings> {
    let (pick_up_hz, delay) = (map.quantity("pick_up")?, map.time("delay")?);
    let voltage_v_min = map.quantity("voltage_min").unwrap_or(0.0);
    Some(frequency_limit::Settings { side: side(map), pick_up_hz, voltage_v_min, delay })
}

fn distance_settings(map: &Mapping<'_>) -> Option<distance::Settings> {
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

fn differential_settings(map: &Mapping<'_>) -> Option<Function> {
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

fn admittance_settings(map: &Mapping<'_>) -> Option<admittance::Settings> {
    Some(admittance::Settings {
        residual_v_min: map.quantity("residual_min")?,
        admittance_s_min: map.quantity("admittance_min")?,
        tilt_deg: map.quantity("tilt")?,
        multi_frequency: map.is("harmonics", "yes"),
        delay: map.time("delay")?,
    })
}

fn breaker_failure_settings(map: &Mapping<'_>, names: &Names<'_>) -> Option<Function> {
    let breaker =
        map.parse("breaker", |text| known(text, ["breaker", "breakers"], &names.breakers));
    let (retrip_delay, backup_delay) = (map.time("retrip_delay")?, map.time("backup_delay")?);
    if backup_delay < retrip_delay {
        let what = "it is shorter than `retrip_delay`";
        map.wrong("backup_delay", what, "make it at least `retrip_delay`");
    }
    let pick_up_a = map.quantity("pick_up")?;
    let settings = breaker_failure::Settings { pick_up_a, retrip_delay, backup_delay };
    Some(Function::BreakerFailure { breaker: breaker?.value, settings })
}

fn fuse_failure_settings(map: &Mapping<'_>) -> Option<fuse_failure::Settings> {
    Some(fuse_failure::Settings {
        healthy_v: map.quantity("healthy")?,
        unbalance_v: map.quantity("unbalance")?,
        current_a_min: map.quantity("current_min")?,
    })
}

fn power_swing_settings(map: &Mapping<'_>) -> Option<power_swing::Settings> {
    Some(power_swing::Settings {
        resistance_ohm: map.quantity("resistance")?,
        reactance_ohm: map.quantity("reactance")?,
        band_ohm: map.quantity("band")?,
        crossing_min: map.time("crossing_min")?,
        hold_max: map.time("hold_max")?,
        current_a_min: map.quantity("current_min")?,
    })
}

/// Elements on the same stream that block this one; those that look at voltages may have them.
fn guards(map: &Mapping<'_>, names: &Names<'_>) -> Vec<String> {
    let guard = |kind: &&str| {
        map.table.find(kind)?;
        let stream = map.text("stream")?.value;
        let there = names.elements_with(kind, Some(&stream));
        let what = [
            &*format!("element with `function: {kind}` on its stream"),
            &*format!("elements with `function: {kind}` on its stream"),
        ];
        Some(map.parse(kind, |text| known(text, what, &there))?.value)
    };
    ["fuse_failure", "power_swing"].iter().filter_map(guard).collect()
}
