//! IPv6 (RFC 8200) with its extension headers, and what neighbour discovery asks (RFC 4861).

use std::net::Ipv6Addr;

use super::{array, u16_at};

/// `EtherType` of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

const HEADER_OCTETS: usize = 40;

/// Extension headers that are stepped over: real packets have one or two, and nobody shall keep
/// this network busy with more.
const EXTENSIONS_MAX: usize = 8;

// Numbers of extension headers (RFC 8200, 4 and RFC 4302).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// A view of one IPv6 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6<'a> {
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
    /// Protocol number of what lies behind the extension headers.
    pub protocol: u8,
    /// Whether this is a fragment other than the first: its payload has no header of its own.
    pub is_later_fragment: bool,
    /// What lies behind the extension headers, without padding.
    pub payload: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Protocol number of ICMP for IPv6.
    pub const ICMP: u8 = 58;

    /// Views the payload of a frame as an IPv6 packet. Jumbograms (RFC 2675) are none.
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        if octets.first()? >> 4 != 6 {
            return None;
        }
        let end = HEADER_OCTETS + usize::from(u16_at(octets, 4)?);
        let mut packet = Self {
            source: Ipv6Addr::from(array::<16>(octets, 8)?),
            destination: Ipv6Addr::from(array::<16>(octets, 24)?),
            protocol: octets[6],
            is_later_fragment: false,
            payload: octets.get(HEADER_OCTETS..end)?,
        };
        for _ in 0..EXTENSIONS_MAX {
            if packet.is_later_fragment || !packet.step_over()? {
                return Some(packet);
            }
        }
        None
    }

    /// Steps over an extension header, if one is next.
    fn step_over(&mut self) -> Option<bool> {
        let length = match self.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                8 + usize::from(*self.payload.get(1)?) * 8
            }
            AUTHENTICATION => 8 + usize::from(*self.payload.get(1)?) * 4,
            FRAGMENT => {
                self.is_later_fragment = u16_at(self.payload, 2)? >> 3 != 0;
                8
            }
            _ => return Some(false),
        };
        self.protocol = *self.payload.first()?;
        self.payload = self.payload.get(length..)?;
        Some(true)
    }
}

/// What a message of neighbour discovery says, as far as addresses on the link go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discovery {
    /// Asks who has an address, or whether anybody has.
    Solicitation(Ipv6Addr),
    /// Says who has it.
    Advertisement(Ipv6Addr),
}

impl Discovery {
    /// Views a packet as neighbour discovery.
    pub fn parse(packet: &Ipv6<'_>) -> Option<Self> {
        const SOLICITATION: u8 = 135;
        const ADVERTISEMENT: u8 = 136;
        if packet.protocol != Ipv6::ICMP || packet.is_later_fragment {
            return None;
        }
        let target = || array::<16>(packet.payload, 8).map(Ipv6Addr::from);
        match *packet.payload.first()? {
            SOLICITATION => target().map(Self::Solicitation),
            ADVERTISEMENT => target().map(Self::Advertisement),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of this protocol from fe80::1 to fe80::2, padded.
    fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x60, 0, 0, 0];
        octets.extend_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        octets.extend_from_slice(&[protocol, 64]);
        for last in [1, 2] {
            octets.extend_from_slice(&Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last).octets());
        }
        octets.extend_from_slice(payload);
        octets.extend_from_slice(&[0xa5; 6]);
        octets
    }

    #[test]
    fn what_lies_behind_extension_headers_is_seen_without_padding() {
        let options = [ROUTING, 0, 1, 4, 0, 0, 0, 0];
        let routing = [6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let payload = [&options[..], &routing, b"inside"].concat();
        let octets = packet(HOP_BY_HOP, &payload);
        let seen = Ipv6::parse(&octets).unwrap();
        assert_eq!((seen.protocol, seen.payload), (6, &b"inside"[..]));
        assert_eq!(seen.destination.to_string(), "fe80::2");
    }

    #[test]
    fn later_fragments_are_told_from_first_ones() {
        for (offset, is_later) in [(0u16, false), (8, true)] {
            let [high, low] = (offset | 1).to_be_bytes();
            let payload = [6, 0, high, low, 0, 0, 0, 7, 1, 2];
            let octets = packet(FRAGMENT, &payload);
            let seen = Ipv6::parse(&octets).unwrap();
            assert_eq!((seen.is_later_fragment, seen.payload), (is_later, &payload[8..]));
        }
    }

    #[test]
    fn endless_headers_and_cut_packets_are_refused() {
        let step = [HOP_BY_HOP, 0, 1, 4, 0, 0, 0, 0];
        assert_eq!(Ipv6::parse(&packet(HOP_BY_HOP, &step.repeat(9))), None);
        let octets = packet(17, b"whole");
        for length in 0..octets.len() - 6 {
            assert_eq!(Ipv6::parse(&octets[..length]), None);
        }
    }

    #[test]
    fn a_solicitation_names_its_target() {
        let target = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
        let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(&target.octets());
        let octets = packet(Ipv6::ICMP, &message);
        let seen = Ipv6::parse(&octets).unwrap();
        assert_eq!(Discovery::parse(&seen), Some(Discovery::Solicitation(target)));
        message[0] = 136;
        let octets = packet(Ipv6::ICMP, &message);
        let seen = Ipv6::parse(&octets).unwrap();
        assert_eq!(Discovery::parse(&seen), Some(Discovery::Advertisement(target)));
        let octets = packet(Ipv6::ICMP, &message[..20]);
        assert_eq!(Discovery::parse(&Ipv6::parse(&octets).unwrap()), None);
    }
}
