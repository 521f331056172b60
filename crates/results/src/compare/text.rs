//! A comparison as text for a terminal.

use super::difference::Difference;
use super::{Compared, Comparison};
use crate::columns;
use report_kit::figure::{count_text, seconds_to_ns};

/// Two runs: what was compared, and the differences, the first of all first. `names` are those of
/// the runs.
pub fn pair(names: [&str; 2], comparison: &Comparison) -> String {
    let result = format!("{}: {}\n", compared(&comparison.compared), result(comparison));
    if comparison.is_same() {
        return result;
    }
    let head = ["at", "where", "what", "first", "second", "more"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(comparison.differences.iter().map(row));
    let [first, second] = names;
    let mut text = format!("first: {first}\nsecond: {second}\n{result}");
    text += &columns::aligned(&rows, &[0, 5]);
    if !comparison.made_of.is_empty() {
        text += &format!("also not equal: {}\n", comparison.made_of.join("; "));
    }
    text
}

/// Several runs, each compared with the first: a line for each.
pub fn several(first: &str, others: &[(&str, &Comparison)]) -> String {
    let mut rows = vec![["run", "compared", "result"].map(str::to_owned)];
    rows.extend(others.iter().map(|(name, comparison)| {
        let mut text = result(comparison);
        if let Some(difference) = comparison.differences.first() {
            let [first, second] = difference.values();
            let (place, what) = (difference.place(), difference.what.words());
            text += &format!(", {place}: {what} {first}, here {second}");
        }
        [(*name).to_owned(), compared(&comparison.compared), text]
    }));
    format!("first: {first}\n{}", columns::aligned(&rows, &[]))
}

fn row(difference: &Difference) -> [String; 6] {
    let [first, second] = difference.values();
    let more = difference.more;
    [
        difference.at_ns.map_or_else(|| "–".to_owned(), at),
        difference.place(),
        difference.what.words().to_owned(),
        first,
        second,
        if more == 0 { String::new() } else { count_text(more) },
    ]
}

/// `3 verdicts, 12 series with 9,340 points, 4 captures with 1,204 frames`
fn compared(what: &Compared) -> String {
    let counted = |number, one: &str, many: &str| {
        format!("{} {}", count_text(number), if number == 1 { one } else { many })
    };
    let within = |number: u64, inner: String| {
        if number == 0 { String::new() } else { format!(" with {inner}") }
    };
    let points = within(what.series, counted(what.points, "point", "points"));
    let frames = within(what.captures, counted(what.frames, "frame", "frames"));
    format!(
        "{}, {}{points}, {}{frames}",
        counted(what.verdicts, "verdict", "verdicts"),
        counted(what.series, "series", "series"),
        counted(what.captures, "capture", "captures"),
    )
}

fn result(comparison: &Comparison) -> String {
    match comparison.differences.first() {
        None if comparison.is_empty() => "nothing to compare".to_owned(),
        None => "the same".to_owned(),
        Some(Difference { at_ns: Some(at_ns), .. }) => {
            format!("different, first at {}", at(*at_ns))
        }
        Some(_) => "different".to_owned(),
    }
}

fn at(ns: i64) -> String {
    format!("{} s", seconds_to_ns(ns))
}
