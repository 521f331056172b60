//! Directional power (32, PDOP; underpower 37, PDUP): active or reactive power of all three phases, one
//! way, above or below a limit.
//!
//! A generator that lost its drive takes power out of the network: reverse power, of a few percent. A
//! feeder that carries hardly any may have lost what it feeds: underpower, which a line without voltage or
//! current has too, so that both may be asked for.
//!
//! Power is the sum of `U I*` of the phases to earth, which is right for unbalanced ones also. It counts
//! out of the busbar, into what is protected; reactive power is positive where the current lags.

use std::time::Duration;

use iec61850::SampleTime;

use super::direction::{Bay, Way};
use super::phases::powers;
use super::timing::{Delay, Level};
use super::voltage::Side;
use super::{Complex, Decision, Sequence};

/// Drop-off as a share of the pick-up, above a limit and below it.
const DROP_OFF_RATIOS: [f64; 2] = [0.95, 1.05];

/// Which part of the power is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// What does work, in W.
    Active,
    /// What magnetises, in var.
    Reactive,
}

/// Limit and conditions of a power element (32, 37).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub part: Part,
    /// Which side of the limit is wrong.
    pub side: Side,
    /// Which way power counts: forward out of the busbar.
    pub way: Way,
    /// The threshold, three-phase, in W or var.
    pub pick_up_va: f64,
    /// Positive sequence voltage below which it is blocked, in V.
    pub voltage_v_min: f64,
    /// Positive sequence current below which it is blocked, in A; zero for never.
    pub current_a_min: f64,
    pub delay: Duration,
}

/// A power element (32, 37).
#[derive(Clone, PartialEq, Debug)]
pub struct Power {
    settings: Settings,
    level: Level,
    delay: Delay,
}

impl Power {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let [over, under] = DROP_OFF_RATIOS;
        let ratio = if settings.side == Side::Under { under } else { over };
        let level = Level::new(settings.pick_up_va, ratio);
        Self { settings, level, delay: Delay::new(settings.delay) }
    }

    /// Looks at a bay.
    pub fn update(&mut self, now: SampleTime, bay: Option<&Bay>) -> Decision {
        let Some(bay) = bay.filter(|bay| self.is_enough(bay)) else {
            self.level.reset();
            self.delay.reset();
            return Decision::NONE;
        };
        let start = self.level.update(self.value_va(bay));
        self.delay.update(now, start)
    }

    fn is_enough(&self, bay: &Bay) -> bool {
        let positive = |phasors| Sequence::of(phasors).positive.norm();
        positive(bay.voltages) >= self.settings.voltage_v_min
            && positive(bay.currents) >= self.settings.current_a_min
    }

    /// The power that is compared, in W or var, as it counts.
    fn value_va(&self, bay: &Bay) -> f64 {
        let sum: Complex = powers(bay.voltages, bay.currents).into_iter().sum();
        let part = if self.settings.part == Part::Active { sum.re } else { sum.im };
        if self.settings.way == Way::Forward { part } else { -part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const SETTINGS: Settings = Settings {
        part: Part::Active,
        side: Side::Over,
        way: Way::Forward,
        pick_up_va: 1e6,
        voltage_v_min: 5000.0,
        current_a_min: 0.0,
        delay: Duration::from_millis(200),
    };

    /// A bay of 10 kV with this power in the three phases, in W and var.
    fn bay(active_w: f64, reactive_var: f64, voltage_v: f64) -> Bay {
        let voltages = [10.0, -110.0, 130.0].map(|angle| Complex::polar_deg(voltage_v, angle));
        let power = Complex::new(active_w, reactive_var);
        Bay {
            currents: voltages.map(|voltage| (power * (1.0 / 3.0) / voltage).conj()),
            second_harmonics: [Complex::ZERO; 3],
            voltages,
            frequency_hz: 50.0,
        }
    }

    fn operates(settings: Settings, bay: &Bay) -> Option<u64> {
        let mut element = Power::new(settings);
        (0..1000).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), Some(bay)).operate)
    }

    #[test]
    fn each_part_each_way_and_each_side_sees_its_own() {
        let taken = |part, side, way, active_w, reactive_var| {
            let settings = Settings { part, side, way, ..SETTINGS };
            operates(settings, &bay(active_w, reactive_var, 5773.5))
        };
        let (active, reactive) = (Part::Active, Part::Reactive);
        for (part, side, way, (active_w, reactive_var), is) in [
            (active, Side::Over, Way::Forward, (1.01e6, 0.0), true),
            (active, Side::Over, Way::Forward, (0.99e6, 5e6), false),
            (active, Side::Over, Way::Forward, (-1.01e6, 0.0), false),
            (active, Side::Over, Way::Reverse, (-1.01e6, 0.0), true),
            (active, Side::Over, Way::Reverse, (1.01e6, 0.0), false),
            (reactive, Side::Over, Way::Forward, (0.0, 1.01e6), true),
            (reactive, Side::Over, Way::Forward, (5e6, 0.99e6), false),
            (reactive, Side::Over, Way::Reverse, (0.0, -1.01e6), true),
            (active, Side::Under, Way::Forward, (0.99e6, 0.0), true),
            (active, Side::Under, Way::Forward, (1.01e6, 0.0), false),
            (active, Side::Under, Way::Forward, (-3e6, 0.0), true),
            (active, Side::Under, Way::Reverse, (-3e6, 0.0), false),
        ] {
            let taken = taken(part, side, way, active_w, reactive_var);
            let expected = is.then_some(200);
            assert_eq!(
                taken, expected,
                "{part:?} {side:?} {way:?}: {active_w} W, {reactive_var} var"
            );
        }
    }

    #[test]
    fn unbalanced_phases_count_as_they_are() {
        let mut one = bay(2.7e6, 0.0, 5773.5);
        (one.currents[1], one.currents[2]) = (Complex::ZERO, Complex::ZERO);
        assert_eq!(operates(SETTINGS, &one), None);
        assert_eq!(operates(Settings { pick_up_va: 0.89e6, ..SETTINGS }, &one), Some(200));
    }

    #[test]
    fn a_dead_or_an_open_line_and_an_invalid_stream_block() {
        let under = Settings { side: Side::Under, ..SETTINGS };
        assert_eq!(operates(under, &bay(0.0, 0.0, 5773.5)), Some(200));
        assert_eq!(
            operates(Settings { current_a_min: 5.0, ..under }, &bay(0.0, 0.0, 5773.5)),
            None
        );
        assert_eq!(operates(under, &bay(0.0, 0.0, 4999.0)), None);
        let mut element = Power::new(SETTINGS);
        let mut at =
            |ms: u64, bay: Option<&Bay>| element.update(SampleTime::from_ns(ms * 1_000_000), bay);
        let much = bay(2e6, 0.0, 5773.5);
        assert!(at(0, Some(&much)).start);
        assert_eq!(at(199, None), Decision::NONE);
        assert!(!at(200, Some(&much)).operate);
        assert!(at(400, Some(&much)).operate);
    }

    #[test]
    fn it_drops_off_with_hysteresis() {
        let mut element = Power::new(SETTINGS);
        let starts = [0.99e6, 1.01e6, 0.96e6, 0.94e6, 0.99e6].map(|active_w| {
            element.update(SampleTime::ZERO, Some(&bay(active_w, 0.0, 5773.5))).start
        });
        assert_eq!(starts, [false, true, true, false, false]);
    }
}
