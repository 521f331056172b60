//! The breaker node looks at certificates.

use super::*;

fn bench() -> BreakerBench {
    BreakerBench::new(Protocol::Peer)
}

#[test]
fn one_certificate_of_two_nodes_moves_it() {
    let mut breaker = bench();
    // No matter who brings it.
    let effects = breaker.hears(D, certificate([A, B], attempt(Trip, 0), 100));
    assert_eq!(actions(&effects), [Trip]);
    let again = breaker.hears(A, certificate([A, B], attempt(Trip, 0), 100));
    assert_eq!((actions(&again), refused(&again)), (vec![], Some(Refusal::OldGen)));
}

#[test]
fn one_node_twice_is_no_certificate() {
    let mut breaker = bench();
    let effects = breaker.hears(D, certificate([D, D], attempt(Trip, 0), 100));
    assert_eq!((actions(&effects), refused(&effects)), (vec![], Some(Refusal::Wrong)));
    assert_eq!(blamed(&effects), [], "D may have been deceived");
}

#[test]
fn a_certificate_counts_from_a_tick_before_to_a_tick_after_its_own() {
    for (at, why) in [
        (98_999, Some(Refusal::Early)),
        (99_000, None),
        (100_500, None),
        (101_999, None),
        (102_000, Some(Refusal::Stale)),
    ] {
        let mut breaker = bench();
        let effects = breaker.at(us(at)).hears(A, certificate([A, B], attempt(Trip, 0), 100));
        assert_eq!(refused(&effects), why, "at {at} us");
        assert_eq!(actions(&effects).len(), usize::from(why.is_none()));
    }
}

#[test]
fn certificates_dwell_and_have_a_budget_like_votes() {
    let mut breaker = bench();
    breaker.hears(A, certificate([A, B], attempt(Trip, 0), 100));
    let dwell = breaker.at(us(105_000)).hears(A, certificate([A, B], attempt(Close, 1), 105));
    assert_eq!(refused(&dwell), Some(Refusal::Dwell));
    breaker.at(us(120_000));
    for _ in 0..500 {
        breaker.hears(D, broken(certificate([A, B], attempt(Close, 1), 120)));
    }
    assert_eq!(breaker.scheme.checks, 3, "one before, two of a flood");
    let effects = breaker.hears(C, certificate([A, B], attempt(Close, 1), 120));
    assert_eq!(actions(&effects), [Close]);
}

#[test]
fn votes_are_for_the_other_protocol() {
    let effects = bench().hears(A, vote(A, attempt(Trip, 0), 100));
    assert_eq!(refused(&effects), Some(Refusal::Misdirected));
}
