//! A chart drawn: grid, bounds, lines, events, axes. The script draws the same picture again at
//! the width of the window; what is drawn here is what paper and browsers without scripts show.

use std::fmt::Write as _;

use super::chart::{Bound, Chart, Marker, Trace, colour, line_class};
use super::decimate::decimate;
use super::lanes::{Label, Texts, arrange};
use report_kit::axis::ticks;
use report_kit::html::escape;

const WIDTH: f64 = 960.0;
/// Of the values.
const PLOT: f64 = 192.0;
/// Room for the numbers of the axis.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 10.0;
/// Above the picture, and what each lane of the texts of events adds.
const TOP: f64 = 10.0;
const LANE: f64 = 14.0;
const BOTTOM: f64 = 36.0;
/// Pixels between marks, so that their texts stay apart.
const TICK_WIDTH: f64 = 90.0;
const TICK_HEIGHT: f64 = 42.0;
/// Columns of pixels: twice as many as drawn, for paper.
const COLUMNS: usize = 1760;

/// Where values lie in the picture.
struct Scale {
    span_ns: (i64, i64),
    range: (f64, f64),
    /// Where the values begin, below the lanes of labels, and where they end.
    top: f64,
    bottom: f64,
}

impl Scale {
    fn x(&self, time_ns: i64) -> f64 {
        x_of(self.span_ns, time_ns)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        self.top + (high - value) / (high - low) * (self.bottom - self.top)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a hundredth of a pixel is enough")]
fn x_of((from, to): (i64, i64), time_ns: i64) -> f64 {
    LEFT + (time_ns - from) as f64 / (to - from) as f64 * (WIDTH - LEFT - RIGHT)
}

/// A chart as an SVG element.
pub(super) fn svg(chart: &Chart, number: usize) -> String {
    let x = |at_ns| x_of(chart.span_ns, at_ns);
    let texts: Vec<(f64, String)> =
        chart.markers.iter().map(|marker| (x(marker.at_ns), marker.label())).collect();
    let (labels, lanes) = arrange(&texts, WIDTH);
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let top = TOP + LANE * lanes as f64;
    let bottom = top + PLOT;
    let scale = Scale { span_ns: chart.span_ns, range: chart.range(), top, bottom };
    let all = bottom + BOTTOM;
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {all}\" role=\"img\" aria-label=\"{}\">",
        escape(&chart.title)
    );
    let width = WIDTH - LEFT - RIGHT;
    let _ = write!(
        out,
        "<clipPath id=\"clip{number}\"><rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{PLOT}\"/></clipPath>"
    );
    axes(&mut out, chart, &scale);
    let _ = write!(out, "<g clip-path=\"url(#clip{number})\">");
    for bound in &chart.bounds {
        band(&mut out, bound, &scale);
    }
    for (index, trace) in chart.traces.iter().enumerate() {
        let (class, path) = (line_class(trace.run), path(trace, &scale));
        let width = chart.line_width(index);
        let _ =
            write!(out, "<path class=\"trace {class}\" stroke-width=\"{width}\" d=\"{path}\"/>");
    }
    out.push_str("</g>");
    let mut texts = Texts::default();
    for bound in &chart.bounds {
        bound_text(&mut out, bound, &scale, &mut texts);
    }
    // All lines before all texts, whose edges then keep the lines of others off them.
    let events: Vec<_> = chart.markers.iter().zip(labels).collect();
    for (marker, label) in &events {
        event_line(&mut out, marker, label.as_ref(), &scale);
    }
    for (marker, label) in &events {
        event_text(&mut out, marker, label.as_ref(), &scale);
    }
    out.push_str("</svg>");
    out
}

#[expect(clippy::cast_precision_loss, reason = "a hundredth of a pixel is enough")]
fn axes(out: &mut String, chart: &Chart, scale: &Scale) {
    let (top, bottom, right) = (scale.top, scale.bottom, WIDTH - RIGHT);
    let (low, high) = scale.range;
    for (value, text) in ticks(low, high, PLOT / TICK_HEIGHT) {
        let y = scale.y(value);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 7.0,
            y + 4.0
        );
    }
    let (from, to) = chart.span_ns;
    for (value, text) in ticks(from as f64 / 1e9, to as f64 / 1e9, (right - LEFT) / TICK_WIDTH) {
        let x = LEFT + (value * 1e9 - from as f64) / (to - from) as f64 * (right - LEFT);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 16.0
        );
    }
    let _ = write!(out, "<path class=\"axis\" d=\"M{LEFT} {top}V{bottom}H{right}\"/>");
    let _ = write!(
        out,
        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">scenario time (s)</text>",
        f64::midpoint(LEFT, right),
        bottom + BOTTOM - 4.0
    );
    let middle = f64::midpoint(top, bottom);
    let _ = write!(
        out,
        "<text class=\"name\" transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(&chart.axis_name())
    );
}

fn path(trace: &Trace, scale: &Scale) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for (time_ns, value) in decimate(&trace.rows, COLUMNS) {
        if value.is_finite() {
            let letter = if pen_down { 'L' } else { 'M' };
            let _ = write!(path, "{letter}{:.1} {:.1}", scale.x(time_ns), scale.y(value));
        }
        pen_down = value.is_finite();
    }
    path
}

/// Where the value is required to lie: a band between two bounds, a fading edge at one.
fn band(out: &mut String, bound: &Bound, scale: &Scale) {
    /// Height of the edge that shows which side of a single bound is the wrong one.
    const EDGE: f64 = 7.0;
    let class = colour(&bound.runs);
    let (x, end) = (scale.x(bound.window_ns.0), scale.x(bound.window_ns.1));
    let width = (end - x).max(1.0);
    let ys = [bound.low, bound.high].map(|value| value.map(|value| scale.y(value)));
    let (top, height, kind) = match ys {
        [Some(low), Some(high)] => (high, low - high, "allowed"),
        [Some(low), None] => (low, EDGE, "wrong"),
        [None, Some(high)] => (high - EDGE, EDGE, "wrong"),
        [None, None] => return,
    };
    let _ = write!(
        out,
        "<rect class=\"{kind} {class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
    for y in ys.into_iter().flatten() {
        let _ = write!(out, "<path class=\"bound {class}\" d=\"M{x:.1} {y:.1}h{width:.1}\"/>");
    }
}

fn bound_text(out: &mut String, bound: &Bound, scale: &Scale, texts: &mut Texts) {
    let Some(value) = bound.high.or(bound.low) else { return };
    let y = scale.y(value);
    if !(scale.top..=scale.bottom).contains(&y) {
        return;
    }
    // Below its line where there is no room above it.
    let y = if y - scale.top < 16.0 { y + 13.0 } else { y - 5.0 };
    let x = scale.x(bound.window_ns.0).max(LEFT) + 6.0;
    let y = texts.place(x, y, &bound.text);
    let class = colour(&bound.runs);
    let _ = write!(
        out,
        "<text class=\"note {class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escape(&bound.text)
    );
}

/// Where an event stands, and how high its line and its text go; `None` outside of the picture.
fn event_place(marker: &Marker, label: Option<&Label>, scale: &Scale) -> Option<(f64, f64)> {
    let x = scale.x(marker.at_ns);
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let foot = |lane: usize| scale.top - 5.0 - LANE * lane as f64;
    let top = label.map_or(scale.top, |label| foot(label.lane));
    (LEFT..=WIDTH - RIGHT).contains(&x).then_some((x, top))
}

fn event_line(out: &mut String, marker: &Marker, label: Option<&Label>, scale: &Scale) {
    let Some((x, top)) = event_place(marker, label, scale) else { return };
    let (class, bottom) = (colour(&marker.runs), scale.bottom);
    let _ = write!(out, "<path class=\"event {class}\" d=\"M{x:.1} {top:.1}V{bottom}\"/>");
}

fn event_text(out: &mut String, marker: &Marker, label: Option<&Label>, scale: &Scale) {
    let Some((x, top)) = event_place(marker, label, scale) else { return };
    let Some(Label { text, anchor, .. }) = label else { return };
    let class = colour(&marker.runs);
    let beside = if *anchor == "start" { x + 3.0 } else { x - 3.0 };
    let _ = write!(
        out,
        "<text class=\"note {class}\" x=\"{beside:.1}\" y=\"{top:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(rows: Vec<(i64, f64)>) -> Chart {
        Chart {
            title: "<i>".into(),
            point: String::new(),
            unit: "V".into(),
            traces: vec![Trace { run: 0, rows, source: String::new() }],
            markers: vec![Marker { runs: vec![0], at_ns: 5, text: "</svg><script>".into() }],
            bounds: Vec::new(),
            span_ns: (0, 10),
        }
    }

    #[test]
    fn a_value_that_is_no_number_breaks_the_line() {
        let chart = chart(vec![(0, 1.0), (1, f64::NAN), (2, 2.0), (3, 3.0)]);
        let picture = svg(&chart, 0);
        let trace = picture.split("class=\"trace run0 dash0\"").nth(1).unwrap();
        let path = trace.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
    }

    #[test]
    fn texts_are_escaped() {
        let picture = svg(&chart(vec![(0, 1.0)]), 0);
        assert!(!picture.contains("<i>") && !picture.contains("<script>"));
        assert!(picture.ends_with("</svg>") && picture.matches("</svg>").count() == 1);
    }

    #[test]
    fn a_chart_without_values_is_an_empty_frame() {
        assert!(svg(&chart(Vec::new()), 0).contains("d=\"\""));
    }
}
