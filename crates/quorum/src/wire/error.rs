//! Why octets are no datagram: which field, at which octet, and what is wrong there.
//!
//! Small and `Copy`, because a node meets such datagrams at the rate of the attacker; the words
//! are made only when somebody prints them.

use std::fmt;

use iec61850::wire::Fault;

/// What is wrong with a datagram, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramError {
    /// The field that could not be read.
    pub field: Field,
    /// Where it stands: octets from the begin of the datagram.
    pub octet: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// A field of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names are those of the reference page")]
pub enum Field {
    Datagram,
    Magic,
    Kind,
    Sender,
    Recipient,
    Reserved,
    Epoch,
    Sequence,
    Action,
    Gen,
    Tick,
    Signature,
    CertificateKind,
    Serial,
    ZShare,
    Signers,
    State,
    ActedAt,
    Count,
    Counter,
    SigningKey,
    ChannelKey,
    WantsAnswer,
    Slot,
    Commitment,
}

impl Field {
    /// The name as the reference page writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagram => "datagram",
            Self::Magic => "magic",
            Self::Kind => "kind",
            Self::Sender => "sender",
            Self::Recipient => "recipient",
            Self::Reserved => "reserved",
            Self::Epoch => "key epoch",
            Self::Sequence => "sequence",
            Self::Action => "action",
            Self::Gen => "gen",
            Self::Tick => "tick",
            Self::Signature => "signature",
            Self::CertificateKind => "certificate kind",
            Self::Serial => "serial",
            Self::ZShare => "signature share",
            Self::Signers => "signers",
            Self::State => "state",
            Self::ActedAt => "time of the action",
            Self::Count => "count",
            Self::Counter => "counter",
            Self::SigningKey => "signing key",
            Self::ChannelKey => "channel key",
            Self::WantsAnswer => "wish for an answer",
            Self::Slot => "slot",
            Self::Commitment => "commitment",
        }
    }
}

impl fmt::Display for DatagramError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at octet {}: {}", self.field.name(), self.octet, self.fault)
    }
}

impl std::error::Error for DatagramError {}
