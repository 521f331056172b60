//! What a captured Ethernet frame carries, as far as verdicts ask: the addresses, the ports and
//! how much payload. Later fragments of a datagram carry no ports and are left out.

use std::net::SocketAddrV4;

use network::wire::{ETHERTYPE_IPV4, Ethernet, Ipv4};

pub use network::wire::TcpPart;

/// A TCP segment or UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it came from, by its own word.
    pub source: SocketAddrV4,
    pub destination: SocketAddrV4,
    pub payload: u32,
    /// What TCP adds; `None` for UDP.
    pub tcp: Option<TcpPart>,
}

impl Segment {
    /// Reads a frame; `None` if it carries neither TCP nor UDP over IPv4.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let frame = Ethernet::parse(frame)?;
        let packet = (frame.ethertype == ETHERTYPE_IPV4).then(|| Ipv4::parse(frame.payload))??;
        let transport = packet.transport()?;
        Some(Self {
            source: SocketAddrV4::new(packet.source, transport.source_port),
            destination: SocketAddrV4::new(packet.destination, transport.destination_port),
            payload: u32::try_from(transport.payload.len()).ok()?,
            tcp: transport.tcp,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    /// An Ethernet frame with an IPv4 segment, padded to 60 bytes as on a wire.
    pub(crate) fn frame(segment: &Segment) -> Vec<u8> {
        let payload = vec![0x55; segment.payload as usize];
        let (protocol, transport) = match segment.tcp {
            Some(tcp) => (Ipv4::TCP, tcp_header(segment, tcp)),
            None => (Ipv4::UDP, udp_header(segment)),
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

    fn udp_header(segment: &Segment) -> Vec<u8> {
        let length = u16::try_from(8 + segment.payload).unwrap().to_be_bytes();
        ports(segment, &[length[0], length[1], 0, 0])
    }

    fn tcp_header(segment: &Segment, tcp: TcpPart) -> Vec<u8> {
        let flags = if tcp.syn { 0x02 } else { 0x10 };
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
