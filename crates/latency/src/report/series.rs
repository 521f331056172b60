//! Latencies over the time of the measurement, with the stalls that explain them: the latest sample
//! of each stretch of time as a bar, the mean as a line.

use std::fmt::Write as _;

use maud::{Markup, html};
use probe::stream::Cause;
use strum::IntoEnumIterator as _;

use super::plots::{CHARACTER, LEFT, RIGHT, TOP, colour, frame, marks};
use super::scale::{LogScale, time_text};
use crate::cell::Stall;
use crate::digest::{Digest, Stretch};
use report_kit::axis::ticks;
use report_kit::plot::{Frame, WIDTH, line, path, rect, text};

/// Of a text, pixels.
const LINE_HEIGHT: f64 = 14.0;
/// Pixels between marks of the time axis.
const TICK_WIDTH: f64 = 90.0;

/// The picture of a cell; `None` for histograms, which have no times.
pub(super) fn svg(digest: &Digest, limits: &[(String, f64)]) -> Option<Markup> {
    let all = || digest.pictures.series.iter().flatten();
    all().next()?;
    let frame = frame(LEFT, 164.0);
    let values = all().flat_map(|stretch| [stretch.mean_ns.max(1.0), f64::from(stretch.max_ns)]);
    let y = LogScale::over(values, frame.bottom, TOP);
    let time = TimeAxis::over(digest.length_ns);
    let content = html! {
        @for (value, _) in y.ticks().into_iter().filter(|tick| tick.1) {
            (frame.level(y.at(value), &time_text(value)))
        }
        (time.drawn(&frame))
        (frame.name_at_left("latency (logarithmic)"))
        @for stall in &digest.pictures.stalls { (band(stall, &time, &frame)) }
        (limits_along(limits, &y, &frame))
        @for (number, stretches) in digest.pictures.series.iter().enumerate() { (thread(stretches, number, &time, &y)) }
        (marks(&digest.marks_words()))
    };
    Some(frame.picture(&format!("{} over time", digest.name), &content))
}

fn band(stall: &Stall, time: &TimeAxis, frame: &Frame) -> Markup {
    let (from, to) = (time.at(stall.at_ns), time.at(stall.end_ns()));
    let [length, at] = [stall.length_ns, stall.at_ns].map(|ns| time_text(ns as f64));
    let cause = stall.cause.name();
    let title = format!("stall of {length} on core {} at {at}: {cause}, {}", stall.core, stall.who);
    let place = [from, TOP, (to - from).max(1.4), frame.bottom - TOP];
    rect(&format!("stall {cause}"), place, &title)
}

/// Limits as lines, from below, and a name only where the one before leaves room.
fn limits_along(limits: &[(String, f64)], y: &LogScale, frame: &Frame) -> Markup {
    let mut free_to = f64::INFINITY;
    let mut name_at = |name: &str, at: f64| {
        if at >= free_to {
            return html! {};
        }
        free_to = at - LINE_HEIGHT;
        text("note limit", LEFT + 6.0, at - 4.0, "start", name)
    };
    html! {
        @for (name, ns) in limits.iter().filter(|limit| y.holds(limit.1)) {
            (path("limit", format_args!("M{LEFT} {:.1}H{}", y.at(*ns), frame.right)))
            (name_at(name, y.at(*ns)))
        }
    }
}

fn thread(stretches: &[Stretch], number: usize, time: &TimeAxis, y: &LogScale) -> Markup {
    let place = |of: &Stretch| (time.at(of.at_ns), y.at(of.mean_ns.max(1.0)));
    let mut bars = String::new();
    for stretch in stretches {
        let (x, mean) = place(stretch);
        let _ = write!(bars, "M{x:.1} {mean:.1}V{:.1}", y.at(f64::from(stretch.max_ns)));
    }
    html! {
        g class=(colour(number)) {
            path.maxima d=(bars) {}
            path.trace stroke-width="1.2" d=(line(stretches.iter().map(|of| Some(place(of))))) {}
        }
    }
}

/// Which thread has which colour, and what the bands are.
pub(super) fn legend(digest: &Digest) -> Markup {
    let stalls = |cause| digest.pictures.stalls.iter().filter(move |of| of.cause == cause).count();
    let causes = Cause::iter().map(|cause| (cause.name(), stalls(cause)));
    html! {
        p.legend {
            @for (number, thread) in digest.threads.iter().enumerate() {
                span { span class={ "chip " (colour(number)) } {} (thread.name()) }
            }
            @for (name, count) in causes.filter(|(_, count)| *count > 0) {
                span { span class={ "band " (name) } {} "stall: " (name) " (" (count) ")" }
            }
        }
    }
}

/// The axis of time, in seconds, minutes or hours.
struct TimeAxis {
    length_ns: f64,
    unit_ns: f64,
    unit: &'static str,
}

impl TimeAxis {
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

    fn drawn(&self, frame: &Frame) -> Markup {
        let width = frame.right - LEFT;
        let half = |words: &str| words.chars().count() as f64 * CHARACTER / 2.0;
        html! {
            @for (value, words) in ticks(0.0, self.length_ns / self.unit_ns, width / TICK_WIDTH) {
                @let x = LEFT + value * self.unit_ns / self.length_ns * width;
                (frame.upright("grid", x))
                (frame.number(x.min(WIDTH - half(&words)), &words))
            }
            (frame.axes(&format!("time since the start of the cell ({})", self.unit)))
        }
    }
}
