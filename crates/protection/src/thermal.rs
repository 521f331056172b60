//! Thermal overload (49, PTTR; IEC 60255-149): a line, a cable or a transformer becomes too warm, from
//! currents that no limit of an overcurrent element would catch without catching a passing peak as well.
//!
//! What is protected is a body with one time constant: its temperature above that of its surroundings
//! goes towards `(I / I_max)²` of what is allowed, as `1 - e^(-t/τ)`. Each phase has its own, and the
//! warmest counts. From a constant current it operates after
//! `τ ln((I² - I0²) / (I² - I_max²))`, where `I0` is the load of before.
//!
//! While no current can be trusted, nobody knows what heats, so temperatures stay as they are; it says
//! nothing until there are currents again, and then goes on with those temperatures.
//!
//! Currents are those of the fundamental: harmonics heat too, and are not seen.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::Level;
use super::{Complex, Decision, PhaseSet};

/// Drop-off of the alarm as a share of its limit.
const ALARM_RATIO: f64 = 0.97;

/// Limits of a thermal overload element (49).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Current that may flow for ever (`k` times the base current), in A.
    pub current_a_max: f64,
    /// In which a step of the current heats to 63 % of its end.
    pub time_constant: Duration,
    /// Share of the allowed temperature from which it starts: an alarm.
    pub alarm: f64,
    /// Share of the allowed temperature below which it drops off after it has operated.
    pub release: f64,
    /// Share of the allowed temperature that is assumed at the start.
    pub initial: f64,
}

/// A thermal overload element (49).
#[derive(Clone, PartialEq, Debug)]
pub struct Thermal {
    settings: Settings,
    /// Temperature of each phase, as a share of what is allowed.
    heats: [f64; 3],
    alarm: Level,
    trip: Level,
    before: Option<SampleTime>,
}

impl Thermal {
    /// An element with the temperature that its settings assume.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            heats: [settings.initial; 3],
            alarm: Level::new(settings.alarm, ALARM_RATIO),
            trip: Level::new(1.0, settings.release),
            before: None,
        }
    }

    /// Looks at the currents of the phases; starts for an alarm, operates when it is too warm.
    pub fn update(&mut self, now: SampleTime, currents: Option<[Complex; 3]>) -> Decision {
        let Some(currents) = currents else {
            self.before = None;
            return Decision::NONE;
        };
        let span = self.before.map_or(Duration::ZERO, |before| now.since(before));
        self.before = Some(now);
        let share = -(-span.as_secs_f64() / self.settings.time_constant.as_secs_f64()).exp_m1();
        for (heat, current) in self.heats.iter_mut().zip(currents) {
            let end = current.norm_sqr() / self.settings.current_a_max.powi(2);
            *heat += (end - *heat) * share;
        }
        let warmest = self.heat();
        let operate = self.trip.update(warmest);
        // Whoever has operated has started, also where it drops off below the alarm.
        let start = self.alarm.update(warmest) || operate;
        let limit = self.settings.alarm * ALARM_RATIO;
        let warm = PhaseSet::of(self.heats.map(|heat| heat > limit));
        Decision::new(start, operate).in_phases(warm)
    }

    /// Temperature of the warmest phase, as a share of what is allowed.
    #[must_use]
    pub fn heat(&self) -> f64 {
        self.heats.into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        current_a_max: 100.0,
        time_constant: Duration::from_secs(600),
        alarm: 0.9,
        release: 0.95,
        initial: 0.0,
    };

    fn at(seconds: f64) -> SampleTime {
        SampleTime::from_ns((seconds * 1e9) as u64)
    }

    fn three(amperes: f64) -> Option<[Complex; 3]> {
        Some([Complex::new(amperes, 0.0); 3])
    }

    /// Seconds, from `begin` on and in steps of a tenth, until the element says what is wanted.
    fn until(
        element: &mut Thermal,
        begin: f64,
        amperes: f64,
        wanted: impl Fn(Decision) -> bool,
    ) -> Option<f64> {
        let seconds = (0..100_000).map(|step| f64::from(step) / 10.0);
        seconds.into_iter().find(|s| wanted(element.update(at(begin + s), three(amperes))))
    }

    #[test]
    fn it_operates_after_the_time_of_the_formula_cold_and_warm() {
        for load_a in [0.0_f64, 50.0, 80.0] {
            for overload_a in [110.0_f64, 150.0, 300.0, 1000.0] {
                let initial = (load_a / 100.0).powi(2);
                let mut element = Thermal::new(Settings { initial, ..SETTINGS });
                // A load that has lasted keeps the temperature that it had.
                until(&mut element, 0.0, load_a, |_| false);
                let taken_s = until(&mut element, 10_000.0, overload_a, |said| said.operate);
                let (i, p) = (overload_a.powi(2), load_a.powi(2));
                let formula_s = 600.0 * ((i - p) / (i - 1e4)).ln();
                let off_s = taken_s.map(|taken_s| (taken_s - formula_s).abs());
                assert!(
                    off_s.is_some_and(|off| off <= 0.201 + 0.001 * formula_s),
                    "{overload_a} A after {load_a} A: {taken_s:?}, not {formula_s}"
                );
            }
        }
    }

    #[test]
    fn what_may_flow_for_ever_does_and_alarms_before_it_is_too_much() {
        let mut element = Thermal::new(SETTINGS);
        assert_eq!(until(&mut element, 0.0, 99.9, |said| said.operate), None);
        assert!(element.heat() > 0.99);
        let mut element = Thermal::new(SETTINGS);
        let alarm_s = until(&mut element, 0.0, 120.0, |said| said.start).expect("it alarms");
        let trip_s = until(&mut element, alarm_s, 120.0, |said| said.operate).expect("it operates");
        assert!(trip_s > 60.0, "{trip_s}");
    }

    #[test]
    fn it_drops_off_when_it_has_cooled_and_names_the_warm_phase() {
        let mut element = Thermal::new(SETTINGS);
        let phase = [Complex::ZERO, Complex::new(300.0, 0.0), Complex::ZERO];
        element.update(at(0.0), Some(phase));
        let said = element.update(at(100.0), Some(phase));
        assert_eq!(said, Decision::new(true, true).in_phases(PhaseSet::phase(1)));
        let heat = element.heat();
        // To 95 %, and from there on below the alarm at 0.9 times 0.97.
        let cool_s = until(&mut element, 100.0, 0.0, |said| !said.operate).expect("it cools");
        assert!((cool_s - 600.0 * (heat / 0.95).ln()).abs() < 0.2, "{cool_s}");
        assert!(element.update(at(100.1 + cool_s), three(0.0)).start);
        let quiet_s = until(&mut element, 100.0 + cool_s, 0.0, |said| !said.start);
        assert!(quiet_s.is_some_and(|s| (s - 600.0 * (0.95_f64 / 0.873).ln()).abs() < 0.3));
    }

    #[test]
    fn a_gap_keeps_the_temperature() {
        let mut element = Thermal::new(SETTINGS);
        until(&mut element, 0.0, 150.0, |said| said.start).expect("it starts");
        let heat = element.heat();
        assert_eq!(element.update(at(2000.0), None), Decision::NONE);
        assert!(element.update(at(9000.0), three(150.0)).start);
        assert_eq!(element.heat(), heat);
    }
}
