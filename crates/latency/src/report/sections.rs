//! What is written on the page, and in which order: the answer, what to look at before trusting
//! it, the figures beside those of others, the pictures, and each cell by itself.

use std::fmt::Write as _;

use serde_json::Value;

use super::scale::{count_text, time_text};
use super::tables::{self, chip};
use super::{Report, boxes, histogram, series, shown_limits, tail};
use crate::cell::MarkKind;
use crate::digest::Digest;
use crate::run_folder::CELLS;
use crate::verdict::Group;
use report_kit::figure::figure;
use report_kit::html::escape;
use report_kit::outcome::Outcome;

/// The title of the page.
pub(super) fn title(report: &Report) -> String {
    let mut platforms: Vec<&str> = Vec::new();
    for cell in &report.cells {
        if !platforms.contains(&cell.platform.as_str()) {
            platforms.push(&cell.platform);
        }
    }
    format!("Platform latency: {}", platforms.join(", "))
}

/// All of the page.
pub(super) fn body(report: &Report) -> String {
    let limits = shown_limits(&report.cells);
    [
        head(report),
        answer(report),
        warnings(report),
        figures(report),
        pictures(&report.cells, &limits),
        cells(&report.cells, &limits),
        others(&report.cells),
        provenance(report),
    ]
    .concat()
}

fn head(report: &Report) -> String {
    let mut out = format!(
        "<header><p class=\"kind\">Does this platform act in time?</p><h1>{}</h1>",
        escape(&title(report))
    );
    let samples: u64 = report.cells.iter().filter_map(|cell| cell.summary).map(|s| s.count).sum();
    let began = report.cells.iter().map(|cell| cell.began.as_str()).filter(|b| !b.is_empty()).min();
    let _ = write!(
        out,
        "<p class=\"lead\">{} cell{}, {} samples{}{}.</p>",
        report.cells.len(),
        if report.cells.len() == 1 { "" } else { "s" },
        count_text(samples),
        began.map_or_else(String::new, |began| format!(", begun {}", escape(began))),
        report.cells.first().map_or_else(String::new, |cell| machine(&cell.facts))
    );
    out.push_str("<nav aria-label=\"sections\">");
    for (id, name) in [
        ("verdicts", "Verdicts"),
        ("warnings", "Marks"),
        ("figures", "Figures"),
        ("pictures", "Pictures"),
        ("cells", "Cells"),
        ("others", "Other studies"),
        ("provenance", "Provenance"),
    ] {
        let _ = write!(out, "<a href=\"#{id}\">{name}</a>");
    }
    out.push_str("</nav></header>");
    out
}

/// Processor and kernel of the first cell.
fn machine(facts: &Value) -> String {
    let text = |key: &str| facts.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let parts: Vec<String> =
        [text("processor"), text("kernel_release")].into_iter().flatten().map(escape).collect();
    if parts.is_empty() { String::new() } else { format!(", on {}", parts.join(", kernel ")) }
}

fn answer(report: &Report) -> String {
    let (class, sentence) = sentence(report);
    let mut out = format!(
        "<section id=\"verdicts\"><article class=\"answer\"><p class=\"result {class}\">{}</p>",
        escape(&sentence)
    );
    out.push_str(&tables::matrix(&report.cells));
    out.push_str(
        "<p class=\"quiet\">Wake-up latency is one part of a budget: what a cell uses of it is \
         not available to network and processing. Hover over a verdict to see its statistic and \
         reason.</p>",
    );
    if !report.cells.is_empty() {
        let _ = write!(
            out,
            "<details><summary>Services, as listed by Queiroz et al. 2023</summary>{}</details>",
            tables::services(&report.cells)
        );
    }
    out.push_str("</article></section>");
    out
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
        (_, 0) => (
            "missed",
            format!("No: {} misses a {whose}.", of(missed)).replace("cells misses", "cells miss"),
        ),
        _ => (
            "missed",
            format!(
                "No: {} misses a {whose}; {unknown} cannot be judged by every one.",
                of(missed)
            )
            .replace("cells misses", "cells miss"),
        ),
    }
}

/// Marks with their meaning, each with its cells; what probes warned of; what was not measured.
fn warnings(report: &Report) -> String {
    let mut items: Vec<String> = Vec::new();
    let mut kinds: Vec<MarkKind> =
        report.cells.iter().flat_map(|cell| &cell.marks).map(|mark| mark.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        // Cells of which the same is known stand together.
        let mut bearers: Vec<(String, Vec<String>)> = Vec::new();
        for (number, cell) in report.cells.iter().enumerate() {
            let of_kind = || cell.marks.iter().filter(|mark| mark.kind == kind);
            let details = of_kind().map(|mark| mark.detail.as_str());
            let details: Vec<&str> = details.filter(|detail| !detail.is_empty()).collect();
            let (detail, chip) = (details.join("; "), chip(number, &cell.name));
            match bearers.iter_mut().find(|(other, _)| *other == detail) {
                _ if of_kind().next().is_none() => {}
                Some((_, chips)) => chips.push(chip),
                None => bearers.push((detail, vec![chip])),
            }
        }
        let told = |(detail, chips): (String, Vec<String>)| {
            let detail = if detail.is_empty() { detail } else { format!(" ({})", escape(&detail)) };
            format!("{}<span class=\"quiet\">{detail}</span>", chips.join(", "))
        };
        let bearers: Vec<String> = bearers.into_iter().map(told).collect();
        items.push(format!(
            "<li><span class=\"mark\">{}</span> {} {}</li>",
            kind.words(),
            escape(kind.meaning()),
            bearers.join(", ")
        ));
    }
    for (number, cell) in report.cells.iter().enumerate() {
        for warning in &cell.warnings {
            items.push(format!("<li>{}: {}</li>", chip(number, &cell.name), escape(warning)));
        }
    }
    for absent in &report.absent {
        items.push(format!(
            "<li><b>{}</b> was not measured: {}</li>",
            escape(&absent.name),
            escape(&absent.reason)
        ));
    }
    if items.is_empty() {
        let none = "No marks: no known reason to doubt these figures.";
        return format!("<section id=\"warnings\"><p class=\"quiet\">{none}</p></section>");
    }
    format!(
        "<section id=\"warnings\" class=\"warned\"><h2>Check this before you trust the \
         figures</h2><ul>{}</ul></section>",
        items.concat()
    )
}

fn figures(report: &Report) -> String {
    let cells = &report.cells;
    if cells.is_empty() {
        return String::new();
    }
    let theirs = if tables::published_beside(cells).is_empty() {
        String::new()
    } else {
        "<p class=\"tools\"><label><input type=\"checkbox\" checked data-theirs> Show published figures</label></p>".to_owned()
    };
    format!(
        "<section id=\"figures\"><h2>Figures, in the published layout</h2>{theirs}{}<p \
         class=\"source\">cells.csv and cells.parquet hold these figures and more. Quartiles are \
         of type 7, whiskers Tukey's, max jitter is whisker to whisker, all as in Queiroz et al. \
         2023; a dash is a figure that a study does not report.</p></section>",
        tables::layout(cells, &report.absent)
    )
}

fn pictures(cells: &[Digest], limits: &[(String, f64)]) -> String {
    let published = tables::published_beside(cells);
    let boxes = boxes::svg(cells, &published, limits);
    if boxes.is_empty() {
        return String::new();
    }
    let theirs = if published.is_empty() {
        String::new()
    } else {
        " Below, in grey: published box plots of the same testing profiles.".to_owned()
    };
    format!(
        "<section id=\"pictures\"><h2>Pictures</h2><figure><figcaption><b>Box plots.</b> \
         Whiskers, quartiles and median; the diamond is the mean, the dot the \
         maximum.{theirs}</figcaption><div class=\"wide\">{boxes}</div></figure><figure \
         id=\"tails\"><figcaption><b>Cumulative distributions.</b> Share of samples that took \
         longer than this; the dot at the end is the maximum.</figcaption>{}<div \
         class=\"wide\">{}</div></figure></section>",
        tail::chooser(cells),
        tail::svg(cells, limits)
    )
}

fn cells(cells: &[Digest], limits: &[(String, f64)]) -> String {
    let mut out = String::from("<section id=\"cells\"><h2>Cells</h2>");
    for (number, cell) in cells.iter().enumerate() {
        let _ = write!(
            out,
            "<article class=\"cell\" id=\"cell{number}\"><h3>{}<span class=\"folder\">{}</span> {}</h3><p class=\"quiet\">{}</p>",
            chip(number, &cell.name),
            escape(&format!("{CELLS}/{}", cell.name)),
            tables::marks(cell),
            escape(&method(cell))
        );
        if cell.summary.is_none() {
            out.push_str("<p>There are no samples.</p></article>");
            continue;
        }
        let over_time = series::svg(cell, limits);
        if !over_time.is_empty() {
            let _ = write!(
                out,
                "<figure><figcaption><b>Over time.</b> The latest sample of each interval as a \
                 bar, the mean as a line; bands are stalls.</figcaption>{}<div \
                 class=\"wide\">{over_time}</div></figure>",
                series::legend(cell)
            );
        }
        let _ = write!(
            out,
            "<figure><figcaption><b>Histogram.</b></figcaption><div class=\"wide\">{}</div></figure>",
            histogram::svg(cell, number, limits)
        );
        let _ = write!(
            out,
            "{}<h4>Late samples and their causes</h4>{}<h4>Percentiles and the expected \
             maximum</h4>{}<details><summary>Per core, and over \
             time</summary>{}</details><details><summary>All verdicts of this \
             cell</summary>{}</details></article>",
            tables::split(cell),
            tables::worst(cell),
            tables::extremes(cell),
            tables::parts(cell),
            tables::verdicts(cell)
        );
    }
    out.push_str("</section>");
    out
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

fn others(cells: &[Digest]) -> String {
    format!(
        "<section id=\"others\"><h2>Comparison with other studies</h2><p class=\"lead\">Mean and \
         maximum as reported by cyclictest. These are other machines: compare orders of \
         magnitude, and what load or a hypervisor adds.</p><details><summary>Means and maxima of \
         Schönborn et al. 2023 and Alonso et al. 2021</summary>{}</details></section>",
        tables::maxima(cells)
    )
}

/// What one needs to repeat or doubt it.
fn provenance(report: &Report) -> String {
    let mut out = String::from("<section id=\"provenance\"><h2>Provenance</h2>");
    let _ = write!(
        out,
        "<p>Folder <code>{}</code>. Samples and stalls of each cell are in <code>{CELLS}/</code>: samples.parquet \
         (or histogram.parquet), stalls.parquet and cell.json.</p>",
        escape(&report.folder.display().to_string())
    );
    let mut told: Vec<(&Value, Vec<usize>)> = Vec::new();
    for (number, cell) in report.cells.iter().enumerate() {
        match told.iter_mut().find(|(facts, _)| *facts == &cell.facts) {
            Some((_, numbers)) => numbers.push(number),
            None => told.push((&cell.facts, vec![number])),
        }
    }
    for (facts, numbers) in told {
        let Value::Object(facts) = facts else { continue };
        let names: Vec<String> =
            numbers.iter().map(|number| chip(*number, &report.cells[*number].name)).collect();
        let _ = write!(
            out,
            "<h3>{}</h3><div class=\"scroll\"><table class=\"facts\"><tbody>",
            names.join(", ")
        );
        for (key, value) in facts {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                escape(&key.replace('_', " ")),
                escape(&plain(value))
            );
        }
        out.push_str("</tbody></table></div>");
    }
    out.push_str("</section>");
    out
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
