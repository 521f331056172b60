//! Threshold BLS over BLS12-381 (draft-irtf-cfrg-bls-signature, basic scheme with short
//! signatures): the key of all nodes is shared by a line (Shamir), so that two shares of a
//! signature, weighted, are the signature.
//!
//! Any two shares combine and nothing is exchanged beforehand, but verifying takes two pairings,
//! which is a good part of a quarter cycle: here for comparison.

use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Scalar};
use ff::Field;
use group::prime::PrimeCurveAffine;
use group::{Curve, Group};
use pairing::{MillerLoopResult, MultiMillerLoop};

use crate::keys::{CertificateKeys, Random, Secret};
use crate::statement::{NODES, NodeId, QUORUM, Statement};

/// What messages are hashed to G1 with: the suite of the draft.
const SUITE: &[u8] = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";

/// A signature or a share of one: a compressed point of G1.
type Signature = [u8; 48];

/// Keys of threshold BLS.
#[derive(Debug)]
pub(crate) struct Bls {
    group: G2Affine,
    shares: [G2Affine; NODES],
    /// This node's share of the secret, if it has one.
    secret: Option<Secret>,
}

/// Where the line of secrets is met for a node: not at 0, where the secret of all is.
fn abscissa(node: NodeId) -> Scalar {
    Scalar::from(u64::from(node.number()) + 1)
}

fn scalar(secret: &Secret) -> Option<Scalar> {
    Scalar::from_bytes_be(secret.expose())
        .into_option()
        .filter(|scalar| !bool::from(scalar.is_zero()))
}

fn public_key(octets: &[u8; 96]) -> Option<G2Affine> {
    let key = G2Affine::from_compressed(octets).into_option();
    key.filter(|key| !bool::from(key.is_identity()))
}

fn point(octets: &Signature) -> Option<G1Affine> {
    let point = G1Affine::from_compressed(octets).into_option();
    point.filter(|point| !bool::from(point.is_identity()))
}

fn hash(message: &[u8]) -> G1Affine {
    G1Projective::hash_to_curve(message, SUITE, &[]).to_affine()
}

/// Whether e(signature, g) = e(hash, key).
fn verify(key: &G2Affine, message: &[u8], signature: &G1Affine) -> bool {
    let base = G2Prepared::from(-G2Affine::generator());
    let key = G2Prepared::from(*key);
    let terms = [(signature, &base), (&hash(message), &key)];
    bool::from(Bls12::multi_miller_loop(&terms).final_exponentiation().is_identity())
}

/// Deals the shares of a new key.
pub(crate) fn deal(random: &mut Random) -> (CertificateKeys, [Secret; NODES]) {
    let [secret, slope] = [Scalar::random(&mut *random), Scalar::random(&mut *random)];
    let public = |secret: Scalar| (G2Projective::generator() * secret).to_affine().to_compressed();
    let scalars = NodeId::ALL.map(|node| secret + slope * abscissa(node));
    let keys = CertificateKeys::Bls { group: public(secret), shares: scalars.map(public) };
    (keys, scalars.map(|scalar| Secret::new(scalar.to_bytes_be())))
}

impl Bls {
    /// Keys, with the share of a node; none if one of them is no key or the share not the node's.
    pub(super) fn new(
        group: &[u8; 96],
        shares: &[[u8; 96]; NODES],
        own: Option<(NodeId, &Secret)>,
    ) -> Option<Self> {
        let group = public_key(group)?;
        let mut keys = [group; NODES];
        for (key, octets) in keys.iter_mut().zip(shares) {
            *key = public_key(octets)?;
        }
        if let Some((node, secret)) = own {
            let public = G2Projective::generator() * scalar(secret)?;
            if public.to_affine() != keys[node.index()] {
                return None;
            }
        }
        let secret = own.map(|(_, secret)| secret.clone());
        Some(Self { group, shares: keys, secret })
    }

    /// This node's share of the signature of a statement.
    pub(super) fn prove(&self, statement: &Statement) -> Option<Signature> {
        let secret = scalar(self.secret.as_ref()?)?;
        Some((hash(&statement.encode()) * secret).to_affine().to_compressed())
    }

    /// Whether this is a node's share of the signature of a statement.
    pub(super) fn is_share(&self, node: NodeId, statement: &Statement, share: &Signature) -> bool {
        let key = &self.shares[node.index()];
        point(share).is_some_and(|share| verify(key, &statement.encode(), &share))
    }

    /// The signature of a statement from the shares of two distinct nodes; none if that is none.
    pub(super) fn combine(
        &self,
        statement: &Statement,
        shares: [(NodeId, &Signature); QUORUM],
    ) -> Option<Signature> {
        let [(one, first), (other, second)] = shares;
        let (x, y) = (abscissa(one), abscissa(other));
        // Where the line through both is at 0 (Lagrange).
        let weight = |here: Scalar, there: Scalar| {
            (there - here).invert().into_option().map(|inverse| there * inverse)
        };
        let signature = point(first)? * weight(x, y)? + point(second)? * weight(y, x)?;
        let signature = signature.to_affine();
        verify(&self.group, &statement.encode(), &signature).then(|| signature.to_compressed())
    }

    /// Whether this is the signature of a statement under the key of all nodes.
    pub(super) fn certifies(&self, statement: &Statement, signature: &Signature) -> bool {
        let signature = point(signature);
        signature.is_some_and(|point| verify(&self.group, &statement.encode(), &point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    /// RFC 9380, appendix J.9.1: the empty message.
    #[test]
    fn messages_are_hashed_as_rfc_9380_says() {
        let suite = b"QUUX-V01-CS02-with-BLS12381G1_XMD:SHA-256_SSWU_RO_";
        let found = G1Projective::hash_to_curve(b"", suite, &[]).to_affine().to_uncompressed();
        let x = "052926add2207b76ca4fa57a8734416c8dc95e24501772c814278700eed6d1e4e8cf62d9c09db0fac349612b759e79a1";
        let y = "08ba738453bfed09cb546dbb0783dbb3a5f1f566ed67bb6be0e8c67e2e81a4cc68ee29813bb7994998f3eae0c9c6a265";
        assert_eq!(found[..48], hex::decode::<48>(x).unwrap());
        assert_eq!(found[48..], hex::decode::<48>(y).unwrap());
    }
}
