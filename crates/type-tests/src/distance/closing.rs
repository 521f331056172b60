//! A dead line is switched on, with and without a fault on it, with voltage transformers on the busbar and
//! on the line, where there is no voltage to remember.

use super::{Shape, Zone};
use crate::circuit::{Course, End, Transformers};
use crate::line::Kind;
use crate::relay::UnderTest;
use crate::report::{Bar, Plan, Row, Section};

const CLOSED_S: f64 = 0.3;
const WATCHED_S: f64 = 0.3;
/// Voltage of the positive sequence that is enough to compare with, as a share of `healthy` (40 kV).
const ENOUGH_V: f64 = 4_000.0;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    zone: Zone,
    sir: f64,
    transformers: Transformers,
    /// Kind and share of the reach; nothing for a line without a fault.
    fault: Option<(Kind, f64)>,
    inception_deg: f64,
}

impl Case {
    fn periods(&self) -> Option<f64> {
        let closed_s = self.zone.inception_s(CLOSED_S, self.inception_deg);
        let fault = self.fault.map(|(kind, share)| self.zone.fault(kind, share, 0.0));
        let rate = self.zone.rate;
        let count = ((closed_s + WATCHED_S) * f64::from(rate)) as usize;
        let line = self.zone.line(self.sir);
        let course = Course::switched_on(&line, fault.as_slice(), closed_s, self.transformers);
        let samples = course.seen_at(End::Near, rate.into(), count);
        let seen = UnderTest::new(&self.zone.settings(), rate).run(&samples)[0];
        seen.operated_s.map(|at_s| (at_s - closed_s) * self.zone.hz)
    }

    /// What is left of the voltage at the relay when all three phases are faulted, in V.
    fn left_v(&self, share: f64) -> f64 {
        crate::wave::NOMINAL_V * share / (share + self.sir)
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        let zone = Zone::new(shape, 8.0, 82.0, 50.0);
        for transformers in [Transformers::Busbar, Transformers::Line] {
            for sir in [0.3, 1.0, 5.0, 20.0] {
                let faults = [0.0, 0.05, 0.1, 0.3, 0.6, 0.9, 1.1, 1.3]
                    .into_iter()
                    .flat_map(|share| Kind::ALL.map(|kind| Some((kind, share))));
                for fault in faults.chain([None]) {
                    for step in 0..4 {
                        let inception_deg = 45.0 * f64::from(step);
                        cases.push(Case { zone, sir, transformers, fault, inception_deg });
                    }
                }
            }
        }
    }
    cases
}

/// Lines that are switched on.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let mut restrained = judged("no fault, or one beyond (110 and 130 %): restrains");
    let mut busbar = judged("transformers on the busbar, fault inside: operates");
    let mut line = judged("transformers on the line, fault inside: operates");
    let mut close = judged(
        "transformers on the line, fault of three phases that leaves less than a tenth of `healthy`: operates",
    );
    let mut time = Row::new("time of those, where it operates", Bar::AtMost(2.0, "periods"));
    for case in plan.pick(cases()) {
        let periods = case.periods();
        let text = || format!("{case:?}: {periods:?}");
        let row = match (case.fault, case.transformers) {
            (Some((_, share)), Transformers::Busbar) if share < 1.0 => &mut busbar,
            (Some((Kind::Three | Kind::ThreeEarth, share)), _)
                if share < 1.0 && case.left_v(share) < ENOUGH_V =>
            {
                &mut close
            }
            (Some((_, share)), _) if share < 1.0 => &mut line,
            _ => {
                restrained.judge(periods.is_none(), text);
                continue;
            }
        };
        row.judge(periods.is_some(), text);
        if let Some(periods) = periods {
            time.measure(periods, text);
        }
    }
    Section {
        title: "Distance: switching onto a fault",
        what: "A dead line, open at its far end, is switched on: a zone of 8 ohm at 82 degrees, SIR of \
               0.3 to 20, faults of all kinds at 0 to 90 % of it, four moments. The zone is alone: where nothing is remembered and \
               nothing is left of the voltage it has no direction, and `switch_onto_fault` has to trip.",
        rows: vec![restrained, busbar, line, close, time],
        pictures: Vec::new(),
        notes: String::new(),
    }
}
