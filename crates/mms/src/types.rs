//! Types of variables, as MMS describes them (ISO 9506-2, `TypeDescription`).

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
            Self::UtcTime => writer.field(0x91, &[]),
        }
    }
}
