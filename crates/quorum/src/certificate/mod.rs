//! Proofs and certificates: all keys that they are made and verified with, behind the [`Scheme`]
//! that the state machines know.
//!
//! | kind | a proof | a certificate |
//! |---|---|---|
//! | two signatures | a signature under the working key | two of them, of distinct nodes |
//! | FROST | a share of a signature with each peer that nonces were exchanged with | that signature |
//! | threshold BLS | a share of a signature | any two shares, combined |
//!
//! A vote is a signature in each case: the Arbiter Protocol needs no certificates. Of two proofs
//! that make no certificate, this node's own is right by construction, so the other one names the
//! culprit and nothing further has to be computed.

pub(crate) mod bls;
pub(crate) mod ed25519;
pub(crate) mod frost;
mod frost_nonces;

use ed25519_dalek::{SigningKey, VerifyingKey};

use bls::Bls;
use frost::Frost;

use super::Party;
use super::keys::{CertificateKeys, Membership, Secret, Working};
use super::scheme::{NoCertificate, Scheme};
use super::statement::{NODES, NodeId, Protocol, QUORUM, Statement, Tick};
use super::wire::{Certificate, Commitments, Proof, TwoSignatures, WorkingKey};

/// All keys that proofs and certificates of one party are made and verified with.
#[derive(Debug)]
pub struct Keyring {
    membership: Membership,
    /// A relay node's own number, key and secret; none of the breaker node.
    own: Option<(NodeId, WorkingKey, SigningKey)>,
    /// Working keys in use.
    nodes: [Option<VerifyingKey>; NODES],
    kind: Kind,
}

/// What the kinds need beyond working keys.
#[derive(Debug)]
enum Kind {
    TwoSignatures,
    Frost(Box<Frost>),
    Bls(Box<Bls>),
}

/// The keys of certificates in the membership are none, or the share does not fit them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnusableKeys;

impl Keyring {
    /// The keys of somebody who runs on `working`; `share` is that of
    /// [`RootSecrets`](super::keys::RootSecrets), and of use to a relay node only.
    ///
    /// # Errors
    /// If a key of the membership, or the share, is no key.
    pub fn new(
        membership: &Membership,
        working: &Working,
        share: Option<&Secret>,
    ) -> Result<Self, UnusableKeys> {
        let own = match (working.party(), working.key(), working.signing()) {
            (Party::Relay(node), Some(&key), Some(secret)) => {
                Some((node, key, SigningKey::from_bytes(secret.expose())))
            }
            _ => None,
        };
        let mut nodes = [None; NODES];
        if let Some((node, _, signing)) = &own {
            nodes[node.index()] = Some(signing.verifying_key());
        }
        let share = own.as_ref().map(|(node, ..)| *node).zip(share);
        let kind = match &membership.certificate {
            CertificateKeys::TwoSignatures => Kind::TwoSignatures,
            CertificateKeys::Frost { group, shares } => {
                Kind::Frost(Box::new(Frost::new(group, shares, share).ok_or(UnusableKeys)?))
            }
            CertificateKeys::Bls { group, shares } => {
                Kind::Bls(Box::new(Bls::new(group, shares, share).ok_or(UnusableKeys)?))
            }
        };
        Ok(Self { membership: membership.clone(), own, nodes, kind })
    }

    /// Uses this working key of a node from now on. The caller has found its certificate good.
    /// Says false if it is no key.
    pub fn adopt(&mut self, node: NodeId, key: &WorkingKey) -> bool {
        let verifying = ed25519::verifying_key(&key.signing_key);
        self.set(node, verifying);
        verifying.is_some()
    }

    /// Uses no working key of a node until it announces one.
    pub fn distrust(&mut self, node: NodeId) {
        self.set(node, None);
    }

    fn set(&mut self, node: NodeId, key: Option<VerifyingKey>) {
        let is_own = self.own.as_ref().is_some_and(|(own, ..)| *own == node);
        // The same key again voids nothing that was exchanged under it.
        if !is_own && self.nodes[node.index()] != key {
            self.nodes[node.index()] = key;
            if let Kind::Frost(frost) = &mut self.kind {
                frost.forget(node);
            }
        }
    }

    /// Commitments to nonces that are to be sent to peers now; to be called once a tick. The seed
    /// is from the kernel, and for this call only. Nothing unless certificates are those of FROST.
    pub fn commitments(&mut self, now: Tick, seed: &Secret) -> Vec<(NodeId, Commitments)> {
        let Kind::Frost(frost) = &mut self.kind else { return Vec::new() };
        frost.commitments(now, seed)
    }

    /// Takes a peer's commitments to nonces. Says false if one of them is none.
    ///
    /// No more than a few new ones are looked at from one call of [`Self::commitments`] in a tick
    /// to that in the next, so that a peer causes a bounded amount of work; a correct one offers
    /// the others again.
    pub fn committed(&mut self, node: NodeId, commitments: &Commitments) -> bool {
        let Kind::Frost(frost) = &mut self.kind else { return true };
        frost.committed(node, commitments)
    }
}

impl Scheme for Keyring {
    type Proof = Proof;
    type Certificate = Certificate;
    type WorkingKey = WorkingKey;

    fn prove(&mut self, statement: &Statement) -> Option<Proof> {
        let (_, _, signing) = self.own.as_ref()?;
        match (statement.subject.protocol, &mut self.kind) {
            (Protocol::Arbiter, _) | (Protocol::Peer, Kind::TwoSignatures) => {
                Some(Proof::Signature(ed25519::sign(signing, &statement.encode())))
            }
            (Protocol::Peer, Kind::Frost(frost)) => frost.prove(statement).map(Proof::Frost),
            (Protocol::Peer, Kind::Bls(bls)) => bls.prove(statement).map(Proof::Bls),
        }
    }

    fn is_proof(&mut self, node: NodeId, statement: &Statement, proof: &Proof) -> bool {
        match (statement.subject.protocol, &mut self.kind, proof) {
            (Protocol::Arbiter, _, Proof::Signature(signature))
            | (Protocol::Peer, Kind::TwoSignatures, Proof::Signature(signature)) => {
                let key = self.nodes[node.index()].as_ref();
                key.is_some_and(|key| ed25519::verify(key, &statement.encode(), signature))
            }
            (Protocol::Peer, Kind::Frost(frost), Proof::Frost(shares)) => {
                frost.combine(statement, node, shares).is_ok()
            }
            (Protocol::Peer, Kind::Bls(bls), Proof::Bls(share)) => {
                bls.is_share(node, statement, share)
            }
            _ => false,
        }
    }

    fn combine(
        &mut self,
        statement: &Statement,
        proofs: [(NodeId, &Proof); QUORUM],
    ) -> Result<Certificate, NoCertificate> {
        let own = self.own.as_ref().map(|(node, ..)| *node);
        let [one, other] = proofs;
        let (own, peer) = match own {
            Some(own) if own == one.0 && own != other.0 => (one, other),
            Some(own) if own == other.0 && own != one.0 => (other, one),
            _ => return Err(NoCertificate::NotTogether),
        };
        let wrong = NoCertificate::Wrong(peer.0);
        match (&mut self.kind, own.1, peer.1) {
            (Kind::TwoSignatures, Proof::Signature(first), Proof::Signature(second)) => {
                if !self.is_proof(peer.0, statement, peer.1) {
                    return Err(wrong);
                }
                let two = TwoSignatures::new((own.0, *first), (peer.0, *second));
                two.map(Certificate::TwoSignatures).ok_or(wrong)
            }
            (Kind::Frost(frost), Proof::Frost(_), Proof::Frost(shares)) => {
                frost.combine(statement, peer.0, shares).map(Certificate::Frost)
            }
            (Kind::Bls(bls), Proof::Bls(first), Proof::Bls(second)) => {
                let shares = [(own.0, first), (peer.0, second)];
                bls.combine(statement, shares).map(Certificate::Bls).ok_or(wrong)
            }
            _ => Err(wrong),
        }
    }

    fn certifies(&mut self, statement: &Statement, certificate: &Certificate) -> bool {
        match (&self.kind, certificate) {
            (Kind::TwoSignatures, Certificate::TwoSignatures(two)) => {
                let octets = statement.encode();
                two.signatures().iter().all(|(node, signature)| {
                    let key = self.nodes[node.index()].as_ref();
                    key.is_some_and(|key| ed25519::verify(key, &octets, signature))
                })
            }
            (Kind::Frost(frost), Certificate::Frost(signature)) => {
                ed25519::verify(frost.group(), &statement.encode(), signature)
            }
            (Kind::Bls(bls), Certificate::Bls(signature)) => bls.certifies(statement, signature),
            _ => false,
        }
    }

    fn working_key(&self) -> Option<WorkingKey> {
        self.own.as_ref().map(|(_, key, _)| *key)
    }

    fn counter(key: &WorkingKey) -> u64 {
        key.counter
    }

    fn is_certified(&mut self, node: NodeId, key: &WorkingKey) -> bool {
        let Membership { station, epoch, .. } = self.membership;
        let root = ed25519::verifying_key(&self.membership.node(node).signing_key);
        let signed = key.signed(station, epoch, node);
        key.counter != 0 && root.is_some_and(|root| ed25519::verify(&root, &signed, &key.signature))
    }
}

#[cfg(test)]
mod tests;
