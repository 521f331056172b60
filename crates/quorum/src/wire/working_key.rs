//! Working keys on the wire, certified by the root key of their node.
//!
//! The datagrams that carry them are made where the root secrets are, once for each recipient,
//! and sent as they are: who runs on working keys has no root secrets. Their tag is that of the
//! boot channel and their sequence number the counter, so nobody without root secrets or those of
//! the recipient can make others check signatures.

use iec61850::wire::WireError;

use super::octets::Reader;
use super::proof::Signature;
use crate::statement::{Epoch, NodeId, StationId};

/// Domain of certified working keys: no other octets that a key of ours signs begin with it.
const DOMAIN: [u8; 16] = *b"qcycle-working-1";

/// A node's working keys with the counter and the signature of its root key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkingKey {
    /// Counts the working keys of a node, from 1. Older ones are refused.
    pub counter: u64,
    /// Public key of signatures (Ed25519).
    pub signing_key: [u8; 32],
    /// Public key of channels (X25519).
    pub channel_key: [u8; 32],
    /// The root key's signature of all that.
    pub signature: Signature,
}

impl WorkingKey {
    /// What the root key of a node signs.
    pub fn signed(&self, station: StationId, epoch: Epoch, node: NodeId) -> Vec<u8> {
        let mut octets = DOMAIN.to_vec();
        octets.extend(station.0.to_be_bytes());
        octets.extend(epoch.0.to_be_bytes());
        octets.push(node.number());
        octets.extend(self.counter.to_be_bytes());
        octets.extend(self.signing_key);
        octets.extend(self.channel_key);
        octets
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            counter: reader.u64("counter")?,
            signing_key: reader.array("signing key")?,
            channel_key: reader.array("channel key")?,
            signature: reader.array("signature")?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.counter.to_be_bytes());
        out.extend(&self.signing_key);
        out.extend(&self.channel_key);
        out.extend(&self.signature);
    }
}
