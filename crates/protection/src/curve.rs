//! Inverse times: the larger the current, the sooner (IEC 60255-151, IEEE C37.112).
//!
//! `t = k (A / ((I/I>)^p - 1) + B)` is the time at a constant current. Currents are not constant,
//! so a relay behaves as the disc of its electromechanical ancestor: it turns by `dt / t(I)` and
//! operates after one turn, and below pick-up it turns back, at once or by
//! `dt / (k tr / (1 - (I/I>)^2))`. Looking the time up at the moment of the start would be wrong
//! as soon as the current changes.

use std::time::Duration;

/// Current above which a curve goes on as at that multiple (IEC 60255-151, 4.3.3: at least 20).
const MULTIPLE_MAX: f64 = 30.0;

/// A curve of the standards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Curve {
    IecNormalInverse,
    IecVeryInverse,
    IecExtremelyInverse,
    IecLongTimeInverse,
    IecShortTimeInverse,
    IeeeModeratelyInverse,
    IeeeVeryInverse,
    IeeeExtremelyInverse,
}

/// Numbers of a curve.
struct Constants {
    a: f64,
    b: f64,
    p: f64,
    /// Seconds; `None` where the standard leaves the reset to the setting.
    tr: Option<f64>,
}

impl Curve {
    /// All curves, in the order of their standards.
    pub const ALL: [Self; 8] = [
        Self::IecNormalInverse,
        Self::IecVeryInverse,
        Self::IecExtremelyInverse,
        Self::IecLongTimeInverse,
        Self::IecShortTimeInverse,
        Self::IeeeModeratelyInverse,
        Self::IeeeVeryInverse,
        Self::IeeeExtremelyInverse,
    ];

    const fn constants(self) -> Constants {
        let (a, b, p, tr) = match self {
            Self::IecNormalInverse => (0.14, 0.0, 0.02, None),
            Self::IecVeryInverse => (13.5, 0.0, 1.0, None),
            Self::IecExtremelyInverse => (80.0, 0.0, 2.0, None),
            Self::IecLongTimeInverse => (120.0, 0.0, 1.0, None),
            Self::IecShortTimeInverse => (0.05, 0.0, 0.04, None),
            Self::IeeeModeratelyInverse => (0.0515, 0.1140, 0.02, Some(4.85)),
            Self::IeeeVeryInverse => (19.61, 0.491, 2.0, Some(21.6)),
            Self::IeeeExtremelyInverse => (28.2, 0.1217, 2.0, Some(29.1)),
        };
        Constants { a, b, p, tr }
    }

    /// Name as settings write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IecNormalInverse => "iec-normal-inverse",
            Self::IecVeryInverse => "iec-very-inverse",
            Self::IecExtremelyInverse => "iec-extremely-inverse",
            Self::IecLongTimeInverse => "iec-long-time-inverse",
            Self::IecShortTimeInverse => "iec-short-time-inverse",
            Self::IeeeModeratelyInverse => "ieee-moderately-inverse",
            Self::IeeeVeryInverse => "ieee-very-inverse",
            Self::IeeeExtremelyInverse => "ieee-extremely-inverse",
        }
    }

    /// Seconds to operate at a constant multiple of the pick-up current, `k` times the curve;
    /// `None` at or below pick-up.
    #[must_use]
    pub fn operate_s(self, k: f64, multiple: f64) -> Option<f64> {
        let Constants { a, b, p, .. } = self.constants();
        let time_s = k * (a / (multiple.min(MULTIPLE_MAX).powf(p) - 1.0) + b);
        (multiple > 1.0).then_some(time_s)
    }

    /// Seconds to forget a whole turn at a constant multiple below pick-up; `reset_s` is `tr` for
    /// curves that leave it to the setting. Zero means at once.
    fn reset_s(self, k: f64, multiple: f64, reset_s: f64) -> f64 {
        let tr = self.constants().tr.map_or(reset_s, |tr| k * tr);
        tr / (1.0 - multiple.clamp(0.0, 0.999_999).powi(2))
    }
}

/// How a start below pick-up is forgotten.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reset {
    /// It resets at once below pick-up.
    Instantaneous,
    /// As the disc turns back: with the time of the curve, or this one for curves without.
    Inverse(Duration),
}

/// The disc: how far it has turned.
#[derive(Clone, PartialEq, Debug)]
pub struct Disc {
    curve: Curve,
    k: f64,
    reset: Reset,
    turned: f64,
}

impl Disc {
    /// A disc at rest.
    #[must_use]
    pub fn new(curve: Curve, k: f64, reset: Reset) -> Self {
        Self { curve, k, reset, turned: 0.0 }
    }

    /// Turns for `span` at a multiple of the pick-up; says whether it has come round.
    pub fn turn(&mut self, span: Duration, multiple: f64) -> bool {
        let span_s = span.as_secs_f64();
        self.turned = match self.curve.operate_s(self.k, multiple) {
            Some(time_s) => (self.turned + span_s / time_s).min(1.0),
            None => match self.reset {
                Reset::Instantaneous => 0.0,
                Reset::Inverse(reset) => {
                    let back_s = self.curve.reset_s(self.k, multiple, reset.as_secs_f64());
                    if back_s > 0.0 { (self.turned - span_s / back_s).max(0.0) } else { 0.0 }
                }
            },
        };
        self.turned >= 1.0
    }

    /// Forgets how far it has come.
    pub fn reset(&mut self) {
        self.turned = 0.0;
    }

    /// How far it has turned, 0 to 1.
    #[must_use]
    pub fn turned(&self) -> f64 {
        self.turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Milliseconds until the disc comes round.
    fn run(disc: &mut Disc, multiple: impl Fn(u32) -> f64) -> u32 {
        (1..10_000_000).find(|ms| disc.turn(MS, multiple(*ms))).unwrap()
    }

    #[test]
    fn a_constant_current_takes_the_time_of_the_formula() {
        for curve in Curve::ALL {
            for multiple in [1.2, 2.0, 5.0, 10.0, 20.0] {
                let formula_s = curve.operate_s(0.5, multiple).unwrap();
                let mut disc = Disc::new(curve, 0.5, Reset::Instantaneous);
                let taken_s = f64::from(run(&mut disc, |_| multiple)) / 1e3;
                // A millisecond is the step of the integration.
                let error = (taken_s - formula_s).abs();
                assert!(
                    error <= (0.01 * formula_s).max(1.001e-3),
                    "{curve:?} at {multiple}: {taken_s}"
                );
            }
        }
    }

    #[test]
    fn formulas_give_the_times_that_everybody_knows() {
        let time_s = |curve: Curve, multiple| curve.operate_s(1.0, multiple).unwrap();
        assert!((time_s(Curve::IecNormalInverse, 10.0) - 2.971).abs() < 1e-3);
        assert!((time_s(Curve::IecVeryInverse, 10.0) - 1.5).abs() < 1e-9);
        assert!((time_s(Curve::IecExtremelyInverse, 10.0) - 0.8081).abs() < 1e-4);
        assert_eq!(Curve::IecVeryInverse.operate_s(1.0, 1.0), None);
    }

    #[test]
    fn a_current_that_changes_is_integrated() {
        // Half of the time at 2 and half of the time at 10: half a turn each.
        let curve = Curve::IecVeryInverse;
        let half_ms = (curve.operate_s(1.0, 2.0).unwrap() * 500.0) as u32;
        let expected_ms = f64::from(half_ms) + curve.operate_s(1.0, 10.0).unwrap() * 500.0;
        let mut disc = Disc::new(curve, 1.0, Reset::Instantaneous);
        let taken_ms = run(&mut disc, |ms| if ms <= half_ms { 2.0 } else { 10.0 });
        assert!((f64::from(taken_ms) - expected_ms).abs() <= 2.0, "{taken_ms}, not {expected_ms}");
    }

    #[test]
    fn a_disc_turns_back_as_its_reset_says() {
        let mut disc = Disc::new(Curve::IeeeVeryInverse, 1.0, Reset::Inverse(Duration::ZERO));
        while disc.turned() < 0.5 {
            disc.turn(MS, 3.0);
        }
        // tr of the curve is 21.6 s for a whole turn at no current.
        let back_ms = (1..).find(|_| {
            disc.turn(MS, 0.0);
            disc.turned() == 0.0
        });
        assert!((10_790..=10_810).contains(&back_ms.unwrap()));
        let mut disc = Disc::new(Curve::IecVeryInverse, 1.0, Reset::Instantaneous);
        disc.turn(Duration::from_secs(1), 2.0);
        assert!(disc.turned() > 0.0);
        disc.turn(MS, 0.99);
        assert_eq!(disc.turned(), 0.0);
    }
}
