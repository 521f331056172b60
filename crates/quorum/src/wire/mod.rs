//! Datagrams of the quorum protocols as octets (see `docs/reference/quorum-wire.md`).
//!
//! Each is a header, what its kind says, and a tag. What is numbers on the wire is checked when
//! it is decoded, so that nothing behind this border meets a node, an action or an order of ids
//! that does not exist; what is cryptography stays octets here and is checked where keys are.
//! There is one encoding of each datagram: whatever is accepted is encoded to the same octets.
//!
//! Station, breaker and protocol are in no datagram: they go into the keys of the channel and
//! into what is signed, and each receiver has its own.

mod certificate;
mod commitments;
mod header;
mod octets;
mod proof;
#[cfg(test)]
pub(crate) mod tests;
mod working_key;

pub use certificate::{Certificate, TwoSignatures};
pub use commitments::{Commitment, Commitments, SLOTS};
pub(crate) use header::PARTIES;
pub use header::{DATAGRAM_OCTETS_MAX, HEADER_OCTETS, Header, Kind, MAGIC, TAG_OCTETS};
pub use proof::{CertificateKind, PairShare, Proof, Signature};
pub use working_key::WorkingKey;

use iec61850::wire::{Fault, WireError};
use octets::Reader;

use super::statement::{Action, Gen, NODES, Tick};
use super::{Acknowledgement, Attempt, CommonTime};

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
    pub fn decode(kind: Kind, octets: &[u8]) -> Result<Self, WireError> {
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
        match self {
            Self::Message(message) => write(message, out),
            Self::Commitments(commitments) => commitments.write(out),
        }
    }
}

fn read(kind: Kind, reader: &mut Reader<'_>) -> Result<Message, WireError> {
    Ok(match kind {
        Kind::Vote => {
            let (attempt, tick) = read_attempt(reader)?;
            let kind = CertificateKind::read(reader)?;
            Message::Vote { attempt, tick, proof: Proof::read(reader, kind)? }
        }
        Kind::Share => {
            let (attempt, tick) = read_attempt(reader)?;
            if tick == Tick(u64::MAX) {
                // There is no tick after it, for which the second proof would be.
                return Err(reader.error("tick", 8, Fault::Range));
            }
            let kind = CertificateKind::read(reader)?;
            let proof = Proof::read(reader, kind)?;
            Message::Share { attempt, tick, proof, proof_next: Proof::read(reader, kind)? }
        }
        Kind::Certificate => {
            let (attempt, tick) = read_attempt(reader)?;
            Message::Certificate { attempt, tick, certificate: Certificate::read(reader)? }
        }
        Kind::Acknowledgement => Message::Acknowledgement(read_acknowledgement(reader)?),
        Kind::Query => Message::Query { tick: Tick(reader.u64("tick")?) },
        Kind::Announcement => Message::Announcement { key: WorkingKey::read(reader)? },
        // Nobody's counter is 0: an introduction says that no key was noted.
        Kind::Introduction => Message::Noted { counter: 0, key: Some(WorkingKey::read(reader)?) },
        Kind::Noted => Message::Noted { counter: reader.u64("counter")?, key: None },
        Kind::Commitments => unreachable!("these are no message"),
    })
}

/// What a vote, a share and a certificate are about.
fn read_attempt(reader: &mut Reader<'_>) -> Result<(Attempt, Tick), WireError> {
    let action = reader.code("action", Action::from_octet)?;
    let generation = Gen(reader.u64("gen")?);
    Ok((Attempt { action, generation }, Tick(reader.u64("tick")?)))
}

fn read_acknowledgement(reader: &mut Reader<'_>) -> Result<Acknowledgement, WireError> {
    let state = reader.code("state", Action::from_octet)?;
    let generation = Gen(reader.u64("gen")?);
    let acted_at = CommonTime::from_ns(reader.u64("time of the action")?);
    let tick = Tick(reader.u64("tick")?);
    let mut counters = [0; NODES];
    for counter in &mut counters {
        *counter = reader.u64("counter")?;
    }
    Ok(Acknowledgement { generation, state, acted_at, tick, counters })
}

fn write(message: &Message, out: &mut Vec<u8>) {
    match message {
        Message::Vote { attempt, tick, proof } => {
            write_attempt(attempt, *tick, out);
            out.push(proof.kind().octet());
            proof.write(out);
        }
        Message::Share { attempt, tick, proof, proof_next } => {
            write_attempt(attempt, *tick, out);
            out.push(proof.kind().octet());
            proof.write(out);
            proof_next.write(out);
        }
        Message::Certificate { attempt, tick, certificate } => {
            write_attempt(attempt, *tick, out);
            certificate.write(out);
        }
        Message::Acknowledgement(acknowledgement) => {
            let Acknowledgement { generation, state, acted_at, tick, counters } = acknowledgement;
            out.push(state.octet());
            for number in [generation.0, acted_at.ns(), tick.0].iter().chain(counters) {
                out.extend(number.to_be_bytes());
            }
        }
        Message::Query { tick } => out.extend(tick.0.to_be_bytes()),
        Message::Announcement { key } | Message::Noted { key: Some(key), .. } => key.write(out),
        Message::Noted { counter, key: None } => out.extend(counter.to_be_bytes()),
    }
}

fn write_attempt(attempt: &Attempt, tick: Tick, out: &mut Vec<u8>) {
    out.push(attempt.action.octet());
    out.extend(attempt.generation.0.to_be_bytes());
    out.extend(tick.0.to_be_bytes());
}
