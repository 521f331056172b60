//! IPv4 (RFC 791) with the ports and payload of TCP (RFC 9293) and UDP (RFC 768).
//!
//! Lengths come from the headers, not from the frame: short frames are padded on the wire.

use std::net::Ipv4Addr;

use super::tcp::Tcp;
use super::{array, u16_at};

/// A view of one IPv4 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4<'a> {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Whether this is a fragment other than the first: its payload has no header of its own.
    pub is_later_fragment: bool,
    /// The payload, without padding.
    pub payload: &'a [u8],
}

/// A view of one TCP segment or UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transport<'a> {
    /// What TCP adds; `None` for UDP.
    pub tcp: Option<TcpPart>,
    pub source_port: u16,
    pub destination_port: u16,
    /// What the programs exchange. Empty for a bare acknowledgement.
    pub payload: &'a [u8],
}

/// What TCP says of a segment, as far as streams go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpPart {
    /// Sequence number of the first octet, or of the SYN.
    pub sequence: u32,
    /// Whether it opens a connection.
    pub syn: bool,
}

impl<'a> Ipv4<'a> {
    /// Protocol number of TCP.
    pub const TCP: u8 = 6;
    /// Protocol number of UDP.
    pub const UDP: u8 = 17;

    /// Views the payload of a frame as an IPv4 packet.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let first = *payload.first()?;
        let header = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || header < 20 {
            return None;
        }
        let total = usize::from(u16_at(payload, 2)?);
        let fragment_offset = u16_at(payload, 6)? & 0x1fff;
        Some(Self {
            source: Ipv4Addr::from(array::<4>(payload, 12)?),
            destination: Ipv4Addr::from(array::<4>(payload, 16)?),
            protocol: *payload.get(9)?,
            is_later_fragment: fragment_offset != 0,
            payload: payload.get(header..total)?,
        })
    }

    /// The TCP segment inside; of one in fragments, what the first of them holds.
    pub fn tcp(&self) -> Option<Tcp<'a>> {
        let is_tcp = self.protocol == Self::TCP && !self.is_later_fragment;
        is_tcp.then(|| Tcp::parse(self.payload)).flatten()
    }

    /// The TCP segment or UDP datagram inside. What the payload of a first fragment holds is
    /// all that is shown of a fragmented datagram.
    pub fn transport(&self) -> Option<Transport<'a>> {
        if self.is_later_fragment {
            return None;
        }
        let (tcp, payload) = match self.protocol {
            Self::TCP => {
                let Tcp { sequence, syn, payload, .. } = self.tcp()?;
                (Some(TcpPart { sequence, syn }), payload)
            }
            Self::UDP => {
                let end = usize::from(u16_at(self.payload, 4)?).min(self.payload.len());
                (None, self.payload.get(8..end)?)
            }
            _ => return None,
        };
        Some(Transport {
            tcp,
            source_port: u16_at(self.payload, 0)?,
            destination_port: u16_at(self.payload, 2)?,
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram of 5 octets from 10.0.0.1:4000 to 10.0.0.2:502, padded to 46 octets.
    fn datagram() -> Vec<u8> {
        let mut packet = vec![
            0x45, 0x00, 0x00, 0x21, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 10, 0, 0, 1,
            10, 0, 0, 2, 0x0f, 0xa0, 0x01, 0xf6, 0x00, 0x0d, 0x00, 0x00,
        ];
        packet.extend_from_slice(b"hello");
        packet.resize(46, 0xa5);
        packet
    }

    #[test]
    fn padding_is_no_payload() {
        let octets = datagram();
        let packet = Ipv4::parse(&octets).unwrap();
        assert_eq!(packet.source, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(packet.destination, Ipv4Addr::new(10, 0, 0, 2));
        let datagram = packet.transport().unwrap();
        assert_eq!(datagram.tcp, None);
        assert_eq!((datagram.source_port, datagram.destination_port), (4000, 502));
        assert_eq!(datagram.payload, b"hello");
    }

    #[test]
    fn a_bare_acknowledgement_is_empty_behind_its_options() {
        let mut octets = datagram();
        octets[9] = Ipv4::TCP;
        octets[2..4].copy_from_slice(&44u16.to_be_bytes());
        octets[32] = 0x60;
        let segment = Ipv4::parse(&octets).unwrap().transport().unwrap();
        assert!(segment.tcp.is_some());
        assert_eq!(segment.payload, b"");
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let mut octets = datagram();
        octets[7] = 0x10;
        let packet = Ipv4::parse(&octets).unwrap();
        assert!(packet.is_later_fragment);
        assert_eq!(packet.transport(), None);
    }

    #[test]
    fn a_packet_longer_than_its_frame_is_refused() {
        let mut octets = datagram();
        octets[3] = 47;
        assert_eq!(Ipv4::parse(&octets), None);
    }
}
