//! Voltage and currents of before the last inception: what distance and direction compare with when a
//! fault has left no voltage at all, and what load there was.
//!
//! Times are numbers of samples, so a sample that arrives late turns nothing.

use std::f64::consts::PI;

use super::complex::Complex;
use super::recent::Before;
use super::symmetrical::Sequence;

/// How long a remembered angle is good for, in s: machines begin to swing after that, and a frequency
/// that falls by 5 Hz/s has turned it by 20 degrees.
const VOLTAGE_AGE_MAX_S: f64 = 0.15;
/// How long load is told from what a fault adds to it, in s.
const AGE_MAX_S: f64 = 0.5;
/// What was measured so shortly before an inception was found may have seen something of it already, in s.
const DOUBTED_S: f64 = 0.003;
/// Records that are kept, one each millisecond or more.
const KEPT: usize = 24;
/// Share of what is remembered that a voltage must have to be remembered in its place.
const HEALTHY_SHARE: f64 = 0.8;
/// Share of the positive sequence that the others may have in load.
const UNBALANCE_MAX: f64 = 0.15;

impl Before {
    /// Whether the currents are those of load and not of a fault of one phase or two.
    fn is_balanced(&self) -> bool {
        let currents = Sequence::of(self.currents);
        currents.negative.norm().max(currents.zero.norm())
            <= UNBALANCE_MAX * currents.positive.norm()
    }
}

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

    /// An inception was found that began with a sample: what was before it is kept. A fault that changes
    /// does not take the place of what was healthy; load that has changed does.
    pub(super) fn keep(&mut self, begin: u64, frequency_hz: f64) {
        let doubted = (DOUBTED_S * self.rate) as u64;
        let settled = self.lately.iter().flatten().filter(|(at, _)| at + doubted <= begin);
        let newest = settled.max_by_key(|(at, _)| *at).copied();
        let old = self.recall(begin);
        let takes_place = |before: &Before| {
            old.is_none_or(|old| {
                let old_v = old.voltage.map_or(0.0, Complex::norm);
                before.is_balanced()
                    && before.voltage.is_some_and(|v| v.norm() >= HEALTHY_SHARE * old_v)
            })
        };
        if let Some((at, before)) = newest.filter(|(_, before)| takes_place(before)) {
            self.kept = Some((at, before, frequency_hz));
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
            voltage: before.voltage.filter(|_| age_s <= VOLTAGE_AGE_MAX_S).map(|v| v * turn),
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
    use crate::Degrees;

    #[test]
    fn the_angle_of_before_the_fault_is_recalled_and_grows_old() {
        let mut memory = Memory::new(4000);
        let turning = |number: u64| Before {
            voltage: Some(Complex::from_polar(100.0, 2.0 * PI * number as f64 / 80.0)),
            currents: [Complex::ZERO; 3],
        };
        for number in (0..800).step_by(4) {
            memory.record(number, turning(number));
        }
        memory.keep(800, 50.0);
        for number in 800..1380 {
            let recalled = memory.recall(number).and_then(|before| before.voltage);
            let off = recalled.expect("it is young") - turning(number).voltage.expect("it turns");
            assert!(off.norm() < 1e-6, "{number}");
        }
        // The fault changes: what it left is nothing to remember.
        memory.record(1000, Before { voltage: Some(Complex::ONE), ..turning(1000) });
        memory.keep(1100, 50.0);
        let recalled = memory.recall(1100).and_then(|before| before.voltage);
        assert!(recalled.expect("it is young").norm() > 99.0);
        // Nor is an earth fault that hardly takes voltage away; load that has changed is.
        for (currents, is_taken) in [([1.0, 0.0, 0.0], false), ([1.0, 1.0, 1.0], true)] {
            let turns = [0.0, -120.0, 120.0];
            let currents = std::array::from_fn(|p| Complex::polar_deg(currents[p], turns[p]));
            memory.record(1200, Before { currents, ..turning(1200) });
            memory.keep(1300, 50.0);
            let recalled = memory.recall(1300).expect("it is young").currents;
            assert_eq!(recalled[0].norm() > 0.9, is_taken, "{recalled:?}");
        }
        assert_eq!(memory.recall(2000).and_then(|before| before.voltage), None);
        assert!(memory.recall(2000).is_some());
        assert_eq!(memory.recall(4000), None);
    }
}
