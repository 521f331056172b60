//! How many samples took how long: both axes logarithmic, so that one late sample in a million can
//! be seen beside the million.

use std::fmt::Write as _;

use super::plots::{
    BOTTOM, LEFT, RIGHT, TOP, WIDTH, begin, latency_axis, limits_across, marks, text, upright,
};
use super::scale::{LogScale, count_text, time_text};
use crate::digest::Digest;
use report_kit::html::escape;

const HEIGHT: f64 = 252.0;

/// The histogram of a cell; empty if it has no samples.
pub(super) fn svg(digest: &Digest, number: usize, limits: &[(String, f64)]) -> String {
    let bins = &digest.pictures.bins;
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return String::new() };
    let bottom = HEIGHT - BOTTOM;
    let x = LogScale::over([first.from_ns, last.to_ns], LEFT, WIDTH - RIGHT);
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1) as f64;
    // Half a sample is the floor, so that a single one has a height.
    let y = LogScale::over([0.6, most * 1.3], bottom, TOP);
    let mut out = begin(HEIGHT, &format!("histogram of {}", digest.name));
    for (value, labelled) in y.ticks() {
        if labelled && value >= 1.0 {
            let at = y.at(value);
            let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
            text(&mut out, "tick", LEFT - 7.0, at + 4.0, "end", &count_text(value as u64));
        }
    }
    latency_axis(&mut out, &x, LEFT, bottom, "latency (logarithmic)");
    upright(&mut out, bottom, "samples (logarithmic)");
    let _ = write!(out, "<g class=\"bars {}\">", super::plots::colour(number));
    for bin in bins {
        let (left, right, top) = (x.at(bin.from_ns), x.at(bin.to_ns), y.at(bin.count as f64));
        let told = format!(
            "{} to {}: {} samples",
            time_text(bin.from_ns),
            time_text(bin.to_ns),
            count_text(bin.count)
        );
        let _ = write!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            (right - left - 0.6).max(0.8),
            bottom - top,
            escape(&told)
        );
    }
    out.push_str("</g>");
    limits_across(&mut out, &x, bottom, limits);
    percentiles(&mut out, digest, &x, bottom);
    marks(&mut out, &digest.marks_words());
    out.push_str("</svg>");
    out
}

/// The median and high percentiles, as ticks below the bars.
fn percentiles(out: &mut String, digest: &Digest, x: &LogScale, bottom: f64) {
    let median = digest.summary.map(|summary| ("median".to_owned(), summary.median));
    let high = digest
        .percentiles
        .iter()
        .filter(|of| of.upper.is_some())
        .map(|of| (format!("p{}", crate::verdict::percent(of.share)), of.value));
    let mut free_from = f64::NEG_INFINITY;
    for (name, ns) in median.into_iter().chain(high) {
        let at = x.at(ns);
        let _ = write!(out, "<path class=\"percentile\" d=\"M{at:.1} {bottom}v-9\"/>");
        let half = name.chars().count() as f64 * super::plots::CHARACTER / 2.0;
        if at - half > free_from {
            text(out, "note percentile", at, bottom - 13.0, "middle", &name);
            free_from = at + half + 4.0;
        }
    }
}
