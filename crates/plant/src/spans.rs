//! Stretches of scenario time, in order: when the state of the plant was no solution.
//!
//! Neighbours become one. A plant that fails each second step of a long run must not take memory
//! without end, so beyond [`SPANS_MAX`] the last stretch grows over what lies between: more is
//! called unknown then than was, never less.

use vtime::VirtualSpan;

/// So many stretches are listed one by one.
const SPANS_MAX: usize = 1000;

/// Stretches of time, each from a begin up to, but not including, an end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spans(Vec<(VirtualSpan, VirtualSpan)>);

impl Spans {
    /// Adds a stretch that begins no earlier than the last one.
    pub fn add(&mut self, from: VirtualSpan, to: VirtualSpan) {
        let full = self.0.len() >= SPANS_MAX;
        match self.0.last_mut() {
            Some(last) if full || from <= last.1 => last.1 = last.1.max(to),
            _ => self.0.push((from, to)),
        }
    }

    /// Each stretch, in order.
    pub fn iter(&self) -> impl Iterator<Item = (VirtualSpan, VirtualSpan)> + '_ {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: i64) -> VirtualSpan {
        VirtualSpan::from_ms(ms)
    }

    #[test]
    fn neighbours_are_one_stretch() {
        let mut spans = Spans::default();
        spans.add(ms(1), ms(2));
        spans.add(ms(2), ms(4));
        spans.add(ms(7), ms(8));
        assert_eq!(spans.iter().collect::<Vec<_>>(), [(ms(1), ms(4)), (ms(7), ms(8))]);
    }

    proptest! {
        /// Whatever comes, what was added is covered, and memory is bounded.
        #[test]
        fn nothing_added_is_forgotten(gaps in prop::collection::vec((0i64..3, 1i64..3), 0..3000)) {
            let (mut spans, mut added, mut at) = (Spans::default(), Vec::new(), 0);
            for (gap, length) in gaps {
                let from = at + gap;
                at = from + length;
                spans.add(ms(from), ms(at));
                added.push((ms(from), ms(at)));
            }
            prop_assert!(spans.len() <= SPANS_MAX);
            for (from, to) in added {
                let mut all = spans.iter();
                prop_assert!(all.any(|span| span.0 <= from && to <= span.1));
            }
        }
    }
}
