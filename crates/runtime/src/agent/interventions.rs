//! Tells the runner what others do to the domain of its run, as long as that is not without end.
//!
//! Holds are told up to a number: one that holds the domain at each of its steps fills no record, and
//! nothing is lost, for holds disturb nothing. Factors are told up to a number as well, and then that
//! they were changed further, once: who changes them on and on is not followed.

use std::sync::atomic::{AtomicU32, Ordering};

use vtime::VirtualTime;

use crate::intervention::{Caller, Deed, Intervention};

/// How many of each kind are told.
const TOLD_MAX: u32 = 1000;

/// What was told so far.
#[derive(Debug, Default)]
pub struct Interventions {
    holds: AtomicU32,
    changes: AtomicU32,
}

impl Interventions {
    /// What is to be told of a deed, if anything.
    pub fn note(&self, at: VirtualTime, deed: Deed, by: Caller) -> Option<Intervention> {
        let of_clock = matches!(deed, Deed::Hold | Deed::Release);
        let count = if of_clock { &self.holds } else { &self.changes };
        // Stays where it is once it is beyond all that is told.
        let before = count.fetch_add(1, Ordering::Relaxed).min(TOLD_MAX + 1);
        count.fetch_min(TOLD_MAX + 1, Ordering::Relaxed);
        let deed = match before {
            told if told < TOLD_MAX => deed,
            TOLD_MAX if !of_clock => Deed::Further,
            _ => return None,
        };
        Some(Intervention { at_ns: at.as_ns(), deed, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_without_end_is_told_to_an_end() {
        let interventions = Interventions::default();
        let change = || Deed::Dilate { tdf_millionths: 2_000_000 };
        let note = |deed| interventions.note(VirtualTime::ZERO, deed, Caller::default());
        let told = |deeds: Vec<Deed>| deeds.into_iter().filter_map(note).collect::<Vec<_>>();
        let changes = told((0..5000).map(|_| change()).collect());
        assert_eq!(changes.len(), 1001);
        assert_eq!((&changes[999].deed, &changes[1000].deed), (&change(), &Deed::Further));
        assert_eq!(told((0..5000).map(|_| Deed::Hold).collect()).len(), 1000);
    }
}
