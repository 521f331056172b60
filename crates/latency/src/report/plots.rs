//! What all pictures of latencies share: the frame, the logarithmic axis, limits, and the marks
//! that stand in each picture of a cell.

use maud::{Markup, html};

use super::scale::{LogScale, time_text};
use report_kit::plot::{Frame, WIDTH, text};

/// Room for the numbers of the axis.
pub(super) const LEFT: f64 = 70.0;
pub(super) const RIGHT: f64 = 14.0;
/// Room for marks, and below them for the texts of limits.
pub(super) const TOP: f64 = 38.0;
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

/// A frame whose values have this height.
pub(super) fn frame(left: f64, height: f64) -> Frame {
    Frame { left, right: WIDTH - RIGHT, top: TOP, bottom: TOP + height }
}

/// Grid and numbers of a logarithmic axis of latencies along the bottom.
pub(super) fn latency_axis(frame: &Frame, scale: &LogScale) -> Markup {
    // A text at the very edge would be cut.
    let has_room = |x: f64| x < frame.right - 8.0 && x > frame.left - 4.0;
    html! {
        @for (value, labelled) in scale.ticks() {
            @let x = scale.at(value);
            (frame.upright(if labelled { "grid" } else { "grid minor" }, x))
            @if labelled && has_room(x) { (frame.number(x, &time_text(value))) }
        }
        (frame.axes("latency (logarithmic)"))
    }
}

/// The marks of a cell, in the corner of its picture.
pub(super) fn marks(words: &str) -> Markup {
    html! { @if !words.is_empty() { (text("marks", WIDTH - RIGHT, 13.0, "end", &format!("⚠ {words}"))) } }
}

/// Texts in a row, of which those are left out that would run into the one before.
pub(super) struct TextRow {
    pub(super) class: &'static str,
    pub(super) foot: f64,
    pub(super) gap: f64,
    pub(super) free_from: f64,
}

impl TextRow {
    /// The words around `x`, but not beyond the edge at the right.
    pub(super) fn add(&mut self, x: f64, words: &str) -> Markup {
        let half = words.chars().count() as f64 * CHARACTER / 2.0;
        let middle = x.min(WIDTH - RIGHT - half);
        if middle - half <= self.free_from {
            return html! {};
        }
        self.free_from = middle + half + self.gap;
        text(self.class, middle, self.foot, "middle", words)
    }
}

/// Limits as upright lines with their names above, as far as they lie within the axis and their
/// names have room.
pub(super) fn limits_across(frame: &Frame, scale: &LogScale, limits: &[(String, f64)]) -> Markup {
    let (class, foot) = ("note limit", TOP - 5.0);
    let mut names = TextRow { class, foot, gap: 8.0, free_from: f64::NEG_INFINITY };
    html! {
        @for (name, ns) in limits.iter().filter(|limit| scale.holds(limit.1)) {
            (frame.upright("limit", scale.at(*ns)))
            (names.add(scale.at(*ns), name))
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
        let out = limits_across(&frame(LEFT, 162.0), &scale, &limits).into_string();
        assert_eq!((out.matches("<path").count(), out.matches("<text").count()), (2, 1));
    }

    #[test]
    fn every_cell_has_a_line_of_its_own() {
        let looks: std::collections::BTreeSet<(String, &str)> =
            (0..24).map(|number| (colour(number), dashes(number))).collect();
        assert_eq!(looks.len(), 24);
    }
}
