//! Proofs on the wire: what a relay node puts under a statement, in one of three forms.
//!
//! They stay octets here. Whether they prove anything is seen where the keys are.

use std::fmt;

use iec61850::wire::{Fault, WireError};

use super::octets::Reader;
use crate::statement::NODES;

/// How certificates are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CertificateKind {
    /// Two signatures of distinct nodes (Ed25519, RFC 8032).
    TwoSignatures,
    /// One signature that two nodes make together (FROST over Ed25519, RFC 9591).
    Frost,
    /// One signature, combined from any two shares (threshold BLS over BLS12-381).
    Bls,
}

impl CertificateKind {
    /// All of them, in the order of their octets, which begin with 1.
    pub const ALL: [Self; 3] = [Self::TwoSignatures, Self::Frost, Self::Bls];

    pub(super) const fn octet(self) -> u8 {
        self as u8 + 1
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.code("certificate kind", |octet| {
            Self::ALL.get(usize::from(octet.checked_sub(1)?)).copied()
        })
    }

    /// Its word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoSignatures => "two-signatures",
            Self::Frost => "frost",
            Self::Bls => "bls",
        }
    }

    /// The kind of a word, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for CertificateKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A signature of Ed25519.
pub type Signature = [u8; 64];

/// What proves that one node made a statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Proof {
    /// A signature of its own.
    Signature(Signature),
    /// Shares of signatures with its peers, in their order; none where the pair has no nonces.
    Frost([Option<PairShare>; NODES - 1]),
    /// A share of a BLS signature: a compressed point of G1.
    Bls([u8; 48]),
}

/// A node's share of the signature that it makes with one peer, and the nonces that it is made
/// with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PairShare {
    /// Serial of the node's own nonces, from 1.
    pub own_serial: u64,
    /// Serial of the peer's nonces, from 1.
    pub peer_serial: u64,
    /// The share: a scalar.
    pub z_share: [u8; 32],
}

impl Proof {
    /// How it was made.
    pub const fn kind(&self) -> CertificateKind {
        match self {
            Self::Signature(_) => CertificateKind::TwoSignatures,
            Self::Frost(_) => CertificateKind::Frost,
            Self::Bls(_) => CertificateKind::Bls,
        }
    }

    /// Takes a proof of a kind that was named before.
    pub(super) fn read(reader: &mut Reader<'_>, kind: CertificateKind) -> Result<Self, WireError> {
        Ok(match kind {
            CertificateKind::TwoSignatures => Self::Signature(reader.array("signature")?),
            CertificateKind::Frost => {
                let mut shares = [None; NODES - 1];
                for share in &mut shares {
                    *share = PairShare::read(reader)?;
                }
                Self::Frost(shares)
            }
            CertificateKind::Bls => Self::Bls(reader.array("signature")?),
        })
    }

    /// Appends it, without its kind.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Signature(signature) => out.extend(signature),
            Self::Frost(shares) => shares.iter().for_each(|share| PairShare::write(share, out)),
            Self::Bls(share) => out.extend(share),
        }
    }
}

impl PairShare {
    /// A share, or zeros where there is none.
    fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let own_serial = reader.u64("serial")?;
        let peer_serial = reader.u64("serial")?;
        let share = Self { own_serial, peer_serial, z_share: reader.array("signature share")? };
        match share {
            Self { own_serial: 0, peer_serial: 0, z_share } if z_share == [0; 32] => Ok(None),
            Self { own_serial: 0, .. } | Self { peer_serial: 0, .. } => {
                Err(reader.error("serial", 48, Fault::Range))
            }
            share => Ok(Some(share)),
        }
    }

    fn write(share: &Option<Self>, out: &mut Vec<u8>) {
        let none = Self { own_serial: 0, peer_serial: 0, z_share: [0; 32] };
        let Self { own_serial, peer_serial, z_share } = share.unwrap_or(none);
        out.extend(own_serial.to_be_bytes());
        out.extend(peer_serial.to_be_bytes());
        out.extend(&z_share);
    }
}
