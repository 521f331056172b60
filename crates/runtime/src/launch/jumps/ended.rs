//! Whose native calls were ended, as the time has come for which they wait.
//!
//! A thread whose wait was ended looks once more, with a call that waits for no time. That sleeps for some
//! microseconds all the same, and ends by itself; one that was ended again and again would never have looked, and a
//! hundred times in a row pass for an answer of the kernel's. A signal that has come before the
//! call was made is sent again after a while.

use std::collections::BTreeMap;

use libc::pid_t;
use vtime::{HostSpan, HostTime, ProgramTime};

/// So long a thread has for that look.
const LOOKS_ONCE_MORE: HostSpan = HostSpan::from_ns(300_000);

/// Threads whose native calls were ended a short while ago, and their deadlines.
#[derive(Debug, Default)]
pub(super) struct Ended(BTreeMap<pid_t, (ProgramTime, HostTime)>);

impl Ended {
    /// Whether the call of a thread that waits until `deadline`, which has passed, is to be ended now.
    pub(super) fn is_due(&mut self, thread: pid_t, deadline: ProgramTime, now: HostTime) -> bool {
        self.0.retain(|_, (_, ended)| now - *ended < LOOKS_ONCE_MORE);
        let is_due = self.0.get(&thread).is_none_or(|(before, _)| *before != deadline);
        if is_due {
            self.0.insert(thread, (deadline, now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_ended_once_for_its_deadline_and_again_after_a_while() {
        let (first, second) = (ProgramTime::from_ns(5), ProgramTime::from_ns(6));
        let us = |us: i64| HostTime::ZERO + HostSpan::from_ns(us * 1000);
        let mut ended = Ended::default();
        assert!(ended.is_due(7, first, us(0)) && ended.is_due(8, first, us(0)));
        assert!(!ended.is_due(7, first, us(10)), "it looks once more");
        assert!(ended.is_due(7, second, us(20)), "that is another wait");
        assert!(!ended.is_due(7, second, us(319)) && ended.is_due(7, second, us(320)));
        assert_eq!(ended.0.len(), 1, "those of before are forgotten");
    }
}
