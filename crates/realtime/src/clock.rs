//! What the stamps of a relay's messages say of its clock (IEC 61850-8-1, clause 8.1.3.6, and
//! 61850-7-2, TimeQuality), from what the kernel knows of it: what keeps the clock (chrony, ntpd,
//! phc2sys) reports to the kernel that it does, and the kernel lets the bound of the error grow until the
//! next report (adjtimex(2)).

use os::clock::ClockState;

/// The number of leap seconds is known, and so is the offset to atomic time.
const LEAP_SECONDS_KNOWN: u8 = 0x80;
const FAILURE: u8 = 0x40;
const NOT_SYNCHRONISED: u8 = 0x20;
const ACCURACY_UNSPECIFIED: u8 = 31;
/// As many bits as a fraction of a second has.
const ACCURACY_MAX: u8 = 24;

/// The octet of a stamp.
#[must_use]
pub fn quality(clock: &ClockState) -> u8 {
    if clock.has_failed {
        return FAILURE | NOT_SYNCHRONISED | ACCURACY_UNSPECIFIED;
    }
    if !clock.is_synchronised {
        return NOT_SYNCHRONISED | ACCURACY_UNSPECIFIED;
    }
    let leap = if clock.tai_offset_s == 0 { 0 } else { LEAP_SECONDS_KNOWN };
    leap | accuracy(clock.error_us_max)
}

/// The number of bits of the fraction that are right: the error is at most 2^-n s.
fn accuracy(error_us_max: u64) -> u8 {
    let bits =
        (0..=ACCURACY_MAX).rev().find(|bits| error_us_max.saturating_mul(1 << bits) <= 1_000_000);
    bits.unwrap_or(ACCURACY_UNSPECIFIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: ClockState = ClockState {
        is_synchronised: true,
        has_failed: false,
        error_us_estimate: 0,
        error_us_max: 500,
        tai_offset_s: 37,
    };

    #[test]
    fn a_clock_that_is_kept_says_how_well() {
        assert_eq!(quality(&KEPT), 0x80 | 10);
        assert_eq!(quality(&ClockState { tai_offset_s: 0, ..KEPT }), 10);
        // Classes T1 to T5 of 61850-5, and what no class has.
        let figures = [(1000, 9), (976, 10), (61, 14), (15, 16), (3, 18), (0, 24), (5_000_000, 31)];
        for (error_us_max, bits) in figures {
            let clock = ClockState { error_us_max, tai_offset_s: 0, ..KEPT };
            assert_eq!(quality(&clock), bits, "{error_us_max} us");
        }
    }

    #[test]
    fn a_clock_that_follows_nobody_or_is_broken_says_so() {
        assert_eq!(quality(&ClockState { is_synchronised: false, ..KEPT }), 0x3f);
        assert_eq!(quality(&ClockState { has_failed: true, ..KEPT }), 0x7f);
    }
}
