//! Fewer points without losing a peak (M4: Jugel et al., VLDB 2014).
//!
//! A chart of 900 pixels cannot show 90,000 rows, but it must show each extreme: a dip of one row
//! is what a requirement is missed by. Of all rows in one column of pixels the first, the lowest,
//! the highest and the last are kept; lines through them cover the same pixels as lines through
//! all rows.

/// A row: scenario time and value.
pub(super) type Row = (i64, f64);

/// At most four rows per bucket, in the order of time. A value that is no number breaks the line;
/// among numbers it is left out, alone in its bucket it stays.
pub(super) fn decimate(rows: &[Row], buckets: usize) -> Vec<Row> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Vec::new() };
    if rows.len() <= buckets.saturating_mul(4) {
        return rows.to_vec();
    }
    let span = i128::from(last.0) - i128::from(first.0) + 1;
    let bucket_of = |row: &Row| {
        let since = i128::from(row.0) - i128::from(first.0);
        since * i128::try_from(buckets).unwrap_or(1) / span
    };
    let mut kept = Vec::new();
    for bucket in rows.chunk_by(|a, b| bucket_of(a) == bucket_of(b)) {
        keep(bucket, &mut kept);
    }
    kept
}

fn keep(bucket: &[Row], kept: &mut Vec<Row>) {
    let mut numbers = bucket.iter().enumerate().filter(|(_, row)| !row.1.is_nan());
    let Some(first) = numbers.next() else {
        kept.extend(bucket.first());
        return;
    };
    let (mut lowest, mut highest, mut last) = (first, first, first);
    for row in numbers {
        if row.1.1 < lowest.1.1 {
            lowest = row;
        }
        if row.1.1 > highest.1.1 {
            highest = row;
        }
        last = row;
    }
    let mut chosen = [first, lowest, highest, last];
    chosen.sort_by_key(|row| row.0);
    let mut before = None;
    for (index, row) in chosen {
        if before != Some(index) {
            kept.push(*row);
        }
        before = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dip_of_one_row_survives() {
        let mut rows: Vec<Row> = (0..90_000).map(|t| (t * 1_000_000, 2400.0)).collect();
        rows[44_321].1 = 2319.7;
        let kept = decimate(&rows, 900);
        assert!(kept.len() <= 3600 && kept.contains(&rows[44_321]));
        assert_eq!((kept.first(), kept.last()), (rows.first(), rows.last()));
    }

    #[test]
    fn a_hole_breaks_the_line() {
        let rows: Vec<Row> =
            (0..1000).map(|t| (t, if (400..600).contains(&t) { f64::NAN } else { 1.0 })).collect();
        assert!(decimate(&rows, 10).iter().any(|row| row.1.is_nan()));
    }

    proptest! {
        #[test]
        fn extremes_and_order_are_kept(
            values in proptest::collection::vec(-1e6f64..1e6, 1..400),
            buckets in 1usize..20,
        ) {
            let rows: Vec<Row> = (0i64..).zip(values).map(|(t, v)| (t * 7, v)).collect();
            let kept = decimate(&rows, buckets);
            let low = |rows: &[Row]| rows.iter().map(|r| r.1).fold(f64::INFINITY, f64::min);
            let high = |rows: &[Row]| rows.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(low(&kept) == low(&rows) && high(&kept) == high(&rows));
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(kept.len() <= rows.len().min(buckets * 4).max(rows.len().min(4)));
        }
    }
}
