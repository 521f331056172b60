//! When the breaker node tells everybody how it stands: at once after it has acted, soon again in
//! case that was lost, then less and less often.

use std::time::Duration;

use super::{CommonTime, Parameters};

/// The time of the next acknowledgement to all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Heartbeat {
    pub(super) next: CommonTime,
    interval: Duration,
}

impl Heartbeat {
    /// At once, and then after 2, 4, 8 … 1000 ms as the parameters say.
    pub(super) const fn new(now: CommonTime, parameters: &Parameters) -> Self {
        Self { next: now, interval: parameters.heartbeat_min }
    }

    /// Whether one is to be sent now.
    pub(super) fn due(&mut self, now: CommonTime, parameters: &Parameters) -> bool {
        // A clock that is set back delays nothing by more than an interval.
        self.next = self.next.min(now.plus(self.interval));
        let is_due = now >= self.next;
        if is_due {
            self.next = now.plus(self.interval);
            self.interval = (self.interval * 2).min(parameters.heartbeat_max);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_and_less_often() {
        let parameters = Parameters::default();
        let mut heartbeat = Heartbeat::new(CommonTime::ZERO, &parameters);
        let mut gaps = Vec::new();
        let mut last = CommonTime::ZERO;
        for _ in 0..13 {
            let next = heartbeat.next;
            assert!(
                next <= last || !heartbeat.due(CommonTime::from_ns(next.ns() - 1), &parameters)
            );
            assert!(heartbeat.due(next, &parameters));
            gaps.push(next.since(last).as_millis());
            last = next;
        }
        assert_eq!(gaps, [0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000, 1000]);
    }
}
