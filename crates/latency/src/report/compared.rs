//! The page on two runs: what changed in each cell, and the pictures of both over each other.

use std::path::Path;

use anyhow::Result;
use maud::{Markup, html};

use super::{SCRIPT, STYLE, sections, shown_limits, tables};
use crate::compare::{Compared, row};
use crate::digest::Digest;
use report_kit::page::{Page, heads, number, row_head, table};

const TITLE: &str = "Platform latency: two runs";

impl Compared {
    pub(crate) fn write_page(&self, path: &Path) -> Result<()> {
        let page = Page {
            title: TITLE.to_owned(),
            body: body(self),
            style: STYLE,
            data: serde_json::Value::Null,
            script: SCRIPT,
        };
        page.write(path)
    }
}

fn body(compared: &Compared) -> Markup {
    let both: Vec<Digest> = compared.pairs.iter().flat_map(named).collect();
    let columns = [
        "µs",
        "#Median",
        "#second",
        "#p99.9",
        "#second",
        "#Max",
        "#second",
        "#P(second later)",
        "#Rank test p",
        "#Distance",
        "Change",
        "Marks",
    ];
    let rows = html! { @for pair in &compared.pairs { tr { (fields(&row(pair))) } } };
    html! {
        header {
            p.kind { "What changed?" }
            h1 { (TITLE) }
            p.lead { "First: " code { (compared.first) } br; "Second: " code { (compared.second) } }
        }
        section #figures {
            h2 { "Cell by cell" }
            (table("layout", &heads(&columns), &rows))
            p.source {
                "P(second later): probability that a sample of the second run is later than one of the \
                 first, 0.5 if nothing differs; a difference of more than 0.06 counts as a change. With \
                 many samples every difference is significant, so check this before the p of the rank \
                 test (Mann and Whitney). Distance: the largest difference between the two cumulative \
                 distributions (Kolmogorov and Smirnov). Both tests assume independent samples."
            }
        }
        @for name in &compared.unmatched { p.early { "Only in one of them: " (name) } }
        (sections::pictures(&both, &[], &shown_limits(&both)))
        section { h2 { "Verdicts" } (tables::matrix(&both, false)) }
    }
}

/// A row: the name, numbers, the change in a word, and marks.
fn fields(fields: &[String]) -> Markup {
    let [name, numbers @ .., change, marks] = fields else { return html! {} };
    html! {
        (row_head(name))
        @for field in numbers { (number(field)) }
        td { b { (change) } }
        td { @if !marks.is_empty() { span.mark { (marks) } } }
    }
}

/// Both cells of a pair, named by the run they are of.
fn named(pair: &crate::compare::Pair) -> [Digest; 2] {
    let named =
        |of: &Digest, run: &str| Digest { name: format!("{}, {run}", of.name), ..of.clone() };
    [named(&pair.first, "first"), named(&pair.second, "second")]
}
