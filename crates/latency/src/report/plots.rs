//! What all pictures of latencies share: the frame, the logarithmic axis, limits, and the marks
//! that stand in each picture of a cell.

use std::fmt::Write as _;

use super::scale::{LogScale, time_text};
use report_kit::html::escape;

pub(super) const WIDTH: f64 = 960.0;
/// Room for the numbers of the axis.
pub(super) const LEFT: f64 = 70.0;
pub(super) const RIGHT: f64 = 14.0;
/// Room for marks, and below them for the texts of limits.
pub(super) const TOP: f64 = 38.0;
pub(super) const BOTTOM: f64 = 40.0;
/// Width of a character, about; for texts that must not run into each other.
pub(super) const CHARACTER: f64 = 6.4;

/// Colours of the style sheet; further cells have the same again with other dashes.
const COLOURS: usize = 6;
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// The class of the colour of a cell.
pub(super) fn colour(number: usize) -> String {
    format!("run{}", number % COLOURS)
}

/// The dashes of the line of a cell.
pub(super) fn dashes(number: usize) -> &'static str {
    DASHES[number / COLOURS % DASHES.len()]
}

/// Begins a picture.
pub(super) fn begin(height: f64, label: &str) -> String {
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    )
}

/// Grid and numbers of a logarithmic axis of latencies along the bottom.
pub(super) fn latency_axis(out: &mut String, scale: &LogScale, left: f64, bottom: f64, name: &str) {
    let right = WIDTH - RIGHT;
    for (value, labelled) in scale.ticks() {
        let x = scale.at(value);
        let class = if labelled { "grid" } else { "grid minor" };
        let _ = write!(out, "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        // A text at the very edge would be cut.
        if labelled && x < right - 8.0 && x > left - 4.0 {
            text(out, "tick", x, bottom + 16.0, "middle", &time_text(value));
        }
    }
    let _ = write!(out, "<path class=\"axis\" d=\"M{left} {TOP}V{bottom}H{right}\"/>");
    text(out, "name", f64::midpoint(left, right), bottom + 34.0, "middle", name);
}

/// A text.
pub(super) fn text(out: &mut String, class: &str, x: f64, y: f64, anchor: &str, what: &str) {
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(what)
    );
}

/// The name of the axis of values, along the left.
pub(super) fn upright(out: &mut String, bottom: f64, name: &str) {
    let middle = f64::midpoint(TOP, bottom);
    let _ = write!(
        out,
        "<text class=\"name\" transform=\"translate(13 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(name)
    );
}

/// The marks of a cell, in the corner of its picture.
pub(super) fn marks(out: &mut String, words: &str) {
    if !words.is_empty() {
        text(out, "marks", WIDTH - RIGHT, 13.0, "end", &format!("⚠ {words}"));
    }
}

/// Limits as upright lines with their names above, as far as they lie within the axis and their
/// names have room.
pub(super) fn limits_across(
    out: &mut String,
    scale: &LogScale,
    bottom: f64,
    limits: &[(String, f64)],
) {
    let mut free_from = f64::NEG_INFINITY;
    for (name, ns) in limits.iter().filter(|limit| scale.holds(limit.1)) {
        let x = scale.at(*ns);
        let _ = write!(out, "<path class=\"limit\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        let half = name.chars().count() as f64 * CHARACTER / 2.0;
        let middle = x.min(WIDTH - RIGHT - half);
        if middle - half > free_from {
            text(out, "note limit", middle, TOP - 5.0, "middle", name);
            free_from = middle + half + 8.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_limits_do_not_run_into_each_other() {
        let scale = LogScale::over([1e3, 1e8], 70.0, 946.0);
        let limits = [("TT6", 3e6), ("quarter cycle at 60 Hz", 4.17e6), ("far", 1e12)]
            .map(|(name, ns)| (name.to_owned(), ns));
        let mut out = String::new();
        limits_across(&mut out, &scale, 200.0, &limits);
        assert_eq!((out.matches("<path").count(), out.matches("<text").count()), (2, 1));
    }

    #[test]
    fn every_cell_has_a_line_of_its_own() {
        let looks: std::collections::BTreeSet<(String, &str)> =
            (0..24).map(|number| (colour(number), dashes(number))).collect();
        assert_eq!(looks.len(), 24);
    }
}
