//! The signs by which a reader knows runs and outcomes again, wherever the page speaks of them.

use maud::{Markup, html};

use super::chart::line_class;
use super::loaded::Loaded;
use report_kit::outcome::Outcome;

/// The name of a run with a piece of its line.
pub(super) fn chip(run: &Loaded) -> Markup {
    html! {
        svg class={ "chip " (line_class(run.number)) } viewBox="0 0 28 6" aria-hidden="true" { path d="M0 3H28" {} }
        (run.label)
    }
}

/// A cell with an outcome, and with more in it.
pub(super) fn outcome(outcome: Outcome, more: &Markup) -> Markup {
    let (class, sign) = outcome.sign();
    html! {
        td.outcome.(class) { span aria-hidden="true" { (sign) } " " (outcome.words()) (more) }
    }
}
