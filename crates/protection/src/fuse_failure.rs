//! Fuse failure (60FL): the secondary circuit of a voltage transformer is broken, and what looks at
//! voltages must not believe them.
//!
//! A blown fuse of one or two phases makes the voltages unbalanced while the currents are not; a
//! fault unbalances both. When all three are gone the currents go on as they were; a fault changes
//! them. What was seen stays until the voltages are healthy again, whatever the currents do
//! meanwhile: a fault that comes then is left to elements that look at currents alone.
//!
//! While the line carries hardly any current, nothing tells three blown fuses from a line that was
//! switched off, and it says nothing.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::complex::Complex;
use super::direction::Bay;
use super::symmetrical::Sequence;

/// Share of the positive sequence current that unbalance may have in load.
const UNBALANCE_SHARE_MAX: f64 = 0.2;
/// Share of the current by which it may change while all three voltages go.
const CHANGE_SHARE_MAX: f64 = 0.1;
/// How far back a change is looked for: more than a filter needs to show all of a fault.
const BACK: Duration = Duration::from_millis(40);
/// How long voltages must be healthy before they are believed again.
const HEALTHY_TIME: Duration = Duration::from_millis(60);
/// Currents that are remembered, one each 5 ms.
const KEPT: usize = 12;
const STEP: Duration = Duration::from_millis(5);

/// Limits and times of a fuse failure element (60FL).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Voltage of a phase from which it is healthy, in V.
    pub healthy_v: f64,
    /// Voltage of the negative or zero sequence above which voltages are not balanced, in V.
    pub unbalance_v: f64,
    /// Current of the positive sequence below which three missing voltages mean nothing, in A.
    pub current_a_min: f64,
}

/// A fuse failure element (60FL).
#[derive(Clone, PartialEq, Debug)]
pub struct FuseFailure {
    settings: Settings,
    /// Positive sequence currents of before, in A.
    currents: [Option<(SampleTime, f64)>; KEPT],
    next: usize,
    /// Whether voltages were healthy before they went.
    were_healthy: bool,
    has_failed: bool,
    healthy_since: Option<SampleTime>,
}

impl FuseFailure {
    /// An element at rest.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            currents: [None; KEPT],
            next: 0,
            were_healthy: false,
            has_failed: false,
            healthy_since: None,
        }
    }

    /// Looks at a bay; both parts of the answer say whether the voltages are not to be believed.
    pub fn update(&mut self, now: SampleTime, bay: Option<&Bay>) -> Decision {
        let Some(bay) = bay else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let (voltages, currents) = (Sequence::of(bay.voltages), Sequence::of(bay.currents));
        let phases = bay.voltages.map(Complex::norm);
        let is_balanced = unbalance(&voltages) <= self.settings.unbalance_v;
        let is_healthy = is_balanced && phases.iter().all(|v| *v >= self.settings.healthy_v);
        let current_a = currents.positive.norm();
        if is_healthy {
            self.recover(now);
        } else {
            self.healthy_since = None;
            let some = !is_balanced && unbalance(&currents) <= UNBALANCE_SHARE_MAX * current_a;
            let all = self.were_healthy && is_balanced && self.is_steady(now, current_a);
            let are_gone = phases.iter().all(|v| *v < self.settings.healthy_v);
            // A current that changed as they went was a fault, however steady it is later.
            self.were_healthy &= all;
            self.has_failed |=
                (some || all && are_gone) && current_a >= self.settings.current_a_min;
        }
        self.remember(now, current_a);
        Decision::new(self.has_failed, self.has_failed)
    }

    /// Voltages are healthy now, and are believed when they stay so.
    fn recover(&mut self, now: SampleTime) {
        let since = *self.healthy_since.get_or_insert(now);
        if now.since(since) >= HEALTHY_TIME {
            self.has_failed = false;
            self.were_healthy = true;
        }
    }

    /// Whether the current is what it was before a fault that now shows would have begun.
    fn is_steady(&self, now: SampleTime, current_a: f64) -> bool {
        let lately = self.currents.iter().flatten().filter(|(at, _)| now.since(*at) <= BACK);
        let mut changes = lately.map(|(_, before_a)| (current_a - before_a).abs());
        changes.all(|change_a| change_a <= CHANGE_SHARE_MAX * current_a)
    }

    fn remember(&mut self, now: SampleTime, current_a: f64) {
        let newest = self.currents[(self.next + KEPT - 1) % KEPT];
        if newest.is_none_or(|(at, _)| now.since(at) >= STEP) {
            self.currents[self.next] = Some((now, current_a));
            self.next = (self.next + 1) % KEPT;
        }
    }
}

/// The larger of what is not positive sequence.
fn unbalance(sequence: &Sequence) -> f64 {
    sequence.negative.norm().max(sequence.zero.norm())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const VOLTAGE_V: f64 = 63_500.0;

    fn element() -> FuseFailure {
        let settings = Settings { healthy_v: 50_000.0, unbalance_v: 6000.0, current_a_min: 50.0 };
        FuseFailure::new(settings)
    }

    /// A bay with a share of the voltage in each phase, and currents of so much each.
    fn bay(voltages: [f64; 3], currents_a: [f64; 3]) -> Bay {
        let phase =
            |magnitude: f64, index: usize| Complex::polar_deg(magnitude, -120.0 * index as f64);
        Bay {
            currents: std::array::from_fn(|index| phase(currents_a[index], index)),
            second_harmonics: [Complex::ZERO; 3],
            voltages: std::array::from_fn(|index| phase(voltages[index] * VOLTAGE_V, index)),
            frequency_hz: 50.0,
        }
    }

    /// 200 ms of load, then another state that comes over a period, as filters show it; when the
    /// element says so, in ms.
    fn says(element: &mut FuseFailure, voltages: [f64; 3], currents_a: [f64; 3]) -> Option<u64> {
        (0..600u64).find(|ms| {
            let shown = (ms.saturating_sub(200) as f64 / 20.0).min(1.0);
            let voltages = voltages.map(|v| 1.0 + (v - 1.0) * shown);
            let currents_a = currents_a.map(|a| 300.0 + (a - 300.0) * shown);
            let seen = bay(voltages, currents_a);
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen)).start
        })
    }

    #[test]
    fn one_two_and_three_fuses_are_seen_before_the_voltage_is_gone() {
        for voltages in [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0; 3]] {
            let ms = says(&mut element(), voltages, [300.0; 3]);
            assert!(ms.is_some_and(|ms| (201..=210).contains(&ms)), "{voltages:?}: {ms:?}");
        }
    }

    #[test]
    fn faults_load_and_a_dead_line_are_none() {
        let healthy = [1.0; 3];
        for (voltages, currents_a) in [
            (healthy, [300.0; 3]),
            (healthy, [900.0; 3]),
            // To earth, between two phases, of all three.
            ([0.2, 1.0, 1.0], [4000.0, 300.0, 300.0]),
            ([0.5, 0.5, 1.0], [4000.0, 4000.0, 300.0]),
            ([0.1; 3], [6000.0; 3]),
            // Switched off.
            ([0.0; 3], [0.0; 3]),
        ] {
            let ms = says(&mut element(), voltages, currents_a);
            assert_eq!(ms, None, "{voltages:?}, {currents_a:?}");
        }
    }

    #[test]
    fn it_stays_through_a_fault_and_ends_with_healthy_voltages() {
        let mut element = element();
        says(&mut element, [0.0; 3], [300.0; 3]).expect("the fuses are seen");
        let mut update = |ms: u64, voltages, currents| {
            let seen = bay(voltages, currents);
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen)).start
        };
        assert!(update(700, [0.0; 3], [6000.0; 3]));
        assert!(update(800, [1.0; 3], [300.0; 3]));
        assert!(update(859, [1.0; 3], [300.0; 3]));
        assert!(!update(860, [1.0; 3], [300.0; 3]));
        assert_eq!(element.update(SampleTime::from_ns(900_000_000), None), Decision::NONE);
    }
}
