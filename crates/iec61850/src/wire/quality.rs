//! Quality (IEC 61850-7-3, clause 6.2.1): how far a value can be trusted, beside each sample as a
//! number and beside values of GOOSE messages as a bit string, with the same bits.

use super::data::Bits;

/// Bits of the standard; 9-2LE has one more.
const BITS: usize = 13;

/// Quality: 13 bits of IEC 61850-7-3, and of a sample `derived` of 9-2LE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Quality(pub u32);

/// What the quality says at first sight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Validity {
    /// The value may be used.
    Good,
    /// Do not use it.
    Invalid,
    /// Means nothing; do not use it.
    Reserved,
    /// Something is wrong with it, and the receiver decides.
    Questionable,
}

impl Quality {
    /// Good, and nothing else to say.
    pub const GOOD: Self = Self(0);
    /// The value must not be used.
    pub const INVALID: Self = Self(1);
    /// Good, made by a test.
    pub const TEST: Self = Self(1 << 11);
    /// Good, computed from other channels instead of measured.
    pub const DERIVED: Self = Self(1 << 13);

    /// What to make of the value.
    #[must_use]
    pub const fn validity(self) -> Validity {
        match self.0 & 3 {
            0 => Validity::Good,
            1 => Validity::Invalid,
            2 => Validity::Reserved,
            _ => Validity::Questionable,
        }
    }

    /// Whether a test made it.
    #[must_use]
    pub const fn is_test(self) -> bool {
        self.0 & Self::TEST.0 != 0
    }

    /// Whether it was computed from other channels.
    #[must_use]
    pub const fn is_derived(self) -> bool {
        self.0 & Self::DERIVED.0 != 0
    }

    /// Whether a protection function may use it: good, and no test unless it takes part in one.
    #[must_use]
    pub const fn is_usable(self, takes_tests: bool) -> bool {
        matches!(self.validity(), Validity::Good) && (takes_tests || !self.is_test())
    }

    /// The quality in a GOOSE message: a bit string of 13 bits, the first two of which are the
    /// validity with its higher bit first (8-1, clause 8.2).
    #[must_use]
    pub fn from_bits(bits: Bits<'_>) -> Option<Self> {
        if bits.len() != BITS {
            return None;
        }
        let is_set = |bit: usize| u32::from(bits.get(bit) == Some(true));
        let validity = is_set(0) << 1 | is_set(1);
        Some(Self((2..BITS).fold(validity, |quality, bit| quality | is_set(bit) << bit)))
    }

    /// As the octets of such a bit string, of which the lowest three bits are none.
    #[must_use]
    pub const fn to_bits(self) -> [u8; 2] {
        let validity = (self.0 & 1) << 1 | self.0 >> 1 & 1;
        let first = self.0 & !3 | validity;
        ((first.reverse_bits() >> 16) as u16 & 0xfff8).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AllData, Data};
    use proptest::prelude::*;

    #[test]
    fn what_is_good_is_used_and_tests_only_by_those_who_take_part() {
        assert!(Quality::GOOD.is_usable(false) && Quality::DERIVED.is_usable(false));
        assert!(!Quality::INVALID.is_usable(true) && !Quality::TEST.is_usable(false));
        assert!(Quality::TEST.is_usable(true));
        assert_eq!(Quality(3).validity(), Validity::Questionable);
    }

    #[test]
    fn bits_stand_where_the_standard_has_them() {
        assert_eq!(Quality::INVALID.to_bits(), [0x40, 0]);
        assert_eq!(Quality(3).to_bits(), [0xc0, 0]);
        assert_eq!(Quality::TEST.to_bits(), [0, 0x10]);
    }

    proptest! {
        #[test]
        fn a_bit_string_is_read_as_it_was_written(number in 0u32..1 << 13) {
            let [first, second] = Quality(number).to_bits();
            let encoded = [0x84, 3, 3, first, second];
            let data = AllData::decode(&encoded).unwrap();
            let Some(Data::BitString(bits)) = data.elements().next() else { panic!("{data:?}") };
            prop_assert_eq!(Quality::from_bits(bits), Some(Quality(number)));
        }
    }
}
