//! The verdicts of several runs at a glance: a row for each requirement, a column for each run.

use std::fmt::Write as _;

use super::loaded::Loaded;
use super::signs::{chip, outcome};
use crate::Verdict;
use report_kit::html::escape;

/// The table; nothing where there is one run, whose verdicts follow anyway.
pub(super) fn section(runs: &[Loaded]) -> String {
    let names = requirements(runs);
    if runs.len() < 2 || names.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2>All verdicts</h2><div class=\"scroll\"><table class=\"matrix\"><thead><tr>\
         <th>Requirement</th>",
    );
    for run in runs {
        let _ = write!(out, "<th><a href=\"#run{}\">{}</a></th>", run.number, chip(run));
    }
    out.push_str("</tr></thead><tbody>");
    for name in names {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for run in runs {
            out.push_str(&cell(run.verdicts.iter().find(|v| v.requirement.name == name)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Names of requirements, each once, in the order in which runs first have them.
fn requirements(runs: &[Loaded]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for verdict in runs.iter().flat_map(|run| &run.verdicts) {
        if !names.contains(&verdict.requirement.name.as_str()) {
            names.push(&verdict.requirement.name);
        }
    }
    names
}

fn cell(verdict: Option<&Verdict>) -> String {
    let Some(verdict) = verdict else {
        return "<td class=\"quiet\">not asked</td>".to_owned();
    };
    let (class, sign) = outcome(verdict.outcome);
    format!(
        "<td class=\"outcome {class}\"><span aria-hidden=\"true\">{sign}</span> {}<i>{}</i></td>",
        verdict.outcome.words(),
        escape(&verdict.value_text())
    )
}
