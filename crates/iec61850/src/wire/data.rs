//! Values of a data set (MMS `Data`, ISO 9506-2 as IEC 61850-8-1 uses it): all types, nested.
//!
//! Two forms of one thing: [`Data`] borrows from a frame and costs nothing, [`Value`] is owned and
//! is what a publisher encodes. A sequence is checked as a whole when it is decoded, to the last
//! nested element, so that walking it afterwards cannot fail.
//!
//! Tags 8 (REAL) and 11 are reserved by IEC 61850-8-1 and refused.

use std::fmt;

use super::ber::{Reader, Writer};
use super::error::{Fault, WireError};
use super::utc_time::UtcTime;

/// Deepest nesting. A functionally constrained data object has 4 levels; no data set needs more
/// than twice as many, and a decoder that goes deeper spends the stack of a real-time thread.
const DEPTH_MAX: usize = 10;

/// All values of a GOOSE message, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllData<'a> {
    elements: Elements<'a>,
    count: u32,
}

/// One value in a frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Data<'a> {
    Array(Elements<'a>),
    Structure(Elements<'a>),
    Boolean(bool),
    BitString(Bits<'a>),
    Integer(i64),
    Unsigned(u64),
    Float32(f32),
    Float64(f64),
    OctetString(&'a [u8]),
    VisibleString(&'a str),
    /// Milliseconds of the day, and days since 1984 if the value has 6 octets.
    BinaryTime(&'a [u8]),
    Bcd(i64),
    BooleanArray(Bits<'a>),
    /// An object identifier as it is encoded.
    ObjectId(&'a [u8]),
    MmsString(&'a str),
    UtcTime(UtcTime),
}

/// Bits, the first of which is the highest of the first octet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits<'a> {
    octets: &'a [u8],
    padding: u8,
}

/// Values one behind the other, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elements<'a>(Reader<'a>);

/// How integers are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In as few octets as the number needs.
    Ordinary,
    /// In as many octets as the type needs, so that a field never moves (IEC 61850-8-1 edition 2,
    /// annex A.3): those of the type and one more, which keeps unsigned numbers positive.
    FixedLength,
}

/// Width of an integer type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
}

/// One value of a data set, owned.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Array(Vec<Value>),
    Structure(Vec<Value>),
    Boolean(bool),
    /// Octets, and how many of the last one's lowest bits do not belong to it.
    BitString(Vec<u8>, u8),
    Integer(i64, Width),
    Unsigned(u64, Width),
    Float32(f32),
    Float64(f64),
    OctetString(Vec<u8>),
    VisibleString(String),
    BinaryTime(Vec<u8>),
    Bcd(i64),
    BooleanArray(Vec<u8>, u8),
    ObjectId(Vec<u8>),
    MmsString(String),
    UtcTime(UtcTime),
}

impl<'a> AllData<'a> {
    /// Values whose encoding is checked once, here.
    ///
    /// # Errors
    /// The first value that is not as it must be, with its octet in `encoded`.
    pub fn decode(encoded: &'a [u8]) -> Result<Self, WireError> {
        Self::check(Reader::new("allData", encoded, 0))
    }

    pub(super) fn check(reader: Reader<'a>) -> Result<Self, WireError> {
        let count = check(reader, DEPTH_MAX)?;
        Ok(Self { elements: Elements(reader), count })
    }

    /// How many values there are, nested ones not counted.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The values in order.
    #[must_use]
    pub const fn elements(&self) -> Elements<'a> {
        self.elements
    }

    /// As they are encoded.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.elements.0.rest()
    }
}

/// Counts the values in `reader`, after looking at each.
fn check(mut reader: Reader<'_>, depth: usize) -> Result<u32, WireError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.error(Fault::Depth));
    };
    let mut count = 0;
    while !reader.rest().is_empty() {
        if let Data::Array(inner) | Data::Structure(inner) = Data::decode(&mut reader)? {
            check(inner.0, depth)?;
        }
        count += 1;
    }
    Ok(count)
}

impl<'a> Iterator for Elements<'a> {
    type Item = Data<'a>;

    fn next(&mut self) -> Option<Data<'a>> {
        let more = !self.0.rest().is_empty();
        more.then(|| Data::decode(&mut self.0).expect("the whole sequence was checked before"))
    }
}

impl<'a> Data<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        const FIELD: &str = "Data";
        let before = *reader;
        let tag = reader.tag().ok_or_else(|| reader.error_of(FIELD, Fault::Missing))?;
        let value = reader.any(FIELD)?;
        let octets = value.rest();
        let length = || value.error(Fault::Length { octets: octets.len() });
        Ok(match tag {
            0xa1 => Self::Array(Elements(value)),
            0xa2 => Self::Structure(Elements(value)),
            0x83 => Self::Boolean(value.boolean()?),
            0x84 => Self::BitString(Bits::decode(value)?),
            0x85 => Self::Integer(value.signed()?),
            0x86 => Self::Unsigned(value.unsigned()?),
            0x87 => match *octets {
                // The first octet is the width of the exponent.
                [8, a, b, c, d] => Self::Float32(f32::from_be_bytes([a, b, c, d])),
                [11, a, b, c, d, e, f, g, h] => {
                    Self::Float64(f64::from_be_bytes([a, b, c, d, e, f, g, h]))
                }
                [_, _, _, _, _] | [_, _, _, _, _, _, _, _, _] => {
                    return Err(value.error(Fault::Range));
                }
                _ => return Err(length()),
            },
            0x89 => Self::OctetString(octets),
            0x8a => Self::VisibleString(value.visible()?),
            0x8c if matches!(octets.len(), 4 | 6) => Self::BinaryTime(octets),
            0x8c => return Err(length()),
            0x8d => Self::Bcd(value.signed()?),
            0x8e => Self::BooleanArray(Bits::decode(value)?),
            0x8f => match octets {
                [.., 0..=0x7f] => Self::ObjectId(octets),
                _ => return Err(length()),
            },
            0x90 => Self::MmsString(str::from_utf8(octets).map_err(|_| value.error(Fault::Text))?),
            0x91 => Self::UtcTime(UtcTime::from_octets(value.array()?)),
            _ => return Err(before.error_of(FIELD, Fault::Type { tag })),
        })
    }

    /// An owned copy; integers get the narrowest type that holds them.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Array(elements) => Value::Array(elements.map(Data::to_value).collect()),
            Self::Structure(elements) => Value::Structure(elements.map(Data::to_value).collect()),
            Self::Boolean(value) => Value::Boolean(value),
            Self::BitString(bits) => Value::BitString(bits.octets.into(), bits.padding),
            Self::Integer(value) => Value::Integer(value, Width::of_signed(value)),
            Self::Unsigned(value) => Value::Unsigned(value, Width::of_unsigned(value)),
            Self::Float32(value) => Value::Float32(value),
            Self::Float64(value) => Value::Float64(value),
            Self::OctetString(octets) => Value::OctetString(octets.into()),
            Self::VisibleString(text) => Value::VisibleString(text.into()),
            Self::BinaryTime(octets) => Value::BinaryTime(octets.into()),
            Self::Bcd(value) => Value::Bcd(value),
            Self::BooleanArray(bits) => Value::BooleanArray(bits.octets.into(), bits.padding),
            Self::ObjectId(octets) => Value::ObjectId(octets.into()),
            Self::MmsString(text) => Value::MmsString(text.into()),
            Self::UtcTime(time) => Value::UtcTime(time),
        }
    }
}

impl<'a> Bits<'a> {
    fn decode(value: Reader<'a>) -> Result<Self, WireError> {
        match *value.rest() {
            [padding @ 0..=7, ref octets @ ..] if padding == 0 || !octets.is_empty() => {
                Ok(Self { octets, padding })
            }
            [] => Err(value.error(Fault::Length { octets: 0 })),
            _ => Err(value.error(Fault::Range)),
        }
    }

    /// How many bits there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub const fn len(&self) -> usize {
        self.octets.len() * 8 - self.padding as usize
    }

    /// Whether a bit is set; `None` behind the last one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<bool> {
        (index < self.len()).then(|| self.octets[index / 8] & (0x80 >> (index % 8)) != 0)
    }

    /// The octets that hold the bits.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// How many of the lowest bits of the last octet do not belong to it.
    #[must_use]
    pub const fn padding(&self) -> u8 {
        self.padding
    }
}

impl Width {
    fn of_signed(value: i64) -> Self {
        Self::of_bits(65 - (value ^ (value >> 63)).leading_zeros())
    }

    fn of_unsigned(value: u64) -> Self {
        Self::of_bits(64 - value.leading_zeros())
    }

    const fn of_bits(bits: u32) -> Self {
        match bits {
            0..=8 => Self::Bits8,
            9..=16 => Self::Bits16,
            17..=32 => Self::Bits32,
            _ => Self::Bits64,
        }
    }

    const fn octets(self, form: Form) -> usize {
        match (form, self) {
            (Form::Ordinary, _) => 0,
            (Form::FixedLength, Self::Bits8) => 2,
            (Form::FixedLength, Self::Bits16) => 3,
            (Form::FixedLength, Self::Bits32) => 5,
            (Form::FixedLength, Self::Bits64) => 9,
        }
    }
}

impl Value {
    /// Appends `values` to `out` as a publisher sends them.
    pub fn encode_all(values: &[Self], form: Form, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        Self::write_all(values, form, &mut writer);
        writer.finish();
    }

    fn write_all(values: &[Self], form: Form, writer: &mut Writer<'_>) {
        for value in values.iter().rev() {
            value.write(form, writer);
        }
    }

    /// Writes it in front of what `writer` has.
    pub fn write(&self, form: Form, writer: &mut Writer<'_>) {
        let mark = writer.mark();
        match self {
            Self::Array(values) | Self::Structure(values) => {
                Self::write_all(values, form, writer);
                writer.close(if matches!(self, Self::Array(_)) { 0xa1 } else { 0xa2 }, mark);
            }
            Self::Boolean(value) => writer.boolean(0x83, *value),
            Self::BitString(octets, padding) | Self::BooleanArray(octets, padding) => {
                writer.octets(octets);
                writer.octets(&[*padding]);
                writer.close(if matches!(self, Self::BitString(..)) { 0x84 } else { 0x8e }, mark);
            }
            Self::Integer(value, width) => writer.signed(0x85, *value, width.octets(form)),
            Self::Unsigned(value, width) => writer.unsigned(0x86, *value, width.octets(form)),
            Self::Float32(value) => {
                writer.octets(&value.to_be_bytes());
                writer.octets(&[8]);
                writer.close(0x87, mark);
            }
            Self::Float64(value) => {
                writer.octets(&value.to_be_bytes());
                writer.octets(&[11]);
                writer.close(0x87, mark);
            }
            Self::OctetString(octets) => writer.field(0x89, octets),
            Self::VisibleString(text) => writer.field(0x8a, text.as_bytes()),
            Self::BinaryTime(octets) => writer.field(0x8c, octets),
            Self::Bcd(value) => writer.signed(0x8d, *value, 0),
            Self::ObjectId(octets) => writer.field(0x8f, octets),
            Self::MmsString(text) => writer.field(0x90, text.as_bytes()),
            Self::UtcTime(time) => writer.field(0x91, &time.to_octets()),
        }
    }
}

impl fmt::Display for Data<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(elements) => list(out, '[', *elements, ']'),
            Self::Structure(elements) => list(out, '{', *elements, '}'),
            Self::Boolean(value) => write!(out, "{value}"),
            Self::BitString(bits) | Self::BooleanArray(bits) => (0..bits.len())
                .try_for_each(|bit| write!(out, "{}", u8::from(bits.get(bit) == Some(true)))),
            Self::Integer(value) | Self::Bcd(value) => write!(out, "{value}"),
            Self::Unsigned(value) => write!(out, "{value}"),
            Self::Float32(value) => write!(out, "{value}"),
            Self::Float64(value) => write!(out, "{value}"),
            Self::OctetString(octets) | Self::BinaryTime(octets) | Self::ObjectId(octets) => {
                octets.iter().try_for_each(|octet| write!(out, "{octet:02x}"))
            }
            Self::VisibleString(text) | Self::MmsString(text) => write!(out, "{text:?}"),
            Self::UtcTime(time) => write!(out, "{time}"),
        }
    }
}

fn list(out: &mut fmt::Formatter<'_>, open: char, all: Elements<'_>, end: char) -> fmt::Result {
    write!(out, "{open}")?;
    for (index, value) in all.enumerate() {
        write!(out, "{}{value}", if index == 0 { "" } else { ", " })?;
    }
    write!(out, "{end}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bits() -> impl Strategy<Value = (Vec<u8>, u8)> {
        (vec(any::<u8>(), 0..6), 0u8..8).prop_map(|(octets, padding)| {
            (octets.clone(), if octets.is_empty() { 0 } else { padding })
        })
    }

    /// Any value up to four levels deep.
    pub(in crate::wire) fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Boolean),
            bits().prop_map(|(octets, padding)| Value::BitString(octets, padding)),
            any::<i64>().prop_map(|value| Value::Integer(value, Width::of_signed(value))),
            any::<i8>().prop_map(|value| Value::Integer(value.into(), Width::Bits8)),
            any::<u64>().prop_map(|value| Value::Unsigned(value, Width::of_unsigned(value))),
            any::<u16>()
                .prop_map(|value| Value::Unsigned(value.into(), Width::of_unsigned(value.into()))),
            (-1e30f32..1e30).prop_map(Value::Float32),
            (-1e300f64..1e300).prop_map(Value::Float64),
            vec(any::<u8>(), 0..140).prop_map(Value::OctetString),
            "[ -~]{0,200}".prop_map(Value::VisibleString),
            prop_oneof![vec(any::<u8>(), 4..=4), vec(any::<u8>(), 6..=6)]
                .prop_map(Value::BinaryTime),
            any::<i64>().prop_map(Value::Bcd),
            bits().prop_map(|(octets, padding)| Value::BooleanArray(octets, padding)),
            vec(0u8..0x80, 1..9).prop_map(Value::ObjectId),
            "\\PC{0,20}".prop_map(Value::MmsString),
            (any::<u32>(), 0u32..1 << 24, any::<u8>()).prop_map(|(seconds, fraction, quality)| {
                Value::UtcTime(UtcTime { seconds, fraction, quality })
            }),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Value::Array),
                vec(inner, 0..6).prop_map(Value::Structure),
            ]
        })
    }

    #[test]
    fn fixed_length_keeps_its_length() {
        let length = |value, form| {
            let mut out = Vec::new();
            Value::encode_all(&[Value::Unsigned(value, Width::Bits32)], form, &mut out);
            out.len()
        };
        assert_eq!(length(1, Form::FixedLength), length(u32::MAX.into(), Form::FixedLength));
        assert!(length(1, Form::Ordinary) < length(1, Form::FixedLength));
    }

    #[test]
    fn reserved_types_and_endless_nesting_are_refused() {
        let fault = |octets: &[u8]| AllData::decode(octets).unwrap_err().fault;
        assert_eq!(fault(&[0x88, 1, 0]), Fault::Type { tag: 0x88 });
        assert_eq!(fault(&[0x8b, 1, 0]), Fault::Type { tag: 0x8b });
        assert_eq!(fault(&[0xa3, 1, 0]), Fault::Type { tag: 0xa3 });
        let mut nested = vec![];
        for _ in 0..DEPTH_MAX {
            nested.splice(0..0, [0xa2, nested.len() as u8]);
        }
        assert_eq!(fault(&nested), Fault::Depth);
        assert!(AllData::decode(&nested[2..]).is_ok());
        assert_eq!(fault(&[0x84, 1, 3]), Fault::Range);
        assert_eq!(fault(&[0x87, 5, 9, 0, 0, 0, 0]), Fault::Range);
        assert_eq!(fault(&[0x86, 1, 0x80]), Fault::Range);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_again(values in vec(values(), 0..12), fixed: bool) {
            let form = if fixed { Form::FixedLength } else { Form::Ordinary };
            let mut octets = Vec::new();
            Value::encode_all(&values, form, &mut octets);
            let data = AllData::decode(&octets).unwrap();
            prop_assert_eq!(data.count() as usize, values.len());
            let decoded: Vec<Value> = data.elements().map(Data::to_value).collect();
            prop_assert_eq!(decoded, values);
        }
    }
}
