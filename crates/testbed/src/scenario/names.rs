//! Names that users give, and names of points.
//!
//! Names of nodes, switches and attackers become names of hosts and interfaces, so Linux's
//! limit for interfaces (`IFNAMSIZ`, 15 octets and a zero) holds for them. Names of programs,
//! scenarios and variants become names of files and folders. Names of points follow the plant:
//! whether a point is there is for the engine to say.

use super::model::PointName;
use super::problems::{Fault, quoted};

/// Longest name on the network: Linux's `IFNAMSIZ` without the final zero.
const INTERFACE_OCTETS_MAX: usize = 15;
/// Longest name that becomes part of a file name; three of them fit into Linux's 255 octets.
const FILE_OCTETS_MAX: usize = 64;

/// Magnitudes and angles of the voltages of a bus.
const PHASORS_OF_BUSES: [&str; 6] = ["v1", "v2", "v3", "va1", "va2", "va3"];
/// Magnitudes and angles of the currents into an element.
const PHASORS_OF_ELEMENTS: [&str; 6] = ["i1", "i2", "i3", "ia1", "ia2", "ia3"];

/// A name of a node, switch or attacker: what a host may be called (RFC 1123).
pub(super) fn on_network(text: &str) -> Result<String, Fault> {
    name(text, INTERFACE_OCTETS_MAX, |byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A name of a scenario or variant.
pub(crate) fn in_paths(text: &str) -> Result<String, Fault> {
    name(text, FILE_OCTETS_MAX, |byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A name of a program.
pub(super) fn of_program(text: &str) -> Result<String, Fault> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name(text, FILE_OCTETS_MAX, allowed)
}

/// A name of an environment variable.
pub(super) fn of_variable(text: &str) -> Result<String, Fault> {
    let begins = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(text.to_owned());
    }
    let what = format!("{} is no name of a variable", quoted(text));
    Err(Fault::new(what, "use letters, digits and `_`, and no digit first"))
}

fn name(text: &str, octets_max: usize, allowed: impl Fn(u8) -> bool) -> Result<String, Fault> {
    if text.len() > octets_max {
        let what = format!("{} is longer than {octets_max} letters", quoted(text));
        return Err(Fault::new(what, "shorten the name"));
    }
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && text.bytes().all(&allowed) {
        return Ok(text.to_owned());
    }
    let others = ["`-`", "`_`", "`.`"].into_iter().filter(|quoted| allowed(quoted.as_bytes()[1]));
    let others: Vec<&str> = others.collect();
    let others = others.join(", ");
    let way_out = format!("use letters, digits and {others}, a letter or digit first");
    Err(Fault::new(format!("{} is no name", quoted(text)), way_out))
}

/// A name of a point: `bus.680.v1`, `load.d611.kW`.
pub(super) fn point(text: &str) -> Result<PointName, Fault> {
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
    let way_out = "write it as `bus.680.v1` (phase 1 to 3) or `load.d611.kW`";
    Err(Fault::new(format!("{} is no name of a point", quoted(text)), way_out))
}

/// Points are compared without case, as the engine does.
pub(super) fn point_key(point: &PointName) -> String {
    point.0.to_ascii_lowercase()
}

/// Whether a point is a result of the simulation, which nobody can set.
pub(super) fn is_result(point: &PointName) -> bool {
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

/// A name of an element of OpenDSS.
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

    #[test]
    fn names_stay_within_the_limits_of_linux() {
        assert!(on_network("controller-0001").is_ok());
        assert!(on_network("controller-00012").is_err());
        for text in ["", "-a", "a_b", "a.b", "ä", "a b", "a/b"] {
            assert!(on_network(text).is_err(), "{text}");
        }
        assert!(of_program("sensor_1.py").is_ok());
        assert!(of_program("..").is_err());
        assert!(of_variable("_X1").is_ok());
        for text in ["", "1X", "A=B", "A-B"] {
            assert!(of_variable(text).is_err(), "{text}");
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
