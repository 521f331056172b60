//! What other devices say now, as the engine was told since its last step.

use crate::settings::Input;

/// What one element is told: a value for each kind of input, unknown where nobody is heard who says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inputs([Option<bool>; Input::ALL.len()]);

impl Inputs {
    /// Where two say something, one that says yes is enough.
    pub(super) fn tell(&mut self, input: Input, value: Option<bool>) {
        let known = &mut self.0[input as usize];
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
        self.0[input as usize]
    }
}

/// Where the contacts of a breaker are, as far as others tell: true for closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Told {
    #[default]
    Nothing,
    Position(bool),
    /// Two differ, or one says that they move.
    Unclear,
}

impl Told {
    pub(super) fn tell(&mut self, is_closed: Option<bool>) {
        *self = match (*self, is_closed) {
            (Self::Nothing, Some(is_closed)) => Self::Position(is_closed),
            (Self::Position(known), Some(is_closed)) if known == is_closed => return,
            _ => Self::Unclear,
        };
    }

    pub(super) const fn position(self) -> Option<bool> {
        match self {
            Self::Position(is_closed) => Some(is_closed),
            Self::Nothing | Self::Unclear => None,
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
            let mut told = Told::default();
            said.iter().for_each(|each| told.tell(*each));
            told.position()
        };
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[Some(true), Some(true)]), Some(true));
        assert_eq!(after(&[Some(true), Some(false)]), None);
        assert_eq!(after(&[Some(false), None]), None);
    }
}
