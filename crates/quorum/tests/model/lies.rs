//! What a hostile node can say, with the keys that it has: one message of each kind that a
//! receiver tells apart. What changes nothing is no step, so it may say it at any time.

use std::collections::BTreeSet;

use quorum::{Action, Attempt, Gen, Message, NodeId, Party, Protocol, Tick};

use super::station::{Node, State, Station};
use crate::bench::{self, Said, acknowledgement, broken, subject};
use crate::symbolic::{Certificate, Proof};

/// All that can be said now.
pub(crate) fn all(station: &Station, state: &State, mut say: impl FnMut(Party, Said)) {
    let liar = Liar { protocol: station.protocol, me: station.liar(state) };
    let possible = bench::possible(&state.breaker.remembered());
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
        bench::proof(self.me, subject(self.protocol).statement(attempt, tick))
    }

    fn vote(&self, attempt: Attempt, tick: Tick) -> Said {
        Message::Vote { attempt, tick, proof: self.proof(attempt, tick) }
    }

    pub(crate) fn share(&self, attempt: Attempt, tick: Tick) -> Said {
        let [proof, proof_next] = [tick, tick.plus(1)].map(|tick| self.proof(attempt, tick));
        Message::Share { attempt, tick, proof, proof_next }
    }

    /// Votes that are sound for any tick, broken, impossible, of other gens, and others' as own.
    fn votes(&self, state: &State, possible: Attempt, mut say: impl FnMut(Said)) {
        let now = state.tick;
        for tick in now.minus(2).0..=now.plus(2).0 {
            say(self.vote(possible, Tick(tick)));
        }
        say(broken(self.vote(possible, now)));
        for attempt in others(possible) {
            say(self.vote(attempt, now));
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
        say(acknowledgement(action, generation.next().0, node.tick.0));
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
            say(self.share(attempt, node.tick));
        }
    }
}

/// The breaker's next action, as far as a node knows.
pub(crate) fn next(node: &Node) -> Option<Attempt> {
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
