//! Ethernet II frames (IEEE 802.3, clause 3) with at most one VLAN or priority tag (802.1Q).
//!
//! A tag is stepped over, because substation traffic is tagged for its priority and everybody
//! here asks what is inside. Preamble and check sequence do not exist on a TAP device.

use iec61850::wire::MacAddress;

use super::{array, u16_at};

/// `EtherType` of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// `EtherType` of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// `EtherType` of a VLAN or priority tag.
pub const ETHERTYPE_TAG: u16 = 0x8100;
/// Octets of both addresses and the `EtherType`.
pub const HEADER_OCTETS: usize = 14;
/// Shortest frame on a wire, without check sequence; shorter ones are padded by the sender.
pub const FRAME_OCTETS_MIN: usize = 60;

/// A view of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet<'a> {
    /// Who shall get it.
    pub destination: MacAddress,
    /// Who sent it, or says so.
    pub source: MacAddress,
    /// What the payload is, behind a tag if there is one.
    pub ethertype: u16,
    /// The tag control information: priority and VLAN.
    pub tag: Option<u16>,
    /// The payload, padding included.
    pub payload: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Views `octets` as a frame.
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let outer = u16_at(octets, 12)?;
        let (tag, ethertype, header) = if outer == ETHERTYPE_TAG {
            (Some(u16_at(octets, 14)?), u16_at(octets, 16)?, HEADER_OCTETS + 4)
        } else {
            (None, outer, HEADER_OCTETS)
        };
        Some(Self {
            destination: MacAddress(array(octets, 0)?),
            source: MacAddress(array(octets, 6)?),
            ethertype,
            tag,
            payload: octets.get(header..)?,
        })
    }

    /// The frame, untagged or tagged, without padding.
    pub fn encode(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(HEADER_OCTETS + 4 + self.payload.len());
        octets.extend_from_slice(&self.destination.0);
        octets.extend_from_slice(&self.source.0);
        if let Some(tag) = self.tag {
            octets.extend_from_slice(&ETHERTYPE_TAG.to_be_bytes());
            octets.extend_from_slice(&tag.to_be_bytes());
        }
        octets.extend_from_slice(&self.ethertype.to_be_bytes());
        octets.extend_from_slice(self.payload);
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_goose_frame_shows_its_type_behind_the_priority_tag() {
        let octets = [
            0x01, 0x0c, 0xcd, 0x01, 0x00, 0x01, 0x02, 0x51, 0x43, 0x00, 0x00, 0x01, 0x81, 0x00,
            0x80, 0x00, 0x88, 0xb8, 0x00, 0x01,
        ];
        let frame = Ethernet::parse(&octets).unwrap();
        assert!(frame.destination.is_group());
        assert_eq!(frame.source.to_string(), "02:51:43:00:00:01");
        assert_eq!((frame.ethertype, frame.tag), (0x88b8, Some(0x8000)));
        assert_eq!(frame.payload, [0x00, 0x01]);
        assert_eq!(Ethernet::parse(&octets[..17]), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_seen_again(
            destination: [u8; 6], source: [u8; 6], ethertype: u16, tag: Option<u16>,
            payload: Vec<u8>,
        ) {
            prop_assume!(ethertype != ETHERTYPE_TAG);
            let frame = Ethernet {
                destination: MacAddress(destination),
                source: MacAddress(source),
                ethertype,
                tag,
                payload: &payload,
            };
            let octets = frame.encode();
            prop_assert_eq!(Ethernet::parse(&octets), Some(frame));
        }
    }
}
