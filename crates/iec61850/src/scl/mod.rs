//! What a relay needs of an SCL file (IEC 61850-6: ICD, CID, SCD): the parameters of streams and of
//! GOOSE messages, so that nobody copies addresses by hand.
//!
//! A control block stands in two places: what it sends below its device (`LN0`), where it sends it to
//! below `Communication`. Blocks that lack something, or whose values no frame can have, are left out
//! and reported with their line; everything else of the file is not looked at. The file may come from
//! anybody: types declared in it are refused, and so is more than any substation needs.

mod blocks;
mod frugal;

use std::fmt;

use roxmltree::{Document, Node, ParsingOptions};

use crate::wire::{MacAddress, Tag};

/// Octets of a file that are read: several times the largest substation.
pub const OCTETS_MAX: usize = 64 << 20;
/// Elements, attributes and texts that are read.
const NODES_MAX: u32 = 4_000_000;

/// Streams and messages that a file describes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Station {
    pub streams: Vec<StreamBlock>,
    /// GOOSE messages, in the order of the file.
    pub messages: Vec<MessageBlock>,
    pub left_out: Vec<LeftOut>,
}

/// A control block that cannot be used.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LeftOut {
    /// Line in the file, from 1.
    pub line: u32,
    /// Device, logical device and control block.
    pub block: String,
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}: left out: {}", self.line, self.block, self.why)
    }
}

/// Where a control block sends to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub destination: MacAddress,
    pub app_id: u16,
    pub tag: Tag,
}

/// A control block of sampled values.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamBlock {
    /// Device, logical device and control block, as one word.
    pub name: String,
    pub sv_id: String,
    pub address: Address,
    pub rate: Rate,
    pub conf_rev: u32,
}

/// How `smpRate` counts (`smpMod`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// Samples a period of the nominal frequency, as 9-2LE does.
    PerPeriod(u32),
    /// Samples a second, as IEC 61869-9 does.
    PerSecond(u32),
}

/// A control block of GOOSE.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageBlock {
    /// Name of the device (IED) that sends it.
    pub device: String,
    /// Device, logical device and control block, as one word.
    pub name: String,
    /// Reference of the control block.
    pub reference: String,
    pub data_set: String,
    pub go_id: String,
    pub address: Address,
    pub conf_rev: u32,
    /// First and last interval of repetition, in ms, where they are given.
    pub repeat_ms: [Option<u32>; 2],
    pub values: Vec<Value>,
}

/// One value of a data set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// Logical device, logical node with prefix and instance, data object and attribute:
    /// `CTRL.XCBR1.Pos.stVal`.
    pub path: String,
    /// What the relay could use it for.
    pub kind: ValueKind,
}

/// What a relay can make of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// The position of a switch.
    Position,
    /// The quality of values of the same data object, by their places in the data set, from 0. None
    /// where the data set has no value of it, or has that quality twice.
    Quality(Vec<usize>),
    /// Something else, which a person must say.
    Other,
}

/// Why a file cannot be read at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// Reads the text of an SCL file.
///
/// # Errors
/// When it is not well-formed, declares types of its own, is too large, or is no SCL.
pub fn read(text: &str) -> Result<Station, Unreadable> {
    if text.len() > OCTETS_MAX {
        let why = format!("it has {} octets: give one of at most {OCTETS_MAX}", text.len());
        return Err(Unreadable(why));
    }
    frugal::check(text).map_err(|why| Unreadable(format!("it is not supported XML: {why}")))?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| Unreadable(format!("it is not supported XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "SCL" {
        let found = root.tag_name().name();
        return Err(Unreadable(format!("its root is `{found}`: give an ICD, CID or SCD file")));
    }
    Ok(blocks::station(root))
}

/// Elements below one, by name.
fn below<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}
