//! What can be browsed: one logical device with its logical nodes as named variables (IEC 61850-8-1,
//! clause 7), their values, and data sets.
//!
//! The name of a variable is its path, `LN$FC$DO$DA`; each part of a path is a variable too, a
//! structure. Values stand in one row, in the order of the tree, so each variable is a range of it.

use std::ops::Range;

use iec61850::wire::ber::Writer;
use iec61850::wire::{Form, Value};

use crate::types::Type;

/// A variable: a structure of others, or one value.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub(crate) name: String,
    kind: Kind,
    /// Where its values stand.
    pub(crate) slots: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Structure(Vec<Node>),
    /// The value is where the model begins; afterwards it stands in the row.
    Leaf(Type, Value, Trigger),
}

/// What a report says when a value has changed (IEC 61850-7-2, `TrgOp` of a data attribute).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Nothing: it accompanies another value.
    None,
    /// `dchg`: the data has changed.
    Data,
    /// `qchg`: its quality has.
    Quality,
}

impl Node {
    /// A variable that consists of others, in this order.
    #[must_use]
    pub fn structure(name: impl Into<String>, nodes: Vec<Self>) -> Self {
        Self { name: name.into(), kind: Kind::Structure(nodes), slots: 0..0 }
    }

    /// A variable with one value, which it has at first.
    #[must_use]
    pub fn leaf(name: impl Into<String>, kind: Type, value: Value, trigger: Trigger) -> Self {
        Self { name: name.into(), kind: Kind::Leaf(kind, value, trigger), slots: 0..0 }
    }

    /// The variable at the end of a path that begins below this one.
    pub(crate) fn below<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, name| match &node.kind {
            Kind::Structure(nodes) => nodes.iter().find(|node| node.name == name),
            Kind::Leaf(..) => None,
        })
    }

    /// Type of its value; none for a structure.
    pub(crate) const fn leaf_type(&self) -> Option<Type> {
        match self.kind {
            Kind::Leaf(kind, ..) => Some(kind),
            Kind::Structure(_) => None,
        }
    }

    pub(crate) fn write_type(&self, writer: &mut Writer<'_>) {
        let nodes = match &self.kind {
            Kind::Leaf(kind, ..) => return kind.write(writer),
            Kind::Structure(nodes) => nodes,
        };
        let mark = writer.mark();
        for node in nodes.iter().rev() {
            let component = writer.mark();
            node.write_type(writer);
            writer.close(0xa1, component);
            writer.field(0x80, node.name.as_bytes());
            writer.close(0x30, component);
        }
        writer.close(0xa1, mark);
        writer.close(0xa2, mark);
    }

    fn write(&self, values: &[Value], writer: &mut Writer<'_>) {
        match &self.kind {
            Kind::Leaf(..) => values[self.slots.start].write(Form::Ordinary, writer),
            Kind::Structure(nodes) => {
                let mark = writer.mark();
                nodes.iter().rev().for_each(|node| node.write(values, writer));
                writer.close(0xa2, mark);
            }
        }
    }
}

/// Variables that are read and reported together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DataSet {
    /// As `LLN0$Status`.
    pub(crate) name: String,
    pub(crate) members: Vec<Member>,
}

/// A variable of a data set.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Member {
    /// As `PTOC1$ST$Op`.
    pub(crate) item: String,
    /// What it names, so that no report has to look for it.
    pub(crate) node: Node,
}

/// A logical device with its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    pub(crate) domain: String,
    root: Node,
    values: Vec<Value>,
    triggers: Vec<Trigger>,
    pub(crate) data_sets: Vec<DataSet>,
    /// Names of all variables, sorted.
    pub(crate) variables: Vec<String>,
    /// Names of all data sets, sorted.
    pub(crate) lists: Vec<String>,
}

impl Model {
    /// A logical device of this name with these logical nodes and, by name, data sets. Members of
    /// data sets that name no variable are left out.
    #[must_use]
    pub fn new(
        domain: impl Into<String>,
        logical_nodes: Vec<Node>,
        data_sets: Vec<(String, Vec<String>)>,
    ) -> Self {
        let mut model = Self {
            domain: domain.into(),
            root: Node::structure("", logical_nodes),
            values: Vec::new(),
            triggers: Vec::new(),
            data_sets: Vec::new(),
            variables: Vec::new(),
            lists: data_sets.iter().map(|(name, _)| name.clone()).collect(),
        };
        let mut root = std::mem::replace(&mut model.root, Node::structure("", Vec::new()));
        model.enter(&mut root, "");
        model.root = root;
        model.variables.sort_unstable();
        model.lists.sort_unstable();
        let member = |item: String| {
            let node = model.find(&item)?.clone();
            Some(Member { item, node })
        };
        let read = |(name, items): (String, Vec<String>)| DataSet {
            name,
            members: items.into_iter().filter_map(member).collect(),
        };
        model.data_sets = data_sets.into_iter().map(read).collect();
        model
    }

    /// Gives a variable and all below it their slots and their names.
    fn enter(&mut self, node: &mut Node, path: &str) {
        let begin = self.values.len();
        match &mut node.kind {
            Kind::Leaf(_, value, trigger) => {
                self.values.push(value.clone());
                self.triggers.push(*trigger);
            }
            Kind::Structure(nodes) => {
                for node in nodes {
                    let path = if path.is_empty() {
                        node.name.clone()
                    } else {
                        format!("{path}${}", node.name)
                    };
                    self.variables.push(path.clone());
                    self.enter(node, &path);
                }
            }
        }
        node.slots = begin..self.values.len();
    }

    /// The variable with this name.
    pub(crate) fn find(&self, item: &str) -> Option<&Node> {
        self.root.below(item.split('$'))
    }

    /// Where the value of a variable without components stands.
    #[must_use]
    pub fn slot(&self, item: &str) -> Option<usize> {
        self.find(item).filter(|node| node.leaf_type().is_some()).map(|node| node.slots.start)
    }

    /// A value that a variable has now.
    #[must_use]
    pub fn value(&self, slot: usize) -> Option<&Value> {
        self.values.get(slot)
    }

    /// What a report says when this value changes to that one; nothing if it is the same.
    pub(crate) fn change(&self, slot: usize, value: &Value) -> Option<Trigger> {
        self.values.get(slot).filter(|known| *known != value).map(|_| self.triggers[slot])
    }

    pub(crate) fn set(&mut self, slot: usize, value: Value) {
        if let Some(place) = self.values.get_mut(slot) {
            *place = value;
        }
    }

    /// Writes the value of a variable, with all its components.
    pub(crate) fn write(&self, node: &Node, writer: &mut Writer<'_>) {
        node.write(&self.values, writer);
    }

    /// The place of a data set among all.
    pub(crate) fn data_set(&self, name: &str) -> Option<usize> {
        self.data_sets.iter().position(|set| set.name == name)
    }
}
