//! Dynamic reach: how far beyond its end, and how far inside, a zone may be deceived by a fault that
//! begins at any moment (transient overreach and underreach).

use super::{Shape, Zone};
use crate::circuit::{Course, End};
use crate::line::Kind;
use crate::plot::Figure;
use crate::relay::UnderTest;
use crate::report::{Bar, Picture, Plan, Row, Section};

const SIRS: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
/// Places beyond the end and inside, in % of the reach, from far to near.
const AWAY: [f64; 7] = [20.0, 10.0, 5.0, 4.0, 3.0, 2.0, 1.0];
/// Of the diagram, in % of the reach.
const MOST: f64 = 6.0;
const BEGIN_S: f64 = 0.2;
const WATCHED_S: f64 = 0.3;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    zone: Zone,
    sir: f64,
    kind: Kind,
    /// Angle of phase A from its peak when the fault begins.
    inception_deg: f64,
}

impl Case {
    /// Seconds from a fault at this share of the reach until it operates.
    fn operates_s(&self, share: f64) -> Option<f64> {
        let begin_s = self.zone.inception_s(BEGIN_S, self.inception_deg);
        let fault = self.zone.fault(self.kind, share, begin_s);
        let rate = self.zone.rate;
        let count = ((begin_s + WATCHED_S) * f64::from(rate)) as usize;
        let samples =
            Course::new(&self.zone.line(self.sir), &[fault]).seen_at(End::Near, rate.into(), count);
        let seen = UnderTest::new(&self.zone.settings(), rate).run(&samples)[0];
        seen.operated_s.map(|at_s| at_s - begin_s)
    }

    /// How far beyond the end it operates, in %, at the most.
    fn overreach(&self) -> f64 {
        right_from(|away| self.operates_s(1.0 + away / 100.0).is_none())
    }

    /// How far inside it does not operate, in %, at the most.
    fn underreach(&self) -> f64 {
        right_from(|away| self.operates_s(1.0 - away / 100.0).is_some_and(|after_s| after_s > 0.0))
    }
}

/// The nearest place from which on it is right at each that is farther; infinite if it is wrong at the
/// farthest.
fn right_from(is_right: impl Fn(f64) -> bool) -> f64 {
    AWAY.into_iter().take_while(|away| is_right(*away)).last().unwrap_or(f64::INFINITY)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        for line_deg in [60.0, 70.0, 80.0, 85.0, 88.0] {
            for (reach_ohm, hz) in [(1.0, 50.0), (12.0, 60.0)] {
                for sir in SIRS {
                    for kind in Kind::ALL {
                        for step in 0..4 {
                            let zone = Zone::new(shape, reach_ohm, line_deg, hz);
                            let inception_deg = 45.0 * f64::from(step);
                            cases.push(Case { zone, sir, kind, inception_deg });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Overreach and underreach of both shapes.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let bar = Bar::AtMost(5.0, "% of the reach");
    let mut rows: Vec<Row> = Vec::new();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        for what in ["overreach", "underreach"] {
            let row = Row::new(&format!("{shape:?}: transient {what}"), bar);
            rows.push(if what == "overreach" { row } else { row.beside() });
        }
    }
    let mut worst = [[0.0f64; SIRS.len()]; 4];
    for case in plan.pick(cases()) {
        let shape = usize::from(case.zone.shape == Shape::Quadrilateral);
        let at = SIRS.iter().position(|sir| *sir == case.sir).unwrap_or(0);
        for (number, percent) in [case.overreach(), case.underreach()].into_iter().enumerate() {
            rows[2 * shape + number].measure(percent, || format!("{case:?}"));
            worst[2 * shape + number][at] = worst[2 * shape + number][at].max(percent);
        }
    }
    let mut figures = Vec::new();
    for (number, title) in ["overreach", "underreach"].into_iter().enumerate() {
        let mut figure =
            Figure::new("log10 of SIR", "% of the reach", [-1.0, 1.5], [0.0, MOST]).titled(title);
        for (shape, name) in ["mho", "quadrilateral"].into_iter().enumerate() {
            // What is beyond the diagram is drawn at its edge.
            let worst = worst[2 * shape + number].map(|percent| percent.min(MOST));
            let points: Vec<_> = SIRS.iter().map(|sir| sir.log10()).zip(worst).collect();
            figure.line(shape, &points);
            figure.legend(shape, name);
        }
        figure.line(3, &[(-1.0, 5.0), (1.5, 5.0)]);
        figure.legend(3, "bar");
        figures.push(figure);
    }
    Section {
        title: "Distance: dynamic reach",
        what: "Bolted faults that begin at any moment, at 1 to 20 % beyond and inside the end of the \
               zone: the furthest at which it operates although the fault is beyond, and does not within \
               0.3 s although it is inside. Figures are upper limits: 1 % says that it was right at 1 % and \
               further. SIR of 0.1 to 30, lines of 60 to 88 \
               degrees, zones of 1 and 12 ohm, all kinds of faults, four moments of inception.",
        rows,
        pictures: vec![Picture {
            name: "reach",
            caption: "Largest transient overreach and underreach by source impedance ratio.",
            svg: Figure::panels(&figures, 2, "overreach and underreach by source impedance ratio"),
        }],
        notes: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_only_if_it_is_right_there_and_at_each_that_is_farther() {
        assert_eq!(right_from(|_| true), 1.0);
        assert_eq!(right_from(|away| away > 3.0), 4.0);
        assert_eq!(right_from(|away| away != 4.0), 5.0, "right again nearer is no merit");
        assert_eq!(right_from(|away| away < 20.0), f64::INFINITY);
    }
}
