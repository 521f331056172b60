//! Names of points of the plant. Whether a point is there is for the engine to say.

use serde::{Deserialize, Serialize};

use settings::problems::{Fault, quoted};

/// Magnitudes and angles of the voltages of a bus.
const PHASORS_OF_BUSES: [&str; 6] = ["v1", "v2", "v3", "va1", "va2", "va3"];
/// Magnitudes and angles of the currents into an element.
const PHASORS_OF_ELEMENTS: [&str; 6] = ["i1", "i2", "i3", "ia1", "ia2", "ia3"];

/// One input or output of the plant: `bus.680.v1` (phase-to-neutral volts), `load.d611.kW`,
/// `generator.wind.kW`, `storage.es.kW`. Compared without case; written as in the scenario.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PointName(pub String);

impl PointName {
    /// The unit of a point, from its last part.
    pub fn unit(&self) -> &'static str {
        match self.0.rsplit('.').next().map(str::to_ascii_lowercase).as_deref() {
            Some("kw") => "kW",
            Some("kvar") => "kvar",
            Some("v1" | "v2" | "v3") => "V",
            Some("i1" | "i2" | "i3") => "A",
            _ => "",
        }
    }
}

/// A name of a point: `bus.680.v1`, `load.d611.kW`.
pub fn point(text: &str) -> Result<PointName, Fault> {
    let parts: Vec<&str> = text.split('.').collect();
    let well_formed = match parts[..] {
        [class, name, property] if class.eq_ignore_ascii_case("bus") => {
            let property = property.to_ascii_lowercase();
            element(name) && PHASORS_OF_BUSES.contains(&property.as_str())
        }
        [class, name, property] => word(class) && element(name) && word(property),
        _ => false,
    };
    if well_formed {
        return Ok(PointName(text.to_owned()));
    }
    let fix = "write it as `bus.680.v1` (phase 1 to 3) or `load.d611.kW`";
    Err(Fault::new(format!("{} is not a point name", quoted(text)), fix))
}

/// Points are compared without case, as the engine does.
pub fn point_key(point: &PointName) -> String {
    point.0.to_ascii_lowercase()
}

/// Whether a point is a result of the simulation, which nobody can set.
pub fn is_result(point: &PointName) -> bool {
    let key = point_key(point);
    let last = key.rsplit('.').next().unwrap_or_default();
    key.starts_with("bus.") || PHASORS_OF_ELEMENTS.contains(&last)
}

/// A class or property of OpenDSS; some properties begin with `%`.
fn word(text: &str) -> bool {
    let rest = text.strip_prefix('%').unwrap_or(text);
    rest.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn element(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn points_are_well_formed_or_refused() {
        for text in ["bus.680.v1", "BUS.rg60.V3", "load.d611.kW", "storage.es.%stored"] {
            assert!(point(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "bus.680",
            "bus.680.v4",
            "bus..v1",
            "load.d611.kW.x",
            "load.a b.kW",
            "load.d/611.kW",
            "1oad.d.kW",
            "load.d611.",
            "load.d611.1",
            "bus.680.kW",
        ] {
            assert!(point(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_point_that_is_accepted_is_safe_as_a_file_name(text in "[a-zA-Z0-9./%_-]{0,20}") {
            if let Ok(PointName(name)) = point(&text) {
                prop_assert!(!name.contains('/') && !name.starts_with('.'));
            }
        }
    }
}
