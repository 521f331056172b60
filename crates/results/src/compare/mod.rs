//! Whether two runs of a scenario are the same, and if not, where they differ first.
//!
//! Runs are the same if they ended the same way, with the same verdicts (outcome, value and unit
//! of each requirement), the same recorded series, and captures with the same frames: equal in
//! time, direction and length, and in payload if that is asked for. Runs of different scenarios,
//! variants or lengths answer different questions; of them nothing else is compared.
//!
//! Frames and rows are compared in their order, the n-th with the n-th. So after a frame that is
//! missing in one run, those that follow differ too; what counts is the first.
//!
//! This decides; files are read by [`RunFolder`](crate::RunFolder), and frames come one at a time.
//!
//! - `difference`: what differs, and how it is written
//! - `record`: scenario, end and verdicts
//! - `series`, `frames`: what was recorded
//! - `text`: the result for people

mod difference;
mod frames;
mod record;
mod series;
#[cfg(test)]
mod tests;
mod text;

pub use difference::{Difference, Part, Value, What};
pub use text::{pair, several};

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{RunRecord, Series};
use network::pcapng::CapturedFrame;

/// What counts as a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Times that lie no further apart are equal, in nanoseconds.
    pub tolerance_ns: u64,
    /// Whether the octets of frames are compared, too.
    pub payload: bool,
    /// Whether runs of scenarios with other texts are compared, such as of one that is spread over hosts.
    pub any_scenario: bool,
}

/// How much was compared: what both runs have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Compared {
    pub verdicts: u64,
    /// Points of the plant.
    pub series: u64,
    /// How many values of them, over all rows.
    pub points: u64,
    pub captures: u64,
    pub frames: u64,
}

/// Two runs beside each other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub compared: Compared,
    /// The first difference of each kind in each place, the first of all first; none: the same.
    pub differences: Vec<Difference>,
    /// Of runs of one scenario that differ: what they were made of and is not equal, such as the
    /// seed or a program. That makes no difference by itself, and may explain one.
    pub made_of: Vec<String>,
}

impl Comparison {
    /// Whether the runs are the same.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Whether there was nothing by which the runs could differ.
    pub fn is_empty(&self) -> bool {
        self.is_same() && self.compared == Compared::default()
    }
}

/// A comparison under way: the runs part by part.
#[derive(Debug)]
pub struct Comparing<'r> {
    rules: Rules,
    runs: [&'r RunRecord; 2],
    compared: Compared,
    differences: Vec<Difference>,
}

impl<'r> Comparing<'r> {
    /// Compares what the records of the runs say: scenario, end, verdicts.
    pub fn begin(rules: Rules, first: &'r RunRecord, second: &'r RunRecord) -> Self {
        let mut this = Self {
            rules,
            runs: [first, second],
            compared: Compared::default(),
            differences: vec![],
        };
        if !rules.any_scenario {
            this.differences = record::scenario(&first.scenario, &second.scenario);
        }
        if this.is_comparable() {
            this.differences.extend(record::end(first, second));
            let (count, found) = record::verdicts(rules, &first.verdicts, &second.verdicts);
            this.compared.verdicts = count;
            this.differences.extend(found);
        }
        this
    }

    /// Whether the runs are of one variant of one scenario. Otherwise the rest says nothing.
    pub fn is_comparable(&self) -> bool {
        !self.differences.iter().any(|difference| difference.part == Part::Scenario)
    }

    /// Compares the recorded points; `None` if there are none.
    pub fn series(&mut self, first: Option<&Series>, second: Option<&Series>) {
        let none = Series::default();
        let both = [first.unwrap_or(&none), second.unwrap_or(&none)];
        let (count, points, found) = series::compare(self.rules, both);
        (self.compared.series, self.compared.points) = (count, points);
        self.differences.extend(found);
    }

    /// Compares which captures there are, by name; those that both runs have.
    pub fn captures(&mut self, first: &[String], second: &[String]) -> Vec<String> {
        let [one, two] = [first, second].map(|names| names.iter().collect::<BTreeSet<_>>());
        let missing = one.symmetric_difference(&two).map(|name| {
            let is_there = [&one, &two].map(|names| names.contains(name));
            Difference::missing(Part::Capture, name, is_there)
        });
        self.differences.extend(missing);
        let both: Vec<String> = one.intersection(&two).map(|name| (*name).clone()).collect();
        self.compared.captures = both.len() as u64;
        both
    }

    /// Compares the frames of a capture that both runs have.
    ///
    /// # Errors
    /// The first error of one of the captures.
    pub fn frames<E>(
        &mut self,
        name: &str,
        first: impl Iterator<Item = Result<CapturedFrame, E>>,
        second: impl Iterator<Item = Result<CapturedFrame, E>>,
    ) -> Result<(), E> {
        let zeros_ns = self.runs.map(|run| run.realtime_zero_ns);
        let (count, found) = frames::compare(self.rules, name, zeros_ns, first, second)?;
        self.compared.frames += count;
        self.differences.extend(found);
        Ok(())
    }

    /// Ends it: differences stand in the order in which they are to be read.
    pub fn finish(mut self) -> Comparison {
        let explains = self.is_comparable() && !self.differences.is_empty();
        self.differences.sort_by(Difference::in_order);
        Comparison {
            compared: self.compared,
            differences: self.differences,
            made_of: if explains { record::made_of(self.runs) } else { Vec::new() },
        }
    }
}

/// Whether two times are equal, as far as the rules ask.
fn is_near(one_ns: i64, other_ns: i64, tolerance_ns: u64) -> bool {
    one_ns.abs_diff(other_ns) <= tolerance_ns
}

/// Whether two values are equal. What is not known in both runs is.
fn is_equal(one: f64, other: f64) -> bool {
    one == other || one.is_nan() && other.is_nan()
}
