//! A relay node whose proof and a peer's are right and were not made for each other (FROST, just
//! after one of them was born).

use super::*;

#[test]
fn whose_share_goes_together_with_none_is_not_blamed_and_tried_again_in_the_next_tick() {
    let trip = attempt(Trip, 0);
    let mut relay = RelayBench::new(Protocol::Peer);
    relay.scheme.apart = Some(B);
    let step = |relay: &mut RelayBench, at, event| {
        let effects = relay.at(us(at)).step(event);
        assert_eq!(blamed(&effects), []);
        certified(&effects)
    };
    for node in [B, C] {
        let event = Event::Received { from: Party::Relay(node), message: share(node, trip, 100) };
        step(&mut relay, 100_300, event);
    }
    // Within the same step it is made with the next peer.
    let made = step(&mut relay, 100_400, Event::Decided(Trip));
    assert_eq!(made, [certificate([A, C], trip, 100)]);
    relay.scheme.apart = None;
    let made = step(&mut relay, 101_000, Event::Deadline);
    assert_eq!(made, [certificate([A, B], trip, 101)]);
}
