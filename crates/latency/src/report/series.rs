//! Latencies over the time of the measurement, with the stalls that explain them: the latest sample
//! of each stretch of time as a bar, the mean as a line.

use std::fmt::Write as _;

use probe::stream::Cause;

use super::plots::{
    BOTTOM, CHARACTER, LEFT, RIGHT, TOP, WIDTH, begin, colour, marks, text, upright,
};
use super::scale::{LogScale, time_text};
use crate::digest::{Digest, Stretch};
use report_kit::axis::ticks;
use report_kit::html::escape;

const HEIGHT: f64 = 242.0;
/// Of a text, pixels.
const LINE_HEIGHT: f64 = 14.0;
/// Pixels between marks of the time axis.
const TICK_WIDTH: f64 = 90.0;

/// The picture of a cell; empty for histograms, which have no times.
pub(super) fn svg(digest: &Digest, limits: &[(String, f64)]) -> String {
    let all = || digest.pictures.series.iter().flatten();
    if all().next().is_none() {
        return String::new();
    }
    let bottom = HEIGHT - BOTTOM;
    let values = all().flat_map(|stretch| [stretch.mean_ns.max(1.0), f64::from(stretch.max_ns)]);
    let y = LogScale::over(values, bottom, TOP);
    let time = Time::over(digest.length_ns);
    let mut out = begin(HEIGHT, &format!("{} over time", digest.name));
    for (value, labelled) in y.ticks() {
        if labelled {
            let at = y.at(value);
            let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
            text(&mut out, "tick", LEFT - 7.0, at + 4.0, "end", &time_text(value));
        }
    }
    time.axis(&mut out, bottom);
    upright(&mut out, bottom, "latency (logarithmic)");
    for stall in &digest.pictures.stalls {
        let (from, to) =
            (time.at(stall.at_ns), time.at(stall.at_ns.saturating_add(stall.length_ns)));
        let told = format!(
            "stall of {} on core {} at {}: {}, {}",
            time_text(stall.length_ns as f64),
            stall.core,
            time_text(stall.at_ns as f64),
            stall.cause.name(),
            stall.who
        );
        let _ = write!(
            out,
            "<rect class=\"stall {}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            stall.cause.name(),
            (to - from).max(1.4),
            bottom - TOP,
            escape(&told)
        );
    }
    // From below, and a name only where the one before leaves room.
    let mut free_to = f64::INFINITY;
    for (name, ns) in limits.iter().filter(|limit| y.holds(limit.1)) {
        let at = y.at(*ns);
        let _ = write!(out, "<path class=\"limit\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
        if at < free_to {
            text(&mut out, "note limit", LEFT + 6.0, at - 4.0, "start", name);
            free_to = at - LINE_HEIGHT;
        }
    }
    for (number, stretches) in digest.pictures.series.iter().enumerate() {
        thread(&mut out, stretches, number, &time, &y);
    }
    marks(&mut out, &digest.marks_words());
    out.push_str("</svg>");
    out
}

fn thread(out: &mut String, stretches: &[Stretch], number: usize, time: &Time, y: &LogScale) {
    let (mut bars, mut means) = (String::new(), String::new());
    for (index, stretch) in stretches.iter().enumerate() {
        let x = time.at(stretch.at_ns);
        let letter = if index == 0 { 'M' } else { 'L' };
        let mean = y.at(stretch.mean_ns.max(1.0));
        let _ = write!(means, "{letter}{x:.1} {mean:.1}");
        let _ = write!(bars, "M{x:.1} {mean:.1}V{:.1}", y.at(f64::from(stretch.max_ns)));
    }
    let _ = write!(
        out,
        "<g class=\"{}\"><path class=\"maxima\" d=\"{bars}\"/><path class=\"trace\" stroke-width=\"1.2\" d=\"{means}\"/></g>",
        colour(number)
    );
}

/// Which thread has which colour, and what the bands are.
pub(super) fn legend(digest: &Digest) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for (number, thread) in digest.threads.iter().enumerate() {
        let name = match thread.core {
            Some(core) => format!("core {core}"),
            None => format!("thread {}", thread.thread),
        };
        let _ = write!(out, "<span><span class=\"chip {}\"></span>{name}</span>", colour(number));
    }
    for cause in Cause::ALL {
        let count = digest.pictures.stalls.iter().filter(|stall| stall.cause == cause).count();
        if count > 0 {
            let name = cause.name();
            let _ = write!(
                out,
                "<span><span class=\"band {name}\"></span>stall: {name} ({count})</span>"
            );
        }
    }
    out.push_str("</p>");
    out
}

/// The axis of time, in seconds, minutes or hours.
struct Time {
    length_ns: f64,
    unit_ns: f64,
    unit: &'static str,
}

impl Time {
    fn over(length_ns: i64) -> Self {
        let length_ns = (length_ns as f64).max(1.0);
        let (unit_ns, unit) = match length_ns / 1e9 {
            s if s < 300.0 => (1e9, "s"),
            s if s < 7_200.0 => (60e9, "min"),
            _ => (3_600e9, "h"),
        };
        Self { length_ns, unit_ns, unit }
    }

    fn at(&self, at_ns: i64) -> f64 {
        let share = (at_ns as f64 / self.length_ns).clamp(0.0, 1.0);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn axis(&self, out: &mut String, bottom: f64) {
        let right = WIDTH - RIGHT;
        for (value, words) in ticks(0.0, self.length_ns / self.unit_ns, (right - LEFT) / TICK_WIDTH)
        {
            let x = LEFT + value * self.unit_ns / self.length_ns * (right - LEFT);
            let _ = write!(out, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
            let half = words.chars().count() as f64 * CHARACTER / 2.0;
            text(out, "tick", x.min(WIDTH - half), bottom + 16.0, "middle", &words);
        }
        let _ = write!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let name = format!("time since the start of the cell ({})", self.unit);
        text(out, "name", f64::midpoint(LEFT, right), bottom + 34.0, "middle", &name);
    }
}
