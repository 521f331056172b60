//! Box plots, one row for each cell, and those of the published tables below on the same axis.

use maud::{Markup, html};

use super::plots::{RIGHT, TOP, frame, latency_axis, limits_across};
use super::scale::{LogScale, time_text};
use crate::digest::Digest;
use crate::published::PublishedBox;
use report_kit::plot::{WIDTH, path, text};

const ROW: f64 = 30.0;
const NAMES: f64 = 250.0;
/// What published tables print as 0.000 ms is less than half a microsecond.
const PUBLISHED_LEAST_NS: f64 = 500.0;

/// A box plot, with its name at the left.
struct Row {
    name: String,
    marks: String,
    class: &'static str,
    /// Lower whisker, lower quartile, median, upper quartile, upper whisker, ns.
    five: [f64; 5],
    mean: f64,
    max: Option<f64>,
}

/// All box plots; `None` if no cell has samples.
pub(super) fn svg(
    digests: &[Digest],
    published: &[PublishedBox],
    limits: &[(String, f64)],
) -> Option<Markup> {
    let mut rows: Vec<Row> = digests.iter().filter_map(measured).collect();
    if rows.is_empty() {
        return None;
    }
    rows.extend(published.iter().map(printed));
    let ends = rows
        .iter()
        .flat_map(|row| [row.five[0], row.five[4], row.mean, row.max.unwrap_or(row.five[4])]);
    let scale = LogScale::over(ends, NAMES, WIDTH - RIGHT);
    let frame = frame(NAMES, ROW * rows.len() as f64 + 4.0);
    let content = html! {
        (latency_axis(&frame, &scale))
        (limits_across(&frame, &scale, limits))
        @for (index, row) in rows.iter().enumerate() {
            (draw(row, TOP + ROW * (index as f64 + 0.5) + 2.0, &scale))
        }
    };
    Some(frame.picture("box plots of all cells", &content))
}

fn measured(digest: &Digest) -> Option<Row> {
    let s = digest.summary?;
    Some(Row {
        name: digest.name.clone(),
        marks: digest.marks_words(),
        class: "ours",
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
        class: "theirs",
        five: [ns[0], ns[1], ns[2], ns[5], ns[6]],
        mean: ns[3],
        max: None,
    }
}

fn draw(row: &Row, y: f64, scale: &LogScale) -> Markup {
    const HALF: f64 = 7.0;
    let [low, q1, median, q3, high] = row.five.map(|ns| scale.at(ns));
    let (top, foot, edge) = (y - 4.0, y + 4.0, y - HALF);
    let beside = if row.marks.is_empty() { y + 4.0 } else { y - 2.0 };
    html! {
        g class={ "box " (row.class) } {
            title { (title(row)) }
            (text("name", NAMES - 12.0, beside, "end", &cut(&row.name, 37)))
            @if !row.marks.is_empty() {
                (text("marks", NAMES - 12.0, y + 11.0, "end", &cut(&format!("⚠ {}", row.marks), 44)))
            }
            (path("whisker", format_args!(
                "M{low:.1} {top:.1}V{foot:.1}M{low:.1} {y:.1}H{q1:.1}M{q3:.1} {y:.1}H{high:.1}M{high:.1} {top:.1}V{foot:.1}"
            )))
            rect.quartiles x=(format_args!("{q1:.1}")) y=(format_args!("{edge:.1}"))
                width=(format_args!("{:.1}", (q3 - q1).max(1.5))) height=(2.0 * HALF) {}
            (path("median", format_args!("M{median:.1} {edge:.1}v{}", 2.0 * HALF)))
            (path("mean", format_args!("M{:.1} {y:.1}l3.5 -3.5l3.5 3.5l-3.5 3.5z", scale.at(row.mean) - 3.5)))
            @if let Some(max) = row.max {
                circle.max cx=(format_args!("{:.1}", scale.at(max))) cy=(format_args!("{y:.1}")) r="3" {}
            }
        }
    }
}

fn title(row: &Row) -> String {
    let [low, q1, median, q3, high] = row.five.map(time_text);
    let max = row.max.map_or_else(String::new, |max| format!(", maximum {}", time_text(max)));
    let (name, mean) = (&row.name, time_text(row.mean));
    format!(
        "{name}: whiskers {low} to {high}, quartiles {q1} to {q3}, median {median}, mean {mean}{max}"
    )
}

/// A text of at most so many characters.
fn cut(what: &str, characters: usize) -> String {
    if what.chars().count() <= characters {
        return what.to_owned();
    }
    let kept: String = what.chars().take(characters - 1).collect();
    format!("{}…", kept.trim_end())
}
