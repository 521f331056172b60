//! Tables for the terminal: the published layout, the verdicts, and what to look at before
//! trusting them.

use std::fmt::Write as _;

use super::Report;
use super::words::{LAYOUT, cause, eaten, layout, three};
use crate::digest::Digest;
use crate::table::columns;
use crate::verdict::{Group, Quantity, Verdict, ms};
use report_kit::figure::{count_text, figure};
use report_kit::outcome::Outcome;

impl Report {
    /// All of it for the terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.cells.is_empty() {
            out.push_str(&figures(self));
            out.push('\n');
            out.push_str(&verdicts(&self.cells));
            for sentence in reasons(&self.cells) {
                let _ = writeln!(out, "{sentence}");
            }
            for sentence in self.cells.iter().filter_map(latest) {
                let _ = writeln!(out, "{sentence}");
            }
            out.push_str(&parts(&self.cells));
        }
        for absent in &self.absent {
            let _ = writeln!(out, "{}: not measured: {}", absent.name, absent.reason);
        }
        for cell in &self.cells {
            for mark in &cell.marks {
                let _ = writeln!(out, "mark: {}: {mark}", cell.name);
            }
            for warning in &cell.warnings {
                let _ = writeln!(out, "warning: {}: {warning}", cell.name);
            }
        }
        out
    }
}

fn figures(report: &Report) -> String {
    let mut head = vec!["ms".to_owned(), "samples".to_owned()];
    head.extend(LAYOUT.map(str::to_lowercase));
    head.extend(["p99.9", "max", "marks"].map(str::to_owned));
    let figures = head.len() - 2;
    let mut rows = vec![head];
    for cell in &report.cells {
        let mut row = vec![cell.name.clone()];
        match &cell.summary {
            Some(s) => {
                row.push(count_text(s.count));
                row.extend(layout(s).map(three));
                row.push(cell.percentile(0.999).map_or_else(|| "-".to_owned(), three));
                row.push(three(s.maximum));
            }
            None => row.extend(std::iter::repeat_n("-".to_owned(), figures)),
        }
        row.push(cell.marks_words());
        rows.push(row);
    }
    for absent in &report.absent {
        let mut row = vec![absent.name.clone()];
        row.extend(std::iter::repeat_n("-".to_owned(), figures));
        row.push("not measured".to_owned());
        rows.push(row);
    }
    columns(&rows)
}

/// How latencies divide, a row for each part; empty if no cell knows it.
fn parts(cells: &[Digest]) -> String {
    let head = ["parts, ms", "samples", "min", "median", "p99", "p99.9", "max", "marks"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for cell in cells {
        for part in &cell.parts {
            let mut row = vec![format!("{}, {}", cell.name, part.name), count_text(part.count)];
            let figures = [part.minimum, part.median, part.p99, part.p99_9, part.maximum];
            row.extend(figures.map(four));
            row.push(cell.marks_words());
            rows.push(row);
        }
    }
    if rows.len() > 1 { format!("\n{}", columns(&rows)) } else { String::new() }
}

/// A part of a latency: tenths of a microsecond.
fn four(ns: f64) -> String {
    format!("{:.4}", ns / 1e6)
}

/// A row for each cell, a column for each limit of the grid or of one's own, and the services of
/// the published table in one column.
fn verdicts(cells: &[Digest]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let single = |verdict: &&Verdict| verdict.limit.group != Group::Service;
    let mut head = vec!["verdict".to_owned()];
    head.extend(first.verdicts.iter().filter(single).map(|verdict| verdict.limit.name.clone()));
    head.push("services met (latency, jitter)".to_owned());
    let mut rows = vec![head];
    for cell in cells {
        let mut row = vec![cell.name.clone()];
        row.extend(cell.verdicts.iter().filter(single).map(short));
        let met = |quantity: Quantity| {
            let of = || {
                cell.verdicts.iter().filter(move |verdict| {
                    verdict.limit.group == Group::Service && verdict.limit.quantity == quantity
                })
            };
            let met = of().filter(|verdict| verdict.outcome == Outcome::Met).count();
            format!("{met} of {}", of().count())
        };
        row.push(format!("{}, {}", met(Quantity::Latency), met(Quantity::Jitter)));
        rows.push(row);
    }
    columns(&rows)
}

/// `met, eats 2 %`.
fn short(verdict: &Verdict) -> String {
    match verdict.eats {
        Some(eats) => format!("{}, eats {}", verdict.outcome.words(), eaten(eats)),
        None => verdict.outcome.words().to_owned(),
    }
}

/// What a verdict rests on, as a sentence: of each cell the strictest limit that is met, and each
/// that is not.
fn reasons(cells: &[Digest]) -> Vec<String> {
    let mut sentences = Vec::new();
    for cell in cells {
        let of = || cell.verdicts.iter().filter(|verdict| verdict.limit.group != Group::Service);
        let mut known: Vec<&str> = Vec::new();
        let mut unmet: Vec<&Verdict> = of().filter(|of| of.outcome != Outcome::Met).collect();
        // Own limits decide, so they come first.
        unmet.sort_by_key(|verdict| verdict.limit.group);
        for verdict in unmet {
            // The same lack of samples need not be printed four times.
            if !known.contains(&verdict.reason.as_str()) {
                sentences.push(sentence(cell, verdict));
                known.push(&verdict.reason);
            }
        }
        let met = of().filter(|verdict| verdict.outcome == Outcome::Met);
        let strictest = met.min_by_key(|verdict| verdict.limit.budget_ns);
        sentences.extend(strictest.map(|verdict| sentence(cell, verdict)));
    }
    sentences
}

/// The latest sample of a cell and who is to blame for it, if it was later than the strictest limit.
fn latest(cell: &Digest) -> Option<String> {
    let found = &cell.attribution;
    let worst = found.worst.first().filter(|worst| worst.latency_ns > found.limit_ns)?;
    Some(format!(
        "{}, the latest: {} at {} s; {}: {}",
        cell.name,
        ms(f64::from(worst.latency_ns)),
        figure(worst.at_ns as f64 / 1e9),
        cause(worst.cause),
        worst.who
    ))
}

fn sentence(cell: &Digest, verdict: &Verdict) -> String {
    let mut out = format!("{}, {}: {}", cell.name, verdict.limit.name, verdict.outcome.words());
    if let (Some(value), Some(leaves)) = (verdict.value_ns, verdict.leaves_ns) {
        let _ = write!(out, ": {} = {}, ", verdict.statistic, ms(value));
        let _ = if leaves >= 0.0 {
            write!(out, "leaves {} for network and processing", ms(leaves))
        } else {
            write!(out, "{} too much", ms(-leaves))
        };
    }
    let _ = write!(out, "; {}", verdict.reason);
    out
}
