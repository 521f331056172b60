//! The page on two runs: what changed in each cell, and the pictures of both over each other.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::{SCRIPT, STYLE, boxes, shown_limits, tables, tail};
use crate::compare::{Compared, row};
use crate::digest::Digest;
use report_kit::html::escape;
use report_kit::page::Page;

impl Compared {
    /// Writes the page.
    ///
    /// # Errors
    /// With the path, if it cannot be written.
    pub fn write_page(&self, path: &Path) -> Result<()> {
        let page = Page {
            title: "Platform latency: two runs".to_owned(),
            body: body(self),
            style: STYLE,
            data: "null".to_owned(),
            script: SCRIPT,
        };
        page.write(path)
    }
}

fn body(compared: &Compared) -> String {
    let both: Vec<Digest> = compared.pairs.iter().flat_map(named).collect();
    let limits = shown_limits(&both);
    let mut out = format!(
        "<header><p class=\"kind\">What changed?</p><h1>Platform latency: two runs</h1>\
         <p class=\"lead\">First: <code>{}</code><br>Second: <code>{}</code></p></header>",
        escape(&compared.first),
        escape(&compared.second)
    );
    out.push_str(
        "<section id=\"figures\"><h2>Cell by cell</h2><div class=\"scroll\"><table class=\"layout\"><thead><tr><th>µs</th>\
         <th class=\"number\">Median</th><th class=\"number\">second</th><th class=\"number\">p99.9</th><th class=\"number\">second</th>\
         <th class=\"number\">Max</th><th class=\"number\">second</th><th class=\"number\">P(second later)</th>\
         <th class=\"number\">Rank test p</th><th class=\"number\">Distance</th><th>Change</th><th>Marks</th></tr></thead><tbody>",
    );
    for pair in &compared.pairs {
        let fields = row(pair);
        let last = fields.len() - 1;
        for (column, field) in fields.iter().enumerate() {
            let field = escape(field);
            let _ = match column {
                0 => write!(out, "<tr><th scope=\"row\">{field}</th>"),
                column if column == last => {
                    let mark = if field.is_empty() {
                        String::new()
                    } else {
                        format!("<span class=\"mark\">{field}</span>")
                    };
                    write!(out, "<td>{mark}</td></tr>")
                }
                column if column + 1 == last => write!(out, "<td><b>{field}</b></td>"),
                _ => write!(out, "<td class=\"number\">{field}</td>"),
            };
        }
    }
    out.push_str(
        "</tbody></table></div><p class=\"source\">P(second later): probability that a sample of \
         the second run is later than one of the first, 0.5 if nothing differs; a difference of \
         more than 0.06 counts as a change. With many samples every difference is significant, so \
         check this before the p of the rank test (Mann and Whitney). Distance: the largest \
         difference between the two cumulative distributions (Kolmogorov and Smirnov). Both tests \
         assume independent samples.</p></section>",
    );
    for name in &compared.unmatched {
        let _ = write!(out, "<p class=\"early\">Only in one of them: {}</p>", escape(name));
    }
    let _ = write!(
        out,
        "<section id=\"pictures\"><h2>Pictures</h2><figure><figcaption><b>Box plots.</b> \
         Whiskers, quartiles and median; the diamond is the mean, the dot the \
         maximum.</figcaption><div class=\"wide\">{}</div></figure><figure \
         id=\"tails\"><figcaption><b>Cumulative distributions.</b> Share of samples that took \
         longer than this; the dot at the end is the maximum.</figcaption>{}<div \
         class=\"wide\">{}</div></figure></section><section><h2>Verdicts</h2>{}</section>",
        boxes::svg(&both, &[], &limits),
        tail::chooser(&both),
        tail::svg(&both, &limits),
        tables::matrix_without_links(&both)
    );
    out
}

/// Both cells of a pair, named by the run they are of.
fn named(pair: &crate::compare::Pair) -> [Digest; 2] {
    let named =
        |of: &Digest, run: &str| Digest { name: format!("{}, {run}", of.name), ..of.clone() };
    [named(&pair.first, "first"), named(&pair.second, "second")]
}
