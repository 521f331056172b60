//! Faults that evolve: to more phases, or from a place outside to one inside (cross-country faults).

use super::{Shape, Zone};
use crate::circuit::{Course, End};
use crate::line::{Fault, Impedance, Kind, Line};
use crate::relay::UnderTest;
use crate::report::{Bar, Plan, Row, Section};
use crate::wave::NOMINAL_V;
use protection::{Complex, Degrees};

const BEGIN_S: f64 = 0.2;
const WATCHED_S: f64 = 0.3;
/// From the first fault to the second.
const APART_S: [f64; 6] = [0.005, 0.01, 0.02, 0.03, 0.04, 0.06];

/// What becomes of the first fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Evolution {
    Inside,
    Beyond,
    Behind,
    /// From behind to inside, in another phase.
    BehindToInside,
    /// From beyond to inside, in another phase.
    BeyondToInside,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    zone: Zone,
    sir: f64,
    evolution: Evolution,
    kinds: [Kind; 2],
    /// Of the fault that decides, in shares of the reach; of the source behind if it is behind.
    share: f64,
    apart_s: f64,
    inception_deg: f64,
}

impl Case {
    /// The line of the zone, fed from both ends, with some load.
    fn line(&self) -> Line {
        let mut line = self.zone.line(self.sir);
        let positive = Complex::polar_deg(4.0 * self.zone.reach_ohm, 85.0);
        line.far.impedance = Impedance { positive, zero: positive };
        line.far.voltage = Complex::polar_deg(NOMINAL_V, -8.0);
        line
    }

    fn faults(&self, begin_s: f64) -> [Fault; 2] {
        let at = |kind, share: f64, begin_s| match share < 0.0 {
            true => Fault { place: share, ..self.zone.fault(kind, 0.0, begin_s) },
            false => self.zone.fault(kind, share, begin_s),
        };
        let first = match self.evolution {
            Evolution::BehindToInside => -0.2,
            Evolution::BeyondToInside => 1.35,
            _ => self.share,
        };
        let [one, other] = self.kinds;
        [at(one, first, begin_s), at(other, self.share, begin_s + self.apart_s)]
    }

    /// Periods from the first fault to operation.
    fn periods(&self) -> Option<f64> {
        let begin_s = self.zone.inception_s(BEGIN_S, self.inception_deg);
        let rate = self.zone.rate;
        let count = ((begin_s + WATCHED_S) * f64::from(rate)) as usize;
        let samples =
            Course::new(&self.line(), &self.faults(begin_s)).seen_at(End::Near, rate.into(), count);
        let seen = UnderTest::new(&self.zone.settings(), rate).run(&samples)[0];
        seen.operated_s.map(|at_s| (at_s - begin_s) * self.zone.hz)
    }
}

fn growing() -> Vec<[Kind; 2]> {
    let mut kinds = Vec::new();
    for phase in 0..3 {
        let (next, last) = ((phase + 1) % 3, (phase + 2) % 3);
        kinds.extend([
            [Kind::Earth(phase), Kind::PhasesEarth(next)],
            [Kind::Earth(phase), Kind::PhasesEarth(last)],
            [Kind::Earth(phase), Kind::ThreeEarth],
            [Kind::Phases(phase), Kind::PhasesEarth(phase)],
            [Kind::Phases(phase), Kind::ThreeEarth],
            [Kind::PhasesEarth(phase), Kind::ThreeEarth],
        ]);
    }
    kinds
}

fn crossing() -> Vec<[Kind; 2]> {
    let pairs = (0..3).flat_map(|one| (0..3).map(move |other| (one, other)));
    let mut kinds: Vec<[Kind; 2]> = pairs
        .filter(|(one, other)| one != other)
        .map(|(one, other)| [Kind::Earth(one), Kind::Earth(other)])
        .collect();
    kinds.extend([0, 1, 2].map(|phase| [Kind::Earth(phase), Kind::Phases(phase)]));
    kinds
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        let zone = Zone::new(shape, 8.0, 82.0, 50.0);
        for (evolution, all_kinds, shares) in [
            (Evolution::Inside, growing(), [0.2, 0.6]),
            (Evolution::Beyond, growing(), [1.1, 1.3]),
            (Evolution::Behind, growing(), [-0.05, -0.3]),
            (Evolution::BehindToInside, crossing(), [0.2, 0.6]),
            (Evolution::BeyondToInside, crossing(), [0.2, 0.6]),
        ] {
            for kinds in all_kinds {
                for (sir, share) in [1.0, 6.0].into_iter().flat_map(|sir| shares.map(|s| (sir, s)))
                {
                    for apart_s in APART_S {
                        for step in 0..4 {
                            let inception_deg = 90.0 * f64::from(step);
                            cases.push(Case {
                                zone,
                                sir,
                                evolution,
                                kinds,
                                share,
                                apart_s,
                                inception_deg,
                            });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Evolving faults and cross-country faults.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let mut rows = [
        judged("inside, to more phases: operates"),
        judged("beyond (110 and 130 %), to more phases: restrains"),
        judged("behind, to more phases: restrains"),
        judged("from behind to inside in another phase: operates"),
        judged("from beyond to inside in another phase: operates"),
    ];
    let mut inside =
        Row::new("inside, to more phases: time from the first fault", Bar::AtMost(2.5, "periods"));
    let mut crossed =
        Row::new("from outside to inside: time from the second fault", Bar::AtMost(2.5, "periods"));
    for case in plan.pick(cases()) {
        let periods = case.periods();
        let text = || format!("{case:?}: {periods:?}");
        let restrains = matches!(case.evolution, Evolution::Beyond | Evolution::Behind);
        let row = &mut rows[case.evolution as usize];
        row.judge(periods.is_none() == restrains, text);
        let second = case.apart_s * case.zone.hz;
        match (case.evolution, periods) {
            (Evolution::Inside, Some(periods)) => inside.measure(periods, text),
            (Evolution::BehindToInside | Evolution::BeyondToInside, Some(periods)) => {
                crossed.measure(periods - second, text);
            }
            _ => {}
        }
    }
    Section {
        title: "Distance: evolving faults",
        what: "A fault becomes one of more phases at its place, or is followed by one at another place, \
               5 to 60 ms later. A line fed from both ends with load; a zone of 8 ohm at 82 degrees, mho \
               and quadrilateral; SIR of 1 and 6; four moments of inception; faults inside at 20 and \
               60 %. Cross-country faults are to earth in different phases, or to earth in one and \
               between the two others.",
        rows: rows.into_iter().chain([inside, crossed]).collect(),
        pictures: Vec::new(),
        notes: String::new(),
    }
}
