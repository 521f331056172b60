//! What is written on the page, and in which order: the answer, what to look at before trusting
//! it, the figures beside those of others, the pictures, and each cell by itself.

use maud::{Markup, html};
use serde_json::Value;

use super::scale::time_text;
use super::tables::{self, chip};
use super::{Report, boxes, histogram, series, shown_limits, tail};
use crate::cell::MarkKind;
use crate::digest::Digest;
use crate::published::PublishedBox;
use crate::run_folder::CELLS;
use crate::verdict::Group;
use report_kit::figure::{count_text, figure};
use report_kit::outcome::Outcome;
use report_kit::page::{self, distinct, listed, row_head, table};

/// The title of the page.
pub(super) fn title(report: &Report) -> String {
    let platforms = distinct(report.cells.iter().map(|cell| cell.platform.as_str()));
    format!("Platform latency: {}", platforms.join(", "))
}

/// All of the page.
pub(super) fn body(report: &Report) -> Markup {
    let cells = &report.cells;
    let limits = shown_limits(cells);
    let published = tables::published_beside(cells);
    html! {
        (head(report))
        (answer(report))
        (warnings(report))
        @if !cells.is_empty() { (figures(report, !published.is_empty())) }
        (pictures(cells, &published, &limits))
        section #cells {
            h2 { "Cells" }
            @for (number, of) in cells.iter().enumerate() { (cell(of, number, &limits)) }
        }
        (others(cells))
        (provenance(report))
    }
}

fn head(report: &Report) -> Markup {
    let cells = &report.cells;
    let samples: u64 = cells.iter().filter_map(|cell| cell.summary).map(|s| s.count).sum();
    let began = cells.iter().map(|cell| cell.began.as_str()).filter(|b| !b.is_empty()).min();
    let sections = [
        ("verdicts", "Verdicts"),
        ("warnings", "Marks"),
        ("figures", "Figures"),
        ("pictures", "Pictures"),
        ("cells", "Cells"),
        ("others", "Other studies"),
        ("provenance", "Provenance"),
    ];
    html! {
        header {
            p.kind { "Does this platform act in time?" }
            h1 { (title(report)) }
            p.lead {
                (cells.len()) @if cells.len() == 1 { " cell, " } @else { " cells, " } (count_text(samples)) " samples"
                @if let Some(began) = began { ", begun " (began) }
                @if let Some(cell) = cells.first() { (machine(&cell.facts)) }
                "."
            }
            (page::sections(&sections))
        }
    }
}

/// Processor and kernel of the first cell.
fn machine(facts: &Value) -> String {
    let text = |key: &&str| facts.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let parts: Vec<&str> = ["processor", "kernel_release"].iter().filter_map(text).collect();
    if parts.is_empty() { String::new() } else { format!(", on {}", parts.join(", kernel ")) }
}

fn answer(report: &Report) -> Markup {
    let (class, sentence) = sentence(report);
    html! {
        section #verdicts {
            article.answer {
                p.result.(class) { (sentence) }
                (tables::matrix(&report.cells, true))
                p.quiet {
                    "Wake-up latency is one part of a budget: what a cell uses of it is not available to \
                     network and processing. Hover over a verdict to see its statistic and reason."
                }
                @if !report.cells.is_empty() {
                    details {
                        summary { "Services, as listed by Queiroz et al. 2023" }
                        (tables::services(&report.cells))
                    }
                }
            }
        }
    }
}

/// The answer for the limits that decide, and its class.
fn sentence(report: &Report) -> (&'static str, String) {
    let whose = match report.deciding_group() {
        Group::Own => "requested limit",
        _ => "limit of the grid",
    };
    let cells_with = |outcome| {
        let has = |cell: &&Digest| {
            let mut of = report.deciding().filter(|(other, _)| std::ptr::eq(*other, *cell));
            of.any(|(_, verdict)| verdict.outcome == outcome)
        };
        report.cells.iter().filter(has).count()
    };
    let total = report.cells.len() + report.absent.len();
    let missed = cells_with(Outcome::Missed);
    let unknown = cells_with(Outcome::NotMeasured) + report.absent.len();
    let of = |count: usize| match (count, total) {
        (1, 1) => "the cell".to_owned(),
        _ => format!("{count} of {total} cells"),
    };
    match (missed, unknown) {
        (0, 0) if total == 1 => ("met", format!("Yes: the cell keeps every {whose}.")),
        (0, 0) => ("met", format!("Yes: all {total} cells keep every {whose}.")),
        (0, _) => {
            ("unknown", format!("Cannot say: {} cannot be judged by every {whose}.", of(unknown)))
        }
        _ => {
            let miss = if total == 1 { "misses" } else { "miss" };
            let mut sentence = format!("No: {} {miss} a {whose}", of(missed));
            if unknown > 0 {
                sentence += &format!("; {unknown} cannot be judged by every one");
            }
            ("missed", sentence + ".")
        }
    }
}

/// Marks with their meaning, each with its cells; what probes warned of; what was not measured.
fn warnings(report: &Report) -> Markup {
    let mut kinds: Vec<MarkKind> =
        report.cells.iter().flat_map(|cell| &cell.marks).map(|mark| mark.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let items = html! {
        @for kind in kinds {
            li { span.mark { (kind.words()) } " " (kind.meaning()) " " (listed(bearers(&report.cells, kind))) }
        }
        @for (number, cell) in report.cells.iter().enumerate() {
            @for warning in &cell.warnings { li { (chip(number, &cell.name)) ": " (warning) } }
        }
        @for absent in &report.absent { li { b { (absent.name) } " was not measured: " (absent.reason) } }
    };
    if items.0.is_empty() {
        let none = "No marks: no known reason to doubt these figures.";
        return html! { section #warnings { p.quiet { (none) } } };
    }
    html! {
        section.warned #warnings { h2 { "Check this before you trust the figures" } ul { (items) } }
    }
}

/// Cells that have a mark; those of which the same is known stand together.
fn bearers(cells: &[Digest], kind: MarkKind) -> Vec<Markup> {
    let mut bearers: Vec<(String, Vec<Markup>)> = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let mut of_kind = cell.marks.iter().filter(|mark| mark.kind == kind).peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        let details = of_kind.map(|mark| mark.detail.as_str());
        let detail = details.filter(|detail| !detail.is_empty()).collect::<Vec<_>>().join("; ");
        let chip = chip(number, &cell.name);
        match bearers.iter_mut().find(|(other, _)| *other == detail) {
            Some((_, chips)) => chips.push(chip),
            None => bearers.push((detail, vec![chip])),
        }
    }
    let shown = |(detail, chips): (String, Vec<Markup>)| {
        html! { (listed(chips)) span.quiet { @if !detail.is_empty() { " (" (detail) ")" } } }
    };
    bearers.into_iter().map(shown).collect()
}

fn figures(report: &Report, with_published: bool) -> Markup {
    html! {
        section #figures {
            h2 { "Figures, in the published layout" }
            @if with_published {
                p.tools { label { input type="checkbox" checked data-theirs; " Show published figures" } }
            }
            (tables::figures(&report.cells, &report.absent))
            p.source {
                "cells.csv and cells.parquet hold these figures and more. Quartiles are of type 7, \
                 whiskers Tukey's, max jitter is whisker to whisker, all as in Queiroz et al. 2023; a \
                 dash is a figure that a study does not report."
            }
        }
    }
}

/// Box plots and distributions of cells over each other; nothing if none has samples.
pub(super) fn pictures(
    cells: &[Digest],
    published: &[PublishedBox],
    limits: &[(String, f64)],
) -> Markup {
    let Some(boxes) = boxes::svg(cells, published, limits) else { return html! {} };
    html! {
        section #pictures {
            h2 { "Pictures" }
            figure {
                figcaption {
                    b { "Box plots." }
                    " Whiskers, quartiles and median; the diamond is the mean, the dot the maximum."
                    @if !published.is_empty() { " Below, in grey: published box plots of the same testing profiles." }
                }
                div.wide { (boxes) }
            }
            figure #tails {
                figcaption {
                    b { "Cumulative distributions." }
                    " Share of samples that took longer than this; the dot at the end is the maximum."
                }
                (tail::chooser(cells))
                div.wide { (tail::svg(cells, limits)) }
            }
        }
    }
}

fn cell(cell: &Digest, number: usize, limits: &[(String, f64)]) -> Markup {
    html! {
        article.cell id={ "cell" (number) } {
            h3 { (chip(number, &cell.name)) span.folder { (CELLS) "/" (cell.name) } " " (tables::marks(cell)) }
            p.quiet { (method(cell)) }
            @if cell.summary.is_none() { p { "There are no samples." } } @else { (samples(cell, number, limits)) }
        }
    }
}

fn samples(cell: &Digest, number: usize, limits: &[(String, f64)]) -> Markup {
    html! {
        @if let Some(over_time) = series::svg(cell, limits) {
            figure {
                figcaption {
                    b { "Over time." }
                    " The latest sample of each interval as a bar, the mean as a line; bands are stalls."
                }
                (series::legend(cell))
                div.wide { (over_time) }
            }
        }
        figure { figcaption { b { "Histogram." } } div.wide { (histogram::svg(cell, number, limits)) } }
        (tables::split(cell))
        h4 { "Late samples and their causes" } (tables::worst(cell))
        h4 { "Percentiles and the expected maximum" } (tables::extremes(cell))
        details { summary { "Per core, and over time" } (tables::parts(cell)) }
        details { summary { "All verdicts of this cell" } (tables::verdicts(cell)) }
    }
}

/// How a cell was measured, in a line.
fn method(cell: &Digest) -> String {
    let method = &cell.method;
    let mut parts = vec![format!("probe {}", method.probe)];
    parts.push(match method.priority {
        Some(priority) => format!("SCHED_FIFO {priority}"),
        None => "real-time priority unknown".to_owned(),
    });
    if let Some(period_ns) = method.period_ns {
        parts.push(format!("every {}", time_text(period_ns as f64)));
    }
    if cell.length_ns > 0 {
        parts.push(format!("{} long", tables::period_text(cell.length_ns)));
    }
    parts.push(
        if method.pinned { "a thread bound to each core" } else { "threads on any core" }
            .to_owned(),
    );
    let sum = |count: fn(&crate::digest::ThreadDigest) -> u64| {
        cell.threads.iter().map(count).sum::<u64>()
    };
    let (missed, lost) = (sum(|thread| thread.counts.missed), sum(|thread| thread.counts.lost));
    parts.push(format!("{} missed periods, {} lost samples", count_text(missed), count_text(lost)));
    let used: i64 = cell.threads.iter().map(|thread| thread.counts.cpu_ns).sum();
    let taken: u64 = sum(|thread| thread.counts.taken);
    if used > 0 && taken > 0 {
        let each = used as f64 / taken as f64;
        parts.push(format!("{} of processor time per sample", time_text(each)));
    }
    parts.join(", ")
}

fn others(cells: &[Digest]) -> Markup {
    html! {
        section #others {
            h2 { "Comparison with other studies" }
            p.lead {
                "Mean and maximum as reported by cyclictest. These are other machines: compare orders of \
                 magnitude, and what load or a hypervisor adds."
            }
            details {
                summary { "Means and maxima of Schönborn et al. 2023 and Alonso et al. 2021" }
                (tables::maxima(cells))
            }
        }
    }
}

/// What one needs to repeat or doubt it.
fn provenance(report: &Report) -> Markup {
    let cells = &report.cells;
    let of = |facts: &Value| {
        let alike = cells.iter().enumerate().filter(|(_, cell)| cell.facts == *facts);
        listed(alike.map(|(number, cell)| chip(number, &cell.name)).collect::<Vec<_>>())
    };
    let rows = |facts: &serde_json::Map<String, Value>| {
        html! { @for (key, value) in facts { tr { (row_head(key.replace('_', " "))) td { (plain(value)) } } } }
    };
    html! {
        section #provenance {
            h2 { "Provenance" }
            p {
                "Folder " code { (report.folder.display().to_string()) } ". Samples and stalls of each cell are in "
                code { (CELLS) "/" } ": samples.parquet (or histogram.parquet), stalls.parquet and cell.json."
            }
            @for facts in distinct(cells.iter().map(|cell| &cell.facts)) {
                @if let Value::Object(members) = facts { h3 { (of(facts)) } (table("facts", &html! {}, &rows(members))) }
            }
        }
    }
}

/// A fact as people read it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "not known".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), figure),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) if members.is_empty() => "none".to_owned(),
        Value::Object(members) => {
            let pair = |(key, value): (&String, &Value)| format!("{key}: {}", plain(value));
            members.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
    }
}
