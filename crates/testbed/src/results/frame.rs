//! What a captured Ethernet frame carries, as far as verdicts ask: the addresses, the ports and
//! how much payload. IPv4 with TCP (RFC 9293) or UDP (RFC 768), with or without 802.1Q tags.
//!
//! Payload is counted from the length in the IP header: short frames are padded on Ethernet, and
//! padding is no payload. Later fragments of a datagram carry no ports and are left out.

use std::net::{Ipv4Addr, SocketAddrV4};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_VLAN: u16 = 0x8100;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const TCP_SYN: u8 = 0x02;

/// A TCP segment or UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it came from, by its own word.
    pub source: SocketAddrV4,
    /// Where it goes.
    pub destination: SocketAddrV4,
    /// Bytes of payload.
    pub payload: u32,
    /// What TCP adds; `None` for UDP.
    pub tcp: Option<TcpPart>,
}

/// What TCP says of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpPart {
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Whether it opens a connection.
    pub syn: bool,
}

impl Segment {
    /// Reads a frame; `None` if it carries neither TCP nor UDP over IPv4.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let ip = ipv4(frame)?;
        let header = usize::from(ip.first()? & 0x0f) * 4;
        let fragment_offset = u16_at(ip, 6)? & 0x1fff;
        if header < 20 || fragment_offset != 0 {
            return None;
        }
        let total = match usize::from(u16_at(ip, 2)?) {
            // Segmentation offload leaves the length to the card: the frame is all there is.
            0 => ip.len(),
            total => total,
        };
        let (source, destination) = (address_at(ip, 12)?, address_at(ip, 16)?);
        let transport = ip.get(header..)?;
        let (tcp, transport_header) = match *ip.get(9)? {
            PROTOCOL_TCP => (Some(tcp(transport)?), usize::from(transport.get(12)? >> 4) * 4),
            PROTOCOL_UDP => (None, UDP_HEADER),
            _ => return None,
        };
        let payload = total.saturating_sub(header + transport_header);
        Some(Self {
            source: SocketAddrV4::new(source, u16_at(transport, 0)?),
            destination: SocketAddrV4::new(destination, u16_at(transport, 2)?),
            payload: u32::try_from(payload).ok()?,
            tcp,
        })
    }
}

fn ipv4(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    while u16_at(frame, at)? == ETHERTYPE_VLAN {
        at += 4;
    }
    let ip = (u16_at(frame, at)? == ETHERTYPE_IPV4).then(|| frame.get(at + 2..))??;
    (ip.first()? >> 4 == 4).then_some(ip)
}

fn tcp(segment: &[u8]) -> Option<TcpPart> {
    let sequence = u32::from_be_bytes(segment.get(4..8)?.try_into().ok()?);
    Some(TcpPart { sequence, syn: segment.get(13)? & TCP_SYN != 0 })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().map(u16::from_be_bytes).ok()
}

fn address_at(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An Ethernet frame with an IPv4 segment, padded to 60 bytes as on a wire.
    pub(crate) fn frame(segment: &Segment) -> Vec<u8> {
        let payload = vec![0x55; segment.payload as usize];
        let (protocol, transport) = match segment.tcp {
            Some(tcp) => (PROTOCOL_TCP, tcp_header(segment, tcp)),
            None => (PROTOCOL_UDP, ports(segment, &[0, 0, 0, 0])),
        };
        let total = u16::try_from(20 + transport.len() + payload.len()).unwrap().to_be_bytes();
        let head = [0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
        let addresses = [segment.source.ip().octets(), segment.destination.ip().octets()].concat();
        let mut frame =
            [&[2; 12][..], &[0x08, 0], &head, &addresses, &transport, &payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }

    fn ports(segment: &Segment, rest: &[u8]) -> Vec<u8> {
        let ports = [segment.source.port().to_be_bytes(), segment.destination.port().to_be_bytes()];
        [ports.concat().as_slice(), rest].concat()
    }

    fn tcp_header(segment: &Segment, tcp: TcpPart) -> Vec<u8> {
        let flags = if tcp.syn { TCP_SYN } else { 0x10 };
        let rest = [0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0];
        ports(segment, &[tcp.sequence.to_be_bytes().as_slice(), &rest].concat())
    }

    pub(crate) fn segment(payload: u32, tcp: Option<TcpPart>) -> Segment {
        let source = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 40_000);
        let destination = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 502);
        Segment { source, destination, payload, tcp }
    }

    #[test]
    fn padding_of_a_short_frame_is_no_payload() {
        let ack = segment(0, Some(TcpPart { sequence: 7, syn: false }));
        assert_eq!(frame(&ack).len(), 60);
        assert_eq!(Segment::parse(&frame(&ack)), Some(ack));
    }

    #[test]
    fn tcp_and_udp_are_read_with_and_without_tags() {
        for segment in [
            segment(12, Some(TcpPart { sequence: u32::MAX, syn: true })),
            segment(1, None),
            segment(1400, None),
        ] {
            let plain = frame(&segment);
            let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
            assert_eq!(Segment::parse(&plain), Some(segment));
            assert_eq!(Segment::parse(&tagged), Some(segment));
        }
    }

    #[test]
    fn arp_and_later_fragments_are_nothing() {
        let mut arp = frame(&segment(4, None));
        arp[13] = 0x06;
        assert_eq!(Segment::parse(&arp), None);
        let mut fragment = frame(&segment(4, None));
        fragment[14 + 7] = 1;
        assert_eq!(Segment::parse(&fragment), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Segment::parse(&bytes);
        }

        #[test]
        fn no_end_of_a_frame_makes_it_panic(cut in 0usize..74) {
            let whole = frame(&segment(20, Some(TcpPart { sequence: 1, syn: false })));
            let _ = Segment::parse(&whole[..cut.min(whole.len())]);
        }
    }
}
