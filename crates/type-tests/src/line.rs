//! A line between two sources, with faults on it or beyond its ends: what there is. What a relay sees
//! of it is computed in [`crate::circuit`].

use std::f64::consts::PI;

use nalgebra::DMatrix;
use protection::Complex;

/// Positive and zero sequence impedance at nominal frequency, in ohm; both need inductance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Impedance {
    pub positive: Complex,
    pub zero: Complex,
}

impl Impedance {
    /// A multiple of it.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { positive: self.positive * factor, zero: self.zero * factor }
    }

    /// This and another impedance in series.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { positive: self.positive + other.positive, zero: self.zero + other.zero }
    }
}

/// A voltage behind an impedance.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// Phase to earth, root mean square, in V, and its angle at time zero.
    pub voltage: Complex,
    pub impedance: Impedance,
    /// Further waves of the voltage: frequency in Hz, and phase A to earth. They turn as the
    /// fundamental does: an order of 3 in phases is no zero sequence here.
    pub disturbing: Vec<(f64, Complex)>,
}

/// Phases, and earth, that a fault connects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Phase to earth; 0 is phase A.
    Earth(usize),
    /// Between the two phases other than this one.
    Phases(usize),
    /// The two phases other than this one, and earth.
    PhasesEarth(usize),
    Three,
    /// Three phases and earth.
    ThreeEarth,
}

impl Kind {
    /// Each kind in each phase.
    pub const ALL: [Self; 11] = [
        Self::Earth(0),
        Self::Earth(1),
        Self::Earth(2),
        Self::Phases(0),
        Self::Phases(1),
        Self::Phases(2),
        Self::PhasesEarth(0),
        Self::PhasesEarth(1),
        Self::PhasesEarth(2),
        Self::Three,
        Self::ThreeEarth,
    ];

    /// Which phases each branch of the fault joins: +1 where its current leaves the line.
    pub(crate) fn branches(self) -> DMatrix<f64> {
        let unit = |phase: usize| std::array::from_fn(|p| f64::from(u8::from(p == phase)));
        let pair = |from: usize, to: usize| {
            let (a, b): ([f64; 3], [f64; 3]) = (unit(from), unit(to));
            [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
        };
        let columns: Vec<[f64; 3]> = match self {
            Self::Earth(phase) => vec![unit(phase)],
            Self::Phases(free) => vec![pair((free + 1) % 3, (free + 2) % 3)],
            Self::PhasesEarth(free) => vec![unit((free + 1) % 3), unit((free + 2) % 3)],
            Self::Three => vec![pair(0, 1), pair(1, 2)],
            Self::ThreeEarth => vec![unit(0), unit(1), unit(2)],
        };
        DMatrix::from_fn(3, columns.len(), |row, branch| columns[branch][row])
    }

    /// Resistances of and between the branches, in ohm: `phase_ohm` in each connected phase, and
    /// `earth_ohm` in what they share to earth.
    pub(crate) fn resistances(self, phase_ohm: f64, earth_ohm: f64) -> DMatrix<f64> {
        let count = self.branches().ncols();
        let to_earth = matches!(self, Self::Earth(_) | Self::PhasesEarth(_) | Self::ThreeEarth);
        DMatrix::from_fn(count, count, |a, b| match (to_earth, a == b) {
            (true, true) => phase_ohm + earth_ohm,
            (true, false) => earth_ohm,
            (false, true) => 2.0 * phase_ohm,
            (false, false) => -phase_ohm,
        })
    }

    /// Whether a phase, by its place, is in it.
    #[must_use]
    pub fn has(self, phase: usize) -> bool {
        self.branches().row(phase).iter().any(|joined| *joined != 0.0)
    }

    /// Whether current flows to earth.
    #[must_use]
    pub const fn is_to_earth(self) -> bool {
        matches!(self, Self::Earth(_) | Self::PhasesEarth(_) | Self::ThreeEarth)
    }
}

/// A fault on the line, or beyond its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// Where, as a share of the line; below zero behind the near end, as a share of the source there;
    /// above one beyond the far end, so much more as a share of the source there.
    pub place: f64,
    /// From when on; it lasts, until another one at its place takes its turn.
    pub begin_s: f64,
    /// Of each connected phase, in ohm.
    pub resistance_ohm: f64,
    /// What the connected phases share to earth, in ohm.
    pub earth_ohm: f64,
}

/// A line with its two sources; the relay is at the near end and looks into the line.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// At which impedances are given, in Hz.
    pub nominal_hz: f64,
    /// Of the sources, in Hz.
    pub frequency_hz: f64,
    pub near: Source,
    pub impedance: Impedance,
    pub far: Source,
}

/// Currents into the line in A, and voltages to earth in V.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    pub currents: [f64; 3],
    pub voltages: [f64; 3],
}

impl Line {
    /// Waves of both sources: angular frequency, near and far voltage of phase A.
    pub(crate) fn waves(&self) -> Vec<(f64, Complex, Complex)> {
        let omega = |hz: f64| 2.0 * PI * hz;
        let mut waves = vec![(omega(self.frequency_hz), self.near.voltage, self.far.voltage)];
        waves.extend(self.near.disturbing.iter().map(|(hz, v)| (omega(*hz), *v, Complex::ZERO)));
        waves.extend(self.far.disturbing.iter().map(|(hz, v)| (omega(*hz), Complex::ZERO, *v)));
        waves
    }

    /// What lies between two places, in the coordinate of [`Fault::place`].
    pub(crate) fn between(&self, from: f64, to: f64) -> Impedance {
        let overlap = |begin: f64| (to.min(begin + 1.0) - from.max(begin)).max(0.0);
        self.near
            .impedance
            .times(overlap(-1.0))
            .plus(self.impedance.times(overlap(0.0)))
            .plus(self.far.impedance.times(overlap(1.0)))
    }
}
