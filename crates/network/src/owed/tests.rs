//! Conversations, told frame by frame.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use vtime::HostSpan;

use super::moving::NOTED_MAX;
use super::*;
use crate::wire::MacAddress;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Stations of the two ends.
const ALICE: usize = 0;
const BOB: usize = 1;

#[derive(Clone, Copy)]
struct Segment<'a> {
    from: usize,
    flags: u8,
    sequence: u32,
    acknowledgement: u32,
    window: u16,
    payload: &'a [u8],
}

impl Segment<'_> {
    fn octets(&self) -> Vec<u8> {
        let mut ports = [[0x9c, 0x40], [0x01, 0xf6]];
        if self.from == BOB {
            ports.reverse();
        }
        let mut octets = ports.concat();
        octets.extend_from_slice(&self.sequence.to_be_bytes());
        octets.extend_from_slice(&self.acknowledgement.to_be_bytes());
        octets.extend_from_slice(&[0x50, self.flags]);
        octets.extend_from_slice(&self.window.to_be_bytes());
        octets.extend_from_slice(&[0; 4]);
        octets.extend_from_slice(self.payload);
        octets
    }

    /// In a padded frame of IPv4, between 10.0.0.1 and 10.0.0.2.
    fn frame(&self) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        let octets = self.octets();
        packet.extend_from_slice(&u16::try_from(20 + octets.len()).unwrap().to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0]);
        for station in [self.from, 1 - self.from] {
            packet.extend_from_slice(&[10, 0, 0, u8::try_from(station).unwrap() + 1]);
        }
        packet.extend_from_slice(&octets);
        ethernet(ETHERTYPE_IPV4, None, &packet)
    }

    /// In a frame of IPv6, behind a header of options.
    fn frame_of_ipv6(&self) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0];
        let octets = self.octets();
        packet.extend_from_slice(&u16::try_from(8 + octets.len()).unwrap().to_be_bytes());
        packet.extend_from_slice(&[0, 64]);
        for station in [self.from, 1 - self.from] {
            let last = u16::try_from(station).unwrap() + 1;
            packet.extend_from_slice(&Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).octets());
        }
        packet.extend_from_slice(&[6, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend_from_slice(&octets);
        ethernet(ETHERTYPE_IPV6, None, &packet)
    }
}

fn ethernet(ethertype: u16, tag: Option<u16>, payload: &[u8]) -> Vec<u8> {
    let (destination, source) = (MacAddress([2; 6]), MacAddress([4; 6]));
    let mut octets = Ethernet { destination, source, ethertype, tag, payload }.encode();
    octets.resize(octets.len().max(60), 0xa5);
    octets
}

fn segment(from: usize, flags: u8, sequence: u32, acknowledgement: u32) -> Segment<'static> {
    Segment { from, flags, sequence, acknowledgement, window: 500, payload: b"" }
}

fn data(sequence: u32, payload: &[u8]) -> Vec<u8> {
    Segment { payload, ..segment(ALICE, ACK, sequence, 1) }.frame()
}

fn acknowledgement(number: u32) -> Vec<u8> {
    segment(BOB, ACK, 1, number).frame()
}

fn window(window: u16, number: u32) -> Vec<u8> {
    Segment { window, ..segment(BOB, ACK, 1, number) }.frame()
}

fn ms(ms: i64) -> HostTime {
    HostTime::ZERO + HostSpan::from_ms(ms)
}

fn reason(owed: &Owed, now: HostTime) -> Option<Reason> {
    owed.owes(now).map(|owing| owing.reason)
}

#[test]
fn data_is_owed_until_its_acknowledgement_is_there() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &data(100, b"request"), ms(0));
    let owing = owed.owes(ms(0)).unwrap();
    assert_eq!((owing.station, owing.reason), (ALICE, Reason::Data));
    owed.delivered(BOB, &data(100, b"request"), ms(5));
    // Sent is not there.
    owed.sent(BOB, &acknowledgement(107), ms(5));
    assert_eq!(reason(&owed, ms(5)), Some(Reason::Data));
    owed.delivered(ALICE, &acknowledgement(106), ms(9));
    assert_eq!(reason(&owed, ms(9)), Some(Reason::Data));
    owed.delivered(ALICE, &acknowledgement(107), ms(10));
    assert_eq!(owed.owes(ms(10)), None);
}

#[test]
fn both_directions_of_a_connection_have_their_own() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &data(100, b"request"), ms(0));
    // An answer that acknowledges, and is to be acknowledged.
    let answer = Segment { payload: b"answer", ..segment(BOB, ACK, 1, 107) }.frame();
    owed.sent(BOB, &answer, ms(1));
    owed.delivered(ALICE, &answer, ms(2));
    assert_eq!(owed.owes(ms(2)).map(|owing| owing.station), Some(BOB));
    owed.delivered(BOB, &segment(ALICE, ACK, 107, 7).frame(), ms(3));
    assert_eq!(owed.owes(ms(3)), None);
}

#[test]
fn opening_and_closing_take_a_place_each() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &segment(ALICE, SYN, 99, 0).frame(), ms(0));
    assert_eq!(reason(&owed, ms(0)), Some(Reason::Handshake));
    let answer = segment(BOB, SYN | ACK, u32::MAX, 100).frame();
    owed.sent(BOB, &answer, ms(1));
    owed.delivered(ALICE, &answer, ms(2));
    assert_eq!(owed.owes(ms(2)).map(|owing| owing.station), Some(BOB));
    owed.delivered(BOB, &segment(ALICE, ACK, 100, 0).frame(), ms(3));
    assert_eq!(owed.owes(ms(3)), None);
    owed.sent(ALICE, &segment(ALICE, FIN | ACK, 100, 0).frame(), ms(4));
    assert_eq!(reason(&owed, ms(4)), Some(Reason::Data));
    owed.delivered(ALICE, &segment(BOB, FIN | ACK, 0, 101).frame(), ms(5));
    assert_eq!(owed.owes(ms(5)), None);
}

#[test]
fn a_reset_ends_what_its_sender_and_its_receiver_owe() {
    for sent in [true, false] {
        let mut owed = Owed::default();
        owed.sent(ALICE, &data(100, b"request"), ms(0));
        if sent {
            owed.sent(ALICE, &segment(ALICE, RST, 107, 0).frame(), ms(1));
        } else {
            owed.delivered(ALICE, &segment(BOB, RST | ACK, 0, 0).frame(), ms(1));
        }
        assert_eq!(owed.owes(ms(1)), None);
    }
}

#[test]
fn retransmissions_keep_it_owed_and_silence_ends_it() {
    let mut owed = Owed::default();
    let frame = data(100, b"request");
    owed.sent(ALICE, &frame, ms(0));
    // Before the first one nobody knows how long the kernel waits: up to two minutes.
    assert!(owed.owes(ms(120_000)).is_some());
    let mut at = 0;
    for gap in [210, 420, 840, 1680, 3360] {
        at += gap;
        owed.sent(ALICE, &frame, ms(at));
    }
    // The next one is due after 6.72 s, then the kernel has given up.
    assert!(owed.owes(ms(at + 6720)).is_some());
    assert_eq!(owed.owes(ms(at + 8500)), None);
    // Unless it is seen again.
    owed.sent(ALICE, &frame, ms(at + 9000));
    assert!(owed.owes(ms(at + 9000)).is_some());
}

#[test]
fn a_fast_retransmission_says_nothing_of_the_schedule() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &data(100, b"request"), ms(0));
    owed.sent(ALICE, &data(100, b"request"), ms(20));
    assert!(owed.owes(ms(120_000)).is_some());
}

#[test]
fn an_attempt_to_connect_that_was_given_up_is_over_when_its_next_try_does_not_come() {
    let mut owed = Owed::default();
    let syn = segment(ALICE, SYN, 99, 0).frame();
    for at in [0, 1000, 3000] {
        owed.sent(ALICE, &syn, ms(at));
    }
    assert!(owed.owes(ms(7000)).is_some());
    assert_eq!(owed.owes(ms(8500)), None);
    // Another one from the same port is another one.
    owed.sent(ALICE, &segment(ALICE, SYN, 7, 0).frame(), ms(8000));
    assert!(owed.owes(ms(9000)).is_some());
    owed.delivered(ALICE, &segment(BOB, SYN | ACK, 1, 8).frame(), ms(9000));
    assert_eq!(owed.owes(ms(9000)), None);
}

#[test]
fn a_closed_window_is_owed_until_it_opens_or_nobody_asks() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &data(100, b"request"), ms(0));
    owed.delivered(ALICE, &window(0, 107), ms(1));
    assert_eq!(reason(&owed, ms(1)), Some(Reason::ClosedWindow));
    let mut opened = owed.clone();
    opened.delivered(ALICE, &window(1, 107), ms(2));
    assert_eq!(opened.owes(ms(2)), None);

    // Alice asks, further and further apart; each answer says that there is no room.
    let probe = segment(ALICE, ACK, 106, 1).frame();
    let mut at = 1;
    for gap in [400, 800, 1600, 3200] {
        at += gap;
        owed.sent(ALICE, &probe, ms(at));
        owed.delivered(ALICE, &window(0, 107), ms(at + 1));
    }
    assert!(owed.owes(ms(at + 6400)).is_some());
    // Bare acknowledgements of what bob sends are no probes.
    owed.sent(ALICE, &segment(ALICE, ACK, 107, 9).frame(), ms(at + 6000));
    assert_eq!(owed.owes(ms(at + 8200)), None);

    let mut idle = Owed::default();
    idle.delivered(ALICE, &window(0, 107), ms(0));
    assert_eq!(reason(&idle, ms(3000)), Some(Reason::ClosedWindow));
    assert_eq!(idle.owes(ms(4000)), None);
}

#[test]
fn an_old_acknowledgement_opens_no_window() {
    let mut owed = Owed::default();
    owed.delivered(ALICE, &window(0, 107), ms(0));
    owed.delivered(ALICE, &window(500, 100), ms(1));
    assert_eq!(reason(&owed, ms(1)), Some(Reason::ClosedWindow));
}

#[test]
fn data_that_is_lost_on_the_way_to_a_closed_window_stays_owed() {
    let mut owed = Owed::default();
    owed.sent(ALICE, &data(100, b"request"), ms(0));
    owed.delivered(ALICE, &window(0, 100), ms(1));
    assert_eq!(reason(&owed, ms(1)), Some(Reason::Data));
    owed.delivered(ALICE, &window(9, 100), ms(2));
    assert_eq!(reason(&owed, ms(2)), Some(Reason::Data));
}

#[test]
fn other_stations_and_vlans_are_other_flows() {
    let mut owed = Owed::default();
    let packet = Ethernet::parse(&data(100, b"request")).unwrap().payload.to_vec();
    let answer = Ethernet::parse(&acknowledgement(107)).unwrap().payload.to_vec();
    // A tag of priority alone names no VLAN.
    owed.sent(ALICE, &ethernet(ETHERTYPE_IPV4, Some(0x8005), &packet), ms(0));
    owed.delivered(BOB, &ethernet(ETHERTYPE_IPV4, Some(5), &answer), ms(1));
    owed.delivered(ALICE, &ethernet(ETHERTYPE_IPV4, None, &answer), ms(1));
    assert_eq!(reason(&owed, ms(1)), Some(Reason::Data));
    owed.delivered(ALICE, &ethernet(ETHERTYPE_IPV4, Some(5), &answer), ms(2));
    assert_eq!(owed.owes(ms(2)), None);
}

#[test]
fn ipv6_is_the_same_behind_its_headers() {
    let mut owed = Owed::default();
    let request = Segment { payload: b"request", ..segment(ALICE, ACK, 100, 1) };
    owed.sent(ALICE, &request.frame_of_ipv6(), ms(0));
    owed.delivered(ALICE, &acknowledgement(107), ms(1));
    assert_eq!(reason(&owed, ms(1)), Some(Reason::Data));
    owed.delivered(ALICE, &segment(BOB, ACK, 1, 107).frame_of_ipv6(), ms(1));
    assert_eq!(owed.owes(ms(1)), None);
}

#[test]
fn the_first_fragment_stands_for_the_others() {
    let mut owed = Owed::default();
    let mut first = data(100, b"request");
    // More fragments follow; then one that lies behind.
    first[20] = 0x20;
    owed.sent(ALICE, &first, ms(0));
    let mut later = data(500, b"anything");
    later[21] = 1;
    owed.sent(ALICE, &later, ms(0));
    owed.delivered(ALICE, &acknowledgement(1100), ms(1));
    assert_eq!(owed.owes(ms(1)), None);
}

#[test]
fn a_neighbour_is_owed_until_it_answers_or_the_kernel_gives_up() {
    let alice = (MacAddress([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1));
    let bob = (MacAddress([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(10, 0, 0, 2));
    let arp = |operation, sender: (MacAddress, Ipv4Addr), target: (MacAddress, Ipv4Addr)| {
        let ((sender_mac, sender_ip), (target_mac, target_ip)) = (sender, target);
        let arp = Arp { operation, sender_mac, sender_ip, target_mac, target_ip };
        ethernet(ETHERTYPE_ARP, None, &arp.encode())
    };
    let request = arp(Operation::Request, alice, bob);
    let mut owed = Owed::default();
    for at in [0, 1000, 2000] {
        owed.sent(ALICE, &request, ms(at));
        assert_eq!(reason(&owed, ms(at + 1000)), Some(Reason::Neighbour));
    }
    let mut unanswered = owed.clone();
    assert_eq!(unanswered.owes(ms(3500)), None);
    unanswered.sent(BOB, &arp(Operation::Request, bob, bob), ms(3500));
    assert_eq!(unanswered.owes(ms(3500)), None);

    owed.delivered(BOB, &arp(Operation::Reply, bob, alice), ms(2100));
    assert_eq!(reason(&owed, ms(2100)), Some(Reason::Neighbour));
    owed.delivered(ALICE, &arp(Operation::Reply, bob, alice), ms(2100));
    assert_eq!(owed.owes(ms(2100)), None);
}

#[test]
fn neighbour_discovery_is_as_arp() {
    let target = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
    let message = |kind: u8| {
        let mut packet = vec![0x60, 0, 0, 0, 0, 24, Ipv6::ICMP, 255];
        packet.extend_from_slice(&[0; 32]);
        packet.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend_from_slice(&target.octets());
        ethernet(ETHERTYPE_IPV6, None, &packet)
    };
    let mut owed = Owed::default();
    owed.sent(ALICE, &message(135), ms(0));
    assert_eq!(reason(&owed, ms(1000)), Some(Reason::Neighbour));
    assert_eq!(owed.owes(ms(1400)), None);
    owed.delivered(ALICE, &message(136), ms(1));
    assert_eq!(owed.owes(ms(1)), None);
}

#[test]
fn behind_many_frames_under_way_a_flow_is_owed() {
    let mut owed = Owed::default();
    let frame = data(100, b"request");
    owed.sent(ALICE, &frame, ms(0));
    let samples = ethernet(0x88ba, None, b"sampled values");
    let mut other = frame.clone();
    other[34] ^= 1;
    for (others, is_owed) in [(NOTED_MAX - 1, false), (NOTED_MAX, true)] {
        let others = std::iter::repeat_n(&other, others);
        let under_way = std::iter::repeat_n(&samples, 100).chain(others).chain([&frame]);
        assert_eq!(owed.owes_beside(ms(1), under_way.map(Vec::as_slice)).is_some(), is_owed);
    }
}

#[test]
fn a_flood_of_flows_is_owed_in_bounded_memory() {
    let mut owed = Owed::with_room_for(16);
    for port in 1..=1000u16 {
        let mut frame = segment(ALICE, SYN, 99, 0).frame();
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        owed.sent(ALICE, &frame, ms(i64::from(port)));
    }
    assert_eq!(reason(&owed, ms(1000)), Some(Reason::Handshake));
    // The last sixteen are answered; the others are not known, but owed.
    for port in 985..=1000u16 {
        let mut frame = segment(BOB, SYN | ACK, 1, 100).frame();
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        owed.delivered(ALICE, &frame, ms(1001));
    }
    assert_eq!(reason(&owed, ms(1001)), Some(Reason::TooMany));
    assert_eq!(owed.owes(ms(2500)), None);
}

/// What happens to a stream of 10,000 octets from alice, in whole segments of 100.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Alice sends so many new segments.
    Send(u8),
    /// She sends all again that is outstanding.
    SendAgain,
    /// Bob's acknowledgement of so many per cent of what was sent arrives.
    Hear(u8),
    /// It is lost on its way to her.
    Lose,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1u8..5).prop_map(Step::Send),
        Just(Step::SendAgain),
        (0u8..=100).prop_map(Step::Hear),
        Just(Step::Lose),
    ]
}

proptest! {
    /// Wherever sequence numbers begin, a flow is owed exactly while something is outstanding.
    #[test]
    fn a_flow_is_owed_while_something_is_outstanding(
        first: u32, steps in proptest::collection::vec(step(), 0..40),
    ) {
        let at = |octets: u32| first.wrapping_add(octets);
        let (mut owed, mut sent, mut heard) = (Owed::default(), 0u32, 0u32);
        for (n, step) in (1..).zip(steps) {
            let now = ms(n);
            match step {
                Step::Send(count) => for _ in 0..count {
                    owed.sent(ALICE, &data(at(sent), &[7; 100]), now);
                    sent += 100;
                },
                Step::SendAgain => for octets in (heard..sent).step_by(100) {
                    owed.sent(ALICE, &data(at(octets), &[7; 100]), now);
                },
                Step::Hear(percent) => {
                    let number = sent / 100 * u32::from(percent) / 100 * 100;
                    owed.delivered(ALICE, &acknowledgement(at(number)), now);
                    heard = heard.max(number);
                }
                Step::Lose => owed.sent(BOB, &acknowledgement(at(sent)), now),
            }
            let expected = (heard < sent).then_some(Reason::Data);
            prop_assert_eq!(reason(&owed, now), expected, "{} of {}", heard, sent);
        }
    }

    #[test]
    fn any_frame_is_looked_at_and_nothing_is_owed_for_ever(
        frames in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..120), 0usize..16, any::<u8>()), 0..20),
    ) {
        let mut owed = Owed::with_room_for(4);
        for (n, (octets, at, value)) in (0..).zip(&frames) {
            let mut damaged = data(100, b"request");
            damaged[12 + 3 * at] = *value;
            for frame in [octets, &damaged] {
                owed.sent(ALICE, frame, ms(n));
                owed.delivered(BOB, frame, ms(n));
            }
        }
        prop_assert_eq!(owed.owes(ms(200_000)), None);
    }
}

#[test]
fn what_is_under_way_is_waited_for_and_not_the_timer() {
    let mut owed = Owed::default();
    let (request, answer) = (data(100, b"request"), acknowledgement(107));
    owed.sent(ALICE, &request, ms(0));
    let beside =
        |frame: &[u8]| owed.owes_beside(ms(1), [frame].into_iter()).map(|owing| owing.reason);
    assert_eq!([&request, &answer].map(|frame| beside(frame)), [None, None]);
    let other = Segment { payload: b"else", ..segment(BOB, ACK, 1, 1) };
    let ports = {
        let mut octets = other.frame();
        octets[34] ^= 1;
        octets
    };
    assert_eq!(beside(&ports), Some(Reason::Data), "that is of another connection");
    assert_eq!(reason(&owed, ms(1)), Some(Reason::Data), "it was lost");
}
