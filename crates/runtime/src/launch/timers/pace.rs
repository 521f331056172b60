//! How much of a processor the timers of one program tree may take. Pure: callers pass the time in.
//!
//! A timer with a period of a nanosecond is always due. The kernel lets such a one expire when
//! somebody looks; the agent would do nothing else. So after a round with such timers it rests for
//! as long as the round took, and what falls due meanwhile is counted and delivered at once. A round is
//! short, so that rests are. Timers that are slow, or expire once, put nothing off.

use vtime::{HostSpan, HostTime, ProgramSpan};

/// Shorter periods make a round rest.
const FAST: ProgramSpan = ProgramSpan::from_ns(1_000_000);

/// Rounds are no nearer to each other than this, so that a timer of 50 us is never put off.
const REST_MIN: HostSpan = HostSpan::from_ns(20_000);
/// A round ends after this, even if timers are still due.
const ROUND_MAX: HostSpan = HostSpan::from_ns(500_000);
/// Expirations of one program before those of the next.
pub(super) const TURN: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Pace {
    begun: HostTime,
    is_fast: bool,
    rests_until: HostTime,
}

impl Pace {
    pub(super) fn may_begin(&self, now: HostTime) -> bool {
        now >= self.rests_until
    }

    pub(super) fn begin(&mut self, now: HostTime) {
        (self.begun, self.is_fast) = (now, false);
    }

    /// A timer with this period expires in the round.
    pub(super) fn note(&mut self, period: ProgramSpan) {
        self.is_fast |= period > ProgramSpan::ZERO && period < FAST;
    }

    pub(super) fn is_over(&self, now: HostTime) -> bool {
        now - self.begun >= ROUND_MAX
    }

    pub(super) fn end(&mut self, now: HostTime) {
        if !self.is_fast {
            return;
        }
        let rest = (now - self.begun).min(ROUND_MAX + ROUND_MAX).max(REST_MIN);
        self.rests_until = now + rest;
    }

    /// When to look again for what is due at `due`.
    pub(super) fn not_before(&self, due: HostTime) -> HostTime {
        due.max(self.rests_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: i64) -> HostTime {
        HostTime::from_ns(ns)
    }

    #[test]
    fn a_round_rests_for_as_long_as_it_took() {
        let mut pace = Pace::default();
        pace.begin(at(1_000_000));
        pace.note(ProgramSpan::from_ns(1));
        assert!(!pace.is_over(at(1_400_000)) && pace.is_over(at(1_500_000)));
        pace.end(at(1_500_000));
        assert!(!pace.may_begin(at(1_999_999)) && pace.may_begin(at(2_000_000)));
        assert_eq!(pace.not_before(at(0)), at(2_000_000));
        assert_eq!(pace.not_before(at(9_000_000)), at(9_000_000));
    }

    #[test]
    fn timers_that_are_slow_or_expire_once_put_nothing_off() {
        let mut pace = Pace::default();
        pace.begin(at(1_000_000));
        pace.note(ProgramSpan::ZERO);
        pace.note(FAST);
        pace.end(at(1_500_000));
        assert!(pace.may_begin(at(1_500_000)));
    }

    proptest! {
        /// A timer that is always due gets at most half of a processor, and is never put off for long,
        /// even if the host took the processor away during a round.
        #[test]
        fn half_of_the_time_is_rest(rounds in proptest::collection::vec(0..3_000_000i64, 1..40)) {
            let (mut pace, mut now, mut busy, mut rested) = (Pace::default(), 1, 0, 0);
            for round in rounds {
                prop_assert!(pace.may_begin(at(now)));
                pace.begin(at(now));
                pace.note(ProgramSpan::from_ns(50_000));
                now += round;
                pace.end(at(now));
                let rest = pace.not_before(at(0)).as_ns() - now;
                prop_assert!((20_000..=1_000_000).contains(&rest));
                busy += round.min(1_000_000);
                rested += rest;
                now += rest;
            }
            prop_assert!(rested >= busy);
        }
    }
}
