//! Why octets are no frame: which field, at which octet of the frame, and what is wrong there.
//!
//! Small and `Copy`, because a relay meets such frames at the rate of the attacker; the words are
//! made only when somebody prints them.

use std::fmt;

/// What is wrong with a frame, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireError {
    /// The field that could not be read.
    pub field: Field,
    /// Where it stands: octets from the begin of the frame.
    pub octet: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It ends behind what is there.
    Cut {
        /// Octets that it has.
        has: usize,
        /// Octets that it says it has, or must have.
        needs: usize,
    },
    /// Something else stands in its place.
    Tag {
        /// The tag of the field.
        expected: u8,
        /// The tag that is there.
        found: u8,
    },
    /// Its place is at the end of what encloses it.
    Missing,
    /// It has a length that it cannot have.
    Length {
        /// Octets that it has.
        octets: usize,
    },
    /// Its length is of the indefinite form, or has more than four octets.
    LengthForm,
    /// It is followed by octets that belong to no field.
    Trailing {
        /// How many octets there are.
        octets: usize,
    },
    /// It is no visible string (printable ASCII), or no UTF-8 where that is allowed.
    Text,
    /// It has a value that it cannot have.
    Range,
    /// It says one number of entries, and another is there.
    Count {
        /// What the frame says.
        stated: u32,
        /// The value in the frame.
        found: u32,
    },
    /// It is of a type that IEC 61850 reserves or does not know.
    Type {
        /// Tag of the unexpected field.
        tag: u8,
    },
    /// It is nested deeper than any data set.
    Depth,
}

/// A field of a frame, by the name of its standard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    Ethernet,
    EtherType,
    AppId,
    Length,
    SavPdu,
    NoAsdu,
    SeqAsdu,
    Asdu,
    SvId,
    DatSet,
    SmpCnt,
    ConfRev,
    RefrTm,
    SmpSynch,
    SmpRate,
    Sample,
    SmpMod,
    GmIdentity,
    GoosePdu,
    GocbRef,
    TimeAllowedToLive,
    GoId,
    T,
    StNum,
    SqNum,
    Simulation,
    NdsCom,
    NumDatSetEntries,
    AllData,
    Data,
}

impl Field {
    /// The name as the standards write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet header",
            Self::EtherType => "EtherType",
            Self::AppId => "APPID",
            Self::Length => "Length",
            Self::SavPdu => "savPdu",
            Self::NoAsdu => "noASDU",
            Self::SeqAsdu => "seqASDU",
            Self::Asdu => "ASDU",
            Self::SvId => "svID",
            Self::DatSet => "datSet",
            Self::SmpCnt => "smpCnt",
            Self::ConfRev => "confRev",
            Self::RefrTm => "refrTm",
            Self::SmpSynch => "smpSynch",
            Self::SmpRate => "smpRate",
            Self::Sample => "sample",
            Self::SmpMod => "smpMod",
            Self::GmIdentity => "gmIdentity",
            Self::GoosePdu => "goosePdu",
            Self::GocbRef => "gocbRef",
            Self::TimeAllowedToLive => "timeAllowedtoLive",
            Self::GoId => "goID",
            Self::T => "t",
            Self::StNum => "stNum",
            Self::SqNum => "sqNum",
            Self::Simulation => "simulation",
            Self::NdsCom => "ndsCom",
            Self::NumDatSetEntries => "numDatSetEntries",
            Self::AllData => "allData",
            Self::Data => "Data",
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at octet {}: {}", self.field.name(), self.octet, self.fault)
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
