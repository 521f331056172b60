//! Tables for the terminal: fields in columns that are as wide as their widest field.

use std::fmt::Write as _;

/// Rows as columns; all but the first and the last one are read from the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 || column + 1 == count {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [
            vec!["a".to_owned(), "1".into(), "x".into()],
            vec!["bb".into(), "10".into(), "y".into()],
        ];
        assert_eq!(columns(&rows), "a    1  x\nbb  10  y\n");
    }
}
