//! Inverse-time curves (51, PTOC): times at constant currents, and at currents that change, which have to
//! be integrated (IEC 60255-151, annexes A and D).

use protection::Complex;

use crate::plot::Figure;
use crate::relay::UnderTest;
use crate::report::{Bar, Picture, Plan, Row, Section};
use crate::wave::{Phasors, injected, settings};

/// Name, and the constants of `t = k (a / (M^p - 1) + c)`, as IEC 60255-151 has them.
const CURVES: [(&str, f64, f64, f64); 8] = [
    ("iec-normal-inverse", 0.14, 0.0, 0.02),
    ("iec-very-inverse", 13.5, 0.0, 1.0),
    ("iec-extremely-inverse", 80.0, 0.0, 2.0),
    ("iec-long-time-inverse", 120.0, 0.0, 1.0),
    ("iec-short-time-inverse", 0.05, 0.0, 0.04),
    ("ieee-moderately-inverse", 0.0515, 0.114, 0.02),
    ("ieee-very-inverse", 19.61, 0.491, 2.0),
    ("ieee-extremely-inverse", 28.2, 0.1217, 2.0),
];
const PICK_UP_A: f64 = 400.0;
const BEGIN_S: f64 = 0.2;
/// As long as a case is watched that should not operate.
const LONG_S: f64 = 20.0;

fn formula_s(curve: usize, k: f64, multiple: f64) -> f64 {
    let (_, a, c, p) = CURVES[curve];
    k * (a / (multiple.powf(p) - 1.0) + c)
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    curve: usize,
    k: f64,
    hz: f64,
    /// Two multiples of the pick-up, and for how long each holds, in turn.
    course: [(f64, f64); 2],
    /// Of a disc that turns back, in s, for a whole turn at no current.
    reset_s: Option<f64>,
}

impl Case {
    fn multiple(&self, time_s: f64) -> f64 {
        let [(first, first_s), (second, second_s)] = self.course;
        match (time_s - BEGIN_S) % (first_s + second_s) {
            _ if time_s < BEGIN_S => 0.0,
            within if within < first_s => first,
            _ => second,
        }
    }

    /// What the integral of the formula has come to, by the time; operation is at one.
    fn turned(&self) -> impl Iterator<Item = (f64, f64)> {
        const STEP_S: f64 = 1e-4;
        (1..=(LONG_S / STEP_S) as u32).map(|step| f64::from(step) * STEP_S).scan(
            0.0,
            |turned: &mut f64, time_s| {
                let multiple = self.multiple(BEGIN_S + time_s);
                *turned = match self.reset_s {
                    _ if multiple > 1.0 => {
                        *turned + STEP_S / formula_s(self.curve, self.k, multiple)
                    }
                    None => 0.0,
                    Some(reset_s) => {
                        (*turned - STEP_S / reset_s * (1.0 - multiple * multiple)).max(0.0)
                    }
                };
                Some((time_s, *turned))
            },
        )
    }

    /// Seconds until the integral is one; nothing within [`LONG_S`].
    fn expected_s(&self) -> Option<f64> {
        self.turned().find(|(_, turned)| *turned >= 1.0).map(|(time_s, _)| time_s)
    }

    /// By how much the integral is not one when the element operates, in %.
    fn error(&self, measured_s: f64) -> f64 {
        let at = self.turned().find(|(time_s, _)| *time_s >= measured_s);
        at.map_or(f64::INFINITY, |(_, turned)| (turned - 1.0).abs() * 100.0)
    }

    fn measured_s(&self, seconds: f64) -> Option<f64> {
        let rate = (80.0 * self.hz) as u32;
        let reset = self.reset_s.map_or(String::new(), |reset_s| format!(", reset: {reset_s} s"));
        let elements = format!(
            "  I: {{function: overcurrent, stream: s, pick_up: {PICK_UP_A} A, curve: {}, k: \
             {:.6}{reset}}}\n",
            CURVES[self.curve].0, self.k
        );
        let samples = injected(
            rate,
            BEGIN_S + seconds,
            |_| self.hz,
            |time_s| {
                let mut phasors = Phasors::default();
                phasors.currents[0] = Complex::new(PICK_UP_A * self.multiple(time_s), 0.0);
                phasors
            },
        );
        let relay = UnderTest::new(&settings(self.hz, rate, &elements), rate);
        relay.run(&samples)[0].operated_s.map(|at_s| at_s - BEGIN_S)
    }
}

/// A factor for which the time is near that, within what can be set.
fn factor(curve: usize, multiple: f64, seconds: f64) -> Option<f64> {
    let k = seconds / formula_s(curve, 1.0, multiple);
    // Rounded as settings are.
    let k = (k * 100.0).round() / 100.0;
    (0.02..=15.0).contains(&k).then_some(k)
}

fn constant() -> Vec<Case> {
    let mut cases = Vec::new();
    for curve in 0..CURVES.len() {
        for multiple in [1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
            for seconds in [0.5, 1.0, 3.0] {
                for hz in [50.0, 60.0] {
                    if let Some(k) = factor(curve, multiple, seconds) {
                        let course = [(multiple, 1e3), (multiple, 1e3)];
                        cases.push(Case { curve, k, hz, course, reset_s: None });
                    }
                }
            }
        }
    }
    cases
}

/// Currents that change between two multiples above the setting, or below it and above.
fn changing(pairs: &[(f64, f64)], reset_s: Option<f64>) -> Vec<Case> {
    let mut cases = Vec::new();
    let count = if reset_s.is_some() { 5 } else { CURVES.len() };
    for curve in 0..count {
        for (first, second) in pairs.iter().copied() {
            for (first_s, second_s) in [(0.1, 0.1), (0.3, 0.1), (0.25, 0.5)] {
                if let Some(k) = factor(curve, first.max(second), 0.6) {
                    let course = [(first, first_s), (second, second_s)];
                    cases.push(Case { curve, k, hz: 50.0, course, reset_s });
                }
            }
        }
    }
    cases
}

/// Discs that turn back so slowly that they come round all the same, and so fast that some never do.
fn turning_back() -> Vec<Case> {
    let pairs = [(3.0, 0.0), (5.0, 0.5)];
    [4.0, 1.0].into_iter().flat_map(|reset_s| changing(&pairs, Some(reset_s))).collect()
}

/// Times of all curves.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let percent = |what, most| Row::new(what, Bar::AtMost(most, "% of the time"));
    let integral = |what, most| Row::new(what, Bar::AtMost(most, "% of a turn"));
    let mut steady =
        percent("constant current of 1.2 to 20 times the setting: error of the time", 5.0);
    let mut figure = Figure::new(
        "multiple of the setting",
        "time for k = 1, s (log10)",
        [0.0, 20.0],
        [-1.0, 3.0],
    )
    .titled("formula and measured");
    for (curve, colour) in [(0, 0), (1, 1), (2, 2), (6, 4)] {
        let line: Vec<_> = (12..=200)
            .map(|tenth| f64::from(tenth) / 10.0)
            .map(|multiple| (multiple, formula_s(curve, 1.0, multiple).log10()))
            .collect();
        figure.line(colour, &line);
        figure.legend(colour, CURVES[curve].0);
    }
    for case in plan.pick(constant()) {
        let multiple = case.course[0].0;
        let expected_s = formula_s(case.curve, case.k, multiple);
        let measured_s = case.measured_s(expected_s * 1.2 + 0.3);
        let error = measured_s.map_or(f64::INFINITY, |s| (s / expected_s - 1.0).abs() * 100.0);
        steady.measure(error, || format!("{case:?}: {measured_s:?}, not {expected_s:.3} s"));
        let colour = [(0, 0), (1, 1), (2, 2), (6, 4)].into_iter().find(|(c, _)| *c == case.curve);
        if let (Some((_, colour)), Some(measured_s)) = (colour, measured_s) {
            let point = (multiple, (measured_s / case.k).log10());
            figure.mark(colour, crate::plot::Mark::Cross, point);
        }
    }
    let mut above = integral("current that changes above the setting: error of the integral", 7.5);
    let mut back =
        integral("current that comes and goes, disc turns back: error of the integral", 7.5);
    let mut never =
        Row::new("current that comes and goes, disc never comes round: restrains", Bar::AllRight);
    for (row, cases) in [
        (&mut above, changing(&[(2.0, 5.0), (1.5, 10.0), (5.0, 3.0)], None)),
        (&mut back, turning_back()),
    ] {
        for case in plan.pick(cases) {
            let Some(expected_s) = case.expected_s() else {
                let measured_s = case.measured_s(LONG_S);
                never.judge(measured_s.is_none(), || format!("{case:?}: {measured_s:?}"));
                continue;
            };
            let measured_s = case.measured_s(expected_s * 1.2 + 0.5);
            let error = measured_s.map_or(f64::INFINITY, |s| case.error(s));
            row.measure(error, || format!("{case:?}: {measured_s:?}, not {expected_s:.3} s"));
        }
    }
    let mut forgets =
        Row::new("current that goes before its time, reset at once: restrains", Bar::AllRight);
    for case in plan.pick(changing(&[(2.0, 0.5), (5.0, 0.0)], None)) {
        // Its first part is too short for a whole turn, however often it comes.
        if case.course[0].1 < 0.8 * formula_s(case.curve, case.k, case.course[0].0) {
            let measured_s = case.measured_s(4.0);
            forgets.judge(measured_s.is_none(), || format!("{case:?}: {measured_s:?}"));
        }
    }
    Section {
        title: "Overcurrent with inverse time",
        what: "After IEC 60255-151. All curves, with factors for times of 0.5 to 3 s; currents that change \
               between two values several times before the element operates, whose integral over \
               the formula has to be one when it does; and discs that turn back.",
        rows: vec![steady, above, back, never, forgets],
        pictures: vec![Picture {
            name: "inverse-time",
            caption: "Four of the curves: the formula, and what was measured, divided by k.",
            svg: Figure::panels(&[figure], 1, "inverse times by multiple of the setting"),
        }],
        notes: String::new(),
    }
}
