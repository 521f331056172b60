//! All keys of a station, dealt in one place from octets of the kernel: what `qcrelay keys` does.
//!
//! The dealer knows all secrets, so it is done once for an epoch on a machine that is not one
//! of the parties, and what it wrote for each of them is taken away from there.

use ed25519_dalek::SigningKey;

use crate::Party;
use crate::certificate::{bls, frost};
use crate::keys::channel::public;
use crate::keys::{CertificateKeys, Membership, Random, RootKey, RootSecrets, Secret};
use crate::statement::{BreakerId, Epoch, NODES, StationId};
use crate::wire::{CertificateKind, PARTIES};

/// All keys of a station.
#[derive(Debug)]
pub struct Station {
    pub membership: Membership,
    /// For each relay node, and for the breaker node.
    pub secrets: [RootSecrets; PARTIES],
}

/// Deals the keys of a station. The seed is from the kernel, and for this only.
pub fn generate(
    station: StationId,
    epoch: Epoch,
    breaker: BreakerId,
    kind: CertificateKind,
    seed: &Secret,
) -> Station {
    let mut random = Random::from_seed(seed, "root keys");
    let (certificate, shares) = match kind {
        CertificateKind::TwoSignatures => (CertificateKeys::TwoSignatures, [const { None }; NODES]),
        CertificateKind::Frost => {
            let (keys, shares) = frost::deal(&mut random);
            (keys, shares.map(Some))
        }
        CertificateKind::Bls => {
            let (keys, shares) = bls::deal(&mut random);
            (keys, shares.map(Some))
        }
    };
    let secrets = Party::ALL.map(|party| RootSecrets {
        party,
        station,
        epoch,
        signing: random.secret(),
        channel: random.secret(),
        share: shares.get(party.index()).cloned().flatten(),
    });
    let [nodes @ .., last] = &secrets;
    let breaker_channel_key = public(&last.channel);
    let nodes: [&RootSecrets; NODES] = nodes.each_ref();
    let nodes = nodes.map(|secrets| RootKey {
        signing_key: SigningKey::from_bytes(secrets.signing.expose()).verifying_key().to_bytes(),
        channel_key: public(&secrets.channel),
    });
    let membership =
        Membership { station, epoch, breaker, nodes, breaker_channel_key, certificate };
    Station { membership, secrets }
}
