//! Tags, lengths and values (X.690, basic encoding rules): reading from the front of borrowed
//! octets, writing from the back, so that each length is known when it is written and nothing is
//! measured or moved beforehand.
//!
//! Only tags of one octet and definite lengths exist in these protocols. Lengths are read in
//! every form up to four octets, also longer than needed, and written in the shortest.

use super::error::{Fault, WireError};

/// Longest visible string: an object reference (IEC 61850-7-2, `ObjectReference`).
const TEXT_OCTETS_MAX: usize = 129;

/// What is left to read of a field, and where in the frame that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader<'a> {
    field: &'static str,
    /// What was not read yet.
    rest: &'a [u8],
    /// Where `rest` ends, in octets from the begin of the frame.
    end: usize,
}

impl<'a> Reader<'a> {
    /// Reads the octets of a field, the first of which stands at `at` in the frame.
    #[inline]
    pub fn new(field: &'static str, octets: &'a [u8], at: usize) -> Self {
        Self { field, rest: octets, end: at + octets.len() }
    }

    /// Octets that were not read yet.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Where the next octet stands in the frame.
    #[inline]
    pub fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    /// What is wrong with the field that is read.
    #[cold]
    pub fn error(&self, fault: Fault) -> WireError {
        self.error_of(self.field, fault)
    }

    /// What is wrong with the field that comes next.
    #[cold]
    pub fn error_of(&self, field: &'static str, fault: Fault) -> WireError {
        WireError { field, octet: self.at(), fault }
    }

    /// The tag that comes next.
    #[inline]
    pub fn tag(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The value of the field with this tag, which must come next.
    #[inline]
    pub fn value(&mut self, tag: u8, field: &'static str) -> Result<Self, WireError> {
        match self.tag() {
            Some(found) if found == tag => self.any(field),
            Some(found) => Err(self.error_of(field, Fault::Tag { expected: tag, found })),
            None => Err(self.error_of(field, Fault::Missing)),
        }
    }

    /// The value of the field with this tag, if it comes next.
    #[inline]
    pub fn optional(&mut self, tag: u8, field: &'static str) -> Result<Option<Self>, WireError> {
        if self.tag() == Some(tag) { self.any(field).map(Some) } else { Ok(None) }
    }

    /// The value of whatever comes next.
    #[inline]
    pub fn any(&mut self, field: &'static str) -> Result<Self, WireError> {
        let (head, octets) = match *self.rest {
            [_, length @ 0..=0x7f, ..] => (2, usize::from(length)),
            _ => self.long_length(field)?,
        };
        let body = &self.rest[head..];
        if octets > body.len() {
            return Err(self.error_of(field, Fault::Cut { has: body.len(), needs: octets }));
        }
        let (value, rest) = body.split_at(octets);
        let end = self.end - rest.len();
        self.rest = rest;
        Ok(Self { field, rest: value, end })
    }

    /// Octets of tag and length, and the length, where it is of the long form.
    fn long_length(&self, field: &'static str) -> Result<(usize, usize), WireError> {
        let Some(&first) = self.rest.get(1) else {
            return Err(self.error_of(field, Fault::Cut { has: self.rest.len(), needs: 2 }));
        };
        let count = usize::from(first & 0x7f);
        if !(1..=4).contains(&count) {
            return Err(self.error_of(field, Fault::LengthForm));
        }
        let Some(octets) = self.rest.get(2..2 + count) else {
            return Err(self.error_of(field, Fault::Cut { has: self.rest.len(), needs: 2 + count }));
        };
        let length = octets.iter().fold(0u64, |sum, octet| sum << 8 | u64::from(*octet));
        // A length beyond the address space is beyond the frame as well.
        Ok((2 + count, usize::try_from(length).unwrap_or(usize::MAX)))
    }

    /// All of it as an array.
    #[inline]
    pub fn array<const N: usize>(self) -> Result<[u8; N], WireError> {
        self.rest.try_into().map_err(|_| self.error(Fault::Length { octets: self.rest.len() }))
    }

    /// All of it as a visible string.
    #[inline]
    pub fn text(self) -> Result<&'a str, WireError> {
        if self.rest.len() > TEXT_OCTETS_MAX {
            return Err(self.error(Fault::Length { octets: self.rest.len() }));
        }
        self.visible()
    }

    /// All of it as a visible string of any length.
    #[inline]
    pub fn visible(self) -> Result<&'a str, WireError> {
        // Folded rather than searched: without an early exit this is a few vector instructions.
        let printable =
            self.rest.iter().fold(true, |all, octet| all & matches!(octet, 0x20..=0x7e));
        match std::str::from_utf8(self.rest) {
            Ok(text) if printable => Ok(text),
            _ => Err(self.error(Fault::Text)),
        }
    }

    /// All of it as a boolean: anything but zero is true.
    pub fn boolean(self) -> Result<bool, WireError> {
        self.array::<1>().map(|[octet]| octet != 0)
    }

    /// All of it as a signed integer of up to 64 bits, however many octets it was given.
    pub fn signed(self) -> Result<i64, WireError> {
        let sign = if self.rest.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
        // A ninth octet can only repeat the sign, as fixed lengths of 64 bits have it.
        let number = match self.rest {
            [0x00, 0..=0x7f, ..] | [0xff, 0x80..=0xff, ..] => &self.rest[1..],
            rest => rest,
        };
        if !(1..=8).contains(&number.len()) {
            return Err(self.error(Fault::Length { octets: self.rest.len() }));
        }
        Ok(number.iter().fold(sign, |sum, octet| sum << 8 | i64::from(*octet)))
    }

    /// All of it as an integer that is not negative, of up to 64 bits.
    pub fn unsigned(self) -> Result<u64, WireError> {
        match self.rest {
            [] => Err(self.error(Fault::Length { octets: 0 })),
            [0x80..=0xff, ..] => Err(self.error(Fault::Range)),
            [0, rest @ ..] | rest if rest.len() <= 8 => {
                Ok(rest.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
            }
            _ => Err(self.error(Fault::Length { octets: self.rest.len() })),
        }
    }

    /// All of it as an `INT32U`.
    pub fn int32u(self) -> Result<u32, WireError> {
        u32::try_from(self.unsigned()?).map_err(|_| self.error(Fault::Range))
    }

    /// Nothing may be left.
    #[inline]
    pub fn finish(&self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            octets => Err(self.error(Fault::Trailing { octets })),
        }
    }
}

/// Writes behind what `out` holds, last field first.
#[derive(Debug)]
pub struct Writer<'v> {
    out: &'v mut Vec<u8>,
    begin: usize,
}

impl<'v> Writer<'v> {
    /// Writes behind what is in `out`, which stays.
    pub fn new(out: &'v mut Vec<u8>) -> Self {
        let begin = out.len();
        Self { out, begin }
    }

    /// The mark in front of which nothing is written: all of it, for [`Writer::close`].
    #[must_use]
    pub fn begin(&self) -> usize {
        self.begin
    }

    /// How much is written, for [`Writer::close`].
    pub fn mark(&self) -> usize {
        self.out.len()
    }

    /// Octets in front of what is written.
    pub fn octets(&mut self, octets: &[u8]) {
        self.out.extend(octets.iter().rev());
    }

    /// Makes what was written since `mark` the value of a field.
    pub fn close(&mut self, tag: u8, mark: usize) {
        let length = self.out.len() - mark;
        if length < 0x80 {
            self.out.push(length as u8);
        } else {
            let octets = length.to_be_bytes();
            let leading = octets.iter().take_while(|octet| **octet == 0).count();
            self.octets(&octets[leading..]);
            self.out.push(0x80 | (octets.len() - leading) as u8);
        }
        self.out.push(tag);
    }

    /// A field with these octets as its value.
    pub fn field(&mut self, tag: u8, value: &[u8]) {
        let mark = self.mark();
        self.octets(value);
        self.close(tag, mark);
    }

    /// A boolean; true as the distinguished rules (X.690, 11.1) want it.
    pub fn boolean(&mut self, tag: u8, value: bool) {
        self.field(tag, &[if value { 0xff } else { 0 }]);
    }

    /// A signed integer in as few octets as it needs, but at least `octets_min`.
    pub fn signed(&mut self, tag: u8, value: i64, octets_min: usize) {
        // One bit more than the number itself, for its sign.
        let bits = 65 - (value ^ (value >> 63)).leading_zeros() as usize;
        self.integer(tag, &value.to_be_bytes(), bits.div_ceil(8), octets_min, value < 0);
    }

    /// An integer that is not negative, in as few octets as it needs, but at least `octets_min`.
    pub fn unsigned(&mut self, tag: u8, value: u64, octets_min: usize) {
        let bits = 65 - value.leading_zeros() as usize;
        self.integer(tag, &value.to_be_bytes(), bits.div_ceil(8), octets_min, false);
    }

    fn integer(&mut self, tag: u8, value: &[u8; 8], needed: usize, min: usize, negative: bool) {
        let mark = self.mark();
        let filler = if negative { 0xff } else { 0 };
        for index in 0..needed.max(min) {
            self.out.push(if index < 8 { value[7 - index] } else { filler });
        }
        self.close(tag, mark);
    }

    /// Turns round what was written; it is in order from here on.
    pub fn finish(self) {
        self.out[self.begin..].reverse();
    }
}

/// What this writes, in order.
pub fn encoded(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    write(&mut writer);
    writer.finish();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut out = vec![0xa5];
        let mut writer = Writer::new(&mut out);
        write(&mut writer);
        writer.finish();
        assert_eq!(out.remove(0), 0xa5, "what stood there before stays");
        out
    }

    #[test]
    fn integers_have_the_octets_that_they_need() {
        assert_eq!(written(|w| w.unsigned(0x86, 40_000, 0)), [0x86, 3, 0, 0x9c, 0x40]);
        assert_eq!(written(|w| w.unsigned(0x86, 0, 0)), [0x86, 1, 0]);
        assert_eq!(written(|w| w.unsigned(0x86, 1, 5)), [0x86, 5, 0, 0, 0, 0, 1]);
        assert_eq!(written(|w| w.unsigned(0x86, u64::MAX, 0))[..3], [0x86, 9, 0]);
        assert_eq!(written(|w| w.signed(0x85, -1, 0)), [0x85, 1, 0xff]);
        assert_eq!(written(|w| w.signed(0x85, -129, 0)), [0x85, 2, 0xff, 0x7f]);
        assert_eq!(written(|w| w.signed(0x85, 128, 0)), [0x85, 2, 0, 0x80]);
    }

    #[test]
    fn lengths_are_read_in_every_form_and_refused_when_they_say_too_much() {
        for octets in [&[0x80, 1, 7][..], &[0x80, 0x81, 1, 7], &[0x80, 0x84, 0, 0, 0, 1, 7]] {
            let value = Reader::new("", octets, 0).value(0x80, "noASDU").unwrap();
            assert_eq!(value.rest, [7]);
            assert_eq!(value.at(), octets.len() - 1);
        }
        let fault = |octets: &[u8]| Reader::new("", octets, 9).any("Data").unwrap_err().fault;
        assert_eq!(fault(&[0x80, 0x80, 1]), Fault::LengthForm);
        assert_eq!(fault(&[0x80, 0x85, 0, 0, 0, 0, 1]), Fault::LengthForm);
        assert_eq!(fault(&[0x80, 2, 1]), Fault::Cut { has: 1, needs: 2 });
        assert_eq!(fault(&[0x80, 0x82, 1]), Fault::Cut { has: 3, needs: 4 });
        assert_eq!(fault(&[0x80]), Fault::Cut { has: 1, needs: 2 });
        let error = Reader::new("", &[0x81, 0], 9).value(0x80, "svID").unwrap_err();
        assert_eq!(error.to_string(), "svID at octet 9: tag 0x80 is expected here, not 0x81");
    }

    proptest! {
        #[test]
        fn integers_are_read_as_they_were_written(
            signed: i64, unsigned: u64, shift in 0u32..64, octets_min in 0usize..10,
        ) {
            let (signed, unsigned) = (signed >> shift, unsigned >> shift);
            let octets = written(|w| w.signed(0x85, signed, octets_min));
            let read = Reader::new("", &octets, 0).any("Data").unwrap().signed();
            prop_assert_eq!(read, Ok(signed));
            let octets = written(|w| w.unsigned(0x86, unsigned, octets_min));
            let read = Reader::new("", &octets, 0).any("Data").unwrap().unsigned();
            prop_assert_eq!(read, Ok(unsigned));
        }

        #[test]
        fn fields_of_any_length_are_read_as_they_were_written(length in 0usize..70_000) {
            let value = vec![7; length];
            let octets = written(|w| w.field(0x30, &value));
            let mut reader = Reader::new("ASDU", &octets, 0);
            prop_assert_eq!(reader.value(0x30, "ASDU").unwrap().rest, &value[..]);
            prop_assert_eq!(reader.finish(), Ok(()));
        }
    }
}
