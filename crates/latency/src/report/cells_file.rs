//! One row for each cell, and one for each of its threads, as CSV and Parquet: the published layout
//! in its units, and what a script may want besides.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cell::columns::{Kind, Values, Writer};
use crate::digest::{Digest, ThreadDigest};
use report_kit::statistics::Summary;

const SCHEMA: [(&str, Kind); 33] = [
    ("platform", Kind::Text),
    ("profile", Kind::Text),
    ("core", Kind::Text),
    ("samples", Kind::Int64),
    ("missed", Kind::Int64),
    ("lost", Kind::Int64),
    ("lower_whisker_ms", Kind::Double),
    ("lower_quartile_ms", Kind::Double),
    ("median_ms", Kind::Double),
    ("mean_ms", Kind::Double),
    ("mean_confidence_ms", Kind::Double),
    ("std_ms", Kind::Double),
    ("upper_quartile_ms", Kind::Double),
    ("upper_whisker_ms", Kind::Double),
    ("max_jitter_ms", Kind::Double),
    ("min_ms", Kind::Double),
    ("max_ms", Kind::Double),
    ("p99_ms", Kind::Double),
    ("p99_lower_ms", Kind::Double),
    ("p99_upper_ms", Kind::Double),
    ("p99_9_ms", Kind::Double),
    ("p99_9_lower_ms", Kind::Double),
    ("p99_9_upper_ms", Kind::Double),
    ("p99_99_ms", Kind::Double),
    ("p99_99_lower_ms", Kind::Double),
    ("p99_99_upper_ms", Kind::Double),
    ("p99_999_ms", Kind::Double),
    ("p99_999_lower_ms", Kind::Double),
    ("p99_999_upper_ms", Kind::Double),
    ("return_level_ms", Kind::Double),
    ("return_level_upper_ms", Kind::Double),
    ("return_period_s", Kind::Double),
    ("marks", Kind::Text),
];

/// A value of a row.
enum Value {
    Text(String),
    Count(u64),
    /// NaN: there is none.
    Number(f64),
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
    row.resize_with(SCHEMA.len() - 4, || Value::Number(f64::NAN));
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
    row.resize_with(SCHEMA.len() - 1, || Value::Number(f64::NAN));
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
    let mut text = SCHEMA.map(|(name, _)| name).join(",") + "\n";
    for row in rows(cells) {
        let fields: Vec<String> = row.into_iter().map(field).collect();
        text += &(fields.join(",") + "\n");
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn field(value: Value) -> String {
    match value {
        Value::Text(text) if text.contains([',', '"', '\n']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::Text(text) => text,
        Value::Count(count) => count.to_string(),
        Value::Number(number) if number.is_finite() => number.to_string(),
        Value::Number(_) => String::new(),
    }
}

/// Writes the rows as Parquet; NaN where there is no number.
pub(super) fn write_parquet(cells: &[Digest], path: &Path) -> Result<()> {
    let mut table: Vec<Values> = SCHEMA
        .iter()
        .map(|(_, kind)| match kind {
            Kind::Int32 => Values::Int32(Vec::new()),
            Kind::Int64 => Values::Int64(Vec::new()),
            Kind::Double => Values::Double(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        })
        .collect();
    for row in rows(cells) {
        for (column, value) in table.iter_mut().zip(row) {
            match (column, value) {
                (Values::Text(all), Value::Text(text)) => all.push(text),
                (Values::Int64(all), Value::Count(count)) => {
                    all.push(i64::try_from(count).unwrap_or(i64::MAX));
                }
                (Values::Double(all), Value::Number(number)) => all.push(number),
                _ => unreachable!("rows are made in the order of the schema"),
            }
        }
    }
    let mut writer = Writer::create(path, "cells", &SCHEMA)?;
    writer.group(&table)?;
    writer.finish()
}
