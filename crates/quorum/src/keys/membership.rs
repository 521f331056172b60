//! Who takes part, by public keys: the one file that all parties of a station have in common.

use std::fmt;

use super::text::{Lines, TextError, line};
use crate::statement::{BreakerId, Epoch, NODES, NodeId, Protocol, StationId, Subject};
use crate::wire::CertificateKind;

/// Public root keys of a relay node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootKey {
    /// Certifies its working keys (Ed25519).
    pub signing_key: [u8; 32],
    /// Its end of boot channels (X25519).
    pub channel_key: [u8; 32],
}

/// What certificates are verified with, beyond working keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a program has one or two of them")]
pub enum CertificateKeys {
    TwoSignatures,
    /// FROST: points of Ed25519.
    Frost {
        /// The key of all nodes.
        group: [u8; 32],
        /// What shares are verified with.
        shares: [[u8; 32]; NODES],
    },
    /// Threshold BLS: compressed points of G2.
    Bls {
        /// The key of all nodes.
        group: [u8; 96],
        /// What shares are verified with.
        shares: [[u8; 96]; NODES],
    },
}

/// The public keys of all parties of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    pub station: StationId,
    /// Counts the sets of root keys of a station.
    pub epoch: Epoch,
    pub breaker: BreakerId,
    pub nodes: [RootKey; NODES],
    /// The breaker node's end of all its channels (X25519).
    pub breaker_channel_key: [u8; 32],
    pub certificate: CertificateKeys,
}

/// What the hash is for, and nothing else.
const FINGERPRINT: &str = "quartercycle 2026 quorum membership 1";

/// What the keys of each relay node are called in the file.
const NODE_KEYS: [[&str; 3]; NODES] = [
    ["node-0-signing-key", "node-0-channel-key", "node-0-share-key"],
    ["node-1-signing-key", "node-1-channel-key", "node-1-share-key"],
    ["node-2-signing-key", "node-2-channel-key", "node-2-share-key"],
    ["node-3-signing-key", "node-3-channel-key", "node-3-share-key"],
];

impl Membership {
    /// What all statements have in common.
    pub const fn subject(&self, protocol: Protocol) -> Subject {
        let Self { station, epoch, breaker, .. } = *self;
        Subject { protocol, station, breaker, epoch }
    }

    /// Root keys of a relay node.
    pub const fn node(&self, node: NodeId) -> &RootKey {
        &self.nodes[node.index()]
    }

    /// A hash of all of it (BLAKE3), by which what was learnt under other keys is distinguished.
    pub fn fingerprint(&self) -> [u8; 32] {
        blake3::derive_key(FINGERPRINT, self.to_string().as_bytes())
    }

    /// Reads the text of a membership file, as [`fmt::Display`] writes it.
    ///
    /// # Errors
    /// The first line that is not as it must be.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut lines = Lines::new(text);
        lines.value("quorum-membership", "version 1", |version| (version == "1").then_some(()))?;
        let station = StationId(lines.number("station", "a number from 0 to 4294967295")?);
        let epoch = Epoch(lines.number("epoch", "a number from 0 to 4294967295")?);
        let breaker = BreakerId(lines.number("breaker", "a number from 0 to 65535")?);
        let kinds = "`two-signatures`, `frost` or `bls`";
        let kind = lines.value("certificate", kinds, CertificateKind::from_name)?;
        let mut nodes = [RootKey { signing_key: [0; 32], channel_key: [0; 32] }; NODES];
        for (node, [signing, channel, _]) in nodes.iter_mut().zip(NODE_KEYS) {
            node.signing_key = lines.octets(signing)?;
            node.channel_key = lines.octets(channel)?;
        }
        let breaker_channel_key = lines.octets("breaker-channel-key")?;
        let certificate = match kind {
            CertificateKind::TwoSignatures => CertificateKeys::TwoSignatures,
            CertificateKind::Frost => {
                let (group, shares) = group(&mut lines)?;
                CertificateKeys::Frost { group, shares }
            }
            CertificateKind::Bls => {
                let (group, shares) = group(&mut lines)?;
                CertificateKeys::Bls { group, shares }
            }
        };
        lines.finish()?;
        Ok(Self { station, epoch, breaker, nodes, breaker_channel_key, certificate })
    }
}

/// The key of all nodes, and those of their shares.
fn group<const N: usize>(lines: &mut Lines<'_>) -> Result<([u8; N], [[u8; N]; NODES]), TextError> {
    let group = lines.octets("group-key")?;
    let mut shares = [[0; N]; NODES];
    for (share, [.., key]) in shares.iter_mut().zip(NODE_KEYS) {
        *share = lines.octets(key)?;
    }
    Ok((group, shares))
}

impl CertificateKeys {
    /// The kind of certificates that they verify.
    pub const fn kind(&self) -> CertificateKind {
        match self {
            Self::TwoSignatures => CertificateKind::TwoSignatures,
            Self::Frost { .. } => CertificateKind::Frost,
            Self::Bls { .. } => CertificateKind::Bls,
        }
    }
}

impl fmt::Display for Membership {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { station, epoch, breaker, nodes, breaker_channel_key, certificate } = self;
        writeln!(out, "# Who takes part. Not secret; the same file for all parties.")?;
        writeln!(out, "quorum-membership 1")?;
        writeln!(out, "station {}\nepoch {}\nbreaker {}", station.0, epoch.0, breaker.0)?;
        writeln!(out, "certificate {}", certificate.kind())?;
        let mut keys = String::new();
        for (node, [signing, channel, _]) in nodes.iter().zip(NODE_KEYS) {
            line(signing, &node.signing_key, &mut keys);
            line(channel, &node.channel_key, &mut keys);
        }
        line("breaker-channel-key", breaker_channel_key, &mut keys);
        let mut group = |group: &[u8], shares: [&[u8]; NODES]| {
            line("group-key", group, &mut keys);
            for (share, [.., key]) in shares.into_iter().zip(NODE_KEYS) {
                line(key, share, &mut keys);
            }
        };
        match certificate {
            CertificateKeys::TwoSignatures => {}
            CertificateKeys::Frost { group: key, shares } => {
                group(key, shares.each_ref().map(|share| &share[..]));
            }
            CertificateKeys::Bls { group: key, shares } => {
                group(key, shares.each_ref().map(|share| &share[..]));
            }
        }
        out.write_str(&keys)
    }
}
