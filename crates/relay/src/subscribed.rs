//! What messages of other devices say: positions of breakers, and elements to be blocked.
//!
//! While a publisher is silent, positions are unknown and nothing is blocked: a relay that cannot
//! hear its neighbour clears faults rather than waits for it.

use substation::SampleTime;
use substation::goose::{Counters, Liveness, Reception, Subscriber};
use substation::settings::{Entry, Relay};
use substation::wire::{Data, Goose};

/// One subscription.
#[derive(Debug)]
pub struct Subscribed {
    subscriber: Subscriber,
    entries: Vec<Entry>,
    /// The element that each entry blocks.
    blocks: Vec<Option<usize>>,
    values: Vec<Option<bool>>,
}

impl Subscribed {
    /// The subscriptions of a relay.
    #[must_use]
    pub fn of(relay: &Relay) -> Vec<Self> {
        let place = |entry: &Entry| match entry {
            Entry::Block(name) => relay.elements.keys().position(|known| known == name),
            Entry::Position(_) | Entry::Quality | Entry::Unused => None,
        };
        let subscriptions = relay.subscriptions.values();
        subscriptions
            .map(|subscription| Self {
                subscriber: Subscriber::new(subscription.expected.clone()),
                blocks: subscription.entries.iter().map(place).collect(),
                values: vec![None; subscription.entries.len()],
                entries: subscription.entries.clone(),
            })
            .collect()
    }

    /// A message has come; others than the expected are left.
    pub fn receive(&mut self, now: SampleTime, message: &Goose<'_>) {
        if !self.subscriber.expected().matches(message) {
            return;
        }
        if !self.has_kinds(message) {
            self.subscriber.refuse();
        } else if self.subscriber.receive(now, message) == Reception::Changed {
            self.take(message);
        }
    }

    /// Time has passed.
    pub fn poll(&mut self, now: SampleTime) -> Liveness {
        let liveness = self.subscriber.poll(now);
        if liveness != Liveness::Alive {
            self.values.fill(None);
        }
        liveness
    }

    /// What became of messages.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        self.subscriber.counters()
    }

    /// Elements that it may block, and whether it does.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, bool)> {
        let known = self.blocks.iter().zip(&self.values);
        known.filter_map(|(element, value)| Some(((*element)?, *value == Some(true))))
    }

    /// The value of each entry, unknown without a publisher and without quality.
    #[must_use]
    pub fn values(&self) -> &[Option<bool>] {
        &self.values
    }

    fn has_kinds(&self, message: &Goose<'_>) -> bool {
        self.entries.iter().zip(message.all_data.elements()).all(|(entry, data)| match entry {
            Entry::Position(_) => match data {
                Data::BitString(bits) => bits.len() == 2,
                other => matches!(other, Data::Boolean(_)),
            },
            Entry::Block(_) => matches!(data, Data::Boolean(_)),
            Entry::Quality => matches!(data, Data::BitString(bits) if bits.len() == 13),
            Entry::Unused => true,
        })
    }

    fn take(&mut self, message: &Goose<'_>) {
        let mut before = None;
        for (index, data) in message.all_data.elements().enumerate() {
            match (self.entries.get(index), data) {
                (Some(Entry::Quality), Data::BitString(quality)) => {
                    let is_set = |bit| quality.get(bit) == Some(true);
                    // Validity in the first two, test in the twelfth.
                    if let (Some(before), true) = (before, is_set(0) || is_set(1) || is_set(11)) {
                        self.values[before] = None;
                    }
                }
                (Some(_), Data::Boolean(value)) => self.values[index] = Some(value),
                (Some(Entry::Position(_)), Data::BitString(bits)) => {
                    let ends = (bits.get(0), bits.get(1));
                    self.values[index] = match ends {
                        (Some(true), Some(false)) => Some(true),
                        (Some(false), Some(true)) => Some(false),
                        _ => None,
                    };
                }
                _ => {}
            }
            before = Some(index);
        }
    }
}
