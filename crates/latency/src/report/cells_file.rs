//! One row for each cell, and one for each of its threads, as CSV and Parquet: the published layout
//! in its units, and what a script may want besides.

use std::iter;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cell::Counts;
use crate::digest::{Digest, ThreadDigest};
use report_kit::csv::quoted;
use report_kit::parquet_table::{Kind, Values, Writer};
use report_kit::statistics::Summary;

/// A row: a cell as a whole, or one of its threads.
struct Row<'c> {
    cell: &'c Digest,
    thread: Option<&'c ThreadDigest>,
}

impl<'c> Row<'c> {
    fn all_of(cell: &'c Digest) -> impl Iterator<Item = Self> {
        let threads = cell.threads.iter().map(Some);
        iter::once(None).chain(threads).map(move |thread| Self { cell, thread })
    }

    /// What a cell has and a single thread has not.
    fn whole(&self) -> Option<&Digest> {
        self.thread.is_none().then_some(self.cell)
    }

    fn core(&self) -> String {
        let Some(thread) = self.thread else { return "all".to_owned() };
        thread.core.map_or_else(|| format!("thread {}", thread.thread), |core| core.to_string())
    }

    fn summary(&self) -> Option<&Summary> {
        self.thread.map_or(self.cell.summary.as_ref(), |thread| thread.summary.as_ref())
    }

    fn sum(&self, of: fn(&Counts) -> u64) -> u64 {
        let all = || self.cell.threads.iter().map(|thread| of(&thread.counts)).sum();
        self.thread.map_or_else(all, |thread| of(&thread.counts))
    }
}

/// The columns in their order, by name; NaN where there is no number.
fn columns(rows: &[Row<'_>]) -> Vec<(String, Values)> {
    type Figure<'f> = &'f dyn Fn(&Row<'_>) -> Option<f64>;
    let text = |name: &str, of: fn(&Row<'_>) -> String| {
        (name.to_owned(), Values::Text(rows.iter().map(of).collect()))
    };
    let count = |name: &str, of: fn(&Row<'_>) -> u64| {
        let counts = rows.iter().map(|row| i64::try_from(of(row)).unwrap_or(i64::MAX));
        (name.to_owned(), Values::Int64(counts.collect()))
    };
    let number = |name: &str, of: Figure<'_>, unit: f64| {
        let numbers = rows.iter().map(|row| of(row).map_or(f64::NAN, |number| number / unit));
        (name.to_owned(), Values::Double(numbers.collect()))
    };
    let in_ms = |name: &str, of: Figure<'_>| number(name, of, 1e6);
    let figure = |name: &str, of: fn(&Summary) -> f64| in_ms(name, &|row| row.summary().map(of));
    let mut columns = vec![
        text("platform", |row| row.cell.platform.clone()),
        text("profile", |row| row.cell.profile.clone()),
        text("core", |row| row.core()),
        count("samples", |row| row.summary().map_or(0, |summary| summary.count)),
        count("missed", |row| row.sum(|counts| counts.missed)),
        count("lost", |row| row.sum(|counts| counts.lost)),
        figure("lower_whisker_ms", |summary| summary.lower_whisker),
        figure("lower_quartile_ms", |summary| summary.lower_quartile),
        figure("median_ms", |summary| summary.median),
        figure("mean_ms", |summary| summary.mean),
        figure("mean_confidence_ms", |summary| summary.mean_confidence),
        figure("std_ms", |summary| summary.deviation),
        figure("upper_quartile_ms", |summary| summary.upper_quartile),
        figure("upper_whisker_ms", |summary| summary.upper_whisker),
        figure("max_jitter_ms", |summary| summary.maximum_jitter),
        figure("min_ms", |summary| summary.minimum),
        figure("max_ms", |summary| summary.maximum),
    ];
    for (index, name) in ["p99", "p99_9", "p99_99", "p99_999"].iter().enumerate() {
        // A cell without samples has no percentiles.
        let of = |row: &Row<'_>| row.whole()?.percentiles.get(index).copied();
        columns.extend([
            in_ms(&format!("{name}_ms"), &|row| Some(of(row)?.value)),
            in_ms(&format!("{name}_lower_ms"), &|row| Some(of(row)?.lower)),
            in_ms(&format!("{name}_upper_ms"), &|row| of(row)?.upper),
        ]);
    }
    let level = |row: &Row<'_>| row.whole()?.return_level;
    let period = |row: &Row<'_>| level(row).map(|_| row.cell.return_period_ns as f64);
    columns.extend([
        in_ms("return_level_ms", &|row| Some(level(row)?.level)),
        in_ms("return_level_upper_ms", &|row| Some(level(row)?.upper)),
        number("return_period_s", &period, 1e9),
        text("marks", |row| row.cell.marks_text()),
    ]);
    columns
}

/// Writes the rows as CSV, with an empty field where there is no number, and as Parquet.
pub(super) fn write(cells: &[Digest], csv: &Path, parquet: &Path) -> Result<()> {
    let rows: Vec<Row<'_>> = cells.iter().flat_map(Row::all_of).collect();
    let (names, columns): (Vec<String>, Vec<Values>) = columns(&rows).into_iter().unzip();
    let mut text = names.join(",") + "\n";
    for row in 0..rows.len() {
        let fields: Vec<String> = columns.iter().map(|values| field(values, row)).collect();
        text += &(fields.join(",") + "\n");
    }
    std::fs::write(csv, text).with_context(|| format!("writing {}", csv.display()))?;
    let kinds = columns.iter().map(Values::kind);
    let schema: Vec<(&str, Kind)> = names.iter().map(String::as_str).zip(kinds).collect();
    let mut writer = Writer::create(parquet, "cells", &schema, &[])?;
    writer.group(&columns)?;
    writer.finish()
}

fn field(column: &Values, row: usize) -> String {
    match column {
        Values::Text(texts) => quoted(&texts[row]).into_owned(),
        Values::Int32(numbers) => numbers[row].to_string(),
        Values::Int64(numbers) => numbers[row].to_string(),
        Values::Double(numbers) if numbers[row].is_finite() => numbers[row].to_string(),
        Values::Double(_) => String::new(),
    }
}
