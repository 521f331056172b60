//! Operating times: SIR diagrams (least, median and largest time over the moments of inception, by place
//! of the fault and source impedance ratio) and their contours, with ideal voltage transformers and with
//! capacitive ones.

use std::collections::BTreeMap;

use super::{Shape, Zone};
use crate::circuit::{Course, End};
use crate::line::Kind;
use crate::plot::Figure;
use crate::relay::UnderTest;
use crate::report::{Bar, Picture, Plan, Row, Section, median};
use crate::transformer::{Cvt, Suppression};
use crate::wave::{INDUCTIVE, settings_of};

const SIRS: [f64; 6] = [0.2, 1.0, 3.0, 5.0, 10.0, 30.0];
/// Places of faults, in % of the reach.
const PLACES: [u32; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95];
const BEGIN_S: f64 = 0.2;
/// A capacitive transformer is in steady state before the relay looks.
const CVT_BEGIN_S: f64 = 0.7;
const WATCHED_S: f64 = 0.3;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    zone: Zone,
    cvt: Option<Suppression>,
    /// Number in [`SIRS`].
    sir: usize,
    percent: u32,
    kind: Kind,
    /// Angle of phase A from its peak when the fault begins.
    inception_deg: f64,
}

impl Case {
    fn periods(&self) -> Option<f64> {
        let from_s = if self.cvt.is_some() { CVT_BEGIN_S } else { BEGIN_S };
        let begin_s = self.zone.inception_s(from_s, self.inception_deg);
        let fault = self.zone.fault(self.kind, f64::from(self.percent) / 100.0, begin_s);
        let rate = self.zone.rate;
        let count = ((begin_s + WATCHED_S) * f64::from(rate)) as usize;
        let line = self.zone.line(SIRS[self.sir]);
        let mut samples = Course::new(&line, &[fault]).seen_at(End::Near, rate.into(), count);
        if let Some(suppression) = self.cvt {
            Cvt::transform(suppression, self.zone.hz, rate.into(), &mut samples);
        }
        let keys = if self.cvt.is_some() { "" } else { INDUCTIVE };
        let element = self.zone.element("Z1", "forward", "");
        let settings = settings_of(&[("s", keys)], self.zone.hz, rate, &element);
        let seen = UnderTest::new(&settings, rate).run(&samples)[0];
        seen.operated_s.map(|at_s| (at_s - begin_s) * self.zone.hz)
    }
}

fn cases(cvts: &[Option<Suppression>], zones: &[Zone], steps: u32) -> Vec<Case> {
    let mut cases = Vec::new();
    for cvt in cvts.iter().copied() {
        for zone in zones.iter().copied() {
            for sir in 0..SIRS.len() {
                for percent in PLACES {
                    for kind in Kind::ALL {
                        for step in 0..steps {
                            let inception_deg = f64::from(360 * step / steps);
                            cases.push(Case { zone, cvt, sir, percent, kind, inception_deg });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Times to operation, in periods, by SIR and place.
#[derive(Debug, Default)]
struct Times(BTreeMap<(usize, u32), Vec<f64>>);

impl Times {
    fn of(&self, sir: usize, percent: u32) -> &[f64] {
        self.0.get(&(sir, percent)).map(Vec::as_slice).unwrap_or_default()
    }

    /// A panel for each SIR, up to so many periods: median, and least to largest.
    fn diagrams(&self, most: f64) -> Vec<Figure> {
        let panel = |sir: usize| {
            let name = format!("SIR {}", SIRS[sir]);
            let mut figure =
                Figure::new("fault, % of the reach", "periods", [0.0, 100.0], [0.0, most])
                    .titled(&name);
            let (mut band, mut middle) = (Vec::new(), Vec::new());
            for percent in PLACES {
                let times: Vec<f64> =
                    self.of(sir, percent).iter().copied().filter(|t| t.is_finite()).collect();
                let Some(median) = median(&times) else { continue };
                let least = times.iter().copied().fold(f64::INFINITY, f64::min);
                let largest = times.iter().copied().fold(0.0, f64::max);
                band.push((f64::from(percent), least, largest));
                middle.push((f64::from(percent), median));
            }
            figure.band(0, &band);
            figure.line(0, &middle);
            figure
        };
        (0..SIRS.len()).map(panel).collect()
    }

    /// Medians and largest times as cells.
    fn contours(&self) -> [Figure; 2] {
        [
            self.contour("median, periods", median),
            self.contour("largest, periods", |times| times.iter().copied().reduce(f64::max)),
        ]
    }

    fn contour(&self, title: &str, of: fn(&[f64]) -> Option<f64>) -> Figure {
        let rows = SIRS.iter().map(f64::to_string).collect();
        let columns = PLACES.iter().map(u32::to_string).collect();
        let mut figure = Figure::cells("fault, % of the reach", "SIR", columns, rows).titled(title);
        for sir in 0..SIRS.len() {
            for (column, percent) in PLACES.into_iter().enumerate() {
                let Some(time) = of(self.of(sir, percent)) else { continue };
                let text = if time.is_finite() { format!("{time:.1}") } else { "–".to_owned() };
                figure.cell(sir, column, (time - 0.5) / 3.5, &text);
            }
        }
        figure
    }
}

/// Bars, as largest periods: inside 70 % at a SIR up to 5, and up to 30; the median of the first.
struct Bars {
    median: f64,
    fast: f64,
    weak: f64,
}

fn tested(cases: impl Iterator<Item = Case>, name: &str, bars: &Bars) -> (Vec<Row>, Times) {
    let mut times = Times::default();
    let periods = |most| Bar::AtMost(most, "periods");
    let mut all = Row::new(&format!("{name}: inside 95 %: operates within 0.3 s"), Bar::AllRight);
    let mut fast =
        Row::new(&format!("{name}: inside 70 %, SIR up to 5: largest time"), periods(bars.fast));
    let mut weak = Row::new(
        &format!("{name}: inside 70 %, SIR of 10 and 30: largest time"),
        periods(bars.weak),
    );
    let mut middle =
        Row::new(&format!("{name}: inside 70 %: median of each SIR up to 5"), periods(bars.median));
    for case in cases {
        let periods = case.periods();
        let time = periods.unwrap_or(f64::INFINITY);
        let text = || format!("{case:?}: {periods:?}");
        all.judge(periods.is_some_and(|periods| periods > 0.0), text);
        if case.percent <= 70 {
            let row = if SIRS[case.sir] <= 5.0 { &mut fast } else { &mut weak };
            row.measure(time, text);
        }
        times.0.entry((case.sir, case.percent)).or_default().push(time);
    }
    for sir in (0..SIRS.len()).filter(|sir| SIRS[*sir] <= 5.0) {
        let inside = PLACES.into_iter().filter(|percent| *percent <= 70);
        let all: Vec<f64> = inside.flat_map(|percent| times.of(sir, percent).to_vec()).collect();
        if let Some(median) = median(&all) {
            middle.measure(median, || format!("SIR {}", SIRS[sir]));
        }
    }
    (vec![all, middle, fast, weak], times)
}

/// Least, median and largest periods of faults up to 70 % at a SIR, as a text.
fn summary(times: &Times, sir: f64, places: std::ops::RangeInclusive<u32>) -> String {
    let at = SIRS.iter().position(|each| *each == sir).unwrap_or(0);
    let inside = PLACES.into_iter().filter(|percent| places.contains(percent));
    let all: Vec<f64> = inside.flat_map(|percent| times.of(at, percent).to_vec()).collect();
    let Some(median) = median(&all) else { return "not run".to_owned() };
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = all.iter().copied().fold(0.0, f64::max);
    format!("{least:.2} / {median:.2} / {largest:.2}")
}

/// What manuals of other relays publish, and what was measured here.
fn beside_published(times: &Times) -> String {
    let ours = |sir, places| summary(times, sir, places);
    format!(
        "### Beside what is published of other relays\n\nIn periods; here least / median / largest of \
         the mho up to 70 % of its reach, of the engine alone: without merging unit, network (up to 3 ms), and the output that \
         the published figures have in them.\n\n| relay | published | here |\n|---|---|---|\n\
         | SEL-421-5 | at most 0.8 at 70 % of the reach, SIR 1 (SEL-421-4: 1.5) | {} |\n\
         | MiCOM P442, P444 | faults up to 75 % of zone 1 at 50 Hz, SIR 5: 0.65 / 0.85 / 0.90, output \
         contact included | {} |\n\
         | the same | SIR 30: 0.70 / 0.88 / 1.05; 99 % below one period | {} |\n\
         | SIPROTEC 7SA522 | shortest 0.85 (17 ms at 50 Hz; 0.55 with high-speed outputs) | {} (SIR \
         0.2) |\n\nSources: SEL-421 Relay Instruction Manual, date code 20171021, page 1.18; MiCOM P40 \
         Agile P442, P444, P44x/EN TD/Hb, page (TD) 2; SIPROTEC 7SA522 Manual C53000-G1176-C155-3, page \
         446.\n",
        ours(1.0, 70..=70),
        ours(5.0, 0..=70),
        ours(30.0, 0..=70),
        ours(0.2, 0..=70),
    )
}

/// With ideal voltage transformers.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let mut rows = Vec::new();
    let mut pictures = Vec::new();
    let mut notes = String::new();
    for (shape, diagrams, contours) in [
        (Shape::Mho, "sir-mho", "contours-mho"),
        (Shape::Quadrilateral, "sir-quadrilateral", "contours-quadrilateral"),
    ] {
        let zones = [Zone::new(shape, 8.0, 85.0, 50.0), Zone::new(shape, 2.0, 70.0, 60.0)];
        let bars = Bars { median: 0.75, fast: 1.5, weak: 2.5 };
        let (of_shape, times) =
            tested(plan.pick(cases(&[None], &zones, 8)), &format!("{shape:?}"), &bars);
        rows.extend(of_shape);
        if shape == Shape::Mho {
            notes = beside_published(&times);
        }
        pictures.push(Picture {
            name: diagrams,
            caption: match shape {
                Shape::Mho => "Mho: median time to operation by place of the fault, and the least to the largest of all kinds of faults and moments.",
                Shape::Quadrilateral => "Quadrilateral: the same.",
            },
            svg: Figure::panels(&times.diagrams(4.0), 3, "operating time by place of the fault"),
        });
        pictures.push(Picture {
            name: contours,
            caption: match shape {
                Shape::Mho => "Mho: operating time by place and SIR.",
                Shape::Quadrilateral => "Quadrilateral: operating time by place and SIR.",
            },
            svg: Figure::panels(&times.contours(), 2, "operating time by place and SIR"),
        });
    }
    Section {
        title: "Distance: operating time (SIR diagrams)",
        what: "Bolted faults at 0 to 95 % of the reach, SIR of 0.2 to 30, all kinds of faults in all \
               phases, eight moments of inception; zones of 8 ohm at 85 degrees with 50 Hz and of 2 ohm \
               at 70 degrees with 60 Hz. The time is that of the engine, which decides once in a \
               millisecond: what a network, a breaker's input and its own time add is not in it.",
        rows,
        pictures,
        notes,
    }
}

/// With capacitive voltage transformers.
#[must_use]
pub fn cvt_section(plan: Plan) -> Section {
    let mut rows = Vec::new();
    let mut pictures = Vec::new();
    for (suppression, name, picture, caption) in [
        (
            Suppression::Active,
            "active suppression",
            "sir-cvt-active",
            "Active ferroresonance suppression.",
        ),
        (Suppression::Passive, "passive suppression", "sir-cvt-passive", "Passive suppression."),
    ] {
        let zones = [Zone::new(Shape::Mho, 8.0, 85.0, 50.0)];
        let bars = Bars { median: 2.25, fast: 3.5, weak: 6.0 };
        let (of_cvt, times) =
            tested(plan.pick(cases(&[Some(suppression)], &zones, 4)), name, &bars);
        rows.extend(of_cvt);
        pictures.push(Picture {
            name: picture,
            caption,
            svg: Figure::panels(&times.diagrams(8.0), 3, "operating time by place of the fault"),
        });
    }
    Section {
        title: "Distance: operating time with capacitive voltage transformers",
        what: "The same of a mho of 8 ohm at 85 degrees, behind the capacitive transformers of \
               `crates/type-tests/src/transformer.rs`, whose transients are among the largest that are \
               published. IEC 60255-121 has a model of its own (annex K), which is not public.",
        rows,
        pictures,
        notes: String::new(),
    }
}
