//! What a party runs on. A relay node is born with new working keys, made and certified where its
//! root secrets are; then the root secrets are put away, and the node knows only what is here.
//! The breaker node, which is trusted, runs on its root key.
//!
//! An announcement and an introduction of the keys are sealed for each of the others at birth,
//! because sealing them takes root secrets too.

use std::array;

use ed25519_dalek::{Signer, SigningKey};

use super::channel::{ChannelKey, Direction, End, Purpose, Shared, public, seal};
use super::{Membership, Random, RootSecrets, Secret};
use crate::Party;
use crate::statement::{Epoch, StationId};
use crate::wire::{Header, Message, PARTIES, Payload, WorkingKey};

/// What a party runs on.
#[derive(Debug)]
pub struct Working {
    party: Party,
    station: StationId,
    epoch: Epoch,
    /// Certified keys and the secret of signatures; none of the breaker node.
    certified: Option<(WorkingKey, Secret)>,
    channel: Secret,
    boot: [Option<Boot>; PARTIES],
}

/// What there is of the boot channel with one other party: the key of what comes from it, and the
/// sealed datagrams for it, of which the breaker node has none.
#[derive(Debug)]
pub(crate) struct Boot {
    pub(crate) inbound: ChannelKey,
    /// Announces the own keys.
    pub(crate) announcement: Option<Vec<u8>>,
    /// Introduces the own keys to somebody who announced its own.
    pub(crate) introduction: Option<Vec<u8>>,
}

impl Working {
    /// New keys of a relay node, numbered `counter`, which must be higher than that of all before.
    /// The seed is from the kernel, and for this only. None for the breaker node, for a counter
    /// of 0, and if somebody's root key is one that nobody can have.
    pub fn born(
        root: &RootSecrets,
        membership: &Membership,
        counter: u64,
        seed: &Secret,
    ) -> Option<Self> {
        let Party::Relay(node) = root.party else { return None };
        if counter == 0 {
            return None;
        }
        let mut random = Random::from_seed(seed, "working keys");
        let (signing, channel) = (random.secret(), random.secret());
        let mut key = WorkingKey {
            counter,
            signing_key: SigningKey::from_bytes(signing.expose()).verifying_key().to_bytes(),
            channel_key: public(&channel),
            signature: [0; 64],
        };
        let signed = key.signed(membership.station, membership.epoch, node);
        key.signature = SigningKey::from_bytes(root.signing.expose()).sign(&signed).to_bytes();
        let boot = boots(root, membership, Some(&key))?;
        let (party, station, epoch) = (root.party, membership.station, membership.epoch);
        Some(Self { party, station, epoch, certified: Some((key, signing)), channel, boot })
    }

    /// What the breaker node runs on. None for a relay node, and if somebody's root key is one
    /// that nobody can have.
    pub fn of_breaker(root: &RootSecrets, membership: &Membership) -> Option<Self> {
        if root.party != Party::Breaker {
            return None;
        }
        let (party, station, epoch) = (root.party, membership.station, membership.epoch);
        let (channel, boot) = (root.channel.clone(), boots(root, membership, None)?);
        Some(Self { party, station, epoch, certified: None, channel, boot })
    }

    /// Whose keys these are.
    pub const fn party(&self) -> Party {
        self.party
    }

    /// The certified keys; none of the breaker node.
    pub fn key(&self) -> Option<&WorkingKey> {
        self.certified.as_ref().map(|(key, _)| key)
    }

    /// The secret of signatures; none of the breaker node.
    pub(crate) fn signing(&self) -> Option<&Secret> {
        self.certified.as_ref().map(|(_, secret)| secret)
    }

    /// The boot channel with a party; none with this party itself.
    pub(crate) fn boot(&self, with: Party) -> Option<&Boot> {
        self.boot[with.index()].as_ref()
    }

    /// Keys of the working channel with another party whose key has this counter: inbound and
    /// outbound. None if that key is one that nobody can have.
    pub(crate) fn channel_keys(
        &self,
        other: &End,
        counter: u64,
    ) -> Option<(ChannelKey, ChannelKey)> {
        let shared = Shared::new(&self.channel, &other.public)?;
        let own = End { party: self.party, public: public(&self.channel) };
        let own_counter = self.key().map_or(0, |key| key.counter);
        let key = |sender: (End, u64), recipient: (End, u64)| {
            let purpose =
                Purpose::Working { sender_counter: sender.1, recipient_counter: recipient.1 };
            let (station, epoch) = (self.station, self.epoch);
            let (sender, recipient) = (sender.0, recipient.0);
            shared.key(&Direction { station, epoch, sender, recipient, purpose })
        };
        let (here, there) = ((own, own_counter), (*other, counter));
        Some((key(there, here), key(here, there)))
    }
}

/// Boot channels with all others; none if somebody's root key is one that nobody can have.
fn boots(
    root: &RootSecrets,
    membership: &Membership,
    key: Option<&WorkingKey>,
) -> Option<[Option<Boot>; PARTIES]> {
    let mut boots = array::from_fn(|_| None);
    let end = |party| End {
        party,
        public: match party {
            Party::Relay(node) => membership.node(node).channel_key,
            Party::Breaker => membership.breaker_channel_key,
        },
    };
    let own = End { party: root.party, public: public(&root.channel) };
    for party in Party::ALL.into_iter().filter(|party| *party != root.party) {
        let other = end(party);
        let shared = Shared::new(&root.channel, &other.public)?;
        let direction = |sender, recipient| Direction {
            station: membership.station,
            epoch: membership.epoch,
            sender,
            recipient,
            purpose: Purpose::Boot,
        };
        let inbound = shared.key(&direction(other, own));
        let outbound = shared.key(&direction(own, other));
        let sealed = |message: Message, counter: u64| {
            let payload = Payload::Message(message);
            let header = Header {
                kind: payload.kind(),
                sender: root.party,
                recipient: party,
                epoch: membership.epoch,
                sequence: counter,
            };
            let mut datagram = Vec::new();
            seal(&header, &payload, &outbound, &mut datagram);
            datagram
        };
        let announcement = key.map(|&key| sealed(Message::Announcement { key }, key.counter));
        let introduction =
            key.map(|&key| sealed(Message::Noted { counter: 0, key: Some(key) }, key.counter));
        boots[party.index()] = Some(Boot { inbound, announcement, introduction });
    }
    Some(boots)
}
