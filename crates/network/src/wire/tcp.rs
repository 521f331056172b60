//! Segments of TCP (RFC 9293, 3.1) and the arithmetic of their sequence numbers.

use super::{array, u16_at};

// Flags of the header.
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Octets of a header without options.
const HEADER_OCTETS: usize = 20;

/// A view of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp<'a> {
    pub source_port: u16,
    pub destination_port: u16,
    /// Sequence number of the first octet, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that its sender expects, if it says so.
    pub acknowledgement: Option<u32>,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    /// Room for data at its sender, not scaled: 0 is none in any scale.
    pub window: u16,
    /// What the programs exchange. Empty for a bare acknowledgement.
    pub payload: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Views the payload of an IP packet as a segment.
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let header = usize::from(octets.get(12)? >> 4) * 4;
        let flags = *octets.get(13)?;
        let acknowledgement = u32::from_be_bytes(array(octets, 8)?);
        Some(Self {
            source_port: u16_at(octets, 0)?,
            destination_port: u16_at(octets, 2)?,
            sequence: u32::from_be_bytes(array(octets, 4)?),
            acknowledgement: (flags & ACK != 0).then_some(acknowledgement),
            syn: flags & SYN != 0,
            fin: flags & FIN != 0,
            rst: flags & RST != 0,
            window: u16_at(octets, 14)?,
            payload: octets.get(header.max(HEADER_OCTETS)..)?,
        })
    }

    /// Places that it takes in sequence space: SYN and FIN take one each.
    pub fn length(&self) -> usize {
        usize::from(self.syn) + self.payload.len() + usize::from(self.fin)
    }

    /// The first sequence number behind it.
    pub fn end(&self) -> u32 {
        // No packet is as long as 4 GiB.
        self.sequence.wrapping_add(self.length() as u32)
    }
}

/// From one sequence number forward to another; `None` if it lies behind (RFC 9293, 3.4).
pub fn distance(from: u32, to: u32) -> Option<u32> {
    let forward = to.wrapping_sub(from);
    (forward < 1 << 31).then_some(forward)
}

/// Whether a sequence number lies behind another one, towards larger numbers.
pub fn is_after(to: u32, from: u32) -> bool {
    distance(from, to).is_some_and(|forward| forward > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_synchronising_segment_as_linux_sends_it() {
        let octets = [
            0x9c, 0x40, 0x01, 0xf6, 0x1a, 0x2b, 0x3c, 0x4d, 0x00, 0x00, 0x00, 0x00, 0x60, 0x02,
            0xfa, 0xf0, 0x00, 0x00, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4,
        ];
        let segment = Tcp::parse(&octets).unwrap();
        assert_eq!((segment.source_port, segment.destination_port), (40_000, 502));
        assert_eq!((segment.sequence, segment.acknowledgement), (0x1a2b_3c4d, None));
        assert_eq!((segment.syn, segment.fin, segment.rst), (true, false, false));
        assert_eq!((segment.window, segment.payload), (64_240, &b""[..]));
        assert_eq!((segment.length(), segment.end()), (1, 0x1a2b_3c4e));
        assert_eq!(Tcp::parse(&octets[..23]), None);
    }

    proptest! {
        #[test]
        fn numbers_are_compared_across_the_wrap(from: u32, forward in 0u32..1 << 31) {
            let to = from.wrapping_add(forward);
            prop_assert_eq!(distance(from, to), Some(forward));
            prop_assert_eq!(is_after(to, from), forward > 0);
            prop_assert!(!is_after(from, to));
        }
    }
}
