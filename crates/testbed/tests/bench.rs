//! The arithmetic behind `target/bench.json`. The bench has a main function of its own, which leaves
//! no place for tests there.

#[path = "../benches/clock/figures.rs"]
mod figures;

use figures::{Pair, compare, table};

#[test]
fn one_disturbed_pair_does_not_move_the_ratio() {
    // Ten pairs with a ratio of 1.2; the machine is three times slower during half of them,
    // and one run of one pair was stalled.
    let mut pairs: Vec<Pair> = (0..10)
        .map(|i| if i % 2 == 0 { 20.0 } else { 60.0 })
        .map(|native| Pair { native: vec![native; 3], prefixed: vec![native * 1.2; 3] })
        .collect();
    pairs[4].prefixed = vec![5_000.0; 3];
    let [native, prefixed] = compare("clock", "in virtual time", "ns", &pairs).unwrap();
    assert!((prefixed.ratio.unwrap() - 1.2).abs() < 1e-9);
    assert_eq!(prefixed.compared_to.as_deref(), Some("clock, native"));
    assert_eq!((native.median, native.p99, native.n), (40.0, 60.0, 30));
    assert_eq!(prefixed.p99, 5_000.0);
}

#[test]
fn the_percentile_is_a_sample_and_the_median_may_lie_between() {
    let pair = Pair { native: (1..=200).rev().map(f64::from).collect(), prefixed: vec![7.0] };
    let [native, prefixed] = compare("clock", "x", "ns", &[pair]).unwrap();
    assert_eq!((native.median, native.p99), (100.5, 198.0));
    assert_eq!((prefixed.median, prefixed.p99, prefixed.n), (7.0, 7.0, 1));
}

#[test]
fn no_samples_give_no_figure() {
    assert_eq!(compare("clock", "x", "ns", &[]), None);
    assert_eq!(compare("clock", "x", "ns", &[Pair::default()]), None);
}

#[test]
fn the_table_has_a_row_for_each_figure() {
    let pairs = [Pair { native: vec![20.0], prefixed: vec![25.0] }];
    let table = table(&compare("clock", "in virtual time", "ns", &pairs).unwrap());
    assert_eq!(table.lines().count(), 3);
    let last = table.lines().last().unwrap();
    assert!(last.starts_with("clock, in virtual time") && last.ends_with("1.250"), "{last}");
}
