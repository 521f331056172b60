//! The verdicts of several runs at a glance: a row for each requirement, a column for each run.

use maud::{Markup, html};

use super::loaded::Loaded;
use super::signs::{chip, outcome};
use report_kit::page::{distinct, row_head, table};

/// The table; nothing where there is one run, whose verdicts follow anyway.
pub(super) fn section(runs: &[Loaded]) -> Markup {
    let verdicts = runs.iter().flat_map(|run| &run.verdicts);
    let names = distinct(verdicts.map(|verdict| verdict.requirement.name.as_str()));
    if runs.len() < 2 || names.is_empty() {
        return html! {};
    }
    let heads = html! {
        th { "Requirement" }
        @for run in runs { th { a href={ "#run" (run.number) } { (chip(run)) } } }
    };
    let rows = html! {
        @for name in names {
            tr {
                (row_head(name))
                @for run in runs { (cell(run, name)) }
            }
        }
    };
    html! { h2 { "All verdicts" } (table("matrix", &heads, &rows)) }
}

fn cell(run: &Loaded, name: &str) -> Markup {
    match run.verdicts.iter().find(|verdict| verdict.requirement.name == name) {
        Some(verdict) => outcome(verdict.outcome, &html! { i { (verdict.value_text()) } }),
        None => html! { td.quiet { "not asked" } },
    }
}
