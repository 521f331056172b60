//! The six loops of a fault: two phases, or one and earth. The voltage of a loop is the drop of its current
//! over the line up to a bolted fault between its phases, whatever flows elsewhere.

use super::PhaseSet;
use super::complex::Complex;
use super::direction::Way;
use super::phases::residual;
use super::recent::Recent;
use super::symmetrical::Sequence;

/// The reach of a zone is wider by this once it has started, so that a fault at the edge does not chatter.
pub(super) const DROP_OFF_RATIO: f64 = 1.05;

/// Phases of a loop: one to earth, or two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Of {
    Earth(usize),
    /// From the first to the second.
    Phases(usize, usize),
}

/// All loops; a pair stands where the first of its phases does, an earth loop three further.
pub(super) const LOOPS: [Of; 6] = [
    Of::Phases(0, 1),
    Of::Phases(1, 2),
    Of::Phases(2, 0),
    Of::Earth(0),
    Of::Earth(1),
    Of::Earth(2),
];

impl Of {
    /// Its phases, and earth if it closes through it.
    #[must_use]
    pub(super) fn phases(self) -> PhaseSet {
        match self {
            Self::Earth(phase) => PhaseSet::phase(phase) | PhaseSet::EARTH,
            Self::Phases(first, second) => PhaseSet::phase(first) | PhaseSet::phase(second),
        }
    }

    /// What belongs to the loop of something that each phase has.
    #[must_use]
    pub(super) fn of(self, phases: [Complex; 3]) -> Complex {
        match self {
            Self::Earth(phase) => phases[phase],
            Self::Phases(first, second) => phases[first] - phases[second],
        }
    }

    /// What the currents of the loop drop over a piece of line ahead of this positive sequence impedance
    /// and earth factor, in V.
    #[must_use]
    pub(super) fn drop(self, recent: &Recent, reach: Complex, earth_factor: Complex) -> Complex {
        let own = recent.drop(reach, self.of(recent.currents), self.of(recent.slopes));
        let Self::Earth(_) = self else { return own };
        let mutual = reach * earth_factor;
        own + recent.drop(mutual, residual(recent.currents), residual(recent.slopes))
    }
}

/// What has to be known of a zone to look for the place of a loop in it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Zone {
    /// Positive sequence impedance of the protected piece of line, in ohm.
    pub(super) reach: Complex,
    /// `(Z0 - Z1) / (3 Z1)` of the line.
    pub(super) earth_factor: Complex,
    /// On which side of the relay it looks for faults.
    pub(super) way: Way,
    /// How far it reaches along the axis of resistances, in ohm: of loops of phases, and of those to earth.
    pub(super) resistance_ohm: f64,
    pub(super) earth_resistance_ohm: f64,
    /// Current of a loop below which it is not looked at, in A.
    pub(super) current_a_min: f64,
}

impl Zone {
    /// What the currents of a loop drop over the zone, in V.
    #[must_use]
    pub(super) fn drop(&self, each: Of, recent: &Recent) -> Complex {
        each.drop(recent, self.reach, self.earth_factor) * self.way.sign()
    }
}

/// The phase of a fault to earth, or of one of two phases and earth the one that is healthy, by the sequences of
/// its currents, which load and swings do not have: in that phase negative and zero sequence are in phase
/// (Kasztenny, Mooney and others, *Fault type selection*, 2008).
#[must_use]
pub(super) fn distinct_phase(Sequence { negative, zero, .. }: Sequence) -> usize {
    let of_phases = Sequence { negative, ..Sequence::default() }.phases();
    let along = of_phases.map(|of_phase| (zero * of_phase.conj()).re);
    let nearest = (0..3).max_by(|one, other| along[*one].total_cmp(&along[*other]));
    nearest.unwrap_or_default()
}
