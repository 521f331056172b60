//! Which steps there are, and what may still be heard after each of them.

use quorum::{Acknowledgement, Action, BreakerEvent, Event, Gen, Message, NodeId, Party, Tick};
use stateright::{Model, Property};

use super::judge::{self, Fault};
use super::lies;
use super::station::{BEGIN, Network, State, Station};
use crate::bench::Said;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The clock of a party comes to its next tick.
    Ticks(Party),
    /// The relay of a node decides that the breaker be so; nothing: it takes back what it wanted.
    Decides(NodeId, Option<Action>),
    /// What somebody has said arrives.
    Arrives { from: Party, to: Party, message: Said },
    /// What the hostile node says arrives.
    Lies { to: Party, message: Said },
    /// The hostile node is reborn, at this time of its clock; its relay stands so.
    IsBorn(Tick, Action),
}

impl Model for Station {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.begin()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.fault.is_some() {
            return;
        }
        self.ticks(state, steps);
        for node in &state.nodes {
            for decision in [Some(Action::Trip), Some(Action::Close), None] {
                if self.network == Network::Any || node.relay.attempt().is_none() {
                    steps.push(Step::Decides(node.id, decision));
                }
            }
        }
        match self.network {
            Network::Any => {
                for (from, message) in &state.said {
                    for to in self.audience(state, *from, message) {
                        steps.push(Step::Arrives { from: *from, to, message: message.clone() });
                    }
                }
            }
            Network::Prompt => {
                for (from, to, message) in state.pending.clone() {
                    steps.push(Step::Arrives { from, to, message });
                }
            }
        }
        lies::all(self, state, |to, message| steps.push(Step::Lies { to, message }));
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::Ticks(Party::Breaker) => {
                state.tick = state.tick.plus(1);
                self.breaker_step(&mut state, BreakerEvent::Deadline);
            }
            Step::Ticks(Party::Relay(id)) => {
                let tick = &mut state.node_mut(id).tick;
                *tick = tick.plus(1);
                self.relay_step(&mut state, id, Event::Deadline);
            }
            Step::Decides(id, decision) => {
                let event = decision.map_or(Event::Withdrawn, Event::Decided);
                self.relay_step(&mut state, id, event);
            }
            Step::Arrives { from, to, message } => {
                let key = match from {
                    Party::Relay(id) => state.node(id).keys[id.index()],
                    Party::Breaker => 0,
                };
                state.pending.remove(&(from, to, message.clone()));
                self.arrives(&mut state, (from, key), to, message);
            }
            Step::Lies { to, message } => {
                let liar = self.liar(&state);
                self.arrives(&mut state, (Party::Relay(liar), 1), to, message);
            }
            Step::IsBorn(tick, stands) => self.is_born(&mut state, tick, stands),
        }
        self.forget(&mut state);
        judge::expects(self, &mut state);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("S1", |_, s: &State| s.fault != Some(Fault::Unbacked)),
            Property::always("S2", |_, s: &State| s.fault != Some(Fault::Again)),
            Property::always("S3", |_, s: &State| s.fault != Some(Fault::Dwell)),
            Property::always("S4", |_, s: &State| s.fault != Some(Fault::OldDecision)),
            Property::always("nobody correct is blamed", |_, s: &State| {
                s.fault != Some(Fault::BlamesCorrect)
            }),
            Property::always("L1", |_, s: &State| s.fault != Some(Fault::Late)),
            Property::sometimes("it moves so often", |m: &Self, s: &State| {
                s.breaker.remembered().generation == Gen(m.moves)
            }),
        ];
        if self.heir.is_some() {
            properties.push(Property::sometimes(
                "who was born takes part",
                |m: &Self, s: &State| {
                    let born = s.nodes.iter().find(|node| node.id == m.hostile);
                    born.is_some_and(|node| node.relay.attempt().is_some())
                        && m.liar(s) != m.hostile
                },
            ));
        }
        properties
    }
}

impl Station {
    fn ticks(&self, state: &State, steps: &mut Vec<Step>) {
        let earliest = state.clocks().map(|(_, tick)| tick).fold(Tick(u64::MAX), Tick::min);
        let latest = state.clocks().map(|(_, tick)| tick).fold(Tick(0), Tick::max);
        // No two clocks differ by more than a tick.
        if earliest < BEGIN.plus(self.ticks) && state.pending.is_empty() {
            let behind = state.clocks().filter(|&(_, tick)| tick == earliest);
            steps.extend(behind.map(|(party, _)| Step::Ticks(party)));
        }
        let is_up = state.nodes.iter().any(|node| node.id == self.hostile);
        if self.heir.is_some() && !is_up {
            let own = latest.minus(1).0.max(BEGIN.0)..=earliest.plus(1).0;
            for tick in own.filter(|&tick| tick <= BEGIN.plus(self.ticks).0) {
                for stands in [Action::Trip, Action::Close] {
                    steps.push(Step::IsBorn(Tick(tick), stands));
                }
            }
        }
    }

    /// Who may hear a message.
    fn audience<'a>(
        &self,
        state: &'a State,
        from: Party,
        message: &Said,
    ) -> impl Iterator<Item = Party> + use<'a> {
        let (breaker, relays) = match message {
            Message::Vote { .. } | Message::Certificate { .. } | Message::Query { .. } => {
                (true, false)
            }
            Message::Share { .. } => (false, self.peers_hear),
            Message::Announcement { .. } => (true, self.peers_hear),
            Message::Acknowledgement(_) => (false, true),
            Message::Noted { .. } => (false, self.peers_hear || from == Party::Breaker),
        };
        let to = state.nodes.iter().map(|node| Party::Relay(node.id));
        let to = to.filter(move |&to| relays && to != from);
        breaker.then_some(Party::Breaker).into_iter().chain(to)
    }

    /// What can be of no use to anybody any more is forgotten: gens and clocks never go back.
    fn forget(&self, state: &mut State) {
        let State { nodes, breaker, tick, said, breaker_keys, .. } = state;
        let expired = self.parameters.freshness_ticks + self.late_ticks;
        let oldest = if self.late_ticks > 0 { Gen(0) } else { breaker.remembered().generation };
        let rebirths = self.heir.is_some();
        said.retain(|(from, message)| match message {
            Message::Vote { attempt, tick: stated, .. }
            | Message::Certificate { attempt, tick: stated, .. } => {
                attempt.generation >= oldest && stated.plus(expired) >= *tick
            }
            Message::Share { attempt, tick: stated, .. } => {
                let heard = nodes.iter().any(|node| {
                    stated.plus(expired) >= node.tick
                        && node.relay.generation().is_none_or(|own| own <= attempt.generation)
                });
                let certified =
                    attempt.generation >= oldest && stated.plus(1).plus(expired) >= *tick;
                certified || self.peers_hear && heard
            }
            Message::Acknowledgement(by) => {
                let awaited = nodes
                    .iter()
                    .any(|node| node.relay.generation().is_none_or(|own| own < by.generation));
                awaited || rebirths && nodes.len() == self.correct.len()
            }
            Message::Query { .. } => nodes
                .iter()
                .any(|node| *from == Party::Relay(node.id) && node.relay.generation().is_none()),
            Message::Announcement { key } => breaker_keys[key.node.index()] != key.counter,
            Message::Noted { .. } => false,
        });
        // Of acknowledgements that differ in when they were sent only, the newest does whatever
        // the others do.
        let newest = said.clone();
        said.retain(|(_, message)| match message {
            Message::Acknowledgement(by) => !newest.iter().any(|(_, other)| match other {
                Message::Acknowledgement(other) => {
                    other.tick > by.tick && Acknowledgement { tick: by.tick, ..*other } == *by
                }
                _ => false,
            }),
            _ => true,
        });
    }
}
