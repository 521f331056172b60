//! What must be so, judged from outside: from what correct nodes have really said, and when.

use quorum::{Action, Attempt, Gen, Message, NODES, Party, QUORUM, Remembered, Tick};

use super::station::{Network, Node, State, Station};
use crate::bench::{Said, possible};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fault {
    /// S1: an action without two distinct nodes that may be believed, one of them correct.
    Unbacked,
    /// S2: a gen led to another action than its only one.
    Again,
    /// S3: an action within a dwell.
    Dwell,
    /// S4: an attempt on a decision from before the last action.
    OldDecision,
    /// Evidence against a node that has done nothing.
    BlamesCorrect,
    /// L1: two correct nodes hold a decision, and the breaker has not moved in time.
    Late,
}

/// Since when the breaker has to move: what each clock showed then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Due {
    attempt: Attempt,
    since: [Tick; NODES],
}

/// S4, where it begins: nobody attempts what was decided before the breaker came to this gen.
pub(crate) fn attempts(node: &Node) -> Option<Fault> {
    let attempt = node.relay.attempt()?;
    let decided = node.decided.is_some_and(|decided| decided >= attempt.generation);
    (!decided).then_some(Fault::OldDecision)
}

/// S1 to S3: the breaker moves.
pub(crate) fn operates(
    station: &Station,
    state: &State,
    before: &Remembered,
    action: Action,
    next: Gen,
) -> Option<Fault> {
    if next != before.generation.next() || action != before.state.opposite() {
        return Some(Fault::Again);
    }
    if dwells(station, state, action) {
        return Some(Fault::Dwell);
    }
    let attempt = possible(before);
    let fresh = station.parameters.freshness_ticks;
    let believed = state.tick.minus(fresh)..=state.tick.plus(fresh);
    let backs = |node: &&Node| {
        let own = state.said.iter().filter(|(from, _)| *from == Party::Relay(node.id));
        own.flat_map(|(_, message)| statements(message))
            .any(|(stated, tick)| stated == attempt && believed.contains(&tick))
    };
    let correct = state.nodes.iter().filter(backs).count();
    // The hostile node says anything; the other one must be correct.
    let hostile = 1;
    (correct == 0 || correct + hostile < QUORUM).then_some(Fault::Unbacked)
}

/// L1: two correct nodes hold a decision that the breaker may carry out. Within the next tick of
/// each of them both have said so, and with that having arrived, it has moved.
pub(crate) fn expects(station: &Station, state: &mut State) {
    if station.network != Network::Prompt {
        return;
    }
    let attempt = possible(&state.breaker.remembered());
    let holds = |node: &&Node| node.relay.attempt() == Some(attempt);
    if dwells(station, state, attempt.action) || state.nodes.iter().filter(holds).count() < QUORUM {
        state.due = None;
        return;
    }
    let mut since = [Tick(u64::MAX); NODES];
    for node in &state.nodes {
        since[node.id.index()] = node.tick;
    }
    let due = state.due.filter(|due| due.attempt == attempt).unwrap_or(Due { attempt, since });
    state.due = Some(due);
    let is_over = |node: &Node| node.tick > due.since[node.id.index()];
    if state.pending.is_empty() && state.nodes.iter().all(is_over) {
        state.fault = state.fault.or(Some(Fault::Late));
    }
}

/// Whether it is too early for an action.
fn dwells(station: &Station, state: &State, action: Action) -> bool {
    let dwell = match action {
        Action::Trip => station.parameters.dwell_before_trip,
        Action::Close => station.parameters.dwell_before_close,
    };
    state.acted.is_some_and(|acted| state.tick.begin() < acted.begin().plus(dwell))
}

/// What a message states, tick by tick.
pub(crate) fn statements(message: &Said) -> impl Iterator<Item = (Attempt, Tick)> + use<> {
    let (first, next) = match *message {
        Message::Vote { attempt, tick, .. } => (Some((attempt, tick)), None),
        Message::Share { attempt, tick, .. } => {
            (Some((attempt, tick)), Some((attempt, tick.plus(1))))
        }
        _ => (None, None),
    };
    first.into_iter().chain(next)
}
