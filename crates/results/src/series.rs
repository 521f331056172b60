//! Points of the plant over scenario time, as a table: one row per recorded moment, one column
//! per point. Rows are in the order of time; a value holds until the next row.
//!
//! A value that is no number (NaN) stands for "not known then" and is never judged.

use plant::name::PointName;

/// Recorded points over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    pub time_ns: Vec<i64>,
    /// One column per point, in the order of the scenario.
    pub columns: Vec<Column>,
}

/// One point over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub point: PointName,
    /// Its unit; empty where it has none.
    pub unit: String,
    pub values: Vec<f64>,
}

impl Series {
    /// A table without rows.
    pub fn empty(points: &[PointName]) -> Self {
        let columns = points.iter().map(Column::empty).collect();
        Self { time_ns: Vec::new(), columns }
    }

    /// The column of a point, if it was recorded. Names are compared without case.
    pub fn column(&self, point: &PointName) -> Option<&Column> {
        self.columns.iter().find(|column| column.point.0.eq_ignore_ascii_case(&point.0))
    }

    /// The time between the last two rows, which is how long the last one speaks for.
    pub fn interval_ns(&self) -> i64 {
        match *self.time_ns.as_slice() {
            [.., before, last] => last - before,
            _ => 0,
        }
    }

    /// Scenario time up to which the rows speak; `None` without rows.
    pub fn covered_ns(&self) -> Option<i64> {
        self.time_ns.last().map(|last| last.saturating_add(self.interval_ns()))
    }

    /// Appends a row.
    ///
    /// # Panics
    /// When there is not one value per column: the caller made the columns.
    pub fn push(&mut self, time_ns: i64, values: &[f64]) {
        assert_eq!(values.len(), self.columns.len(), "one value per column");
        self.time_ns.push(time_ns);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.values.push(*value);
        }
    }
}

impl Column {
    fn empty(point: &PointName) -> Self {
        Self { point: point.clone(), unit: point.unit().to_owned(), values: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_found_without_case_and_the_last_row_speaks_for_one_interval() {
        let mut series = Series::empty(&[PointName("generator.wind.kW".into())]);
        assert_eq!(series.covered_ns(), None);
        series.push(0, &[1.0]);
        assert_eq!(series.covered_ns(), Some(0));
        series.push(36, &[2.0]);
        assert_eq!(series.covered_ns(), Some(72));
        let wind = series.column(&PointName("Generator.WIND.kw".into())).unwrap();
        assert_eq!((wind.unit.as_str(), wind.values.as_slice()), ("kW", [1.0, 2.0].as_slice()));
    }
}
