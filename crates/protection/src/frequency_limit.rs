//! Frequency too low or too high (81, PTUF and PTOF).
//!
//! It believes the tracker only: while that holds an old frequency, because the voltage is low or
//! something was switched, the element is blocked, and its delay starts again.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::timing::{Delay, Level};
use super::voltage::Side;

/// How far back over the threshold the frequency must come, in Hz.
const HYSTERESIS_HZ: f64 = 0.02;

/// Limits and times of a frequency element (81).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Which side is wrong.
    pub side: Side,
    /// The threshold, in Hz.
    pub pick_up_hz: f64,
    /// Positive sequence voltage below which it is blocked, in V: what is induced on a line that is dead
    /// has a frequency too.
    pub voltage_v_min: f64,
    pub delay: Duration,
}

/// A frequency element (81).
#[derive(Clone, PartialEq, Debug)]
pub struct Frequency {
    voltage_v_min: f64,
    level: Level,
    delay: Delay,
}

impl Frequency {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let step = if settings.side == Side::Under { HYSTERESIS_HZ } else { -HYSTERESIS_HZ };
        let level = Level::new(settings.pick_up_hz, 1.0 + step / settings.pick_up_hz);
        let voltage_v_min = settings.voltage_v_min;
        Self { voltage_v_min, level, delay: Delay::new(settings.delay) }
    }

    /// Looks at a frequency that was measured now, in Hz, and at its positive sequence voltage, in V.
    pub fn update(&mut self, now: SampleTime, measured: Option<(f64, f64)>) -> Decision {
        match measured.filter(|(_, voltage_v)| *voltage_v >= self.voltage_v_min) {
            Some((frequency_hz, _)) => {
                let start = self.level.update(frequency_hz);
                self.delay.update(now, start)
            }
            None => {
                self.level.reset();
                self.delay.reset();
                Decision::NONE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operates_at(
        side: Side,
        pick_up_hz: f64,
        frequency_hz: Option<f64>,
        voltage_v: f64,
    ) -> Option<u64> {
        let delay = Duration::from_millis(150);
        let measured = frequency_hz.map(|hz| (hz, voltage_v));
        let mut element =
            Frequency::new(Settings { side, pick_up_hz, voltage_v_min: 1000.0, delay });
        (0..1000).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), measured).operate)
    }

    fn operates(side: Side, pick_up_hz: f64, frequency_hz: Option<f64>) -> Option<u64> {
        operates_at(side, pick_up_hz, frequency_hz, 60_000.0)
    }

    #[test]
    fn what_is_induced_on_a_dead_line_has_no_frequency() {
        assert_eq!(operates_at(Side::Under, 49.0, Some(48.0), 1001.0), Some(150));
        assert_eq!(operates_at(Side::Under, 49.0, Some(48.0), 999.0), None);
    }

    #[test]
    fn it_operates_beyond_the_threshold_only() {
        assert_eq!(operates(Side::Under, 49.0, Some(49.005)), None);
        assert_eq!(operates(Side::Under, 49.0, Some(48.995)), Some(150));
        assert_eq!(operates(Side::Over, 51.0, Some(50.995)), None);
        assert_eq!(operates(Side::Over, 51.0, Some(51.005)), Some(150));
        assert_eq!(operates(Side::Under, 49.0, None), None);
    }

    #[test]
    fn it_drops_off_with_hysteresis() {
        let delay = Duration::ZERO;
        for (side, wrong, edge, right) in
            [(Side::Under, 48.99, 49.01, 49.03), (Side::Over, 49.01, 48.99, 48.97)]
        {
            let mut element =
                Frequency::new(Settings { side, pick_up_hz: 49.0, voltage_v_min: 0.0, delay });
            assert!(element.update(SampleTime::ZERO, Some((wrong, 0.0))).start);
            assert!(element.update(SampleTime::ZERO, Some((edge, 0.0))).start);
            assert!(!element.update(SampleTime::ZERO, Some((right, 0.0))).start);
        }
    }
}
