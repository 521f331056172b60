//! Cumulative distributions over each other, from the end that matters: which share of samples took
//! longer than this. Both axes are logarithmic, as the question is about one in ten thousand.

use std::fmt::Write as _;

use super::plots::{
    BOTTOM, LEFT, RIGHT, TOP, WIDTH, begin, colour, dashes, latency_axis, limits_across, text,
    upright,
};
use super::scale::{LogScale, share_text};
use crate::digest::Digest;
use report_kit::html::escape;

const HEIGHT: f64 = 380.0;

/// The picture; empty if no cell has samples. Lines carry the number of their cell, by which the
/// script shows and hides them.
pub(super) fn svg(digests: &[Digest], limits: &[(String, f64)]) -> String {
    let points = || digests.iter().flat_map(|digest| &digest.pictures.tail);
    if points().next().is_none() {
        return String::new();
    }
    let bottom = HEIGHT - BOTTOM;
    let x = LogScale::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let least = points().map(|point| point.1).filter(|share| *share > 0.0).fold(1.0, f64::min);
    let y = LogScale::over([least, 1.0], bottom, TOP);
    let mut out = begin(HEIGHT, "cumulative distributions of all cells");
    for (value, labelled) in y.ticks() {
        let is_decade = (value.log10() - value.log10().round()).abs() < 1e-9;
        if is_decade && labelled && value <= 1.0 {
            let at = y.at(value);
            let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
            text(&mut out, "tick", LEFT - 7.0, at + 4.0, "end", &share_text(value));
        }
    }
    latency_axis(&mut out, &x, LEFT, bottom, "latency (logarithmic)");
    upright(&mut out, bottom, "samples that took longer");
    limits_across(&mut out, &x, bottom, limits);
    for (number, digest) in digests.iter().enumerate() {
        line(&mut out, digest, number, &x, &y);
    }
    out.push_str("</svg>");
    out
}

fn line(out: &mut String, digest: &Digest, number: usize, x: &LogScale, y: &LogScale) {
    let tail = &digest.pictures.tail;
    let Some(last) = tail.last() else { return };
    let mut path = String::new();
    for (index, (ns, share)) in tail.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{:.1} {:.1}", x.at(*ns), y.at(*share));
    }
    let told = match digest.marks_words().as_str() {
        "" => digest.name.clone(),
        words => format!("{} (⚠ {words})", digest.name),
    };
    let _ = write!(
        out,
        "<g class=\"{}\" data-cell=\"{number}\"><title>{}</title><path class=\"trace\" stroke-width=\"1.8\" stroke-dasharray=\"{}\" d=\"{path}\"/>\
         <circle class=\"end\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/></g>",
        colour(number),
        escape(&told),
        dashes(number),
        x.at(last.0),
        y.at(last.1)
    );
}

/// Which cells are drawn, to be chosen: a box to tick for each. Without a script all are drawn.
pub(super) fn chooser(digests: &[Digest]) -> String {
    let mut out = String::from(
        "<fieldset class=\"chooser\"><legend>Cells</legend><button type=\"button\" data-choose=\"all\">All</button>\
         <button type=\"button\" data-choose=\"none\">None</button>",
    );
    for (number, digest) in digests.iter().enumerate() {
        let words = digest.marks_words();
        let marks = if words.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"mark\">{}</span>", escape(&words))
        };
        let _ = write!(
            out,
            "<label><input type=\"checkbox\" checked data-shows=\"{number}\"><svg class=\"sample {}\" viewBox=\"0 0 26 8\" aria-hidden=\"true\">\
             <path class=\"trace\" stroke-width=\"2.4\" stroke-dasharray=\"{}\" d=\"M0 4H26\"/></svg>{}{marks}</label>",
            colour(number),
            dashes(number),
            escape(&digest.name)
        );
    }
    out.push_str("</fieldset>");
    out
}
