//! The series as Parquet: `time_ns` (INT64, scenario time) and one DOUBLE per point, named by
//! the point, with its unit under `unit:<point>` in the key-value metadata. Snappy, no Arrow.
//!
//! A Parquet file ends with its table of contents, so a file that was not closed is no file at
//! all. That is why a run writes a [journal](super::journal) and turns it into this at its end,
//! under a temporary name that is then renamed.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::csv::TIME_COLUMN;
use super::series::{Column, Series};
use plant::name::PointName;
use report_kit::parquet_table::{GROUP_ROWS, Kind, Reader, Values, Writer};

/// Key of the note that says what the times mean.
const TIME_KEY: &str = "time";
const TIME_MEANING: &str = "time_ns is scenario time in nanoseconds";

/// Writes a series as a whole: readers see the file complete or not at all.
pub(crate) fn write(series: &Series, path: &Path) -> Result<()> {
    let mut schema = vec![(TIME_COLUMN, Kind::Int64)];
    let mut notes = vec![(TIME_KEY.to_owned(), TIME_MEANING.to_owned())];
    for column in &series.columns {
        schema.push((&column.point.0, Kind::Double));
        notes.push((unit_key(&column.point.0), column.unit.clone()));
    }
    let mut writer = Writer::create(path, "series", &schema, &notes)?;
    let rows = series.time_ns.len();
    for from in (0..rows).step_by(GROUP_ROWS) {
        let rows = from..rows.min(from + GROUP_ROWS);
        let mut group = vec![Values::Int64(series.time_ns[rows.clone()].to_vec())];
        let columns = series.columns.iter();
        group.extend(columns.map(|column| Values::Double(column.values[rows.clone()].to_vec())));
        writer.group(&group).with_context(|| format!("writing {}", path.display()))?;
    }
    writer.finish()
}

fn unit_key(point: &str) -> String {
    format!("unit:{point}")
}

/// Reads a series.
///
/// # Errors
/// With the path, when the file is no Parquet file or has other columns than a series.
pub(crate) fn read(path: &Path) -> Result<Series> {
    let table = Reader::open(path)?;
    let mut series = empty(&table).with_context(|| format!("reading {}", path.display()))?;
    table.groups(|group| {
        let mut columns = series.columns.iter_mut();
        for values in group {
            match values {
                Values::Int64(times) => series.time_ns.extend(times),
                Values::Double(values) => {
                    columns.next().context("too many columns")?.values.extend(values);
                }
                _ => bail!("a column holds no numbers of a series"),
            }
        }
        Ok(())
    })?;
    Ok(series)
}

/// A series without rows, with the columns of a table.
fn empty(table: &Reader) -> Result<Series> {
    let mut columns = table.columns()?.into_iter();
    if columns.next() != Some((TIME_COLUMN.to_owned(), Kind::Int64)) {
        bail!("the first column must be `{TIME_COLUMN}` (INT64)");
    }
    let column = |(name, kind): (String, Kind)| {
        if kind != Kind::Double {
            bail!("column `{name}` is not a required DOUBLE");
        }
        let unit = table.note(&unit_key(&name)).unwrap_or_default().to_owned();
        Ok(Column { point: PointName(name), unit, values: Vec::new() })
    };
    Ok(Series { time_ns: Vec::new(), columns: columns.map(column).collect::<Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: i64) -> Series {
        let names = ["bus.680.v1", "generator.wind.kW"];
        let mut series = Series::empty(&names.map(|name| PointName(name.into())));
        for row in 0..rows {
            series.push(row * 1_000_000, &[2400.0 + row as f64, f64::NAN]);
        }
        series
    }

    #[test]
    fn a_table_of_several_row_groups_comes_back_with_names_and_units() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        let series = table(150_000);
        write(&series, &path).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.time_ns, series.time_ns);
        assert_eq!(back.columns[0], series.columns[0]);
        assert_eq!(back.columns[1].unit, "kW");
        assert!(back.columns[1].values.iter().all(|value| value.is_nan()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary is left");
    }

    #[test]
    fn a_table_without_rows_is_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        write(&table(0), &path).unwrap();
        assert_eq!(read(&path).unwrap(), table(0));
    }

    #[test]
    fn what_is_no_parquet_is_refused_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.parquet");
        std::fs::write(&path, b"PAR1 not really PAR1").unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("series.parquet"));
    }
}
