//! The series as CSV (RFC 4180): for spreadsheets, and as the text that is written while a run
//! goes on. Numbers are written so that reading them gives the same bits back.

use std::io::{self, Write};

use super::series::Series;
use plant::name::PointName;
use report_kit::csv::{fields, quoted};

/// Name of the column with scenario time in nanoseconds.
pub const TIME_COLUMN: &str = "time_ns";

/// Writes a series with its header.
pub fn write(series: &Series, out: &mut impl Write) -> io::Result<()> {
    let points: Vec<PointName> = series.columns.iter().map(|c| c.point.clone()).collect();
    out.write_all(header(&points).as_bytes())?;
    for (row, time_ns) in series.time_ns.iter().enumerate() {
        let values = series.columns.iter().map(|column| column.values[row]);
        out.write_all(line(*time_ns, values).as_bytes())?;
    }
    Ok(())
}

/// The header with its line feed.
pub fn header(points: &[PointName]) -> String {
    let mut text = String::from(TIME_COLUMN);
    for point in points {
        text.push(',');
        // A line feed within a name would break readers that go line by line, this one included.
        text.push_str(&quoted(&point.0.replace(['\n', '\r'], " ")));
    }
    text.push('\n');
    text
}

/// One row with its line feed.
pub fn line(time_ns: i64, values: impl Iterator<Item = f64>) -> String {
    use std::fmt::Write as _;
    let mut text = time_ns.to_string();
    for value in values {
        // `Debug` writes the shortest digits that give the same number back.
        let _ = write!(text, ",{value:?}");
    }
    text.push('\n');
    text
}

/// Reads what [`write()`] and the journal write. A last line that was cut off is left out.
///
/// # Errors
/// A sentence that names the line.
pub fn read(text: &str) -> Result<Series, String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().enumerate();
    let Some((_, head)) = lines.next() else { return Ok(Series::default()) };
    let names = fields(head);
    if names.first().map(String::as_str) != Some(TIME_COLUMN) {
        return Err(format!("line 1: the first column must be `{TIME_COLUMN}`"));
    }
    let points: Vec<PointName> = names.into_iter().skip(1).map(PointName).collect();
    let mut series = Series::empty(&points);
    for (index, line) in lines {
        let row = parse_row(line, points.len())
            .map_err(|reason| format!("line {}: {reason}", index + 1))?;
        series.push(row.0, &row.1);
    }
    Ok(series)
}

fn parse_row(line: &str, points: usize) -> Result<(i64, Vec<f64>), String> {
    let mut cells = line.split(',');
    let time = cells.next().unwrap_or_default();
    let time_ns = time.parse().map_err(|_| format!("`{time}` is not a time in nanoseconds"))?;
    let values: Vec<f64> = cells
        .map(|cell| cell.parse().map_err(|_| format!("`{cell}` is not a number")))
        .collect::<Result<_, _>>()?;
    if values.len() != points {
        return Err(format!("{} values where the header names {points} points", values.len()));
    }
    Ok((time_ns, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_torn_last_line_is_left_out_and_a_bad_one_is_named() {
        let whole = read("time_ns,bus.680.v1\n0,2400.0\n10,23").unwrap();
        assert_eq!(whole.time_ns, [0]);
        assert_eq!(read("time_ns,a\n0,1.0\n5,x\n").unwrap_err(), "line 3: `x` is not a number");
        assert!(read("time_ns,a\n0,1.0,2.0\n").unwrap_err().contains("2 values"));
        assert!(read("t,a\n").unwrap_err().contains("time_ns"));
        assert_eq!(read("").unwrap(), Series::default());
    }

    proptest! {
        #[test]
        fn every_number_and_every_name_comes_back(
            rows in proptest::collection::vec((any::<i64>(), any::<f64>()), 0..20),
            name in "[^\n\r\u{0}-\u{1f}]{1,12}",
        ) {
            let mut series = Series::empty(&[PointName(name)]);
            for (time_ns, value) in &rows {
                series.push(*time_ns, &[*value]);
            }
            let mut text = Vec::new();
            write(&series, &mut text).unwrap();
            let back = read(std::str::from_utf8(&text).unwrap()).unwrap();
            prop_assert_eq!(&back.time_ns, &series.time_ns);
            prop_assert_eq!(&back.columns[0].point, &series.columns[0].point);
            for (a, b) in back.columns[0].values.iter().zip(&series.columns[0].values) {
                prop_assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
            }
        }
    }
}
