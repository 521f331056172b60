//! Types of variables, as MMS describes them (ISO 9506-2, `TypeDescription`).

use iec61850::wire::Value;
use iec61850::wire::ber::Writer;

/// The type of a variable without components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Boolean,
    /// A signed integer of so many bits.
    Integer(u8),
    /// An integer of so many bits that is not negative.
    Unsigned(u8),
    /// IEEE 754, 32 bits.
    Float32,
    /// So many bits or fewer.
    BitString(u8),
    /// So many characters or fewer.
    VisibleString(u8),
    UtcTime,
    /// Milliseconds of the day and days since 1984.
    BinaryTime,
}

impl Type {
    pub(crate) fn write(self, writer: &mut Writer<'_>) {
        match self {
            Self::Boolean => writer.field(0x83, &[]),
            Self::BitString(bits) => writer.signed(0x84, -i64::from(bits), 0),
            Self::Integer(bits) => writer.field(0x85, &[bits]),
            Self::Unsigned(bits) => writer.field(0x86, &[bits]),
            Self::Float32 => {
                let mark = writer.mark();
                // Width of all of it, and of its exponent.
                writer.field(2, &[8]);
                writer.field(2, &[32]);
                writer.close(0xa7, mark);
            }
            Self::VisibleString(characters) => writer.signed(0x8a, -i64::from(characters), 0),
            Self::BinaryTime => writer.boolean(0x8c, true),
            Self::UtcTime => writer.field(0x91, &[]),
        }
    }

    /// Whether it is the type of a value.
    #[must_use]
    pub fn is_of(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Boolean, Value::Boolean(_))
            | (Self::Integer(_), Value::Integer(..))
            | (Self::Unsigned(_), Value::Unsigned(..))
            | (Self::Float32, Value::Float32(_))
            | (Self::UtcTime, Value::UtcTime(_)) => true,
            (Self::BitString(bits), Value::BitString(octets, padding)) => {
                octets.len() * 8 - usize::from(*padding) <= usize::from(bits)
            }
            (Self::VisibleString(characters), Value::VisibleString(text)) => {
                text.len() <= usize::from(characters)
            }
            (Self::BinaryTime, Value::BinaryTime(octets)) => octets.len() == 6,
            _ => false,
        }
    }
}
