//! Faults outside and inside, with a current transformer of one end that saturates.

use protection::waveform::CurrentTransformer;

use super::{HZ, RATE, RATED_A, ends, fault, line, relay, run};
use crate::line::{Fault, Kind, Sample};
use crate::report::{Bar, Plan, Row};

/// A transformer of 1000 A to 1 A with this burden, in ohm.
const BURDEN_OHM: f64 = 5.0;

/// How a transformer is dimensioned for the largest current of a case.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Saturating {
    /// 0 is the near end.
    end: usize,
    /// Voltage at which it saturates, as a multiple of what the steady current needs: below some ten, an
    /// offset saturates it.
    dimension: f64,
    /// Share of the flux at the knee that is left in it.
    remanence: f64,
}

impl Saturating {
    fn pass(self, samples: &mut [Sample]) {
        for phase in 0..3 {
            // The steady current: of the last two periods.
            let last = &samples[samples.len() - (2.0 * f64::from(RATE) / HZ) as usize..];
            let square: f64 = last.iter().map(|sample| sample.currents[phase].powi(2)).sum();
            let steady_a = (square / last.len() as f64).sqrt() / RATED_A;
            // At the least it carries what its rated current needs ten times over.
            let saturation_v = BURDEN_OHM * (self.dimension * steady_a).max(10.0);
            let mut transformer =
                CurrentTransformer::new(BURDEN_OHM, saturation_v, HZ, self.remanence);
            for sample in samples.iter_mut() {
                let ideal_a = sample.currents[phase] / RATED_A;
                sample.currents[phase] = transformer.pass(ideal_a, 1.0 / f64::from(RATE)) * RATED_A;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    kind: Kind,
    /// Of the first fault; behind the near end, or beyond the far one, or on the line.
    place: f64,
    sources_ohm: [f64; 2],
    line_deg: f64,
    begin_s: f64,
    saturating: Option<Saturating>,
    /// A fault on the line in another phase, so much later.
    then: Option<(Kind, f64)>,
}

impl Case {
    fn operates_s(&self) -> Option<f64> {
        let [near_ohm, far_ohm] = self.sources_ohm;
        let mut faults: Vec<Fault> = vec![fault(self.kind, self.place, self.begin_s)];
        faults.extend(self.then.map(|(kind, later_s)| fault(kind, 0.5, self.begin_s + later_s)));
        let line = line(near_ohm, far_ohm, self.line_deg, -10.0);
        let mut samples = ends(&line, &faults, self.begin_s + 0.4);
        if let Some(saturating) = self.saturating {
            saturating.pass(&mut samples[saturating.end]);
        }
        run(&relay(30.0), &samples).operated_s.map(|at_s| at_s - self.begin_s)
    }
}

fn cases(places: &[f64], saturating: &[Option<Saturating>]) -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in Kind::ALL {
        for place in places.iter().copied() {
            for (sources_ohm, line_deg) in
                [([2.0, 3.0], 85.0), ([6.0, 3.0], 80.0), ([10.0, 10.0], 87.0)]
            {
                for saturating in saturating.iter().copied() {
                    for step in 0..4 {
                        let begin_s = 0.3 + f64::from(step) * 0.005;
                        let then = None;
                        cases.push(Case {
                            kind,
                            place,
                            sources_ohm,
                            line_deg,
                            begin_s,
                            saturating,
                            then,
                        });
                    }
                }
            }
        }
    }
    cases
}

fn saturating(dimensions: &[f64], remanences: &[f64]) -> Vec<Option<Saturating>> {
    let mut all = Vec::new();
    for end in [0, 1] {
        for dimension in dimensions.iter().copied() {
            all.extend(
                remanences.iter().map(|&remanence| Some(Saturating { end, dimension, remanence })),
            );
        }
    }
    all
}

/// From one phase outside to another inside.
fn evolving() -> Vec<Case> {
    let outside = cases(&[-0.1, 1.1], &saturating(&[2.0], &[0.0]));
    let single = outside.into_iter().filter_map(|case| match case.kind {
        Kind::Earth(phase) => Some((case, phase)),
        _ => None,
    });
    single
        .flat_map(|(case, phase)| {
            [0.02, 0.05, 0.1].map(|later_s| {
                let then = Some((Kind::Earth((phase + 1) % 3), later_s));
                Case { then, ..case }
            })
        })
        .collect()
}

/// Stability outside, and operation inside.
pub(super) fn rows(plan: Plan) -> Vec<Row> {
    let judged = |what: &str| Row::new(what, Bar::AllRight);
    let outside = [-0.05, -0.3, 1.05, 1.3];
    let sets = [
        ("fault outside, transformers without error: restrains", &outside[..], vec![None], false),
        (
            "fault outside, one end saturates (dimensioned 1 to 5 times): restrains",
            &outside[..],
            saturating(&[1.0, 1.5, 2.0, 3.0, 5.0], &[0.0]),
            false,
        ),
        (
            "fault outside, one end saturates with remanence of 75 %: restrains",
            &outside[..],
            saturating(&[1.5, 2.5, 5.0], &[-0.75, 0.75]),
            false,
        ),
        (
            "fault inside, one end saturates (dimensioned 1 to 3 times): operates within 0.2 s",
            &[0.1, 0.6, 0.9][..],
            saturating(&[1.0, 2.0, 3.0], &[0.0, 0.6]),
            true,
        ),
    ];
    let mut rows = Vec::new();
    for (what, places, saturating, is_inside) in sets {
        let mut row = judged(what);
        for case in plan.pick(cases(places, &saturating)) {
            let operates_s = case.operates_s();
            let is_in_time = operates_s.is_some_and(|after_s| (0.0..0.2).contains(&after_s));
            let is_right = if is_inside { is_in_time } else { operates_s.is_none() };
            row.judge(is_right, || format!("{case:?}: {operates_s:?} s"));
        }
        rows.push(row);
    }
    let mut followed =
        judged("fault outside with a saturated end, then one inside: operates within 0.3 s");
    for case in plan.pick(evolving()) {
        let operates_s = case.operates_s();
        let later_s = case.then.map_or(0.0, |(_, later_s)| later_s);
        let in_time = later_s..later_s + 0.3;
        followed.judge(operates_s.is_some_and(|after_s| in_time.contains(&after_s)), || {
            format!("{case:?}: {operates_s:?} s")
        });
    }
    rows.push(followed);
    rows
}
