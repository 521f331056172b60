//! Certificates on the wire: the proof that two distinct nodes made a statement.

use iec61850::wire::{Fault, WireError};

use super::octets::Reader;
use super::proof::{CertificateKind, Signature};
use crate::statement::NodeId;

/// What proves that two distinct nodes made a statement. It stays octets here; whether it proves
/// anything is seen where the keys are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certificate {
    /// Signatures of two nodes.
    TwoSignatures(TwoSignatures),
    /// A signature under the key of all nodes (FROST).
    Frost(Signature),
    /// A signature under the key of all nodes: a compressed point of G1.
    Bls([u8; 48]),
}

/// Signatures of two distinct nodes, in the order of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TwoSignatures([(NodeId, Signature); 2]);

impl TwoSignatures {
    /// Signatures of two nodes in any order; none if it is one node twice.
    pub fn new(one: (NodeId, Signature), other: (NodeId, Signature)) -> Option<Self> {
        match one.0.cmp(&other.0) {
            std::cmp::Ordering::Less => Some(Self([one, other])),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Self([other, one])),
        }
    }

    /// Who signed, and the signatures.
    pub const fn signatures(&self) -> &[(NodeId, Signature); 2] {
        &self.0
    }
}

impl Certificate {
    /// How it was made.
    pub const fn kind(&self) -> CertificateKind {
        match self {
            Self::TwoSignatures(_) => CertificateKind::TwoSignatures,
            Self::Frost(_) => CertificateKind::Frost,
            Self::Bls(_) => CertificateKind::Bls,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match CertificateKind::read(reader)? {
            CertificateKind::TwoSignatures => {
                let ids = [reader.node("signers")?, reader.node("signers")?];
                if ids[0] >= ids[1] {
                    return Err(reader.error("signers", 2, Fault::Range));
                }
                let one = (ids[0], reader.array("signature")?);
                Self::TwoSignatures(TwoSignatures([one, (ids[1], reader.array("signature")?)]))
            }
            CertificateKind::Frost => Self::Frost(reader.array("signature")?),
            CertificateKind::Bls => Self::Bls(reader.array("signature")?),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind().octet());
        match self {
            Self::TwoSignatures(TwoSignatures([one, other])) => {
                out.extend(&[one.0.number(), other.0.number()]);
                out.extend(&one.1);
                out.extend(&other.1);
            }
            Self::Frost(signature) => out.extend(signature),
            Self::Bls(signature) => out.extend(signature),
        }
    }
}
