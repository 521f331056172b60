//! A relay node is reborn.

use super::*;

fn born(relay: Action) -> RelayBench {
    RelayBench::born(Protocol::Arbiter, us(200_000), relay, Counters::default())
}

#[test]
fn it_asks_and_announces_until_it_is_answered() {
    let mut relay = born(Close);
    let key = WorkingKey::certified(A, 1);
    let mut asked = Vec::new();
    let mut announced = Vec::new();
    while relay.now < us(250_000) {
        for (to, message) in sent(&relay.wakes()) {
            let ms = relay.now.ns() / 1_000_000 - 200;
            match message {
                Message::Query { .. } => asked.push(ms),
                Message::Announcement { key: announcement } => {
                    assert_eq!(announcement, key);
                    announced.push((ms, to));
                }
                message => panic!("{message:?}"),
            }
        }
        let next = relay.relay.next_deadline();
        relay.at(next);
    }
    assert_eq!(asked, (0..50).step_by(5).collect::<Vec<_>>());
    let to_all = [Party::Breaker, Party::Relay(B), Party::Relay(C), Party::Relay(D)];
    let expected = [0, 5, 15, 35].map(|ms| to_all.map(|to| (ms, to)));
    assert_eq!(announced, expected.concat());
    for from in to_all {
        let key = match from {
            Party::Relay(node) => Some(WorkingKey::certified(node, 2)),
            Party::Breaker => None,
        };
        relay.hears(from, Message::Noted { counter: 1, key });
    }
    relay.hears(Party::Breaker, acknowledgement(Close, 4, 250));
    assert_eq!(relay.relay.state(), Some(RelayState::Closed));
    assert_eq!(relay.relay.generation(), Some(Gen(4)));
    assert!(relay.relay.next_deadline() >= us(255_000));
}

#[test]
fn it_enters_the_state_that_matches() {
    for (relay_says, decided, breaker, state) in [
        (Close, None, Close, RelayState::Closed),
        (Trip, None, Trip, RelayState::Tripped),
        (Close, None, Trip, RelayState::WaitTrip),
        (Trip, None, Close, RelayState::WaitClose),
        (Close, Some(Trip), Close, RelayState::AttemptTrip),
        (Close, Some(Trip), Trip, RelayState::Tripped),
        (Trip, Some(Close), Trip, RelayState::AttemptClose),
    ] {
        let mut relay = born(relay_says);
        if let Some(action) = decided {
            let effects = relay.decides(action);
            assert!(!sent(&effects).iter().any(|(_, m)| matches!(m, Message::Vote { .. })));
        }
        let effects = relay.hears(Party::Breaker, acknowledgement(breaker, 8, 200));
        assert_eq!(relay.relay.state(), Some(state), "{relay_says} {decided:?} {breaker}");
        if let Some(action) = state.attempted() {
            let expected = (Party::Breaker, vote(A, attempt(action, 8), 200));
            assert!(sent(&effects).contains(&expected), "it votes in the same moment");
        }
    }
}

#[test]
fn an_answer_from_before_its_birth_is_none() {
    let mut relay = born(Close);
    let effects = relay.hears(Party::Breaker, acknowledgement(Close, 3, 198));
    assert_eq!((refused(&effects), relay.relay.state()), (Some(Refusal::Stale), None));
    // The breaker node's clock may be a tick behind.
    relay.hears(Party::Breaker, acknowledgement(Trip, 6, 199));
    assert_eq!(relay.relay.generation(), Some(Gen(6)));
}

#[test]
fn it_learns_the_keys_of_others_and_is_not_deceived_by_old_ones() {
    let mut relay = born(Close);
    let answer = acknowledgement_of_keys(Close, 3, 200, [1, 7, 0, 2]);
    let effects = relay.hears(Party::Breaker, answer);
    let distrust = |node, counter| Effect::Distrust { node, counter };
    assert!(effects.contains(&distrust(B, 7)) && effects.contains(&distrust(D, 2)));
    let key = |counter| Some(WorkingKey::certified(B, counter));
    let mut why = Vec::new();
    for (counter, broken) in [(6, false), (7, true), (7, false)] {
        relay.after(Duration::from_millis(1));
        let key = key(counter).map(|key| if broken { key.broken() } else { key });
        why.push(refused(&relay.hears(Party::Relay(B), Message::Noted { counter: 1, key })));
    }
    assert_eq!(why, [Some(Refusal::OldKey), Some(Refusal::Wrong), None]);
}

#[test]
fn a_peer_that_missed_a_rebirth_distrusts_the_old_key_as_soon_as_the_breaker_node_knows() {
    let mut relay = RelayBench::new(Protocol::Peer);
    relay.hears(Party::Relay(B), share(B, attempt(Trip, 0), 100));
    let answer = acknowledgement_of_keys(Close, 0, 100, [1, 2, 1, 1]);
    let effects = relay.hears(Party::Breaker, answer);
    assert_eq!(effects[0], Effect::Distrust { node: B, counter: 2 });
    let announcement = Message::Announcement { key: WorkingKey::certified(A, 1) };
    assert_eq!(sent(&effects), [(Party::Relay(B), announcement)], "whose answer has its key");
    assert_eq!(certified(&relay.decides(Trip)), [], "what B said with its old key is void");
}

#[test]
fn who_has_noted_the_key_does_not_get_it_again() {
    let mut relay = born(Close);
    relay.wakes();
    let key = |node| Some(WorkingKey::certified(node, 3));
    // C has and is known; B answers without its key, D notes another key.
    relay.hears(Party::Relay(B), Message::Noted { counter: 1, key: None });
    relay.hears(Party::Relay(C), Message::Noted { counter: 1, key: key(C) });
    relay.hears(Party::Relay(D), Message::Noted { counter: 9, key: key(D) });
    relay.hears(Party::Breaker, Message::Noted { counter: 1, key: None });
    let mut heard = Vec::new();
    while relay.now < us(230_000) {
        let next = relay.relay.next_deadline();
        for (to, message) in sent(&relay.at(next).wakes()) {
            if matches!(message, Message::Announcement { .. }) {
                heard.push(to);
            }
        }
    }
    assert_eq!(heard, [Party::Relay(B), Party::Relay(D)].repeat(2));
    assert_eq!(NODES, 4);
}

#[test]
fn a_decision_that_may_be_from_before_the_last_action_is_not_attempted_by_who_is_born() {
    for (acted_us, state) in [(200_000, RelayState::AttemptTrip), (200_700, RelayState::WaitClose)]
    {
        let mut relay = born(Close);
        relay.at(us(201_500)).decides(Trip);
        // Others have tripped and closed meanwhile.
        let answer = Acknowledgement {
            generation: Gen(6),
            state: Close,
            acted_at: us(acted_us),
            tick: Tick(230),
            counters: [1; NODES],
        };
        relay.at(us(230_000)).hears(Party::Breaker, Message::Acknowledgement(answer));
        assert_eq!(relay.relay.state(), Some(state), "acted at {acted_us} us");
    }
}
