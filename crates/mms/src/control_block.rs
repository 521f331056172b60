//! What a control block of reports looks like (IEC 61850-8-1, clause 17.1): its attributes, in their
//! order and types, and bit strings that some of them are.

use iec61850::wire::{Data, Value, Width};

use crate::answer::AccessError;
use crate::model::{Node, Trigger};
use crate::types::Type;

const REFERENCE_CHARACTERS: u8 = 129;

/// Bits of `TrgOps`, and of the reason for inclusion, from the first on.
pub(crate) const BIT_DATA: u8 = 1;
pub(crate) const BIT_QUALITY: u8 = 2;
pub(crate) const BIT_INTEGRITY: u8 = 4;
pub(crate) const BIT_INTERROGATION: u8 = 5;
pub(crate) const TRIGGER_BITS: u8 = 6;
/// Bits of `OptFlds`.
pub(crate) const OPT_SEQUENCE: u8 = 1;
pub(crate) const OPT_TIME: u8 = 2;
pub(crate) const OPT_REASON: u8 = 3;
pub(crate) const OPT_DATA_SET: u8 = 4;
pub(crate) const OPT_REFERENCE: u8 = 5;
pub(crate) const OPT_CONF_REV: u8 = 8;
pub(crate) const OPT_SEGMENTATION: u8 = 9;
pub(crate) const OPTIONAL_BITS: u8 = 10;

/// Bits by their number; the first of them is the highest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bits(pub(crate) u16);

impl Bits {
    pub(crate) const fn of(numbers: &[u8]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < numbers.len() {
            bits |= 0x8000 >> numbers[index];
            index += 1;
        }
        Self(bits)
    }

    pub(crate) const fn has(self, number: u8) -> bool {
        self.0 & (0x8000 >> number) != 0
    }

    pub(crate) fn value(self, count: u8) -> Value {
        let octets = usize::from(count.div_ceil(8));
        Value::BitString(self.0.to_be_bytes()[..octets].into(), (octets * 8) as u8 - count)
    }

    /// Those of a bit string that has as many or fewer.
    pub(crate) fn read(data: Data<'_>, count: u8) -> Result<Self, AccessError> {
        let Data::BitString(bits) = data else { return Err(AccessError::TypeInconsistent) };
        if bits.len() > usize::from(count) {
            return Err(AccessError::TypeInconsistent);
        }
        let set: Vec<u8> = (0..count).filter(|n| bits.get((*n).into()) == Some(true)).collect();
        Ok(Self::of(&set))
    }
}

/// The attributes of a control block, in the order of their components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    RptId,
    RptEna,
    Resv,
    DatSet,
    ConfRev,
    OptFlds,
    BufTm,
    SqNum,
    TrgOps,
    IntgPd,
    Gi,
}

impl Attribute {
    pub(crate) const ALL: [Self; 11] = [
        Self::RptId,
        Self::RptEna,
        Self::Resv,
        Self::DatSet,
        Self::ConfRev,
        Self::OptFlds,
        Self::BufTm,
        Self::SqNum,
        Self::TrgOps,
        Self::IntgPd,
        Self::Gi,
    ];

    const fn name_and_type(self) -> (&'static str, Type) {
        match self {
            Self::RptId => ("RptID", Type::VisibleString(REFERENCE_CHARACTERS)),
            Self::RptEna => ("RptEna", Type::Boolean),
            Self::Resv => ("Resv", Type::Boolean),
            Self::DatSet => ("DatSet", Type::VisibleString(REFERENCE_CHARACTERS)),
            Self::ConfRev => ("ConfRev", Type::Unsigned(32)),
            Self::OptFlds => ("OptFlds", Type::BitString(OPTIONAL_BITS)),
            Self::BufTm => ("BufTm", Type::Unsigned(32)),
            Self::SqNum => ("SqNum", Type::Unsigned(8)),
            Self::TrgOps => ("TrgOps", Type::BitString(TRIGGER_BITS)),
            Self::IntgPd => ("IntgPd", Type::Unsigned(32)),
            Self::Gi => ("GI", Type::Boolean),
        }
    }
}

/// The variable of a control block, for the logical node that has it.
#[must_use]
pub fn control_block(name: &str) -> Node {
    let leaf = |attribute: Attribute| {
        let (name, kind) = attribute.name_and_type();
        let value = match kind {
            Type::Boolean => Value::Boolean(false),
            Type::BitString(bits) => Bits::default().value(bits),
            Type::VisibleString(_) => Value::VisibleString(String::new()),
            _ => Value::Unsigned(0, Width::Bits32),
        };
        Node::leaf(name, kind, value, Trigger::None)
    };
    Node::structure(name, Attribute::ALL.map(leaf).into())
}

pub(crate) const fn boolean(data: Data<'_>) -> Result<bool, AccessError> {
    match data {
        Data::Boolean(value) => Ok(value),
        _ => Err(AccessError::TypeInconsistent),
    }
}

pub(crate) fn number(data: Data<'_>) -> Result<u32, AccessError> {
    match data {
        Data::Unsigned(value) => u32::try_from(value).map_err(|_| AccessError::ValueInvalid),
        // Some clients write positive numbers as signed ones.
        Data::Integer(value) => u32::try_from(value).map_err(|_| AccessError::ValueInvalid),
        _ => Err(AccessError::TypeInconsistent),
    }
}

pub(crate) fn reference(data: Data<'_>) -> Result<&str, AccessError> {
    match data {
        Data::VisibleString(text) if text.len() <= REFERENCE_CHARACTERS.into() => Ok(text),
        Data::VisibleString(_) => Err(AccessError::ValueInvalid),
        _ => Err(AccessError::TypeInconsistent),
    }
}
