//! A relay node shares and certifies.

use super::*;

fn bench() -> RelayBench {
    RelayBench::new(Protocol::Peer)
}

/// A share with a bit flipped in both proofs.
fn broken_share(node: NodeId, attempt: Attempt, tick: u64) -> Said {
    broken(share(node, attempt, tick))
}

#[test]
fn it_shares_with_its_peers_at_once_and_at_each_begin_of_a_tick() {
    let mut relay = bench();
    let shares = |tick| {
        [B, C, D].map(|node| (Party::Relay(node), share(A, attempt(Trip, 0), tick))).to_vec()
    };
    assert_eq!(sent(&relay.at(us(100_400)).decides(Trip)), shares(100));
    assert_eq!(relay.relay.next_deadline(), us(101_000));
    assert_eq!(sent(&relay.at(us(101_000)).wakes()), shares(101));
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 101));
    assert_eq!(sent(&relay.at(us(102_000)).wakes()), []);
}

#[test]
fn a_share_speaks_for_two_ticks_and_no_more() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    relay.decides(Trip);
    // It has withdrawn, so what it said before is all that a hostile peer can make use of.
    relay.step(Event::Withdrawn);
    relay.decides(Trip);
    let said = relay.scheme.proved.clone();
    let subject = subject(Protocol::Peer);
    assert_eq!(said, [100, 101].map(|tick| subject.statement(trip, Tick(tick))));
}

#[test]
fn two_that_agree_make_a_certificate_in_either_order() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    relay.decides(Trip);
    let effects = relay.hears(Party::Relay(C), share(C, trip, 100));
    assert_eq!(certified(&effects), [certificate([A, C], trip, 100)]);

    let mut relay = bench();
    assert_eq!(sent(&relay.hears(Party::Relay(C), share(C, trip, 100))), []);
    assert_eq!(certified(&relay.decides(Trip)), [certificate([A, C], trip, 100)]);
}

#[test]
fn the_certificate_is_for_the_newest_common_tick_that_has_begun() {
    let trip = attempt(Trip, 0);
    // A peer that is as far, a tick behind, two behind, a tick ahead.
    for (peer, common) in [(100, Some(100)), (99, Some(100)), (98, None), (101, Some(101))] {
        let mut relay = bench();
        relay.decides(Trip);
        let effects = relay.hears(Party::Relay(B), share(B, trip, peer));
        let expected = common.map(|tick| certificate([A, B], trip, tick));
        assert_eq!(certified(&effects), Vec::from_iter(expected), "peer in tick {peer}");
    }
}

#[test]
fn it_certifies_again_in_each_tick_until_the_breaker_has_acted() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    relay.decides(Trip);
    relay.hears(Party::Relay(B), share(B, trip, 100));
    // In tick 101 from what B has said ahead; then B says more; nothing twice in a tick.
    let effects = relay.at(us(101_000)).wakes();
    assert_eq!(certified(&effects), [certificate([A, B], trip, 101)]);
    let effects = relay.hears(Party::Relay(B), share(B, trip, 101));
    assert_eq!(certified(&effects), []);
    let effects = relay.at(us(102_000)).wakes();
    assert_eq!(certified(&effects), [certificate([A, B], trip, 102)]);
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 102));
    assert_eq!(certified(&relay.at(us(103_000)).wakes()), []);
}

#[test]
fn a_corrupt_share_costs_one_combination_and_has_a_culprit() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    // In this tick it is the turn of C.
    relay.hears(Party::Relay(C), broken_share(C, trip, 100));
    relay.hears(Party::Relay(B), share(B, trip, 100));
    let effects = relay.decides(Trip);
    assert_eq!(certified(&effects), [certificate([A, B], trip, 100)]);
    assert_eq!(relay.scheme.combinations, 2);
    let [evidence] = &blamed(&effects)[..] else { panic!("{effects:?}") };
    assert!(evidence.node == C && matches!(evidence.misdeed, Misdeed::WrongProof { .. }));
    // For this gen it is not asked again.
    for tick in 101..110 {
        relay.at(us(tick * 1000)).wakes();
        relay.hears(Party::Relay(C), broken_share(C, trip, tick));
        relay.hears(Party::Relay(B), share(B, trip, tick));
    }
    assert_eq!(relay.scheme.combinations, 2 + 9);
    // In the next gen it is.
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 110));
    relay.at(us(130_000)).decides(Close);
    let effects = relay.hears(Party::Relay(C), share(C, attempt(Close, 1), 130));
    assert_eq!(certified(&effects), [certificate([A, C], attempt(Close, 1), 130)]);
}

#[test]
fn three_corrupt_shares_are_tried_once_each() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    for node in [B, C, D] {
        relay.hears(Party::Relay(node), broken_share(node, trip, 100));
    }
    let effects = relay.decides(Trip);
    assert_eq!((certified(&effects), blamed(&effects).len()), (vec![], 3));
    for tick in 101..120 {
        for node in [B, C, D] {
            relay.hears(Party::Relay(node), broken_share(node, trip, tick));
        }
        relay.at(us(tick * 1000)).wakes();
    }
    assert_eq!(relay.scheme.combinations, 3);
}

#[test]
fn the_first_word_for_a_tick_stands_and_another_one_is_evidence() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    relay.hears(Party::Relay(D), share(D, trip, 100));
    let effects = relay.hears(Party::Relay(D), broken_share(D, trip, 100));
    let [evidence] = &blamed(&effects)[..] else { panic!("{effects:?}") };
    let Misdeed::Equivocation { statement, proofs: [one, two] } = &evidence.misdeed else {
        panic!("{evidence:?}")
    };
    assert!(evidence.node == D && one != two && statement.tick.0 == 100);
    assert_eq!(certified(&relay.decides(Trip)), [certificate([A, D], trip, 100)]);
    // Once in a tick is enough.
    let mut evidence = 0;
    for _ in 0..500 {
        evidence += blamed(&relay.hears(Party::Relay(D), broken_share(D, trip, 100))).len();
    }
    assert_eq!(evidence, 0);
}

#[test]
fn who_says_trip_and_close_for_one_gen_is_blamed() {
    let mut relay = bench();
    relay.hears(Party::Relay(D), share(D, attempt(Trip, 0), 100));
    let effects = relay.hears(Party::Relay(D), share(D, attempt(Close, 0), 100));
    assert_eq!(refused(&effects), Some(Refusal::Impossible));
    let [evidence] = &blamed(&effects)[..] else { panic!("{effects:?}") };
    assert!(evidence.node == D && matches!(evidence.misdeed, Misdeed::Impossible { .. }));
}

#[test]
fn shares_of_other_gens_and_times_are_not_kept() {
    let mut relay = bench();
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 100));
    let mut why = Vec::new();
    for (generation, tick) in [(0, 100), (2, 100), (1, 98), (1, 102), (1, 99), (1, 101)] {
        let message = share(B, attempt(Close, generation), tick);
        why.push(refused(&relay.hears(Party::Relay(B), message)));
    }
    use Refusal::{Early, FutureGen, OldGen, Stale};
    assert_eq!(why, [Some(OldGen), Some(FutureGen), Some(Stale), Some(Early), None, None]);
    let own = relay.hears(Party::Relay(A), share(A, attempt(Close, 1), 100));
    assert_eq!(refused(&own), Some(Refusal::Misdirected));
}

#[test]
fn who_has_decided_nothing_certifies_nothing() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    // Two peers agree, but this relay has decided nothing: it does not speak for them.
    let mut effects = relay.hears(Party::Relay(B), share(B, trip, 100));
    effects.extend(relay.hears(Party::Relay(C), share(C, trip, 100)));
    effects.extend(relay.at(us(101_000)).wakes());
    assert_eq!(certified(&effects), []);
}

#[test]
fn a_new_key_voids_what_was_said_and_held_against_the_old_one() {
    let trip = attempt(Trip, 0);
    let mut relay = bench();
    relay.hears(Party::Relay(B), broken_share(B, trip, 100));
    relay.decides(Trip);
    let key = WorkingKey::certified(B, 2);
    let effects = relay.hears(Party::Relay(B), Message::Announcement { key });
    let noted = Message::Noted { counter: 2, key: Some(WorkingKey::certified(A, 1)) };
    assert_eq!(sent(&effects), [(Party::Relay(B), noted)]);
    relay.scheme.keys[B.index()] = 2;
    let mut with_new_key = Symbolic::new(Some(B), [1, 2, 1, 1]);
    let mut prove =
        |tick| with_new_key.prove(&subject(Protocol::Peer).statement(trip, tick)).unwrap();
    let tick = Tick(100);
    let [proof, proof_next] = [tick, tick.plus(1)].map(&mut prove);
    let message = Message::Share { attempt: trip, tick, proof, proof_next };
    assert_eq!(certified(&relay.hears(Party::Relay(B), message)).len(), 1);
}

#[test]
fn hostile_shares_take_no_more_memory_with_time() {
    let mut relay = bench();
    let mut sizes = Vec::new();
    for tick in 100..1000 {
        relay.at(us(tick * 1000));
        for ahead in 0..4 {
            for node in [B, C, D] {
                let message = share(node, attempt(Trip, 0), tick - 1 + ahead);
                relay.hears(Party::Relay(node), message);
            }
        }
        sizes.push(format!("{:?}", relay.relay).len());
    }
    // What is kept is as much in the first ticks as in the last, but for digits.
    assert!(sizes[899] < sizes[10] + sizes[10] / 10, "{} and {}", sizes[10], sizes[899]);
}
