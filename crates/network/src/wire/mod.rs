//! Views of the few protocols that the network and the verdicts must understand, over octets that
//! anybody may have sent: every view is `None` when the octets are cut short or say something else, and
//! none of them can panic.
//!
//! Views borrow; nothing is copied but addresses and numbers. Checksums are not verified: the
//! emulated network carries what it was given, and the receiving kernel checks.

pub mod arp;
pub mod ethernet;
pub mod ipv4;
pub mod ipv6;
pub mod tcp;

pub use arp::{Arp, Operation};
pub use ethernet::{ETHERTYPE_IPV4, Ethernet};
pub use iec61850::wire::MacAddress;
pub use ipv4::{Ipv4, TcpPart, Transport};
pub use ipv6::{Discovery, ETHERTYPE_IPV6, Ipv6};
pub use tcp::Tcp;

/// The `N` octets of `octets` from `at` on.
fn array<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at..)?.first_chunk().copied()
}

/// The big-endian 16-bit number at `at`.
fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    array(octets, at).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_octets_make_a_view_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            look(&octets);
        }

        /// Random octets hardly ever get past the first field; frames that begin well and are
        /// then damaged do.
        #[test]
        fn no_damage_makes_a_view_panic(
            at in 0usize..80,
            value: u8,
            length in 0usize..80,
            tcp: bool,
            of_ipv6: bool,
        ) {
            let mut frame = vec![0u8; 80];
            if of_ipv6 {
                frame[12..14].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
                frame[14] = 0x60;
                frame[19] = 26;
                frame[20] = if tcp { 6 } else { Ipv6::ICMP };
                frame[54] = 135;
                frame[66] = 0x50;
            } else {
                frame[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
                frame[14] = 0x45;
                frame[16..18].copy_from_slice(&66u16.to_be_bytes());
                frame[23] = if tcp { 6 } else { 17 };
                frame[46] = 0x50;
            }
            frame[at] = value;
            frame.truncate(length);
            look(&frame);
        }
    }

    fn look(octets: &[u8]) {
        let _ = (Arp::parse(octets), Ipv4::parse(octets).map(|packet| packet.transport()));
        if let Some(frame) = Ethernet::parse(octets) {
            let _ = Arp::parse(frame.payload);
            let _ = Ipv4::parse(frame.payload).and_then(|packet| packet.transport());
            let _ = Ipv6::parse(frame.payload).map(|packet| {
                (Discovery::parse(&packet), Tcp::parse(packet.payload).map(|tcp| tcp.end()))
            });
        }
    }
}
