//! Why octets are no frame or datagram: which field, at which octet, and what is wrong there.
//!
//! Small and `Copy`, because a relay meets such octets at the rate of the attacker; the words are
//! made only when somebody prints them.

use std::fmt;

/// What is wrong with a frame or a datagram, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireError {
    /// The name of the field that could not be read, as the standard writes it.
    pub field: &'static str,
    /// Where it stands: octets from the begin of the whole.
    pub octet: usize,
    pub fault: Fault,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It ends behind what is there: it says that it has so many octets, or must have them.
    Cut { has: usize, needs: usize },
    /// Something else stands in its place.
    Tag { expected: u8, found: u8 },
    /// Its place is at the end of what encloses it.
    Missing,
    /// It has a length that it cannot have.
    Length { octets: usize },
    /// Its length is of the indefinite form, or has more than four octets.
    LengthForm,
    /// It is followed by octets that belong to no field.
    Trailing { octets: usize },
    /// It is no visible string (printable ASCII), or no UTF-8 where that is allowed.
    Text,
    /// It has a value that it cannot have.
    Range,
    /// It says one number of entries, and another is there.
    Count { stated: u32, found: u32 },
    /// It is of a type that IEC 61850 reserves or does not know.
    Type { tag: u8 },
    /// It is nested deeper than any data set.
    Depth,
}

impl fmt::Display for WireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at octet {}: {}", self.field, self.octet, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { has, needs } => write!(out, "{needs} octets are needed, {has} are there"),
            Self::Tag { expected, found } => {
                write!(out, "tag {expected:#04x} is expected here, not {found:#04x}")
            }
            Self::Missing => write!(out, "the field is missing"),
            Self::Length { octets } => write!(out, "the field cannot have {octets} octets"),
            Self::LengthForm => write!(out, "the length is indefinite or has over 4 octets"),
            Self::Trailing { octets } => write!(out, "{octets} octets too many at the end"),
            Self::Text => write!(out, "the text has characters that are not allowed"),
            Self::Range => write!(out, "the field cannot have this value"),
            Self::Count { stated, found } => write!(out, "{stated} are stated, {found} are there"),
            Self::Type { tag } => write!(out, "tag {tag:#04x} is not a type of IEC 61850"),
            Self::Depth => write!(out, "nested too deeply"),
        }
    }
}

impl std::error::Error for WireError {}
