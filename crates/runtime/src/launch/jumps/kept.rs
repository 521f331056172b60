//! What kept the clock of a domain from jumping, and how much of its time that was.

use std::collections::BTreeMap;

use vtime::{VirtualSpan, VirtualTime};

/// Why the clock cannot jump at a moment.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// A program runs, or is about to.
    Program,
    /// A program was stopped by a signal or a debugger.
    Stopped,
    /// The agent does something.
    Agent,
    /// A kernel may be about to send something by its own timers.
    KernelTimers,
    /// Nobody waits for a time: only something from outside can go on.
    NoDeadline,
    /// More threads wait than can say so.
    Untold,
    /// The kernel does not let the agent look at a thread.
    Unseen,
}

/// Virtual time that passed at host rate, by what kept it from being jumped over.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Kept(BTreeMap<Keeping, i64>);

impl Kept {
    /// In nanoseconds of the domain, by reason.
    pub const fn ns(&self) -> &BTreeMap<Keeping, i64> {
        &self.0
    }

    pub(super) fn add(&mut self, why: Keeping, time: VirtualSpan) {
        *self.0.entry(why).or_default() += time.as_ns();
    }
}

/// From one look to the next.
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
