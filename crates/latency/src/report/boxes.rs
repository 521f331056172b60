//! Box plots, one row for each cell, and those of the published tables below on the same axis.

use std::fmt::Write as _;

use super::plots::{BOTTOM, RIGHT, TOP, WIDTH, begin, latency_axis, limits_across, text};
use super::scale::{LogScale, time_text};
use crate::digest::Digest;
use crate::published::PublishedBox;
use report_kit::html::escape;

const ROW: f64 = 30.0;
const NAMES: f64 = 250.0;
/// What published tables print as 0.000 ms is less than half a microsecond.
const PUBLISHED_LEAST_NS: f64 = 500.0;

/// One row.
struct Row {
    name: String,
    marks: String,
    class: String,
    /// Lower whisker, lower quartile, median, upper quartile, upper whisker, ns.
    five: [f64; 5],
    mean: f64,
    max: Option<f64>,
}

/// All box plots; empty if no cell has samples.
pub(super) fn svg(
    digests: &[Digest],
    published: &[PublishedBox],
    limits: &[(String, f64)],
) -> String {
    let mut rows: Vec<Row> = digests.iter().filter_map(measured).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.extend(published.iter().map(printed));
    let ends = rows
        .iter()
        .flat_map(|row| [row.five[0], row.five[4], row.mean, row.max.unwrap_or(row.five[4])]);
    let scale = LogScale::over(ends, NAMES, WIDTH - RIGHT);
    let bottom = TOP + ROW * rows.len() as f64 + 4.0;
    let mut out = begin(bottom + BOTTOM, "box plots of all cells");
    latency_axis(&mut out, &scale, NAMES, bottom, "latency (logarithmic)");
    limits_across(&mut out, &scale, bottom, limits);
    for (index, row) in rows.iter().enumerate() {
        draw(&mut out, row, TOP + ROW * (index as f64 + 0.5) + 2.0, &scale);
    }
    out.push_str("</svg>");
    out
}

fn measured(digest: &Digest) -> Option<Row> {
    let s = digest.summary?;
    Some(Row {
        name: digest.name.clone(),
        marks: digest.marks_words(),
        class: "ours".to_owned(),
        five: [s.lower_whisker, s.lower_quartile, s.median, s.upper_quartile, s.upper_whisker],
        mean: s.mean,
        max: Some(s.maximum),
    })
}

fn printed(row: &PublishedBox) -> Row {
    let ns = row.figures_ms.map(|ms| (ms * 1e6).max(PUBLISHED_LEAST_NS));
    Row {
        name: format!("{}, TP{}", row.system, row.profile),
        marks: String::new(),
        class: "theirs".to_owned(),
        five: [ns[0], ns[1], ns[2], ns[5], ns[6]],
        mean: ns[3],
        max: None,
    }
}

fn draw(out: &mut String, row: &Row, y: f64, scale: &LogScale) {
    const HALF: f64 = 7.0;
    let [low, q1, median, q3, high] = row.five.map(|ns| scale.at(ns));
    let told = format!(
        "{}: whiskers {} to {}, quartiles {} to {}, median {}, mean {}{}",
        row.name,
        time_text(row.five[0]),
        time_text(row.five[4]),
        time_text(row.five[1]),
        time_text(row.five[3]),
        time_text(row.five[2]),
        time_text(row.mean),
        row.max.map_or_else(String::new, |max| format!(", maximum {}", time_text(max)))
    );
    let _ = write!(out, "<g class=\"box {}\"><title>{}</title>", row.class, escape(&told));
    let beside = if row.marks.is_empty() { y + 4.0 } else { y - 2.0 };
    text(out, "name", NAMES - 12.0, beside, "end", &cut(&row.name, 37));
    if !row.marks.is_empty() {
        let marks = format!("⚠ {}", row.marks);
        text(out, "marks", NAMES - 12.0, y + 11.0, "end", &cut(&marks, 44));
    }
    let _ = write!(
        out,
        "<path class=\"whisker\" d=\"M{low:.1} {top:.1}V{foot:.1}M{low:.1} {y:.1}H{q1:.1}M{q3:.1} {y:.1}H{high:.1}M{high:.1} {top:.1}V{foot:.1}\"/>\
         <rect class=\"quartiles\" x=\"{q1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\"/>\
         <path class=\"median\" d=\"M{median:.1} {:.1}v{}\"/>",
        y - HALF,
        (q3 - q1).max(1.5),
        2.0 * HALF,
        y - HALF,
        2.0 * HALF,
        top = y - 4.0,
        foot = y + 4.0,
    );
    let mean = scale.at(row.mean);
    let _ = write!(
        out,
        "<path class=\"mean\" d=\"M{:.1} {y:.1}l3.5 -3.5l3.5 3.5l-3.5 3.5z\"/>",
        mean - 3.5
    );
    if let Some(max) = row.max {
        let _ = write!(
            out,
            "<circle class=\"max\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3\"/>",
            scale.at(max)
        );
    }
    out.push_str("</g>");
}

/// A text of at most so many characters.
fn cut(what: &str, characters: usize) -> String {
    if what.chars().count() <= characters {
        return what.to_owned();
    }
    let kept: String = what.chars().take(characters - 1).collect();
    format!("{}…", kept.trim_end())
}
