//! One correct relay node of the Peer Protocol, and all that can be said to it.
//!
//! Shown here, for all that peers can say at any time: peers change neither what a relay node
//! attempts nor which shares it sends; it sends each share to all of its peers, so to the hostile
//! one too; and a certificate that it sends is of two shares, its own among them, that it had sent
//! by then. So the hostile node has both shares as well and can make each such certificate itself,
//! and the safety of the breaker can be shown with relay nodes that do not hear each other, and a
//! hostile node that certifies all it can.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use quorum::{
    Action, Attempt, Effect, Event, Gen, Message, NODES, NodeId, Party, Protocol, Scheme, Tick,
};
use stateright::{Model, Property};

use super::lies::{self, Liar};
use super::station::{BEGIN, Network, Node, Station};
use crate::bench::{Done, Heard, Said, acknowledgement, subject};
use crate::symbolic::Symbolic;

#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) station: Station,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Wrong {
    /// A certificate that is not two distinct nodes' word for what this node attempts now, or of a
    /// word of its own that it has not sent.
    Certificate,
    /// It has heard a sound share for a tick that it has shared too, and certifies nothing.
    Silent,
    /// Peers have changed what it attempts, or made it send a share.
    Moved,
    /// A share that is not its word for what it attempts now, in this tick and the next, or that
    /// not every peer was sent alike.
    Share,
    /// More than a combination with each peer in one step.
    Work,
    /// Evidence against a node that has done nothing.
    BlamesCorrect,
}

/// The node, and what it must have made of what it heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    node: Node,
    /// For which ticks it has sent shares in this gen.
    shared: BTreeSet<Tick>,
    /// Of which ticks it has heard a correct peer's sound share in this gen.
    heard: BTreeSet<Tick>,
    /// Which tick it last certified in this gen, and when.
    certified: Option<(Tick, Tick)>,
    wrong: Option<Wrong>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Its clock comes to the next tick.
    Ticks,
    /// Its relay decides that the breaker be so; nothing: it takes back what it wanted.
    Decides(Option<Action>),
    /// A correct peer speaks for this tick and the next.
    Shares(Tick),
    /// The hostile node says this.
    Lies(Said),
    /// The breaker has moved, and says so.
    Moves,
}

const ME: NodeId = NodeId::ALL[1];
const PEER: NodeId = NodeId::ALL[2];
const HOSTILE: NodeId = NodeId::ALL[0];

impl Alone {
    pub(crate) fn new(ticks: u64, moves: u64) -> Self {
        Self { station: Station::new(Protocol::Peer, Network::Any, 1, ticks, moves) }
    }

    fn possible(state: &State) -> Attempt {
        lies::next(&state.node).expect("it has heard how the breaker stands")
    }

    fn step(&self, state: &mut State, event: Heard) {
        let is_share = matches!(event, Event::Received { from: Party::Relay(_), .. });
        let before = (state.node.relay.state(), state.node.relay.generation());
        let (effects, combinations) = state.node.step_counted(event);
        let after = (state.node.relay.state(), state.node.relay.generation());
        if is_share && before != after {
            state.wrong = Some(Wrong::Moved);
        }
        if before.1 != after.1 {
            state.heard.clear();
            state.shared.clear();
            state.certified = None;
        }
        if combinations >= NODES as u64 {
            state.wrong = Some(Wrong::Work);
        }
        Self::judge_shares(state, is_share, &effects);
        for effect in effects {
            self.judge(state, effect);
        }
        let now = state.node.tick;
        state.heard.retain(|&tick| tick >= now.minus(1));
        state.shared.retain(|&tick| tick >= now.minus(1));
        state.certified = state.certified.filter(|&(_, at)| at == now);
        let certifies = match state.certified {
            // The breaker node may be a tick behind, and refuse what has not begun here.
            Some((tick, _)) => tick <= now || !state.heard.contains(&now),
            None => !state.heard.contains(&now) && !state.heard.contains(&now.plus(1)),
        };
        if !certifies && state.node.relay.attempt().is_some() {
            state.wrong = Some(Wrong::Silent);
        }
    }

    /// Shares are of what it attempts, go to all alike, and only when nobody has asked for them.
    fn judge_shares(state: &mut State, asked: bool, effects: &[Done]) {
        let me = state.node.id;
        let mut sent: BTreeMap<&Said, BTreeSet<Party>> = BTreeMap::new();
        for effect in effects {
            if let Effect::Send { to, message: message @ Message::Share { .. } } = effect {
                sent.entry(message).or_default().insert(*to);
            }
        }
        if asked && !sent.is_empty() {
            state.wrong = Some(Wrong::Moved);
        }
        let own = Liar { protocol: Protocol::Peer, me };
        let everybody: BTreeSet<_> =
            NodeId::ALL.into_iter().filter(|&id| id != me).map(Party::Relay).collect();
        for (share, to) in sent {
            let Message::Share { attempt, tick, .. } = share else { continue };
            let is_own = state.node.relay.attempt() == Some(*attempt) && *tick == state.node.tick;
            let is_sound = *share == own.share(*attempt, *tick);
            if !is_own || !is_sound || to != everybody {
                state.wrong = Some(Wrong::Share);
            }
            state.shared.extend([*tick, tick.plus(1)]);
        }
    }

    fn judge(&self, state: &mut State, effect: Done) {
        match effect {
            Effect::Send {
                message: Message::Certificate { attempt, tick, certificate }, ..
            } => {
                let statement = subject(Protocol::Peer).statement(attempt, tick);
                let now = state.node.tick;
                let is_fresh = (now.minus(1)..=now.plus(1)).contains(&tick);
                let is_sound = Symbolic::new(None, [1; NODES]).certifies(&statement, &certificate)
                    && certificate.proofs.iter().any(|proof| proof.by == ME);
                let is_known = state.shared.contains(&tick);
                let is_wanted = state.node.relay.attempt() == Some(attempt);
                if !is_sound || !is_fresh || !is_known || !is_wanted {
                    state.wrong = Some(Wrong::Certificate);
                }
                state.certified = Some((tick, now));
            }
            Effect::Blame(evidence) if evidence.node == HOSTILE => {
                self.station.evidence.fetch_add(1, Ordering::Relaxed);
            }
            Effect::Blame(_) => state.wrong = Some(Wrong::BlamesCorrect),
            _ => {}
        }
    }
}

impl Model for Alone {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let node = self.station.settled(ME);
        let (shared, heard) = (BTreeSet::new(), BTreeSet::new());
        vec![State { node, shared, heard, certified: None, wrong: None }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.wrong.is_some() {
            return;
        }
        let now = state.node.tick;
        if now < BEGIN.plus(self.station.ticks) {
            steps.push(Step::Ticks);
        }
        steps.extend([Some(Action::Trip), Some(Action::Close), None].map(Step::Decides));
        steps.extend((now.minus(2).0..=now.plus(2).0).map(|tick| Step::Shares(Tick(tick))));
        let liar = Liar { protocol: Protocol::Peer, me: HOSTILE };
        liar.acknowledges(&state.node, |said| steps.push(Step::Lies(said)));
        liar.shares(&state.node, |said| steps.push(Step::Lies(said)));
        if Self::possible(state).generation < Gen(self.station.moves) {
            steps.push(Step::Moves);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        let possible = Self::possible(last);
        match step {
            Step::Ticks => {
                state.node.tick = state.node.tick.plus(1);
                self.step(&mut state, Event::Deadline);
            }
            Step::Decides(decision) => {
                self.step(&mut state, decision.map_or(Event::Withdrawn, Event::Decided));
            }
            Step::Shares(tick) => {
                let peer = Liar { protocol: Protocol::Peer, me: PEER };
                let message = peer.share(possible, tick);
                let now = last.node.tick;
                if tick >= now.minus(1) && tick <= now.plus(1) {
                    state.heard.extend([tick, tick.plus(1)]);
                }
                self.step(&mut state, Event::Received { from: Party::Relay(PEER), message });
            }
            Step::Lies(message) => {
                self.step(&mut state, Event::Received { from: Party::Relay(HOSTILE), message });
            }
            Step::Moves => {
                let Attempt { action, generation } = possible;
                let message = acknowledgement(action, generation.next().0, last.node.tick.0);
                self.step(&mut state, Event::Received { from: Party::Breaker, message });
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("certificates are sound", |_, s: &State| {
                s.wrong != Some(Wrong::Certificate)
            }),
            Property::always("a common tick is certified", |_, s: &State| {
                s.wrong != Some(Wrong::Silent)
            }),
            Property::always("peers move nobody", |_, s: &State| s.wrong != Some(Wrong::Moved)),
            Property::always("all are sent each share", |_, s: &State| {
                s.wrong != Some(Wrong::Share)
            }),
            Property::always("work is bounded", |_, s: &State| s.wrong != Some(Wrong::Work)),
            Property::always("nobody correct is blamed", |_, s: &State| {
                s.wrong != Some(Wrong::BlamesCorrect)
            }),
            Property::sometimes("it certifies", |_, s: &State| s.certified.is_some()),
        ]
    }
}
