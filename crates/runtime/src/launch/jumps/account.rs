//! How much of the domain's time passed at host rate, and for which reason: from one look to the next.

use domain::{Keeping, Kept};
use vtime::VirtualTime;

/// Since the last look.
#[derive(Debug)]
pub(super) struct Account {
    since: VirtualTime,
    why: Option<Keeping>,
}

impl Account {
    pub(super) const fn begin(now: VirtualTime) -> Self {
        Self { since: now, why: None }
    }

    /// The clock is here, which it reached by itself; from now on this keeps it.
    pub(super) fn note(&mut self, kept: &mut Kept, now: VirtualTime, why: Option<Keeping>) {
        if let Some(before) = self.why {
            kept.add(before, now - self.since);
        }
        (self.since, self.why) = (now, why);
    }

    /// It has jumped, and is here.
    pub(super) const fn jumped(&mut self, now: VirtualTime) {
        (self.since, self.why) = (now, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn time_is_of_what_kept_the_clock_before_and_jumps_are_nobodys() {
        let at = VirtualTime::from_ns;
        let mut kept = Kept::default();
        let mut account = Account::begin(at(0));
        account.note(&mut kept, at(5), Some(Keeping::Program));
        account.note(&mut kept, at(7), Some(Keeping::KernelTimers));
        account.note(&mut kept, at(10), None);
        account.jumped(at(1000));
        account.note(&mut kept, at(1001), Some(Keeping::Program));
        account.note(&mut kept, at(1004), None);
        let expected = BTreeMap::from([(Keeping::Program, 5), (Keeping::KernelTimers, 3)]);
        assert_eq!(kept.ns(), &expected);
    }
}
