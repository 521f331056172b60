//! The signs by which a reader knows runs and outcomes again, wherever the page speaks of them.

use super::chart::line_class;
use super::loaded::Loaded;
use report_kit::html::escape;
use report_kit::outcome::Outcome;

/// The name of a run with a piece of its line.
pub(super) fn chip(run: &Loaded) -> String {
    format!(
        "<svg class=\"chip {}\" viewBox=\"0 0 28 6\" aria-hidden=\"true\"><path d=\"M0 3H28\"/></svg>{}",
        line_class(run.number),
        escape(&run.label)
    )
}

/// The class and the sign of an outcome.
pub(super) fn outcome(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Met => ("met", "✓"),
        Outcome::Missed => ("missed", "✗"),
        Outcome::Disturbed => ("unknown", "~"),
        Outcome::NotMeasured => ("unknown", "?"),
    }
}
