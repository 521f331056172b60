//! The loop of a hostile node: it makes its keys known as a correct node does, learns how the
//! breaker stands, and then says in each tick what the attack wants.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use iec61850::SampleTime;
use quorum::wire::Payload;
use quorum::{Action, Attempt, Counters, Effect, Event, Gen, Message, Party, Relay, Speaker};
use realtime::exchange::outbox;
use serde_json::{Value, json};
use substation::settings::quorum::Quorum;

use super::attack::{Attack, Scene, said};
use crate::quorum::birth::Identity;
use crate::quorum::bus::Bus;
use crate::quorum::harness::Harness;

/// Events of the harness that nobody reads.
const EVENTS_MAX: usize = 64;

/// What it does, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) attack: Attack,
    pub(crate) copies: u32,
    /// Number of its working keys: lower ones are old keys.
    pub(crate) counter: u64,
    /// The breaker's next action, for one to whom nobody tells it because his keys are worth nothing;
    /// he takes the breaker to be closed.
    pub(crate) assumed: Option<u64>,
    /// Until when, if not until somebody says stop.
    pub(crate) duration: Option<Duration>,
}

/// Attacks until `stop`; answers what was said and heard. Files are relative to `folder`.
pub(crate) fn run(quorum: &Quorum, folder: &Path, plan: Plan, stop: &AtomicBool) -> Result<Value> {
    let identity = Identity::read(quorum, folder)?;
    let me = identity.node(quorum)?;
    let (membership, channels, keyring) = identity.born(plan.counter)?;
    let subject = membership.subject(quorum.protocol);
    let (events, _unread) = outbox(EVENTS_MAX);
    let bus = Bus::open(quorum, channels).context("opening sockets")?;
    let mut harness = Harness::new(bus, keyring, events, None);
    let now = harness.clock.read();
    let speaker = Speaker { me, subject, parameters: quorum.parameters };
    let relay = Relay::born(now.common, speaker, Action::Close, plan.counter, Counters::default());
    let hostile = Hostile { harness, relay, plan, speaker, heard: None, said: 0 };
    terminal::err!("qchostile: begins");
    let end = plan.duration.map(|duration| now.own.plus(duration));
    hostile.run(end, stop).context("sockets")
}

struct Hostile {
    harness: Harness,
    relay: Relay<quorum::wire::Proof, quorum::wire::Certificate>,
    plan: Plan,
    speaker: Speaker,
    /// What a peer has attempted last.
    heard: Option<Attempt>,
    said: u64,
}

impl Hostile {
    fn run(mut self, end: Option<SampleTime>, stop: &AtomicBool) -> io::Result<Value> {
        let mut inbox = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let now = self.harness.clock.read();
            if end.is_some_and(|end| now.own >= end) {
                break;
            }
            let tick = self.harness.begins_tick(now);
            self.harness.receive(&mut inbox)?;
            for received in inbox.drain(..) {
                match (received.from, received.payload) {
                    (from, Payload::Message(message)) => {
                        if let Message::Share { attempt, .. } = &message {
                            self.heard = Some(*attempt);
                        }
                        self.learn(Event::Received { from, message });
                    }
                    (Party::Relay(node), Payload::Commitments(commitments)) => {
                        self.harness.scheme.scheme.committed(node, &commitments);
                    }
                    (Party::Breaker, Payload::Commitments(_)) => {}
                }
            }
            self.learn(Event::Deadline);
            if let (Some(tick), Some((generation, stands))) = (tick, self.breaker()) {
                let Speaker { me, subject, .. } = self.speaker;
                let copies = self.plan.copies;
                self.attack(&Scene { me, subject, generation, stands, tick, copies });
            }
            self.harness.wait(None, self.relay.next_deadline())?;
        }
        let mut summary = self.harness.summary();
        summary["said"] = self.said.into();
        summary["gen"] = json!(self.relay.generation().map(|generation| generation.0));
        Ok(summary)
    }

    /// The breaker's next action and how it stands, as far as is known: from the breaker node, or from
    /// what peers attempt.
    fn breaker(&self) -> Option<(Gen, Action)> {
        let stands = self.relay.state().map(|state| state.breaker());
        let assumed = self.plan.assumed.map(|number| (Gen(number), Action::Close));
        let heard = self.heard.map(|attempt| (attempt.generation, attempt.action.opposite()));
        self.relay.generation().zip(stands).or(assumed).or(heard)
    }

    /// Does what a correct node does about keys, and says none of what it would.
    fn learn(&mut self, event: quorum::EventOf<quorum::certificate::Keyring>) {
        let now = self.harness.clock.read();
        let mut effects = Vec::new();
        self.relay.step(now.common, event, &mut self.harness.scheme, &mut effects);
        for effect in effects {
            match effect {
                Effect::Adopt { node, key, .. } => self.harness.adopt(now, node, &key),
                Effect::Distrust { node, counter } => self.harness.distrust(now, node, counter),
                Effect::Send {
                    message:
                        Message::Vote { .. } | Message::Share { .. } | Message::Certificate { .. },
                    ..
                }
                | Effect::Operate { .. } => {}
                Effect::Send { to: Party::Breaker, message: Message::Announcement { .. } }
                    if self.plan.attack == Attack::Withhold => {}
                effect => self.harness.carry_out(now, effect),
            }
        }
    }

    fn attack(&mut self, scene: &Scene) {
        for (to, message) in said(self.plan.attack, scene, &mut self.harness.scheme.scheme) {
            self.said += 1;
            self.harness.bus.send(to, &Payload::Message(message));
        }
    }
}
