//! One OpenDSS engine with one circuit, in words of the grid: compile, rest, step, read, write.
//!
//! Steps are taken in duty mode, never in dynamics mode, where generators ignore their kW and
//! charging storage gives 0 kW. Selecting the mode resets its step to one second, so both are
//! always set together; the step counter is the caller's, because the engine adds up time in
//! floating point.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use vtime::VirtualSpan;

use super::error::PlantError;
use super::library::{Answer, Context, Handle};
use super::number::Number;
use super::point::{self, Part, PointKind};
use crate::name::PointName;
use settings::problems::quoted as quoted_text;

#[derive(Debug)]
pub(super) struct Engine {
    context: Context,
    /// As they were when the circuit was compiled: places of points count in this order.
    nodes: Vec<String>,
    /// Where each of them is in the engine's vector now; `None` once it is gone.
    now_at: Vec<Option<usize>>,
    elements: Vec<String>,
    pub(super) wall: Duration,
    pub(super) solves: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Voltage of the node with this number when the circuit was compiled.
    Voltage(usize, Part),
    /// Current in a conductor of the first terminal of an element, counted from 0.
    Current(Handle, usize, Part),
    /// Whether the first terminal of an element is connected.
    Closed(Handle),
    /// Property of an element.
    Property {
        element: Handle,
        /// Its property, from 1.
        property: i32,
        number: Number,
        kind: Kind,
    },
}

impl Place {
    /// Whether it can be set: neither voltages nor currents can.
    pub(super) fn is_writable(self) -> bool {
        matches!(self, Self::Property { .. } | Self::Closed(_))
    }

    /// What to write instead of a value that it does not take; `None` if it takes it.
    pub(super) fn refuses(self, value: f64) -> Option<&'static str> {
        match self {
            Self::Property { number, .. } => number.refuses(value),
            Self::Closed(_) => Number::YesNo.refuses(value),
            Self::Voltage(..) | Self::Current(..) => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The system matrix stays as it is: powers of loads and generators.
    Power,
    /// Power of a storage unit.
    StoragePower,
    /// The system matrix must be built again.
    Other,
}

/// Least power asked of a storage unit, in kW: what 0 does differs between engine versions, so
/// a unit that should rest is asked for one watt.
const STORAGE_KW_LEAST: f64 = 1e-3;

/// The engine's error when controls still act after its longest patience with them. It calls that
/// a warning, and solves no further step of the same call.
const CONTROLS_UNSETTLED: i32 = 485;

/// Convergence of the solver, in per unit; tighter than the engine's 1e-4 because differences
/// of a tenth of a volt are read off the results, and it costs less than a tenth of the time.
const TOLERANCE: f64 = 1e-8;

/// Iterations in which it must be reached. The engine's 15 are enough for its own tolerance; a
/// change of some hundred kW takes a few more for this one, and is no failure. What the circuit
/// allows beyond it may have.
const ITERATIONS: i32 = 100;

impl Engine {
    /// Compiles a circuit file and solves it as it stands in the file.
    pub(super) fn compile(context: Context, circuit: &Path) -> Result<Self, PlantError> {
        let refused = |message: String| PlantError::Circuit { file: circuit.into(), message };
        if !circuit.is_file() {
            return Err(refused("there is no such file".into()));
        }
        let mut engine = Self {
            context,
            nodes: Vec::new(),
            now_at: Vec::new(),
            elements: Vec::new(),
            wall: Duration::ZERO,
            solves: 0,
        };
        let said = |(number, words): (i32, String)| {
            refused(format!("{} (its error {number})", words.trim()))
        };
        // `redirect` and not `compile`, which would change the directory of the whole process.
        engine.context.command(&format!("redirect {}", quoted(circuit))).map_err(said)?;
        // Without a circuit the engine answers with a word that names no element.
        engine.elements = engine.context.elements();
        engine.elements.retain(|element| element.contains('.'));
        if engine.elements.is_empty() {
            return Err(refused("it defines no circuit (`new circuit.…` is missing)".into()));
        }
        engine.command(&format!("set tolerance={TOLERANCE:e}"))?;
        let allowed = engine.context.command("get maxiterations").map_err(said)?;
        let iterations = allowed.trim().parse().map_or(ITERATIONS, |own: i32| own.max(ITERATIONS));
        engine.command(&format!("set maxiterations={iterations}"))?;
        engine.rest_mode()?;
        engine.context.command("solve").map_err(said)?;
        engine.nodes = engine.context.nodes();
        engine.find_nodes();
        Ok(engine)
    }

    /// Name and version of the engine, in its own words.
    pub(super) fn version(&mut self) -> String {
        self.context.version()
    }

    /// Solutions from now on are of the moment: no time passes and no energy is stored.
    pub(super) fn rest_mode(&mut self) -> Result<(), PlantError> {
        self.command("set mode=snapshot")
    }

    /// Solutions from now on each take `step` forward.
    pub(super) fn step_mode(&mut self, step: VirtualSpan) -> Result<(), PlantError> {
        let seconds = step.as_ns() as f64 / 1e9;
        self.command(&format!("set mode=duty stepsize={seconds}s hour=0 sec=0"))
    }

    /// Solves `count` steps. Returns which of them, from 0, are no solutions of the grid: they
    /// did not converge, the controls did not settle, or voltages are no numbers.
    pub(super) fn solve(&mut self, count: i64) -> Result<Vec<Range<i64>>, PlantError> {
        let (mut failed, mut done) = (Vec::new(), 0);
        while done < count {
            let left =
                i32::try_from(count - done).expect("a plan never asks for so many steps at once");
            let begun = Instant::now();
            let (mut events, result) = self.context.solve(left);
            self.wall += begun.elapsed();
            self.solves += 1;
            if events.nodes_changed {
                self.find_nodes();
            }
            match result {
                Ok(()) if events.steps > 0 => {}
                Err((CONTROLS_UNSETTLED, _)) if events.steps > 0 => {
                    events.last_failed();
                    // It solves nothing more until it gets another command.
                    self.command("get number")?;
                }
                result => {
                    let words = (0, "it returned no step number".to_owned());
                    let error = result.err().unwrap_or(words);
                    return Err(failed_to(&format!("solve {count} steps"), error));
                }
            }
            failed.extend(events.failed.iter().map(|steps| steps.start + done..steps.end + done));
            done += events.steps;
        }
        Ok(failed)
    }

    fn find_nodes(&mut self) {
        let now = self.context.nodes();
        let same = |name: &String| now.iter().position(|other| other.eq_ignore_ascii_case(name));
        // Place 0 of the engine's vector is ground.
        self.now_at = self.nodes.iter().map(|name| same(name).map(|index| index + 1)).collect();
    }

    pub(super) fn place(&mut self, name: &PointName) -> Result<Place, PlantError> {
        match point::parse(name) {
            Some(PointKind::Voltage { node, part }) => {
                match self.nodes.iter().position(|own| own.eq_ignore_ascii_case(&node)) {
                    Some(index) => Ok(Place::Voltage(index, part)),
                    None => Err(self.unknown(name, &format!("the circuit has no node {node}"))),
                }
            }
            Some(PointKind::Current { element, phase, part }) => {
                let handle = self.element(name, &element)?.0;
                let nodes = self.context.nodes_of(handle);
                // Those of the first terminal come first.
                match nodes.iter().position(|node| *node == i32::from(phase)) {
                    Some(conductor) => Ok(Place::Current(handle, conductor, part)),
                    None => Err(self.unknown(name, &format!("{element} has no phase {phase}"))),
                }
            }
            Some(PointKind::Closed { element }) => {
                Ok(Place::Closed(self.element(name, &element)?.0))
            }
            Some(PointKind::Property { element, property }) => {
                self.place_of_property(name, &element, &property)
            }
            None => {
                let form = "names are bus.<bus>.v<node> or <class>.<element>.<property>";
                Err(self.unknown(name, form))
            }
        }
    }

    fn place_of_property(
        &mut self,
        name: &PointName,
        wanted: &str,
        property: &str,
    ) -> Result<Place, PlantError> {
        let (element, properties) = self.element(name, wanted)?;
        let stem = name.0.rsplit_once('.').map_or("", |(stem, _)| stem);
        let unknown = |message: String, near: Vec<String>| {
            Err(PlantError::UnknownPoint { point: name.0.clone(), message, near })
        };
        let index = properties.iter().position(|p| p.eq_ignore_ascii_case(property));
        let Some(index) = index.and_then(|index| i32::try_from(index + 1).ok()) else {
            // Those that are points, and so numbers.
            let numbers: Vec<String> = (1..)
                .zip(properties)
                .filter(|(index, _)| self.number(element, *index).0.is_some())
                .map(|(_, property)| property)
                .collect();
            let near = point::near(property, numbers);
            let near = near.into_iter().map(|property| format!("{stem}.{property}")).collect();
            return unknown(format!("{wanted} has no property {property}"), near);
        };
        let (number, word) = self.number(element, index);
        match number {
            Some(number) => {
                let kind = kind(wanted, property);
                Ok(Place::Property { element, property: index, number, kind })
            }
            None => {
                let word = if word.is_empty() { "empty".into() } else { quoted_text(&word) };
                unknown(format!("{property} of {wanted} is not a number ({word})"), Vec::new())
            }
        }
    }

    /// The numbers that a property takes, if any, and how the engine writes it.
    fn number(&mut self, element: Handle, property: i32) -> (Option<Number>, String) {
        let real = self.context.get(element, property).unwrap_or(f64::NAN);
        let whole = self.context.get_whole(element, property).unwrap_or(-1);
        let word = self.context.get_word(element, property).unwrap_or_default();
        (Number::of(real, whole, &word), word)
    }

    fn get(&mut self, element: Handle, property: i32, number: Number) -> Answer<f64> {
        match number {
            Number::Real => self.context.get(element, property),
            Number::Whole => self.context.get_whole(element, property).map(f64::from),
            Number::YesNo => {
                let whole = self.context.get_whole(element, property)?;
                Ok(as_number(whole != 0))
            }
        }
    }

    fn put(
        &mut self,
        element: Handle,
        property: i32,
        (number, value): (Number, f64),
        keep_matrix: bool,
    ) -> Answer<()> {
        if number == Number::Real {
            return self.context.set(element, property, value, keep_matrix);
        }
        #[expect(clippy::cast_possible_truncation, reason = "others are refused before")]
        self.context.set_whole(element, property, value as i32)
    }

    /// An element of the circuit, with the names of its properties.
    fn element(
        &mut self,
        name: &PointName,
        wanted: &str,
    ) -> Result<(Handle, Vec<String>), PlantError> {
        if !self.elements.iter().any(|element| element.eq_ignore_ascii_case(wanted)) {
            return Err(self.unknown(name, &format!("the circuit has no element {wanted}")));
        }
        let found = self.context.element(wanted);
        found.ok_or_else(|| self.unknown(name, &format!("{wanted} cannot be selected")))
    }

    fn unknown(&self, name: &PointName, message: &str) -> PlantError {
        let nodes = self.nodes.iter().filter_map(|node| point::of_node(node));
        let class = name.0.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let last = name.0.rsplit('.').next().unwrap_or("kW").to_owned();
        let elements = self.elements.iter().filter_map(|element| {
            let (of, object) = element.split_once('.')?;
            of.eq_ignore_ascii_case(&class).then(|| format!("{class}.{object}.{last}"))
        });
        let near = match class.as_str() {
            "bus" => point::near(&name.0, nodes),
            _ => point::near(&name.0, elements),
        };
        PlantError::UnknownPoint { point: name.0.clone(), message: message.into(), near }
    }

    /// The value of a point as of the last solution.
    pub(super) fn read(&mut self, place: Place) -> Result<f64, PlantError> {
        let value = match place {
            // A node that is gone has no voltage; least of all that of another one.
            Place::Voltage(node, part) => {
                self.now_at[node].map_or(f64::NAN, |node| part.of(self.context.voltage(node)))
            }
            Place::Current(element, conductor, part) => {
                part.of(self.context.current(element, conductor))
            }
            Place::Closed(element) => as_number(self.context.is_closed(element)),
            Place::Property { element, property, number, .. } => self
                .get(element, property, number)
                .map_err(|error| failed_to("read a value", error))?,
        };
        // An idle storage unit reports minus zero, which reads badly; adding zero repairs that.
        Ok(value + 0.0)
    }

    /// Sets a point to a value, which the next solution heeds; whether it was another before.
    /// What a unit does by itself counts: storage that went idle at its reserve is set again by
    /// the value that it had.
    pub(super) fn write(&mut self, place: Place, value: f64) -> Result<bool, PlantError> {
        if let Place::Closed(element) = place {
            return self.switch(element, value != 0.0);
        }
        let Place::Property { element, property, number, kind } = place else { return Ok(false) };
        let value = match kind {
            Kind::StoragePower if value.abs() < STORAGE_KW_LEAST => STORAGE_KW_LEAST,
            _ => value,
        };
        let begun = Instant::now();
        let set = self.get(element, property, number).and_then(|old| {
            let is_new = old != value;
            if is_new {
                self.put(element, property, (number, value), kind == Kind::Power)?;
            }
            Ok(is_new)
        });
        self.wall += begun.elapsed();
        set.map_err(|error| failed_to(&format!("set {value}"), error))
    }

    /// Connects the first terminal of an element or takes it off; whether that was new.
    fn switch(&mut self, element: Handle, closed: bool) -> Result<bool, PlantError> {
        if self.context.is_closed(element) == closed {
            return Ok(false);
        }
        let begun = Instant::now();
        let switched = self.context.switch(element, closed);
        self.wall += begun.elapsed();
        let doing = if closed { "close a switch" } else { "open a switch" };
        switched.map(|()| true).map_err(|error| failed_to(doing, error))
    }

    fn command(&mut self, text: &str) -> Result<(), PlantError> {
        let ran = self.context.command(text);
        ran.map(drop).map_err(|error| failed_to(&format!("run `{text}`"), error))
    }
}

/// 1 for yes, 0 for no.
fn as_number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn kind(element: &str, property: &str) -> Kind {
    match (element.split('.').next().unwrap_or_default(), property) {
        ("load" | "generator", "kw" | "kvar") => Kind::Power,
        ("storage", "kw") => Kind::StoragePower,
        _ => Kind::Other,
    }
}

fn failed_to(doing: &str, (number, message): (i32, String)) -> PlantError {
    PlantError::Engine { doing: doing.into(), number, message: message.trim().into() }
}

/// A path as one word of the engine, which knows five kinds of quotes and no escapes.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let pairs = [('"', '"'), ('\'', '\''), ('(', ')'), ('[', ']'), ('{', '}')];
    let (open, close) =
        pairs.into_iter().find(|(_, close)| !path.contains(*close)).unwrap_or(pairs[0]);
    format!("{open}{path}{close}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_it_holds() {
        assert_eq!(quoted(Path::new("/a b/c.dss")), "\"/a b/c.dss\"");
        assert_eq!(quoted(Path::new("/a\"b/it's.dss")), "(/a\"b/it's.dss)");
    }

    #[test]
    fn only_powers_of_loads_and_generators_keep_the_matrix() {
        assert_eq!(kind("load.d611", "kw"), Kind::Power);
        assert_eq!(kind("storage.es", "kw"), Kind::StoragePower);
        assert_eq!(kind("line.l1", "length"), Kind::Other);
    }
}
