//! Recorded inputs: CSV tables of values over time, sample and hold. A row holds from its time
//! until the next; the first row also holds before its time.
//!
//! Times are decimal seconds in the file and nanoseconds here. Rows must come in order of time
//! and be whole, because a hole in a record would silently become a wrong grid.

use std::path::{Path, PathBuf};

use vtime::VirtualSpan;

use super::error::PlantError;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Table {
    file: PathBuf,
    rows: Vec<Row>,
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    /// In the file, from 1.
    line: usize,
    time: VirtualSpan,
    values: Vec<f64>,
}

impl Table {
    /// Reads the columns `columns` of a CSV file, in that order.
    pub(super) fn read(file: &Path, time: &str, columns: &[String]) -> Result<Self, PlantError> {
        let text = std::fs::read_to_string(file);
        Self::parse(file, &text.map_err(|e| error(file, 0, e.to_string()))?, time, columns)
    }

    fn parse(file: &Path, text: &str, time: &str, columns: &[String]) -> Result<Self, PlantError> {
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = (1..).zip(text.lines());
        let (_, header) = lines.next().ok_or_else(|| error(file, 0, "the file is empty"))?;
        let header: Vec<&str> = header.split(',').map(str::trim).collect();
        let wanted = std::iter::once(time).chain(columns.iter().map(String::as_str));
        let places: Result<Vec<usize>, String> = wanted.map(|name| place(&header, name)).collect();
        let places = places.map_err(|what| error(file, 1, what))?;
        let mut rows: Vec<Row> = Vec::new();
        for (line, row) in lines.filter(|(_, row)| !row.trim().is_empty()) {
            let values = values(row, header.len(), &places).map_err(|e| error(file, line, e))?;
            let time = VirtualSpan::from_ns((values[0] * 1e9).round() as i64);
            if rows.last().is_some_and(|last| last.time >= time) {
                return Err(error(
                    file,
                    line,
                    format!("time {time} is not after the previous row"),
                ));
            }
            rows.push(Row { line, time, values: values[1..].to_vec() });
        }
        if rows.is_empty() {
            return Err(error(file, 0, "there is a header but there are no rows"));
        }
        Ok(Self { file: file.into(), rows })
    }

    /// Whether each value is taken by the point of its column.
    pub(super) fn check(
        &self,
        takes: impl Fn(usize, f64) -> Result<(), PlantError>,
    ) -> Result<(), PlantError> {
        for row in &self.rows {
            for (column, value) in row.values.iter().enumerate() {
                takes(column, *value).map_err(|e| error(&self.file, row.line, e.to_string()))?;
            }
        }
        Ok(())
    }

    /// The values that hold at `when`.
    pub(super) fn values_at(&self, when: VirtualSpan) -> &[f64] {
        let after = self.rows.partition_point(|row| row.time <= when);
        &self.rows[after.saturating_sub(1)].values
    }

    /// The first time after `when` at which other values may hold.
    pub(super) fn next_change_after(&self, when: VirtualSpan) -> Option<VirtualSpan> {
        // The first row holds before its time, so nothing changes when that comes.
        let after = self.rows.partition_point(|row| row.time <= when);
        self.rows.get(after.max(1)).map(|row| row.time)
    }
}

fn place(header: &[&str], name: &str) -> Result<usize, String> {
    header
        .iter()
        .position(|column| *column == name)
        .ok_or_else(|| format!("there is no column {name}; the columns are {}", header.join(", ")))
}

fn values(row: &str, width: usize, places: &[usize]) -> Result<Vec<f64>, String> {
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    if cells.len() != width {
        return Err(format!("{} values where the header has {width}", cells.len()));
    }
    let value = |place: &usize| {
        let cell = cells[*place];
        let value = cell.parse().ok().filter(|value| f64::abs(*value) <= super::VALUE_MAX);
        value.ok_or_else(|| format!("{cell:?} is not a number a grid can have"))
    };
    places.iter().map(value).collect()
}

fn error(file: &Path, line: usize, message: impl Into<String>) -> PlantError {
    PlantError::Profile { file: file.into(), line, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, String> {
        let table = Table::parse(Path::new("wind.csv"), text, "t_s", &["kw".into()]);
        table.map_err(|error| error.to_string())
    }

    fn ms(ms: i64) -> VirtualSpan {
        VirtualSpan::from_ms(ms)
    }

    #[test]
    fn a_row_holds_from_its_time_until_the_next() {
        let table =
            table("\u{feff}t_s,other,kw\n0.000,1,10\n0.036,2,20.5\n\n0.072,3,-3e1\n").unwrap();
        let seen: Vec<f64> =
            [-5, 0, 35, 36, 71, 72, 9000].iter().map(|t| table.values_at(ms(*t))[0]).collect();
        assert_eq!(seen, [10.0, 10.0, 10.0, 20.5, 20.5, -30.0, -30.0]);
        assert_eq!(table.next_change_after(ms(-5)), Some(ms(36)));
        assert_eq!(table.next_change_after(ms(36)), Some(ms(72)));
        assert_eq!(table.next_change_after(ms(72)), None);
    }

    #[test]
    fn the_first_row_holds_before_its_time() {
        let table = table("t_s,kw\n5,10\n6,20\n").unwrap();
        assert_eq!(table.values_at(ms(0)), [10.0]);
        assert_eq!(table.next_change_after(ms(0)), Some(ms(6000)));
    }

    #[test]
    fn errors_name_file_line_and_what_is_wrong() {
        for (text, parts) in [
            ("", ["wind.csv: ", "empty"]),
            ("t_s,kw\n", ["wind.csv: ", "no row"]),
            ("t_s,kW\n0,1\n", ["wind.csv:1: ", "t_s, kW"]),
            ("t_s,kw\n0,1\n1\n", ["wind.csv:3: ", "1 values where the header has 2"]),
            ("t_s,kw\n0,1\n1,nan\n", ["wind.csv:3: ", "\"nan\""]),
            ("t_s,kw\n0,1e300\n", ["wind.csv:2: ", "1e300"]),
            ("t_s,kw\n1,1\n1,2\n", ["wind.csv:3: ", "is not after"]),
        ] {
            let error = table(text).unwrap_err();
            assert!(error.starts_with(parts[0]) && error.contains(parts[1]), "{error}");
        }
    }
}
