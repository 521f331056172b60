//! How many samples took how long: both axes logarithmic, so that one late sample in a million can
//! be seen beside the million.

use maud::{Markup, html};

use super::plots::{LEFT, RIGHT, TOP, TextRow, colour, frame, latency_axis, limits_across, marks};
use super::scale::{LogScale, time_text};
use crate::digest::{Bin, Digest};
use crate::verdict::percent;
use report_kit::figure::count_text;
use report_kit::plot::{Frame, WIDTH, path, rect};

/// The histogram of a cell; empty if it has no samples.
pub(super) fn svg(digest: &Digest, number: usize, limits: &[(String, f64)]) -> Markup {
    let bins = &digest.pictures.bins;
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return html! {} };
    let frame = frame(LEFT, 174.0);
    let x = LogScale::over([first.from_ns, last.to_ns], LEFT, WIDTH - RIGHT);
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1) as f64;
    // Half a sample is the floor, so that a single one has a height.
    let y = LogScale::over([0.6, most * 1.3], frame.bottom, TOP);
    let levels = y.ticks().into_iter().filter(|(value, labelled)| *labelled && *value >= 1.0);
    let content = html! {
        @for (value, _) in levels { (frame.level(y.at(value), &count_text(value as u64))) }
        (latency_axis(&frame, &x))
        (frame.name_at_left("samples (logarithmic)"))
        g class={ "bars " (colour(number)) } { @for bin in bins { (bar(bin, &x, &y, &frame)) } }
        (limits_across(&frame, &x, limits))
        (percentiles(digest, &x, &frame))
        (marks(&digest.marks_words()))
    };
    frame.picture(&format!("histogram of {}", digest.name), &content)
}

fn bar(bin: &Bin, x: &LogScale, y: &LogScale, frame: &Frame) -> Markup {
    let (left, right, top) = (x.at(bin.from_ns), x.at(bin.to_ns), y.at(bin.count as f64));
    let [from, to] = [bin.from_ns, bin.to_ns].map(time_text);
    let title = format!("{from} to {to}: {} samples", count_text(bin.count));
    rect("", [left, top, (right - left - 0.6).max(0.8), frame.bottom - top], &title)
}

/// The median and high percentiles, as ticks below the bars.
fn percentiles(digest: &Digest, x: &LogScale, frame: &Frame) -> Markup {
    let median = digest.summary.map(|summary| ("median".to_owned(), summary.median));
    let high = digest.percentiles.iter().filter(|of| of.upper.is_some());
    let high = high.map(|of| (format!("p{}", percent(of.share)), of.value));
    let (class, foot) = ("note percentile", frame.bottom - 13.0);
    let mut names = TextRow { class, foot, gap: 4.0, free_from: f64::NEG_INFINITY };
    html! {
        @for (name, ns) in median.into_iter().chain(high) {
            (path("percentile", format_args!("M{:.1} {}v-9", x.at(ns), frame.bottom)))
            (names.add(x.at(ns), &name))
        }
    }
}
