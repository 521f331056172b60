//! What stands in front of both PDUs: Ethernet II with at most one VLAN or priority tag (802.1Q),
//! then APPID, length and two reserved words (IEC 61850-8-1 annex C, 61850-9-2 annex C).
//!
//! Octets behind the stated length are padding or the trailer of a redundancy protocol (PRP) and
//! are left alone. The stated length decides where the PDU ends.

use std::fmt;
use std::str::FromStr;

use super::ber::{Reader, Writer};
use super::error::{Fault, WireError};

/// `EtherType` of GOOSE.
pub const ETHERTYPE_GOOSE: u16 = 0x88b8;
/// `EtherType` of sampled values.
pub const ETHERTYPE_SAMPLED_VALUES: u16 = 0x88ba;
/// `EtherType` of a VLAN or priority tag.
const ETHERTYPE_TAG: u16 = 0x8100;
/// Octets of addresses and `EtherType`.
const ETHERNET_OCTETS: usize = 14;
/// Octets of APPID, length and reserved words, which the length counts.
const APPLICATION_OCTETS: usize = 8;
/// The bit of the first reserved word that says that a test set made the frame.
const SIMULATED: u16 = 0x8000;

/// A MAC address, in the order of transmission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The address of all stations at once.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this is a group address (multicast or broadcast): the first bit on the wire.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether bridges keep frames to this address on their link: `01-80-C2-00-00-00` to `0F`
    /// (802.1Q, table 8-1: spanning tree, pause, LLDP, peer delay).
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        matches!(self.0, [0x01, 0x80, 0xc2, 0x00, 0x00, 0x00..=0x0f])
    }
}

/// A text is no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoAddress;

impl FromStr for MacAddress {
    type Err = NoAddress;

    /// Six octets of two hexadecimal digits, with `:` or `-` between them.
    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let octet = |part: &str| match part.as_bytes() {
            [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                u8::from_str_radix(part, 16).ok()
            }
            _ => None,
        };
        let octets: Option<Vec<u8>> = text.split([':', '-']).map(octet).collect();
        octets.and_then(|octets| octets.try_into().ok()).map(Self).ok_or(NoAddress)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// The control information of a VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Tag(pub u16);

impl Tag {
    /// A tag with a priority of 0 to 7 and a VLAN of 0 to 4095; further bits are cut off.
    #[must_use]
    pub const fn new(priority: u8, vlan: u16) -> Self {
        Self((priority as u16 & 7) << 13 | vlan & 0xfff)
    }

    /// The priority, 4 for protection traffic unless somebody decided otherwise.
    #[must_use]
    pub const fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// The VLAN; 0 means priority only.
    #[must_use]
    pub const fn vlan(self) -> u16 {
        self.0 & 0xfff
    }
}

/// Everything in front of the PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    pub destination: MacAddress,
    /// Who sent it, or says so.
    pub source: MacAddress,
    /// Priority and VLAN; the last hop often takes the tag away.
    pub tag: Option<Tag>,
    pub app_id: u16,
    pub reserved: [u16; 2],
}

impl Header {
    /// Whether a test set made the frame (the simulation bit).
    #[must_use]
    pub const fn is_simulated(&self) -> bool {
        self.reserved[0] & SIMULATED != 0
    }

    /// The header of a frame of this `EtherType`, and its PDU, which has this tag and name.
    #[inline]
    pub(super) fn decode<'a>(
        frame: &'a [u8],
        ethertype: u16,
        (pdu_tag, pdu_name): (u8, &'static str),
    ) -> Result<(Self, Reader<'a>), WireError> {
        let (tag, at) = match ethertype_at(frame, 12)? {
            ETHERTYPE_TAG => (Some(Tag(ethertype_at(frame, 14)?)), 16),
            _ => (None, 12),
        };
        if ethertype_at(frame, at)? != ethertype {
            return Err(WireError { field: "EtherType", octet: at, fault: Fault::Range });
        }
        let begin = at + 2;
        let body = &frame[begin..];
        let Some((&[id, app, l, length, r0, r1, r2, r3], rest)) = body.split_first_chunk() else {
            let fault = Fault::Cut { has: body.len(), needs: APPLICATION_OCTETS };
            return Err(WireError { field: "APPID", octet: begin, fault });
        };
        let wrong = |fault| WireError { field: "Length", octet: begin + 2, fault };
        let stated = usize::from(u16::from_be_bytes([l, length]));
        let Some(octets) = stated.checked_sub(APPLICATION_OCTETS) else {
            return Err(wrong(Fault::Range));
        };
        let Some(pdu) = rest.get(..octets) else {
            return Err(wrong(Fault::Cut { has: body.len(), needs: stated }));
        };
        let addresses: &[u8; 12] = frame.first_chunk().expect("the type stands behind them");
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = *addresses;
        let header = Self {
            destination: MacAddress([d0, d1, d2, d3, d4, d5]),
            source: MacAddress([s0, s1, s2, s3, s4, s5]),
            tag,
            app_id: u16::from_be_bytes([id, app]),
            reserved: [u16::from_be_bytes([r0, r1]), u16::from_be_bytes([r2, r3])],
        };
        let mut reader = Reader::new(pdu_name, pdu, begin + APPLICATION_OCTETS);
        let pdu = reader.value(pdu_tag, pdu_name)?;
        reader.finish()?;
        Ok((header, pdu))
    }

    /// Writes the header in front of the PDU that was written since `mark`.
    ///
    /// # Panics
    /// When the PDU is longer than the length field can say: no such frame fits any wire.
    pub(super) fn write(&self, writer: &mut Writer<'_>, mark: usize, ethertype: u16) {
        let length = u16::try_from(writer.mark() - mark + APPLICATION_OCTETS)
            .expect("a PDU is at most as long as an Ethernet frame");
        writer.octets(&self.reserved[1].to_be_bytes());
        writer.octets(&self.reserved[0].to_be_bytes());
        writer.octets(&length.to_be_bytes());
        writer.octets(&self.app_id.to_be_bytes());
        writer.octets(&ethertype.to_be_bytes());
        if let Some(tag) = self.tag {
            writer.octets(&tag.0.to_be_bytes());
            writer.octets(&ETHERTYPE_TAG.to_be_bytes());
        }
        writer.octets(&self.source.0);
        writer.octets(&self.destination.0);
    }
}

impl fmt::Display for Header {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} > {}", self.source, self.destination)?;
        if let Some(tag) = self.tag {
            write!(out, ", vlan {} priority {}", tag.vlan(), tag.priority())?;
        }
        write!(out, ", APPID {:#06x}", self.app_id)?;
        if self.is_simulated() { write!(out, ", simulated") } else { Ok(()) }
    }
}

#[inline]
fn ethertype_at(frame: &[u8], at: usize) -> Result<u16, WireError> {
    match frame.get(at..at + 2) {
        Some(&[high, low]) => Ok(u16::from_be_bytes([high, low])),
        _ => {
            let needs = (at + 2).max(ETHERNET_OCTETS);
            let fault = Fault::Cut { has: frame.len(), needs };
            Err(WireError { field: "Ethernet header", octet: 0, fault })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_group_addresses_stay_on_their_link() {
        assert!(MacAddress([0x01, 0x80, 0xc2, 0, 0, 0x0e]).is_link_local());
        assert!(!MacAddress([0x01, 0x80, 0xc2, 0, 0, 0x10]).is_link_local());
        assert!(!MacAddress::BROADCAST.is_link_local());
    }
}
