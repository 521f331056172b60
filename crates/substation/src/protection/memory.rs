//! The voltage of before the fault: what distance and direction compare with when the fault has
//! left no voltage at all.

use std::f64::consts::PI;
use std::time::Duration;

use iec61850::SampleTime;

use super::complex::Complex;

/// How long a remembered angle is good for: machines begin to swing after that.
const AGE_MAX: Duration = Duration::from_millis(500);
/// Age of the voltage that is remembered: two periods at the lowest frequency, so that the window
/// of its phasor holds nothing of a fault that is only now being seen.
const DELAY: Duration = Duration::from_millis(45);
/// Voltages that are kept, one each 5 ms.
const KEPT: usize = 10;
const STEP: Duration = Duration::from_millis(5);

/// Remembers the positive sequence voltage.
#[derive(Clone, PartialEq, Debug)]
pub struct VoltageMemory {
    healthy_v: f64,
    recent: [Option<(SampleTime, Complex)>; KEPT],
    next: usize,
    /// The one to recall: older than what a fault may have touched.
    kept: Option<(SampleTime, Complex)>,
}

impl VoltageMemory {
    /// Remembers voltages of at least `healthy_v`.
    #[must_use]
    pub fn new(healthy_v: f64) -> Self {
        Self { healthy_v, recent: [None; KEPT], next: 0, kept: None }
    }

    /// Looks at the voltage of now; `None` forgets everything.
    pub fn update(&mut self, now: SampleTime, voltage: Option<Complex>) {
        let Some(voltage) = voltage else {
            *self = Self::new(self.healthy_v);
            return;
        };
        if voltage.norm() < self.healthy_v {
            self.recent = [None; KEPT];
            return;
        }
        let newest = self.recent[(self.next + KEPT - 1) % KEPT];
        if newest.is_some_and(|(at, _)| now.since(at) < STEP) {
            return;
        }
        self.recent[self.next] = Some((now, voltage));
        self.next = (self.next + 1) % KEPT;
        let old = self.recent.iter().flatten().filter(|(at, _)| now.since(*at) >= DELAY);
        self.kept = old.max_by_key(|(at, _)| *at).copied().or(self.kept);
    }

    /// The remembered voltage, turned to now at `frequency_hz`; `None` if there is none or it is
    /// too old.
    #[must_use]
    pub fn recall(&self, now: SampleTime, frequency_hz: f64) -> Option<Complex> {
        let (at, voltage) = self.kept.filter(|(at, _)| now.since(*at) <= AGE_MAX)?;
        let turns = now.since(at).as_secs_f64() * frequency_hz;
        Some(voltage * Complex::from_polar(1.0, 2.0 * PI * turns.fract()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_of_before_the_fault_is_recalled_and_grows_old() {
        let mut memory = VoltageMemory::new(80.0);
        let at = |ms: u64| SampleTime::from_ns(ms * 1_000_000);
        let turning = |ms: u64| Complex::from_polar(100.0, 2.0 * PI * 0.05 * ms as f64);
        for ms in 0..200 {
            memory.update(at(ms), Some(turning(ms)));
        }
        for ms in 200..600 {
            memory.update(at(ms), Some(Complex::ZERO));
            let recalled = memory.recall(at(ms), 50.0).unwrap();
            assert!((recalled - turning(ms)).norm() < 1e-6, "{ms}");
        }
        assert_eq!(memory.recall(at(800), 50.0), None);
        memory.update(at(801), None);
        assert_eq!(memory.recall(at(801), 50.0), None);
    }
}
