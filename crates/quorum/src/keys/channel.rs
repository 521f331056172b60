//! Keys of tags: one for each pair of members, direction and epoch, derived from the static
//! Diffie-Hellman keys of both (X25519, RFC 7748) with BLAKE3.
//!
//! A pair needs no secret in common beforehand, so a reborn node makes new channel keys with
//! everybody by making its public key known, and what an intruder took from it before is worth
//! nothing from then on. Pre-shared keys would have to be handed out again at each rejuvenation.

use blake3::{Hash, Hasher};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroize;

use super::Secret;
use crate::Party;
use crate::statement::{Epoch, StationId};
use crate::wire::{Header, Payload, TAG_OCTETS};

/// What is hashed along with the shared secret: these keys are for this and nothing else.
const CONTEXT: &str = "quartercycle 2026 quorum channel key 1";

/// What a channel key is for, beyond its two members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Announcements, between root keys.
    Boot,
    /// Everything else, between working keys of these counters, of sender and recipient.
    Working { sender_counter: u64, recipient_counter: u64 },
}

/// One end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(crate) party: Party,
    /// Its public key (X25519).
    pub(crate) public: [u8; 32],
}

/// Between whom, in which direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Direction {
    pub(crate) station: StationId,
    pub(crate) epoch: Epoch,
    pub(crate) sender: End,
    pub(crate) recipient: End,
    pub(crate) purpose: Purpose,
}

/// A secret that two members share.
pub(crate) struct Shared(x25519_dalek::SharedSecret);

impl Shared {
    /// What `own` shares with the owner of `public`; none if that is no key that anybody can
    /// have, with which the secret would be known to all.
    pub(crate) fn new(own: &Secret, public: &[u8; 32]) -> Option<Self> {
        let shared = StaticSecret::from(*own.expose()).diffie_hellman(&PublicKey::from(*public));
        shared.was_contributory().then_some(Self(shared))
    }

    /// The key of one direction.
    pub(crate) fn key(&self, direction: &Direction) -> ChannelKey {
        let Direction { station, epoch, sender, recipient, purpose } = direction;
        let mut hasher = Hasher::new_derive_key(CONTEXT);
        hasher.update(self.0.as_bytes());
        hasher.update(&station.0.to_be_bytes()).update(&epoch.0.to_be_bytes());
        for end in [sender, recipient] {
            hasher.update(&[end.party.octet()]).update(&end.public);
        }
        let (code, counters) = match *purpose {
            Purpose::Boot => (0, [0, 0]),
            Purpose::Working { sender_counter, recipient_counter } => {
                (1, [sender_counter, recipient_counter])
            }
        };
        hasher.update(&[code]);
        for counter in counters {
            hasher.update(&counter.to_be_bytes());
        }
        let key = ChannelKey(Secret::new(*hasher.finalize().as_bytes()));
        hasher.zeroize();
        key
    }
}

/// The public key of a secret.
pub(crate) fn public(secret: &Secret) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(*secret.expose())).to_bytes()
}

/// The key of the tags of one direction.
#[derive(Clone, Debug)]
pub(crate) struct ChannelKey(Secret);

impl ChannelKey {
    /// The tag of octets: the first 16 of BLAKE3 keyed with this.
    pub(crate) fn tag(&self, octets: &[u8]) -> [u8; TAG_OCTETS] {
        let hash = blake3::keyed_hash(self.0.expose(), octets);
        *hash.as_bytes().first_chunk().expect("a hash has 32 octets")
    }

    /// Whether a tag is right, in a time that does not tell where it is wrong.
    pub(crate) fn is_tag(&self, octets: &[u8], tag: &[u8; TAG_OCTETS]) -> bool {
        let mut claimed = [0; 32];
        let mut true_one = [0; 32];
        claimed[..TAG_OCTETS].copy_from_slice(tag);
        true_one[..TAG_OCTETS].copy_from_slice(&self.tag(octets));
        // Hashes are compared in constant time.
        Hash::from_bytes(true_one) == Hash::from_bytes(claimed)
    }
}

/// Writes a whole datagram over what is in `out`.
pub(crate) fn seal(header: &Header, payload: &Payload, key: &ChannelKey, out: &mut Vec<u8>) {
    out.clear();
    header.encode(out);
    payload.encode(out);
    let tag = key.tag(out);
    out.extend_from_slice(&tag);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::NodeId;

    /// RFC 7748, section 6.1: the keys of Alice and Bob and what they share.
    #[test]
    fn two_parties_share_what_rfc_7748_says() {
        let [alice, bob, shared] = [
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ]
        .map(|hex| Secret::new(crate::hex::decode(hex).unwrap()));
        for (own, other) in [(&alice, &bob), (&bob, &alice)] {
            let found = Shared::new(own, &public(other)).unwrap();
            assert_eq!(found.0.as_bytes(), shared.expose());
        }
    }

    #[test]
    fn a_key_that_nobody_has_is_refused() {
        assert!(Shared::new(&Secret::new([7; 32]), &[0; 32]).is_none());
    }

    #[test]
    fn each_direction_purpose_and_epoch_has_its_own_key() {
        let secrets = [Secret::new([1; 32]), Secret::new([2; 32])];
        let [one, other] = [&secrets[0], &secrets[1]].map(public);
        let sender = End { party: Party::Relay(NodeId::ALL[0]), public: one };
        let recipient = End { party: Party::Breaker, public: other };
        let direction = Direction {
            station: StationId(1),
            epoch: Epoch(1),
            sender,
            recipient,
            purpose: Purpose::Working { sender_counter: 1, recipient_counter: 1 },
        };
        let here = Shared::new(&secrets[0], &other).unwrap();
        let there = Shared::new(&secrets[1], &one).unwrap();
        let tag = |shared: &Shared, direction: &Direction| shared.key(direction).tag(b"datagram");
        let right = tag(&here, &direction);
        assert_eq!(tag(&there, &direction), right);
        assert!(here.key(&direction).is_tag(b"datagram", &right));
        let working = |sender_counter, recipient_counter| Direction {
            purpose: Purpose::Working { sender_counter, recipient_counter },
            ..direction
        };
        for other in [
            Direction { sender: recipient, recipient: sender, ..direction },
            Direction { station: StationId(2), ..direction },
            Direction { epoch: Epoch(2), ..direction },
            Direction { purpose: Purpose::Boot, ..direction },
            working(2, 1),
            working(1, 2),
        ] {
            assert!(!here.key(&other).is_tag(b"datagram", &right), "{other:?}");
        }
        for bit in 0..128 {
            let mut wrong = right;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!here.key(&direction).is_tag(b"datagram", &wrong));
        }
    }
}
