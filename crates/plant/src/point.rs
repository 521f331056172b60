//! Names of points, taken apart: `bus.680.v1` is a voltage, `line.650632.i1` a current,
//! `line.650632.closed` the position of a switch, `storage.es.kW` a property of an element. Names of elements may hold dots, so a name is split at its first and last one.
//! Whether the circuit has such a thing is for the engine to say; here is also what to suggest
//! when it has not.

use crate::name::PointName;

/// What a name asks for, in lower case, as the engine compares names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PointKind {
    /// Voltage between a node of a bus and ground.
    Voltage {
        /// Bus and node, in the engine's words: `680.1`.
        node: String,
        part: Part,
    },
    /// Current into the first terminal of an element.
    Current {
        /// Class and name: `line.650632`.
        element: String,
        /// Phase, 1 to 3.
        phase: u8,
        part: Part,
    },
    /// Whether the first terminal of an element is connected: 1, or 0.
    Closed { element: String },
    /// A property of an element.
    Property {
        /// Class and name: `storage.es`.
        element: String,
        property: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Root mean square value, in V or A.
    Magnitude,
    Angle,
}

impl Part {
    pub(super) fn of(self, (re, im): (f64, f64)) -> f64 {
        match self {
            Self::Magnitude => re.hypot(im),
            Self::Angle => im.atan2(re).to_degrees(),
        }
    }
}

/// Takes a name apart; `None` if it is not one of a point.
pub(super) fn parse(name: &PointName) -> Option<PointKind> {
    let name = name.0.to_ascii_lowercase();
    let (class, rest) = name.split_once('.')?;
    let (object, last) = rest.rsplit_once('.')?;
    if [class, object, last].iter().any(|part| part.is_empty()) {
        return None;
    }
    if class == "bus" {
        let (part, node) = phasor(last, "v")?;
        return Some(PointKind::Voltage { node: format!("{object}.{node}"), part });
    }
    let element = format!("{class}.{object}");
    Some(match phasor(last, "i") {
        Some((part, phase @ 1..=3)) => PointKind::Current { element, phase, part },
        _ if last == "closed" => PointKind::Closed { element },
        _ => PointKind::Property { element, property: last.into() },
    })
}

/// Part and number of `i2` (magnitude) or `ia2` (angle).
fn phasor(name: &str, quantity: &str) -> Option<(Part, u8)> {
    let rest = name.strip_prefix(quantity)?;
    let (part, digits) =
        rest.strip_prefix('a').map_or((Part::Magnitude, rest), |digits| (Part::Angle, digits));
    Some((part, digits.parse().ok()?))
}

/// The name under which a node of the engine (`680.1`) is a point.
pub(super) fn of_node(node: &str) -> Option<String> {
    let (bus, node) = node.rsplit_once('.')?;
    Some(format!("bus.{}.v{node}", bus.to_ascii_lowercase()))
}

/// At most this many names are suggested: more would not be read.
const SUGGESTIONS: usize = 4;

/// The candidates that differ least from `name`, the nearest first; one that goes on where the
/// name ends counts as one letter off. Those that differ in more than half of their letters are
/// no help.
pub(super) fn near(name: &str, candidates: impl IntoIterator<Item = String>) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut ranked: Vec<(usize, String)> = candidates
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_ascii_lowercase();
            let letters = if lower.starts_with(&name) { 1 } else { distance(&name, &lower) };
            (letters, candidate)
        })
        .filter(|(distance, _)| *distance <= name.chars().count() / 2)
        .collect();
    ranked.sort();
    ranked.into_iter().take(SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

/// Letters to insert, remove or replace to get from one to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(name: &str) -> Option<PointKind> {
        parse(&PointName(name.into()))
    }

    #[test]
    fn a_voltage_is_a_node_of_a_bus() {
        let voltage = |node: &str, part| Some(PointKind::Voltage { node: node.into(), part });
        assert_eq!(kind_of("bus.680.v1"), voltage("680.1", Part::Magnitude));
        assert_eq!(kind_of("Bus.b.2.V3"), voltage("b.2.3", Part::Magnitude));
        assert_eq!(kind_of("bus.680.va2"), voltage("680.2", Part::Angle));
        let (element, phase) = ("line.650632".to_owned(), 3);
        let current = PointKind::Current { element: element.clone(), phase, part: Part::Angle };
        assert_eq!(kind_of("line.650632.ia3"), Some(current));
        assert_eq!(kind_of("line.650632.closed"), Some(PointKind::Closed { element }));
        assert_eq!(of_node("B.2.3").as_deref(), Some("bus.b.2.v3"));
    }

    #[test]
    fn anything_else_is_a_property_of_an_element() {
        let es = PointKind::Property { element: "storage.es".into(), property: "kw".into() };
        assert_eq!(kind_of("storage.ES.kW"), Some(es));
        let dotted = PointKind::Property { element: "load.a.b".into(), property: "kw".into() };
        assert_eq!(kind_of("load.a.b.kW"), Some(dotted));
    }

    #[test]
    fn half_a_name_is_none() {
        for name in ["", "bus", "bus.680", "bus.680.", "bus..v1", "bus.680.kW", "bus.680.v", ".a.b"]
        {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }

    #[test]
    fn suggestions_are_the_nearest_names() {
        let names = ["bus.680.v1", "bus.68.v1", "load.d611.kW", "bus.680.v2"].map(String::from);
        assert_eq!(near("bus.689.v1", names.clone())[0], "bus.68.v1");
        assert_eq!(near("load.D11.kw", names), ["load.d611.kW"]);
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
    }
}
