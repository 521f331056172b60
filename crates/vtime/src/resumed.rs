//! How a wait that was in progress when its program was put into virtual time keeps its deadline.
//!
//! Such a call is made once more, and its timeout counts from a moment that is over. So the
//! launcher says when the wait ends: in the upper half of the register that holds the number of
//! the call, of which the kernel and the filter look at the lower half only. The upper half takes
//! a virtual time as a number of 27 bits and a shift of 5, rounded up: exact to 134 ms, and to
//! 8 parts in 10^9 beyond.

use crate::ProgramTime;

const MANTISSA_BITS: u32 = 27;
const MANTISSA_MAX: u64 = (1 << MANTISSA_BITS) - 1;
const SHIFT_MAX: u32 = 31;

/// The register of a call with this number that ends at `deadline`, or a little later where the
/// exact time does not fit. A deadline before the start of the domain is the start.
pub const fn with_deadline(number: u32, deadline: ProgramTime) -> u64 {
    // Zero would be none.
    let ns = if deadline.as_ns() < 1 { 1 } else { deadline.as_ns().unsigned_abs() };
    let mut shift = 0;
    while shift < SHIFT_MAX && ns.div_ceil(1 << shift) > MANTISSA_MAX {
        shift += 1;
    }
    let mantissa = ns.div_ceil(1 << shift);
    let mantissa = if mantissa > MANTISSA_MAX { MANTISSA_MAX } else { mantissa };
    ((shift as u64) << MANTISSA_BITS | mantissa) << 32 | number as u64
}

/// The deadline that the register of a call names, if it names one.
pub const fn deadline(register: u64) -> Option<ProgramTime> {
    let code = register >> 32;
    let (mantissa, shift) = (code & MANTISSA_MAX, code >> MANTISSA_BITS);
    // A program that makes calls with anything in the upper half makes them as ever.
    if mantissa == 0 || shift > 0 && mantissa < MANTISSA_MAX.div_ceil(2) {
        return None;
    }
    Some(ProgramTime::from_ns((mantissa << shift) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A deadline never becomes earlier, later by next to nothing, and the number stays.
        #[test]
        fn a_deadline_is_kept(number in 0..1000u32, ns in 1..=i64::MAX >> 6, bits in 0..57u32) {
            let ns = (ns >> bits).max(1);
            let register = with_deadline(number, ProgramTime::from_ns(ns));
            prop_assert_eq!(register as u32, number);
            let kept = deadline(register).unwrap().as_ns();
            prop_assert!(kept >= ns && kept - ns <= ns >> 26, "{} becomes {}", ns, kept);
        }
    }

    #[test]
    fn an_ordinary_call_names_no_deadline() {
        assert_eq!(deadline(35), None);
        assert_eq!(deadline(u64::MAX << 59 | 35), None);
        let past = with_deadline(35, ProgramTime::from_ns(-5));
        assert_eq!(deadline(past), Some(ProgramTime::from_ns(1)));
    }
}
