//! What the task tells: the sequence of events, with numbers instead of names.

use iec61850::goose::{Liveness, Refusal};
use ied::Told;
use quorum::CommonTime;
use realtime::blame::{Cause, Evidence};
use substation::engine::Change;

use crate::group::By;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Event {
    pub(crate) at: CommonTime,
    pub(crate) what: What,
}

/// What happened; numbers are places in the order of the names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum What {
    /// An element, a breaker or a stream.
    Change(Change),
    /// Whether a publisher is heard.
    Publisher(usize, Liveness),
    /// A value of a publisher: subscription, entry, value.
    Value(usize, usize, Option<bool>),
    /// A message that says it is of a publisher was refused: the first of a run.
    Refused(usize, Refusal),
    /// Another setting group was asked for, by its number from 1, and by whom.
    GroupWanted(u8, By),
    /// A cycle ended too late.
    Overrun(Cause, Evidence),
}

impl Event {
    /// What clients of IEC 61850-8-1 may see of it.
    pub(crate) const fn told(&self) -> Option<Told> {
        match self.what {
            What::Change(change) => Some(Told::Change(change)),
            What::Value(subscription, entry, value) => {
                Some(Told::Value(subscription, entry, value))
            }
            What::Publisher(..) | What::Refused(..) | What::GroupWanted(..) | What::Overrun(..) => {
                None
            }
        }
    }
}
