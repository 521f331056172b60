//! Power swings, and frequency that moves: two machines that rock against each other or fall out of step,
//! with and without faults meanwhile, and machines that change their frequency together.
//!
//! A wave whose angle swings, `exp j(w t + A sin W t)`, is a sum of waves of steady frequency (Jacobi and
//! Anger), so the circuit is solved exactly here too.

use std::f64::consts::PI;

use protection::{Complex, Degrees};

use super::{Shape, Zone};
use crate::circuit::{Course, End};
use crate::line::{Fault, Impedance, Kind, Line, Source};
use crate::plot::{Figure, Mark};
use crate::relay::UnderTest;
use crate::report::{Bar, Picture, Plan, Row, Section};
use crate::wave::{NOMINAL_V, settings};

/// Of each source, in ohm; the line has ten.
const SOURCE_OHM: f64 = 10.0;
const LINE_OHM: f64 = 10.0;
/// Rectangles round the zone.
const BLOCKING: &str = "  PS: {function: power_swing, stream: s, resistance: 8 ohm, reactance: 10 ohm, \
                        band: 5 ohm, crossing_min: 15 ms, current_min: 100 A}\n";

/// How the far machine moves against the near one.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Motion {
    /// Out of step: so many turns a second, from this angle on.
    Slip { hz: f64, from_deg: f64 },
    /// Back and forth round an angle.
    Rock { hz: f64, middle_deg: f64, amplitude_deg: f64 },
    /// Both together, up and down by so many Hz.
    Together { hz: f64, deviation_hz: f64 },
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    shape: Shape,
    motion: Motion,
    /// Kind, share of the reach, and moment.
    fault: Option<(Kind, f64, f64)>,
    /// Of each connected phase, in ohm.
    resistance_ohm: f64,
    /// Of the zone, in ms.
    delay_ms: u32,
    seconds: f64,
}

impl Case {
    /// A bolted fault, or none, and a zone without delay.
    const fn new(
        shape: Shape,
        motion: Motion,
        fault: Option<(Kind, f64, f64)>,
        seconds: f64,
    ) -> Self {
        Self { shape, motion, fault, resistance_ohm: 0.0, delay_ms: 0, seconds }
    }

    fn zone(&self) -> Zone {
        Zone::new(self.shape, 0.8 * LINE_OHM, 84.0, 50.0)
    }

    fn line(&self) -> Line {
        let zone = self.zone();
        let own = Complex::polar_deg(SOURCE_OHM, 84.0);
        let positive = Complex::polar_deg(LINE_OHM, 84.0);
        let zero = positive * (zone.earth_factor * 3.0 + 1.0);
        let source = |disturbing| Source {
            voltage: Complex::ZERO,
            impedance: Impedance { positive: own, zero: own },
            disturbing,
        };
        let upright = Complex::new(NOMINAL_V, 0.0);
        let (near, far) = match self.motion {
            Motion::Slip { hz, from_deg } => {
                (vec![(50.0, upright)], vec![(50.0 - hz, upright.turned_deg(-from_deg))])
            }
            Motion::Rock { hz, middle_deg, amplitude_deg } => {
                let middle = upright.turned_deg(-middle_deg);
                (vec![(50.0, upright)], swinging(middle, 50.0, -amplitude_deg.to_radians(), hz))
            }
            Motion::Together { hz, deviation_hz } => {
                let waves = |angle_deg| {
                    swinging(upright.turned_deg(angle_deg), 50.0, deviation_hz / hz, hz)
                };
                (waves(0.0), waves(-10.0))
            }
        };
        Line {
            nominal_hz: 50.0,
            frequency_hz: 50.0,
            near: source(near),
            impedance: Impedance { positive, zero },
            far: source(far),
        }
    }

    /// Seconds from the fault, or from the begin, to operation.
    fn operates_s(&self) -> Option<f64> {
        let zone = self.zone();
        let fault = self.fault.map(|(kind, share, begin_s)| Fault {
            place: share * 0.8,
            resistance_ohm: self.resistance_ohm,
            ..zone.fault(kind, 0.0, begin_s)
        });
        let count = (self.seconds * f64::from(zone.rate)) as usize;
        let samples =
            Course::new(&self.line(), fault.as_slice()).seen_at(End::Near, zone.rate.into(), count);
        let zone_text = zone.element("Z1", "forward", ", power_swing: PS");
        let zone_text = zone_text.replace("delay: 0 s", &format!("delay: {} ms", self.delay_ms));
        let elements = format!("{BLOCKING}{zone_text}");
        let seen =
            UnderTest::new(&settings(50.0, zone.rate, &elements), zone.rate).run(&samples)[1];
        seen.operated_s.map(|at_s| at_s - self.fault.map_or(0.0, |(_, _, begin_s)| begin_s))
    }
}

/// A wave of this phasor and frequency whose angle swings by `amplitude_rad`, `swing_hz` times a second:
/// its waves of steady frequency.
fn swinging(phasor: Complex, hz: f64, amplitude_rad: f64, swing_hz: f64) -> Vec<(f64, Complex)> {
    let orders = 8 + (2.0 * amplitude_rad.abs()) as i32;
    (-orders..=orders)
        .map(|order| (hz + f64::from(order) * swing_hz, phasor * bessel(order, amplitude_rad)))
        .collect()
}

/// The Bessel function of the first kind, from its integral: the sum over a period is exact.
fn bessel(order: i32, argument: f64) -> f64 {
    const STEPS: u32 = 256;
    let each = |step: u32| {
        let angle = 2.0 * PI * f64::from(step) / f64::from(STEPS);
        (f64::from(order) * angle - argument * angle.sin()).cos()
    };
    (0..STEPS).map(each).sum::<f64>() / f64::from(STEPS)
}

const SHAPES: [Shape; 2] = [Shape::Mho, Shape::Quadrilateral];

fn unstable() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for slip in [0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0] {
            for way in [1.0, -1.0] {
                for from_deg in [0.0, 20.0, 40.0] {
                    let motion = Motion::Slip { hz: way * slip, from_deg: way * from_deg };
                    let seconds = (2.5 / slip).min(5.0);
                    cases.push(Case::new(shape, motion, None, seconds));
                }
            }
        }
    }
    cases
}

fn stable() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for hz in [0.3, 0.5, 0.8, 1.0, 1.5] {
            for middle_deg in [40.0, 60.0, 70.0] {
                for amplitude_deg in [30.0, 50.0, 60.0, 70.0] {
                    for way in [1.0, -1.0] {
                        let motion = Motion::Rock {
                            hz,
                            middle_deg: way * middle_deg,
                            amplitude_deg: way * amplitude_deg,
                        };
                        cases.push(Case::new(shape, motion, None, 3.0));
                    }
                }
            }
        }
    }
    cases
}

/// Faults while the machines are so far apart, in degrees, inside the rectangles.
fn faulted(shares: &[f64], resistances_ohm: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for slip in [0.3, 0.5, 1.0, 2.0, 3.0] {
            for apart_deg in [130.0, 150.0, 180.0, 210.0, 230.0] {
                for kind in Kind::ALL {
                    for share in shares.iter().copied() {
                        let begin_s = (apart_deg - 20.0) / 360.0 / slip;
                        let motion = Motion::Slip { hz: slip, from_deg: 20.0 };
                        let fault = Some((kind, share, begin_s));
                        for resistance_ohm in resistances_ohm.iter().copied() {
                            let bolted = Case::new(shape, motion, fault, begin_s + 1.2);
                            cases.push(Case { resistance_ohm, ..bolted });
                        }
                    }
                }
            }
        }
    }
    cases
}

fn together(shares: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for (hz, deviation_hz) in [(0.2, 1.0), (0.4, 1.0), (0.4, 2.0), (0.8, 1.0)] {
            for kind in Kind::ALL {
                for share in shares.iter().copied() {
                    for step in 0..8 {
                        let begin_s = 1.0 + f64::from(step) / 8.0 / hz + 0.0023 * f64::from(step);
                        let motion = Motion::Together { hz, deviation_hz };
                        let fault = Some((kind, share, begin_s));
                        cases.push(Case::new(shape, motion, fault, begin_s + 0.2));
                    }
                }
            }
        }
    }
    cases
}

/// The impedance that the relay sees while the machines go from 60 to 300 degrees apart.
fn locus() -> Figure {
    let mut figure = Figure::new("R, ohm", "X, ohm", [-30.0, 30.0], [-18.0, 30.0]);
    let all = Complex::polar_deg(2.0 * SOURCE_OHM + LINE_OHM, 84.0);
    let seen = |apart_deg: f64| {
        let seen = all / (Complex::ONE - Complex::polar_deg(1.0, -apart_deg))
            - Complex::polar_deg(SOURCE_OHM, 84.0);
        (seen.re, seen.im)
    };
    let way: Vec<_> = (60..=300).map(|degrees| seen(f64::from(degrees))).collect();
    figure.line(0, &way);
    for degrees in [90.0, 120.0, 180.0, 240.0, 270.0] {
        figure.mark(0, Mark::Square, seen(degrees));
    }
    for beyond in [0.0, 5.0] {
        let (r, x) = (8.0 + beyond, 10.0 + beyond);
        figure.line(3, &[(-r, -x), (r, -x), (r, x), (-r, x), (-r, -x)]);
    }
    let reach = Complex::polar_deg(0.8 * LINE_OHM, 84.0);
    let circle = |degrees: i32| {
        let at = reach / 2.0 + Complex::polar_deg(reach.norm() / 2.0, f64::from(degrees));
        (at.re, at.im)
    };
    figure.line(1, &(0..=360).map(circle).collect::<Vec<_>>());
    figure.legend(0, "impedance");
    figure.legend(1, "zone");
    figure.legend(3, "power_swing");
    figure
}

/// Power swings and moving frequency.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let mut rows = [
        judged("out of step, slip of 0.3 to 3 Hz: restrains"),
        judged("stable swings of 0.3 to 1.5 Hz: restrains"),
        judged("fault inside (20 to 70 %) during a swing: operates within 1.2 s"),
        judged("fault beyond (110 and 130 %) or behind during a swing: restrains"),
        judged("frequency that moves by up to 5 Hz/s: operates inside (10 to 80 %)"),
        judged("frequency that moves: restrains beyond (110 and 120 %) and behind"),
        judged("unbalanced fault at the terminals during a swing: operates within 1.2 s"),
        judged("fault of three phases at the terminals during a swing: operates within 1.2 s"),
        judged(
            "fault inside (30 %, up to 0.5 ohm) during a swing, delay of 0.3 s: operates within 1.2 s",
        ),
    ];
    for (row, cases) in rows.iter_mut().zip([unstable(), stable()]) {
        for case in plan.pick(cases) {
            let operates_s = case.operates_s();
            row.judge(operates_s.is_none(), || format!("{case:?}: {operates_s:?} s"));
        }
    }
    let seconds = |what, most| Row::new(what, Bar::AtMost(most, "s")).beside();
    let mut unbalanced = seconds("unbalanced fault during a swing: time", 0.5);
    let mut balanced = seconds("fault of three phases during a swing: time", 0.3);
    for case in plan.pick(faulted(&[0.0, 0.2, 0.5, 0.7], &[0.0])) {
        let operates_s = case.operates_s();
        let text = || format!("{case:?}: {operates_s:?} s");
        let is_after = operates_s.is_some_and(|after_s| after_s > 0.0);
        let is_balanced = matches!(case.fault, Some((Kind::Three | Kind::ThreeEarth, ..)));
        if matches!(case.fault, Some((_, share, _)) if share == 0.0) {
            rows[if is_balanced { 7 } else { 6 }].judge(is_after, text);
            continue;
        }
        rows[2].judge(is_after, text);
        let row = if is_balanced { &mut balanced } else { &mut unbalanced };
        row.measure(operates_s.unwrap_or(f64::INFINITY), text);
    }
    for case in plan.pick(faulted(&[1.1, 1.3, -0.03, -0.06, -0.2], &[0.0, 2.0])) {
        let operates_s = case.operates_s();
        rows[3].judge(operates_s.is_none(), || format!("{case:?}: {operates_s:?} s"));
    }
    for case in plan.pick(faulted(&[0.3], &[0.0, 0.5])) {
        let case = Case { delay_ms: 300, ..case };
        let operates_s = case.operates_s();
        let is_right = operates_s.is_some_and(|after_s| after_s >= 0.3);
        rows[8].judge(is_right, || format!("{case:?}: {operates_s:?} s"));
    }
    for (row, shares, is_inside) in
        [(4, &[0.1, 0.5, 0.8][..], true), (5, &[1.1, 1.2, -0.2][..], false)]
    {
        for case in plan.pick(together(shares)) {
            let operates_s = case.operates_s();
            let is_right = match is_inside {
                true => operates_s.is_some_and(|after_s| after_s > 0.0),
                false => operates_s.is_none(),
            };
            rows[row].judge(is_right, || format!("{case:?}: {operates_s:?} s"));
        }
    }
    Section {
        title: "Distance: power swings and moving frequency",
        what: "Two machines behind 10 ohm each and a line of 10 ohm between them: the swing goes through \
               the middle of a zone of 8 ohm, which `power_swing` (rectangles of 8 by 10 ohm with a band \
               of 5 ohm, crossed in 15 ms at the least) blocks. Faults of all kinds come while the \
               machines are 130 to 230 degrees apart, with a slip of 0.3 to 3 Hz; those outside, at 110 \
               and 130 % and at 3, 6 and 20 % of the reach behind, bolted and through 2 ohm in each \
               phase. Frequency moves when both machines do.",
        rows: rows.into_iter().chain([unbalanced, balanced]).collect(),
        pictures: vec![Picture {
            name: "swing",
            caption: "The way of the impedance out of step, through the rectangles and the zone; marks where the machines are 90, 120, 180, 240 and 270 degrees apart.",
            svg: Figure::panels(&[locus()], 1, "impedance of a power swing"),
        }],
        notes: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_steady_waves_is_a_wave_whose_angle_swings() {
        let (hz, amplitude, swing_hz) = (50.0, 1.7, 0.7);
        let waves = swinging(Complex::new(1.0, 0.0), hz, amplitude, swing_hz);
        for step in 0..100 {
            let time_s = f64::from(step) * 0.013;
            let turn = |hz: f64| 2.0 * PI * hz * time_s;
            let sum: Complex =
                waves.iter().map(|(hz, v)| v * Complex::from_polar(1.0, turn(*hz))).sum();
            let angle = turn(hz) + amplitude * turn(swing_hz).sin();
            assert!((sum - Complex::from_polar(1.0, angle)).norm() < 1e-6);
        }
    }
}
