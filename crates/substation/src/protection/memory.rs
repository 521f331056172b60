//! Voltage and currents of before the last inception: what distance and direction compare with when a
//! fault has left no voltage at all, and what load there was.
//!
//! Times are numbers of samples, so a sample that arrives late turns nothing.

use std::f64::consts::PI;

use super::complex::Complex;
use super::recent::Before;

/// How long a remembered angle is good for, in s: machines begin to swing after that, and a frequency
/// that is off by 0.1 Hz has turned it by 18 degrees.
const AGE_MAX_S: f64 = 0.5;
/// What was measured so shortly before an inception was found may have seen something of it already, in s.
const DOUBTED_S: f64 = 0.003;
/// Records that are kept, one each millisecond or more.
const KEPT: usize = 24;
/// Before the inception and lately.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Memory {
    rate: f64,
    lately: [Option<(u64, Before)>; KEPT],
    next: usize,
    /// Number of its sample, what was measured, and the frequency.
    kept: Option<(u64, Before, f64)>,
}

impl Memory {
    /// Nothing was measured yet.
    #[must_use]
    pub(super) fn new(rate: u32) -> Self {
        Self { rate: rate.into(), lately: [None; KEPT], next: 0, kept: None }
    }

    /// Remembers what was measured at a sample, with no inception in its window.
    pub(super) fn record(&mut self, number: u64, before: Before) {
        let newest = self.lately[(self.next + KEPT - 1) % KEPT];
        let step = (self.rate * 1e-3) as u64;
        if newest.is_none_or(|(at, _)| number >= at + step) {
            self.lately[self.next] = Some((number, before));
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// An inception was found that began with a sample: what was before it is kept, unless something is
    /// remembered still. A fault that changes does not take the place of what was healthy.
    pub(super) fn keep(&mut self, begin: u64, frequency_hz: f64) {
        if self.recall(begin).is_none() {
            let doubted = (DOUBTED_S * self.rate) as u64;
            let settled = self.lately.iter().flatten().filter(|(at, _)| at + doubted <= begin);
            let newest = settled.max_by_key(|(at, _)| *at).copied();
            self.kept = newest.map(|(at, before)| (at, before, frequency_hz));
        }
        self.lately = [None; KEPT];
    }

    /// What was before, turned to a sample; `None` if it is too old.
    #[must_use]
    pub(super) fn recall(&self, number: u64) -> Option<Before> {
        let (at, before, frequency_hz) = self.kept?;
        let age_s = self.age_s(at, number);
        let turn = Complex::from_polar(1.0, 2.0 * PI * (age_s * frequency_hz).fract());
        (age_s <= AGE_MAX_S).then(|| Before {
            voltage: before.voltage * turn,
            currents: before.currents.map(|current| current * turn),
        })
    }

    fn age_s(&self, at: u64, now: u64) -> f64 {
        now.saturating_sub(at) as f64 / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_of_before_the_fault_is_recalled_and_grows_old() {
        let mut memory = Memory::new(4000);
        let turning = |number: u64| Before {
            voltage: Complex::from_polar(100.0, 2.0 * PI * number as f64 / 80.0),
            currents: [Complex::ZERO; 3],
        };
        for number in (0..800).step_by(4) {
            memory.record(number, turning(number));
        }
        memory.keep(800, 50.0);
        for number in 800..2700 {
            let recalled = memory.recall(number).expect("it is young").voltage;
            assert!((recalled - turning(number).voltage).norm() < 1e-6, "{number}");
        }
        // The fault changes: what it left is nothing to remember.
        memory.record(1000, Before { voltage: Complex::ONE, ..turning(1000) });
        memory.keep(1100, 50.0);
        assert!(memory.recall(1100).expect("it is young").voltage.norm() > 99.0);
        assert_eq!(memory.recall(2900), None);
    }
}
