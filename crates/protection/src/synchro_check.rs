//! Synchro-check (25, RSYN): whether two parts of a grid may be connected, by the voltages on both sides
//! of the open breaker.
//!
//! Both live: they may differ little in magnitude, frequency and angle. One dead, or both: it may be
//! energised, where settings allow it (`LivDeaMod` of RSYN, IEC 61850-7-4). All of it must have held for a
//! while. Between the two limits a side is neither live nor dead, and nothing is released: voltages
//! induced by a parallel line are no live line, nor is it dead enough to be switched onto.
//!
//! While the two slip, the angle at which the contacts make is another than the one at the order. With the
//! closing time of the breaker known, the angle that is compared is the one that it will be then.

use std::time::Duration;

use iec61850::SampleTime;

use super::complex::{Complex, Degrees};
use super::symmetrical::Sequence;
use super::timing::Delay;
use super::{Decision, PhaseSet};

/// Limits of a synchro-check element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Phases that are compared: one by itself, all by their positive sequence.
    pub phases: PhaseSet,
    /// Voltage to earth from which each phase of a side is live, in V.
    pub live_v_min: f64,
    /// Voltage to earth up to which each phase of a side is dead, in V.
    pub dead_v_max: f64,
    /// Difference of the magnitudes, in V.
    pub difference_v_max: f64,
    /// Difference of the frequencies, in Hz.
    pub slip_hz_max: f64,
    /// Difference of the angles, in degrees.
    pub angle_deg_max: f64,
    /// What may be energised.
    pub energise: Energise,
    /// How long all must hold.
    pub hold: Duration,
    /// From the order to contacts made; zero compares the angle of now.
    pub closing: Duration,
}

/// Which sides may be dead when the breaker closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Energise {
    /// The line, from a live busbar.
    pub dead_line: bool,
    /// The busbar, from a live line.
    pub dead_bus: bool,
    /// A dead line together with a dead busbar.
    pub both_dead: bool,
}

/// Both sides at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sides {
    /// Voltages of the line, in V.
    pub line: [Complex; 3],
    /// Voltages of the busbar, in V.
    pub bus: [Complex; 3],
    /// Frequency of the line above that of the busbar, in Hz, while both are measured.
    pub slip_hz: Option<f64>,
}

/// What the voltages of a side say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    Live,
    Dead,
    Neither,
}

/// A synchro-check element (25).
#[derive(Clone, PartialEq, Debug)]
pub struct SynchroCheck {
    settings: Settings,
    delay: Delay,
}

impl SynchroCheck {
    /// An element that has released nothing.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, delay: Delay::new(settings.hold) }
    }

    /// Looks at both sides: started while all conditions hold, operated once closing is released.
    pub fn update(&mut self, now: SampleTime, sides: Option<&Sides>) -> Decision {
        self.delay.update(now, sides.is_some_and(|sides| self.may_close(sides)))
    }

    fn may_close(&self, sides: &Sides) -> bool {
        let energise = self.settings.energise;
        match (self.condition(sides.line), self.condition(sides.bus)) {
            (Condition::Live, Condition::Live) => self.is_synchronous(sides),
            (Condition::Dead, Condition::Live) => energise.dead_line,
            (Condition::Live, Condition::Dead) => energise.dead_bus,
            (Condition::Dead, Condition::Dead) => energise.both_dead,
            (Condition::Neither, _) | (_, Condition::Neither) => false,
        }
    }

    fn condition(&self, voltages: [Complex; 3]) -> Condition {
        let of = (0..3).filter(|phase| self.settings.phases.has(*phase));
        let mut magnitudes_v = of.map(|phase| voltages[phase].norm());
        if magnitudes_v.clone().all(|v| v >= self.settings.live_v_min) {
            Condition::Live
        } else if magnitudes_v.all(|v| v <= self.settings.dead_v_max) {
            Condition::Dead
        } else {
            Condition::Neither
        }
    }

    fn is_synchronous(&self, sides: &Sides) -> bool {
        let Some(slip_hz) = sides.slip_hz else { return false };
        let [line, bus] = [sides.line, sides.bus].map(|voltages| self.compared(voltages));
        let turned_deg = 360.0 * slip_hz * self.settings.closing.as_secs_f64();
        let angle_deg = (line * bus.conj()).turned_deg(turned_deg).angle_deg();
        (line.norm() - bus.norm()).abs() <= self.settings.difference_v_max
            && slip_hz.abs() <= self.settings.slip_hz_max
            && angle_deg.abs() <= self.settings.angle_deg_max
    }

    fn compared(&self, voltages: [Complex; 3]) -> Complex {
        match (0..3).find(|phase| self.settings.phases == PhaseSet::phase(*phase)) {
            Some(phase) => voltages[phase],
            None => Sequence::of(voltages).positive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        phases: PhaseSet::ALL,
        live_v_min: 50_000.0,
        dead_v_max: 12_000.0,
        difference_v_max: 6000.0,
        slip_hz_max: 0.1,
        angle_deg_max: 20.0,
        energise: Energise { dead_line: true, dead_bus: false, both_dead: false },
        hold: Duration::from_millis(100),
        closing: Duration::ZERO,
    };

    fn three(magnitude_v: f64, angle_deg: f64) -> [Complex; 3] {
        [0.0, -120.0, 120.0].map(|turn| Complex::polar_deg(magnitude_v, angle_deg + turn))
    }

    fn sides(line: (f64, f64), bus: (f64, f64), slip_hz: Option<f64>) -> Sides {
        Sides { line: three(line.0, line.1), bus: three(bus.0, bus.1), slip_hz }
    }

    /// When it releases, in ms, of a second in which nothing changes.
    fn released(settings: Settings, sides: &Sides) -> Option<u64> {
        let mut element = SynchroCheck::new(settings);
        (0..1000)
            .find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), Some(sides)).operate)
    }

    #[test]
    fn each_difference_has_its_limit() {
        let bus = (63_500.0, 0.0);
        let live = |voltage_v: f64, angle_deg: f64, slip_hz: f64| {
            released(SETTINGS, &sides((voltage_v, angle_deg), bus, Some(slip_hz)))
        };
        assert_eq!(live(63_500.0, 0.0, 0.0), Some(100));
        for (voltage_v, angle_deg, slip_hz) in
            [(58_000.0, 19.0, 0.09), (69_000.0, -19.0, -0.09), (63_500.0, 341.0, 0.0)]
        {
            assert_eq!(live(voltage_v, angle_deg, slip_hz), Some(100), "{voltage_v} {angle_deg}");
        }
        for (voltage_v, angle_deg, slip_hz) in [
            (57_000.0, 0.0, 0.0),
            (70_000.0, 0.0, 0.0),
            (63_500.0, 21.0, 0.0),
            (63_500.0, 180.0, 0.0),
            (63_500.0, -21.0, 0.0),
            (63_500.0, 0.0, 0.11),
            (63_500.0, 0.0, -0.11),
        ] {
            assert_eq!(live(voltage_v, angle_deg, slip_hz), None, "{voltage_v} {angle_deg}");
        }
        let unknown = sides(bus, bus, None);
        assert_eq!(released(SETTINGS, &unknown), None, "no frequency, no release");
    }

    #[test]
    fn only_what_settings_allow_is_energised() {
        let (live, dead, between) = ((63_500.0, 0.0), (3000.0, 77.0), (30_000.0, 0.0));
        for bits in 0..8u8 {
            let [dead_line, dead_bus, both_dead] = [1, 2, 4].map(|bit| bits & bit != 0);
            let energise = Energise { dead_line, dead_bus, both_dead };
            let settings = Settings { energise, ..SETTINGS };
            let may = |line, bus| released(settings, &sides(line, bus, None)).is_some();
            assert_eq!(may(dead, live), dead_line);
            assert_eq!(may(live, dead), dead_bus);
            assert_eq!(may(dead, dead), both_dead);
            assert!(!may(between, live) && !may(live, between) && !may(between, between));
        }
        // One phase that still has its voltage is no dead line.
        let mut line = sides(dead, live, None);
        line.line[2] = Complex::polar_deg(63_500.0, 120.0);
        assert_eq!(released(SETTINGS, &line), None);
        let of_one = Settings { phases: PhaseSet::phase(0), ..SETTINGS };
        assert_eq!(released(of_one, &line), Some(100), "it was told to look at one");
    }

    #[test]
    fn contacts_of_a_slipping_breaker_make_near_phase_coincidence() {
        let closing = Duration::from_millis(80);
        let settings = Settings {
            closing,
            slip_hz_max: 0.5,
            angle_deg_max: 5.0,
            hold: Duration::ZERO,
            ..SETTINGS
        };
        for slip_hz in [-0.5, -0.1, 0.1, 0.5] {
            let angle_at = |ms: u64| 90.0 + 360.0 * slip_hz * ms as f64 / 1000.0;
            let mut element = SynchroCheck::new(settings);
            let order_ms = (0..20_000).find(|ms| {
                let seen = sides((63_500.0, angle_at(*ms)), (63_500.0, 0.0), Some(slip_hz));
                element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen)).operate
            });
            let made_deg = angle_at(order_ms.expect("they meet") + 80);
            let apart_deg = (made_deg + 180.0).rem_euclid(360.0) - 180.0;
            assert!(apart_deg.abs() < 5.1, "{slip_hz} Hz: {apart_deg}");
        }
    }

    #[test]
    fn what_is_not_trusted_begins_again() {
        let same = sides((63_500.0, 0.0), (63_500.0, 0.0), Some(0.0));
        let mut element = SynchroCheck::new(SETTINGS);
        let mut at = |ms: u64, seen| element.update(SampleTime::from_ns(ms * 1_000_000), seen);
        assert_eq!(at(0, Some(&same)), Decision::new(true, false));
        assert_eq!(at(99, None), Decision::NONE);
        assert_eq!(at(100, Some(&same)), Decision::new(true, false));
        assert_eq!(at(200, Some(&same)), Decision::new(true, true));
    }
}
