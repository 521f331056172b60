//! TCP segments and ARP requests that a kernel repeats because it waited on host time while the clock was
//! stopped.
//!
//! The kernel's timers of retransmission know nothing of holds. Some 200 ms into one, a kernel
//! whose segments or their acknowledgements are kept by this network sends them again, although no
//! virtual time has passed. On a real network these repeats would not exist, and let through they
//! take up a slow link. So a segment that a node sends while the clock is stopped is withheld
//! if the network needs no second copy: every octet of it is under way, with the same content, or
//! acknowledged by a segment under way. Whatever was lost, is new, is sent while the clock runs,
//! or takes no sequence space (acknowledgements, keep-alives, window probes) passes.
//!
//! An ARP request is repeated after a second. It is needless while the first one, or the answer to it, is under way.
//!
//! The sender's kernel believes in a loss until the acknowledgement of the first copy arrives; its
//! time stamps (RFC 7323) or F-RTO (RFC 5682) then correct it, and it undoes what it did.

use std::net::Ipv4Addr;

use crate::wire::ethernet::{ETHERTYPE_ARP, ETHERTYPE_IPV4};
use crate::wire::tcp::distance;
use crate::wire::{Arp, Ethernet, Ipv4, Operation, Tcp};

/// Whether a frame sent while the clock is stopped asks nothing of the network that is not
/// under way already. Any frame may be handed in.
pub fn is_needless<'a>(frame: &[u8], mut under_way: impl Iterator<Item = &'a [u8]>) -> bool {
    if let Some(request) = arp(frame).filter(|arp| arp.operation == Operation::Request) {
        return under_way.any(|other| other == frame || answers(other, &request));
    }
    let Some(segment) = Segment::parse(frame) else { return false };
    let length = segment.tcp.length();
    if length == 0 {
        return false;
    }
    let others: Vec<_> = under_way.filter_map(Segment::parse).collect();
    let mut covered = 0;
    while covered < length {
        let known = others.iter().filter_map(|other| segment.covered_by(other, covered)).max();
        // Each step leads on, or nothing covers the next octet.
        let Some(further) = known.filter(|&further| further > covered) else { return false };
        covered = further;
    }
    true
}

fn arp(frame: &[u8]) -> Option<Arp> {
    let frame = Ethernet::parse(frame).filter(|frame| frame.ethertype == ETHERTYPE_ARP)?;
    Arp::parse(frame.payload)
}

/// Whether a frame is the answer to a request.
fn answers(frame: &[u8], request: &Arp) -> bool {
    arp(frame).is_some_and(|answer| {
        answer.operation == Operation::Reply
            && (answer.sender_ip, answer.target_mac) == (request.target_ip, request.sender_mac)
    })
}

/// A segment and who sends it to whom. Positions are octets from its first place in sequence
/// space, where SYN and FIN take one place each.
#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    tcp: Tcp<'a>,
}

impl<'a> Segment<'a> {
    fn parse(frame: &'a [u8]) -> Option<Self> {
        let frame = Ethernet::parse(frame)?;
        if frame.ethertype != ETHERTYPE_IPV4 {
            return None;
        }
        let packet = Ipv4::parse(frame.payload)?;
        let tcp = packet.tcp()?;
        let from = (packet.source, tcp.source_port);
        Some(Self { from, to: (packet.destination, tcp.destination_port), tcp })
    }

    /// What lies at a place: an octet, or one of the flags.
    fn at(&self, place: usize) -> Place {
        match place.checked_sub(usize::from(self.tcp.syn)) {
            None => Place::Syn,
            Some(n) => self.tcp.payload.get(n).map_or(Place::Fin, |&octet| Place::Octet(octet)),
        }
    }

    /// How far `other` covers this one, given that all before `covered` is covered. `None` if it
    /// has nothing to do with it or differs.
    fn covered_by(&self, other: &Segment<'_>, covered: usize) -> Option<usize> {
        if (other.from, other.to) == (self.to, self.from) {
            let acknowledged = distance(self.tcp.sequence, other.tcp.acknowledgement?)?;
            return Some((acknowledged as usize).min(self.tcp.length()));
        }
        if (other.from, other.to) != (self.from, self.to) {
            return None;
        }
        let next = self.tcp.sequence.wrapping_add(u32::try_from(covered).ok()?);
        let begin = distance(other.tcp.sequence, next)? as usize;
        let count = other.tcp.length().checked_sub(begin)?.min(self.tcp.length() - covered);
        let same = (0..count).all(|n| other.at(begin + n) == self.at(covered + n));
        same.then_some(covered + count)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Syn,
    Octet(u8),
    Fin,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MacAddress;
    use proptest::prelude::*;

    // Flags of TCP (RFC 9293, 3.1).
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    /// A segment from 10.0.0.1:4000 to 10.0.0.2:502, or back.
    fn segment(back: bool, flags: u8, sequence: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x02; 12];
        frame.extend_from_slice(&[0x08, 0x00, 0x45, 0]);
        frame.extend_from_slice(&u16::try_from(40 + payload.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0]);
        let (from, to) = if back { (2, 1) } else { (1, 2) };
        frame.extend_from_slice(&[10, 0, 0, from, 10, 0, 0, to]);
        let ports: [u16; 2] = if back { [502, 4000] } else { [4000, 502] };
        ports.iter().for_each(|port| frame.extend_from_slice(&port.to_be_bytes()));
        frame.extend_from_slice(&sequence.to_be_bytes());
        frame.extend_from_slice(&ack.to_be_bytes());
        frame.extend_from_slice(&[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend_from_slice(payload);
        // Short frames are padded on the wire, and padding is no payload.
        frame.resize(frame.len().max(60), 0xa5);
        frame
    }

    fn data(sequence: u32, payload: &[u8]) -> Vec<u8> {
        segment(false, ACK, sequence, 1, payload)
    }

    fn needless(frame: &[u8], under_way: &[Vec<u8>]) -> bool {
        is_needless(frame, under_way.iter().map(Vec::as_slice))
    }

    #[test]
    fn a_repeat_of_what_is_under_way_is_needless() {
        let frame = data(100, b"request");
        assert!(!needless(&frame, &[]));
        assert!(needless(&frame, std::slice::from_ref(&frame)));
    }

    #[test]
    fn a_repeat_of_what_is_acknowledged_is_needless() {
        let acknowledgement = |ack| segment(true, ACK, 1, ack, b"");
        assert!(needless(&data(100, b"request"), &[acknowledgement(107)]));
        assert!(!needless(&data(100, b"request"), &[acknowledgement(106)]));
        assert!(!needless(&data(100, b"request"), &[acknowledgement(100)]));
        // What is not acknowledged is under way.
        assert!(needless(&data(100, b"request"), &[acknowledgement(103), data(103, b"uest")]));
    }

    #[test]
    fn new_data_and_another_content_pass() {
        assert!(!needless(&data(107, b"more"), &[data(100, b"request")]));
        assert!(!needless(&data(100, b"requests"), &[data(100, b"request")]));
        assert!(!needless(&data(100, b"REQUEST"), &[data(100, b"request")]));
    }

    #[test]
    fn other_connections_have_nothing_to_do_with_it() {
        let mut other = data(100, b"request");
        other[14 + 20 + 1] ^= 1;
        assert!(!needless(&data(100, b"request"), &[other]));
        assert!(!needless(&data(100, b"request"), &[segment(true, 0, 100, 107, b"request")]));
    }

    #[test]
    fn opening_and_closing_take_a_place_each() {
        let syn = segment(false, SYN, 99, 0, b"");
        assert!(needless(&syn, std::slice::from_ref(&syn)));
        assert!(needless(&syn, &[segment(true, SYN | ACK, 7, 100, b"")]));
        let last = segment(false, FIN | ACK, 100, 1, b"bye");
        assert!(needless(&last, std::slice::from_ref(&last)));
        assert!(!needless(&last, &[data(100, b"bye")]));
        assert!(needless(&last, &[segment(true, ACK, 1, 104, b"")]));
    }

    #[test]
    fn a_request_for_an_address_is_needless_while_it_or_its_answer_is_under_way() {
        let (asks, answers) = (Operation::Request, Operation::Reply);
        let frame = |operation, from: u8, to: u8, target_mac: u8| {
            let (mac, address) = (|n| MacAddress([2, 0, 0, 0, 0, n]), |n| [10, 0, 0, n].into());
            let (sender_mac, sender_ip) = (mac(from), address(from));
            let (target_mac, target_ip) = (mac(target_mac), address(to));
            let arp = Arp { operation, sender_mac, sender_ip, target_mac, target_ip };
            [&[2; 12][..], &[0x08, 0x06], &arp.encode()].concat()
        };
        let request = frame(asks, 1, 2, 0);
        assert!(!needless(&request, &[]));
        assert!(needless(&request, std::slice::from_ref(&request)));
        assert!(needless(&request, &[frame(answers, 2, 1, 1)]));
        let announcement = frame(answers, 1, 2, 2);
        assert!(!needless(&announcement, std::slice::from_ref(&announcement)));
        for other in [frame(asks, 1, 3, 0), frame(answers, 3, 1, 1), frame(answers, 2, 4, 4)] {
            assert!(!needless(&request, &[other]));
        }
    }

    #[test]
    fn what_takes_no_place_passes() {
        let acknowledgement = data(100, b"");
        assert!(!needless(&acknowledgement, &[acknowledgement.clone(), data(100, b"x")]));
    }

    proptest! {
        #[test]
        fn pieces_cover_the_whole_whatever_their_order(
            first: u32,
            payload in proptest::collection::vec(any::<u8>(), 1..60),
            cuts in proptest::collection::vec(0usize..60, 0..6),
            lost in proptest::option::of(0usize..60),
            seed: u64,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % payload.len()).collect();
            cuts.extend([0, payload.len()]);
            cuts.sort_unstable();
            cuts.dedup();
            let at = |n: usize| first.wrapping_add(u32::try_from(n).unwrap());
            let piece = |range: &[usize]| (range[0], data(at(range[0]), &payload[range[0]..range[1]]));
            let mut pieces: Vec<_> = cuts.windows(2).map(piece).collect();
            let lost = lost.map(|n| pieces.swap_remove(n % pieces.len()));
            let turn = usize::try_from(seed % 7).unwrap() % pieces.len().max(1);
            pieces.rotate_left(turn);
            let pieces: Vec<_> = pieces.into_iter().map(|(_, frame)| frame).collect();
            prop_assert_eq!(needless(&data(first, &payload), &pieces), lost.is_none());
        }

        #[test]
        fn any_frame_is_answered(
            frame in proptest::collection::vec(any::<u8>(), 0..120),
            other in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            let _ = needless(&frame, &[other]);
        }
    }
}
