//! What a hostile node says in a tick, knowing how the breaker stands and holding the keys of one
//! node. Everything is of the right form, and sealed as its own channel wants it; so it passes all
//! but what the attack is about.

use clap::ValueEnum;
use quorum::certificate::Keyring;
use quorum::wire::{Certificate, Message, Proof, TwoSignatures};
use quorum::{Action, Attempt, Gen, NodeId, Party, Protocol, Scheme, Statement, Subject, Tick};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Attack {
    /// Wants whatever the breaker can do next, all the time, with proofs that are right
    Push,
    /// The same, with one bit of each proof flipped
    Flip,
    /// Says one thing to one and another to others, and trip and close at once
    Equivocate,
    /// Wants the last action again, in its gen
    OldGen,
    /// Wants the action after the next
    FutureGen,
    /// Speaks for ticks to come
    Early,
    /// Speaks for ticks that have passed
    Late,
    /// Says everything a tick too late
    Slow,
    /// Says nothing but that it is there
    Silent,
    /// Keeps its key from the breaker node, and agrees with its peers: what they certify with it is
    /// worth nothing
    Withhold,
    /// One after the other, a tick each, but for the last two
    All,
}

impl Attack {
    /// All that say something.
    const TURNS: [Self; 8] = [
        Self::Push,
        Self::Flip,
        Self::Equivocate,
        Self::OldGen,
        Self::FutureGen,
        Self::Early,
        Self::Late,
        Self::Slow,
    ];

    /// What it is in this tick.
    pub(crate) const fn now(self, tick: Tick) -> Self {
        match self {
            Self::All => Self::TURNS[(tick.0 % Self::TURNS.len() as u64) as usize],
            attack => attack,
        }
    }
}

/// How things stand when it speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scene {
    pub(crate) me: NodeId,
    pub(crate) subject: Subject,
    /// The breaker's next action.
    pub(crate) generation: Gen,
    /// What the breaker did last.
    pub(crate) stands: Action,
    pub(crate) tick: Tick,
    /// How many copies go with each message, each of them a bit different.
    pub(crate) copies: u32,
}

/// What is said in this tick, and to whom.
pub(crate) fn said(attack: Attack, scene: &Scene, keys: &mut Keyring) -> Vec<(Party, Message)> {
    let Scene { generation, stands, tick, .. } = *scene;
    let possible = Attempt { action: stands.opposite(), generation };
    let last = Attempt { action: stands, generation: Gen(generation.0.saturating_sub(1)) };
    let after = Attempt { action: stands, generation: generation.next() };
    let mut speak = |attempt, tick, flipped| spoken(scene, keys, attempt, tick, flipped);
    match attack.now(tick) {
        Attack::Push | Attack::All => speak(possible, tick, None),
        Attack::Flip => speak(possible, tick, Some(tick.0 as usize)),
        Attack::Equivocate => {
            let mut said = speak(Attempt { action: stands, generation }, tick, None);
            said.retain(|(to, _)| to.octet() % 2 == 0);
            said.extend(speak(possible, tick, None));
            said.extend(speak(possible, tick, Some(7)));
            said
        }
        Attack::OldGen => speak(last, tick, None),
        Attack::FutureGen => speak(after, tick, None),
        Attack::Early => [2, 3, 50].map(|ahead| speak(possible, tick.plus(ahead), None)).concat(),
        Attack::Late => [2, 3, 50].map(|behind| speak(possible, tick.minus(behind), None)).concat(),
        Attack::Slow => speak(possible, tick.minus(1), None),
        Attack::Silent => Vec::new(),
        Attack::Withhold => [possible, after].map(|attempt| speak(attempt, tick, None)).concat(),
    }
}

/// A vote, or shares and a certificate, for this attempt; with a bit of each proof flipped, if one
/// is named, and always in the copies.
fn spoken(
    scene: &Scene,
    keys: &mut Keyring,
    attempt: Attempt,
    tick: Tick,
    flipped: Option<usize>,
) -> Vec<(Party, Message)> {
    let Attempt { action, generation } = attempt;
    let mut prove = |tick| {
        let statement = Statement { subject: scene.subject, action, generation, tick };
        keys.prove(&statement)
    };
    let (Some(proof), Some(proof_next)) = (prove(tick), prove(tick.plus(1))) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let copies = 1..=scene.copies as usize;
    for bit in [flipped].into_iter().chain(copies.map(Some)) {
        let (proof, proof_next) = (with_flipped(proof, bit), with_flipped(proof_next, bit));
        match scene.subject.protocol {
            Protocol::Arbiter => {
                said.push((Party::Breaker, Message::Vote { attempt, tick, proof }));
            }
            Protocol::Peer => {
                let share = Message::Share { attempt, tick, proof, proof_next };
                let peers = NodeId::ALL.into_iter().filter(|node| *node != scene.me);
                said.extend(peers.map(|node| (Party::Relay(node), share.clone())));
                let certificate = forged(scene.me, proof);
                let message = Message::Certificate { attempt, tick, certificate };
                said.push((Party::Breaker, message));
            }
        }
    }
    said
}

fn with_flipped(proof: Proof, bit: Option<usize>) -> Proof {
    let Some(bit) = bit else { return proof };
    let flip = |octets: &mut [u8]| {
        let place = bit % (8 * octets.len());
        octets[place / 8] ^= 1 << (place % 8);
    };
    let mut proof = proof;
    match &mut proof {
        Proof::Signature(octets) => flip(octets),
        Proof::Bls(octets) => flip(octets),
        Proof::Frost(shares) => {
            shares.iter_mut().flatten().for_each(|share| flip(&mut share.z_share));
        }
    }
    proof
}

/// A certificate out of one proof: the other half is made up.
fn forged(me: NodeId, proof: Proof) -> Certificate {
    let other = NodeId::ALL[usize::from(me == NodeId::ALL[0])];
    match proof {
        Proof::Signature(signature) => {
            let two = TwoSignatures::new((me, signature), (other, signature));
            Certificate::TwoSignatures(two.expect("these are two nodes"))
        }
        Proof::Bls(share) => Certificate::Bls(share),
        Proof::Frost(_) => Certificate::Frost([7; 64]),
    }
}
