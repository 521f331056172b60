//! Reads `elements`: the settings of each, with the range that makes sense for it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cursor::Map;
use super::model::{Element, Function, Quantity};
use super::units::Unit;
use crate::protection::curve::{Curve, Reset};
use crate::protection::direction::{Polarisation, Way};
use crate::protection::distance::Shape;
use crate::protection::overcurrent::Timing;
use crate::protection::voltage::{Phases, Side};
use crate::protection::{
    Complex, admittance, breaker_failure, differential, direction, distance, frequency_limit,
    fuse_failure, overcurrent, power_swing, voltage,
};

/// Longest delay of any element.
const DELAY_MAX: Duration = Duration::from_secs(300);
/// Functions by the word that settings use.
const FUNCTIONS: [&str; 10] = [
    "overcurrent",
    "directional_overcurrent",
    "voltage",
    "frequency",
    "distance",
    "differential",
    "admittance",
    "breaker_failure",
    "fuse_failure",
    "power_swing",
];

pub(super) fn read(top: &Map<'_>) -> BTreeMap<String, Element> {
    let mut elements = BTreeMap::new();
    let streams = top.names_below("streams");
    let breakers = top.map("trips").map(|trips| trips.names_below("breakers")).unwrap_or_default();
    let Some(all) = top.map("elements") else { return elements };
    for name in all.names() {
        let Some(map) = all.map(&name) else { continue };
        let function = map.choice("function", &FUNCTIONS);
        let is_differential = function == Some("differential");
        let used = if is_differential {
            map.names_in_list("streams", "stream", streams.iter())
        } else {
            map.name("stream", "stream", streams.iter()).into_iter().collect()
        };
        let read = function.and_then(|word| one(word, &map, used.len(), &breakers));
        let guards = function.map_or(Vec::new(), |word| guards(word, &map, top));
        // What is not known cannot be checked for keys that are too many.
        if function.is_some() {
            map.finish();
        }
        if let Some(function) = read {
            elements.insert(name, Element { streams: used, function, guards });
        }
    }
    elements
}

fn one(word: &str, map: &Map<'_>, sides: usize, breakers: &[String]) -> Option<Function> {
    match word {
        "overcurrent" => {
            let of = match map.optional_choice("of", &["phases", "residual"]) {
                Some("residual") => Quantity::Residual,
                _ => Quantity::Phases,
            };
            Some(Function::Overcurrent { of, settings: overcurrent_settings(map)? })
        }
        "directional_overcurrent" => directional(map).map(Function::Directional),
        "voltage" => voltage_settings(map).map(Function::Voltage),
        "frequency" => frequency(map).map(Function::Frequency),
        "distance" => distance_settings(map).map(Function::Distance),
        "differential" => differential_settings(map, sides),
        "admittance" => admittance_settings(map).map(Function::Admittance),
        "fuse_failure" => fuse_failure_settings(map).map(Function::FuseFailure),
        "power_swing" => power_swing_settings(map).map(Function::PowerSwing),
        _ => breaker_failure_settings(map, breakers),
    }
}

fn delay(map: &Map<'_>) -> Option<Duration> {
    map.time("delay", Duration::ZERO, DELAY_MAX)
}

fn overcurrent_settings(map: &Map<'_>) -> Option<overcurrent::Settings> {
    let pick_up_a = map.quantity("pick_up", Unit::Current, 1.0..=100_000.0);
    let share = 0.05..=0.5;
    let second_harmonic_max = map.optional_quantity("second_harmonic_max", Unit::Share, share);
    let timing = match (map.has("delay"), map.has("curve")) {
        (true, false) => delay(map).map(Timing::Definite),
        (false, true) => inverse(map),
        _ => {
            map.wrong("curve", "there must be either `delay` or `curve`", "keep one of them");
            map.know(&["delay", "curve", "k", "reset"]);
            None
        }
    };
    Some(overcurrent::Settings { pick_up_a: pick_up_a?, timing: timing?, second_harmonic_max })
}

fn inverse(map: &Map<'_>) -> Option<Timing> {
    let names = Curve::ALL.map(Curve::name);
    let curve = map.choice("curve", &names);
    let k = map.quantity("k", Unit::Number, 0.01..=15.0);
    let reset = match map.optional_time("reset", Duration::ZERO, DELAY_MAX) {
        Some(span) => Reset::Inverse(span),
        None => Reset::Instantaneous,
    };
    let curve = Curve::ALL.into_iter().find(|known| Some(known.name()) == curve);
    Some(Timing::Inverse(curve?, k?, reset))
}

fn way(map: &Map<'_>) -> Option<Way> {
    match map.choice("way", &["forward", "reverse"])? {
        "forward" => Some(Way::Forward),
        _ => Some(Way::Reverse),
    }
}

fn directional(map: &Map<'_>) -> Option<direction::Settings> {
    let overcurrent = overcurrent_settings(map);
    let way = way(map);
    let polarisation = match map.optional_choice("of", &["phases", "residual"]) {
        Some("residual") => Polarisation::Residual,
        _ => Polarisation::Phases,
    };
    let characteristic_deg = map.quantity("characteristic", Unit::Angle, -90.0..=90.0);
    let polarising_v_min = map.quantity("polarising_min", Unit::Voltage, 1.0..=100_000.0);
    Some(direction::Settings {
        overcurrent: overcurrent?,
        way: way?,
        polarisation,
        characteristic_deg: characteristic_deg?,
        polarising_v_min: polarising_v_min?,
    })
}

fn side(map: &Map<'_>) -> Option<Side> {
    match map.choice("side", &["under", "over"])? {
        "under" => Some(Side::Under),
        _ => Some(Side::Over),
    }
}

fn voltage_settings(map: &Map<'_>) -> Option<voltage::Settings> {
    let side = side(map);
    let pick_up_v = map.quantity("pick_up", Unit::Voltage, 1.0..=1e6);
    let phases = match map.optional_choice("phases", &["any", "all"]) {
        Some("all") => Phases::All,
        _ => Phases::Any,
    };
    let dead_below_v = map.optional_quantity("dead_below", Unit::Voltage, 0.0..=1e6);
    let delay = delay(map);
    Some(voltage::Settings {
        side: side?,
        pick_up_v: pick_up_v?,
        phases,
        delay: delay?,
        dead_below_v: dead_below_v.unwrap_or(0.0),
    })
}

fn frequency(map: &Map<'_>) -> Option<frequency_limit::Settings> {
    let side = side(map);
    let pick_up_hz = map.quantity("pick_up", Unit::Frequency, 45.0..=65.0);
    let delay = delay(map);
    Some(frequency_limit::Settings { side: side?, pick_up_hz: pick_up_hz?, delay: delay? })
}

fn distance_settings(map: &Map<'_>) -> Option<distance::Settings> {
    let impedance = |key: &str| map.quantity(key, Unit::Impedance, 0.01..=1000.0);
    let shape = match map.choice("shape", &["mho", "quadrilateral"]) {
        Some("mho") => Some(Shape::Mho),
        Some(_) => {
            let (phase, earth) = (impedance("resistance"), impedance("earth_resistance"));
            match (phase, earth) {
                (Some(resistance_ohm), Some(earth_resistance_ohm)) => {
                    Some(Shape::Quadrilateral { resistance_ohm, earth_resistance_ohm })
                }
                _ => None,
            }
        }
        None => None,
    };
    let reach = impedance("reach");
    let angle_deg = map.quantity("angle", Unit::Angle, 30.0..=90.0);
    let way = way(map);
    let factor = map.quantity("earth_factor", Unit::Number, 0.0..=10.0);
    let factor_deg = map.optional_quantity("earth_factor_angle", Unit::Angle, -180.0..=180.0);
    let current_a_min = map.quantity("current_min", Unit::Current, 1.0..=100_000.0);
    let healthy_v = map.quantity("healthy", Unit::Voltage, 1.0..=1e6);
    let delay = delay(map);
    Some(distance::Settings {
        shape: shape?,
        reach: Complex::polar_deg(reach?, angle_deg?),
        way: way?,
        earth_factor: Complex::polar_deg(factor?, factor_deg.unwrap_or(0.0)),
        current_a_min: current_a_min?,
        healthy_v: healthy_v?,
        delay: delay?,
    })
}

fn differential_settings(map: &Map<'_>, sides: usize) -> Option<Function> {
    if sides == 1 {
        map.wrong(
            "streams",
            "a differential needs two sides or more",
            "give a stream for each side",
        );
    }
    let pick_up = map.quantity("pick_up", Unit::Share, 0.05..=2.0);
    let slope = map.quantity("slope", Unit::Share, 0.05..=1.0);
    let knee = map.quantity("knee", Unit::Number, 0.5..=20.0);
    let slope_beyond = map.quantity("slope_beyond", Unit::Share, 0.05..=1.5);
    let unrestrained = map.quantity("unrestrained", Unit::Number, 1.0..=50.0);
    let second = map.optional_quantity("second_harmonic_max", Unit::Share, 0.05..=1.0);
    let fifth = map.optional_quantity("fifth_harmonic_max", Unit::Share, 0.05..=1.0);
    let delay = delay(map);
    let rated = list(map, "rated", Unit::Current, 1.0..=100_000.0, sides);
    let charging_s = map.optional_quantity("charging", Unit::Admittance, 0.0..=0.1);
    let clocks = if map.has("clocks") {
        list(map, "clocks", Unit::Number, 0.0..=11.0, sides)
    } else {
        Some(vec![0.0; sides])
    };
    let (pick_up, slope) = (pick_up?, slope?);
    let slope_beyond = slope_beyond?;
    if slope_beyond < slope {
        map.wrong("slope_beyond", "it is less than `slope`", "make it at least `slope`");
    }
    let settings = differential::Settings {
        pick_up,
        slope,
        knee: knee?,
        slope_beyond,
        unrestrained: unrestrained?,
        second_harmonic_max: second.unwrap_or(0.15),
        fifth_harmonic_max: fifth.unwrap_or(0.35),
        delay: delay?,
    };
    let clocks = clocks?;
    let sides = rated?.into_iter().zip(clocks.into_iter().map(|clock| clock as u8)).collect();
    Some(Function::Differential { settings, sides, charging_s: charging_s.unwrap_or(0.0) })
}

/// A list of as many quantities as there are sides.
fn list(
    map: &Map<'_>,
    key: &str,
    unit: Unit,
    range: std::ops::RangeInclusive<f64>,
    sides: usize,
) -> Option<Vec<f64>> {
    let texts = map.texts(key);
    let mut values = Vec::new();
    for text in &texts {
        match super::units::parse(text, unit) {
            Ok(value) if range.contains(&value) => values.push(value),
            Ok(value) => {
                let way_out = format!("give {} to {}", range.start(), range.end());
                map.wrong(key, format!("{value} is out of range"), way_out);
            }
            Err((what, way_out)) => map.wrong(key, what, way_out),
        }
    }
    if !texts.is_empty() && texts.len() != sides {
        let what = format!("{} values for {sides} sides", texts.len());
        map.wrong(key, what, "give one for each of `streams`");
    }
    (values.len() == sides).then_some(values)
}

fn admittance_settings(map: &Map<'_>) -> Option<admittance::Settings> {
    let residual_v_min = map.quantity("residual_min", Unit::Voltage, 1.0..=100_000.0);
    let admittance_s_min = map.quantity("admittance_min", Unit::Admittance, 1e-6..=1.0);
    let tilt_deg = map.optional_quantity("tilt", Unit::Angle, -30.0..=30.0);
    let multi_frequency = map.optional_choice("harmonics", &["yes", "no"]) != Some("no");
    let delay = delay(map);
    Some(admittance::Settings {
        residual_v_min: residual_v_min?,
        admittance_s_min: admittance_s_min?,
        tilt_deg: tilt_deg.unwrap_or(5.0),
        multi_frequency,
        delay: delay?,
    })
}

fn breaker_failure_settings(map: &Map<'_>, breakers: &[String]) -> Option<Function> {
    let breaker = map.name("breaker", "breaker", breakers.iter());
    let pick_up_a = map.quantity("pick_up", Unit::Current, 1.0..=100_000.0);
    let retrip_delay = map.time("retrip_delay", Duration::ZERO, Duration::from_secs(1));
    let backup_delay = map.time("backup_delay", Duration::ZERO, Duration::from_secs(2));
    let (retrip_delay, backup_delay) = (retrip_delay?, backup_delay?);
    if backup_delay < retrip_delay {
        map.wrong(
            "backup_delay",
            "it is shorter than `retrip_delay`",
            "make it at least `retrip_delay`",
        );
    }
    let settings = breaker_failure::Settings { pick_up_a: pick_up_a?, retrip_delay, backup_delay };
    Some(Function::BreakerFailure { breaker: breaker?, settings })
}

fn fuse_failure_settings(map: &Map<'_>) -> Option<fuse_failure::Settings> {
    let healthy_v = map.quantity("healthy", Unit::Voltage, 1.0..=1e6);
    let unbalance_v = map.quantity("unbalance", Unit::Voltage, 1.0..=1e6);
    let current_a_min = map.quantity("current_min", Unit::Current, 1.0..=100_000.0);
    Some(fuse_failure::Settings {
        healthy_v: healthy_v?,
        unbalance_v: unbalance_v?,
        current_a_min: current_a_min?,
    })
}

fn power_swing_settings(map: &Map<'_>) -> Option<power_swing::Settings> {
    let impedance = |key: &str| map.quantity(key, Unit::Impedance, 0.01..=1000.0);
    let (resistance_ohm, reactance_ohm) = (impedance("resistance"), impedance("reactance"));
    let band_ohm = impedance("band");
    let [shortest, longest] = [5, 500].map(Duration::from_millis);
    let crossing_min = map.optional_time("crossing_min", shortest, longest);
    let hold_max =
        map.optional_time("hold_max", Duration::from_millis(100), Duration::from_secs(60));
    let current_a_min = map.quantity("current_min", Unit::Current, 1.0..=100_000.0);
    Some(power_swing::Settings {
        resistance_ohm: resistance_ohm?,
        reactance_ohm: reactance_ohm?,
        band_ohm: band_ohm?,
        crossing_min: crossing_min.unwrap_or(Duration::from_millis(30)),
        hold_max: hold_max.unwrap_or(Duration::from_secs(2)),
        current_a_min: current_a_min?,
    })
}

/// Elements that block this one; those that look at voltages may have them.
fn guards(function: &str, map: &Map<'_>, top: &Map<'_>) -> Vec<String> {
    let kinds: &[&str] = match function {
        "distance" => &["fuse_failure", "power_swing"],
        "directional_overcurrent" | "voltage" | "admittance" => &["fuse_failure"],
        _ => &[],
    };
    let guard = |kind: &&str| {
        map.optional_text(kind)?;
        let on_stream = top.names_below_where("elements", "stream", map.optional_text("stream")?);
        let mut known = top.names_below_where("elements", "function", kind);
        known.retain(|name| on_stream.contains(name));
        map.name(kind, &format!("element with `function: {kind}` on its stream"), known.iter())
    };
    kinds.iter().filter_map(guard).collect()
}
