//! Packets in a stream of TCP (RFC 1006, clause 6): four octets with a version and a length.

use iec61850::wire::{Fault, WireError};

const VERSION: u8 = 3;
/// Octets in front of what a packet carries.
const HEAD: usize = 4;
/// The shortest TPDU, a data TPDU without data, has three octets.
const PACKET_OCTETS_MIN: usize = HEAD + 3;

/// What the first packet of a stream carries, and the octets of the packet as a whole; nothing while
/// it is not there to its end.
pub(crate) fn first(stream: &[u8]) -> Result<Option<(&[u8], usize)>, WireError> {
    let wrong = |field, octet, fault| Err(WireError { field, octet, fault });
    match *stream {
        [found, ..] if found != VERSION => {
            wrong("TPKT version", 0, Fault::Tag { expected: VERSION, found })
        }
        [_, _, high, low, ..] => {
            let octets = usize::from(u16::from_be_bytes([high, low]));
            if octets < PACKET_OCTETS_MIN {
                return wrong("TPKT length", 2, Fault::Length { octets });
            }
            Ok(stream.get(HEAD..octets).map(|packet| (packet, octets)))
        }
        _ => Ok(None),
    }
}

/// Appends a packet that carries these octets, one part behind the other: 65,531 at most.
pub(crate) fn append(out: &mut Vec<u8>, parts: [&[u8]; 2]) {
    let octets = (HEAD + parts[0].len() + parts[1].len()) as u16;
    let [high, low] = octets.to_be_bytes();
    out.extend([VERSION, 0, high, low]);
    parts.into_iter().for_each(|part| out.extend(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_taken_when_its_last_octet_is_there() {
        let mut stream = Vec::new();
        append(&mut stream, [&[2, 0xf0], &[0x80, 9]]);
        append(&mut stream, [&[2, 0xf0], &[0x80]]);
        for octets in 0..8 {
            assert_eq!(first(&stream[..octets]), Ok(None), "{octets} octets");
        }
        assert_eq!(first(&stream), Ok(Some((&[2, 0xf0, 0x80, 9][..], 8))));
    }

    #[test]
    fn another_protocol_is_refused_at_its_first_octet() {
        assert!(first(b"G").is_err() && first(&[3, 0, 0, 6]).is_err());
    }
}
