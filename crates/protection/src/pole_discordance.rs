//! Pole discordance (52PD, RPLD): the poles of a breaker are not where the others are, though nobody wants
//! that. Generators suffer from the negative sequence, and residual elements elsewhere trip.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::Delay;
use super::{Decision, PhaseSet};

/// A pole discordance element (52PD).
#[derive(Clone, PartialEq, Debug)]
pub struct PoleDiscordance(Delay);

impl PoleDiscordance {
    /// An element that operates after this delay, which is longer than poles differ while they move.
    #[must_use]
    pub const fn new(delay: Duration) -> Self {
        Self(Delay::new(delay))
    }

    /// Looks at which poles are open, while that is known of all of them, and at whether one is open on
    /// purpose.
    pub fn update(
        &mut self,
        now: SampleTime,
        open: Option<PhaseSet>,
        is_on_purpose: bool,
    ) -> Decision {
        let differ = open.is_some_and(|open| matches!(open.count(), 1 | 2));
        self.0.update(now, differ && !is_on_purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poles_that_differ_for_long_and_not_on_purpose_operate() {
        let operates = |open: Option<PhaseSet>, is_on_purpose| {
            let mut element = PoleDiscordance::new(Duration::from_millis(500));
            (0..1000u64).find(|ms| {
                let now = SampleTime::from_ns(ms * 1_000_000);
                element.update(now, open, is_on_purpose).operate
            })
        };
        let one = PhaseSet::phase(1);
        assert_eq!(operates(Some(one), false), Some(500));
        assert_eq!(operates(Some(one | PhaseSet::phase(2)), false), Some(500));
        for (open, is_on_purpose) in [
            (Some(one), true),
            (Some(PhaseSet::NONE), false),
            (Some(PhaseSet::ALL), false),
            (None, false),
        ] {
            assert_eq!(operates(open, is_on_purpose), None, "{open:?}");
        }
    }
}
