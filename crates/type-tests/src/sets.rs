//! Sets of cases, run and counted: what the page and the tests of the project show.

use std::collections::BTreeMap;

use crate::cases::{Case, Choice, Duty};

/// A set of cases.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    pub name: &'static str,
    pub what: &'static str,
    pub choice: Choice,
}

const PLAIN: Choice =
    Choice { cvt: false, resistance: false, harmonics: false, off_nominal: false, trouble: false };

/// All sets, in the order of the page.
pub const SETS: [Set; 6] = [
    Set {
        name: "plain",
        what: "sinusoidal sources at nominal frequency, bolted faults",
        choice: PLAIN,
    },
    Set {
        name: "harmonics",
        what: "one to three harmonics or interharmonics of up to 3 % each in each source",
        choice: Choice { harmonics: true, ..PLAIN },
    },
    Set {
        name: "frequency",
        what: "up to 3 Hz off nominal",
        choice: Choice { off_nominal: true, ..PLAIN },
    },
    Set {
        name: "samples",
        what: "one or two wrong samples, 1 % lost, or a pause of up to 20 ms",
        choice: Choice { trouble: true, ..PLAIN },
    },
    Set {
        name: "resistance",
        what: "resistance in faults to earth: what may operate need not",
        choice: Choice { resistance: true, ..PLAIN },
    },
    Set {
        name: "cvt",
        what: "capacitive voltage transformers with active and passive suppression",
        choice: Choice { cvt: true, ..PLAIN },
    },
];

/// What a set has shown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shown {
    /// Cases by what was to be done.
    pub cases: BTreeMap<Duty, usize>,
    /// Seeds by what was wrong.
    pub wrong: BTreeMap<&'static str, Vec<u64>>,
    /// Periods to operation of faults inside 70 % of the zone, by source impedance ratio (up to 1, 6, and
    /// above) and tenth of the zone; sorted.
    pub periods: BTreeMap<(usize, usize), Vec<f64>>,
}

/// Upper ends of the groups of source impedance ratios; what is above the last is one more.
pub const SIRS: [f64; 2] = [1.0, 6.0];

impl Set {
    /// Runs cases by their seeds.
    #[must_use]
    pub fn run(&self, seeds: std::ops::Range<u64>) -> Shown {
        let mut shown = Shown::default();
        for seed in seeds {
            let case = Case::draw(seed, self.choice);
            let outcome = case.run();
            *shown.cases.entry(case.duty).or_default() += 1;
            for wrong in outcome.wrong {
                shown.wrong.entry(wrong).or_default().push(seed);
            }
            if let (Duty::Operate, Some(periods), Some(fault)) =
                (case.duty, outcome.zone_periods, case.fault)
            {
                let group = SIRS.iter().position(|end| case.sir <= *end).unwrap_or(SIRS.len());
                let share = fault.place * case.line.impedance.positive.norm() / case.reach_ohm;
                shown.periods.entry((group, (share * 10.0) as usize)).or_default().push(periods);
            }
        }
        for periods in shown.periods.values_mut() {
            periods.sort_by(f64::total_cmp);
        }
        shown
    }
}

impl Shown {
    /// Median and largest periods to operation up to the last of [`SIRS`].
    #[must_use]
    pub fn median_and_max(&self) -> Option<(f64, f64)> {
        let groups = self.periods.iter().filter(|((group, _), _)| *group < SIRS.len());
        let mut all: Vec<f64> = groups.flat_map(|(_, periods)| periods.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        Some((*all.get(all.len() / 2)?, *all.last()?))
    }
}
