//! Which sequence numbers were seen: each is accepted once, in any order within a window behind
//! the highest (as IPsec does it: RFC 4303, section 3.4.3 and appendix A2).
//!
//! To look and to remember are two steps, because a number means nothing until the tag beside it
//! was found right.

/// How far behind the highest number others are still taken.
pub(crate) const WINDOW: u64 = 64;

/// The numbers seen. Numbers begin with 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Window {
    highest: u64,
    /// Bit i: `highest - i` was seen.
    seen: u64,
}

impl Window {
    /// Whether a number is new.
    pub(crate) const fn is_new(&self, sequence: u64) -> bool {
        if sequence > self.highest {
            return true;
        }
        let behind = self.highest - sequence;
        sequence != 0 && behind < WINDOW && self.seen & (1 << behind) == 0
    }

    /// Remembers a new number.
    pub(crate) fn remember(&mut self, sequence: u64) {
        assert!(self.is_new(sequence), "only what is new is remembered");
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            self.seen = if ahead < WINDOW { self.seen << ahead } else { 0 };
            self.highest = sequence;
        }
        self.seen |= 1 << (self.highest - sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_number_is_new_once_and_only_near_the_highest(
            start in prop_oneof![Just(0u64), Just(u64::MAX - 400), any::<u64>()],
            steps in vec(0u64..400, 0..300),
        ) {
            let mut window = Window::default();
            let mut seen = BTreeSet::new();
            for step in steps {
                let sequence = start.saturating_add(step);
                let highest = seen.last().copied().unwrap_or(0);
                let near = sequence > highest || highest - sequence < WINDOW;
                prop_assert_eq!(
                    window.is_new(sequence),
                    sequence != 0 && near && !seen.contains(&sequence)
                );
                if window.is_new(sequence) {
                    window.remember(sequence);
                    seen.insert(sequence);
                }
            }
        }
    }
}
