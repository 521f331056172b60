//! Logical nodes and data objects (IEC 61850-7-4, 61850-7-3) as variables: `LN$FC$DO$DA`.
//!
//! A data object is divided by functional constraints: what it says stands below `ST` or `MX`, how it
//! is set up below `CF`, `SP` and `DC`. Each that says something has a [`Point`].

use iec61850::wire::{UtcTime, Value};
use mms::{Node, Trigger, Type};

use super::live::{Source, enumerated};

pub(crate) const VENDOR: &str = "Quartercycle";
pub(crate) const REVISION: &str = env!("CARGO_PKG_VERSION");
const VISIBLE_255: Type = Type::VisibleString(255);
const QUALITY: Type = Type::BitString(13);
const DOUBLE_POINT: Type = Type::BitString(2);
pub(crate) const ENUMERATED: Type = Type::Integer(8);
/// Where the value of a status stands, and that of what a protection function says.
pub(crate) const STATUS: &[&str; 1] = &["stVal"];
pub(crate) const GENERAL: &[&str; 1] = &["general"];
/// `ctlModel`: its status may be read, and nothing may be ordered.
const STATUS_ONLY: i64 = 0;

/// A data object whose value changes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Point {
    pub(crate) source: Source,
    /// As `IHPTOC1$ST$Str`; its quality and time stand below it.
    pub(crate) item: String,
    /// Paths of its values below it, in the order of [`super::live::Observed`].
    pub(crate) values: &'static [&'static str],
    /// Where reports find it: with what contains it, such as all phases.
    pub(crate) member: String,
}

/// A logical node in the making.
#[derive(Debug)]
pub(crate) struct LogicalNode {
    pub(crate) name: String,
    /// Data objects by functional constraint.
    parts: Vec<(&'static str, Vec<Node>)>,
    pub(crate) points: Vec<Point>,
}

impl LogicalNode {
    /// A node without anything.
    pub(crate) fn bare(name: impl Into<String>) -> Self {
        Self { name: name.into(), parts: Vec::new(), points: Vec::new() }
    }

    /// A node with its behaviour and name plate.
    pub(crate) fn new(name: impl Into<String>, plate: Vec<Node>) -> Self {
        let mut node = Self::bare(name);
        node.status("Beh", Source::Mode, STATUS, ENUMERATED);
        node.put("DC", Node::structure("NamPlt", plate));
        node
    }

    pub(crate) fn put(&mut self, constraint: &'static str, object: Node) {
        match self.parts.iter_mut().find(|(known, _)| *known == constraint) {
            Some((_, objects)) => objects.push(object),
            None => self.parts.push((constraint, vec![object])),
        }
    }

    fn point(
        &mut self,
        constraint: &str,
        path: &str,
        source: Source,
        values: &'static [&'static str],
    ) {
        let object = path.split('$').next().unwrap_or(path);
        self.points.push(Point {
            source,
            item: format!("{}${constraint}${path}", self.name),
            values,
            member: format!("{}${constraint}${object}", self.name),
        });
    }

    /// A status of one value: SPS, ENS ([`STATUS`]), ACT ([`GENERAL`]).
    pub(crate) fn status(
        &mut self,
        object: &str,
        source: Source,
        attribute: &'static [&'static str; 1],
        kind: Type,
    ) {
        let zero = if kind == Type::Boolean { Value::Boolean(false) } else { enumerated(0) };
        let mut nodes = vec![Node::leaf(attribute[0], kind, zero, Trigger::Data)];
        nodes.extend(quality_and_time());
        self.put("ST", Node::structure(object, nodes));
        self.point("ST", object, source, attribute);
    }

    /// What an element sees (ACD). Elements do not say in which direction.
    pub(crate) fn start(&mut self, object: &str, source: Source) {
        let unknown = Node::leaf("dirGeneral", ENUMERATED, enumerated(0), Trigger::Data);
        let general = Node::leaf("general", Type::Boolean, Value::Boolean(false), Trigger::Data);
        let mut nodes = vec![general, unknown];
        nodes.extend(quality_and_time());
        self.put("ST", Node::structure(object, nodes));
        self.point("ST", object, source, GENERAL);
    }

    /// The position of a switch (DPC).
    pub(crate) fn position(&mut self, source: Source) {
        let between = Value::BitString(vec![0], 6);
        let mut nodes = vec![Node::leaf("stVal", DOUBLE_POINT, between, Trigger::Data)];
        nodes.extend(quality_and_time());
        self.put("ST", Node::structure("Pos", nodes));
        self.status_only("Pos");
        self.point("ST", "Pos", source, STATUS);
    }

    /// A data object that could be controlled, and is not.
    pub(crate) fn status_only(&mut self, object: &str) {
        let model = Node::leaf("ctlModel", ENUMERATED, enumerated(STATUS_ONLY), Trigger::None);
        self.put("CF", Node::structure(object, vec![model]));
    }

    /// A measured value (MV) in a unit of IEC 61850-7-3, annex A.
    pub(crate) fn measured(&mut self, object: &'static str, source: Source, unit: i64) {
        let mut nodes = vec![Node::structure("mag", vec![float("f", Trigger::Data)])];
        nodes.extend(quality_and_time());
        self.put("MX", Node::structure(object, nodes));
        self.put("CF", Node::structure(object, vec![units(unit)]));
        self.point("MX", object, source, &["mag$f"]);
    }

    /// Phasors of three phases (WYE).
    pub(crate) fn phasors(&mut self, object: &str, source: impl Fn(usize) -> Source, unit: i64) {
        const PHASES: [&str; 3] = ["phsA", "phsB", "phsC"];
        let phase = |name: &str| {
            let part = |part| Node::structure(part, vec![float("f", Trigger::Data)]);
            // An angle turns all the time where frequency is not nominal: it triggers nothing.
            let angle = Node::structure("ang", vec![float("f", Trigger::None)]);
            let mut nodes = vec![Node::structure("cVal", vec![part("mag"), angle])];
            nodes.extend(quality_and_time());
            Node::structure(name, nodes)
        };
        self.put("MX", Node::structure(object, PHASES.map(phase).into()));
        let set_up = |name| Node::structure(name, vec![units(unit)]);
        self.put("CF", Node::structure(object, PHASES.map(set_up).into()));
        for (number, name) in PHASES.into_iter().enumerate() {
            let path = format!("{object}${name}");
            self.point("MX", &path, source(number), &["cVal$mag$f", "cVal$ang$f"]);
        }
    }

    /// A setting that is an amount (ASG), in its unit.
    pub(crate) fn amount(&mut self, object: &str, value: f64, unit: i64) {
        let amount = Node::leaf("f", Type::Float32, Value::Float32(value as f32), Trigger::None);
        self.put("SP", Node::structure(object, vec![Node::structure("setMag", vec![amount])]));
        self.put("CF", Node::structure(object, vec![units(unit)]));
    }

    /// A setting that is a time in ms (ING).
    pub(crate) fn delay(&mut self, object: &str, delay: std::time::Duration) {
        let ms = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        let value = Value::Integer(ms, iec61850::wire::Width::Bits32);
        let value = Node::leaf("setVal", Type::Integer(32), value, Trigger::None);
        self.put("SP", Node::structure(object, vec![value]));
    }

    pub(crate) fn into_node(self) -> Node {
        let part = |(name, objects)| Node::structure(name, objects);
        Node::structure(self.name, self.parts.into_iter().map(part).collect())
    }
}

/// A text that does not change.
pub(crate) fn text(name: &str, text: &str) -> Node {
    // What a visible string may hold, and no more.
    let visible = |letter: &char| matches!(letter, ' '..='~');
    let text = text.chars().filter(visible).take(255).collect();
    Node::leaf(name, VISIBLE_255, Value::VisibleString(text), Trigger::None)
}

/// Vendor, version and description, as any name plate has them.
pub(crate) fn name_plate(description: &str) -> Vec<Node> {
    vec![text("vendor", VENDOR), text("swRev", REVISION), text("d", description)]
}

fn quality_and_time() -> [Node; 2] {
    [
        Node::leaf("q", QUALITY, Value::BitString(vec![0x40, 0], 3), Trigger::Quality),
        Node::leaf("t", Type::UtcTime, Value::UtcTime(UtcTime::default()), Trigger::None),
    ]
}

fn float(name: &str, trigger: Trigger) -> Node {
    Node::leaf(name, Type::Float32, Value::Float32(0.0), trigger)
}

fn units(unit: i64) -> Node {
    let leaf = |name, value| Node::leaf(name, ENUMERATED, enumerated(value), Trigger::None);
    Node::structure("units", vec![leaf("SIUnit", unit), leaf("multiplier", 0)])
}
