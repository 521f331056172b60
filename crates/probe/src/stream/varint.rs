//! Numbers of any size in as few octets as they need: seven bits an octet, least first (LEB128),
//! and signed ones folded so that small ones of either sign are short ("zigzag").

/// Octets of the longest number.
const OCTETS_MAX: usize = 10;

pub(super) fn put(number: u64, to: &mut Vec<u8>) {
    let mut rest = number;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

pub(super) fn put_signed(number: i64, to: &mut Vec<u8>) {
    put((number << 1 ^ number >> 63).cast_unsigned(), to);
}

/// The number at the front, which is taken away; `None` if there is none, or it is too large.
pub(super) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (index, octet) in from.iter().take(OCTETS_MAX).enumerate() {
        let bits = u64::from(octet & 0x7f);
        let shift = 7 * index as u32;
        if bits != 0 && bits.leading_zeros() < shift {
            return None;
        }
        number |= bits << shift;
        if octet & 0x80 == 0 {
            *from = &from[index + 1..];
            return Some(number);
        }
    }
    None
}

pub(super) fn take_signed(from: &mut &[u8]) -> Option<i64> {
    let folded = take(from)?;
    Some((folded >> 1).cast_signed() ^ -((folded & 1).cast_signed()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(unsigned: u64, signed: i64, shift in 0u32..64) {
            let mut octets = Vec::new();
            put(unsigned >> shift, &mut octets);
            put_signed(signed >> shift, &mut octets);
            let mut rest = octets.as_slice();
            prop_assert_eq!(take(&mut rest), Some(unsigned >> shift));
            prop_assert_eq!(take_signed(&mut rest), Some(signed >> shift));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_octets_are_a_number_or_none(octets: Vec<u8>) {
            let mut rest = octets.as_slice();
            while take_signed(&mut rest).is_some() {}
        }
    }

    #[test]
    fn what_does_not_fit_is_no_number() {
        let mut largest = Vec::new();
        put(u64::MAX, &mut largest);
        assert_eq!(largest.len(), OCTETS_MAX);
        assert_eq!(take(&mut largest.as_slice()), Some(u64::MAX));
        largest[OCTETS_MAX - 1] = 2;
        assert_eq!(take(&mut largest.as_slice()), None);
        assert_eq!(take(&mut [0x80u8; 11].as_slice()), None);
        assert_eq!(take(&mut [0x80u8].as_slice()), None);
    }
}
