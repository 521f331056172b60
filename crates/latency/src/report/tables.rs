//! The tables of the page: the published layout with the published figures beside ours, verdicts,
//! and what is said of a single cell.

use maud::{Markup, html};

use super::Absent;
use super::plots::colour;
use super::scale::time_text;
use super::words::{LAYOUT, cause, eaten, layout, three};
use crate::digest::Digest;
use crate::published::{self, PublishedBox};
use crate::verdict::{Group, Quantity, Verdict, ms, percent};
use report_kit::figure::{count_text, figure};
use report_kit::page::{distinct, heads, number, row_head, table};
use report_kit::statistics::percentile::samples_needed;
use report_kit::statistics::{Percentile, ReturnLevel, Summary, extremes};

/// What stands for a figure that there is none of.
const NONE: &str = "–";

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
pub(super) fn marks(cell: &Digest) -> Markup {
    html! {
        @for (index, mark) in cell.marks.iter().enumerate() {
            @if index > 0 { " " }
            span.mark title=(format_args!("{mark}. {}", mark.kind.meaning())) { (mark.kind.words()) }
        }
    }
}

/// The name of a cell with its colour.
pub(super) fn chip(number: usize, name: &str) -> Markup {
    html! { span class={ "chip " (colour(number)) } {} (name) }
}

/// A name that leads to the cell of this number.
fn link(number: usize, name: &Markup) -> Markup {
    html! { a href={ "#cell" (number) } { (name) } }
}

/// The head of a table in the published layout, all in ms.
fn layout_heads() -> Markup {
    html! {
        th { "ms" } th.number { "Samples" }
        @for name in LAYOUT { th.number { (name) } }
        th.number { "Max" }
    }
}

/// All cells in the published layout, also those that could not be measured, each group of the same
/// profile followed by what others measured under it.
pub(super) fn figures(cells: &[Digest], absent: &[Absent]) -> Markup {
    let measured = cells.iter().map(|cell| cell.profile.as_str());
    let profiles = distinct(measured.chain(absent.iter().map(|absent| absent.parts().1)));
    let theirs = published::boxes();
    let rows = html! {
        @for profile in profiles {
            tr.group { th colspan="12" { (profile.to_uppercase()) } }
            @for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.profile == profile) {
                tr {
                    (row_head(link(number, &chip(number, &cell.platform))))
                    (figures_of(cell.summary.as_ref()))
                    td { (marks(cell)) }
                }
            }
            @for absent in absent.iter().filter(|absent| absent.parts().1 == profile) {
                tr.absent { (row_head(absent.parts().0)) td colspan="11" { "not measured: " (absent.reason) } }
            }
            @for row in theirs.iter().filter(|row| Some(row.profile) == testing_profile(profile)) {
                tr.theirs {
                    (row_head(&row.system)) (number(NONE))
                    @for value in row.figures_ms { (number(format_args!("{value:.3}"))) }
                    (number(NONE)) td.quiet { (row.study) }
                }
            }
        }
    };
    table("layout", &html! { (layout_heads()) th { "Marks" } }, &rows)
}

/// Samples, the eight published figures, and the maximum.
fn figures_of(summary: Option<&Summary>) -> Markup {
    let ms = |ns: f64| html! { td.number title=(time_text(ns)) { (three(ns)) } };
    html! {
        @if let Some(s) = summary {
            (number(count_text(s.count)))
            @for ns in layout(s) { (ms(ns)) }
            (ms(s.maximum))
        } @else {
            (number(0))
            @for _ in 0..=LAYOUT.len() { (number(NONE)) }
        }
    }
}

/// A row for each cell, a column for each limit that the answer may rest on. Rows link to their
/// cells where the page has more to say about them.
pub(super) fn matrix(cells: &[Digest], linked: bool) -> Markup {
    let Some(first) = cells.first() else { return html! {} };
    let single = |verdict: &&Verdict| verdict.limit.group != Group::Service;
    let title = |of: &Verdict| format!("{}: {}", ms(of.limit.budget_ns as f64), of.limit.source);
    let heads = html! {
        th { "Cell" }
        @for verdict in first.verdicts.iter().filter(single) { th title=(title(verdict)) { (verdict.limit.name) } }
        th { "Marks" }
    };
    let rows = html! {
        @for (number, cell) in cells.iter().enumerate() {
            @let name = chip(number, &cell.name);
            tr {
                (row_head(if linked { link(number, &name) } else { name }))
                @for verdict in cell.verdicts.iter().filter(single) { (verdict_cell(verdict)) }
                td { (marks(cell)) }
            }
        }
    };
    table("matrix", &heads, &rows)
}

fn verdict_cell(verdict: &Verdict) -> Markup {
    let (class, sign) = verdict.outcome.sign();
    let words = verdict.outcome.words();
    let beside = verdict.eats.map_or_else(|| words.to_owned(), |of| format!("eats {}", eaten(of)));
    html! {
        td title=(format_args!("{}: {}", verdict.statistic, verdict.reason)) {
            span.outcome.(class) { span aria-label=(words) { (sign) } } " " (beside)
        }
    }
}

/// The services of the published list: a row for each, a column for each cell.
pub(super) fn services(cells: &[Digest]) -> Markup {
    let Some(first) = cells.first() else { return html! {} };
    let quantity = |quantity| match quantity {
        Quantity::Latency => "latency",
        Quantity::Jitter => "jitter",
    };
    let is_service = |(_, verdict): &(usize, &Verdict)| verdict.limit.group == Group::Service;
    let heads = html! {
        (heads(&["Service", "Allows"]))
        @for (number, cell) in cells.iter().enumerate() { th { (chip(number, &cell.name)) } }
    };
    let rows = html! {
        @for (index, verdict) in first.verdicts.iter().enumerate().filter(is_service) {
            tr {
                (row_head(&verdict.limit.name))
                td { (quantity(verdict.limit.quantity)) " " (ms(verdict.limit.budget_ns as f64)) }
                @for cell in cells { (verdict_cell(&cell.verdicts[index])) }
            }
        }
    };
    table("matrix", &heads, &rows)
}

/// Each limit of a cell with what its verdict rests on.
pub(super) fn verdicts(cell: &Digest) -> Markup {
    let text = |ns: Option<f64>| ns.map_or_else(|| NONE.to_owned(), ms);
    let rows = html! {
        @for verdict in &cell.verdicts {
            @let (class, sign) = verdict.outcome.sign();
            tr {
                td.outcome.(class) { (sign) " " (verdict.outcome.words()) }
                td {
                    (verdict.limit.name) @if verdict.limit.quantity == Quantity::Jitter { ", jitter" }
                    span.source { " " (verdict.limit.source) }
                }
                (number(ms(verdict.limit.budget_ns as f64)))
                (number(text(verdict.value_ns)))
                (number(verdict.eats.map_or_else(|| NONE.to_owned(), eaten)))
                (number(text(verdict.leaves_ns).replace('-', "−")))
                td { (verdict.statistic) "; " (verdict.reason) }
            }
        }
    };
    let columns =
        ["Verdict", "Limit", "#Budget", "#Measured", "#Uses", "#Leaves", "Statistic and reason"];
    table("verdict-list", &heads(&columns), &rows)
}

/// Each core, and all of them over time, in the published layout.
pub(super) fn parts(cell: &Digest) -> Markup {
    let threads = cell.threads.iter().map(|thread| (thread.name(), thread.summary.as_ref()));
    let timed = cell.over_time.iter().filter(|portion| portion.divisor > 1 || cell.length_ns > 0);
    let timed = timed.map(|portion| {
        let until = time_text(portion.until_ns as f64);
        let name = match portion.divisor {
            1 => format!("all of {until}"),
            divisor => format!("first 1/{divisor}, {until}"),
        };
        (name, portion.summary.as_ref())
    });
    let rows = html! {
        @for (name, summary) in threads.chain(timed) { tr { (row_head(name)) (figures_of(summary)) } }
    };
    table("layout", &layout_heads(), &rows)
}

/// How the latency divides, where the kernel noted it; empty where it did not.
pub(super) fn split(cell: &Digest) -> Markup {
    if cell.parts.is_empty() {
        return html! {};
    }
    let rows = html! {
        @for part in &cell.parts {
            tr {
                (row_head(&part.name)) (number(count_text(part.count)))
                @for ns in [part.minimum, part.median, part.p99, part.p99_9, part.maximum] { (number(time_text(ns))) }
            }
        }
    };
    let columns = ["Part", "#Samples", "#Min", "#Median", "#p99", "#p99.9", "#Max"];
    html! { h4 { "Parts of the latency" } (table("figures", &heads(&columns), &rows)) }
}

/// High percentiles with their intervals, and the maximum to be expected.
pub(super) fn extremes(cell: &Digest) -> Markup {
    let rows = html! {
        @if let Some(s) = &cell.summary {
            tr {
                (row_head("mean")) (number(time_text(s.mean)))
                td { "± " (time_text(s.mean_confidence)) } td { (count_text(s.count)) " samples, as if independent" }
            }
        }
        @for of in &cell.percentiles { tr { (row_head(format_args!("p{}", percent(of.share)))) (percentile(cell, of)) } }
        @match &cell.return_level {
            Some(level) => { (return_level(level, cell.return_period_ns)) }
            None => {
                tr {
                    (row_head("return level")) (number(NONE)) td { (NONE) }
                    td {
                        "too few consecutive samples: " (count_text(extremes::SAMPLES_NEEDED as u64))
                        " of each thread are needed"
                    }
                }
            }
        }
    };
    table("figures", &heads(&["Statistic", "#Value", "95 % interval", "Based on"]), &rows)
}

fn return_level(level: &ReturnLevel, period_ns: i64) -> Markup {
    html! {
        tr {
            (row_head(format_args!("return level of {}", period_text(period_ns))))
            (number(time_text(level.level)))
            td { (time_text(level.lower)) " to " (time_text(level.upper)) }
            td {
                "maxima of " (level.blocks) " blocks of " (count_text(level.block_samples as u64))
                " samples; for the same load"
            }
        }
    }
}

fn percentile(cell: &Digest, of: &Percentile) -> Markup {
    let count = count_text(cell.summary.map_or(0, |summary| summary.count));
    html! {
        @match of.upper {
            Some(upper) => {
                (number(time_text(of.value))) td { (time_text(of.lower)) " to " (time_text(upper)) } td { (count) " samples" }
            }
            None => {
                (number(NONE)) td { (NONE) } td { "too few samples: " (count) " of " (count_text(samples_needed(of.share))) }
            }
        }
    }
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
pub(super) fn worst(cell: &Digest) -> Markup {
    let found = &cell.attribution;
    if found.worst.is_empty() {
        return html! { p.quiet { "A histogram has no times, so causes are unknown." } };
    }
    let limit = time_text(f64::from(found.limit_ns));
    let causes = found.causes.iter();
    let causes: Vec<String> =
        causes.map(|(kind, count)| format!("{}: {}", cause(*kind), count_text(*count))).collect();
    let rows = html! {
        @for blamed in &found.worst {
            tr {
                (number(time_text(f64::from(blamed.latency_ns))))
                (number(format_args!("{} s", figure((blamed.at_ns as f64 / 1e6).round() / 1e3))))
                td { (blamed.core.map_or_else(|| NONE.to_owned(), |core| core.to_string())) }
                td { span class={ "band " (blamed.cause.name()) } {} (cause(blamed.cause)) }
                td { (blamed.who) }
            }
        }
    };
    html! {
        @if found.late == 0 {
            p { "No sample was later than " (limit) ". The latest ones:" }
        } @else {
            p {
                b { (count_text(found.late)) } " of " (count_text(cell.summary.map_or(0, |summary| summary.count)))
                " samples later than " (limit) ". " (causes.join(", ")) "."
            }
        }
        (table("figures worst", &heads(&["#Latency", "#At", "Core", "Cause", "Who"]), &rows))
    }
}

/// Means and maxima of cyclictest in other studies, below ours.
pub(super) fn maxima(cells: &[Digest]) -> Markup {
    let us = |ns: f64| number(format_args!("{:.1}", ns / 1e3));
    let rows = html! {
        @for (index, cell) in cells.iter().enumerate() {
            @if let Some(s) = &cell.summary {
                tr { (row_head(chip(index, &cell.name))) (us(s.mean)) (us(s.maximum)) td { (marks(cell)) } }
            }
        }
        @for row in published::maxima() {
            tr.theirs {
                (row_head(&row.system)) (number(row.mean_us)) (number(row.max_us)) td.quiet { (row.study) }
            }
        }
    };
    table("layout", &heads(&["µs", "#Mean", "#Max", "Study"]), &rows)
}
