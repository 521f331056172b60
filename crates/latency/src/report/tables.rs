//! The tables of the page: the published layout with the published figures beside ours, verdicts,
//! and what is said of a single cell.

use std::fmt::Write as _;

use super::Absent;
use super::plots::colour;
use super::scale::{count_text, time_text};
use super::words::{cause, eaten, three};
use crate::digest::Digest;
use crate::published::{self, PublishedBox};
use crate::verdict::{Group, Quantity, Verdict, ms, percent};
use report_kit::figure::figure;
use report_kit::html::escape;
use report_kit::outcome::Outcome;
use report_kit::statistics::percentile::samples_needed;
use report_kit::statistics::{Percentile, Summary};

/// Heads of the published layout, all in ms.
const LAYOUT: [&str; 8] = [
    "Lower whisker",
    "Lower quartile",
    "Median",
    "Mean",
    "Std",
    "Upper quartile",
    "Upper whisker",
    "Max jitter",
];

/// The number of the testing profile that a profile is, if it is one: `tp3`, `tp3-short`.
pub(super) fn testing_profile(profile: &str) -> Option<u32> {
    let rest = profile.strip_prefix("tp")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Published rows of the testing profiles that these cells have.
pub(super) fn published_beside(cells: &[Digest]) -> Vec<PublishedBox> {
    let ours: Vec<u32> = cells.iter().filter_map(|cell| testing_profile(&cell.profile)).collect();
    published::boxes().into_iter().filter(|row| ours.contains(&row.profile)).collect()
}

/// The marks of a cell, each explained where the pointer rests.
pub(super) fn marks(cell: &Digest) -> String {
    let mark = |mark: &crate::cell::Mark| {
        let told = format!("{mark}. {}", mark.kind.meaning());
        format!("<span class=\"mark\" title=\"{}\">{}</span>", escape(&told), mark.kind.words())
    };
    cell.marks.iter().map(mark).collect::<Vec<_>>().join(" ")
}

/// The name of a cell with its colour.
pub(super) fn chip(number: usize, name: &str) -> String {
    format!("<span class=\"chip {}\"></span>{}", colour(number), escape(name))
}

/// All cells in the published layout, also those that could not be measured, each group of the same
/// profile followed by what others measured under it.
pub(super) fn layout(cells: &[Digest], absent: &[Absent]) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"layout\"><thead><tr><th>ms</th>");
    out.push_str("<th class=\"number\">Samples</th>");
    for head in LAYOUT {
        let _ = write!(out, "<th class=\"number\">{head}</th>");
    }
    out.push_str("<th class=\"number\">Max</th><th>Marks</th></tr></thead><tbody>");
    let mut profiles: Vec<&str> = Vec::new();
    let measured = cells.iter().map(|cell| cell.profile.as_str());
    for profile in measured.chain(absent.iter().map(|absent| absent.parts().1)) {
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    for profile in profiles {
        let _ = write!(
            out,
            "<tr class=\"group\"><th colspan=\"12\">{}</th></tr>",
            escape(&profile.to_uppercase())
        );
        for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.profile == profile) {
            measured_row(&mut out, number, cell);
        }
        for absent in absent.iter().filter(|absent| absent.parts().1 == profile) {
            let _ = write!(
                out,
                "<tr class=\"absent\"><th scope=\"row\">{}</th><td colspan=\"11\">not measured: {}</td></tr>",
                escape(absent.parts().0),
                escape(&absent.reason)
            );
        }
        let theirs = published::boxes();
        for row in theirs.iter().filter(|row| Some(row.profile) == testing_profile(profile)) {
            published_row(&mut out, row);
        }
    }
    out.push_str("</tbody></table></div>");
    out
}

fn measured_row(out: &mut String, number: usize, cell: &Digest) {
    let _ = write!(
        out,
        "<tr><th scope=\"row\"><a href=\"#cell{number}\">{}</a></th>",
        chip(number, &cell.platform)
    );
    figures(out, cell.summary.as_ref());
    let _ = write!(out, "<td>{}</td></tr>", marks(cell));
}

/// Samples, the eight published figures, and the maximum.
fn figures(out: &mut String, summary: Option<&Summary>) {
    let Some(s) = summary else {
        out.push_str("<td class=\"number\">0</td>");
        out.push_str(&"<td class=\"number\">–</td>".repeat(9));
        return;
    };
    let _ = write!(out, "<td class=\"number\">{}</td>", count_text(s.count));
    let all = [
        s.lower_whisker,
        s.lower_quartile,
        s.median,
        s.mean,
        s.deviation,
        s.upper_quartile,
        s.upper_whisker,
        s.maximum_jitter,
        s.maximum,
    ];
    for ns in all {
        let _ = write!(out, "<td class=\"number\" title=\"{}\">{}</td>", time_text(ns), three(ns));
    }
}

fn published_row(out: &mut String, row: &PublishedBox) {
    let _ = write!(
        out,
        "<tr class=\"theirs\"><th scope=\"row\">{}</th><td class=\"number\">–</td>",
        escape(&row.system)
    );
    for value in row.figures_ms {
        let _ = write!(out, "<td class=\"number\">{value:.3}</td>");
    }
    let _ = write!(out, "<td class=\"number\">–</td><td class=\"quiet\">{}</td></tr>", row.study);
}

/// The sign of an outcome, with its class.
pub(super) fn sign(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Met => ("met", "✓"),
        Outcome::Missed => ("missed", "✗"),
        // Cells are measured in host time and know no disturbed ones; were there any, they said nothing.
        Outcome::Disturbed | Outcome::NotMeasured => ("unknown", "?"),
    }
}

/// A row for each cell, which links to it, a column for each limit that the answer may rest on.
pub(super) fn matrix(cells: &[Digest]) -> String {
    matrix_of(cells, |number, name| format!("<a href=\"#cell{number}\">{name}</a>"))
}

/// The same on a page that has no more to say about its cells.
pub(super) fn matrix_without_links(cells: &[Digest]) -> String {
    matrix_of(cells, |_, name| name)
}

fn matrix_of(cells: &[Digest], name: impl Fn(usize, String) -> String) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let single = |verdict: &&Verdict| verdict.limit.group != Group::Service;
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th>Cell</th>");
    for verdict in first.verdicts.iter().filter(single) {
        let title = format!("{}: {}", ms(verdict.limit.budget_ns as f64), verdict.limit.source);
        let _ =
            write!(out, "<th title=\"{}\">{}</th>", escape(&title), escape(&verdict.limit.name));
    }
    out.push_str("<th>Marks</th></tr></thead><tbody>");
    for (number, cell) in cells.iter().enumerate() {
        let chip = name(number, chip(number, &cell.name));
        let _ = write!(out, "<tr><th scope=\"row\">{chip}</th>");
        for verdict in cell.verdicts.iter().filter(single) {
            out.push_str(&verdict_cell(verdict));
        }
        let _ = write!(out, "<td>{}</td></tr>", marks(cell));
    }
    out.push_str("</tbody></table></div>");
    out
}

fn verdict_cell(verdict: &Verdict) -> String {
    let (class, sign) = sign(verdict.outcome);
    let beside = match verdict.eats {
        Some(eats) => format!("eats {}", eaten(eats)),
        None => verdict.outcome.words().to_owned(),
    };
    format!(
        "<td title=\"{}\"><span class=\"outcome {class}\"><span aria-label=\"{}\">{sign}</span></span> {beside}</td>",
        escape(&format!("{}: {}", verdict.statistic, verdict.reason)),
        verdict.outcome.words()
    )
}

/// The services of the published list: a row for each, a column for each cell.
pub(super) fn services(cells: &[Digest]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th>Service</th><th>Allows</th>",
    );
    for (number, cell) in cells.iter().enumerate() {
        let _ = write!(out, "<th>{}</th>", chip(number, &cell.name));
    }
    out.push_str("</tr></thead><tbody>");
    for (index, verdict) in first.verdicts.iter().enumerate() {
        if verdict.limit.group != Group::Service {
            continue;
        }
        let quantity = match verdict.limit.quantity {
            Quantity::Latency => "latency",
            Quantity::Jitter => "jitter",
        };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{quantity} {}</td>",
            escape(&verdict.limit.name),
            ms(verdict.limit.budget_ns as f64)
        );
        for cell in cells {
            out.push_str(&verdict_cell(&cell.verdicts[index]));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Each limit of a cell with what its verdict rests on.
pub(super) fn verdicts(cell: &Digest) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table \
         class=\"verdict-list\"><thead><tr><th>Verdict</th><th>Limit</th><th \
         class=\"number\">Budget</th><th class=\"number\">Measured</th><th \
         class=\"number\">Uses</th><th class=\"number\">Leaves</th><th>Statistic and \
         reason</th></tr></thead><tbody>",
    );
    for verdict in &cell.verdicts {
        let (class, sign) = sign(verdict.outcome);
        let name = match verdict.limit.quantity {
            Quantity::Latency => verdict.limit.name.clone(),
            Quantity::Jitter => format!("{}, jitter", verdict.limit.name),
        };
        let text = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), ms);
        let _ = write!(
            out,
            "<tr><td class=\"outcome {class}\">{sign} {}</td><td>{}<span class=\"source\"> {}</span></td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}; {}</td></tr>",
            verdict.outcome.words(),
            escape(&name),
            escape(&verdict.limit.source),
            ms(verdict.limit.budget_ns as f64),
            text(verdict.value_ns),
            verdict.eats.map_or_else(|| "–".to_owned(), eaten),
            text(verdict.leaves_ns).replace('-', "−"),
            escape(&verdict.statistic),
            escape(&verdict.reason)
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Each core, and all of them over time, in the published layout.
pub(super) fn parts(cell: &Digest) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"layout\"><thead><tr><th>ms</th>");
    out.push_str("<th class=\"number\">Samples</th>");
    for head in LAYOUT {
        let _ = write!(out, "<th class=\"number\">{head}</th>");
    }
    out.push_str("<th class=\"number\">Max</th></tr></thead><tbody>");
    for thread in &cell.threads {
        let name = thread
            .core
            .map_or_else(|| format!("thread {}", thread.thread), |core| format!("core {core}"));
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
        figures(&mut out, thread.summary.as_ref());
        out.push_str("</tr>");
    }
    let timed = cell.over_time.iter().filter(|portion| portion.divisor > 1 || cell.length_ns > 0);
    for portion in timed {
        let name = if portion.divisor == 1 {
            format!("all of {}", time_text(portion.until_ns as f64))
        } else {
            format!("first 1/{}, {}", portion.divisor, time_text(portion.until_ns as f64))
        };
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
        figures(&mut out, portion.summary.as_ref());
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// How the latency divides, where the kernel noted it; empty where it did not.
pub(super) fn split(cell: &Digest) -> String {
    if cell.parts.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h4>Parts of the latency</h4><div class=\"scroll\"><table class=\"figures\"><thead><tr><th>Part</th>\
         <th class=\"number\">Samples</th><th class=\"number\">Min</th><th class=\"number\">Median</th>\
         <th class=\"number\">p99</th><th class=\"number\">p99.9</th><th class=\"number\">Max</th></tr></thead><tbody>",
    );
    for part in &cell.parts {
        let (name, count) = (escape(&part.name), count_text(part.count));
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th><td class=\"number\">{count}</td>");
        for ns in [part.minimum, part.median, part.p99, part.p99_9, part.maximum] {
            let _ = write!(out, "<td class=\"number\">{}</td>", time_text(ns));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// High percentiles with their intervals, and the maximum to be expected.
pub(super) fn extremes(cell: &Digest) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"figures\"><thead><tr><th>Statistic</th><th \
         class=\"number\">Value</th><th>95 % interval</th><th>Based on</th></tr></thead><tbody>",
    );
    if let Some(s) = &cell.summary {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">mean</th><td class=\"number\">{}</td><td>± {}</td><td>{} samples, as if independent</td></tr>",
            time_text(s.mean),
            time_text(s.mean_confidence),
            count_text(s.count)
        );
    }
    for of in &cell.percentiles {
        percentile(&mut out, cell, of);
    }
    match &cell.return_level {
        Some(level) => {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">return level of {}</th><td class=\"number\">{}</td><td>{} \
                 to {}</td><td>maxima of {} blocks of {} samples; for the same load</td></tr>",
                period_text(cell.return_period_ns),
                time_text(level.level),
                time_text(level.lower),
                time_text(level.upper),
                level.blocks,
                count_text(level.block_samples as u64)
            );
        }
        None => {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">return level</th><td \
                 class=\"number\">–</td><td>–</td><td>too few consecutive samples: {} of each \
                 thread are needed</td></tr>",
                count_text(Digest::samples_for_return_level() as u64)
            );
        }
    }
    out.push_str("</tbody></table></div>");
    out
}

fn percentile(out: &mut String, cell: &Digest, of: &Percentile) {
    let count = cell.summary.map_or(0, |summary| summary.count);
    let _ = write!(out, "<tr><th scope=\"row\">p{}</th>", percent(of.share));
    let _ = match of.upper {
        Some(upper) => write!(
            out,
            "<td class=\"number\">{}</td><td>{} to {}</td><td>{} samples</td></tr>",
            time_text(of.value),
            time_text(of.lower),
            time_text(upper),
            count_text(count)
        ),
        None => write!(
            out,
            "<td class=\"number\">–</td><td>–</td><td>too few samples: {} of {}</td></tr>",
            count_text(count),
            count_text(samples_needed(of.share))
        ),
    };
}

/// A time of minutes to months.
pub(super) fn period_text(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    let (value, unit) = match seconds {
        s if s < 300.0 => (s, "s"),
        s if s < 3.0 * 3_600.0 => (s / 60.0, "min"),
        s if s < 72.0 * 3_600.0 => (s / 3_600.0, "h"),
        s => (s / 86_400.0, "days"),
    };
    format!("{} {unit}", figure((value * 10.0).round() / 10.0))
}

/// The latest samples, and who is to blame.
pub(super) fn worst(cell: &Digest) -> String {
    let found = &cell.attribution;
    if found.worst.is_empty() {
        return "<p class=\"quiet\">A histogram has no times, so causes are unknown.</p>"
            .to_owned();
    }
    let limit = time_text(f64::from(found.limit_ns));
    let mut out = match found.late {
        0 => format!("<p>No sample was later than {limit}. The latest ones:</p>"),
        late => {
            let causes: Vec<String> = found
                .causes
                .iter()
                .map(|(kind, count)| format!("{}: {}", cause(*kind), count_text(*count)))
                .collect();
            format!(
                "<p><b>{}</b> of {} samples later than {limit}. {}.</p>",
                count_text(late),
                count_text(cell.summary.map_or(0, |summary| summary.count)),
                causes.join(", ")
            )
        }
    };
    out.push_str(
        "<div class=\"scroll\"><table class=\"figures worst\"><thead><tr><th class=\"number\">Latency</th><th class=\"number\">At</th>\
         <th>Core</th><th>Cause</th><th>Who</th></tr></thead><tbody>",
    );
    for blamed in &found.worst {
        let core = blamed.core.map_or_else(|| "–".to_owned(), |core| core.to_string());
        let _ = write!(
            out,
            "<tr><td class=\"number\">{}</td><td class=\"number\">{} s</td><td>{core}</td><td><span class=\"band {}\"></span>{}</td><td>{}</td></tr>",
            time_text(f64::from(blamed.latency_ns)),
            figure((blamed.at_ns as f64 / 1e6).round() / 1e3),
            blamed.cause.name(),
            cause(blamed.cause),
            escape(&blamed.who)
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Means and maxima of cyclictest in other studies, below ours.
pub(super) fn maxima(cells: &[Digest]) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"layout\"><thead><tr><th>µs</th><th class=\"number\">Mean</th>\
         <th class=\"number\">Max</th><th>Study</th></tr></thead><tbody>",
    );
    for (number, cell) in cells.iter().enumerate() {
        let Some(s) = &cell.summary else { continue };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{:.1}</td><td class=\"number\">{:.1}</td><td>{}</td></tr>",
            chip(number, &cell.name),
            s.mean / 1e3,
            s.maximum / 1e3,
            marks(cell)
        );
    }
    for row in published::maxima() {
        let _ = write!(
            out,
            "<tr class=\"theirs\"><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"quiet\">{}</td></tr>",
            escape(&row.system),
            row.mean_us,
            row.max_us,
            row.study
        );
    }
    out.push_str("</tbody></table></div>");
    out
}
