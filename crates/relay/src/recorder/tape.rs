//! What the task tells: events to those who write them down, samples and events to the recorder.

use realtime::exchange::Outbox;
use substation::engine::Arrival;

use crate::event::Event;

/// Something on the tape.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Entry {
    /// A sample that is used.
    Sample(Arrival),
    /// What may have changed a channel.
    Event(Event),
}

/// The queues that the task tells events and samples to; it waits for none of them.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) events: Outbox<Event>,
    pub(crate) tape: Outbox<Entry>,
}

impl Teller {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
        self.tape.push(Entry::Event(event));
    }

    pub(crate) fn sample(&mut self, arrival: &Arrival) {
        self.tape.push(Entry::Sample(*arrival));
    }
}
