//! Datagrams of the quorum protocols as octets (see `docs/reference/quorum-wire.md`).
//!
//! Each is a header, what its kind says, and a tag. What is numbers on the wire is checked when
//! it is decoded, so that nothing behind this border meets a node, an action or an order of ids
//! that does not exist; what is cryptography stays octets here and is checked where keys are.
//! There is one encoding of each datagram: whatever is accepted is encoded to the same octets.
//!
//! Station, breaker and protocol are in no datagram: they go into the keys of the channel and
//! into what is signed, and each receiver has its own.

mod acknowledgement;
mod attempt;
mod certificate;
mod commitments;
mod error;
mod header;
mod octets;
mod proof;
#[cfg(test)]
pub(crate) mod tests;
mod working_key;

pub use certificate::{Certificate, TwoSignatures};
pub use commitments::{Commitment, Commitments, SLOTS};
pub use error::DatagramError;
pub(crate) use header::PARTIES;
pub use header::{DATAGRAM_OCTETS_MAX, HEADER_OCTETS, Header, Kind, MAGIC, TAG_OCTETS};
pub use proof::{CertificateKind, PairShare, Proof, Signature};
pub use working_key::{WORKING_KEY_SIGNED_OCTETS, WorkingKey};

use iec61850::wire::Fault;
use octets::{Reader, Writer};

use super::statement::Tick;

/// A message whose proofs, certificates and keys are octets.
pub type Message = super::Message<Proof, Certificate, WorkingKey>;

/// What a datagram says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Something for the state machine.
    Message(Message),
    /// Commitments to nonces, for the certificates (FROST).
    Commitments(Commitments),
}

impl Payload {
    /// Its kind, which stands in the header.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Message(Message::Vote { .. }) => Kind::Vote,
            Self::Message(Message::Share { .. }) => Kind::Share,
            Self::Message(Message::Certificate { .. }) => Kind::Certificate,
            Self::Message(Message::Acknowledgement(_)) => Kind::Acknowledgement,
            Self::Message(Message::Query { .. }) => Kind::Query,
            Self::Message(Message::Announcement { .. }) => Kind::Announcement,
            Self::Message(Message::Noted { key: Some(_), .. }) => Kind::Introduction,
            Self::Message(Message::Noted { key: None, .. }) => Kind::Noted,
            Self::Commitments(_) => Kind::Commitments,
        }
    }

    /// Decodes what stands between header and tag.
    ///
    /// # Errors
    /// The first field that is not as it must be; its octet is counted from the begin of the
    /// datagram.
    pub fn decode(kind: Kind, octets: &[u8]) -> Result<Self, DatagramError> {
        let mut reader = Reader::new(octets, HEADER_OCTETS);
        let payload = match kind {
            Kind::Commitments => Self::Commitments(Commitments::read(&mut reader)?),
            kind => Self::Message(read(kind, &mut reader)?),
        };
        reader.finish()?;
        Ok(payload)
    }

    /// Appends what stands between header and tag.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match self {
            Self::Message(message) => write(message, &mut writer),
            Self::Commitments(commitments) => commitments.write(&mut writer),
        }
    }
}

fn read(kind: Kind, reader: &mut Reader<'_>) -> Result<Message, DatagramError> {
    Ok(match kind {
        Kind::Vote => {
            let (attempt, tick) = attempt::read(reader)?;
            let kind = CertificateKind::read(reader)?;
            Message::Vote { attempt, tick, proof: Proof::read(reader, kind)? }
        }
        Kind::Share => {
            let (attempt, tick) = attempt::read(reader)?;
            if tick == Tick(u64::MAX) {
                // There is no tick after it, for which the second proof would be.
                return Err(reader.error("tick", 8, Fault::Range));
            }
            let kind = CertificateKind::read(reader)?;
            let proof = Proof::read(reader, kind)?;
            Message::Share { attempt, tick, proof, proof_next: Proof::read(reader, kind)? }
        }
        Kind::Certificate => {
            let (attempt, tick) = attempt::read(reader)?;
            Message::Certificate { attempt, tick, certificate: Certificate::read(reader)? }
        }
        Kind::Acknowledgement => Message::Acknowledgement(acknowledgement::read(reader)?),
        Kind::Query => Message::Query { tick: Tick(reader.u64("tick")?) },
        Kind::Announcement => Message::Announcement { key: WorkingKey::read(reader)? },
        // Nobody's counter is 0: an introduction says that no key was noted.
        Kind::Introduction => Message::Noted { counter: 0, key: Some(WorkingKey::read(reader)?) },
        Kind::Noted => Message::Noted { counter: reader.u64("counter")?, key: None },
        Kind::Commitments => unreachable!("these are no message"),
    })
}

fn write(message: &Message, writer: &mut Writer<'_>) {
    match message {
        Message::Vote { attempt, tick, proof } => {
            attempt::write(attempt, *tick, writer);
            writer.u8(proof.kind().octet());
            proof.write(writer);
        }
        Message::Share { attempt, tick, proof, proof_next } => {
            attempt::write(attempt, *tick, writer);
            writer.u8(proof.kind().octet());
            proof.write(writer);
            proof_next.write(writer);
        }
        Message::Certificate { attempt, tick, certificate } => {
            attempt::write(attempt, *tick, writer);
            certificate.write(writer);
        }
        Message::Acknowledgement(message) => acknowledgement::write(message, writer),
        Message::Query { tick } => writer.u64(tick.0),
        Message::Announcement { key } | Message::Noted { key: Some(key), .. } => key.write(writer),
        Message::Noted { counter, key: None } => writer.u64(*counter),
    }
}
