//! Slips of the hand that the other stories would not notice.

use super::*;

#[test]
fn what_was_withdrawn_before_the_breaker_node_answered_is_not_attempted() {
    let mut relay =
        RelayBench::born(Protocol::Arbiter, us(200_000), Close, Counters::new([1; NODES]));
    relay.at(us(200_300)).decides(Trip);
    relay.step(Event::Withdrawn);
    let effects = relay.hears(Party::Breaker, acknowledgement(Close, 4, 200));
    assert!(!sent(&effects).iter().any(|(_, message)| matches!(message, Message::Vote { .. })));
    assert_eq!((relay.relay.generation(), relay.relay.attempt()), (Some(Gen(4)), None));
}

#[test]
fn an_acknowledgement_tells_whose_keys_are_in_use() {
    let mut breaker = BreakerBench::new(Protocol::Arbiter);
    breaker.hears(D, Message::Announcement { key: WorkingKey::certified(D, 5) });
    let heard = sent(&breaker.hears(A, Message::Query { tick: Tick(100) }));
    let answer = heard.iter().find(|(to, _)| *to == Party::Relay(A));
    let Some((_, Message::Acknowledgement(answer))) = answer else { panic!("{heard:?}") };
    assert_eq!(answer.counters, [1, 1, 1, 5]);
}

#[test]
fn a_flood_of_the_impossible_is_blamed_twice_in_a_tick() {
    let mut breaker = BreakerBench::new(Protocol::Arbiter);
    let mut evidence = Vec::new();
    for _ in 0..500 {
        let effects = breaker.hears(D, vote(D, attempt(Close, 0), 100));
        assert_eq!(refused(&effects), Some(Refusal::Impossible));
        evidence.extend(blamed(&effects));
    }
    assert_eq!(evidence.len(), 2);
    assert!(evidence.iter().all(|e| matches!(e.misdeed, Misdeed::Impossible { .. })));
    assert_eq!(breaker.scheme.checks, 0);
}

#[test]
fn an_older_vote_does_not_replace_a_newer_one() {
    let mut breaker = BreakerBench::new(Protocol::Arbiter);
    breaker.at(us(100_500)).hears(A, vote(A, attempt(Trip, 0), 101));
    let late = breaker.hears(A, vote(A, attempt(Trip, 0), 100));
    assert_eq!(refused(&late), Some(Refusal::Repeated));
    let effects = breaker.at(us(102_500)).hears(B, vote(B, attempt(Trip, 0), 102));
    assert_eq!(actions(&effects), [Trip]);
}

#[test]
fn an_attempt_in_vain_takes_no_more_memory_with_time() {
    let mut relay = RelayBench::new(Protocol::Peer);
    relay.decides(Trip);
    let mut sizes = Vec::new();
    for tick in 100..1000 {
        // The scheme of the bench notes what it proves: here without an end.
        relay.scheme.proved.clear();
        relay.at(us(tick * 1000 + 100)).wakes();
        let effects = relay.hears(Party::Relay(B), share(B, attempt(Trip, 0), tick));
        assert_eq!(refused(&effects), None);
        sizes.push(format!("{:?}", relay.relay).len());
    }
    // What is kept is as much in the first ticks as in the last, but for digits.
    assert!(sizes[899] < sizes[10] + sizes[10] / 10, "{} and {}", sizes[10], sizes[899]);
}

#[test]
fn a_new_key_that_is_wanted_is_asked_for_as_often_as_after_a_birth() {
    let mut relay = RelayBench::new(Protocol::Arbiter);
    let answer = acknowledgement_of_keys(Close, 0, 300, [1, 2, 1, 1]);
    let announcement =
        (Party::Relay(B), Message::Announcement { key: WorkingKey::certified(A, 1) });
    let effects = relay.at(us(300_200)).hears(Party::Breaker, answer);
    assert_eq!(effects[0], Effect::Distrust { node: B, counter: 2 });
    assert!(sent(&effects).contains(&announcement));
    // It is lost.
    assert_eq!(relay.relay.next_deadline(), us(305_200));
    assert!(sent(&relay.after(Duration::from_millis(5)).wakes()).contains(&announcement));
}
