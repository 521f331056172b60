//! What the relay beside a harness decides: that the breaker be tripped, that it be closed, or
//! nothing.
//!
//! The relay is one of three: protection elements with their trip matrix, one instantaneous
//! element that decides with each sample, or a device of somebody else that says so over GOOSE.
//! What they have in common is here: a relay whose condition holds decides so again each time that
//! it looks, and a condition that has passed is withdrawn.

mod elements;
mod foreign;
mod instantaneous;

pub use elements::Elements;
pub use foreign::Foreign;
pub use instantaneous::Instantaneous;

use iec61850::SampleTime;
use iec61850::wire::Goose;
use quorum::Action;

use crate::engine::Arrival;

/// What a relay says when it has looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The breaker is to be in this state.
    Decided(Action),
    /// What was decided no longer holds.
    Withdrawn,
}

/// The relay beside a harness.
#[derive(Debug)]
pub enum Decider {
    /// Elements and a trip matrix.
    Elements(Box<Elements>),
    /// One element that looks at each sample by itself.
    Instantaneous(Box<Instantaneous>),
    /// A device that speaks GOOSE.
    Foreign(Box<Foreign>),
}

impl Decider {
    /// A sample has come.
    pub fn sample(&mut self, arrival: &Arrival) {
        match self {
            Self::Elements(elements) => elements.sample(arrival),
            Self::Instantaneous(element) => element.sample(arrival),
            Self::Foreign(_) => {}
        }
    }

    /// A GOOSE message has come over the relay's own interface.
    pub fn message(&mut self, now: SampleTime, message: &Goose<'_>) {
        if let Self::Foreign(foreign) = self {
            foreign.message(now, message);
        }
    }

    /// Looks at what has come until now, at least each millisecond; nothing if there is nothing
    /// new to say.
    pub fn look(&mut self, now: SampleTime) -> Option<Decision> {
        match self {
            Self::Elements(elements) => elements.look(now),
            Self::Instantaneous(element) => element.look(now),
            Self::Foreign(foreign) => foreign.look(now),
        }
    }
}

/// Turns a condition into decisions: again while it holds, withdrawn once when it has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Voice {
    has_decided: bool,
}

impl Voice {
    fn say(&mut self, wanted: Option<Action>) -> Option<Decision> {
        let had_decided = std::mem::replace(&mut self.has_decided, wanted.is_some());
        match wanted {
            Some(action) => Some(Decision::Decided(action)),
            None if had_decided => Some(Decision::Withdrawn),
            None => None,
        }
    }
}
