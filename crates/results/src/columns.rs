//! Tables for the terminal: cells in columns that are as wide as their widest cell.

/// Rows as lines. Columns in `right` are read from the right, as figures are.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]], right: &[usize]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    rows.iter().map(|row| line(row, &widths, right)).collect()
}

fn line<const N: usize>(row: &[String; N], widths: &[usize; N], right: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
        if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    });
    let cells: Vec<String> = cells.collect();
    format!("{}\n", cells.join("  ").trim_end())
}
