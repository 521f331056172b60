//! Recorded points, the n-th row of one run with the n-th of the other.

use super::difference::{Difference, Part, Tally, Value, What};
use super::{Rules, is_equal, is_near};
use crate::journal::TABLE;
use crate::{Column, Series};

/// How many points and how many values of them were compared, and what differs.
pub(super) fn compare(rules: Rules, both: [&Series; 2]) -> (u64, u64, Vec<Difference>) {
    let [one, other] = both;
    let mut found = missing_points(both);
    if !both.iter().any(|series| series.columns.is_empty()) {
        found.extend(times(rules, both));
    }
    let (mut series, mut points) = (0, 0);
    for column in &one.columns {
        let Some(twin) = other.column(&column.point) else { continue };
        series += 1;
        points += column.values.len().min(twin.values.len()) as u64;
        found.extend(values(column, twin, both));
    }
    (series, points, found)
}

/// Points that only one of the runs recorded.
fn missing_points([one, other]: [&Series; 2]) -> Vec<Difference> {
    let alone = |series: &Series, rest: &Series, is_there| {
        let alone = series.columns.iter().filter(|column| rest.column(&column.point).is_none());
        let missing =
            |column: &Column| Difference::missing(Part::Series, &column.point.0, is_there);
        alone.map(missing).collect::<Vec<_>>()
    };
    [alone(one, other, [true, false]), alone(other, one, [false, true])].concat()
}

/// Differences in when rows were recorded.
fn times(rules: Rules, [one, other]: [&Series; 2]) -> impl Iterator<Item = Difference> {
    let (mut time, mut missing) = (Tally::default(), Tally::default());
    for row in 0..one.time_ns.len().max(other.time_ns.len()) {
        let number = row as u64 + 1;
        match (one.time_ns.get(row), other.time_ns.get(row)) {
            (Some(&a), Some(&b)) if !is_near(a, b, rules.tolerance_ns) => time.add(|| {
                let values = [a, b].map(Value::TimeNs);
                Difference::new(Part::Series, TABLE, What::Time, values).at(number, a.min(b))
            }),
            (Some(_), Some(_)) => {}
            (a, b) => missing.add(|| {
                let is_there = [a.is_some(), b.is_some()];
                let at_ns = a.or(b).copied().unwrap_or_default();
                Difference::missing(Part::Series, TABLE, is_there).at(number, at_ns)
            }),
        }
    }
    [time, missing].into_iter().filter_map(Tally::found)
}

/// Differences in the values of a point.
fn values(column: &Column, twin: &Column, [one, other]: [&Series; 2]) -> Option<Difference> {
    let mut tally = Tally::default();
    let rows = one.time_ns.iter().zip(&other.time_ns).map(|(a, b)| *a.min(b));
    let pairs = column.values.iter().zip(&twin.values);
    for (number, (at_ns, (a, b))) in (1..).zip(rows.zip(pairs)) {
        if !is_equal(*a, *b) {
            tally.add(|| {
                let values = [a, b].map(|value| Value::from(*value));
                let found = Difference::new(Part::Series, &column.point.0, What::Value, values);
                found.in_unit(&column.unit).at(number, at_ns)
            });
        }
    }
    tally.found()
}
