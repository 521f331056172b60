//! Cumulative distributions over each other, from the end that matters: which share of samples took
//! longer than this. Both axes are logarithmic, as the question is about one in ten thousand.

use maud::{Markup, html};

use super::plots::{LEFT, RIGHT, TOP, colour, dashes, frame, latency_axis, limits_across};
use super::scale::{LogScale, share_text};
use crate::digest::Digest;
use report_kit::plot::{self, WIDTH};

/// The picture; empty if no cell has samples. Lines carry the number of their cell, by which the
/// script shows and hides them.
pub(super) fn svg(digests: &[Digest], limits: &[(String, f64)]) -> Markup {
    let points = || digests.iter().flat_map(|digest| &digest.pictures.tail);
    if points().next().is_none() {
        return html! {};
    }
    let frame = frame(LEFT, 302.0);
    let x = LogScale::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let least = points().map(|point| point.1).filter(|share| *share > 0.0).fold(1.0, f64::min);
    let y = LogScale::over([least, 1.0], frame.bottom, TOP);
    let is_decade = |value: f64| (value.log10() - value.log10().round()).abs() < 1e-9;
    let levels = y.ticks().into_iter().filter(|(value, labelled)| *labelled && *value <= 1.0);
    let content = html! {
        @for (value, _) in levels.filter(|(value, _)| is_decade(*value)) {
            (frame.level(y.at(value), &share_text(value)))
        }
        (latency_axis(&frame, &x))
        (frame.name_at_left("samples that took longer"))
        (limits_across(&frame, &x, limits))
        @for (number, digest) in digests.iter().enumerate() { (line(digest, number, &x, &y)) }
    };
    frame.picture("cumulative distributions of all cells", &content)
}

fn line(digest: &Digest, number: usize, x: &LogScale, y: &LogScale) -> Markup {
    let points = digest.pictures.tail.iter().map(|(ns, share)| (x.at(*ns), y.at(*share)));
    let Some((end, foot)) = points.clone().next_back() else { return html! {} };
    let title = match digest.marks_words().as_str() {
        "" => digest.name.clone(),
        words => format!("{} (⚠ {words})", digest.name),
    };
    html! {
        g class=(colour(number)) data-cell=(number) {
            title { (title) }
            path.trace stroke-width="1.8" stroke-dasharray=(dashes(number)) d=(plot::line(points.map(Some))) {}
            circle.end cx=(format_args!("{end:.1}")) cy=(format_args!("{foot:.1}")) r="3" {}
        }
    }
}

/// Which cells are drawn, to be chosen: a box to tick for each. Without a script all are drawn.
pub(super) fn chooser(digests: &[Digest]) -> Markup {
    html! {
        fieldset.chooser {
            legend { "Cells" }
            button type="button" data-choose="all" { "All" } button type="button" data-choose="none" { "None" }
            @for (number, digest) in digests.iter().enumerate() {
                label {
                    input type="checkbox" checked data-shows=(number);
                    svg class={ "sample " (colour(number)) } viewBox="0 0 26 8" aria-hidden="true" {
                        path.trace stroke-width="2.4" stroke-dasharray=(dashes(number)) d="M0 4H26" {}
                    }
                    (digest.name)
                    @if !digest.marks.is_empty() { " " span.mark { (digest.marks_words()) } }
                }
            }
        }
    }
}
