//! What a run should have recorded and did not, or recorded although it is no result: stretches
//! of the plant without a solution, files from some moment on, and hosts that were lost.
//!
//! A verdict that is drawn from what is left must not look like one that is drawn from all. So this
//! is part of `run.json`, and [measures](super::measure) ask it before they call anything known.
//! What came before a hole is known; a requirement that is missed by that alone stays missed.

use serde::{Deserialize, Serialize};

use report_kit::figure::seconds;
use scenario::model::Bounds;

/// What the plant did, as far as verdicts need it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlantRecord {
    pub step_ns: i64,
    /// Steps from scenario time zero on.
    pub steps: u64,
    /// Those of them that are no solutions of the grid.
    pub unconverged: u64,
    /// Solutions before zero that are none.
    pub unconverged_at_rest: u64,
    /// When the state of the plant was no solution: begin, and end, which is not included. So many
    /// of them that they are no more listed one by one are one.
    pub unconverged_ns: Vec<(i64, i64)>,
    /// The share of a window that may be without a solution.
    pub unconverged_share: f64,
    /// Reads of points by programs that had no answer for want of a solution.
    pub refused: Option<Refused>,
}

/// Reads that had no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refused {
    pub count: u64,
    /// Scenario time of the first one.
    pub first_ns: i64,
}

/// A file that lacks something from some moment on. It may go on later: the hole stays.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Loss {
    pub file: String,
    /// Scenario time from which on it is not whole.
    pub from_ns: i64,
    pub reason: String,
}

/// A host without which the run went on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LostHost {
    pub host: String,
    /// Scenario time up to which it is known to have been there.
    pub at_ns: i64,
    /// Why it was taken for lost.
    pub reason: String,
    /// Nodes that were on it.
    pub nodes: Vec<String>,
    /// Switches that were on it: frames of other nodes may have gone through them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
}

impl PlantRecord {
    /// Why the solutions within a window do not make figures; `None` if they do.
    pub fn shortfall(&self, window: Bounds) -> Option<String> {
        let within = |(from, to): &(i64, i64)| {
            let (from, to) = ((*from).max(window.from_ns), (*to).min(window.to_ns));
            (from < to).then_some((from, to))
        };
        let spans: Vec<(i64, i64)> = self.unconverged_ns.iter().filter_map(within).collect();
        let (first, _) = spans.first()?;
        let unsolved: i64 = spans.iter().map(|(from, to)| to - from).sum();
        let share = unsolved as f64 / (window.to_ns - window.from_ns) as f64;
        let (from, long) = (seconds(*first), seconds(unsolved));
        (share > self.unconverged_share).then(|| {
            format!("the plant did not converge from {from} s on, for {long} s of the window")
        })
    }

    /// From when on what programs do in a window is no answer to the plant, if that is so.
    pub fn programs_lost(&self, window: Bounds) -> Option<Loss> {
        let refused = self.refused.filter(|refused| refused.first_ns < window.to_ns)?;
        let whole = Bounds { from_ns: window.from_ns.min(refused.first_ns), ..window };
        self.shortfall(whole).map(|_| Loss {
            file: String::new(),
            from_ns: refused.first_ns,
            reason: "programs could not read the plant, which did not converge".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(spans: &[(i64, i64)], share: f64) -> PlantRecord {
        let unconverged_ns = spans.to_vec();
        PlantRecord { unconverged_ns, unconverged_share: share, ..PlantRecord::default() }
    }

    #[test]
    fn only_what_lies_within_the_window_counts() {
        let window = Bounds { from_ns: 100, to_ns: 200 };
        assert_eq!(plant(&[(0, 100), (200, 300)], 0.0).shortfall(window), None);
        assert!(plant(&[(0, 101)], 0.0).shortfall(window).is_some());
        assert!(plant(&[(199, 300)], 0.0).shortfall(window).is_some());
    }

    #[test]
    fn a_share_may_be_allowed_and_no_more() {
        let window = Bounds { from_ns: 0, to_ns: 1000 };
        assert_eq!(plant(&[(10, 15), (20, 25)], 0.01).shortfall(window), None);
        assert!(plant(&[(10, 15), (20, 26)], 0.01).shortfall(window).is_some());
    }

    #[test]
    fn what_programs_did_before_they_got_no_answer_is_known() {
        let mut plant = plant(&[(50, 60)], 0.0);
        let window = Bounds { from_ns: 100, to_ns: 200 };
        assert_eq!(plant.programs_lost(window), None);
        plant.refused = Some(Refused { count: 1, first_ns: 55 });
        assert_eq!(plant.programs_lost(window).unwrap().from_ns, 55);
        assert_eq!(plant.programs_lost(Bounds { from_ns: 0, to_ns: 55 }), None);
    }
}
