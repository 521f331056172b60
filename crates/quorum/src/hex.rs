//! Octets as hexadecimal digits, two each, as files write keys. Nothing that a secret could be
//! read from is kept or shown.

use std::fmt::Write as _;

/// The octets of exactly as many lower-case digits.
pub(super) fn decode<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digit = |octet: u8| match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        _ => None,
    };
    let mut octets = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (octet, pair) in octets.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *octet = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(octets)
}

/// Appends octets as digits.
pub(super) fn encode(octets: &[u8], out: &mut String) {
    for octet in octets {
        write!(out, "{octet:02x}").expect("a text takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn octets_are_their_digits(octets: [u8; 32]) {
            let mut digits = String::new();
            encode(&octets, &mut digits);
            prop_assert_eq!(decode(&digits), Some(octets));
            prop_assert_eq!(decode::<31>(&digits), None);
        }

        #[test]
        fn anything_else_is_refused(text in "\\PC{8}") {
            let good = text.bytes().all(|octet| b"0123456789abcdef".contains(&octet));
            prop_assert_eq!(decode::<4>(&text).is_some(), good && text.len() == 8);
        }
    }
}
