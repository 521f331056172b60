//! What is measured of the grid as a table: primary values, in the units of a control room.

use std::collections::BTreeMap;

use crate::measurands::FAMILIES;

/// Columns: metric, heading, what a value is divided by, and how many decimals are shown.
const COLUMNS: [(&str, &str, f64, usize); 8] = [
    ("current_amperes", "I in A", 1.0, 1),
    ("current_degrees", "deg", 1.0, 1),
    ("voltage_volts", "U in kV", 1e3, 3),
    ("voltage_degrees", "deg", 1.0, 1),
    ("active_power_watts", "P in MW", 1e6, 3),
    ("reactive_power_vars", "Q in Mvar", 1e6, 3),
    ("apparent_power_voltamperes", "S in MVA", 1e6, 3),
    ("power_factor", "P / S", 1.0, 3),
];
const ROWS: [&str; 8] = ["A", "B", "C", "total", "residual", "positive", "negative", "zero"];
const FREQUENCY: &str = "frequency_hertz";

/// Values of each stream, by metric and what they are of.
#[derive(Debug, Default)]
pub(super) struct Grid(BTreeMap<String, BTreeMap<(String, String), f64>>);

impl Grid {
    /// Takes a sample in, if it is one of the grid: its name without prefix, and its value.
    pub(super) fn take(&mut self, name: &str, value: f64) -> bool {
        let parts = || {
            let (family, labels) = name.split_once('{')?;
            let known = FAMILIES.iter().any(|(known, ..)| *known == family);
            let (stream, of) = labels.strip_prefix("stream=\"")?.rsplit_once("\",of=\"")?;
            known.then_some((family, stream, of.strip_suffix("\"}")?))
        };
        let Some((family, stream, of)) = parts() else { return false };
        let values = self.0.entry(stream.to_owned()).or_default();
        values.insert((family.to_owned(), of.to_owned()), value);
        true
    }

    /// A table for each stream.
    pub(super) fn page(&self) -> String {
        self.0.iter().map(|(stream, values)| table(stream, values)).collect()
    }
}

fn table(stream: &str, values: &BTreeMap<(String, String), f64>) -> String {
    let value = |family: &str, of: &str| values.get(&(family.to_owned(), of.to_owned()));
    let frequency = value(FREQUENCY, "total").map_or("-".to_owned(), |hz| format!("{hz:.3}"));
    let heading: String = COLUMNS.iter().map(|(_, heading, ..)| format!("{heading:>12}")).collect();
    let mut table = format!("{stream}, primary values, {frequency} Hz\n{:<8} {heading}\n", "");
    for of in ROWS {
        let cell = |(family, _, unit, decimals): &(&str, &str, f64, usize)| {
            let shown = |value: &f64| format!("{:>12.decimals$}", value / unit);
            value(family, of).map_or_else(|| format!("{:>12}", ""), shown)
        };
        let row: String = COLUMNS.iter().map(cell).collect();
        if !row.trim().is_empty() {
            table.push_str(format!("{of:<8} {row}").trim_end());
            table.push('\n');
        }
    }
    table.push('\n');
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurands;

    #[test]
    fn a_table_has_each_value_in_its_unit() {
        let mut grid = Grid::default();
        measurands::each(Some(&measurands::tests::some()), |family, of, value| {
            assert!(grid.take(&format!("{family}{{stream=\"a \\\" b\",of=\"{of}\"}}"), value));
        });
        assert!(!grid.take("seconds{of=\"task\"}", 1.0));
        let page = grid.page();
        let words = |row: &str| -> Vec<String> {
            let line = page.lines().find(|line| line.starts_with(row));
            line.expect(row).split_whitespace().map(str::to_owned).collect()
        };
        assert!(page.starts_with("a \\\" b, primary values, 50.000 Hz\n"), "{page}");
        let phase = ["A", "100.0", "-30.0", "10.000", "0.0", "0.866", "0.500", "1.000", "0.866"];
        assert_eq!(words("A"), phase, "{page}");
        assert_eq!(words("total"), ["total", "2.598", "1.500", "3.000", "0.866"], "{page}");
        // Each metric is a column or the frequency.
        assert_eq!(COLUMNS.len() + 1, FAMILIES.len());
    }
}
