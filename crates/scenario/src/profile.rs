//! The CSV files of profiles, checked row by row before anything starts: a gap found by the
//! plant after an hour would cost that hour.
//!
//! The format is the plain one: a line of column names, then rows of numbers, commas between,
//! no quotes. Only the columns that are used must hold numbers.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use plant::VALUE_MAX;
use settings::cursor::Placed;
use settings::problems::{Fault, quoted};
use settings::suggest;

/// Problems of one file after which its further rows are not looked at.
const PROBLEMS_MAX: usize = 5;

/// Checks that the file at `path` has the columns, and numbers in them, and times that rise.
/// The file is called `shown` in reports; missing columns are reported where they are named.
pub(super) fn check(
    path: &Path,
    shown: &Path,
    time: &Placed<'_, String>,
    columns: &[Placed<'_, &str>],
) {
    let report = |line, fault| time.place.collector().report_data(shown, line, fault);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return report(None, unreadable(error)),
    };
    let mut lines = lines(BufReader::new(file));
    let header = match lines.next() {
        Some(Ok(header)) => header,
        Some(Err(fault)) => return report(Some(1), fault),
        None => {
            let fix = "start it with a line of column names";
            return report(None, Fault::new("the file is empty", fix));
        }
    };
    if header.starts_with('\u{feff}') {
        let what = "starts with a byte order mark";
        return report(Some(1), Fault::new(what, "save it as UTF-8 without one"));
    }
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let wanted = columns.iter().map(|column| (column.value, &column.place));
    let wanted = std::iter::once((time.value.as_str(), &time.place)).chain(wanted);
    let mut used = Vec::new();
    for (name, place) in wanted {
        match names.iter().position(|there| *there == name) {
            Some(index) => used.push((name, index)),
            None => place.wrong(
                format!("{} has no column {}", shown.display(), quoted(name)),
                suggest::instead_of(name, "columns", names.iter().copied()),
            ),
        }
    }
    if used.first().is_none_or(|(name, _)| *name != time.value) {
        return;
    }
    check_rows(lines, &Columns { count: names.len(), used }, report);
}

/// Where the columns are that are used, the one with the time first.
struct Columns<'a> {
    count: usize,
    used: Vec<(&'a str, usize)>,
}

fn check_rows(
    lines: impl Iterator<Item = Result<String, Fault>>,
    columns: &Columns<'_>,
    report: impl Fn(Option<usize>, Fault),
) {
    let mut last_s = f64::NEG_INFINITY;
    let mut problems = 0;
    let mut rows = 0;
    for (index, line) in lines.enumerate() {
        rows += 1;
        let line_number = Some(index + 2);
        match line.and_then(|line| time_of_row(&line, columns, last_s)) {
            Ok(time_s) => last_s = time_s,
            Err(fault) => {
                problems += 1;
                report(line_number, fault);
            }
        }
        if problems == PROBLEMS_MAX {
            let what = format!("{PROBLEMS_MAX} rows are wrong");
            report(line_number, Fault::new(what, "the rest of the file was not checked"));
            return;
        }
    }
    if rows == 0 {
        let what = "there are no rows after the column names";
        report(Some(1), Fault::new(what, "add at least one row"));
    }
}

/// The time of a row that is right and comes after `last_s`.
fn time_of_row(line: &str, columns: &Columns<'_>, last_s: f64) -> Result<f64, Fault> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.count {
        let (count, expected) = (cells.len(), columns.count);
        let what = format!("the number of cells is {count}, not {expected} as in the first line");
        return Err(Fault::new(what, "give every column a value"));
    }
    let numbers = columns.used.iter().map(|(name, index)| number(name, cells[*index]));
    let time_s = numbers.collect::<Result<Vec<f64>, _>>()?[0];
    if time_s <= last_s {
        let what = format!("the time {time_s} s does not come after {last_s} s");
        return Err(Fault::new(what, "sort the rows by time, with one row for each time"));
    }
    Ok(time_s)
}

fn number(column: &str, cell: &str) -> Result<f64, Fault> {
    let wrong = |reason: &str, fix: &str| {
        let what = format!("{} in column {} {reason}", quoted(cell), quoted(column));
        Err(Fault::new(what, fix))
    };
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() && number.abs() <= VALUE_MAX => Ok(number),
        Ok(number) if number.is_finite() => {
            let fix = format!("write a number from -{VALUE_MAX:e} to {VALUE_MAX:e}");
            wrong("is not a plausible value for a grid", &fix)
        }
        _ => wrong("is not a number", "write it with digits and a decimal point, such as `12.5`"),
    }
}

fn unreadable(error: std::io::Error) -> Fault {
    Fault::new(format!("cannot be read ({error})"), "make it readable")
}

/// Lines without their ends; what is no text is a fault.
fn lines(mut reader: impl BufRead) -> impl Iterator<Item = Result<String, Fault>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => (),
            Err(error) => return Some(Err(unreadable(error))),
        }
        let no_text = |_| Fault::new("this line is not UTF-8", "save the file as UTF-8");
        let text = String::from_utf8(line).map_err(no_text);
        Some(text.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
    })
}
