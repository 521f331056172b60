//! Channels: who a datagram is from, and that it is new, before anybody looks at what it says.
//!
//! Every datagram has a tag under a key of its pair, direction and epoch, and a sequence number.
//! A flood without keys costs a comparison of numbers or one hash a datagram, and no signature is
//! ever checked for it. There are two channels in each direction:
//!
//! - the *working* channel, between the working keys of two nodes (the breaker node, which is
//!   trusted, has its root key only): everything but the following;
//! - the *boot* channel, between root keys: announcements and introductions of working keys, made
//!   when the keys are ([`crate::keys::Working`]). Their number is the counter of the
//!   keys; the newest may come again and again, because its answer can get lost.
//!
//! A channel does not say that a sender is honest, and says nothing to third parties: both ends
//! have the key. That is what proofs are for.

mod window;

use std::fmt;

use iec61850::wire::WireError;
use window::Window;

use super::Party;
use super::keys::channel::{ChannelKey, End, seal};
use super::keys::{Membership, Working};
use super::statement::{Epoch, NodeId};
use super::wire::{Header, Message, PARTIES, Payload, TAG_OCTETS, WorkingKey};

/// Why a datagram is not even looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It is no datagram.
    Malformed(WireError),
    /// It is for somebody else, or from the recipient itself.
    Misdirected,
    /// It is under keys of another epoch.
    Epoch(Epoch),
    /// No working key of its sender is known.
    UnknownKey,
    /// Its number was seen before or is far behind, or the keys in it are older than those known.
    Replayed,
    /// Its tag is wrong.
    Tag,
}

/// Both directions between this party and another one, under working keys.
#[derive(Debug)]
struct Pair {
    /// Counter of the peer's key; 0 of the breaker node.
    counter: u64,
    inbound: ChannelKey,
    window: Window,
    outbound: ChannelKey,
    sent: u64,
}

#[derive(Debug)]
struct Peer {
    boot_inbound: ChannelKey,
    pair: Option<Pair>,
}

/// The channels of one party with all others.
#[derive(Debug)]
pub struct Channels {
    working: Working,
    epoch: Epoch,
    peers: [Option<Peer>; PARTIES],
    buffer: Vec<u8>,
    /// The number before that of the first datagram under each key.
    numbered_after: u64,
}

impl Channels {
    /// Channels of somebody with these keys. Of relay nodes nothing but their root keys is known
    /// yet.
    pub fn new(working: Working, membership: &Membership) -> Self {
        let peers = Party::ALL.map(|party| {
            let boot_inbound = working.boot(party)?.inbound.clone();
            Some(Peer { boot_inbound, pair: None })
        });
        let mut channels = Self {
            working,
            epoch: membership.epoch,
            peers,
            buffer: Vec::with_capacity(1500),
            numbered_after: 0,
        };
        if channels.working.party() != Party::Breaker {
            let end = membership.breaker_channel_key;
            channels.install(Party::Breaker, 0, end);
        }
        channels
    }

    /// Numbers datagrams from after this on. For a party that runs on the same keys after a restart,
    /// and no longer knows its numbers: those after the time in ns are higher than any before.
    pub fn number_after(&mut self, number: u64) {
        self.numbered_after = number;
        for pair in self.peers.iter_mut().flatten().filter_map(|peer| peer.pair.as_mut()) {
            pair.sent = pair.sent.max(number);
        }
    }

    /// The keys of this party.
    pub const fn working(&self) -> &Working {
        &self.working
    }

    /// Who sent a datagram, and what it says.
    ///
    /// # Errors
    /// Why it is not looked at. What says so after the tag was found right (a malformed payload)
    /// has used up its number; nothing else has any effect.
    pub fn open(&mut self, datagram: &[u8]) -> Result<(Party, Payload), Refusal> {
        let (header, octets, tag) = Header::decode(datagram).map_err(Refusal::Malformed)?;
        let Header { kind, sender, recipient, epoch, sequence } = header;
        if recipient != self.working.party() {
            return Err(Refusal::Misdirected);
        }
        let peer = self.peers[sender.index()].as_mut().ok_or(Refusal::Misdirected)?;
        if epoch != self.epoch {
            return Err(Refusal::Epoch(epoch));
        }
        let authenticated = &datagram[..datagram.len() - TAG_OCTETS];
        if kind.is_boot() {
            if peer.pair.as_ref().is_some_and(|pair| sequence < pair.counter) {
                return Err(Refusal::Replayed);
            }
            if !peer.boot_inbound.is_tag(authenticated, tag) {
                return Err(Refusal::Tag);
            }
        } else {
            let pair = peer.pair.as_mut().ok_or(Refusal::UnknownKey)?;
            if !pair.window.is_new(sequence) {
                return Err(Refusal::Replayed);
            }
            if !pair.inbound.is_tag(authenticated, tag) {
                return Err(Refusal::Tag);
            }
            pair.window.remember(sequence);
        }
        let payload = Payload::decode(kind, octets).map_err(Refusal::Malformed)?;
        Ok((sender, payload))
    }

    /// Hands over the datagrams that say this to somebody: one, or two where a key goes along
    /// with an answer; none if no working key of theirs is known.
    pub fn seal(&mut self, to: Party, payload: &Payload, mut send: impl FnMut(&[u8])) {
        let boot = self.working.boot(to);
        match payload {
            Payload::Message(Message::Announcement { .. }) => {
                boot.and_then(|boot| boot.announcement.as_deref()).into_iter().for_each(send);
            }
            &Payload::Message(Message::Noted { counter, key: Some(_) }) => {
                let introduction = boot.and_then(|boot| boot.introduction.as_deref());
                introduction.into_iter().for_each(&mut send);
                let noted = Payload::Message(Message::Noted { counter, key: None });
                self.seal_one(to, &noted).into_iter().for_each(send);
            }
            payload => self.seal_one(to, payload).into_iter().for_each(send),
        }
    }

    fn seal_one(&mut self, to: Party, payload: &Payload) -> Option<&[u8]> {
        let pair = self.peers[to.index()].as_mut()?.pair.as_mut()?;
        pair.sent = pair.sent.checked_add(1).expect("nobody sends 2^64 datagrams");
        let header = Header {
            kind: payload.kind(),
            sender: self.working.party(),
            recipient: to,
            epoch: self.epoch,
            sequence: pair.sent,
        };
        seal(&header, payload, &pair.outbound, &mut self.buffer);
        Some(&self.buffer)
    }

    /// Uses this working key of a node from now on, if it is newer than the one in use. The
    /// caller has found its certificate good.
    ///
    /// Says false, and changes nothing, if it is not newer, or is a key with which a secret would
    /// be known to all.
    pub fn adopt(&mut self, node: NodeId, key: &WorkingKey) -> bool {
        let party = Party::Relay(node);
        let pair = self.peers[party.index()].as_ref().and_then(|peer| peer.pair.as_ref());
        let is_newer = pair.is_none_or(|pair| key.counter > pair.counter);
        is_newer && self.install(party, key.counter, key.channel_key)
    }

    /// Forgets the working key of a node if it is older than this counter.
    pub fn distrust(&mut self, node: NodeId, counter: u64) {
        if let Some(peer) = &mut self.peers[Party::Relay(node).index()] {
            peer.pair.take_if(|pair| pair.counter < counter);
        }
    }

    fn install(&mut self, party: Party, counter: u64, public: [u8; 32]) -> bool {
        let keys = self.working.channel_keys(&End { party, public }, counter);
        let (Some(peer), Some((inbound, outbound))) = (&mut self.peers[party.index()], keys) else {
            return false;
        };
        let window = Window::default();
        peer.pair = Some(Pair { counter, inbound, window, outbound, sent: self.numbered_after });
        true
    }
}

impl Refusal {
    /// Its name, for counters.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Misdirected => "misdirected",
            Self::Epoch(_) => "other epoch",
            Self::UnknownKey => "unknown key",
            Self::Replayed => "replayed",
            Self::Tag => "wrong tag",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(out, "{}: {error}", self.name()),
            Self::Epoch(epoch) => write!(out, "{}: {}", self.name(), epoch.0),
            _ => out.write_str(self.name()),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests;
