//! The order of a publisher's messages: what follows the last one, and what does not.

use std::time::Duration;

use super::refusal::{Field, Refusal, Said};
use crate::time::SampleTime;
use crate::wire::{Goose, UtcTime};

/// Longest time that a message is believed, whatever it says: three intervals of 60 s. A forged one
/// could otherwise hold its values for 49 days.
const LIVE_MAX: Duration = Duration::from_secs(180);

/// Messages that follow each other, by the last of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    st_num: u32,
    sq_num: u32,
    t: UtcTime,
    pub(super) expires: SampleTime,
}

/// How a message follows the last one of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The same state; so many messages are missing between.
    Repeats { lost: u32 },
    /// Another state; so many are missing between.
    Changes { lost: u32 },
}

impl Line {
    /// The line that begins with this message.
    pub(super) fn from(now: SampleTime, message: &Goose<'_>) -> Self {
        let live = Duration::from_millis(message.time_allowed_to_live_ms.into());
        let Goose { st_num, sq_num, t, .. } = *message;
        Self { st_num, sq_num, t, expires: now.plus(live.min(LIVE_MAX)) }
    }

    /// How a message follows; numbers wrap, so half of them are ahead and half behind.
    ///
    /// # Errors
    /// The field that shows that it does not follow.
    pub(super) fn step(&self, message: &Goose<'_>) -> Result<Step, Refusal> {
        let states = message.st_num.wrapping_sub(self.st_num);
        let messages = message.sq_num.wrapping_sub(self.sq_num);
        let is_ahead = |distance: u32| (1..1 << 31).contains(&distance);
        let behind = |field, expected, got| Err(Refusal { field, expected, got });
        match states {
            0 if message.t != self.t => behind(Field::T, Said::Time(self.t), Said::Time(message.t)),
            0 if is_ahead(messages) => Ok(Step::Repeats { lost: messages - 1 }),
            0 => behind(Field::SqNum, Said::After(self.sq_num), Said::Number(message.sq_num)),
            // An earlier state has an earlier time; a higher number with it was made up.
            _ if is_ahead(states) && message.t < self.t => {
                behind(Field::T, Said::Since(self.t), Said::Time(message.t))
            }
            _ if is_ahead(states) => Ok(Step::Changes { lost: states - 1 }),
            _ => behind(Field::StNum, Said::After(self.st_num), Said::Number(message.st_num)),
        }
    }

    /// Whether a message is of a later time than the whole line.
    pub(super) fn is_before(&self, message: &Goose<'_>) -> bool {
        message.t > self.t
    }
}
