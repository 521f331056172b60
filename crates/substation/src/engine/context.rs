//! What elements look at beside samples: each other, and what other devices tell.

use std::collections::BTreeMap;

use super::inputs::Inputs;
use protection::{Decision, PhaseSet};

/// What an element may look at beside its streams.
#[derive(Debug)]
pub(super) struct Context<'e> {
    pub(super) inputs: &'e Inputs,
    /// An element that blocks it sees something, or it is off; of a distance element, no power swing.
    pub(super) is_guarded: bool,
    /// The power swing element that a distance element names sees a swing.
    pub(super) is_swing: bool,
    /// What all elements say; only of those of earlier ranks is it sure to be of this step.
    pub(super) decisions: &'e [Decision],
    /// Elements that are blocked or off, or have nothing to look at that they can trust; as decisions.
    pub(super) blind: &'e [bool],
    /// Distance elements during a power swing, in which they find faults only after a while; as decisions.
    pub(super) swinging: &'e [bool],
    /// Poles of breakers that were tripped at the step before.
    pub(super) tripped: &'e [PhaseSet],
    /// Breakers that another device trips.
    pub(super) ordered: &'e [bool],
    /// Whether breakers are closed, where that is known.
    pub(super) positions: &'e [Option<bool>],
    /// Poles of breakers that are open, where that is known of all of them.
    pub(super) open: &'e [Option<PhaseSet>],
    /// Breakers one pole of which is open on purpose.
    pub(super) pole_open: &'e [bool],
}

/// The place of what settings name, in the order of names.
pub(super) fn place<T>(named: &BTreeMap<String, T>, name: &str) -> Option<usize> {
    named.keys().position(|known| known == name)
}
