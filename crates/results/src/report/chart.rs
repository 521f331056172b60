//! Which charts a report has, and what is in them: a chart per recorded point with all runs that
//! recorded it, the total of all loads, and for each requirement on silence the time since the
//! last new message. Events are markers, requirements on a point are bounds.

use std::collections::BTreeMap;

use vtime::VirtualSpan;

use super::decimate::Row;
use super::loaded::Loaded;
use crate::measure::new_data_times;
use crate::{Column, Verdict};
use report_kit::figure::{figure, seconds};
use scenario::model::{Bounds, End, Measure, MeasureKind};
use scenario::told::{Statistic, unit};

#[derive(Default)]
pub(super) struct Chart {
    pub(super) title: String,
    /// The name of the point, where it is one.
    pub(super) point: String,
    pub(super) unit: String,
    /// One line per run.
    pub(super) traces: Vec<Trace>,
    pub(super) markers: Vec<Marker>,
    pub(super) bounds: Vec<Bound>,
    /// Begin and end of the axis of time, the same for all charts.
    pub(super) span_ns: (i64, i64),
}

pub(super) struct Trace {
    pub(super) run: usize,
    pub(super) rows: Vec<Row>,
    /// File and query that they came from.
    pub(super) source: String,
}

#[derive(Clone)]
pub(super) struct Marker {
    pub(super) runs: Vec<usize>,
    pub(super) at_ns: i64,
    pub(super) text: String,
}

/// Bounds of a requirement over its window.
#[derive(Clone)]
pub(super) struct Bound {
    pub(super) runs: Vec<usize>,
    pub(super) window_ns: (i64, i64),
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// What is bounded, such as `minimum ≥ 2375 V`.
    pub(super) text: String,
}

impl Chart {
    pub(super) fn axis_name(&self) -> String {
        let quantity = match self.unit.as_str() {
            "" => return "value".to_owned(),
            "V" => "voltage",
            "kW" => "active power",
            "kvar" => "reactive power",
            "ms" => "time",
            unit => return unit.to_owned(),
        };
        format!("{quantity} ({})", self.unit)
    }

    /// Width of a line: those below are wider, so that they show where lines coincide.
    pub(super) fn line_width(&self, index: usize) -> f64 {
        let above = u32::try_from(self.traces.len() - 1 - index).unwrap_or(0);
        1.3 + 1.1 * f64::from(above.min(4))
    }

    /// Lowest and highest value, with the bounds where they lie near enough not to flatten the
    /// lines.
    pub(super) fn range(&self) -> (f64, f64) {
        let rows = self.traces.iter().flat_map(|trace| &trace.rows);
        let values = rows.map(|row| row.1).filter(|value| value.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), widened);
        if low > high {
            return (0.0, 1.0);
        }
        let reach = (high - low).max(high.abs() * 1e-3).max(1e-9);
        let bounds = self.bounds.iter().flat_map(|bound| [bound.low, bound.high]).flatten();
        let near = bounds.filter(|bound| *bound > low - reach && *bound < high + reach);
        let (low, high) = near.fold((low, high), widened);
        let margin = margin(low, high);
        (low - margin, high + margin)
    }
}

/// What an axis has beyond the values on it. So much that its numbers have five digits and not ten, and
/// that a line without any change looks like one.
fn margin(low: f64, high: f64) -> f64 {
    match (high - low, high.abs().max(low.abs())) {
        (0.0, 0.0) => 1.0,
        (0.0, size) => size * 0.05,
        (span, size) => (span * 0.07).max(size * 1e-4),
    }
}

fn widened(range: (f64, f64), value: f64) -> (f64, f64) {
    (range.0.min(value), range.1.max(value))
}

pub(super) fn all(runs: &[Loaded]) -> Vec<Chart> {
    let span_ns = span(runs);
    let markers = markers(runs);
    let mut charts = points(runs);
    charts.extend(total_load(runs));
    charts.sort_by_key(|chart| rank(&chart.point));
    charts.extend(silences(runs));
    charts.extend(reported(runs));
    for chart in &mut charts {
        chart.span_ns = span_ns;
        chart.markers = markers.iter().filter_map(|marker| marker.of(&chart.traces)).collect();
        for bound in &mut chart.bounds {
            bound.window_ns.1 = bound.window_ns.1.min(span_ns.1);
        }
    }
    charts
}

/// From zero to the planned end of the longest run.
fn span(runs: &[Loaded]) -> (i64, i64) {
    let end = runs.iter().map(|run| run.record.scenario.duration_ns).max();
    (0, end.unwrap_or(0).max(1))
}

fn markers(runs: &[Loaded]) -> Vec<Marker> {
    let mut markers: Vec<Marker> = Vec::new();
    for run in runs {
        for event in &run.record.scenario.events {
            let same = |known: &&mut Marker| known.at_ns == event.at_ns && known.text == event.what;
            match markers.iter_mut().find(same) {
                Some(known) => known.runs.push(run.number),
                None => markers.push(Marker {
                    runs: vec![run.number],
                    at_ns: event.at_ns,
                    text: event.what.clone(),
                }),
            }
        }
    }
    markers.sort_by_key(|marker| marker.at_ns);
    markers
}

/// Voltages first, as the question is about them; then what moves them.
fn rank(point: &str) -> usize {
    let kind = point.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let kinds = ["bus", "generator", "storage", "load"];
    kinds.iter().position(|known| *known == kind).unwrap_or(kinds.len())
}

/// A chart for each point that any run recorded, loads apart: they are shown as a total.
fn points(runs: &[Loaded]) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for run in runs {
        for column in columns(run).filter(|column| !is_load_power(column)) {
            let same = |chart: &Chart| chart.point.eq_ignore_ascii_case(&column.point.0);
            let index = charts.iter().position(same).unwrap_or_else(|| {
                charts.push(empty(title_of(&column.point.0), &column.point.0, &column.unit));
                charts.len() - 1
            });
            charts[index].traces.push(Trace {
                run: run.number,
                rows: rows(run, |row| column.values[row]),
                source: format!("{}, column {}", run.data.series_file, column.point.0),
            });
        }
    }
    for chart in &mut charts {
        chart.bounds = bounds(runs, |measure| {
            measure.point().is_some_and(|point| point.0.eq_ignore_ascii_case(&chart.point))
        });
    }
    charts
}

fn total_load(runs: &[Loaded]) -> Option<Chart> {
    let mut chart = empty("Sum of the recorded loads".into(), "load.*.kW", "kW");
    for run in runs {
        let loads: Vec<&Column> = columns(run).filter(|column| is_load_power(column)).collect();
        if !loads.is_empty() {
            let names: Vec<&str> = loads.iter().map(|column| column.point.0.as_str()).collect();
            chart.traces.push(Trace {
                run: run.number,
                rows: rows(run, |row| loads.iter().map(|column| column.values[row]).sum()),
                source: format!("{}, sum of {}", run.data.series_file, names.join(" + ")),
            });
        }
    }
    (!chart.traces.is_empty()).then_some(chart)
}

/// For each flow of which silence is asked: how long ago the last new message was.
fn silences(runs: &[Loaded]) -> Vec<Chart> {
    let mut charts: Vec<(&MeasureKind, Chart)> = Vec::new();
    let demands = runs.iter().flat_map(|run| &run.record.scenario.requirements);
    for kind in demands.map(|demand| &demand.measure.kind) {
        let MeasureKind::LongestGap { from, to, port, at } = kind else { continue };
        if charts.iter().any(|(known, _)| *known == kind) {
            continue;
        }
        let title = match at {
            End::Sender => format!("Time since {from} last sent new data to {to}, port {port}"),
            End::Receiver => {
                format!("Time since new data from {from} last reached {to}, port {port}")
            }
        };
        let traces = runs.iter().filter_map(|run| silence((from, to, *port), *at, run)).collect();
        let bounds = bounds(runs, |measure| measure.kind == *kind);
        charts.push((kind, Chart { traces, bounds, ..empty(title, "", "ms") }));
    }
    charts.into_iter().map(|(_, chart)| chart).filter(|chart| !chart.traces.is_empty()).collect()
}

/// A saw: it rises with time and falls to zero with each new message.
fn silence((from, to, port): (&str, &str, u16), at: End, run: &Loaded) -> Option<Trace> {
    let polls = new_data_times((from, to, port), at, &run.data).ok()?;
    let mut rows = Vec::new();
    let mut last_ns = 0;
    for time_ns in polls.times_ns.into_iter().filter(|time_ns| *time_ns >= 0) {
        rows.extend([(time_ns, in_ms(time_ns - last_ns)), (time_ns, 0.0)]);
        last_ns = time_ns;
    }
    let end_ns = polls.covered_ns.min(run.record.scenario.duration_ns);
    if end_ns > last_ns {
        rows.push((end_ns, in_ms(end_ns - last_ns)));
    }
    let (node, way, peer) = match at {
        End::Sender => (from, "outbound", format!("to {to}")),
        End::Receiver => (to, "inbound", format!("from {from}")),
    };
    let query = format!("frames {way} with new payload {peer}, port {port}");
    Some(Trace { run: run.number, rows, source: format!("captures/{node}.pcapng, {query}") })
}

/// For each member of which a program is asked: what it reported, as it came.
fn reported(runs: &[Loaded]) -> Vec<Chart> {
    let mut charts: BTreeMap<(String, String), Chart> = BTreeMap::new();
    for run in runs {
        for (key, values) in &run.data.reported {
            let (program, member) = key;
            let title = format!("{member}, reported by {program}");
            let chart = charts.entry(key.clone()).or_insert_with(|| empty(title, "", unit(member)));
            let source = format!("programs/{program}.log, {member}");
            chart.traces.push(Trace { run: run.number, rows: values.rows.clone(), source });
        }
    }
    for ((of_program, of_member), chart) in &mut charts {
        chart.bounds = bounds(runs, |measure| {
            matches!(&measure.kind, MeasureKind::Told { program, member, .. }
                if program == of_program && member == of_member)
        });
    }
    charts.into_values().collect()
}

fn in_ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// Bounds that verdicts are about; one where several runs have the same.
fn bounds(runs: &[Loaded], concerns: impl Fn(&Measure) -> bool) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = Vec::new();
    for run in runs {
        let about = run.verdicts.iter().filter(|verdict| concerns(&verdict.requirement.measure));
        for mut bound in about.filter_map(|verdict| bound_of(run, verdict)) {
            let same =
                |known: &&mut Bound| known.text == bound.text && known.window_ns == bound.window_ns;
            match bounds.iter_mut().find(same) {
                Some(known) => known.runs.append(&mut bound.runs),
                None => bounds.push(bound),
            }
        }
    }
    bounds
}

/// `None` where the bound is not on the values of the chart: a time or a count.
fn bound_of(run: &Loaded, verdict: &Verdict) -> Option<Bound> {
    let demand = &verdict.requirement;
    let on_values = |what: &str| (demand.at_least, demand.at_most, what.to_owned());
    let on_times =
        |what: &str, value: f64| (Some(value), None, format!("{what} below {}:", figure(value)));
    let (low, high, what) = match &demand.measure.kind {
        MeasureKind::Minimum { .. } => on_values("minimum"),
        MeasureKind::Maximum { .. } => on_values("maximum"),
        MeasureKind::LongestGap { .. } => on_values("longest"),
        MeasureKind::FirstBelow { value, .. } => on_times("first", *value),
        MeasureKind::LastBelow { value, .. } => on_times("last", *value),
        MeasureKind::Told { statistic: Statistic::Count, .. }
        | MeasureKind::Changes { .. }
        | MeasureKind::Received { .. } => return None,
        MeasureKind::Told { statistic, .. } => on_values(statistic.name()),
    };
    let planned_to = VirtualSpan::from_ns(run.record.scenario.duration_ns);
    let window = Bounds::of(demand.measure.window, planned_to);
    (low.is_some() || high.is_some()).then(|| Bound {
        runs: vec![run.number],
        window_ns: (window.from_ns, window.to_ns),
        low,
        high,
        text: format!("{what} {}", verdict.bounds_text()),
    })
}

fn columns(run: &Loaded) -> impl Iterator<Item = &Column> {
    run.data.series.iter().flat_map(|series| &series.columns)
}

fn is_load_power(column: &Column) -> bool {
    let point = column.point.0.to_ascii_lowercase();
    point.starts_with("load.") && column.unit == "kW"
}

fn rows(run: &Loaded, value: impl Fn(usize) -> f64) -> Vec<Row> {
    let times = run.data.series.iter().flat_map(|series| &series.time_ns);
    times
        .enumerate()
        .filter(|(_, time)| **time >= 0)
        .map(|(row, time)| (*time, value(row)))
        .collect()
}

fn empty(title: String, point: &str, unit: &str) -> Chart {
    Chart { title, point: point.to_owned(), unit: unit.to_owned(), ..Chart::default() }
}

/// `bus.680.v1` in words; a name of another form stays as it is.
fn title_of(point: &str) -> String {
    let parts: Vec<&str> = point.split('.').collect();
    let &[kind, name, quantity] = parts.as_slice() else { return point.to_owned() };
    let quantity = match quantity.to_ascii_lowercase().as_str() {
        "v1" => "phase 1 to neutral",
        "v2" => "phase 2 to neutral",
        "v3" => "phase 3 to neutral",
        "kw" => "active power",
        "kvar" => "reactive power",
        _ => return point.to_owned(),
    };
    match kind.to_ascii_lowercase().as_str() {
        "bus" => format!("Voltage at bus {name}, {quantity}"),
        "generator" => format!("Generator {name}, {quantity}"),
        "storage" => format!("Storage {name}, {quantity}"),
        "load" => format!("Load {name}, {quantity}"),
        _ => point.to_owned(),
    }
}

impl Marker {
    /// The event for the runs that have a line; `None` if it is of none of them.
    fn of(&self, traces: &[Trace]) -> Option<Self> {
        let has_line = |run: &usize| traces.iter().any(|trace| trace.run == *run);
        let runs: Vec<usize> = self.runs.iter().copied().filter(has_line).collect();
        (!runs.is_empty()).then(|| Self { runs, ..self.clone() })
    }

    pub(super) fn label(&self) -> String {
        format!("{} s  {}", seconds(self.at_ns), self.text)
    }
}

/// The class of the colour of something that belongs to these runs: the colour of the one run,
/// or a neutral one.
pub(super) fn colour(runs: &[usize]) -> String {
    match runs {
        &[run] => format!("run{}", run % COLOURS),
        _ => "shared".to_owned(),
    }
}

/// The class of the line of a run: colour and dashes, so that nobody needs to tell colours apart.
/// No two of the first 32 runs have both the same.
pub(super) fn line_class(run: usize) -> String {
    format!("run{} dash{}", run % COLOURS, (run / 2 + run / COLOURS) % DASHES)
}

/// Colours in the style sheet; further runs begin again, with other dashes.
pub(super) const COLOURS: usize = 8;
const DASHES: usize = 4;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_many_runs_are_drawn_alike_and_the_style_sheet_has_all() {
        let classes: BTreeSet<String> = (0..COLOURS * DASHES).map(line_class).collect();
        assert_eq!(classes.len(), COLOURS * DASHES);
        let style = report_kit::page::STYLE;
        for class in classes.iter().flat_map(|class| class.split(' ')) {
            assert!(style.contains(&format!(".{class} ")), "no style for {class}");
        }
        assert_eq!(style.matches("--run7: #").count(), 3, "light, dark and on paper");
    }

    #[test]
    fn an_event_is_shown_where_its_run_has_a_line() {
        let trace = |run| Trace { run, rows: Vec::new(), source: String::new() };
        let marker = Marker { runs: vec![0, 2], at_ns: 5, text: "link down".into() };
        assert_eq!(marker.of(&[trace(1), trace(2)]).unwrap().runs, [2]);
        assert!(marker.of(&[trace(1)]).is_none());
    }

    #[test]
    fn an_axis_is_long_enough_for_its_numbers() {
        let axis = |low: f64, high| (low - margin(low, high), high + margin(low, high));
        assert_eq!(axis(0.0, 0.0), (-1.0, 1.0));
        assert_eq!(axis(100.0, 100.0), (95.0, 105.0));
        assert_eq!(axis(-50.0, 50.0).1, 57.0);
        for (low, high) in [(60.0, 60.000_001), (-7200.0, -7200.0), (1.0, 1.0)] {
            let (bottom, top) = axis(low, high);
            let ticks = report_kit::axis::ticks(bottom, top, 5.0);
            assert!(ticks.len() > 1 && ticks.iter().all(|(_, text)| text.len() <= 8), "{ticks:?}");
        }
    }
}
