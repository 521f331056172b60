//! The numbers of the charts for the script, which draws them again at other widths and zooms.
//!
//! Times are 32-bit counts of ticks, values 32-bit floats (seven digits: 0.2 mV of 2400 V), both
//! little-endian in base64. Long series are thinned, extremes kept; the files of the run have
//! all rows.

use serde_json::{Value, json};

use super::chart::{Bound, Chart, Marker, Trace, colour, line_class};
use super::decimate::decimate;
use crate::measure::in_seconds as seconds;
use report_kit::page::base64;

/// Buckets of at most four rows per line: 16,000 rows, about 170 kB of text.
const BUCKETS: usize = 4000;

pub(super) fn json(charts: &[Chart]) -> Value {
    charts.iter().map(chart).collect()
}

fn chart(chart: &Chart) -> Value {
    let lines = chart.traces.iter().enumerate();
    let traces: Vec<Value> =
        lines.map(|(index, line)| trace(line, chart.line_width(index), chart.span_ns)).collect();
    let markers: Vec<Value> = chart.markers.iter().map(marker).collect();
    let bounds: Vec<Value> = chart.bounds.iter().map(bound).collect();
    json!({
        "unit": chart.unit, "axis": chart.axis_name(), "ramp": chart.point.is_empty(),
        "span": <[_; 2]>::from(chart.span_ns).map(seconds), "range": chart.range(),
        "traces": traces, "markers": markers, "bounds": bounds,
    })
}

fn trace(trace: &Trace, width: f64, span_ns: (i64, i64)) -> Value {
    let rows = decimate(&trace.rows, BUCKETS);
    let from_ns = rows.first().map_or(0, |row| row.0);
    let to_ns = rows.last().map_or(span_ns.1, |row| row.0);
    let tick_ns = ((to_ns - from_ns) / i64::from(u32::MAX) + 1).max(1);
    let tick = |time_ns: i64| u32::try_from((time_ns - from_ns) / tick_ns).unwrap_or(u32::MAX);
    let times: Vec<u8> = rows.iter().flat_map(|row| tick(row.0).to_le_bytes()).collect();
    let values: Vec<u8> = rows.iter().flat_map(|row| (row.1 as f32).to_le_bytes()).collect();
    json!({
        "colour": line_class(trace.run), "width": width,
        "from": seconds(from_ns), "tick": seconds(tick_ns),
        "times": base64(&times), "values": base64(&values),
    })
}

fn marker(marker: &Marker) -> Value {
    json!({ "colour": colour(&marker.runs), "at": seconds(marker.at_ns), "text": marker.label() })
}

fn bound(bound: &Bound) -> Value {
    let (from, to) = bound.window_ns;
    json!({
        "colour": colour(&bound.runs), "from": seconds(from), "to": seconds(to),
        "low": bound.low, "high": bound.high, "text": bound.text,
    })
}
