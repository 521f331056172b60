//! Why a task was not done in time: the host took the core, the receiving thread did, or the task
//! itself needed that long.
//!
//! The canary wakes up with the task, on its core and before it: whatever delays the canary is
//! none of the relay's. The rest follows from the processor time of the threads.

use std::time::Duration;

/// What is known of a cycle that ended too late.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// By how much it ended too late.
    pub excess: Duration,
    /// From the due time to the end.
    pub elapsed: Duration,
    /// Processor time of the task meanwhile.
    pub task_cpu: Duration,
    /// How late the canary woke up at the worst meanwhile.
    pub canary_late: Duration,
    /// How long the receiving thread was at work meanwhile.
    pub receive_busy: Duration,
}

/// Who took the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The host: its kernel, its interrupts, a hypervisor, other programs.
    Host,
    /// The thread that receives.
    Receive,
    /// The task, which needed that long itself.
    Task,
}

impl Cause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Host, Self::Receive, Self::Task];

    /// As records and metrics name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Receive => "receive",
            Self::Task => "task",
        }
    }
}

/// Who took at least half of what was too much; the host if nobody else did.
#[must_use]
pub fn cause(evidence: &Evidence) -> Cause {
    let took_half = |span: Duration| 2 * span >= evidence.excess;
    let taken_away = evidence.elapsed.saturating_sub(evidence.task_cpu);
    if took_half(evidence.canary_late) {
        Cause::Host
    } else if took_half(evidence.receive_busy.min(taken_away)) {
        Cause::Receive
    } else if took_half(taken_away) {
        Cause::Host
    } else {
        Cause::Task
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_overrun_has_one_cause() {
        let us = Duration::from_micros;
        let late = Evidence { excess: us(400), elapsed: us(1400), ..Evidence::default() };
        let busy = Evidence { task_cpu: us(1350), ..late };
        assert_eq!(cause(&busy), Cause::Task);
        assert_eq!(cause(&Evidence { canary_late: us(390), ..busy }), Cause::Host);
        let starved = Evidence { task_cpu: us(100), ..late };
        assert_eq!(cause(&starved), Cause::Host);
        assert_eq!(cause(&Evidence { receive_busy: us(800), ..starved }), Cause::Receive);
        // At work on another core meanwhile, it took nothing away.
        assert_eq!(cause(&Evidence { receive_busy: us(800), ..busy }), Cause::Task);
    }
}
