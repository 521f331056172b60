//! What an element may look at beside its streams, and where settings put it.

use std::collections::BTreeMap;

use super::inputs::Inputs;
use crate::protection::Decision;

/// What an element may look at beside its streams.
#[derive(Debug)]
pub(super) struct Context<'e> {
    pub(super) inputs: &'e Inputs,
    /// An element that blocks it sees something.
    pub(super) is_guarded: bool,
    /// What all elements say: those of earlier ranks now, others at the step before.
    pub(super) decisions: &'e [Decision],
    /// Breakers that were tripped at the step before.
    pub(super) tripped: &'e [bool],
    /// Whether breakers are closed, where that is known.
    pub(super) positions: &'e [Option<bool>],
}

/// The place of what settings name, in the order of names.
pub(super) fn place<T>(named: &BTreeMap<String, T>, name: &str) -> Option<usize> {
    named.keys().position(|known| known == name)
}
