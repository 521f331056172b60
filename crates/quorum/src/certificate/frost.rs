//! FROST over Ed25519 (RFC 9591): two nodes make one signature together, each with its share of
//! the key of all nodes. The signature is an ordinary one of Ed25519, verified as such.
//!
//! Three pairs include this node, and which peer will agree is not known beforehand, so a proof
//! holds a share with each of them. The nonces that a share takes are exchanged before anything
//! is at stake ([`super::frost_nonces`]), so that no further round is needed when it is.
//!
//! The price: a share that is wrong cannot be distinguished from a right one without the commitments that
//! it was made with; there is state that must never be used twice; and a share lasts as long as
//! the key epoch, so that rejuvenation does not take back what an intruder has read.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use frost_ed25519::keys::{
    IdentifierList, KeyPackage, PublicKeyPackage, SigningShare, VerifyingShare,
};
use frost_ed25519::round1::SigningCommitments;
use frost_ed25519::round2::SignatureShare;
use frost_ed25519::{CheaterDetection, Identifier, SigningPackage, aggregate_custom, keys, round2};

use super::ed25519;
use super::frost_nonces::{Exchange, Pair, peers};
use crate::keys::{CertificateKeys, Random, Secret};
use crate::scheme::NoCertificate;
use crate::statement::{NODES, NodeId, QUORUM, Statement, Tick};
use crate::wire::{Commitments, PairShare, Signature};

/// Shares with the peers of a node, in their order.
type Shares = [Option<PairShare>; NODES - 1];

/// Keys of FROST, and the nonces of this node.
#[derive(Debug)]
pub(crate) struct Frost {
    group: VerifyingKey,
    public: PublicKeyPackage,
    own: Option<Own>,
}

/// What only a relay node has.
#[derive(Debug)]
struct Own {
    node: NodeId,
    key: KeyPackage,
    nonces: Exchange,
    /// The latest proofs, for the peers whose shares are to be combined with them.
    made: BTreeMap<NodeId, BTreeMap<u8, Made>>,
}

/// A share that was made, and with what.
#[derive(Clone, Debug)]
struct Made {
    statement: Statement,
    pair: Pair,
    share: SignatureShare,
}

/// The number by which FROST knows a node: from 1.
fn identifier(node: NodeId) -> Identifier {
    Identifier::try_from(u16::from(node.number()) + 1).expect("only 0 is no identifier")
}

/// The place of a peer among the peers of a node.
fn place(node: NodeId, peer: NodeId) -> usize {
    if peer > node { peer.index() - 1 } else { peer.index() }
}

/// Deals the shares of a new key.
pub(crate) fn deal(random: &mut Random) -> (CertificateKeys, [Secret; NODES]) {
    let good = "two of four is a threshold, and points of a key are its own";
    let identifiers = NodeId::ALL.map(identifier);
    let identifiers = IdentifierList::Custom(&identifiers);
    let (secrets, public) =
        keys::generate_with_dealer(NODES as u16, QUORUM as u16, identifiers, random).expect(good);
    let octets = |bytes: Vec<u8>| <[u8; 32]>::try_from(bytes).expect("scalars and points have 32");
    let group = octets(public.verifying_key().serialize().expect(good));
    let shares = NodeId::ALL
        .map(|node| octets(public.verifying_shares()[&identifier(node)].serialize().expect(good)));
    let secrets = NodeId::ALL
        .map(|node| Secret::new(octets(secrets[&identifier(node)].signing_share().serialize())));
    (CertificateKeys::Frost { group, shares }, secrets)
}

impl Frost {
    /// Keys, with the share of a node; none if one of them is no key or the share not the node's.
    pub(super) fn new(
        group: &[u8; 32],
        shares: &[[u8; 32]; NODES],
        own: Option<(NodeId, &Secret)>,
    ) -> Option<Self> {
        let key = frost_ed25519::VerifyingKey::deserialize(group).ok()?;
        let mut verifying = BTreeMap::new();
        for node in NodeId::ALL {
            let share = VerifyingShare::deserialize(&shares[node.index()]).ok()?;
            verifying.insert(identifier(node), share);
        }
        let own = match own {
            None => None,
            Some((node, secret)) => {
                let share = SigningShare::deserialize(secret.expose()).ok()?;
                let public = VerifyingShare::from(share);
                if public != verifying[&identifier(node)] {
                    return None;
                }
                let key = KeyPackage::new(identifier(node), share, public, key, QUORUM as u16);
                Some(Own { node, key, nonces: Exchange::new(node), made: BTreeMap::new() })
            }
        };
        let public = PublicKeyPackage::new(verifying, key, Some(QUORUM as u16));
        Some(Self { group: ed25519::verifying_key(group)?, public, own })
    }

    /// The key of all nodes.
    pub(super) const fn group(&self) -> &VerifyingKey {
        &self.group
    }

    /// Commitments to nonces that are to be sent to peers now.
    pub(super) fn commitments(&mut self, now: Tick, seed: &Secret) -> Vec<(NodeId, Commitments)> {
        let Some(own) = &mut self.own else { return Vec::new() };
        own.nonces.offers(now, own.key.signing_share(), seed)
    }

    /// Takes a peer's commitments to nonces, a few in a tick. Says false if one of them is none.
    pub(super) fn committed(&mut self, node: NodeId, commitments: &Commitments) -> bool {
        self.own.as_mut().is_none_or(|own| own.nonces.take(node, commitments))
    }

    /// A peer has other keys: what was exchanged with it is worth nothing.
    pub(super) fn forget(&mut self, node: NodeId) {
        if let Some(own) = &mut self.own {
            own.nonces.forget(node);
            own.made.remove(&node);
        }
    }

    /// This node's shares of the signatures of a statement: those made before, or new ones, with
    /// nonces that are gone afterwards. None if there is none.
    pub(super) fn prove(&mut self, statement: &Statement) -> Option<Shares> {
        let own = self.own.as_mut()?;
        let slot = Exchange::slot(statement.tick);
        let mut shares = [None; NODES - 1];
        for peer in peers(own.node) {
            let made = own.made.entry(peer).or_default();
            if made.get(&slot).is_none_or(|made| made.statement != *statement) {
                let Some((pair, nonces)) = own.nonces.spend(peer, statement.tick) else { continue };
                let package = package(own.node, peer, &pair, statement);
                // It fails if the peer's commitments cancel each other, which is the peer's loss.
                let Ok(share) = round2::sign(&package, &nonces, &own.key) else { continue };
                made.insert(slot, Made { statement: *statement, pair, share });
            }
            let Made { pair, share, .. } = &made[&slot];
            let z_share = share.serialize().try_into().expect("a scalar has 32 octets");
            let (own_serial, peer_serial) = (pair.own_serial, pair.peer_serial);
            shares[place(own.node, peer)] = Some(PairShare { own_serial, peer_serial, z_share });
        }
        shares.iter().any(Option::is_some).then_some(shares)
    }

    /// The signature of a statement from this node's share and a peer's.
    pub(super) fn combine(
        &self,
        statement: &Statement,
        peer: NodeId,
        shares: &Shares,
    ) -> Result<Signature, NoCertificate> {
        let own = self.own.as_ref().ok_or(NoCertificate::NotTogether)?;
        let made = own.made.get(&peer).and_then(|made| made.get(&Exchange::slot(statement.tick)));
        let made = made.filter(|made| made.statement == *statement);
        let (made, share) =
            made.zip(shares[place(peer, own.node)]).ok_or(NoCertificate::NotTogether)?;
        let wrong = NoCertificate::Wrong(peer);
        let used = (share.own_serial, share.peer_serial);
        if used != (made.pair.peer_serial, made.pair.own_serial) {
            let plausible = own.nonces.plausible(peer, statement.tick, &made.pair, used);
            return Err(if plausible { NoCertificate::NotTogether } else { wrong });
        }
        let theirs = SignatureShare::deserialize(&share.z_share).map_err(|_| wrong)?;
        let shares =
            BTreeMap::from([(identifier(own.node), made.share), (identifier(peer), theirs)]);
        let package = package(own.node, peer, &made.pair, statement);
        let off = CheaterDetection::Disabled;
        let signature = aggregate_custom(&package, &shares, &self.public, off);
        let octets = signature.and_then(|signature| signature.serialize()).map_err(|_| wrong)?;
        let signature: Signature = octets.try_into().map_err(|_| wrong)?;
        // What the breaker node will say: its verification is the stricter one.
        let good = ed25519::verify(&self.group, &statement.encode(), &signature);
        good.then_some(signature).ok_or(wrong)
    }
}

/// What both sign: the commitments of both, and the statement.
fn package(node: NodeId, peer: NodeId, pair: &Pair, statement: &Statement) -> SigningPackage {
    let commitments: BTreeMap<Identifier, SigningCommitments> =
        [(identifier(node), pair.own), (identifier(peer), pair.peer)].into();
    SigningPackage::new(commitments, &statement.encode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;
    use frost_ed25519::rand_core::{CryptoRng, Error, RngCore};
    use frost_ed25519::round1::SigningNonces;

    /// Gives the octets that a test vector has.
    struct Given(Vec<u8>);

    impl RngCore for Given {
        fn next_u32(&mut self) -> u32 {
            unreachable!("only octets are asked for")
        }
        fn next_u64(&mut self) -> u64 {
            unreachable!("only octets are asked for")
        }
        fn fill_bytes(&mut self, out: &mut [u8]) {
            let rest = self.0.split_off(out.len());
            out.copy_from_slice(&self.0);
            self.0 = rest;
        }
        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(out);
            Ok(())
        }
    }

    impl CryptoRng for Given {}

    /// RFC 9591, appendix E.1: share, randomness of both nonces and share of the signature, of
    /// participants 1 and 3.
    const PARTICIPANTS: [(u16, [&str; 4]); 2] = [
        (
            1,
            [
                "929dcc590407aae7d388761cddb0c0db6f5627aea8e217f4a033f2ec83d93509",
                "06894e04ee4aceec8619d5f6a0a180e2f47194d2ac306cba586b555e7c48d765",
                "40d6f879ff22e22409f7d808fed81f37118e7d3e4af71c0f44c60207553bcbce",
                "60997f0142e43e8005027fe5ab7447dac00d22c2d7ddd9571a02613ba7d81c08",
            ],
        ),
        (
            3,
            [
                "d3cb090a075eb154e82fdb4b3cb507f110040905468bb9c46da8bdea643a9a02",
                "fa5d950626782aade9e33fa781376d4888c2d1de7c37518bc248eb818ed0cdde",
                "7459a4d14ded0e365b085271be8dc6600d5b88f3978a2174297ffa32001a5afc",
                "79390e78bc59699c7af831f8f5fb478ec871a85f561a8641b5670ac4443f720f",
            ],
        ),
    ];

    const KEY: &str = "15d21ccd7ee42959562fc8aa63224c8851fb3ec85a3faf66040d380fb9738673";
    const SIGNATURE: &str = "154fb694ee7fcb37bf2381d94488c2a84b03b3352ad085feca81ad26d45852b7ecfe971ce4da95c4a95db93ac376b053897fca212ef85f99cf696bffeb178f07";

    #[test]
    fn signatures_are_those_of_rfc_9591() {
        let group: [u8; 32] = hex::decode(KEY).unwrap();
        let key = frost_ed25519::VerifyingKey::deserialize(&group).unwrap();
        let mut commitments = BTreeMap::new();
        let mut signers = Vec::new();
        let mut verifying = BTreeMap::new();
        for (number, [share, hiding, binding, expected]) in PARTICIPANTS {
            let identifier = Identifier::try_from(number).unwrap();
            let share: [u8; 32] = hex::decode(share).unwrap();
            let share = SigningShare::deserialize(&share).unwrap();
            let public = VerifyingShare::from(share);
            let random = [hiding, binding].map(|digits| hex::decode::<32>(digits).unwrap());
            let nonces = SigningNonces::new(&share, &mut Given(random.concat()));
            commitments.insert(identifier, *nonces.commitments());
            verifying.insert(identifier, public);
            let key = KeyPackage::new(identifier, share, public, key, 2);
            signers.push((key, nonces, hex::decode::<32>(expected).unwrap()));
        }
        let package = SigningPackage::new(commitments, b"test");
        let mut shares = BTreeMap::new();
        for (key, nonces, expected) in &signers {
            let share = round2::sign(&package, nonces, key).unwrap();
            assert_eq!(share.serialize(), expected);
            shares.insert(*key.identifier(), share);
        }
        let public = PublicKeyPackage::new(verifying, key, Some(2));
        let signature = aggregate_custom(&package, &shares, &public, CheaterDetection::Disabled);
        let signature = signature.unwrap().serialize().unwrap();
        assert_eq!(signature, hex::decode::<64>(SIGNATURE).unwrap());
        // An ordinary signature of Ed25519.
        let group = ed25519::verifying_key(&group).unwrap();
        assert!(ed25519::verify(&group, b"test", &signature.try_into().unwrap()));
    }
}
