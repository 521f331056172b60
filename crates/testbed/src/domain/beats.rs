//! How far the clock of a domain may go, from the beats of all processors.
//!
//! Each processor that programs may run on beats at short intervals. Where the last beat of every
//! one is young, all of them run programs, and time may pass. Where one is silent, the host (a
//! hypervisor, firmware, a kernel busy with itself) has taken it, and what runs there cannot act:
//! so the clock goes on for `allowed` after the oldest of the last beats, and no further.

use vtime::{HostSpan, HostTime};

/// The last beat of each processor.
#[derive(Clone, Debug)]
pub(super) struct Beats {
    last: Vec<HostTime>,
    allowed: HostSpan,
}

impl Beats {
    /// All of them have just beaten.
    pub(super) fn new(processors: usize, now: HostTime, allowed: HostSpan) -> Self {
        Self { last: vec![now; processors], allowed }
    }

    /// A processor beats, by its place among them. Answers how far the clock may go now.
    pub(super) fn beat(&mut self, processor: usize, now: HostTime) -> HostTime {
        self.last[processor] = now;
        let oldest = self.last.iter().min().expect("there is a processor");
        *oldest + self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_last_beats_counts() {
        let ns = HostTime::from_ns;
        let mut beats = Beats::new(2, ns(1000), HostSpan::from_ns(50));
        assert_eq!(beats.beat(0, ns(1020)), ns(1050));
        assert_eq!(beats.beat(1, ns(1040)), ns(1070));
        assert_eq!(beats.beat(1, ns(9000)), ns(1070), "the other one is silent");
        assert_eq!(beats.beat(0, ns(9010)), ns(9050));
    }
}
