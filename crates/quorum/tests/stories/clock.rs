//! A grandmaster changes and all clocks go back: what was promised for later must not wait for the
//! old time, and what was said at the old time must not count for long.

use super::*;

/// A minute and a half.
const LATE_US: u64 = 90_000_000;
/// A minute before that.
const EARLIER_US: u64 = 30_000_000;

fn breaker() -> BreakerBench {
    let mut breaker = BreakerBench::new(Protocol::Arbiter);
    breaker.at(us(LATE_US)).wakes();
    breaker
}

#[test]
fn no_vote_gets_young_again() {
    let mut breaker = breaker();
    assert_eq!(actions(&breaker.hears(A, vote(A, attempt(Trip, 0), LATE_US / 1000))), []);
    let vote_of_b = vote(B, attempt(Trip, 0), EARLIER_US / 1000);
    assert_eq!(actions(&breaker.at(us(EARLIER_US)).hears(B, vote_of_b)), []);
    let vote_of_a = vote(A, attempt(Trip, 0), EARLIER_US / 1000);
    assert_eq!(actions(&breaker.hears(A, vote_of_a)), [Trip], "both of now");
}

#[test]
fn a_dwell_is_no_longer_than_it_is() {
    let mut breaker = breaker();
    for node in [A, B] {
        breaker.hears(node, vote(node, attempt(Trip, 0), LATE_US / 1000));
    }
    let close = |node, tick| vote(node, attempt(Close, 1), tick);
    let effects = breaker.at(us(EARLIER_US)).hears(A, close(A, EARLIER_US / 1000));
    assert_eq!(refused(&effects), Some(Refusal::Dwell));
    let after = EARLIER_US / 1000 + 20;
    breaker.at(us(after * 1000)).hears(A, close(A, after));
    assert_eq!(actions(&breaker.hears(B, close(B, after))), [Close]);
}

#[test]
fn signs_of_life_come_as_often_as_ever() {
    let mut breaker = breaker();
    let mut heard = 0;
    for second in 0..10 {
        heard += sent(&breaker.at(us(EARLIER_US + second * 1_000_000)).wakes()).len();
    }
    assert!(heard >= 4 * 9, "{heard} acknowledgements in ten seconds");

    let mut relay = RelayBench::new(Protocol::Arbiter);
    relay.at(us(LATE_US)).wakes();
    let is_question = |message: &_| matches!(message, Message::Query { .. });
    let mut asked = 0;
    for second in 0..10 {
        let said = sent(&relay.at(us(EARLIER_US + second * 1_000_000)).wakes());
        asked += said.iter().filter(|(_, message)| is_question(message)).count();
    }
    assert!(asked >= 9, "{asked} questions in ten seconds");
}

/// Its disk lost what it knew of this node's key, so neither hears the other.
#[test]
fn a_breaker_node_that_falls_silent_gets_the_key_again() {
    let mut relay = RelayBench::new(Protocol::Peer);
    let heard = |relay: &mut RelayBench| {
        let mut heard = Vec::new();
        for _ in 0..8 {
            let next = relay.relay.next_deadline();
            let said = sent(&relay.at(next).wakes());
            let is_key = |message: &_| matches!(message, Message::Announcement { .. });
            heard.extend(said.into_iter().filter(|(_, message)| is_key(message)).map(|(to, _)| to));
        }
        heard
    };
    assert_eq!(heard(&mut relay), []);
    let now = relay.now;
    let effects = relay.at(now).step(Event::BreakerSilent);
    assert!(sent(&effects).iter().any(|(to, message)| {
        *to == Party::Breaker && matches!(message, Message::Announcement { .. })
    }));
    let again = heard(&mut relay);
    assert!(!again.is_empty() && again.iter().all(|to| *to == Party::Breaker), "{again:?}");
    relay.hears(Party::Breaker, Message::Noted { counter: 1, key: None });
    assert_eq!(heard(&mut relay), []);
}
