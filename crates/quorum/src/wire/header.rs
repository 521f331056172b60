//! What every datagram begins with: who says what kind of thing to whom, under which keys, and
//! its number.
//!
//! The header is what a receiver looks at before it knows whether the sender is who it says, so
//! it is small, of fixed size, and holds only what finds the key of the tag.

use std::fmt;

use iec61850::wire::{Fault, WireError};

use super::octets::Reader;
use crate::Party;
use crate::statement::{Epoch, NODES, NodeId};

/// First octets of a datagram: the protocol and its version.
pub const MAGIC: [u8; 4] = *b"QCQ1";

/// Octets of a header.
pub const HEADER_OCTETS: usize = 20;

/// Octets of a tag, behind everything else.
pub const TAG_OCTETS: usize = 16;

/// Longest datagram: below what an Ethernet frame carries with IPv6 and UDP.
pub const DATAGRAM_OCTETS_MAX: usize = 1400;

/// How many parties there are: the relay nodes and the breaker node.
pub(crate) const PARTIES: usize = NODES + 1;

impl Party {
    /// All of them: the relay nodes in order, then the breaker node.
    pub const ALL: [Self; PARTIES] = [
        Self::Relay(NodeId::ALL[0]),
        Self::Relay(NodeId::ALL[1]),
        Self::Relay(NodeId::ALL[2]),
        Self::Relay(NodeId::ALL[3]),
        Self::Breaker,
    ];

    /// Its octet: the number of the node, or 4.
    pub const fn octet(self) -> u8 {
        match self {
            Self::Relay(node) => node.number(),
            Self::Breaker => NODES as u8,
        }
    }

    /// The party of an octet, if there is one.
    pub const fn from_octet(octet: u8) -> Option<Self> {
        match NodeId::new(octet) {
            Some(node) => Some(Self::Relay(node)),
            None if octet == NODES as u8 => Some(Self::Breaker),
            None => None,
        }
    }

    /// Its place in a table of parties.
    pub(crate) const fn index(self) -> usize {
        self.octet() as usize
    }
}

impl fmt::Display for Party {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay(node) => node.fmt(out),
            Self::Breaker => out.write_str("breaker node"),
        }
    }
}

/// What a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Vote,
    Share,
    Certificate,
    Acknowledgement,
    Query,
    Announcement,
    Introduction,
    Noted,
    Commitments,
}

impl Kind {
    /// All of them, in the order of their octets, which begin with 1.
    pub const ALL: [Self; 9] = [
        Self::Vote,
        Self::Share,
        Self::Certificate,
        Self::Acknowledgement,
        Self::Query,
        Self::Announcement,
        Self::Introduction,
        Self::Noted,
        Self::Commitments,
    ];

    /// Whether it comes over the boot channel.
    pub const fn is_boot(self) -> bool {
        matches!(self, Self::Announcement | Self::Introduction)
    }

    /// Its octet in the header.
    pub const fn octet(self) -> u8 {
        self as u8 + 1
    }

    /// The kind of an octet, if there is one.
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.get(usize::from(octet.checked_sub(1)?)).copied()
    }
}

/// What a datagram begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: Kind,
    /// Who says that it sends it.
    pub sender: Party,
    pub recipient: Party,
    pub epoch: Epoch,
    /// Counts the datagrams of this sender to this recipient under one key, from 1; over the boot
    /// channel the counter of the working keys.
    pub sequence: u64,
}

impl Header {
    /// Splits a datagram into header, payload and tag.
    ///
    /// # Errors
    /// The first field that is not as it must be.
    pub fn decode(datagram: &[u8]) -> Result<(Self, &[u8], &[u8; TAG_OCTETS]), WireError> {
        let octets = datagram.len();
        let wrong = |fault| WireError { field: "datagram", octet: 0, fault };
        if octets > DATAGRAM_OCTETS_MAX {
            return Err(wrong(Fault::Length { octets }));
        }
        let needs = HEADER_OCTETS + TAG_OCTETS;
        let cut = wrong(Fault::Cut { has: octets, needs });
        let (header, rest) = datagram.split_at_checked(HEADER_OCTETS).ok_or(cut)?;
        let (payload, tag) = rest.split_last_chunk().ok_or(cut)?;
        let mut reader = Reader::new(header, 0);
        reader.expect("magic", MAGIC)?;
        let kind = reader.code("kind", Kind::from_octet)?;
        let sender = reader.code("sender", Party::from_octet)?;
        let recipient = reader.code("recipient", Party::from_octet)?;
        reader.expect("reserved", [0])?;
        let epoch = Epoch(reader.u32("key epoch")?);
        let sequence = reader.u64("sequence")?;
        reader.finish()?;
        Ok((Self { kind, sender, recipient, epoch, sequence }, payload, tag))
    }

    /// Appends it to a datagram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(&MAGIC);
        let Self { kind, sender, recipient, epoch, sequence } = self;
        out.extend(&[kind.octet(), sender.octet(), recipient.octet(), 0]);
        out.extend(&epoch.0.to_be_bytes());
        out.extend(sequence.to_be_bytes());
    }
}

impl fmt::Display for Header {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, sender, recipient, epoch, sequence } = self;
        write!(out, "{kind:?} {sequence} of {sender} for {recipient}, epoch {}", epoch.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        kind: Kind::Commitments,
        sender: Party::Relay(NodeId::ALL[3]),
        recipient: Party::Breaker,
        epoch: Epoch(0x0102_0304),
        sequence: 0x0506_0708_090a_0b0c,
    };

    #[test]
    fn a_header_is_these_octets() {
        let mut datagram = vec![0xa5];
        HEADER.encode(&mut datagram);
        datagram.extend_from_slice(b"payload");
        datagram.extend_from_slice(&[7; TAG_OCTETS]);
        let octets = b"QCQ1\x09\x03\x04\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c";
        assert_eq!(&datagram[1..=HEADER_OCTETS], octets);
        assert_eq!(Header::decode(&datagram[1..]), Ok((HEADER, &b"payload"[..], &[7; 16])));
        assert_eq!(
            HEADER.to_string(),
            "Commitments 361984551142689548 of node 3 for breaker node, epoch 16909060"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_field_and_octet() {
        let said = |octet: usize, value: u8| {
            let mut datagram = Vec::new();
            HEADER.encode(&mut datagram);
            datagram.extend_from_slice(&[0; TAG_OCTETS]);
            datagram[octet] = value;
            Header::decode(&datagram).map(|_| ()).map_err(|error| error.to_string())
        };
        let range = "the field cannot have this value";
        assert_eq!(said(3, b'2'), Err(format!("magic at octet 0: {range}")));
        assert_eq!(said(4, 0), Err(format!("kind at octet 4: {range}")));
        assert_eq!(said(4, 10), Err(format!("kind at octet 4: {range}")));
        assert_eq!(said(5, 5), Err(format!("sender at octet 5: {range}")));
        assert_eq!(said(6, 255), Err(format!("recipient at octet 6: {range}")));
        assert_eq!(said(7, 1), Err(format!("reserved at octet 7: {range}")));
        assert_eq!(said(19, 1), Ok(()));
        let long = Header::decode(&[0; DATAGRAM_OCTETS_MAX + 1]).unwrap_err();
        assert_eq!(long.to_string(), "datagram at octet 0: the field cannot have 1401 octets");
        let short = Header::decode(&[0; 35]).unwrap_err();
        assert_eq!(short.to_string(), "datagram at octet 0: 36 octets are needed, 35 are there");
    }

    #[test]
    fn octets_of_parties_and_kinds_are_their_own() {
        for octet in 0..=u8::MAX {
            assert!(Party::from_octet(octet).is_none_or(|party| party.octet() == octet));
            assert!(Kind::from_octet(octet).is_none_or(|kind| kind.octet() == octet));
        }
        assert!(Party::ALL.iter().enumerate().all(|(i, party)| party.index() == i));
    }
}
