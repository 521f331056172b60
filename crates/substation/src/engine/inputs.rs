//! What other devices say now, as the engine was told since its last step.

use crate::settings::Input;
use protection::PhaseSet;

/// What one element is told: a value for each kind of input, unknown where nobody is heard who says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inputs {
    values: [Option<bool>; Input::ALL.len()],
    /// Poles of which it is told one by one that another device trips them.
    poles: PhaseSet,
}

impl Inputs {
    /// Where two say something, one that says yes is enough.
    pub(super) fn tell(&mut self, input: Input, value: Option<bool>) {
        let known = &mut self.values[input as usize];
        *known = match (*known, value) {
            (Some(one), Some(other)) => Some(one || other),
            (one, other) => one.or(other),
        };
    }

    /// Whether it is said, and by somebody who is heard.
    pub(super) fn is(&self, input: Input) -> bool {
        self.said(input) == Some(true)
    }

    /// What is said, by somebody who is heard.
    pub(super) const fn said(&self, input: Input) -> Option<bool> {
        self.values[input as usize]
    }

    /// Another device trips this pole.
    pub(super) fn initiate(&mut self, pole: usize) {
        self.poles = self.poles | PhaseSet::phase(pole);
    }

    /// Poles that another device trips.
    pub(super) fn initiated(&self) -> PhaseSet {
        if self.is(Input::Initiate) { PhaseSet::ALL } else { self.poles }
    }
}

/// Where the contacts of a breaker are, as far as others tell: true for closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Told {
    #[default]
    Nothing,
    Position(bool),
    /// Two differ, or one says that they move.
    Unclear,
}

impl Told {
    fn tell(&mut self, is_closed: Option<bool>) {
        *self = match (*self, is_closed) {
            (Self::Nothing, Some(is_closed)) => Self::Position(is_closed),
            (Self::Position(known), Some(is_closed)) if known == is_closed => return,
            _ => Self::Unclear,
        };
    }

    const fn position(self) -> Option<bool> {
        match self {
            Self::Position(is_closed) => Some(is_closed),
            Self::Nothing | Self::Unclear => None,
        }
    }
}

/// Where the contacts of one breaker are, as all tell who are asked: of its poles together, or of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contacts {
    whole: Told,
    poles: [Told; 3],
}

impl Contacts {
    /// One tells whether a pole, or without its place (0 to 2) the breaker, is closed; nothing where it
    /// is not heard or says that contacts move.
    pub fn tell(&mut self, pole: Option<usize>, is_closed: Option<bool>) {
        match pole {
            Some(pole) => self.poles[pole].tell(is_closed),
            None => self.whole.tell(is_closed),
        }
    }

    /// Poles that are open, while that is known of all of them.
    #[must_use]
    pub fn open(self) -> Option<PhaseSet> {
        if self.poles == [Told::Nothing; 3] {
            let is_closed = self.whole.position()?;
            return Some(if is_closed { PhaseSet::NONE } else { PhaseSet::ALL });
        }
        let [a, b, c] = self.poles.map(Told::position);
        Some(PhaseSet::of([!a?, !b?, !c?]))
    }

    /// Whether it is closed, unless that is not known or poles differ.
    pub(super) fn position(self) -> Option<bool> {
        match self.open()?.count() {
            0 => Some(true),
            3 => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_says_yes_is_enough_and_silence_is_no_answer() {
        let mut inputs = Inputs::default();
        for (value, is) in [(None, false), (Some(false), false), (None, false), (Some(true), true)]
        {
            inputs.tell(Input::Block, value);
            assert_eq!(inputs.is(Input::Block), is, "{value:?}");
        }
        assert!(!inputs.is(Input::Initiate));
    }

    #[test]
    fn positions_that_differ_are_unknown() {
        let after = |said: &[Option<bool>]| {
            let mut told = Contacts::default();
            said.iter().for_each(|each| told.tell(None, *each));
            told.position()
        };
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[Some(true), Some(true)]), Some(true));
        assert_eq!(after(&[Some(true), Some(false)]), None);
        assert_eq!(after(&[Some(false), None]), None);
    }

    #[test]
    fn poles_are_known_one_by_one_or_together() {
        let mut told = Contacts::default();
        told.tell(None, Some(false));
        assert_eq!((told.open(), told.position()), (Some(PhaseSet::ALL), Some(false)));
        told.tell(Some(0), Some(false));
        assert_eq!(told.open(), None, "two poles are not known");
        told.tell(Some(1), Some(true));
        told.tell(Some(2), Some(true));
        assert_eq!((told.open(), told.position()), (Some(PhaseSet::phase(0)), None));
        told.tell(Some(2), None);
        assert_eq!(told.open(), None);
    }
}
