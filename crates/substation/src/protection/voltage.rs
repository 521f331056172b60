//! Undervoltage and overvoltage (27, PTUV; 59, PTOV).
//!
//! Undervoltage looks at the phases that its settings name, any or all, and is blocked while the
//! voltage is so low that the line is dead: a feeder that is switched off is not faulty.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::timing::{Delay, Level};

/// Which side of the threshold is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Operates below the limit: undervoltage (27).
    Under,
    /// Operates above the limit: overvoltage (59).
    Over,
}

/// How many of the phases must be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phases {
    /// One phase beyond the limit suffices.
    Any,
    /// All three phases must be beyond the limit.
    All,
}

/// Limit and delay of a voltage element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Which side is wrong.
    pub side: Side,
    /// The threshold, in V.
    pub pick_up_v: f64,
    /// How many phases must be beyond it.
    pub phases: Phases,
    /// From start to operation.
    pub delay: Duration,
    /// Below this voltage of all phases undervoltage is blocked, in V; zero for never.
    pub dead_below_v: f64,
}

/// A voltage element (27, 59).
#[derive(Clone, PartialEq, Debug)]
pub struct Voltage {
    settings: Settings,
    levels: [Level; 3],
    delay: Delay,
}

impl Voltage {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let ratio = if settings.side == Side::Under { 1.05 } else { 0.95 };
        let level = Level::new(settings.pick_up_v, ratio);
        let levels = [level.clone(), level.clone(), level];
        Self { settings, levels, delay: Delay::new(settings.delay) }
    }

    /// Looks at the magnitudes of the phases, in V.
    pub fn update(&mut self, now: SampleTime, phases_v: Option<[f64; 3]>) -> Decision {
        let is_dead = |phases: &[f64; 3]| {
            self.settings.side == Side::Under
                && phases.iter().all(|phase| *phase < self.settings.dead_below_v)
        };
        let Some(phases) = phases_v.filter(|phases| !is_dead(phases)) else {
            self.levels.iter_mut().for_each(Level::reset);
            self.delay.reset();
            return Decision::NONE;
        };
        let mut wrong = 0;
        for (level, phase) in self.levels.iter_mut().zip(phases) {
            wrong += usize::from(level.update(phase));
        }
        let needed = if self.settings.phases == Phases::All { 3 } else { 1 };
        self.delay.update(now, wrong >= needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(side: Side, pick_up_v: f64, phases: Phases) -> Voltage {
        let delay = Duration::from_millis(100);
        Voltage::new(Settings { side, pick_up_v, phases, delay, dead_below_v: 10.0 })
    }

    fn operates(element: &mut Voltage, phases_v: Option<[f64; 3]>) -> Option<u64> {
        (0..1000).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), phases_v).operate)
    }

    #[test]
    fn both_sides_operate_in_their_time_and_normal_voltage_operates_neither() {
        let normal = Some([230.0; 3]);
        let low = Some([230.0, 183.0, 230.0]);
        let under = |phases| element(Side::Under, 184.0, phases);
        assert_eq!(operates(&mut under(Phases::Any), normal), None);
        assert_eq!(operates(&mut under(Phases::Any), low), Some(100));
        assert_eq!(operates(&mut under(Phases::All), low), None);
        assert_eq!(operates(&mut element(Side::Over, 253.0, Phases::Any), normal), None);
        let high = Some([254.0, 230.0, 230.0]);
        assert_eq!(operates(&mut element(Side::Over, 253.0, Phases::Any), high), Some(100));
    }

    #[test]
    fn a_dead_line_and_an_invalid_stream_block() {
        assert_eq!(operates(&mut element(Side::Under, 184.0, Phases::Any), Some([3.0; 3])), None);
        assert_eq!(operates(&mut element(Side::Under, 184.0, Phases::Any), None), None);
    }

    #[test]
    fn it_drops_off_with_hysteresis() {
        let mut under = element(Side::Under, 184.0, Phases::Any);
        let at = SampleTime::ZERO;
        assert!(under.update(at, Some([183.0; 3])).start);
        assert!(under.update(at, Some([192.0; 3])).start);
        assert!(!under.update(at, Some([194.0; 3])).start);
    }
}
