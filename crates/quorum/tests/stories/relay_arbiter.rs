//! A relay node votes.

use super::*;

fn bench() -> RelayBench {
    RelayBench::new(Protocol::Arbiter)
}

#[test]
fn it_votes_at_once_and_at_each_begin_of_a_tick_until_the_breaker_has_acted() {
    let mut relay = bench();
    let effects = relay.at(us(100_400)).decides(Trip);
    assert_eq!(sent(&effects), [(Party::Breaker, vote(A, attempt(Trip, 0), 100))]);
    for tick in 101..104 {
        assert_eq!(relay.relay.next_deadline(), us(tick * 1000));
        let effects = relay.at(us(tick * 1000)).wakes();
        assert_eq!(sent(&effects), [(Party::Breaker, vote(A, attempt(Trip, 0), tick))]);
        assert_eq!(sent(&relay.after(Duration::from_micros(10)).wakes()), []);
        assert_eq!(sent(&relay.decides(Trip)), [], "the same decision is no news");
    }
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 103));
    assert_eq!(relay.relay.state(), Some(RelayState::Tripped));
    assert_eq!(sent(&relay.at(us(104_000)).wakes()), []);
    assert_eq!(sent(&relay.decides(Close)), [(Party::Breaker, vote(A, attempt(Close, 1), 104))]);
}

#[test]
fn a_late_deadline_gives_one_vote_for_the_present_tick() {
    let mut relay = bench();
    relay.at(us(100_400)).decides(Trip);
    let effects = relay.at(us(104_700)).wakes();
    assert_eq!(sent(&effects), [(Party::Breaker, vote(A, attempt(Trip, 0), 104))]);
}

#[test]
fn what_is_withdrawn_is_not_voted_for() {
    let mut relay = bench();
    relay.decides(Trip);
    relay.step(Event::Withdrawn);
    assert_eq!(relay.relay.state(), Some(RelayState::Closed));
    assert_eq!(sent(&relay.at(us(101_000)).wakes()), []);
    relay.at(us(101_100)).decides(Trip);
    let effects = relay.decides(Close);
    assert_eq!((sent(&effects), relay.relay.attempt()), (vec![], None));
}

#[test]
fn a_decision_that_comes_and_goes_within_a_tick_is_one_vote() {
    let mut relay = bench();
    let mut votes = 0;
    for _ in 0..20 {
        votes += sent(&relay.decides(Trip)).len();
        relay.step(Event::Withdrawn);
    }
    assert_eq!(votes, 1);
}

#[test]
fn an_action_is_believed_from_the_breaker_node_alone() {
    let mut relay = bench();
    relay.decides(Trip);
    let effects = relay.hears(Party::Relay(D), acknowledgement(Trip, 1, 100));
    assert_eq!(refused(&effects), Some(Refusal::Misdirected));
    assert_eq!(relay.relay.state(), Some(RelayState::AttemptTrip));
    assert_eq!(relay.relay.generation(), Some(Gen(0)));
}

#[test]
fn an_old_acknowledgement_changes_nothing() {
    let mut relay = bench();
    relay.hears(Party::Breaker, acknowledgement(Trip, 1, 103));
    relay.decides(Close);
    relay.hears(Party::Breaker, acknowledgement(Close, 2, 130));
    relay.decides(Trip);
    let effects = relay.hears(Party::Breaker, acknowledgement(Trip, 1, 103));
    assert_eq!(refused(&effects), Some(Refusal::OldGen));
    assert_eq!(relay.relay.state(), Some(RelayState::AttemptTrip));
    assert_eq!(relay.relay.generation(), Some(Gen(2)));
}

#[test]
fn a_decision_from_before_the_last_action_is_not_attempted() {
    let mut relay = bench();
    relay.decides(Trip);
    // It misses the trip and hears of the close after it.
    relay.hears(Party::Breaker, acknowledgement(Close, 2, 130));
    assert_eq!(relay.relay.state(), Some(RelayState::WaitClose));
    let messages = sent(&relay.at(us(131_000)).wakes());
    assert!(!messages.iter().any(|(_, message)| matches!(message, Message::Vote { .. })));
    // The relay still sees a fault, and says so.
    assert_eq!(sent(&relay.decides(Trip)), [(Party::Breaker, vote(A, attempt(Trip, 2), 131))]);
}

#[test]
fn who_attempts_in_vain_asks_whether_its_gen_has_passed() {
    let mut relay = bench();
    relay.at(us(100_400)).decides(Trip);
    let mut asked = Vec::new();
    for ms in 101..120 {
        for (to, message) in sent(&relay.at(us(ms * 1000 + 500)).wakes()) {
            if let Message::Query { tick } = message {
                assert_eq!((to, tick), (Party::Breaker, Tick(ms)));
                asked.push(ms);
            }
        }
    }
    assert_eq!(asked, [105, 110, 115]);
}

#[test]
fn who_has_nothing_to_say_gives_a_sign_of_life() {
    let mut relay = bench();
    let mut asked = Vec::new();
    while asked.len() < 4 {
        let next = relay.relay.next_deadline();
        let messages = sent(&relay.at(next).wakes());
        assert!(matches!(messages[..], [(Party::Breaker, Message::Query { .. })]));
        asked.push(next.ns() / 1_000_000);
    }
    assert!(asked.windows(2).all(|pair| pair[1] == pair[0] + 500), "{asked:?}");
}
