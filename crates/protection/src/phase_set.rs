//! Which phases something is about: those of a fault (`phsA`, `phsB`, `phsC`, `neut` of ACD and ACT,
//! IEC 61850-7-3), or the poles of a breaker.

use std::fmt;
use std::ops::BitOr;

/// A set of phases, and whether earth is among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PhaseSet(u8);

impl PhaseSet {
    /// Of no phase, or not known of which.
    pub const NONE: Self = Self(0);
    /// All three phases, without earth.
    pub const ALL: Self = Self(0b111);
    /// Earth alone, of something that is in no phase.
    pub const EARTH: Self = Self(0b1000);

    /// A phase by its place: 0 to 2.
    #[must_use]
    pub const fn phase(place: usize) -> Self {
        Self(1 << (place % 3))
    }

    /// The phases that are true here.
    #[must_use]
    pub fn of(phases: [bool; 3]) -> Self {
        let chosen = (0..3).filter(|place| phases[*place]);
        chosen.fold(Self::NONE, |set, place| set | Self::phase(place))
    }

    /// Whether a phase, by its place, is in it.
    #[must_use]
    pub const fn has(self, place: usize) -> bool {
        self.0 & Self::phase(place).0 != 0
    }

    /// Whether earth is in it.
    #[must_use]
    pub const fn has_earth(self) -> bool {
        self.0 & Self::EARTH.0 != 0
    }

    /// The same without earth: poles of a breaker.
    #[must_use]
    pub const fn poles(self) -> Self {
        Self(self.0 & Self::ALL.0)
    }

    /// How many phases are in it, earth not counted.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.poles().0.count_ones()
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for PhaseSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for PhaseSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = ["A", "B", "C"].into_iter().enumerate();
        let phases = letters.filter(|(place, _)| self.has(*place)).map(|(_, letter)| letter);
        phases.chain(self.has_earth().then_some("N")).try_for_each(|letter| out.write_str(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_phases_and_earth() {
        let set = PhaseSet::phase(1) | PhaseSet::EARTH;
        assert!(set.has(1) && set.has_earth() && !set.has(0));
        assert_eq!((set.count(), set.poles()), (1, PhaseSet::of([false, true, false])));
        assert_eq!(set.to_string(), "BN");
        assert_eq!(PhaseSet::of([true; 3]), PhaseSet::ALL);
        assert!(PhaseSet::NONE.is_empty() && !PhaseSet::EARTH.is_empty());
    }
}
