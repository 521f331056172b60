//! How well faults are located: lines, sources and loads as for distance, source to line impedance
//! ratios of 0.1 to 10, every kind of fault anywhere on the line, until a breaker opens after 80 ms.

use std::fmt::Write as _;

use protection::Complex;
use protection::locator::{Location, Settings};
use random::Random;
use substation::fault::Recorded;

use crate::cases::{Case, Choice};
use crate::line::Fault;
use crate::report::{Bar, Plan, Row, Section};

/// When the fault begins and what is recorded of it, in s.
const BEGIN_S: f64 = 0.2;
const LASTS_S: f64 = 0.08;

const BOLTED: &str = "none";
/// Fault resistances: name, and the range as a share of the line's impedance.
const RESISTANCES: [(&str, f64, f64); 3] =
    [(BOLTED, 0.0, 0.0), ("up to 20 %", 0.0, 0.2), ("20 to 100 %", 0.2, 1.0)];

/// What became of the faults of one range of resistances.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Located {
    /// Errors in percent of the line, in order.
    pub errors: Vec<f64>,
    /// Of these, how many are within the uncertainty that was stated.
    pub within: usize,
    /// Faults without an answer.
    pub unanswered: usize,
    /// Numbers of the faults of which other phases were named.
    pub other_phases: Vec<u64>,
}

impl Located {
    /// The error, in percent of the line, that such a share of the answers does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let place = (self.errors.len() as f64 * share) as usize;
        self.errors.get(place).or(self.errors.last()).copied().unwrap_or(f64::NAN)
    }
}

/// Locates the faults of these numbers with each range of resistances.
#[must_use]
pub fn study(seeds: std::ops::Range<u64>) -> Vec<(&'static str, Located)> {
    let one = |(name, least, most): (&'static str, f64, f64)| {
        let mut located = Located::default();
        for seed in seeds.clone() {
            take(&mut located, seed, (least, most));
        }
        located.errors.sort_by(f64::total_cmp);
        (name, located)
    };
    RESISTANCES.into_iter().map(one).collect()
}

fn take(located: &mut Located, seed: u64, (least, most): (f64, f64)) {
    let mut random = Random::new(seed ^ 0x0010_ca7e);
    let mut between = |from: f64, to: f64| from + (to - from) * random.share();
    let mut case = Case::draw(seed, Choice::default());
    let Some(drawn) = case.fault else { return };
    let line_ohm = case.line.impedance.positive.norm();
    let sir = 10f64.powf(between(-1.0, 1.0));
    let near_ohm = case.line.near.impedance.positive.norm();
    case.line.near.impedance = case.line.near.impedance.times(sir * line_ohm / near_ohm);
    let share = between(0.05, 0.95);
    let fault = Fault {
        place: share,
        begin_s: BEGIN_S + between(0.0, 1.0) / case.line.frequency_hz,
        resistance_ohm: line_ohm * between(least, most),
        earth_ohm: 0.0,
        ..drawn
    };
    let answer = locate(&case, &fault);
    let Some(answer) = answer else {
        located.unanswered += 1;
        return;
    };
    let error = (answer.share - share).abs();
    located.errors.push(100.0 * error);
    located.within += usize::from(error <= answer.uncertainty);
    let is_named = (0..3).all(|phase| answer.phases.has(phase) == fault.kind.has(phase));
    if !is_named {
        located.other_phases.push(seed);
    }
}

fn locate(case: &Case, fault: &Fault) -> Option<Location> {
    let rate = f64::from(case.rate);
    let samples = case.line.samples(Some(fault), rate, ((fault.begin_s + LASTS_S) * rate) as usize);
    let channels = samples.iter().map(|sample| {
        let ([ia, ib, ic], [ua, ub, uc]) = (sample.currents, sample.voltages);
        Some([ia, ib, ic, ia + ib + ic, ua, ub, uc, ua + ub + uc])
    });
    let samples: Vec<_> = channels.collect();
    let recorded =
        Recorded { samples: &samples, rate: case.rate, frequency_hz: case.line.nominal_hz };
    let impedance = case.line.impedance;
    let earth_factor: Complex = (impedance.zero - impedance.positive) / (impedance.positive * 3.0);
    let line = Settings { impedance: impedance.positive, earth_factor, length_km: 10.0 };
    // An element of a relay sees it some milliseconds after it has begun.
    let at = |after_s: f64| ((fault.begin_s + after_s) * rate) as usize;
    recorded.fault(at(0.012), Some(at(0.02)), Some(line)).location
}

/// How well faults are located.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let study = study(0..plan.cases);
    let percent = |what: &str, most| Row::new(what, Bar::AtMost(most, "%"));
    let mut bolted = Row::new(
        "no resistance: error that 95 % of the answers do not exceed",
        Bar::AtMost(1.0, "% of the line"),
    )
    .beside();
    let mut unanswered = percent("no resistance: faults without an answer", 1.0).beside();
    let mut beyond = percent("answers beyond the uncertainty that they state", 5.0).beside();
    let mut phases = percent("answers that name other phases than those of the fault", 0.1);
    for (name, located) in &study {
        let answers = located.errors.len();
        if *name == BOLTED {
            let faults = answers + located.unanswered;
            bolted.measure(located.quantile(0.95), || format!("{answers} answers"));
            unanswered
                .share(located.unanswered, faults, || format!("{} faults", located.unanswered));
        }
        let outside = answers - located.within;
        beyond.share(outside, answers, || format!("resistance {name}: {outside} of {answers}"));
        let others = &located.other_phases;
        phases.share(others.len(), answers, || format!("resistance {name}: faults {others:?}"));
    }
    Section {
        title: "Fault locator",
        what: "Bolted faults and faults with resistance anywhere on lines that are drawn as those of \
               distance, at a SIR of 0.1 to 10, with load; a breaker opens 80 ms after the inception.",
        rows: vec![bolted, unanswered, beyond, phases],
        pictures: Vec::new(),
        notes: table(&study),
    }
}

/// Errors of each range of resistances.
fn table(study: &[(&str, Located)]) -> String {
    let mut table = "Errors in percent of the line's length, by the resistance of the fault as a share of \
                     the line's impedance; and the share of answers that are within the uncertainty that \
                     they state.\n\n| resistance | faults | median | 95 % | 99 % | largest | within | no \
                     answer |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, located) in study {
        let [median, most, nearly_all, largest] =
            [0.5, 0.95, 0.99, 1.0].map(|share| located.quantile(share));
        let answers = located.errors.len();
        let within = 100.0 * located.within as f64 / answers as f64;
        let _infallible = writeln!(
            table,
            "| {name} | {} | {median:.2} | {most:.2} | {nearly_all:.2} | {largest:.2} | {within:.1} % | {} |",
            answers + located.unanswered,
            located.unanswered
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resistance_hides_the_place_of_a_fault_no_more_than_it_has_to() {
        let study = study(0..1000);
        println!("{}", table(&study));
        let [bolted, some, much] = &study[..] else { panic!("three") };
        assert!(bolted.1.quantile(0.99) < 0.1);
        assert!(some.1.quantile(0.5) < 0.5 && some.1.quantile(0.95) < 8.0);
        assert!(some.1.unanswered * 20 <= some.1.errors.len());
        assert!(much.1.quantile(0.5) < 3.0);
    }
}
