//! Cross-country faults, drawn: two faults at two places at the same time, of which zone 1 may trip the one
//! inside and nothing else. Most of the cases are those that could deceive it: both faults outside, through
//! resistances to earth and in their phases, which shift each loop along the line and off it. The matrix of
//! bolted ones that follow one another is with the evolving faults.

use std::fmt;

use protection::{Complex, Degrees};
use random::Random;

use super::{Shape, Zone};
use crate::circuit::{Course, End};
use crate::line::{Fault, Impedance, Kind, Line, Sample, Source};
use crate::relay::{Seen, UnderTest};
use crate::report::{Bar, Plan, Row, Section};
use crate::transformer::{Cvt, Suppression};
use crate::wave::{NOMINAL_V, settings_of};

const BEGIN_S: f64 = 0.2;
const WATCHED_S: f64 = 0.3;
/// Transients of capacitive transformers that begin with the samples are over by then.
const CVT_LEAD_S: f64 = 0.6;
/// The line, in shares of the reach.
const LINE_SHARE: f64 = 1.5;
/// What an outer fault has to be beyond the zone by, and how far inside an inner one is at the most.
const BEYOND_MIN: f64 = 1.05;
const INSIDE_MAX: f64 = 0.8;

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Question {
    /// A bolted fault inside, and one outside in another phase, both to earth: the outer one may have resistance.
    Inside,
    /// Both outside, to earth in different phases, through resistances.
    OutsideEarth,
    /// Both outside, of any kinds, through resistances.
    OutsideAny,
    /// One fault of two phases outside, with resistance to earth that they share.
    OutsideOne,
    /// One fault of two phases inside, through such resistances.
    InsideOne,
}

impl Question {
    const ALL: [Self; 5] =
        [Self::Inside, Self::OutsideEarth, Self::OutsideAny, Self::OutsideOne, Self::InsideOne];
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { question, seed, zone, cvt, .. } = self;
        write!(f, "{question:?} {seed}, {:?}, {:.1} ohm, {cvt:?}", zone.shape, zone.reach_ohm)?;
        for Fault { kind, place, begin_s, resistance_ohm, earth_ohm } in &self.faults {
            let (percent, ms) = (place * LINE_SHARE * 100.0, begin_s * 1e3);
            write!(
                f,
                ", {kind:?} at {percent:.0} % from {ms:.1} ms on, {resistance_ohm:.2} and {earth_ohm:.2} ohm"
            )?;
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Case {
    question: Question,
    seed: u64,
    zone: Zone,
    line: Line,
    faults: Vec<Fault>,
    cvt: Option<Suppression>,
}

impl Case {
    /// The case of a seed.
    fn draw(question: Question, seed: u64) -> Self {
        let mut random = Random::new(seed ^ ((question as u64) << 32));
        let hz = random.pick(&[50.0, 60.0]);
        let shape = random.pick(&[Shape::Mho, Shape::Quadrilateral]);
        let cvt = random.pick(&[None, None, Some(Suppression::Active), Some(Suppression::Passive)]);
        let mut between = |from: f64, to: f64| from + (to - from) * random.share();
        let mut zone = Zone::new(shape, between(2.0, 25.0), between(70.0, 86.0), hz);
        zone.earth_factor = Complex::polar_deg(between(0.35, 1.1), between(-8.0, 5.0));
        let line = line(&zone, &mut between);
        let begin_s = BEGIN_S + between(0.0, 1.0) / hz;
        let apart_s = between(-0.02, 0.06).max(0.0);
        let mut random = Random::new(random.number());
        let phase = random.below(3) as usize;
        let other = (phase + 1 + random.below(2) as usize) % 3;
        let kinds = match question {
            Question::Inside | Question::OutsideEarth => [Kind::Earth(phase), Kind::Earth(other)],
            Question::OutsideAny => [random.pick(&Kind::ALL), random.pick(&Kind::ALL)],
            Question::OutsideOne | Question::InsideOne => [Kind::PhasesEarth(phase); 2],
        };
        let mut places = [outside(&mut random), outside(&mut random)];
        if matches!(question, Question::Inside | Question::InsideOne) {
            places[0] = random.share() * INSIDE_MAX / LINE_SHARE;
        }
        let is_first = random.below(2);
        let faults = [0, 1].map(|each| {
            let is_bolted = each == 0 && question == Question::Inside;
            let mut ohm = |of_ten: u64| match random.below(10) < of_ten && !is_bolted {
                true => zone.reach_ohm * 0.01 * 200f64.powf(random.share()),
                false => 0.0,
            };
            let (earth_ohm, resistance_ohm) = (ohm(7), ohm(3));
            let later_s = if each as u64 == is_first { 0.0 } else { apart_s };
            let (kind, place) = (kinds[each], places[each]);
            Fault { kind, place, begin_s: begin_s + later_s, resistance_ohm, earth_ohm }
        });
        let is_one = matches!(question, Question::OutsideOne | Question::InsideOne);
        let count = if is_one { 1 } else { 2 };
        Self { question, seed, zone, line, faults: faults[..count].to_vec(), cvt }
    }

    fn samples(&self) -> Vec<Sample> {
        let rate = f64::from(self.zone.rate);
        let lead = self.cvt.map_or(0, |_| (CVT_LEAD_S * rate) as usize);
        let lead_s = lead as f64 / rate;
        let shifted = |fault: &Fault| Fault { begin_s: fault.begin_s + lead_s, ..*fault };
        let faults: Vec<Fault> = self.faults.iter().map(shifted).collect();
        let count = ((BEGIN_S + 0.1 + WATCHED_S) * rate) as usize + lead;
        let mut samples = Course::new(&self.line, &faults).seen_at(End::Near, rate, count);
        if let Some(suppression) = self.cvt {
            Cvt::transform(suppression, self.zone.hz, self.zone.rate.into(), &mut samples);
        }
        samples.split_off(lead)
    }

    /// What zones ahead and behind do.
    fn run(&self) -> [Seen; 2] {
        let elements =
            self.zone.element("Z1", "forward", "") + &self.zone.element("ZR", "reverse", "");
        let kind = if self.cvt.is_some() { "capacitive" } else { "inductive" };
        let keys = format!(", voltage_transformers: {kind}");
        let settings = settings_of(&[("s", &keys)], self.zone.hz, self.zone.rate, &elements);
        let seen = UnderTest::new(&settings, self.zone.rate).run(&self.samples());
        [seen[0], seen[1]]
    }
}

/// A line fed from both ends, earthed at both, with load.
fn line(zone: &Zone, mut between: impl FnMut(f64, f64) -> f64) -> Line {
    let mut source = |least: f64, most: f64, voltage: Complex| {
        let size = zone.reach_ohm * least * (most / least).powf(between(0.0, 1.0));
        let positive = Complex::polar_deg(size, between(80.0, 89.0));
        let zero = positive * Complex::polar_deg(between(0.5, 4.0), between(-8.0, 2.0));
        Source { voltage, impedance: Impedance { positive, zero }, disturbing: Vec::new() }
    };
    let near = source(0.2, 20.0, Complex::new(NOMINAL_V, 0.0));
    let mut far = source(0.3, 30.0, Complex::new(NOMINAL_V, 0.0));
    far.voltage = far.voltage.turned_deg(between(-30.0, 30.0));
    let positive = Complex::polar_deg(LINE_SHARE * zone.reach_ohm, zone.angle_deg);
    let impedance = Impedance { positive, zero: positive * (zone.earth_factor * 3.0 + 1.0) };
    Line { nominal_hz: zone.hz, frequency_hz: zone.hz, near, impedance, far }
}

/// A place behind the relay, or beyond the zone.
fn outside(random: &mut Random) -> f64 {
    let share = random.share();
    match random.below(2) {
        0 => -0.6 * share * share,
        _ => BEYOND_MIN / LINE_SHARE + share * share * 0.6,
    }
}

/// The claims, each with the cases that it was judged by.
struct Rows {
    inside: Row,
    phase: Row,
    time: Row,
    one_inside: Row,
    outside_earth: Row,
    outside_any: Row,
    outside_one: Row,
    reverse: Row,
}

impl Rows {
    fn new() -> Self {
        let judged = |what: &str| Row::new(what, Bar::AllRight);
        let periods = Bar::AtMost(2.5, "periods");
        Self {
            inside: judged(
                "one inside, one outside, to earth: operates, and not before the one inside",
            ),
            phase: judged("one inside, one outside, to earth: in the phase inside alone").beside(),
            time: Row::new("one inside, one outside, to earth: time from the one inside", periods)
                .beside(),
            one_inside: judged("two phases and earth at one place inside: in more than one phase"),
            outside_earth: judged("both outside, to earth: restrains"),
            outside_any: judged("both outside, of any kinds: restrains"),
            outside_one: judged("two phases and earth at one place outside: restrains"),
            reverse: judged("none behind: the reverse zone restrains").beside(),
        }
    }

    fn judge(&mut self, case: &Case) {
        let [ahead, behind] = case.run();
        let text = || format!("{case}: {ahead:?}");
        if case.faults.iter().all(|fault| fault.place >= 0.0) {
            let text = || format!("{case}: {behind:?}");
            self.reverse.judge(behind.operated_s.is_none(), text);
        }
        let restrains = ahead.operated_s.is_none();
        match case.question {
            Question::Inside => self.judge_inside(case, &ahead, text),
            Question::InsideOne => {
                let is_of_more = ahead.phases_first.count() > 1;
                self.one_inside.judge(restrains || is_of_more, text);
            }
            Question::OutsideEarth => self.outside_earth.judge(restrains, text),
            Question::OutsideAny => self.outside_any.judge(restrains, text),
            Question::OutsideOne => self.outside_one.judge(restrains, text),
        }
    }

    fn judge_inside(&mut self, case: &Case, ahead: &Seen, text: impl Fn() -> String) {
        let [inner, _] = case.faults[..] else { return };
        let after_s = ahead.operated_s.map(|at_s| at_s - inner.begin_s).filter(|s| *s > 0.0);
        self.inside.judge(after_s.is_some(), &text);
        if let Some(after_s) = after_s {
            let is_its_own = (0..3).all(|phase| ahead.phases.has(phase) == inner.kind.has(phase));
            self.phase.judge(is_its_own, &text);
            self.time.measure(after_s * case.zone.hz, text);
        }
    }

    fn into_rows(self) -> Vec<Row> {
        let Self { inside, phase, time, one_inside, .. } = self;
        let Self { outside_earth, outside_any, outside_one, reverse, .. } = self;
        vec![inside, phase, time, one_inside, outside_earth, outside_any, outside_one, reverse]
    }
}

/// Runs the drawn cases, as many of each question.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let mut rows = Rows::new();
    for question in Question::ALL {
        for seed in 0..plan.cases / Question::ALL.len() as u64 {
            rows.judge(&Case::draw(question, seed));
        }
    }
    Section {
        title: "Distance: cross-country faults",
        what: "Two faults at two places at once, up to 60 ms apart, drawn: zones of 2 to 25 ohm at 70 to 86 degrees, \
               mho and quadrilateral, 50 and 60 Hz; a line fed from both ends, sources of 0.2 to 30 times the \
               zone, up to 30 degrees apart; every second one behind capacitive transformers. The one inside (up \
               to 80 %) is bolted; those outside (behind, or from 105 % on) have in seven of ten cases a resistance \
               to earth and in three of ten one in each phase, of 1 to 200 % of the zone. Beside them one fault of \
               two phases that share such a resistance to earth, which shifts the loop of one of them into the zone.",
        rows: rows.into_rows(),
        pictures: Vec::new(),
        notes: String::new(),
    }
}
