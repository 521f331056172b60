//! The breaker node: trusted, deaf to one node alone, and moved by two.
//!
//! It executes its own gen only and then counts up, so an event leads to one action at most; as a
//! gen can only reverse the last action, a trip and a close never compete for one. What is cheap
//! to check is checked first, and proofs last and no more than a few of one sender in a tick, so
//! that anybody who floods it pays with his own voice. Age is looked at twice: a vote may be fresh
//! when it comes and stale when another one would complete it.

use super::budget::Budget;
use super::counters::{Counters, WorkingKeys};
use super::effect::Turn;
use super::heartbeat::Heartbeat;
use super::{
    Acknowledgement, Action, Attempt, CommonTime, Effect, EffectOf, Gen, Message, MessageOf,
    Misdeed, NODES, NodeId, Parameters, Party, Protocol, QUORUM, Refusal, Scheme, Subject, Tick,
};

/// What happens to a breaker node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum BreakerEvent<P, C, K> {
    /// A message came through the channel, which has found out from whom.
    Received { from: NodeId, message: Message<P, C, K> },
    /// The time of [`Breaker::next_deadline`] has come.
    Deadline,
}

/// The events of a scheme.
pub type BreakerEventOf<S> =
    BreakerEvent<<S as Scheme>::Proof, <S as Scheme>::Certificate, <S as Scheme>::WorkingKey>;

/// What a breaker node must find again after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Remembered {
    pub state: Action,
    /// The number of the next one.
    pub generation: Gen,
    /// When the last one was; the begin of the scale if there was none.
    pub acted_at: CommonTime,
    /// Whose keys are in use.
    pub counters: Counters,
}

/// The state machine of the breaker node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Breaker {
    subject: Subject,
    parameters: Parameters,
    state: Action,
    generation: Gen,
    acted_at: CommonTime,
    /// From when on the dwell counts: the last action, or the start of this node.
    dwells_from: CommonTime,
    /// The tick of each node's newest vote for this gen, while it is to be believed.
    votes: [Option<Tick>; NODES],
    checks: Budget,
    answers: Budget,
    keys: WorkingKeys,
    heartbeat: Heartbeat,
    doubt: Option<Doubt>,
}

/// Doubt of a breaker node whether its memory is that of the station: nothing was found at its
/// start. If it ran before, correct nodes know of actions that it does not, and are right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Doubt {
    /// Who spoke of a gen that is yet to come.
    ahead: [bool; NODES],
}

impl Breaker {
    /// A breaker node that starts now. As it may have acted just before it went down, it dwells.
    pub fn new(
        now: CommonTime,
        subject: Subject,
        parameters: Parameters,
        remembered: Remembered,
    ) -> Self {
        let Remembered { state, generation, acted_at, counters } = remembered;
        Self {
            subject,
            parameters,
            state,
            generation,
            acted_at,
            dwells_from: now,
            votes: [None; NODES],
            checks: Budget::default(),
            answers: Budget::default(),
            keys: WorkingKeys::new(counters),
            heartbeat: Heartbeat::new(now, &parameters),
            doubt: None,
        }
    }

    /// The same with a memory that began anew: nodes that know of later gens are not blamed, until
    /// the first action shows that they do not.
    #[must_use]
    pub fn with_doubt(self) -> Self {
        Self { doubt: Some(Doubt::default()), ..self }
    }

    /// Whether nodes that know of later gens are not blamed.
    pub const fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// Which nodes know of later gens, if that are as many as cannot all be wrong: then a memory
    /// was lost.
    pub fn knows_less_than(&self) -> Option<[bool; NODES]> {
        let ahead = self.doubt?.ahead;
        (ahead.iter().filter(|ahead| **ahead).count() >= QUORUM).then_some(ahead)
    }

    /// Takes in an event and says what is to be done, including all that is due now.
    pub fn step<S: Scheme>(
        &mut self,
        now: CommonTime,
        event: BreakerEventOf<S>,
        scheme: &mut S,
        effects: &mut Vec<EffectOf<S>>,
    ) {
        let turn = &mut Turn { now, scheme, effects };
        self.forget(turn.tick());
        // A clock that is set back lengthens no dwell by more than itself.
        self.dwells_from = self.dwells_from.min(now);
        if let BreakerEvent::Received { from, message } = event
            && let Err(why) = self.receive(turn, from, message)
        {
            turn.effects.push(Effect::Refused { from: Party::Relay(from), why });
        }
        if self.heartbeat.due(now, &self.parameters) {
            for node in NodeId::ALL {
                self.acknowledge(turn, node);
            }
        }
    }

    /// When [`BreakerEvent::Deadline`] is to come, at the latest.
    pub const fn next_deadline(&self) -> CommonTime {
        self.heartbeat.next
    }

    /// What must be found again after a restart.
    pub const fn remembered(&self) -> Remembered {
        let Self { state, generation, acted_at, .. } = *self;
        Remembered { state, generation, acted_at, counters: self.keys.counters }
    }

    /// What has expired counts no more, and leaves no trace.
    fn forget(&mut self, tick: Tick) {
        let freshness = self.parameters.freshness_ticks;
        // Up to the newest as well: a clock that is set back makes no vote young.
        let (oldest, newest) = (tick.minus(freshness), tick.plus(freshness));
        for vote in &mut self.votes {
            *vote = vote.filter(|&tick| tick >= oldest && tick <= newest);
        }
        self.checks.renew(tick);
        self.answers.renew(tick);
        self.keys.renew(tick);
    }

    fn receive<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        from: NodeId,
        message: MessageOf<S>,
    ) -> Result<(), Refusal> {
        match (self.subject.protocol, message) {
            (Protocol::Arbiter, Message::Vote { attempt, tick, proof }) => {
                self.vote(turn, from, (attempt, tick), proof)
            }
            (Protocol::Peer, Message::Certificate { attempt, tick, certificate }) => {
                self.certificate(turn, from, (attempt, tick), &certificate)
            }
            (_, Message::Query { .. }) => {
                // One answer in a tick says all there is.
                if !self.answers.spend(turn.tick(), from, 1) {
                    return Err(Refusal::Budget);
                }
                self.acknowledge(turn, from);
                Ok(())
            }
            (_, Message::Announcement { key }) => {
                let admitted = self.keys.admit(turn, from, key)?;
                if admitted.is_new {
                    // What the node said with its old key may be somebody else's word.
                    self.votes[from.index()] = None;
                }
                let message = Message::Noted { counter: admitted.counter, key: None };
                turn.send(Party::Relay(from), message);
                Ok(())
            }
            _ => Err(Refusal::Misdirected),
        }
    }

    fn vote<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        from: NodeId,
        (attempt, tick): (Attempt, Tick),
        proof: S::Proof,
    ) -> Result<(), Refusal> {
        self.doubt(from, attempt);
        let statement = self.subject.statement(attempt, tick);
        match self.admissible(turn.now, attempt, tick, self.parameters.freshness_ticks) {
            Err(Refusal::FutureGen) if self.is_in_doubt() => return Err(Refusal::FutureGen),
            Err(why @ (Refusal::Impossible | Refusal::FutureGen)) => {
                // Evidence without a look at the proof, out of the same budget.
                if self.spend(turn.tick(), from).is_ok() {
                    turn.blame(from, Misdeed::Impossible { statement, proof });
                }
                return Err(why);
            }
            admissible => admissible?,
        }
        if self.votes[from.index()].is_some_and(|newest| tick <= newest) {
            return Err(Refusal::Repeated);
        }
        self.spend(turn.tick(), from)?;
        if !turn.scheme.is_proof(from, &statement, &proof) {
            turn.blame(from, Misdeed::WrongProof { statement, proof });
            return Err(Refusal::Wrong);
        }
        self.votes[from.index()] = Some(tick);
        if self.votes.iter().flatten().count() >= QUORUM {
            self.act(turn, attempt.action);
        }
        Ok(())
    }

    fn certificate<S: Scheme>(
        &mut self,
        turn: &mut Turn<'_, S>,
        from: NodeId,
        (attempt, tick): (Attempt, Tick),
        certificate: &S::Certificate,
    ) -> Result<(), Refusal> {
        self.doubt(from, attempt);
        self.admissible(turn.now, attempt, tick, self.parameters.look_ahead_ticks)?;
        self.spend(turn.tick(), from)?;
        let statement = self.subject.statement(attempt, tick);
        if !turn.scheme.certifies(&statement, certificate) {
            return Err(Refusal::Wrong);
        }
        self.act(turn, attempt.action);
        Ok(())
    }

    /// Notes who knows of a later gen than a memory that began anew.
    fn doubt(&mut self, from: NodeId, attempt: Attempt) {
        if let Some(doubt) = &mut self.doubt {
            doubt.ahead[from.index()] |= attempt.generation > self.generation;
        }
    }

    /// Whether a statement, if it is proven, may lead to an action now.
    fn admissible(
        &self,
        now: CommonTime,
        attempt: Attempt,
        tick: Tick,
        ahead_ticks: u64,
    ) -> Result<(), Refusal> {
        let present = Tick::at(now);
        if attempt.generation < self.generation {
            Err(Refusal::OldGen)
        } else if attempt.generation > self.generation {
            Err(Refusal::FutureGen)
        } else if attempt.action == self.state {
            Err(Refusal::Impossible)
        } else if tick < present.minus(self.parameters.freshness_ticks) {
            Err(Refusal::Stale)
        } else if tick > present.plus(ahead_ticks) {
            Err(Refusal::Early)
        } else if now < self.dwells_from.plus(self.dwell_before(attempt.action)) {
            Err(Refusal::Dwell)
        } else {
            Ok(())
        }
    }

    const fn dwell_before(&self, action: Action) -> std::time::Duration {
        match action {
            Action::Trip => self.parameters.dwell_before_trip,
            Action::Close => self.parameters.dwell_before_close,
        }
    }

    fn spend(&mut self, tick: Tick, from: NodeId) -> Result<(), Refusal> {
        let allowed = self.parameters.checks_per_tick;
        if self.checks.spend(tick, from, allowed) { Ok(()) } else { Err(Refusal::Budget) }
    }

    fn act(&mut self, turn: &mut Turn<'_, impl Scheme>, action: Action) {
        self.state = action;
        self.generation = self.generation.next();
        self.acted_at = turn.now;
        self.dwells_from = turn.now;
        self.votes = [None; NODES];
        self.heartbeat = Heartbeat::new(turn.now, &self.parameters);
        self.doubt = self.doubt.filter(|doubt| doubt.ahead != [false; NODES]);
        turn.effects.push(Effect::Operate { action, generation: self.generation });
    }

    fn acknowledge(&self, turn: &mut Turn<'_, impl Scheme>, node: NodeId) {
        let acknowledgement = Acknowledgement {
            generation: self.generation,
            state: self.state,
            acted_at: self.acted_at,
            tick: turn.tick(),
            counters: self.keys.counters.highest(),
        };
        turn.send(Party::Relay(node), Message::Acknowledgement(acknowledgement));
    }
}
