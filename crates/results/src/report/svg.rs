//! A chart drawn: grid, bounds, lines, events, axes. The script draws the same picture again at
//! the width of the window; what is drawn here is what paper and browsers without scripts show.

use maud::{Markup, html};

use super::chart::{Bound, Chart, Marker, Trace, colour, line_class};
use super::decimate::decimate;
use super::lanes::{Label, Texts, arrange};
use crate::measure::in_seconds;
use report_kit::axis::ticks;
use report_kit::plot::{Frame, WIDTH, line, path, rect, text};

/// Height of the values.
const PLOT: f64 = 192.0;
/// Room for the numbers of the axis.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 10.0;
/// Above the picture, and what each lane of the texts of events adds.
const TOP: f64 = 10.0;
const LANE: f64 = 14.0;
/// Pixels between marks, so that their texts stay apart.
const TICK_WIDTH: f64 = 90.0;
const TICK_HEIGHT: f64 = 42.0;
/// Columns of pixels: twice as many as drawn, for paper.
const COLUMNS: usize = 1760;

struct Scale {
    span_ns: (i64, i64),
    range: (f64, f64),
    frame: Frame,
}

impl Scale {
    fn x(&self, time_ns: i64) -> f64 {
        x_of(self.span_ns, time_ns)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        self.frame.top + (high - value) / (high - low) * PLOT
    }
}

fn x_of((from, to): (i64, i64), time_ns: i64) -> f64 {
    LEFT + (time_ns - from) as f64 / (to - from) as f64 * (WIDTH - LEFT - RIGHT)
}

pub(super) fn svg(chart: &Chart, number: usize) -> Markup {
    let labelled = |marker: &Marker| (x_of(chart.span_ns, marker.at_ns), marker.label());
    let texts: Vec<(f64, String)> = chart.markers.iter().map(labelled).collect();
    let (labels, lanes) = arrange(&texts, WIDTH);
    let top = TOP + LANE * lanes as f64;
    let frame = Frame { left: LEFT, right: WIDTH - RIGHT, top, bottom: top + PLOT };
    let scale = Scale { span_ns: chart.span_ns, range: chart.range(), frame };
    // All lines before all texts, whose edges then keep the lines of others off them.
    let events = chart.markers.iter().zip(&labels);
    let events: Vec<_> =
        events.filter_map(|(marker, label)| event(marker, label.as_ref(), &scale)).collect();
    let mut texts = Texts::default();
    let content = html! {
        clipPath id={ "clip" (number) } {
            rect x=(LEFT) y=(top) width=(WIDTH - LEFT - RIGHT) height=(PLOT) {}
        }
        (axes(chart, &scale))
        g clip-path={ "url(#clip" (number) ")" } {
            @for bound in &chart.bounds { (band(bound, &scale)) }
            @for (index, trace) in chart.traces.iter().enumerate() {
                path class={ "trace " (line_class(trace.run)) } stroke-width=(chart.line_width(index)) d=(path_of(trace, &scale)) {}
            }
        }
        @for bound in &chart.bounds { (bound_text(bound, &scale, &mut texts)) }
        @for (line, _) in &events { (line) }
        @for (_, text) in &events { (text) }
    };
    frame.picture(&chart.title, &content)
}

fn axes(chart: &Chart, scale: &Scale) -> Markup {
    let (frame, (low, high)) = (&scale.frame, scale.range);
    let [from, to] = <[_; 2]>::from(chart.span_ns).map(in_seconds);
    let width = frame.right - LEFT;
    let x = |value: f64| LEFT + (value - from) / (to - from) * width;
    html! {
        @for (value, number) in ticks(low, high, PLOT / TICK_HEIGHT) { (frame.level(scale.y(value), &number)) }
        @for (value, number) in ticks(from, to, width / TICK_WIDTH) {
            (frame.upright("grid", x(value))) (frame.number(x(value), &number))
        }
        (frame.axes("scenario time (s)"))
        (frame.name_at_left(&chart.axis_name()))
    }
}

fn path_of(trace: &Trace, scale: &Scale) -> String {
    let rows = decimate(&trace.rows, COLUMNS).into_iter();
    line(rows.map(|(at, value)| value.is_finite().then(|| (scale.x(at), scale.y(value)))))
}

/// Where the value is required to lie: a band between two bounds, a fading edge at one.
fn band(bound: &Bound, scale: &Scale) -> Markup {
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
        [None, None] => return html! {},
    };
    html! {
        (rect(&format!("{kind} {class}"), [x, top, width, height], ""))
        @for y in ys.into_iter().flatten() { (path(&format!("bound {class}"), format_args!("M{x:.1} {y:.1}h{width:.1}"))) }
    }
}

fn bound_text(bound: &Bound, scale: &Scale, texts: &mut Texts) -> Markup {
    let (top, bottom) = (scale.frame.top, scale.frame.bottom);
    let y = bound.high.or(bound.low).map(|value| scale.y(value));
    let Some(y) = y.filter(|y| (top..=bottom).contains(y)) else { return html! {} };
    // Below its line where there is no room above it.
    let y = if y - top < 16.0 { y + 13.0 } else { y - 5.0 };
    let x = scale.x(bound.window_ns.0).max(LEFT) + 6.0;
    let y = texts.place(x, y, &bound.text);
    text(&format!("note {}", colour(&bound.runs)), x, y, "start", &bound.text)
}

/// The line of an event, and its text; `None` outside of the picture.
fn event(marker: &Marker, label: Option<&Label>, scale: &Scale) -> Option<(Markup, Markup)> {
    let (x, Frame { top, bottom, .. }) = (scale.x(marker.at_ns), scale.frame);
    if !(LEFT..=WIDTH - RIGHT).contains(&x) {
        return None;
    }
    let top = label.map_or(top, |label| top - 5.0 - LANE * label.lane as f64);
    let colour = colour(&marker.runs);
    let line = path(&format!("event {colour}"), format_args!("M{x:.1} {top:.1}V{bottom}"));
    let text = label.map_or(html! {}, |Label { text: words, anchor, .. }| {
        let beside = if *anchor == "start" { x + 3.0 } else { x - 3.0 };
        text(&format!("note {colour}"), beside, top, anchor, words)
    });
    Some((line, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(rows: Vec<(i64, f64)>) -> Chart {
        Chart {
            title: "<i>".into(),
            unit: "V".into(),
            traces: vec![Trace { run: 0, rows, source: String::new() }],
            markers: vec![Marker { runs: vec![0], at_ns: 5, text: "</svg><script>".into() }],
            span_ns: (0, 10),
            ..Chart::default()
        }
    }

    #[test]
    fn a_value_that_is_no_number_breaks_the_line() {
        let chart = chart(vec![(0, 1.0), (1, f64::NAN), (2, 2.0), (3, 3.0)]);
        let picture = svg(&chart, 0).into_string();
        let trace = picture.split("class=\"trace run0 dash0\"").nth(1).unwrap();
        let path = trace.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
    }

    #[test]
    fn texts_are_escaped() {
        let picture = svg(&chart(vec![(0, 1.0)]), 0).into_string();
        assert!(!picture.contains("<i>") && !picture.contains("<script>"));
        assert!(picture.ends_with("</svg>") && picture.matches("</svg>").count() == 1);
    }

    #[test]
    fn a_chart_without_values_is_an_empty_frame() {
        assert!(svg(&chart(Vec::new()), 0).into_string().contains("d=\"\""));
    }
}
