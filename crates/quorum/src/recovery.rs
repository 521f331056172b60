//! How a node that was destroyed and reborn finds its way back: it asks the breaker node how
//! it stands until it answers, and announces its new working key until everybody has noted it.
//!
//! A node that never was away does the same, less often: its questions are a sign of life, and
//! the answers end the ignorance of a node that has missed an acknowledgement.

use std::time::Duration;

use super::{Acknowledgement, CommonTime, Counters, NODES, NodeId, Parameters, Party, Tick};

/// When to ask the breaker node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Inquiry {
    /// When it was asked for the first time, until it has answered.
    first: Option<Tick>,
    pub(super) next: CommonTime,
}

impl Inquiry {
    pub(super) const fn new(now: CommonTime) -> Self {
        Self { first: Some(Tick::at(now)), next: now }
    }

    /// Whether the breaker node is to be asked now. An attempt that has not succeeded may be one
    /// for a gen that has passed, so who attempts asks as often as who was reborn.
    pub(super) fn due(&mut self, now: CommonTime, parameters: &Parameters, attempts: bool) -> bool {
        // A clock that is set back delays nothing by more than an interval.
        self.next = self.next.min(now.plus(parameters.presence_interval));
        if now < self.next {
            return false;
        }
        let often = attempts || self.first.is_some();
        let interval = if often { parameters.query_interval } else { parameters.presence_interval };
        self.next = now.plus(interval);
        true
    }

    /// An attempt begins: the answer to it is what normally ends it.
    pub(super) fn hasten(&mut self, now: CommonTime, parameters: &Parameters) {
        self.next = self.next.min(now.plus(parameters.query_interval));
    }

    /// Whether an acknowledgement tells how the breaker stands now: it does not, if it may be one
    /// from before this node was born.
    pub(super) fn answered(&mut self, by: &Acknowledgement, parameters: &Parameters) -> bool {
        let answered =
            self.first.is_none_or(|first| by.tick.plus(parameters.freshness_ticks) >= first);
        if answered {
            self.first = None;
        }
        answered
    }
}

/// To whom the own working key is still to be announced: to everybody who has not noted it, or
/// whose own key is not known, because the answer brings that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Announcements {
    me: NodeId,
    counter: u64,
    noted_by_relays: [bool; NODES],
    noted_by_breaker: bool,
    next: CommonTime,
    interval: Duration,
}

impl Announcements {
    /// To everybody but this node, at once.
    pub(super) const fn new(
        now: CommonTime,
        me: NodeId,
        counter: u64,
        parameters: &Parameters,
    ) -> Self {
        Self {
            me,
            counter,
            noted_by_relays: [false; NODES],
            noted_by_breaker: false,
            next: now,
            interval: parameters.query_interval,
        }
    }

    /// Somebody has noted a key of this node; ignored unless it is the present one.
    pub(super) fn noted(&mut self, by: Party, counter: u64) {
        if counter == self.counter {
            match by {
                Party::Relay(node) => self.noted_by_relays[node.index()] = true,
                Party::Breaker => self.noted_by_breaker = true,
            }
        }
    }

    /// Nothing has come from the breaker node for long: it may have lost its memory of this node's key.
    pub(super) fn breaker_is_silent(&mut self, now: CommonTime, parameters: &Parameters) {
        self.noted_by_breaker = false;
        self.hasten(now, parameters);
    }

    /// A key is no longer in use, and its successor is wanted soon.
    pub(super) fn hasten(&mut self, now: CommonTime, parameters: &Parameters) {
        self.interval = parameters.query_interval;
        self.next = self.next.min(now);
    }

    /// To whom the key is to be announced now. Nodes that are down hear it less and less often.
    pub(super) fn due(
        &mut self,
        now: CommonTime,
        counters: &Counters,
        parameters: &Parameters,
    ) -> Vec<Party> {
        self.next = self.next.min(now.plus(parameters.heartbeat_max));
        if now < self.next {
            return Vec::new();
        }
        let pending: Vec<Party> = self.pending(counters).collect();
        if !pending.is_empty() {
            self.next = now.plus(self.interval);
            self.interval = (self.interval * 2).min(parameters.heartbeat_max);
        }
        pending
    }

    /// When it is to be announced next.
    pub(super) fn next(&self, counters: &Counters) -> Option<CommonTime> {
        self.pending(counters).next().map(|_| self.next)
    }

    fn pending(&self, counters: &Counters) -> impl Iterator<Item = Party> {
        let breaker = (!self.noted_by_breaker).then_some(Party::Breaker).into_iter();
        let relays = NodeId::ALL.into_iter().filter(|&node| {
            let is_done = self.noted_by_relays[node.index()] && counters.is_in_use(node);
            node != self.me && !is_done
        });
        breaker.chain(relays.map(Party::Relay))
    }
}
