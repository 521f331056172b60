//! Reports to the runner what others do to the domain of its run, up to a limit.
//!
//! Holds are reported up to a number: one that holds the domain at each of its steps fills no record, and
//! nothing is lost, for holds disturb nothing. Factors are reported up to a number as well, and then that
//! they were changed further, once: who changes them on and on is not followed.

use std::sync::atomic::{AtomicU32, Ordering};

use vtime::VirtualTime;

use crate::intervention::{Action, Caller, Intervention};

/// How many of each kind are reported.
const REPORTED_MAX: u32 = 1000;

/// What was reported so far.
#[derive(Debug, Default)]
pub struct Interventions {
    holds: AtomicU32,
    changes: AtomicU32,
}

impl Interventions {
    /// What is to be reported of an action, if anything.
    pub fn note(&self, at: VirtualTime, action: Action, by: Caller) -> Option<Intervention> {
        let of_clock = matches!(action, Action::Hold | Action::Release);
        let count = if of_clock { &self.holds } else { &self.changes };
        // The count stays at the limit once it is reached.
        let before = count.fetch_add(1, Ordering::Relaxed).min(REPORTED_MAX + 1);
        count.fetch_min(REPORTED_MAX + 1, Ordering::Relaxed);
        let action = match before {
            reported if reported < REPORTED_MAX => action,
            REPORTED_MAX if !of_clock => Action::Further,
            _ => return None,
        };
        Some(Intervention { at_ns: at.as_ns(), action, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_without_end_is_reported_to_an_end() {
        let interventions = Interventions::default();
        let change = || Action::Dilate { tdf_millionths: 2_000_000 };
        let note = |action| interventions.note(VirtualTime::ZERO, action, Caller::default());
        let reported =
            |actions: Vec<Action>| actions.into_iter().filter_map(note).collect::<Vec<_>>();
        let changes = reported((0..5000).map(|_| change()).collect());
        assert_eq!(changes.len(), 1001);
        assert_eq!((&changes[999].action, &changes[1000].action), (&change(), &Action::Further));
        assert_eq!(reported((0..5000).map(|_| Action::Hold).collect()).len(), 1000);
    }
}
