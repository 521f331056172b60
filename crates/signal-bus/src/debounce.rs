//! Which edges count: the first one at once, those within the debounce time after it not, and the level at the end of that
//! time, so that the last word is the wire's. The module does the same (`kernel/qcbus/edges.h`).
//!
//! The kernel's own debouncing would report an edge only once the wire has been quiet, and, where it has to do that in software,
//! with the resolution of a tick: milliseconds during which clocks run on.

use vtime::{HostSpan, HostTime};

/// What is known of a wire.
#[derive(Debug)]
pub(crate) struct Debounce {
    time: HostSpan,
    quiet_until: Option<HostTime>,
    asserted: bool,
}

impl Debounce {
    pub(crate) const fn new(time: HostSpan, asserted: bool) -> Self {
        Self { time, quiet_until: None, asserted }
    }

    /// The wire has this level now, after an edge or at [`Self::due`]. Returns whether that is an edge that counts.
    pub(crate) fn sees(&mut self, now: HostTime, asserted: bool) -> bool {
        if self.quiet_until.is_some_and(|until| now < until) {
            return false;
        }
        let counts = asserted != self.asserted;
        self.quiet_until = counts.then(|| now + self.time);
        self.asserted = asserted;
        counts
    }

    /// When the level has to be looked at, though no edge has come.
    pub(crate) const fn due(&self) -> Option<HostTime> {
        self.quiet_until
    }

    /// By the edges that counted.
    pub(crate) const fn is_asserted(&self) -> bool {
        self.asserted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIME_NS: i64 = 20_000;

    fn debounce() -> Debounce {
        Debounce::new(HostSpan::from_ns(TIME_NS), false)
    }

    #[test]
    fn the_first_edge_counts_at_once_and_the_level_in_the_end() {
        let mut wire = debounce();
        let at = |ns| HostTime::from_ns(ns);
        assert!(wire.sees(at(5), true));
        assert!(!wire.sees(at(9), false), "it bounces");
        assert_eq!((wire.due(), wire.is_asserted()), (Some(at(5 + TIME_NS)), true));
        assert!(wire.sees(at(5 + TIME_NS), false), "it was a glitch");
        assert!(!wire.sees(at(5 + 2 * TIME_NS), false));
        assert_eq!(wire.due(), None);
    }

    proptest! {
        /// Edges that count alternate and are apart; whoever looks when it is due knows the level in the end.
        #[test]
        fn edges_alternate_are_apart_and_the_wire_has_the_last_word(
            toggles in proptest::collection::vec(1..50_000i64, 0..60),
        ) {
            let (mut wire, mut now, mut level) = (debounce(), HostTime::ZERO, false);
            let mut counted: Vec<(HostTime, bool)> = Vec::new();
            let mut see = |wire: &mut Debounce, now, level| {
                if wire.sees(now, level) {
                    counted.push((now, level));
                }
            };
            for step in toggles {
                let next = now + HostSpan::from_ns(step);
                while let Some(due) = wire.due().filter(|due| *due <= next) {
                    see(&mut wire, due, level);
                }
                (now, level) = (next, !level);
                see(&mut wire, now, level);
            }
            while let Some(due) = wire.due() {
                see(&mut wire, due, level);
            }
            prop_assert_eq!(wire.is_asserted(), level);
            for (number, (_, asserted)) in counted.iter().enumerate() {
                prop_assert_eq!(*asserted, number % 2 == 0);
            }
            for pair in counted.windows(2) {
                prop_assert!((pair[1].0 - pair[0].0).as_ns() >= TIME_NS);
            }
        }
    }
}
