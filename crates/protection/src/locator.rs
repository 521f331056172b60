//! How far away a fault on a line is, from one end (RFLO of IEC 61850-7-4; IEEE C37.114).
//!
//! The voltage of a fault loop is the drop over the line up to the fault and that over the fault's
//! resistance, which the far end feeds, too: `U = m D + R I_F`. What the fault adds to the currents
//! here has nearly the angle of `I_F`; so against it the second drop has no imaginary part, and
//! `m = Im(U I''*) / Im(D I''*)` whatever the load and the resistance (Takagi, Yamakoshi, Yamaura,
//! Kondow and Matsushima 1982). In loops to earth the zero sequence, which divides between both ends
//! otherwise than the rest, is left out of `I''`, as there. Where nothing is known of before the fault,
//! the current itself takes the place of `I''`: the simple reactance method.
//!
//! Each window of samples between the first and the third period of a fault gives one distance; the
//! answer is their median. It states how far it may be wrong: how far the distances of the windows lie
//! apart, an error of the instrument transformers, and the drop over the resistance times an angle by
//! which the two ends may differ.

use super::complex::Complex;
use super::phase_set::PhaseSet;
use super::phases::{largest, residual};
use super::recent::Recent;

/// Periods since the inception between which distances are taken.
const AGE_MIN: f64 = 1.0;
const AGE_MAX: f64 = 3.0;
/// Distances without which there is no answer, and that are kept at most.
const DISTANCES_MIN: usize = 3;
const DISTANCES_MAX: usize = 256;
/// Share of the largest change of a current between phases below which two phases saw nothing of a
/// fault: it is in the third.
const UNTOUCHED_SHARE: f64 = 0.35;
/// Share above which all three saw the same.
const ALIKE_SHARE: f64 = 0.85;
/// Share of the residual in the change of the currents above which earth is in the fault.
const EARTH_SHARE: f64 = 0.15;
/// Error of the instrument transformers, as a share of the distance.
const TRANSFORMERS: f64 = 0.01;
/// Sine of the angle by which the currents of both ends may differ: 8 degrees.
const ANGLE: f64 = 0.14;

/// The line whose faults are located, as it is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Positive sequence impedance of the whole line, primary, in ohm.
    pub impedance: Complex,
    /// `(Z0 - Z1) / 3 Z1`.
    pub earth_factor: Complex,
    /// Length of the line, in km.
    pub length_km: f64,
}

/// How a fault was located.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// With what the fault added to the currents.
    Takagi,
    /// With the currents alone.
    Reactance,
}

/// Where a fault is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Location {
    /// Share of the line; below zero behind the busbar.
    pub share: f64,
    /// By how much `share` may be wrong.
    pub uncertainty: f64,
    /// Phases of the fault, and whether earth is in it.
    pub phases: PhaseSet,
    pub method: Method,
}

/// The distance that one window of samples gives.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Distance {
    share: f64,
    /// Share of the drop that is the resistance's.
    resistive: f64,
    phases: PhaseSet,
    method: Method,
}

/// Collects the distances of one fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Locator {
    settings: Settings,
    distances: Vec<Distance>,
}

/// Voltage, drop over the whole line and current to compare with, of one fault loop.
#[derive(Clone, Copy, Debug)]
struct Loop {
    voltage: Complex,
    drop: Complex,
    reference: Complex,
}

impl Locator {
    /// A locator that knows nothing of a fault yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, distances: Vec::new() }
    }

    /// Another fault has begun.
    pub fn forget(&mut self) {
        self.distances.clear();
    }

    /// Takes what was measured since an inception, if it is of the time that is looked at.
    pub fn take(&mut self, recent: &Recent) {
        if (AGE_MIN..AGE_MAX).contains(&recent.age)
            && self.distances.len() < DISTANCES_MAX
            && let Some(distance) = self.distance(recent)
        {
            self.distances.push(distance);
        }
    }

    /// Where the fault is; `None` if it was too short for an answer, or may be anywhere.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        // What was seen last is seen best: the kind of a fault that grows is the later one.
        let last = *self.distances.last()?;
        let alike = |each: &&Distance| (each.phases, each.method) == (last.phases, last.method);
        let alike: Vec<&Distance> = self.distances.iter().filter(alike).collect();
        if alike.len() < DISTANCES_MIN {
            return None;
        }
        let sorted = |of: fn(&Distance) -> f64| {
            let mut values: Vec<f64> = alike.iter().map(|each| of(each)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (shares, resistive) = (sorted(|each| each.share), sorted(|each| each.resistive));
        let share = shares[shares.len() / 2];
        let apart = (shares[shares.len() - 1] - shares[0]) / 2.0;
        let of_fault = ANGLE * resistive[resistive.len() / 2];
        let uncertainty = apart + TRANSFORMERS * share.abs().max(0.1) + of_fault;
        // One that may be anywhere on the line is no answer.
        let Distance { phases, method, .. } = last;
        (uncertainty <= 1.0).then_some(Location { share, uncertainty, phases, method })
    }

    fn distance(&self, recent: &Recent) -> Option<Distance> {
        let before = recent.before.as_ref().map(|before| before.currents);
        let changes = [0, 1, 2].map(|p| recent.slopes[p] - before.map_or(Complex::ZERO, |b| b[p]));
        let phases = faulted(changes)?;
        let Loop { voltage, drop, reference } = self.fault_loop(recent, changes, phases);
        let share = (voltage * reference.conj()).im / (drop * reference.conj()).im;
        let resistive = (voltage - drop * share).norm() / drop.norm();
        let method = if before.is_some() { Method::Takagi } else { Method::Reactance };
        let distance = Distance { share, resistive, phases, method };
        (share.is_finite() && resistive.is_finite()).then_some(distance)
    }

    fn fault_loop(&self, recent: &Recent, changes: [Complex; 3], phases: PhaseSet) -> Loop {
        let impedance = self.settings.impedance;
        let (currents, slopes, voltages) = (recent.currents, recent.slopes, recent.voltages);
        let first = (0..3).find(|phase| phases.has(*phase)).unwrap_or(0);
        if phases.count() == 1 {
            let earth = self.settings.earth_factor;
            let with_earth = |phasors: [Complex; 3]| phasors[first] + earth * residual(phasors);
            return Loop {
                voltage: voltages[first],
                drop: recent.drop(impedance, with_earth(currents), with_earth(slopes)),
                reference: changes[first] - residual(changes) * (1.0 / 3.0),
            };
        }
        // Between two phases; of three any two.
        let next = if phases.has((first + 1) % 3) { (first + 1) % 3 } else { (first + 2) % 3 };
        let between = |phasors: [Complex; 3]| phasors[first] - phasors[next];
        Loop {
            voltage: between(voltages),
            drop: recent.drop(impedance, between(currents), between(slopes)),
            reference: between(changes),
        }
    }
}

/// The phases of a fault by what it changed of the currents between phases, in which the zero sequence
/// is not; `None` where it changed nothing.
fn faulted(changes: [Complex; 3]) -> Option<PhaseSet> {
    let between = [0, 1, 2].map(|p: usize| (changes[(p + 1) % 3] - changes[(p + 2) % 3]).norm());
    let order = |a: &usize, b: &usize| between[*a].total_cmp(&between[*b]);
    let least = (0..3).min_by(order)?;
    let most = (0..3).max_by(order)?;
    if between[most] <= 0.0 {
        return None;
    }
    let has_earth = residual(changes).norm() / 3.0 > EARTH_SHARE * largest(changes);
    let earth = if has_earth { PhaseSet::EARTH } else { PhaseSet::NONE };
    let share = between[least] / between[most];
    let others =
        |phase: usize| PhaseSet::phase((phase + 1) % 3) | PhaseSet::phase((phase + 2) % 3) | earth;
    Some(if share < UNTOUCHED_SHARE && !earth.is_empty() {
        PhaseSet::phase(least) | earth
    } else if share > ALIKE_SHARE {
        PhaseSet::ALL
    } else {
        others(most)
    })
}
