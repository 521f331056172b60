//! Differential (87T, 87L; PDIF): what flows in must flow out. Percentage restraint: the more
//! flows through, the more may be missing, because current transformers err in proportion.
//!
//! A fault outside can saturate one transformer, and what it swallows looks like a fault inside.
//! But it saturates some milliseconds later, and until then everything adds up: so a large
//! through current without difference is remembered as a fault outside, and blocks the restrained
//! step for a while, unless currents flow in from two sides, which saturation cannot make. Second
//! and fifth harmonics of the difference block, of any phase all phases: a transformer that is
//! switched on draws current at one side only, and so does one with too high a voltage. Neither
//! blocks the unrestrained step.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::complex::{Complex, Degrees};
use super::symmetrical::Sequence;
use super::timing::Delay;

/// Rise of restraint over what it was, in units of the base, that is a fault outside if there is
/// no difference: small, because a transformer may saturate within 3 ms, and a filter of one
/// period has seen but a little by then.
const OUTSIDE_RISE_MIN: f64 = 0.3;
/// Rise as a share of what restraint was.
const OUTSIDE_RISE_SHARE_MIN: f64 = 0.2;
/// Difference as a share of restraint below which everything adds up.
const OUTSIDE_SHARE_MAX: f64 = 0.15;
/// How fast what restraint was follows what it is.
const CALM_TIME: Duration = Duration::from_millis(100);
/// How long that is remembered after everything last added up: offsets have decayed by then.
const OUTSIDE_TIME: Duration = Duration::from_millis(200);
/// Drop-off as a share of the threshold.
const DROP_OFF_RATIO: f64 = 0.9;

/// Settings; currents in units of a base that the caller chose for both sides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Difference below which it never operates.
    pub pick_up: f64,
    /// Share of restraint up to the knee.
    pub slope: f64,
    /// Restraint at the knee.
    pub knee: f64,
    /// Share of restraint beyond the knee.
    pub slope_beyond: f64,
    /// Difference above which it operates whatever else is.
    pub unrestrained: f64,
    /// Share of the second harmonic in the difference that blocks.
    pub second_harmonic_max: f64,
    /// Share of the fifth harmonic in the difference that blocks.
    pub fifth_harmonic_max: f64,
    /// How long a difference must last.
    pub delay: Duration,
}

/// Phases of one side, into the protected thing, referred to the common base.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Side {
    /// Fundamental of the phase currents, in A.
    pub fundamental: [Complex; 3],
    /// Second harmonic of the phase currents, in A.
    pub second: [Complex; 3],
    /// Fifth harmonic of the phase currents, in A.
    pub fifth: [Complex; 3],
}

impl Side {
    /// This side of a line without the current that charges a susceptance between the phases and
    /// earth at these voltages, still in A (87L). Harmonics are left: they only block.
    #[must_use]
    pub fn without_charging(&self, voltages: [Complex; 3], susceptance_s: f64) -> Self {
        let charging = voltages.map(|voltage| voltage * Complex::new(0.0, susceptance_s));
        let fundamental = std::array::from_fn(|phase| self.fundamental[phase] - charging[phase]);
        Self { fundamental, ..*self }
    }

    /// This side of a transformer as the other sees it: `clock` is the number of its vector
    /// group, by which it lags in twelfths of a turn; the zero sequence, which the other side does
    /// not see, is taken out; `base_a` is its rated current.
    #[must_use]
    pub fn referred(&self, clock: u8, base_a: f64) -> Self {
        let angle_deg = 30.0 * f64::from(clock);
        // One and the same real matrix for instants and for phasors of any harmonic.
        let refer = |phases: [Complex; 3]| {
            let Sequence { positive, negative, .. } = Sequence::of(phases);
            let positive = positive.turned_deg(angle_deg);
            let negative = negative.turned_deg(-angle_deg);
            let turned = Sequence { positive, negative, zero: Complex::ZERO };
            turned.phases().map(|phase| phase * (1.0 / base_a))
        };
        Self {
            fundamental: refer(self.fundamental),
            second: refer(self.second),
            fifth: refer(self.fifth),
        }
    }
}

/// A differential element (87).
#[derive(Clone, PartialEq, Debug)]
pub struct Differential {
    settings: Settings,
    is_started: bool,
    delay: Delay,
    /// When a fault outside was last seen in any phase: others saturate before they show it.
    outside: Option<SampleTime>,
    /// What restraint was, for each phase, and when it was looked at.
    calm: Option<(SampleTime, [f64; 3])>,
}

impl Differential {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let delay = Delay::new(settings.delay);
        Self { settings, is_started: false, delay, outside: None, calm: None }
    }

    /// Looks at all sides, which must have been sampled at the same moment.
    pub fn update(&mut self, now: SampleTime, sides: Option<&[Side]>) -> Decision {
        let Some(sides) = sides else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let harmonics_block = (0..3).any(|phase| self.is_blocked_by_harmonics(sides, phase));
        let restraints: [f64; 3] = std::array::from_fn(|phase| {
            sides.iter().map(|side| side.fundamental[phase].norm()).sum::<f64>() / 2.0
        });
        let calm = self.follow(now, restraints);
        let differences: [f64; 3] =
            std::array::from_fn(|phase| difference(sides, |side| side.fundamental[phase]));
        self.look_outside(now, differences, restraints, calm);
        let unrestrained = differences.iter().any(|each| *each > self.settings.unrestrained);
        let restrained = (0..3).any(|phase| {
            let outside = self.outside.is_some() && !self.flows_in_twice(sides, phase);
            !outside && differences[phase] > self.threshold(restraints[phase])
        });
        self.is_started = unrestrained || (restrained && !harmonics_block);
        let decision = self.delay.update(now, self.is_started);
        Decision { operate: decision.operate || unrestrained, ..decision }
    }

    fn threshold(&self, restraint: f64) -> f64 {
        let Settings { pick_up, slope, knee, slope_beyond, .. } = self.settings;
        let beyond = (restraint - knee).max(0.0);
        let threshold = pick_up.max(slope * restraint.min(knee) + slope_beyond * beyond);
        if self.is_started { threshold * DROP_OFF_RATIO } else { threshold }
    }

    /// Lets what restraint was follow what it is, and answers what it was.
    fn follow(&mut self, now: SampleTime, restraints: [f64; 3]) -> [f64; 3] {
        let (before, was) = self.calm.unwrap_or((now, restraints));
        let share = now.since(before).as_secs_f64() / CALM_TIME.as_secs_f64();
        let calm = std::array::from_fn(|phase| {
            was[phase] + (restraints[phase] - was[phase]) * share.min(1.0)
        });
        self.calm = Some((now, calm));
        was
    }

    fn look_outside(
        &mut self,
        now: SampleTime,
        differences: [f64; 3],
        restraints: [f64; 3],
        calm: [f64; 3],
    ) {
        let is_outside = (0..3).any(|phase| {
            let rise = calm[phase] * OUTSIDE_RISE_SHARE_MIN + OUTSIDE_RISE_MIN;
            restraints[phase] > calm[phase] + rise
                && differences[phase] < OUTSIDE_SHARE_MAX * restraints[phase]
        });
        if is_outside {
            self.outside = Some(now);
        } else if self.outside.is_some_and(|since| now.since(since) > OUTSIDE_TIME) {
            self.outside = None;
        }
    }

    /// Whether the largest current and the sum of all others point the same way.
    fn flows_in_twice(&self, sides: &[Side], phase: usize) -> bool {
        let currents = || sides.iter().map(|side| side.fundamental[phase]);
        let largest = currents().max_by(|a, b| a.norm_sqr().total_cmp(&b.norm_sqr()));
        let largest = largest.unwrap_or_default();
        let others = currents().sum::<Complex>() - largest;
        others.norm() > self.settings.pick_up && (largest * others.conj()).re > 0.0
    }

    fn is_blocked_by_harmonics(&self, sides: &[Side], phase: usize) -> bool {
        let fundamental = difference(sides, |side| side.fundamental[phase]);
        let second = difference(sides, |side| side.second[phase]);
        let fifth = difference(sides, |side| side.fifth[phase]);
        fundamental > self.settings.pick_up / 2.0
            && (second > self.settings.second_harmonic_max * fundamental
                || fifth > self.settings.fifth_harmonic_max * fundamental)
    }
}

fn difference(sides: &[Side], of: impl Fn(&Side) -> Complex) -> f64 {
    sides.iter().map(of).sum::<Complex>().norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element() -> Differential {
        Differential::new(Settings {
            pick_up: 0.3,
            slope: 0.3,
            knee: 3.0,
            slope_beyond: 0.7,
            unrestrained: 8.0,
            second_harmonic_max: 0.15,
            fifth_harmonic_max: 0.35,
            delay: Duration::ZERO,
        })
    }

    fn side(magnitude: f64, angle_deg: f64) -> Side {
        let fundamental =
            [0.0, -120.0, 120.0].map(|turn| Complex::polar_deg(magnitude, angle_deg + turn));
        Side { fundamental, ..Side::default() }
    }

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn load_and_through_faults_do_not_operate_and_faults_inside_do() {
        let sees = |sides: [Side; 2]| element().update(at(0), Some(&sides)).operate;
        assert!(!sees([side(1.0, 0.0), side(1.0, 180.0)]));
        // Tap changer at its end and errors of transformers: 15 % are missing.
        assert!(!sees([side(1.0, 0.0), side(0.85, 178.0)]));
        assert!(!sees([side(6.0, 0.0), side(5.0, 175.0)]));
        assert!(sees([side(0.31, 0.0), side(0.0, 0.0)]));
        assert!(sees([side(3.0, 0.0), side(2.0, 10.0)]));
        assert!(sees([side(9.0, 0.0), side(0.0, 0.0)]));
    }

    #[test]
    fn inrush_and_too_much_flux_block_all_phases_but_not_the_unrestrained_step() {
        let with = |magnitude: f64, second: f64, fifth: f64| {
            let mut inrush = side(magnitude, 0.0);
            inrush.second[1] = Complex::polar_deg(second * magnitude, 50.0);
            inrush.fifth[2] = Complex::polar_deg(fifth * magnitude, 50.0);
            element().update(at(0), Some(&[inrush, Side::default()])).operate
        };
        assert!(!with(4.0, 0.2, 0.0));
        assert!(!with(1.0, 0.0, 0.4));
        assert!(with(4.0, 0.1, 0.1));
        assert!(with(9.0, 0.3, 0.0));
    }

    #[test]
    fn a_saturated_transformer_at_a_fault_outside_does_not_operate() {
        let mut element = element();
        let load = [side(1.0, 0.0), side(1.0, 180.0)];
        assert!(!element.update(at(0), Some(&load)).start);
        for ms in 1..300 {
            // It adds up for 5 ms; then one side passes a tenth of its current, turned by 60
            // degrees, and recovers over 200 ms.
            let passed = if ms < 5 { 1.0 } else { (0.1 + (ms - 5) as f64 / 200.0).min(1.0) };
            let turned_deg = if ms < 5 { 180.0 } else { 180.0 + 60.0 * (1.0 - passed) / 0.9 };
            let sides = [side(8.0, 0.0), side(8.0 * passed, turned_deg)];
            assert!(!element.update(at(ms), Some(&sides)).operate, "{ms}");
        }
    }

    #[test]
    fn a_fault_outside_that_becomes_one_inside_operates() {
        let mut element = element();
        let load = [side(1.0, 0.0), side(1.0, 180.0)];
        assert!(!element.update(at(0), Some(&load)).start);
        for ms in 1..20 {
            let sides = [side(4.0, 0.0), side(4.0, 180.0)];
            assert!(!element.update(at(ms), Some(&sides)).start);
        }
        let sides = [side(4.0, 0.0), side(4.0, 10.0)];
        assert!(element.update(at(20), Some(&sides)).operate);
    }

    #[test]
    fn vector_groups_add_up_and_the_zero_sequence_stays_outside() {
        for clock in [0, 1, 5, 6, 11] {
            // Rated 100 A and 500 A; the low side lags and flows out.
            let high = side(100.0, 0.0);
            let low = side(500.0, 180.0 - 30.0 * f64::from(clock));
            let mut low_with_earth = low;
            for phase in &mut low_with_earth.fundamental {
                *phase += Complex::new(400.0, 0.0);
            }
            for low in [low, low_with_earth] {
                let sides = [high.referred(0, 100.0), low.referred(clock, 500.0)];
                let all = (0..3).map(|phase| difference(&sides, |side| side.fundamental[phase]));
                assert!(all.fold(0.0, f64::max) < 1e-9, "clock {clock}");
            }
        }
    }

    #[test]
    fn what_charges_a_line_is_no_difference() {
        // 200 uS at 100 kV are 20 A, of which each end brings half.
        let voltages = side(100_000.0, 30.0).fundamental;
        let end = |load_deg: f64| {
            let mut end = side(400.0, load_deg);
            for (current, voltage) in end.fundamental.iter_mut().zip(voltages) {
                *current += voltage * Complex::new(0.0, 100e-6);
            }
            end
        };
        let ends = [end(0.0), end(180.0)];
        let largest = |ends: &[Side]| {
            (0..3).map(|phase| difference(ends, |end| end.fundamental[phase])).fold(0.0, f64::max)
        };
        assert!((largest(&ends) - 20.0).abs() < 1e-6);
        let without = ends.map(|end| end.without_charging(voltages, 100e-6));
        assert!(largest(&without) < 1e-6);
    }

    #[test]
    fn streams_that_are_not_synchronised_block() {
        let mut element = element();
        assert_eq!(element.update(at(0), None), Decision::NONE);
    }
}
