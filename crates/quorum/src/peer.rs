//! Peer Protocol, relay side: shares to the three peers at once and at each begin of a tick, a
//! certificate to the breaker node as soon as two relay nodes have said the same for one tick.
//!
//! A share speaks for its tick and the next one, so that two nodes whose clocks differ by a tick
//! have one in common without another round. Which common tick is certified matters: the newest
//! may be one ahead of this node's clock, and a breaker node whose clock is behind would refuse it
//! as too early. So it is the newest that has begun here, and only if there is none, the next one,
//! which then has begun at the peer.
//!
//! The price of one corrupt share is one combination: its sender is not asked again for this
//! gen.
//!
//! A share may be sound here and its certificate worth nothing to the breaker node, which knows
//! another key of its sender, or none: a node that announces its key to relay nodes only says so
//! to nobody. So nodes certify with each other in turn.

use std::collections::BTreeMap;

use super::effect::Turn;
use super::{
    Attempt, Gen, Message, Misdeed, NODES, NoCertificate, NodeId, Party, QUORUM, Refusal, Scheme,
    Speaker, Tick,
};

/// The voice of a relay node in the Peer Protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Peer<P, C> {
    /// All that follows is about this action of the breaker and the only one possible in it.
    generation: Gen,
    /// What each node has said, by tick: the first proof of each.
    proofs: [BTreeMap<Tick, P>; NODES],
    /// Who has sent a wrong proof.
    wrong: [bool; NODES],
    /// In which tick evidence against a node was given last: once is enough.
    blamed: [Option<Tick>; NODES],
    certificates: BTreeMap<Tick, C>,
    /// When a certificate was sent last, and for which tick.
    sent: Option<(Tick, Tick)>,
}

/// What was heard from a peer.
pub(super) struct Heard<P> {
    pub(super) node: NodeId,
    pub(super) attempt: Attempt,
    pub(super) tick: Tick,
    pub(super) proofs: [P; 2],
}

impl<P: Clone + Eq, C: Clone> Peer<P, C> {
    pub(super) fn new() -> Self {
        Self {
            generation: Gen(0),
            proofs: Default::default(),
            wrong: [false; NODES],
            blamed: [None; NODES],
            certificates: BTreeMap::new(),
            sent: None,
        }
    }

    /// The breaker has come to this gen.
    pub(super) fn reached(&mut self, generation: Gen) {
        if self.generation != generation {
            *self = Self { generation, blamed: self.blamed, ..Self::new() };
        }
    }

    /// A node has a new key: what it said with the old one is void, and so are certificates, which
    /// may be made of that, and what was held against it.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.proofs[node.index()].clear();
        self.wrong[node.index()] = false;
        self.certificates.clear();
        self.sent = None;
    }

    /// Says in this tick what is attempted, and certifies it if others have said so already.
    pub(super) fn speak<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        turn: &mut Turn<'_, S>,
        attempt: Attempt,
        speaker: &Speaker,
    ) {
        let tick = turn.tick();
        let proof = self.own_proof(tick, attempt, speaker, turn.scheme);
        let proof_next = self.own_proof(tick.plus(1), attempt, speaker, turn.scheme);
        if let (Some(proof), Some(proof_next)) = (proof, proof_next) {
            for node in NodeId::ALL.into_iter().filter(|&node| node != speaker.me) {
                let (proof, proof_next) = (proof.clone(), proof_next.clone());
                let message = Message::Share { attempt, tick, proof, proof_next };
                turn.send(Party::Relay(node), message);
            }
        }
        self.combine(turn, attempt, speaker);
    }

    fn own_proof<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        tick: Tick,
        attempt: Attempt,
        speaker: &Speaker,
        scheme: &mut S,
    ) -> Option<P> {
        let own = &mut self.proofs[speaker.me.index()];
        if let Some(proof) = own.get(&tick) {
            return Some(proof.clone());
        }
        let proof = scheme.prove(&speaker.subject.statement(attempt, tick))?;
        own.insert(tick, proof.clone());
        Some(proof)
    }

    /// Keeps what a peer says, the first word for each tick.
    pub(super) fn hear<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        turn: &mut Turn<'_, S>,
        heard: Heard<P>,
        possible: Attempt,
        speaker: &Speaker,
    ) -> Result<(), Refusal> {
        let Heard { node, attempt, tick, proofs: [proof, proof_next] } = heard;
        let now = turn.tick();
        let freshness = speaker.parameters.freshness_ticks;
        if attempt.generation < possible.generation {
            return Err(Refusal::OldGen);
        }
        if attempt.generation > possible.generation {
            return Err(Refusal::FutureGen);
        }
        if tick < now.minus(freshness) {
            return Err(Refusal::Stale);
        }
        if tick > now.plus(freshness) {
            return Err(Refusal::Early);
        }
        if attempt.action != possible.action {
            let statement = speaker.subject.statement(attempt, tick);
            self.blame(turn, node, Misdeed::Impossible { statement, proof });
            return Err(Refusal::Impossible);
        }
        let mut news = false;
        for (tick, proof) in [(tick, proof), (tick.plus(1), proof_next)] {
            match self.proofs[node.index()].get(&tick) {
                None => {
                    self.proofs[node.index()].insert(tick, proof);
                    news = true;
                }
                Some(first) if *first != proof => {
                    let statement = speaker.subject.statement(attempt, tick);
                    let proofs = [first.clone(), proof];
                    self.blame(turn, node, Misdeed::Equivocation { statement, proofs });
                }
                Some(_) => {}
            }
        }
        if news { Ok(()) } else { Err(Refusal::Repeated) }
    }

    /// Makes a certificate of this node's proof and a peer's and sends it, if that was not done
    /// for this tick.
    pub(super) fn combine<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        turn: &mut Turn<'_, S>,
        attempt: Attempt,
        speaker: &Speaker,
    ) {
        let now = turn.tick();
        // Each round but the last rules a peer out, and there are no more than three.
        for _ in 1..NODES {
            let Some((tick, peer)) = self.candidate(now, speaker.me) else { return };
            if self.sent == Some((now, tick)) {
                return;
            }
            let certificate = match self.certificates.get(&tick) {
                Some(certificate) => Ok(certificate.clone()),
                None => self.certify((tick, peer), attempt, speaker, turn.scheme),
            };
            match certificate {
                Ok(certificate) => {
                    self.certificates.insert(tick, certificate.clone());
                    self.sent = Some((now, tick));
                    let message = Message::Certificate { attempt, tick, certificate };
                    return turn.send(Party::Breaker, message);
                }
                // Another peer's may go together with this node's.
                Err(NoCertificate::NotTogether) => {
                    self.proofs[peer.index()].remove(&tick);
                }
                Err(NoCertificate::Wrong(culprit)) => {
                    let proof = self.proofs[culprit.index()].remove(&tick);
                    self.wrong[culprit.index()] = culprit != speaker.me;
                    if let Some(proof) = proof.filter(|_| culprit != speaker.me) {
                        let statement = speaker.subject.statement(attempt, tick);
                        self.blame(turn, culprit, Misdeed::WrongProof { statement, proof });
                    }
                }
            }
        }
    }

    /// The tick to be certified, and with whom: the newest that has begun, else the next one.
    fn candidate(&self, now: Tick, me: NodeId) -> Option<(Tick, NodeId)> {
        let own = &self.proofs[me.index()];
        let begun = own.range(..=now).rev();
        let ahead = own.range(now.plus(1)..);
        begun.chain(ahead).find_map(|(&tick, _)| {
            let agrees = |node: &NodeId| {
                !self.wrong[node.index()] && self.proofs[node.index()].contains_key(&tick)
            };
            partners(me, tick).into_iter().find(agrees).map(|node| (tick, node))
        })
    }

    fn certify<S: Scheme<Proof = P, Certificate = C>>(
        &self,
        (tick, peer): (Tick, NodeId),
        attempt: Attempt,
        speaker: &Speaker,
        scheme: &mut S,
    ) -> Result<C, NoCertificate> {
        let proofs: [(NodeId, &P); QUORUM] = [speaker.me, peer].map(|node| {
            let proof = self.proofs[node.index()].get(&tick);
            (node, proof.expect("a candidate tick is one for which both have a proof"))
        });
        scheme.combine(&speaker.subject.statement(attempt, tick), proofs)
    }

    /// What has expired is forgotten.
    pub(super) fn expire(&mut self, now: Tick, speaker: &Speaker) {
        let oldest = now.minus(speaker.parameters.freshness_ticks);
        for proofs in &mut self.proofs {
            proofs.retain(|&tick, _| tick >= oldest);
        }
        self.certificates.retain(|&tick, _| tick >= oldest);
        self.sent = self.sent.filter(|&(at, _)| at == now);
        for blamed in &mut self.blamed {
            *blamed = blamed.filter(|&at| at == now);
        }
    }

    fn blame<S: Scheme<Proof = P, Certificate = C>>(
        &mut self,
        turn: &mut Turn<'_, S>,
        node: NodeId,
        misdeed: Misdeed<P>,
    ) {
        if self.blamed[node.index()].replace(turn.tick()) != Some(turn.tick()) {
            turn.blame(node, misdeed);
        }
    }
}

/// With whom a node certifies a tick, the first choice first. In each tick the four are two pairs, and
/// all pairs come within three ticks: so if another node is hostile, of two correct nodes one chooses the
/// other in at least two ticks of three, and three correct nodes have such a pair in each.
fn partners(me: NodeId, tick: Tick) -> [NodeId; NODES - 1] {
    let others = NODES - 1;
    let first = (tick.0 % others as u64) as usize;
    std::array::from_fn(|turn| NodeId::ALL[me.index() ^ (1 + (first + turn) % others)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first choice of `me` among those that are there.
    fn choice(me: NodeId, tick: Tick, there: &[NodeId]) -> NodeId {
        partners(me, tick).into_iter().find(|node| there.contains(node)).expect("somebody is there")
    }

    #[test]
    fn in_each_tick_the_nodes_are_two_pairs_and_all_pairs_come_in_turn() {
        for me in NodeId::ALL {
            let firsts: Vec<_> = (0..3).map(|tick| partners(me, Tick(tick))[0]).collect();
            for other in NodeId::ALL {
                assert_eq!(firsts.contains(&other), other != me);
                assert_eq!(partners(me, Tick(7)).contains(&other), other != me);
            }
            for tick in (0..4).chain([u64::MAX]).map(Tick) {
                assert_eq!(partners(partners(me, tick)[0], tick)[0], me);
            }
        }
    }

    /// A hostile node whose certificates are worth nothing costs nothing while three are correct, and
    /// a tick at most while two are.
    #[test]
    fn a_node_whose_certificates_are_worth_nothing_costs_one_tick_at_most() {
        for hostile in NodeId::ALL {
            let correct: Vec<_> = NodeId::ALL.into_iter().filter(|node| *node != hostile).collect();
            for away in correct.iter().map(Some).chain([None]) {
                let there: Vec<_> =
                    NodeId::ALL.into_iter().filter(|node| Some(node) != away).collect();
                let certified = |tick: u64| {
                    let mut who = correct.iter().filter(|node| Some(*node) != away);
                    who.any(|&me| choice(me, Tick(tick), &there) != hostile)
                };
                let ticks = [certified(0), certified(1), certified(2)];
                let wanted = if away.is_none() { 3 } else { 2 };
                assert_eq!(
                    ticks.into_iter().filter(|is| *is).count(),
                    wanted,
                    "{hostile} {away:?}"
                );
            }
        }
    }
}
