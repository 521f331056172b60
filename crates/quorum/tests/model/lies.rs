//! What a hostile node can say, with the keys that it has: one message of each kind that a
//! receiver tells apart. What changes nothing is no step, so it may say it at any time.

use std::collections::BTreeSet;

use quorum::CommonTime;
use quorum::{
    Acknowledgement, Action, Attempt, Gen, Message, NODES, NodeId, Party, Protocol, Scheme,
    Statement, Tick,
};

use super::station::{Node, Said, State, Station};
use crate::bench::subject;
use crate::symbolic::{Certificate, Proof, Symbolic};

/// All that can be said now.
pub(crate) fn all(station: &Station, state: &State, mut say: impl FnMut(Party, Said)) {
    let liar = Liar { protocol: station.protocol, me: station.liar(state) };
    let remembered = state.breaker.remembered();
    let possible =
        Attempt { action: remembered.state.opposite(), generation: remembered.generation };
    match station.protocol {
        Protocol::Arbiter => liar.votes(state, possible, |said| say(Party::Breaker, said)),
        Protocol::Peer => liar.certificates(state, possible, |said| say(Party::Breaker, said)),
    }
    for node in &state.nodes {
        liar.acknowledges(node, |said| say(Party::Relay(node.id), said));
    }
}

pub(crate) struct Liar {
    pub(crate) protocol: Protocol,
    pub(crate) me: NodeId,
}

impl Liar {
    pub(crate) fn proof(&self, attempt: Attempt, tick: Tick) -> Proof {
        let Attempt { action, generation } = attempt;
        let subject = subject(self.protocol);
        let statement = Statement { subject, action, generation, tick };
        let mut scheme = Symbolic::new(Some(self.me), [1; NODES]);
        scheme.prove(&statement).expect("a relay node has a key")
    }

    /// Votes that are sound for any tick, broken, impossible, of other gens, and others' as own.
    fn votes(&self, state: &State, possible: Attempt, mut say: impl FnMut(Said)) {
        let now = state.tick;
        for tick in now.minus(2).0..=now.plus(2).0 {
            let (attempt, tick) = (possible, Tick(tick));
            say(Message::Vote { attempt, tick, proof: self.proof(attempt, tick) });
        }
        let proof = self.proof(possible, now).broken();
        say(Message::Vote { attempt: possible, tick: now, proof });
        for attempt in others(possible) {
            say(Message::Vote { attempt, tick: now, proof: self.proof(attempt, now) });
        }
        for (_, message) in &state.said {
            if let Message::Vote { .. } = message {
                say(message.clone());
            }
        }
    }

    /// Certificates of what a correct node has said and its own word for it, of two correct nodes,
    /// of its own word twice, broken, of other gens.
    fn certificates(&self, state: &State, possible: Attempt, mut say: impl FnMut(Said)) {
        let mut stated: BTreeSet<(Attempt, Tick, Proof)> = BTreeSet::new();
        for (_, message) in &state.said {
            if let Message::Share { attempt, tick, proof, proof_next } = message {
                stated.insert((*attempt, *tick, *proof));
                stated.insert((*attempt, tick.plus(1), *proof_next));
            }
        }
        let mut certify = |attempt, tick, proofs| {
            let certificate = Certificate::of(proofs);
            say(Message::Certificate { attempt, tick, certificate });
        };
        for &(attempt, tick, theirs) in &stated {
            certify(attempt, tick, [theirs, self.proof(attempt, tick)]);
            // Its word for another tick than it is sent for.
            certify(attempt, tick.plus(1), [theirs, self.proof(attempt, tick)]);
            for &(other, same, proof) in &stated {
                if (other, same) == (attempt, tick) && theirs.by < proof.by {
                    certify(attempt, tick, [theirs, proof]);
                }
            }
        }
        for attempt in others(possible).chain([possible]) {
            let own = self.proof(attempt, state.tick);
            certify(attempt, state.tick, [own, own]);
        }
        let own = self.proof(possible, state.tick);
        let certificate = Certificate::of([own, own]).broken();
        say(Message::Certificate { attempt: possible, tick: state.tick, certificate });
    }

    /// To a relay node: that the breaker has moved.
    pub(crate) fn acknowledges(&self, node: &Node, mut say: impl FnMut(Said)) {
        let Some(Attempt { action, generation }) = next(node) else { return };
        say(Message::Acknowledgement(Acknowledgement {
            generation: generation.next(),
            state: action,
            acted_at: CommonTime::ZERO,
            tick: node.tick,
            counters: [1; NODES],
        }));
    }

    /// To a relay node: shares that are sound or not, for one tick or both, of any tick that may
    /// be fresh, impossible, or of another gen.
    pub(crate) fn shares(&self, node: &Node, mut say: impl FnMut(Said)) {
        let Some(possible) = next(node) else { return };
        for tick in node.tick.minus(2).0..=node.tick.plus(2).0 {
            let tick = Tick(tick);
            let [one, two] = [tick, tick.plus(1)].map(|tick| self.proof(possible, tick));
            let broken = [one.broken(), two.broken()];
            for [proof, proof_next] in [[one, two], broken, [one, broken[1]], [broken[0], two]] {
                say(Message::Share { attempt: possible, tick, proof, proof_next });
            }
        }
        for attempt in others(possible) {
            let [proof, proof_next] =
                [node.tick, node.tick.plus(1)].map(|tick| self.proof(attempt, tick));
            say(Message::Share { attempt, tick: node.tick, proof, proof_next });
        }
    }
}

/// The breaker's next action, as far as a node knows.
fn next(node: &Node) -> Option<Attempt> {
    let (stands, generation) = (node.relay.state()?, node.relay.generation()?);
    Some(Attempt { action: stands.breaker().opposite(), generation })
}

/// Attempts that are not the possible one: the opposite, the next, those before.
fn others(possible: Attempt) -> impl Iterator<Item = Attempt> {
    let Attempt { action, generation } = possible;
    let opposite = Attempt { action: action.opposite(), generation };
    let next = Attempt { generation: generation.next(), ..opposite };
    let before = generation.0.checked_sub(1).map(Gen);
    let before = before.into_iter().flat_map(|generation| {
        [Action::Trip, Action::Close].map(|action| Attempt { action, generation })
    });
    [opposite, next].into_iter().chain(before)
}
