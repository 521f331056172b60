//! Broken conductor (46BC, PTOC): a phase that is open in series carries nothing, and nothing is short.
//!
//! The negative sequence current of an open phase is a share of the load, so a limit in amperes is
//! either above it in light load or below the unbalance of heavy load. The ratio of the negative to the
//! positive sequence current does not depend on load: it is 1 where the star point is isolated, and
//! from about 0.5 where it is earthed on both sides. A fault has such a ratio too: the delay is longer
//! than what clears one.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::{Delay, Level};
use super::{Complex, Decision, Sequence};

/// Drop-off as a share of the pick-up, of the ratio and of the current.
const DROP_OFF_RATIO: f64 = 0.95;

/// Limits and delay of a broken conductor element (46BC).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Share of the positive sequence current that the negative has, above which it starts.
    pub ratio: f64,
    /// Positive sequence current below which a ratio means nothing, in A.
    pub current_a_min: f64,
    /// From start to operation.
    pub delay: Duration,
}

/// A broken conductor element (46BC).
#[derive(Clone, PartialEq, Debug)]
pub struct BrokenConductor {
    ratio: Level,
    current: Level,
    delay: Delay,
}

impl BrokenConductor {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            ratio: Level::new(settings.ratio, DROP_OFF_RATIO),
            current: Level::new(settings.current_a_min, DROP_OFF_RATIO),
            delay: Delay::new(settings.delay),
        }
    }

    /// Looks at the currents of the phases.
    pub fn update(&mut self, now: SampleTime, currents: Option<[Complex; 3]>) -> Decision {
        let Some(currents) = currents else {
            self.ratio.reset();
            self.current.reset();
            self.delay.reset();
            return Decision::NONE;
        };
        let Sequence { positive, negative, .. } = Sequence::of(currents);
        let is_loaded = self.current.update(positive.norm());
        // Nothing flows: no ratio is above its limit.
        let ratio = if is_loaded { negative.norm() / positive.norm() } else { 0.0 };
        let is_unbalanced = self.ratio.update(ratio);
        self.delay.update(now, is_unbalanced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    fn element() -> BrokenConductor {
        let delay = Duration::from_secs(5);
        BrokenConductor::new(Settings { ratio: 0.2, current_a_min: 20.0, delay })
    }

    /// Currents of these magnitudes and angles.
    fn three(polar: [(f64, f64); 3]) -> Option<[Complex; 3]> {
        Some(polar.map(|(magnitude, angle_deg)| Complex::polar_deg(magnitude, angle_deg)))
    }

    fn operates(element: &mut BrokenConductor, currents: Option<[Complex; 3]>) -> Option<u64> {
        (0..10_000).find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), currents).operate)
    }

    #[test]
    fn an_open_phase_operates_it_in_light_and_in_heavy_load() {
        for load_a in [50.0, 2000.0] {
            // The star point is isolated: what flows in one of the two flows back in the other.
            let open = three([(0.0, 0.0), (load_a, -90.0), (load_a, 90.0)]);
            assert_eq!(operates(&mut element(), open), Some(5000), "{load_a}");
            // It is earthed: both go on as they were.
            let open = three([(0.0, 0.0), (load_a, -120.0), (load_a, 120.0)]);
            assert_eq!(operates(&mut element(), open), Some(5000), "{load_a}");
        }
    }

    #[test]
    fn load_an_open_line_and_a_fault_that_is_cleared_do_not() {
        let unbalanced_load = three([(300.0, 0.0), (260.0, -122.0), (320.0, 118.0)]);
        let charging = three([(0.0, 0.0), (15.0, -90.0), (15.0, 90.0)]);
        for currents in [unbalanced_load, charging, three([(0.0, 0.0); 3]), None] {
            assert_eq!(operates(&mut element(), currents), None, "{currents:?}");
        }
        let mut element = element();
        let fault = three([(4000.0, -80.0), (200.0, -120.0), (200.0, 120.0)]);
        for ms in 0..2000 {
            let decision = element.update(SampleTime::from_ns(ms * 1_000_000), fault);
            assert!(decision.start && !decision.operate);
        }
        let after = element.update(SampleTime::from_ns(2_000_000_000), unbalanced_load);
        assert_eq!(after, Decision::NONE);
    }

    #[test]
    fn it_drops_off_below_the_ratio_at_which_it_picks_up() {
        let mut element = element();
        // Magnitudes of all phases but A so that the ratio is `share`.
        let mut starts = |share: f64| {
            let negative = Complex::new(100.0 * share, 0.0);
            let positive = Complex::new(100.0, 0.0);
            let phases = Sequence { positive, negative, zero: Complex::ZERO }.phases();
            element.update(SampleTime::ZERO, Some(phases)).start
        };
        assert_eq!(
            [0.199, 0.201, 0.191, 0.189, 0.199].map(&mut starts),
            [false, true, true, false, false]
        );
    }
}
