//! Restricted earth fault (87N, PDIF): an earth fault in an earthed winding, also close to its star point,
//! where it hardly shows in the phases. The residual current of the phases and the current of the star
//! point, both counted into the winding, add up to nothing unless the fault is inside.
//!
//! Percentage restraint by the largest of all these currents. A phase whose current transformer is
//! saturated by a fault outside makes a difference too, so that three more things must hold:
//!
//! - A current flows in the star point: no fault that is not to earth has one.
//! - The residual current does not flow against it, where there is enough of it to have a direction.
//! - No fault outside was seen lately: a transformer saturates some milliseconds after a fault begins, and
//!   until then everything adds up.

use std::time::Duration;

use iec61850::SampleTime;

use super::phases::{largest, residual};
use super::timing::Delay;
use super::{Complex, Decision, PhaseSet};

/// Drop-off as a share of the threshold.
const DROP_OFF_RATIO: f64 = 0.9;
/// Share of the pick-up that must flow in the star point.
const NEUTRAL_SHARE_MIN: f64 = 0.5;
/// Share of the star point's current from which the residual one has a direction.
const DIRECTION_SHARE_MIN: f64 = 0.1;
/// Difference as a share of the star point's current below which everything adds up.
const OUTSIDE_SHARE_MAX: f64 = 0.25;
/// How long that is remembered: offsets have decayed by then.
const OUTSIDE_TIME: Duration = Duration::from_millis(200);

/// Limits and delay of a restricted earth fault element (87N).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Difference below which it never operates, in A.
    pub pick_up_a: f64,
    /// Share of the largest current that the difference must exceed.
    pub slope: f64,
    /// From start to operation.
    pub delay: Duration,
}

/// Currents of a winding, all into it, in A.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Winding {
    /// Of the phases at its terminals.
    pub phases: [Complex; 3],
    /// From earth into its star point.
    pub neutral: Complex,
}

/// A restricted earth fault element (87N).
#[derive(Clone, PartialEq, Debug)]
pub struct RestrictedEarth {
    settings: Settings,
    is_started: bool,
    delay: Delay,
    /// When everything last added up while a current flowed in the star point.
    outside: Option<SampleTime>,
}

impl RestrictedEarth {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let delay = Delay::new(settings.delay);
        Self { settings, is_started: false, delay, outside: None }
    }

    /// Looks at a winding.
    pub fn update(&mut self, now: SampleTime, winding: Option<&Winding>) -> Decision {
        let Some(winding) = winding else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let residual = residual(winding.phases);
        let neutral_a = winding.neutral.norm();
        let difference_a = (residual + winding.neutral).norm();
        let flows = neutral_a > NEUTRAL_SHARE_MIN * self.settings.pick_up_a;
        let is_opposed = residual.norm() > DIRECTION_SHARE_MIN * neutral_a
            && (residual * winding.neutral.conj()).re < 0.0;
        if flows && is_opposed && difference_a < OUTSIDE_SHARE_MAX * neutral_a {
            self.outside = Some(now);
        }
        self.outside = self.outside.filter(|at| now.since(*at) < OUTSIDE_TIME);
        let largest_a = largest(winding.phases).max(neutral_a);
        let threshold_a = self.settings.pick_up_a.max(self.settings.slope * largest_a);
        let ratio = if self.is_started { DROP_OFF_RATIO } else { 1.0 };
        self.is_started =
            flows && !is_opposed && self.outside.is_none() && difference_a > ratio * threshold_a;
        self.delay.update(now, self.is_started).in_phases(PhaseSet::EARTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waveform::{CurrentTransformer, Fault, Wave};
    use crate::{Degrees, Filter, Offset, Window};

    const SETTINGS: Settings =
        Settings { pick_up_a: 50.0, slope: 0.4, delay: Duration::from_millis(20) };

    fn polar(magnitude: f64, angle_deg: f64) -> Complex {
        Complex::polar_deg(magnitude, angle_deg)
    }

    fn operates(winding: &Winding) -> Option<u64> {
        let mut element = RestrictedEarth::new(SETTINGS);
        (0..500)
            .find(|ms| element.update(SampleTime::from_ns(ms * 1_000_000), Some(winding)).operate)
    }

    #[test]
    fn faults_inside_operate_it_with_and_without_current_at_the_terminals() {
        for (phases, neutral) in [
            // Nothing is connected: all comes up through the star point.
            ([Complex::ZERO; 3], polar(60.0, 10.0)),
            // The network feeds the fault as well, at an angle of its own.
            ([polar(2000.0, 50.0), Complex::ZERO, Complex::ZERO], polar(800.0, 10.0)),
            // Load flows through.
            ([polar(300.0, 0.0), polar(300.0, -120.0), polar(300.0, 120.0)], polar(150.0, -80.0)),
        ] {
            let winding = Winding { phases, neutral };
            assert_eq!(operates(&winding), Some(20), "{winding:?}");
        }
    }

    #[test]
    fn load_and_faults_outside_do_not() {
        for (phases, neutral) in [
            ([polar(300.0, 0.0), polar(300.0, -120.0), polar(300.0, 120.0)], Complex::ZERO),
            // To earth outside: what comes up through the star point leaves by the phases.
            ([polar(3000.0, 190.0), Complex::ZERO, Complex::ZERO], polar(3000.0, 10.0)),
            // The same, and the transformer of that phase has been saturated from the first moment on.
            ([polar(1500.0, 240.0), Complex::ZERO, Complex::ZERO], polar(3000.0, 10.0)),
            // Of all phases outside, and a transformer that is saturated lets half of one through.
            ([polar(4000.0, 0.0), polar(2000.0, -80.0), polar(4000.0, 120.0)], polar(5.0, 0.0)),
            // Its own current transformer errs in heavy load.
            ([polar(900.0, 0.0), polar(960.0, -120.0), polar(900.0, 120.0)], Complex::ZERO),
        ] {
            let winding = Winding { phases, neutral };
            assert_eq!(operates(&winding), None, "{winding:?}");
        }
        let mut element = RestrictedEarth::new(SETTINGS);
        assert_eq!(element.update(SampleTime::ZERO, None), Decision::NONE);
    }

    #[test]
    fn a_fault_outside_is_remembered_while_its_transformer_passes_nothing() {
        let mut element = RestrictedEarth::new(SETTINGS);
        let neutral = polar(3000.0, 10.0);
        let mut starts = |ms: u64, share: f64| {
            let phases = [neutral * -share, Complex::ZERO, Complex::ZERO];
            let winding = Winding { phases, neutral };
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&winding)).start
        };
        assert!(!starts(0, 0.95));
        assert!(!starts(5, 0.02) && !starts(199, 0.02));
        assert!(starts(200, 0.02));
    }

    /// The first millisecond after the begin of a fault of phase A in which it starts: the current that
    /// the phase has then, offset and all, and whether its transformer saturates.
    fn starts(phase_a: Complex, saturates: bool) -> Option<u64> {
        const RATE: u32 = 4000;
        let wave = |steady, offset_tau_s| Wave {
            frequency_hz: 50.0,
            before: Complex::ZERO,
            fault: Some(Fault { begin_s: 0.1, end_s: f64::INFINITY, steady, offset_tau_s }),
            harmonics: Vec::new(),
        };
        let neutral = polar(5000.0, 90.0);
        let (phase_wave, neutral_wave) = (wave(phase_a, 0.08), wave(neutral, 0.08));
        // 5000 A are 25 A on the secondary side; the burden drops 50 V, the offset doubles that.
        let mut transformer = CurrentTransformer::new(2.0, 75.0, 50.0, 0.7);
        let filter = Filter::new(RATE, 50.0, 1, Offset::Removed);
        let (mut phase, mut star) = (Window::new(RATE), Window::new(RATE));
        let mut element = RestrictedEarth::new(SETTINGS);
        for number in 0..2400_u32 {
            let time_s = f64::from(number) / f64::from(RATE);
            let ideal_a = phase_wave.value(time_s);
            let passed_a = transformer.pass(ideal_a / 200.0, 1.0 / f64::from(RATE)) * 200.0;
            phase.push(if saturates { passed_a } else { ideal_a });
            star.push(neutral_wave.value(time_s));
            let (Some(a), Some(neutral)) = (filter.phasor(&phase), filter.phasor(&star)) else {
                continue;
            };
            let winding = Winding { phases: [a, Complex::ZERO, Complex::ZERO], neutral };
            let now = SampleTime::of_sample(number.into(), RATE);
            if number % 4 == 0 && element.update(now, Some(&winding)).start {
                return Some(u64::from(number / 4) - 100);
            }
        }
        None
    }

    #[test]
    fn a_phase_that_saturates_outside_operates_nothing_and_one_inside_does_not_keep_it() {
        assert_eq!(starts(polar(5000.0, -90.0), false), None);
        assert_eq!(starts(polar(5000.0, -90.0), true), None);
        for saturates in [false, true] {
            let ms = starts(polar(5000.0, 80.0), saturates);
            assert!(ms.is_some_and(|ms| ms <= 10), "{saturates}: {ms:?}");
        }
    }
}
