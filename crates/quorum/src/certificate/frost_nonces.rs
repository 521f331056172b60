//! Nonces of FROST, exchanged with each peer before they are needed: made, offered, confirmed,
//! spent once and gone.
//!
//! Two signatures with one pair of nonces give the share of the key away. So nonces have a serial
//! number that is never used again, belong to one peer and one slot of ticks, are taken out of
//! here when they are spent and overwritten after that use, and live in memory only: a node that
//! is reborn has none of them.
//!
//! Both of a pair must use the same commitments. Therefore a node spends nonces only if the peer
//! has confirmed that it has their commitments, and offers new ones for a slot only when the
//! statement that the old ones were spent on has lost its authority. What is left is the moment in
//! which one of the two has just got the other's new ones, and that is nobody's fault.

use std::array;

use frost_ed25519::keys::SigningShare;
use frost_ed25519::round1::{NonceCommitment, SigningCommitments, SigningNonces};

use crate::budget::Budget;
use crate::keys::{Random, Secret};
use crate::statement::{NODES, NodeId, Tick};
use crate::wire::{Commitment, Commitments, SLOTS};

/// For how many ticks after a statement's own a slot is left alone: those for which the statement
/// has authority anywhere (freshness, look-ahead, clocks), and as many again for datagrams.
const REST_TICKS: u64 = 6;

/// How many nonces are made at most in one tick, so that a tick's work is bounded. As many as an
/// attempt spends in a tick: one with each peer. With fewer, who attempts for long runs out of
/// them, and anybody who joins it late finds none that both have.
const MADE_PER_TICK: usize = NODES - 1;

/// How many new commitments of one peer are looked at in a tick, good or bad, because each costs
/// two checks that a point is one: a correct peer makes no more than [`MADE_PER_TICK`], and one
/// more comes in place of one that was lost. What is not looked at is not confirmed, and so it
/// comes again.
const LOOKS_PER_TICK: u8 = 4;

/// After how many ticks commitments are sent again that were not confirmed.
const REPEAT_TICKS: u64 = 8;

/// The peers of a node, in order.
pub(super) fn peers(node: NodeId) -> impl Iterator<Item = NodeId> {
    NodeId::ALL.into_iter().filter(move |peer| *peer != node)
}

/// Commitments of both that a share is made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) own_serial: u64,
    pub(super) own: SigningCommitments,
    pub(super) peer_serial: u64,
    pub(super) peer: SigningCommitments,
}

/// Nonces for one peer and the ticks of one slot.
#[derive(Debug, Default)]
struct Slot {
    own: Option<(u64, SigningNonces)>,
    /// Serials of those spent last and before; 0 if there were none.
    spent_serials: [u64; 2],
    /// The last serial of this node's that the peer has.
    confirmed: u64,
    /// The peer's latest commitments.
    peer: Option<(u64, SigningCommitments)>,
    /// For which tick the last were spent.
    spent: Option<Tick>,
}

/// Nonces for one peer.
#[derive(Debug, Default)]
struct Peer {
    slots: [Slot; SLOTS],
    /// Whether something is to be sent.
    news: bool,
    /// When something was sent last, unless the rest is wanted now.
    sent: Option<Tick>,
}

/// Nonces for all peers.
#[derive(Debug)]
pub(super) struct Exchange {
    node: NodeId,
    peers: [Peer; NODES],
    serial: u64,
    /// The tick of the last offers.
    now: Tick,
    /// How many new commitments of each peer were looked at.
    looks: Budget,
}

impl Exchange {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            node,
            peers: Default::default(),
            serial: 0,
            now: Tick::default(),
            looks: Budget::default(),
        }
    }

    /// The slot of a tick.
    pub(super) const fn slot(tick: Tick) -> u8 {
        (tick.0 % SLOTS as u64) as u8
    }

    /// Everything exchanged with a peer is void.
    pub(super) fn forget(&mut self, peer: NodeId) {
        self.peers[peer.index()] = Peer::default();
    }

    /// Nonces to be spent on a statement of this tick together with a peer: they are here no
    /// longer. None if there are none that both have.
    pub(super) fn spend(&mut self, peer: NodeId, tick: Tick) -> Option<(Pair, SigningNonces)> {
        let slot = &mut self.peers[peer.index()].slots[usize::from(Self::slot(tick))];
        let (peer_serial, theirs) = slot.peer?;
        let confirmed = slot.confirmed;
        let (own_serial, nonces) = slot.own.take_if(|(serial, _)| *serial == confirmed)?;
        slot.spent_serials = [own_serial, slot.spent_serials[0]];
        slot.spent = Some(tick);
        let own = *nonces.commitments();
        Some((Pair { own_serial, own, peer_serial, peer: theirs }, nonces))
    }

    /// Whether a peer that used these serials, its own and this node's, used what it may have known
    /// as the latest: the ones that this node used, or those just before or after.
    pub(super) fn plausible(
        &self,
        peer: NodeId,
        tick: Tick,
        pair: &Pair,
        used: (u64, u64),
    ) -> bool {
        let slot = &self.peers[peer.index()].slots[usize::from(Self::slot(tick))];
        let latest = slot.peer.map(|(serial, _)| serial);
        (used.0 == pair.peer_serial || Some(used.0) == latest)
            && used.1 != 0
            && slot.spent_serials.contains(&used.1)
    }

    /// Makes nonces where they are missing, and says what is to be sent to whom now.
    pub(super) fn offers(
        &mut self,
        now: Tick,
        share: &SigningShare,
        seed: &Secret,
    ) -> Vec<(NodeId, Commitments)> {
        self.now = now;
        let mut random = Random::from_seed(seed, "nonces");
        let mut left = MADE_PER_TICK;
        // The slots that come next first.
        let order = (1..=SLOTS as u64).map(|ahead| Self::slot(now.plus(ahead)));
        for slot in order {
            for peer in peers(self.node) {
                let peer = &mut self.peers[peer.index()];
                let slot = &mut peer.slots[usize::from(slot)];
                let rested = slot.spent.is_none_or(|tick| now > tick.plus(REST_TICKS));
                if left == 0 || slot.own.is_some() || !rested {
                    continue;
                }
                left -= 1;
                self.serial += 1;
                slot.own = Some((self.serial, SigningNonces::new(share, &mut random)));
                peer.news = true;
            }
        }
        let peers = peers(self.node);
        peers.filter_map(|node| Some((node, self.peers[node.index()].offer(now)?))).collect()
    }

    /// Takes what a peer offers and confirms, no more than a few new ones in a tick. Says false if
    /// one of those looked at is none.
    pub(super) fn take(&mut self, node: NodeId, commitments: &Commitments) -> bool {
        let peer = &mut self.peers[node.index()];
        for (slot, seen) in peer.slots.iter_mut().zip(commitments.seen()) {
            if *seen > slot.confirmed {
                slot.confirmed = *seen;
                // It takes a few at a time: if there are more, they need not wait.
                peer.sent = None;
            }
        }
        // Its answer, if it wants one, confirms what it offers here.
        peer.news |= commitments.wants_answer();
        let mut good = true;
        for commitment in commitments.as_slice() {
            let slot = &mut peer.slots[usize::from(commitment.slot)];
            let serial = commitment.serial;
            if slot.peer.is_some_and(|(known, _)| serial <= known) {
                continue;
            }
            if !self.looks.spend(self.now, node, LOOKS_PER_TICK) {
                break;
            }
            match signing_commitments(commitment) {
                Some(commitments) => slot.peer = Some((serial, commitments)),
                None => good = false,
            }
        }
        good
    }
}

impl Peer {
    /// What is to be sent now, if anything.
    fn offer(&mut self, now: Tick) -> Option<Commitments> {
        let unconfirmed =
            |slot: &Slot| slot.own.as_ref().is_some_and(|(serial, _)| *serial != slot.confirmed);
        let wants_answer = self.slots.iter().any(unconfirmed);
        let repeat = self.sent.is_none_or(|sent| now >= sent.plus(REPEAT_TICKS));
        let due = self.news || (wants_answer && repeat);
        if !due {
            return None;
        }
        self.news = false;
        self.sent = Some(now);
        let seen = array::from_fn(|slot| self.slots[slot].peer.map_or(0, |(serial, _)| serial));
        let offered = self.slots.iter().enumerate().filter_map(|(slot, nonces)| {
            let (serial, nonces) = nonces.own.as_ref()?;
            Some(commitment(slot as u8, *serial, nonces.commitments()))
        });
        Commitments::new(wants_answer, seen, offered.collect())
    }
}

fn commitment(slot: u8, serial: u64, commitments: &SigningCommitments) -> Commitment {
    let octets = |commitment: &NonceCommitment| {
        let octets = commitment.serialize().expect("a nonce is not 0, but by a chance of 2^-252");
        octets.try_into().expect("a point has 32 octets")
    };
    let (hiding, binding) = (octets(commitments.hiding()), octets(commitments.binding()));
    Commitment { slot, serial, hiding, binding }
}

/// The commitments of these octets, if they are points other than the neutral one.
fn signing_commitments(commitment: &Commitment) -> Option<SigningCommitments> {
    let hiding = NonceCommitment::deserialize(&commitment.hiding).ok()?;
    let binding = NonceCommitment::deserialize(&commitment.binding).ok()?;
    Some(SigningCommitments::new(hiding, binding))
}
