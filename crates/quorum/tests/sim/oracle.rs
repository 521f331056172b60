//! What must be so, judged from outside: from what correct nodes have really said, in true time.
//!
//! Safety: S1 an action is backed by two distinct nodes that are still to be believed; S2 one
//! action a gen; S3 a dwell between actions; S4 nothing on authority older than the last action;
//! S6 bounded work. And nobody is blamed who has done nothing. Progress: L1 two correct nodes that
//! hold a decision move the breaker in time; L2 who was born takes part in time; L3 who has missed
//! an action learns of it in time.

use std::collections::VecDeque;

use quorum::{
    Action, Attempt, Breaker, CommonTime, Gen, NODES, NodeId, Parameters, Protocol, QUORUM, Tick,
};

use super::plan::Plan;
use crate::bench::{Said, possible};

const TICK_NS: u64 = Tick::LENGTH.as_nanos() as u64;
/// What the relay node may do in one step and in one tick: shares to three peers, certificates as
/// its choice of a tick gets better, keys for four.
const EFFECTS_MAX: usize = 16;
const COMBINATIONS_MAX: u64 = 8;

/// What can be seen of a correct node that is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct View {
    pub(crate) attempt: Option<Attempt>,
    pub(crate) generation: Option<Gen>,
    /// Whether the breaker node uses its key.
    pub(crate) is_known: bool,
    pub(crate) knows: [bool; NODES],
}

/// A statement that a correct node has made.
#[derive(Clone, Copy, Debug)]
struct Statement {
    attempt: Attempt,
    tick: Tick,
    at_ns: u64,
    decided_ns: u64,
}

/// Records what happens and compares.
pub(crate) struct Oracle {
    protocol: Protocol,
    parameters: Parameters,
    said: [VecDeque<Statement>; NODES],
    decided_ns: [[u64; 2]; NODES],
    was_hostile: [bool; NODES],
    acted: Option<(u64, CommonTime, Action, Gen)>,
    /// Work of each relay node, and on behalf of each sender, in its present tick.
    combined: [(Tick, u64); NODES],
    checked: [(Tick, u64); NODES],
    progress: Progress,
    pub(crate) actions: u64,
}

/// Since when things are so that progress is due.
struct Progress {
    delay_ns: u64,
    slack_ns: u64,
    /// What a node costs whose certificates are worth nothing to the breaker node.
    turn_ns: u64,
    pairs_ns: [[u64; NODES]; NODES],
    generation: Option<Gen>,
    behind_ns: [u64; NODES],
    born_ns: [u64; NODES],
    begin_ns: u64,
    /// The longest that an action took of what it may take, in a thousand.
    worst: u64,
}

impl Oracle {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut was_hostile = [false; NODES];
        if let Some((node, _)) = plan.hostile {
            was_hostile[node.index()] = true;
        }
        Self {
            protocol: plan.protocol,
            parameters: plan.parameters,
            said: Default::default(),
            decided_ns: [[0; 2]; NODES],
            was_hostile,
            acted: None,
            combined: [(Tick(0), 0); NODES],
            checked: [(Tick(0), 0); NODES],
            progress: Progress {
                delay_ns: plan.network.delay_max_ns,
                slack_ns: plan.network.wake_ns + 2,
                turn_ns: if plan.tells_peers_only { 2 * TICK_NS } else { 0 },
                pairs_ns: [[u64::MAX; NODES]; NODES],
                generation: None,
                behind_ns: [u64::MAX; NODES],
                born_ns: [0; NODES],
                begin_ns: u64::MAX,
                worst: 0,
            },
            actions: 0,
        }
    }

    pub(crate) fn corrupted(&mut self, node: NodeId) {
        self.was_hostile[node.index()] = true;
    }

    pub(crate) fn is_born(&mut self, node: NodeId, now_ns: u64) {
        self.decided_ns[node.index()] = [0; 2];
        self.progress.born_ns[node.index()] = now_ns;
    }

    pub(crate) fn decides(&mut self, node: NodeId, now_ns: u64, action: Action) {
        self.decided_ns[node.index()][usize::from(action == Action::Trip)] = now_ns;
    }

    /// A correct node sends something.
    pub(crate) fn says(&mut self, node: NodeId, at_ns: u64, message: &Said) {
        let (attempt, tick, ahead) = match *message {
            Said::Vote { attempt, tick, .. } => (attempt, tick, 0),
            Said::Share { attempt, tick, .. } => (attempt, tick, 1),
            _ => return,
        };
        let trips = usize::from(attempt.action == Action::Trip);
        let decided_ns = self.decided_ns[node.index()][trips];
        let said = &mut self.said[node.index()];
        for ahead in 0..=ahead {
            let tick = tick.plus(ahead);
            let is_known = |s: &Statement| s.attempt == attempt && s.tick == tick;
            if !said.iter().rev().take(4).any(is_known) {
                said.push_back(Statement { attempt, tick, at_ns, decided_ns });
            }
        }
        while said.len() > 16 {
            said.pop_front();
        }
    }

    pub(crate) fn blames(&self, node: NodeId) -> Result<(), String> {
        if self.was_hostile[node.index()] {
            return Ok(());
        }
        Err(format!("evidence against {node}, which is correct"))
    }

    /// S6 at a relay node.
    pub(crate) fn works(
        &mut self,
        node: NodeId,
        tick: Tick,
        combinations: u64,
        effects: usize,
    ) -> Result<(), String> {
        let sum = add(&mut self.combined[node.index()], tick, combinations);
        if sum > COMBINATIONS_MAX || effects > EFFECTS_MAX {
            return Err(format!("S6: {node}: {sum} combinations in a tick, {effects} effects"));
        }
        Ok(())
    }

    /// S6 at the breaker node.
    pub(crate) fn checks(
        &mut self,
        from: Option<NodeId>,
        tick: Tick,
        checks: u64,
        effects: usize,
    ) -> Result<(), String> {
        let Some(from) = from else { return Ok(()) };
        let sum = add(&mut self.checked[from.index()], tick, checks);
        if sum > 2 || effects > EFFECTS_MAX {
            return Err(format!("S6: {sum} checks of {from} in a tick, {effects} effects"));
        }
        Ok(())
    }

    /// S1 to S4: the breaker moves.
    pub(crate) fn operates(
        &mut self,
        now_ns: u64,
        local: CommonTime,
        action: Action,
        next: Gen,
        liars: [bool; NODES],
    ) -> Result<(), String> {
        let generation = Gen(next.0 - 1);
        let Parameters { freshness_ticks: fresh, look_ahead_ticks: ahead, .. } = self.parameters;
        let last_ns = self.acted.map_or(0, |(ns, ..)| ns);
        if let Some((_, last_local, last_action, last)) = self.acted {
            if generation != last || action == last_action {
                return Err(format!("S2: {action} in gen {generation:?}, {last:?} was next"));
            }
            let gap = local.since(last_local);
            let dwell = match action {
                Action::Trip => self.parameters.dwell_before_trip,
                Action::Close => self.parameters.dwell_before_close,
            };
            if gap < dwell || gap < self.parameters.dwell_min() {
                return Err(format!("S3: {action} {gap:?} after the last action"));
            }
        }
        self.progress.acts(now_ns, self.deadline_ns(), self.progress.bound_ns(self.protocol));
        self.acted = Some((now_ns, local, action, next));
        self.actions += 1;
        let attempt = Attempt { action, generation };
        let present = Tick::at(local);
        let newest = match self.protocol {
            Protocol::Arbiter => present.plus(fresh),
            Protocol::Peer => present.plus(ahead),
        };
        let authority_ns = (self.parameters.authority_ticks(self.protocol) + 2) * TICK_NS;
        let mut backing = 0;
        for node in NodeId::ALL {
            let said = self.said[node.index()].iter().rev().find(|said| {
                said.attempt == attempt
                    && said.tick >= present.minus(fresh)
                    && said.tick <= newest
                    && said.at_ns + authority_ns >= now_ns
            });
            backing += usize::from(said.is_some() || liars[node.index()]);
            if let Some(said) = said.filter(|_| !liars[node.index()])
                && said.decided_ns < last_ns
            {
                let ago = now_ns - said.decided_ns;
                return Err(format!("S4: {action} on a decision of {node} from {ago} ns ago"));
            }
        }
        if backing < QUORUM {
            let said = &self.said;
            return Err(format!(
                "S1: {action} in gen {} at tick {}: {said:#?}",
                generation.0, present.0
            ));
        }
        Ok(())
    }

    /// L1 to L3, after each event of a run in which faults stay within the budget.
    pub(crate) fn expects(
        &mut self,
        now_ns: u64,
        views: [Option<View>; NODES],
        breaker: &Breaker,
    ) -> Result<(), String> {
        let remembered = breaker.remembered();
        let attempt = possible(&remembered);
        self.progress.pairs(now_ns, views, attempt, self.protocol);
        if let Some(deadline_ns) = self.deadline_ns()
            && now_ns > deadline_ns
        {
            let late = now_ns - deadline_ns;
            return Err(format!("L1: {attempt:?} is {late} ns late; {views:?}"));
        }
        self.progress.participation(now_ns, views, remembered.generation, &self.parameters)
    }

    /// By when the breaker has to act, if it has to.
    fn deadline_ns(&self) -> Option<u64> {
        let progress = &self.progress;
        let since_ns = *progress.pairs_ns.as_flattened().iter().min()?;
        if since_ns == u64::MAX {
            return None;
        }
        let dwells_from_ns = self.acted.map_or(progress.begin_ns, |(ns, ..)| ns);
        let dwell = match self.acted {
            Some((_, _, Action::Close, _)) => self.parameters.dwell_before_trip,
            _ => self.parameters.dwell_before_close,
        };
        let from_ns = since_ns.max(dwells_from_ns.saturating_add(dwell.as_nanos() as u64));
        Some(from_ns + progress.bound_ns(self.protocol))
    }

    /// How much of the time that is allowed the slowest action took, in a thousand.
    pub(crate) fn worst(&self) -> u64 {
        self.progress.worst
    }
}

/// Work in a tick, with this.
fn add((last, sum): &mut (Tick, u64), tick: Tick, work: u64) -> u64 {
    *sum = if *last == tick { *sum + work } else { work };
    *last = tick;
    *sum
}

impl Progress {
    /// From when two hold a decision to the action: the next begin of a tick, and one hop or two; and
    /// perhaps two ticks in which each of them certifies with a third one in vain: in the first the other
    /// one may not have been heard yet, in the second it may not be its turn.
    fn bound_ns(&self, protocol: Protocol) -> u64 {
        let (hops, turn_ns) = match protocol {
            Protocol::Arbiter => (1, 0),
            Protocol::Peer => (2, self.turn_ns),
        };
        TICK_NS + turn_ns + hops * self.delay_ns + self.slack_ns
    }

    fn acts(&mut self, now_ns: u64, deadline_ns: Option<u64>, bound_ns: u64) {
        if let Some(deadline_ns) = deadline_ns {
            let left = deadline_ns.saturating_sub(now_ns).min(bound_ns);
            self.worst = self.worst.max(1000 - 1000 * left / bound_ns);
        }
    }

    /// Since when each pair of correct nodes holds the attempt, known to each other and to the
    /// breaker node.
    fn pairs(
        &mut self,
        now_ns: u64,
        views: [Option<View>; NODES],
        attempt: Attempt,
        protocol: Protocol,
    ) {
        if self.generation != Some(attempt.generation) {
            self.generation = Some(attempt.generation);
            self.pairs_ns = [[u64::MAX; NODES]; NODES];
        }
        self.begin_ns = self.begin_ns.min(now_ns);
        for one in 0..NODES {
            for two in one + 1..NODES {
                let holds = match (views[one], views[two]) {
                    (Some(a), Some(b)) => {
                        let mutual =
                            protocol == Protocol::Arbiter || (a.knows[two] && b.knows[one]);
                        let both = [a, b];
                        mutual && both.iter().all(|v| v.is_known && v.attempt == Some(attempt))
                    }
                    _ => false,
                };
                let since_ns = &mut self.pairs_ns[one][two];
                *since_ns = if holds { (*since_ns).min(now_ns) } else { u64::MAX };
            }
        }
    }

    fn participation(
        &mut self,
        now_ns: u64,
        views: [Option<View>; NODES],
        generation: Gen,
        parameters: &Parameters,
    ) -> Result<(), String> {
        let query_ns = parameters.query_interval.as_nanos() as u64;
        let part_ns = 2 * query_ns + 2 * self.delay_ns + self.slack_ns;
        let learn_ns = self.delay_ns + self.slack_ns;
        for (node, view) in NodeId::ALL.into_iter().zip(views) {
            let i = node.index();
            let Some(view) = view else {
                self.behind_ns[i] = u64::MAX;
                continue;
            };
            let is_behind = view.generation.is_some_and(|known| known < generation);
            self.behind_ns[i] = if is_behind { self.behind_ns[i].min(now_ns) } else { u64::MAX };
            if self.behind_ns[i].saturating_add(learn_ns) < now_ns {
                return Err(format!("L3: {node} does not know of gen {}", generation.0));
            }
            let is_old = |born_ns: u64| born_ns + part_ns < now_ns;
            if is_old(self.born_ns[i]) && (view.generation.is_none() || !view.is_known) {
                return Err(format!("L2: {node} was born and does not take part: {view:?}"));
            }
            for (j, other) in views.iter().enumerate() {
                if other.is_some() && is_old(self.born_ns[i].max(self.born_ns[j])) && !view.knows[j]
                {
                    return Err(format!("L2: {node} does not know the key of node {j}"));
                }
            }
        }
        Ok(())
    }
}
