//! The loop of the breaker node: votes or certificates in, and when the state machine says so, what a
//! restart finds into memory that outlives the process, the order to the breaker, then
//! acknowledgements.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quorum::certificate::Keyring;
use quorum::keys::Membership;
use quorum::wire::{Payload, WorkingKey};
use quorum::{
    Action, Breaker, BreakerEvent, BreakerEventOf, CommonTime, Counters, Effect, Gen, Message,
    NODES, NodeId, Party, Remembered as Core,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bus::Received;
use super::harness::{Asked, Harness};
use super::memory::{Found, Memory};
use super::operate::Operator;
use super::records::{Acted, What};
use super::status::Shown;

/// Gens that are left out after the host was restarted: more than the breaker can act while the
/// disk is behind by seconds, at one action for each dwell.
const LEFT_OUT: u64 = 1024;

/// What the breaker node must find again after a restart.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// Whether the last action was a trip.
    is_open: bool,
    /// The number of the next action.
    generation: u64,
    /// When the last one was, in ns since 1970.
    acted_at_ns: u64,
    /// Under which keys the following was learnt.
    membership: [u8; 32],
    /// The least numbers of working keys.
    counters: [u64; NODES],
    /// Working keys in use, with their numbers.
    keys: [Option<Key>; NODES],
    /// It began anew under these keys, and nodes may know of earlier actions.
    #[serde(default)]
    pub(crate) is_in_doubt: bool,
}

/// A working key as it is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Key {
    counter: u64,
    signing_key: [u8; 32],
    channel_key: [u8; 32],
    /// In two halves, which is what the library of the file's format knows.
    signature: [[u8; 32]; 2],
}

impl From<&WorkingKey> for Key {
    fn from(key: &WorkingKey) -> Self {
        let WorkingKey { counter, signing_key, channel_key, signature } = *key;
        let mut halves = [[0; 32]; 2];
        halves.as_flattened_mut().copy_from_slice(&signature);
        Self { counter, signing_key, channel_key, signature: halves }
    }
}

impl From<&Key> for WorkingKey {
    fn from(key: &Key) -> Self {
        let Key { counter, signing_key, channel_key, signature: halves } = *key;
        let mut signature = [0; 64];
        signature.copy_from_slice(halves.as_flattened());
        Self { counter, signing_key, channel_key, signature }
    }
}

impl Remembered {
    /// What it starts with: what was found, or a breaker that never acted. What was learnt of nodes
    /// under other keys than those of this membership is forgotten: their working keys are worth
    /// nothing any more, and their numbers begin again.
    pub(crate) fn or_new(
        found: Option<Found<Self>>,
        initially: Action,
        membership: &Membership,
    ) -> Self {
        let membership = membership.fingerprint();
        let Some(Found { mut remembered, is_other_boot }) = found else {
            return Self {
                is_open: initially == Action::Trip,
                generation: 0,
                acted_at_ns: 0,
                membership,
                counters: [0; NODES],
                keys: [None; NODES],
                is_in_doubt: true,
            };
        };
        if remembered.membership != membership {
            (remembered.counters, remembered.keys) = ([0; NODES], [None; NODES]);
            remembered.membership = membership;
            remembered.is_in_doubt = false;
        }
        if is_other_boot {
            remembered.generation = remembered.generation.saturating_add(LEFT_OUT);
        }
        remembered
    }

    /// The order that stands after a restart; none if there never was an action. After a loss of power
    /// the disk may lack the last one: to open again is safe then, to close on what may be a fault is
    /// not.
    pub(crate) fn order(found: &Found<Self>) -> Option<Action> {
        let Found { remembered, is_other_boot } = found;
        let (state, has_acted) = (remembered.state(), remembered.acted_at_ns != 0);
        (has_acted && (!is_other_boot || state == Action::Trip)).then_some(state)
    }

    pub(crate) const fn state(&self) -> Action {
        if self.is_open { Action::Trip } else { Action::Close }
    }

    /// What the state machine continues with.
    fn core(&self) -> Core {
        let mut counters = Counters::default();
        for (node, key) in NodeId::ALL.into_iter().zip(&self.keys) {
            if let Some(key) = key {
                counters.adopt(node, key.counter);
            }
            let _is_higher = counters.raise(node, self.counters[node.index()]);
        }
        Core {
            state: self.state(),
            generation: Gen(self.generation),
            acted_at: CommonTime::from_ns(self.acted_at_ns),
            counters,
        }
    }

    fn take(&mut self, core: &Core) {
        self.is_open = core.state == Action::Trip;
        self.generation = core.generation.0;
        self.acted_at_ns = core.acted_at.ns();
        self.counters = core.counters.highest();
    }
}

#[derive(Debug)]
pub(crate) struct BreakerLoop<'s> {
    harness: Harness,
    breaker: Breaker,
    operator: Operator<'s>,
    memory: Memory,
    remembered: Remembered,
    /// In which write each node's working key was written down.
    adopted: [u64; NODES],
    /// Whether it was recorded that nodes know of later gens.
    is_loss_recorded: bool,
    shown: Arc<Shown>,
    effects: Vec<Asked>,
    actions: u64,
}

impl<'s> BreakerLoop<'s> {
    /// A breaker node that starts now and goes on with what is remembered.
    pub(crate) fn new(
        mut harness: Harness,
        (subject, parameters): (quorum::Subject, quorum::Parameters),
        operator: Operator<'s>,
        (mut memory, remembered): (Memory, Remembered),
        shown: Arc<Shown>,
    ) -> io::Result<Self> {
        let now = harness.clock.read();
        for (node, key) in NodeId::ALL.into_iter().zip(&remembered.keys) {
            if let Some(key) = key {
                harness.adopt(now, node, &key.into());
            }
        }
        memory.write_through(&remembered)?;
        let mut breaker = Breaker::new(now.common, subject, parameters, remembered.core());
        if remembered.is_in_doubt {
            breaker = breaker.with_doubt();
            harness.record(now, What::MemoryNew);
        }
        shown.stands(&breaker.remembered());
        Ok(Self {
            harness,
            breaker,
            operator,
            memory,
            remembered,
            adopted: [0; NODES],
            is_loss_recorded: false,
            shown,
            effects: Vec::with_capacity(64),
            actions: 0,
        })
    }

    /// Runs until it shall stop; answers what became of everything.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<Value> {
        self.harness.begin();
        let mut inbox = Vec::with_capacity(128);
        while !stop.load(Ordering::Relaxed) {
            let now = self.harness.clock.read();
            if self.harness.begins_tick(now).is_some() {
                self.operator.poll(now);
            }
            self.harness.receive(&mut inbox)?;
            for Received { from, payload, stamp } in inbox.drain(..) {
                let (Party::Relay(from), Payload::Message(message)) = (from, payload) else {
                    continue;
                };
                // A recording of an announcement, which is the same each time, is no sign of life.
                if !matches!(message, Message::Announcement { .. }) {
                    self.shown.heard(from, stamp);
                }
                self.step(BreakerEvent::Received { from, message }, Some((from, stamp)))?;
            }
            if self.harness.clock.read().common >= self.breaker.next_deadline() {
                self.step(BreakerEvent::Deadline, None)?;
            }
            self.harness.wait(None, self.breaker.next_deadline())?;
        }
        let mut summary = self.harness.summary();
        summary["actions"] = self.actions.into();
        summary["gen"] = self.remembered.generation.into();
        summary["state"] = self.remembered.state().to_string().into();
        summary["goose_unsent"] = json!(self.operator.unsent);
        Ok(summary)
    }

    fn step(
        &mut self,
        event: BreakerEventOf<Keyring>,
        received: Option<(NodeId, CommonTime)>,
    ) -> io::Result<()> {
        let now = self.harness.clock.read();
        self.harness.scheme.take_spent();
        let mut effects = std::mem::take(&mut self.effects);
        self.breaker.step(now.common, event, &mut self.harness.scheme, &mut effects);
        let cryptography = self.harness.scheme.take_spent();
        let mut acted = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Operate { action, generation } => {
                    // A node that is killed in between orders it again when it starts; the other way
                    // round it would act twice in one gen. A disk that fails stops no action.
                    let remembered = self.remember();
                    self.operator.order(now, action);
                    let operated = self.harness.clock.read().common;
                    remembered?;
                    self.actions += 1;
                    let (from, received) = received.expect("only what was received completes");
                    acted = Some(Acted {
                        action,
                        generation,
                        decided: now.common,
                        operated,
                        received,
                        from,
                        cryptography,
                        acknowledging: self.harness.clock.read().common,
                    });
                }
                Effect::Adopt { node, key, .. } => {
                    self.remembered.keys[node.index()] = Some((&key).into());
                    self.remember()?;
                    self.adopted[node.index()] = self.memory.number;
                    self.harness.adopt(now, node, &key);
                }
                Effect::Distrust { node, counter } => {
                    self.remembered.keys[node.index()] = None;
                    self.remember()?;
                    self.harness.distrust(now, node, counter);
                }
                // Anybody who hears this announces its key no more, so a loss of power must not bring the old
                // one back. It announces again, and hears it when the disk has followed.
                Effect::Send { to: Party::Relay(node), message: Message::Noted { .. } }
                    if !self.memory.is_on_disk(self.adopted[node.index()]) => {}
                effect => self.harness.carry_out(now, effect),
            }
        }
        self.effects = effects;
        if let Some(acted) = acted {
            self.harness.record(now, What::Acted(acted));
        }
        if !self.is_loss_recorded
            && let Some(nodes) = self.breaker.knows_less_than()
        {
            self.is_loss_recorded = true;
            self.shown.memory_is_lost();
            self.harness.record(now, What::MemoryLost { nodes });
        }
        Ok(())
    }

    /// Writes down how the breaker stands, and shows it.
    fn remember(&mut self) -> io::Result<()> {
        let core = self.breaker.remembered();
        self.remembered.take(&core);
        self.remembered.is_in_doubt = self.breaker.is_in_doubt();
        self.shown.stands(&core);
        self.memory.write(&self.remembered)
    }
}

#[cfg(test)]
mod tests {
    use quorum::dealer::generate;
    use quorum::keys::Secret;
    use quorum::wire::CertificateKind;
    use quorum::{BreakerId, Epoch, StationId};

    use super::*;
    use crate::quorum::node;

    fn membership(seed: u8) -> Membership {
        let kind = CertificateKind::TwoSignatures;
        let seed = Secret::new([seed; 32]);
        // The same epoch each time: what counts is the keys.
        generate(StationId(7), Epoch(1), BreakerId(1), kind, &seed).membership
    }

    fn found(remembered: Remembered, is_other_boot: bool) -> Found<Remembered> {
        Found { remembered, is_other_boot }
    }

    fn after_a_trip(membership: &Membership) -> Remembered {
        let mut remembered = Remembered::or_new(None, Action::Close, membership);
        let key = WorkingKey {
            counter: 500,
            signing_key: [1; 32],
            channel_key: [2; 32],
            signature: [3; 64],
        };
        (remembered.is_open, remembered.generation, remembered.acted_at_ns) = (true, 12, 34);
        (remembered.counters, remembered.keys) = ([500; NODES], [Some((&key).into()); NODES]);
        remembered
    }

    #[test]
    fn keys_of_another_membership_are_forgotten_and_how_the_breaker_stands_is_not() {
        let [old, new] = [1, 2].map(membership);
        let before = after_a_trip(&old);
        let again = Remembered::or_new(Some(found(before.clone(), false)), Action::Close, &old);
        assert_eq!(again, before);
        assert!(again.is_in_doubt, "the keys are those under which it began anew");
        assert_eq!(again.core().counters.highest(), [500; NODES]);
        let other = Remembered::or_new(Some(found(before, false)), Action::Close, &new);
        assert_eq!((other.state(), other.generation), (Action::Trip, 12));
        assert!(!other.is_in_doubt, "nobody speaks of gens under keys that are new");
        assert_eq!((other.counters, &other.keys), ([0; NODES], &[const { None }; NODES]));
        let known = other.core().counters;
        assert!(NodeId::ALL.iter().all(|node| !known.is_in_use(*node)));

        let found = |is_other_boot, remembered| Some(Found { remembered, is_other_boot });
        let mut own = node::Remembered::or_new(None, &old);
        own.learn(NodeId::ALL[2], 500);
        let again = node::Remembered::or_new(found(false, own), &old);
        assert_eq!((again.counter, again.known().highest()), (2, [0, 0, 500, 0]));
        let other = node::Remembered::or_new(found(false, own), &new);
        assert_eq!((other.counter, other.known().highest()), (2, [0; NODES]));
    }

    #[test]
    fn an_order_to_close_stands_only_if_it_is_known_to_be_the_last() {
        let mut remembered = after_a_trip(&membership(1));
        for is_other_boot in [false, true] {
            let order = Remembered::order(&found(remembered.clone(), is_other_boot));
            assert_eq!(order, Some(Action::Trip));
        }
        remembered.is_open = false;
        assert_eq!(Remembered::order(&found(remembered.clone(), false)), Some(Action::Close));
        assert_eq!(Remembered::order(&found(remembered, true)), None);
        let new = Remembered::or_new(None, Action::Close, &membership(1));
        assert_eq!(Remembered::order(&found(new, false)), None, "nobody ever wanted it closed");
    }
}
