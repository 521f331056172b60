//! One row for each cell, and one for each of its threads, as CSV and Parquet: the published layout
//! in its units, and what a script may want besides.

use std::path::Path;

use anyhow::{Context, Result};

use crate::digest::{Digest, ThreadDigest};
use report_kit::csv::quoted;
use report_kit::parquet_table::{Kind, Values, Writer};
use report_kit::statistics::Summary;

/// The head of the CSV file: the names of the columns.
const HEAD: &str = "platform,profile,core,samples,missed,lost,\
    lower_whisker_ms,lower_quartile_ms,median_ms,mean_ms,mean_confidence_ms,std_ms,\
    upper_quartile_ms,upper_whisker_ms,max_jitter_ms,min_ms,max_ms,\
    p99_ms,p99_lower_ms,p99_upper_ms,p99_9_ms,p99_9_lower_ms,p99_9_upper_ms,\
    p99_99_ms,p99_99_lower_ms,p99_99_upper_ms,p99_999_ms,p99_999_lower_ms,p99_999_upper_ms,\
    return_level_ms,return_level_upper_ms,return_period_s,marks";
/// Number of the columns.
const COLUMNS: usize = 33;

/// A value of a row.
enum Value {
    Text(String),
    Count(u64),
    /// NaN: there is none.
    Number(f64),
}

impl Value {
    fn text(&self) -> Option<String> {
        if let Self::Text(text) = self { Some(text.clone()) } else { None }
    }

    fn count(&self) -> Option<i64> {
        if let Self::Count(count) = self {
            Some(i64::try_from(*count).unwrap_or(i64::MAX))
        } else {
            None
        }
    }

    fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

fn rows(cells: &[Digest]) -> Vec<Vec<Value>> {
    let of = |cell: &Digest| {
        let mut rows = vec![whole(cell)];
        rows.extend(cell.threads.iter().map(|thread| one(cell, thread)));
        rows
    };
    cells.iter().flat_map(of).collect()
}

fn whole(cell: &Digest) -> Vec<Value> {
    let sum = |count: fn(&ThreadDigest) -> u64| cell.threads.iter().map(count).sum();
    let counted = (sum(|thread| thread.counts.missed), sum(|thread| thread.counts.lost));
    let mut row = begin(cell, "all".to_owned(), cell.summary.as_ref(), counted);
    for of in &cell.percentiles {
        row.extend([of.value, of.lower, of.upper.unwrap_or(f64::NAN)].map(in_ms));
    }
    // A cell without samples has no percentiles.
    row.resize_with(COLUMNS - 4, || Value::Number(f64::NAN));
    let level = cell.return_level;
    row.push(in_ms(level.map_or(f64::NAN, |level| level.level)));
    row.push(in_ms(level.map_or(f64::NAN, |level| level.upper)));
    row.push(Value::Number(level.map_or(f64::NAN, |_| cell.return_period_ns as f64 / 1e9)));
    row.push(Value::Text(cell.marks_text()));
    row
}

fn one(cell: &Digest, thread: &ThreadDigest) -> Vec<Value> {
    let core =
        thread.core.map_or_else(|| format!("thread {}", thread.thread), |core| core.to_string());
    let counted = (thread.counts.missed, thread.counts.lost);
    let mut row = begin(cell, core, thread.summary.as_ref(), counted);
    row.resize_with(COLUMNS - 1, || Value::Number(f64::NAN));
    row.push(Value::Text(cell.marks_text()));
    row
}

fn begin(
    cell: &Digest,
    core: String,
    summary: Option<&Summary>,
    (missed, lost): (u64, u64),
) -> Vec<Value> {
    let mut row = vec![
        Value::Text(cell.platform.clone()),
        Value::Text(cell.profile.clone()),
        Value::Text(core),
        Value::Count(summary.map_or(0, |summary| summary.count)),
        Value::Count(missed),
        Value::Count(lost),
    ];
    let figures = summary.map_or([f64::NAN; 11], |s| {
        [
            s.lower_whisker,
            s.lower_quartile,
            s.median,
            s.mean,
            s.mean_confidence,
            s.deviation,
            s.upper_quartile,
            s.upper_whisker,
            s.maximum_jitter,
            s.minimum,
            s.maximum,
        ]
    });
    row.extend(figures.map(in_ms));
    row
}

fn in_ms(ns: f64) -> Value {
    Value::Number(ns / 1e6)
}

/// Writes the rows as CSV; an empty field where there is no number.
pub(super) fn write_csv(cells: &[Digest], path: &Path) -> Result<()> {
    let mut text = format!("{HEAD}\n");
    for row in rows(cells) {
        let fields: Vec<String> = row.iter().map(field).collect();
        text += &(fields.join(",") + "\n");
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn field(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text).into_owned(),
        Value::Count(count) => count.to_string(),
        Value::Number(number) if number.is_finite() => number.to_string(),
        Value::Number(_) => String::new(),
    }
}

/// Writes the rows as Parquet; NaN where there is no number.
pub(super) fn write_parquet(cells: &[Digest], path: &Path) -> Result<()> {
    let schema: Vec<(&str, Kind)> = HEAD.split(',').map(|name| (name, kind(name))).collect();
    let rows = rows(cells);
    let column = |(index, (_, kind)): (usize, &(&str, Kind))| {
        column(*kind, rows.iter().filter_map(|row| row.get(index)))
    };
    let mut writer = Writer::create(path, "cells", &schema, &[])?;
    writer.group(&schema.iter().enumerate().map(column).collect::<Vec<_>>())?;
    writer.finish()
}

fn kind(name: &str) -> Kind {
    match name {
        "platform" | "profile" | "core" | "marks" => Kind::Text,
        "samples" | "missed" | "lost" => Kind::Int64,
        _ => Kind::Double,
    }
}

/// A column; values of another kind are left out, so that the table would not be written.
fn column<'a>(kind: Kind, values: impl Iterator<Item = &'a Value>) -> Values {
    match kind {
        Kind::Text => Values::Text(values.filter_map(Value::text).collect()),
        Kind::Int64 | Kind::Int32 => Values::Int64(values.filter_map(Value::count).collect()),
        Kind::Double => Values::Double(values.filter_map(Value::number).collect()),
    }
}
