//! Channels: what is sent arrives once, and nothing else arrives.

use super::*;
use crate::dealer::{Station, generate};
use crate::keys::Secret;
use crate::statement::{BreakerId, StationId, Tick};
use crate::wire::tests::payloads;
use crate::wire::{CertificateKind, HEADER_OCTETS};
use proptest::prelude::*;

const ZERO: Party = Party::Relay(NodeId::ALL[0]);
const ONE: Party = Party::Relay(NodeId::ALL[1]);

fn station(epoch: u32) -> Station {
    let seed = Secret::new([epoch as u8 + 1; 32]);
    let kind = CertificateKind::TwoSignatures;
    generate(StationId(7), Epoch(epoch), BreakerId(1), kind, &seed)
}

/// A party of a station that is born with this counter.
fn born(station: &Station, party: Party, counter: u64) -> Channels {
    let root = &station.secrets[party.index()];
    let seed = Secret::new([party.octet() + 16 * counter as u8; 32]);
    let working = match party {
        Party::Relay(_) => Working::born(root, &station.membership, counter, &seed),
        Party::Breaker => Working::of_breaker(root, &station.membership),
    };
    Channels::new(working.unwrap(), &station.membership)
}

fn query(tick: u64) -> Payload {
    Payload::Message(Message::Query { tick: Tick(tick) })
}

fn sealed(channels: &mut Channels, to: Party, payload: &Payload) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    channels.seal(to, payload, |datagram| datagrams.push(datagram.to_vec()));
    datagrams
}

/// Two nodes that know each other's keys.
fn acquainted(station: &Station) -> (Channels, Channels) {
    let (mut zero, mut one) = (born(station, ZERO, 1), born(station, ONE, 1));
    assert!(one.adopt(NodeId::ALL[0], zero.working().key().unwrap()));
    assert!(zero.adopt(NodeId::ALL[1], one.working().key().unwrap()));
    (zero, one)
}

#[test]
fn a_node_that_is_born_makes_itself_known() {
    let station = station(1);
    let (mut zero, mut one) = (born(&station, ZERO, 1), born(&station, ONE, 1));
    // Nothing can be sent to anybody yet.
    assert!(sealed(&mut zero, ONE, &query(1)).is_empty());
    let key = *zero.working().key().unwrap();
    let announcement = Payload::Message(Message::Announcement { key });
    let datagrams = sealed(&mut zero, ONE, &announcement);
    assert_eq!(one.open(&datagrams[0]), Ok((ZERO, announcement.clone())));
    assert!(one.adopt(NodeId::ALL[0], &key));
    // It answers with its own key, which comes in a datagram of its own.
    let answer = Message::Noted { counter: 1, key: one.working().key().copied() };
    let datagrams = sealed(&mut one, ZERO, &Payload::Message(answer));
    let [introduction, noted] = &datagrams[..] else { panic!("{datagrams:?}") };
    assert_eq!(zero.open(noted), Err(Refusal::UnknownKey));
    let Ok((ONE, Payload::Message(Message::Noted { counter: 0, key: Some(key) }))) =
        zero.open(introduction)
    else {
        panic!("no introduction")
    };
    assert!(zero.adopt(NodeId::ALL[1], &key));
    let said = Payload::Message(Message::Noted { counter: 1, key: None });
    assert_eq!(zero.open(noted), Ok((ONE, said)));
    // An announcement may come again, because its answer can get lost.
    let datagrams = sealed(&mut zero, ONE, &announcement);
    assert_eq!(one.open(&datagrams[0]), Ok((ZERO, announcement)));
}

#[test]
fn what_is_sent_arrives_once() {
    let station = station(1);
    let (mut zero, mut one) = acquainted(&station);
    let datagrams: Vec<_> = (0..5).flat_map(|tick| sealed(&mut zero, ONE, &query(tick))).collect();
    // In any order.
    for index in [3, 0, 4, 1] {
        assert_eq!(one.open(&datagrams[index]), Ok((ZERO, query(index as u64))));
    }
    for index in [0, 1, 3, 4] {
        assert_eq!(one.open(&datagrams[index]), Err(Refusal::Replayed));
    }
    // Not too late, and not to the wrong one or back.
    for tick in 0..61 {
        sealed(&mut zero, ONE, &query(tick));
    }
    let late = sealed(&mut zero, ONE, &query(9)).remove(0);
    assert!(one.open(&late).is_ok());
    assert_eq!(one.open(&datagrams[2]), Err(Refusal::Replayed));
    assert_eq!(zero.open(&late), Err(Refusal::Misdirected));
    let mut breaker = born(&station, Party::Breaker, 0);
    assert_eq!(breaker.open(&late), Err(Refusal::Misdirected));
}

#[test]
fn the_breaker_node_needs_no_introduction() {
    let station = station(1);
    let (mut zero, mut breaker) = (born(&station, ZERO, 3), born(&station, Party::Breaker, 0));
    assert!(breaker.adopt(NodeId::ALL[0], zero.working().key().unwrap()));
    let datagram = sealed(&mut zero, Party::Breaker, &query(1)).remove(0);
    assert_eq!(breaker.open(&datagram), Ok((ZERO, query(1))));
    let datagram = sealed(&mut breaker, ZERO, &query(2)).remove(0);
    assert_eq!(zero.open(&datagram), Ok((Party::Breaker, query(2))));
}

#[test]
fn nothing_of_an_earlier_life_or_epoch_is_taken() {
    let (old, new) = (station(1), station(2));
    let (mut zero, mut one) = acquainted(&old);
    let announcement =
        Payload::Message(Message::Announcement { key: *zero.working().key().unwrap() });
    let recorded = [
        sealed(&mut zero, ONE, &query(1)).remove(0),
        sealed(&mut zero, ONE, &announcement).remove(0),
    ];
    // Reborn with counter 2: a recording of the earlier life is worth nothing.
    let mut reborn = born(&old, ZERO, 2);
    let key = *reborn.working().key().unwrap();
    assert!(one.adopt(NodeId::ALL[0], &key));
    assert!(!one.adopt(NodeId::ALL[0], zero.working().key().unwrap()));
    assert_eq!(one.open(&recorded[0]), Err(Refusal::Tag));
    assert_eq!(one.open(&recorded[1]), Err(Refusal::Replayed));
    reborn.adopt(NodeId::ALL[1], one.working().key().unwrap());
    let fresh = sealed(&mut reborn, ONE, &query(2)).remove(0);
    assert_eq!(one.open(&fresh), Ok((ZERO, query(2))));
    // Adopting the same key again does not open the door to what was seen.
    assert!(!one.adopt(NodeId::ALL[0], &key));
    assert_eq!(one.open(&fresh), Err(Refusal::Replayed));
    // And nothing goes from one epoch to the next, or with keys of another station.
    let mut later = born(&new, ONE, 1);
    assert_eq!(later.open(&fresh), Err(Refusal::Epoch(Epoch(1))));
    let mut forged = recorded[1].clone();
    forged[11] = 2;
    assert_eq!(later.open(&forged), Err(Refusal::Tag));
    // A peer that is distrusted is a stranger.
    one.distrust(NodeId::ALL[0], 3);
    let stranger = sealed(&mut reborn, ONE, &query(3)).remove(0);
    assert_eq!(one.open(&stranger), Err(Refusal::UnknownKey));
}

#[test]
fn keys_of_another_are_of_no_use() {
    let station = station(1);
    let (zero, mut one) = acquainted(&station);
    // Node 2 holds its own keys and knows all public ones, and says that it is node 0.
    let mut two = born(&station, Party::Relay(NodeId::ALL[2]), 1);
    two.adopt(NodeId::ALL[1], one.working().key().unwrap());
    one.adopt(NodeId::ALL[2], two.working().key().unwrap());
    let mut forged = sealed(&mut two, ONE, &query(1)).remove(0);
    assert!(one.open(&forged.clone()).is_ok());
    forged[5] = 0;
    assert_eq!(one.open(&forged), Err(Refusal::Tag));
    let announcement =
        Payload::Message(Message::Announcement { key: *zero.working().key().unwrap() });
    let mut forged = sealed(&mut two, ONE, &announcement).remove(0);
    forged[5] = 0;
    assert_eq!(one.open(&forged), Err(Refusal::Tag));
}

proptest! {
    #[test]
    fn no_octet_can_be_changed(payload in payloads(), place: u16, flip in 1..=u8::MAX) {
        let station = station(1);
        let (mut zero, mut one) = acquainted(&station);
        let mut datagrams = sealed(&mut zero, ONE, &payload);
        let good = datagrams.pop().unwrap();
        let mut bad = good.clone();
        let place = usize::from(place) % bad.len();
        bad[place] ^= flip;
        let refused = one.open(&bad);
        prop_assert!(refused.is_err(), "{refused:?}");
        if place >= HEADER_OCTETS {
            prop_assert_eq!(refused, Err(Refusal::Tag));
        }
        // And what was refused has changed nothing.
        prop_assert!(one.open(&good).is_ok());
    }

    #[test]
    fn octets_of_anybody_are_refused(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (_, mut one) = acquainted(&station(1));
        let mut aimed = b"QCQ1\x01\0\x01\0\0\0\0\x01".to_vec();
        aimed.extend_from_slice(&octets);
        for octets in [octets, aimed] {
            prop_assert!(one.open(&octets).is_err());
        }
    }
}
