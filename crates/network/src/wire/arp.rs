//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use iec61850::wire::MacAddress;

use super::{array, u16_at};

/// Octets of an ARP packet for IPv4 over Ethernet.
pub const OCTETS: usize = 28;

/// Hardware type 1 (Ethernet), protocol type IPv4, address lengths 6 and 4.
const FIXED: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// What a packet does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Asks who has the target protocol address.
    Request = 1,
    /// Says that the sender protocol address is at the sender hardware address.
    Reply = 2,
}

/// One packet of ARP for IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arp {
    pub operation: Operation,
    pub sender_mac: MacAddress,
    pub sender_ip: Ipv4Addr,
    /// Target hardware address; of no meaning in requests.
    pub target_mac: MacAddress,
    /// Protocol address that is asked for.
    pub target_ip: Ipv4Addr,
}

impl Arp {
    /// Views the payload of a frame as an ARP packet.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if !payload.starts_with(&FIXED) {
            return None;
        }
        let operation = match u16_at(payload, 6)? {
            1 => Operation::Request,
            2 => Operation::Reply,
            _ => return None,
        };
        Some(Self {
            operation,
            sender_mac: MacAddress(array(payload, 8)?),
            sender_ip: Ipv4Addr::from(array::<4>(payload, 14)?),
            target_mac: MacAddress(array(payload, 18)?),
            target_ip: Ipv4Addr::from(array::<4>(payload, 24)?),
        })
    }

    /// The octets of the packet.
    pub fn encode(&self) -> [u8; OCTETS] {
        let mut octets = [0; OCTETS];
        octets[..6].copy_from_slice(&FIXED);
        octets[7] = self.operation as u8;
        octets[8..14].copy_from_slice(&self.sender_mac.0);
        octets[14..18].copy_from_slice(&self.sender_ip.octets());
        octets[18..24].copy_from_slice(&self.target_mac.0);
        octets[24..28].copy_from_slice(&self.target_ip.octets());
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_as_linux_sends_it() {
        let octets = [
            0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x51, 0x43, 0x00, 0x00, 0x01,
            0x0a, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02,
        ];
        let arp = Arp::parse(&octets).unwrap();
        assert_eq!(arp.operation, Operation::Request);
        assert_eq!(arp.sender_mac, MacAddress([0x02, 0x51, 0x43, 0, 0, 1]));
        assert_eq!(arp.sender_ip, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(arp.target_ip, Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(Arp::parse(&octets[..27]), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_seen_again(
            reply: bool, sender_mac: [u8; 6], sender_ip: [u8; 4],
            target_mac: [u8; 6], target_ip: [u8; 4], padding in 0usize..20,
        ) {
            let arp = Arp {
                operation: if reply { Operation::Reply } else { Operation::Request },
                sender_mac: MacAddress(sender_mac),
                sender_ip: sender_ip.into(),
                target_mac: MacAddress(target_mac),
                target_ip: target_ip.into(),
            };
            let mut octets = arp.encode().to_vec();
            octets.resize(OCTETS + padding, 0xa5);
            prop_assert_eq!(Arp::parse(&octets), Some(arp));
        }
    }
}
