//! Distance (21, PDIS): one zone, six loops, as a mho circle or a quadrilateral.
//!
//! A loop is a fault between two phases or of one phase to earth. Its operating quantity is what the
//! drop over the zone exceeds the voltage of the relay by, `Z I - U`: the voltage at the end of the
//! zone, turned round. In phase with the voltage of before the fault (a mho; Calero 2006) or with the
//! current of the fault (the reactance of a quadrilateral), the fault is in the zone. This is compared
//! in volts and not as an impedance, so that it is known what an error of the voltage can do.
//!
//! - Phasors are those since the inception ([`super::recent`]), so a fault beyond the zone leaves a
//!   quantity of the wrong sign from the first sample on, and nothing overreaches while a window fills.
//! - What of a voltage is no sinusoid (transients of capacitive transformers, harmonics) may hide an
//!   error of the same size in its phasor. So much the operating quantity must exceed zero by, the
//!   more the shorter the window: faults far inside are fast, those near the end take their time.
//! - Loops are selected by the currents that the fault adds (superimposed): the healthy phases of an
//!   earth fault, and the earth loops of a fault between phases, measure no distance.
//! - Direction has a second witness in unbalanced faults: the negative sequence, which only the fault
//!   makes (Roberts and Guzmán 1993).
//! - Beside them each loop to earth is judged alone, for faults of two phases at two places
//!   (`cross_country.rs`).
//!
//! Load that lies in the zone blocks all loops where its region is known ([`super::load`]); power swings
//! and blown fuses of voltage transformers are seen by elements of their own, which block it.

use std::time::Duration;

use iec61850::SampleTime;

use super::complex::{Complex, Degrees};
use super::cross_country::{self, Compared};
use super::direction::{Way, negative_sequence_way};
use super::load::Load;
use super::loops::{DROP_OFF_RATIO, LOOPS, Of, Zone, distinct_phase};
use super::phases::{largest, residual};
use super::recent::{Recent, STEADY_PERIODS, Transformers};
use super::swing_fault::SwingFault;
use super::symmetrical::Sequence;
use super::{Decision, PhaseSet};

/// Angles of a loop impedance that lie ahead, for the quadrilateral: as usual in the trade.
const AHEAD_DEG: std::ops::RangeInclusive<f64> = -15.0..=115.0;
/// The same where the negative sequence says so too: load that a weak end takes turns the voltage of before.
const AHEAD_WITNESSED_DEG: std::ops::RangeInclusive<f64> = -45.0..=160.0;
/// Share of the residual current in the largest phase current from which a fault is to earth.
const EARTH_SHARE_MIN: f64 = 0.2;
/// The least of the superimposed currents between phases, as a share of the largest, below which the
/// fault is one of a single phase; the other two then carry it.
const SINGLE_SHARE_MAX: f64 = 0.3;
/// Share of the largest current between phases from which a loop is one of the fault.
const LOOP_SHARE_MIN: f64 = 0.75;
/// Share of the healthy voltage that is enough to polarise with, and what is enough once nothing is
/// remembered.
const ENOUGH_SHARE: f64 = 0.5;
const POLARISING_SHARE_MIN: f64 = 0.1;
/// What is no sinusoid counts so many times when a window is half a period, and less with its square.
const REST_FACTOR: f64 = 2.0;
/// The same of how far both measurements of a voltage are apart.
const DIFFERENCE_FACTOR: f64 = 0.5;
/// Share of the voltage that is gone by which a transformer that rings near nominal frequency may still
/// deceive, which no window tells from the voltage itself; it decays with each period.
const RINGING_SHARE: f64 = 0.065;
/// Periods after an inception until which a voltage is doubted in full; afterwards less and less.
const YOUNG_PERIODS: f64 = 2.5;
/// How long what was measured before an inception may be of a swing that has ended.
const AFTER_SWING: Duration = Duration::from_millis(500);
/// How long a fault must be seen before it is believed.
const CONFIRMED: Duration = Duration::from_millis(2);
/// The same behind capacitive transformers: what they ring with passes through zero.
const CONFIRMED_RINGING: Duration = Duration::from_millis(5);

/// The form of the zone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// A circle through the relay and the end of the zone.
    Mho,
    /// Four lines; how far it reaches along the axis of resistances, in ohm.
    Quadrilateral {
        /// Of phase to phase faults, in ohm per phase: half of what is between the phases.
        resistance_ohm: f64,
        /// Of faults to earth, in ohm per phase, as `reach` is: an arc of `R` that only this end feeds
        /// is seen as `R / (1 + earth_factor)`.
        earth_resistance_ohm: f64,
        /// By how much the line of its reach falls towards resistances, in degrees: current that the far
        /// end feeds into a fault of some resistance makes it look nearer, where the angles of both
        /// sources differ.
        tilt_deg: f64,
    },
}

/// Zone and conditions of a distance element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub shape: Shape,
    /// How far it reaches: positive sequence impedance of the protected piece of line, in ohm.
    pub reach: Complex,
    pub way: Way,
    /// `(Z0 - Z1) / (3 Z1)` of the line: how much more the residual current drops.
    pub earth_factor: Complex,
    /// Current of a loop below which it is not looked at, in A.
    pub current_a_min: f64,
    /// Voltage from which the positive sequence is worth remembering, in V.
    pub healthy_v: f64,
    pub delay: Duration,
    /// Where load may lie in the zone.
    pub load: Option<Load>,
}

impl Settings {
    /// The zone as its loops are placed in it.
    fn zone(&self) -> Zone {
        let (resistance_ohm, earth_resistance_ohm) = match self.shape {
            Shape::Mho => (f64::INFINITY, f64::INFINITY),
            Shape::Quadrilateral { resistance_ohm, earth_resistance_ohm, .. } => {
                (resistance_ohm, earth_resistance_ohm)
            }
        };
        let Self { reach, earth_factor, way, current_a_min, .. } = *self;
        Zone { reach, earth_factor, way, resistance_ohm, earth_resistance_ohm, current_a_min }
    }
}

/// A distance element (21).
#[derive(Clone, PartialEq, Debug)]
pub struct Distance {
    settings: Settings,
    /// Loops of the fault, by the place in `LOOPS`, while load can be told from it.
    selected: [bool; 6],
    /// Phases to earth that are in the zone by themselves, of two at different places.
    crossed: PhaseSet,
    seen_since: Option<SampleTime>,
    is_started: bool,
    /// Loops during a power swing; nothing while there is none.
    swing: Option<SwingFault>,
    /// When the last one ended.
    swung: Option<SampleTime>,
    decision: Decision,
}

impl Distance {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            selected: [false; 6],
            crossed: PhaseSet::NONE,
            seen_since: None,
            is_started: false,
            swing: None,
            swung: None,
            decision: Decision::NONE,
        }
    }

    /// Looks at what was measured since the last inception; `Some(None)` while nothing is, so shortly
    /// after it: what was decided holds. During a power swing only what [`SwingFault`] finds counts.
    pub fn update(
        &mut self,
        now: SampleTime,
        recent: Option<Option<&Recent>>,
        is_swing: bool,
    ) -> Decision {
        match (is_swing, &self.swing) {
            (true, None) => {
                *self = Self { swing: Some(SwingFault::default()), ..Self::new(self.settings) };
            }
            // A fault that was found is there still: its delay goes on.
            (false, Some(_)) => (self.swing, self.swung) = (None, Some(now)),
            _ => (),
        }
        match recent {
            None => {
                let swung = self.swing.as_ref().map(|_| now).or(self.swung);
                *self = Self { swung, ..Self::new(self.settings) };
            }
            // A fast swing changes currents as much as an inception, again and again.
            Some(None) if self.swing.is_some() && self.is_started => (),
            Some(None) => self.seen_since = None,
            // What a swing remembers is no load, and no voltage to compare with.
            Some(Some(recent)) if self.swung.is_some_and(|at| now.since(at) < AFTER_SWING) => {
                self.decide(now, &Recent { before: None, ..*recent });
            }
            Some(Some(recent)) => self.decide(now, recent),
        }
        self.decision
    }

    fn decide(&mut self, now: SampleTime, recent: &Recent) {
        let phases = match &mut self.swing {
            Some(swing) => swing.update(now, recent, &self.settings.zone()),
            None => self.look(recent),
        };
        let holds = !phases.is_empty();
        if !holds {
            self.seen_since = None;
        }
        let since = holds.then(|| *self.seen_since.get_or_insert(now));
        let seen_for = since.map_or(Duration::ZERO, |since| now.since(since));
        let confirmed = match recent.transformers {
            Transformers::Capacitive => CONFIRMED_RINGING,
            Transformers::Inductive => CONFIRMED,
        };
        self.is_started = holds && (self.is_started || seen_for >= confirmed);
        let operate = self.is_started && seen_for >= self.settings.delay;
        self.decision = Decision::new(self.is_started, operate).in_phases(phases);
    }

    /// Phases of the fault in the zone while there is no swing.
    fn look(&mut self, recent: &Recent) -> PhaseSet {
        let is_selected = self.selected.contains(&true);
        if recent.before.is_some() || !self.is_started || !is_selected {
            self.selected = self.select(recent);
        }
        let scale = if self.is_started { DROP_OFF_RATIO } else { 1.0 };
        match self.reference(recent) {
            Some(reference) => self.in_zone(recent, reference, scale),
            // Nothing to compare with is left: what was decided holds while current flows.
            None if self.is_started && self.carries(recent).contains(&true) => self.decision.phases,
            None => PhaseSet::NONE,
        }
    }

    /// Positive sequence voltage to compare with: what there is while that is enough, since machines
    /// may swing; else of before the inception, if that was healthy and is remembered.
    fn reference(&self, recent: &Recent) -> Option<Complex> {
        let healthy_v = self.settings.healthy_v;
        let before = recent.before.and_then(|before| before.voltage);
        let before = before.filter(|v| v.norm() >= healthy_v);
        let now = Sequence::of(recent.voltages).positive;
        let share_min = if before.is_some() { ENOUGH_SHARE } else { POLARISING_SHARE_MIN };
        Some(now).filter(|now| now.norm() >= share_min * healthy_v).or(before)
    }

    /// Loops with enough current to be looked at.
    fn carries(&self, recent: &Recent) -> [bool; 6] {
        LOOPS.map(|each| each.of(recent.slopes).norm() > self.settings.current_a_min)
    }

    /// Loops of the fault.
    fn select(&self, recent: &Recent) -> [bool; 6] {
        let Some(before) = recent.before.map(|before| before.currents) else {
            return self.select_by_sequences(recent);
        };
        let added: [Complex; 3] = std::array::from_fn(|phase| recent.slopes[phase] - before[phase]);
        let residual_a = residual(recent.slopes).norm();
        let is_to_earth = residual_a > EARTH_SHARE_MIN * largest(recent.slopes);
        let between = [0, 1, 2].map(|phase| LOOPS[phase].of(added).norm());
        let most = between.into_iter().fold(0.0, f64::max);
        let carries = self.carries(recent);
        // A single phase: the pair of the other two carries next to nothing of it.
        let spared = (0..3).find(|pair| between[*pair] < SINGLE_SHARE_MAX * most);
        let is_zero_sequence = residual_a > 3.0 * most;
        let phases_v = recent.voltages.map(Complex::norm);
        std::array::from_fn(|index| {
            carries[index]
                && match (LOOPS[index], spared) {
                    (Of::Earth(phase), _) if is_to_earth && is_zero_sequence => {
                        phases_v.iter().all(|v| phases_v[phase] <= *v)
                    }
                    (Of::Phases(..), _) if is_to_earth && is_zero_sequence => false,
                    (Of::Earth(phase), Some(pair)) if is_to_earth => phase == (pair + 2) % 3,
                    (Of::Earth(_), _) => false,
                    (Of::Phases(..), Some(_)) if is_to_earth => false,
                    (Of::Phases(..), _) => between[index] >= LOOP_SHARE_MIN * most,
                }
        })
    }

    /// Loops of the fault while nothing is known of the load before it.
    fn select_by_sequences(&self, recent: &Recent) -> [bool; 6] {
        let largest_a = largest(recent.slopes);
        let carries = self.carries(recent);
        if residual(recent.slopes).norm() <= EARTH_SHARE_MIN * largest_a {
            let between = [0, 1, 2].map(|pair| LOOPS[pair].of(recent.slopes).norm());
            let most = between.into_iter().fold(0.0, f64::max);
            return std::array::from_fn(|index| {
                carries[index] && index < 3 && between[index] >= LOOP_SHARE_MIN * most
            });
        }
        let phase = distinct_phase(Sequence::of(recent.slopes));
        let is_single = recent.slopes[phase].norm() >= largest_a;
        std::array::from_fn(|index| {
            carries[index]
                && match LOOPS[index] {
                    Of::Earth(each) => is_single && each == phase,
                    Of::Phases(first, second) => !is_single && first != phase && second != phase,
                }
        })
    }

    /// Phases of the loops whose fault lies in the zone.
    fn in_zone(&mut self, recent: &Recent, reference: Complex, scale: f64) -> PhaseSet {
        if self.settings.load.is_some_and(|load| load.covers(recent)) {
            return PhaseSet::NONE;
        }
        let zone = self.settings.zone();
        let doubts_v = [0, 1, 2].map(|phase| self.doubt_v(Of::Earth(phase), recent));
        let found = if self.is_started { self.crossed } else { PhaseSet::NONE };
        self.crossed =
            cross_country::phases(recent, &Compared { reference, doubts_v }, &zone, found);
        let witness = negative_sequence_way(recent, self.settings.reach);
        if witness.is_some_and(|way| way != self.settings.way) {
            return self.crossed;
        }
        let carries = self.carries(recent);
        let loops = LOOPS.into_iter().zip(self.selected).zip(carries);
        let held = loops.filter(|((each, is_selected), carries)| {
            *is_selected
                && *carries
                && !cross_country::is_explained(*each, self.crossed, recent, &zone)
                && self.holds(*each, recent, (reference, witness), scale)
        });
        held.fold(self.crossed, |phases, ((each, _), _)| phases | each.phases())
    }

    fn holds(
        &self,
        each: Of,
        recent: &Recent,
        (reference, witness): (Complex, Option<Way>),
        scale: f64,
    ) -> bool {
        let sign = self.settings.way.sign();
        let reach = self.settings.reach;
        let dropped = each.drop(recent, reach, self.settings.earth_factor) * sign;
        let voltage = each.of(recent.voltages);
        let also = match recent.transformers {
            Transformers::Capacitive => each.of(recent.voltage_slopes),
            Transformers::Inductive => voltage,
        };
        let operating = [voltage, also].map(|v| dropped * scale - v);
        let exceeds = |reference: Complex, doubt_v: f64| {
            operating.iter().all(|operating| along(*operating, reference) > doubt_v)
        };
        let turned = [0.0, -120.0, 120.0].map(|angle_deg| reference.turned_deg(angle_deg));
        let reference = each.of(turned);
        let doubt_v = self.doubt_v(each, recent);
        match self.settings.shape {
            Shape::Mho => exceeds(reference, doubt_v),
            Shape::Quadrilateral { resistance_ohm, earth_resistance_ohm, tilt_deg } => {
                let resistance_ohm = match each {
                    Of::Earth(_) => earth_resistance_ohm,
                    Of::Phases(..) => resistance_ohm,
                };
                // As an impedance, for what is no reach: resistance and direction.
                let reach = Complex::new(reach.re, reach.im * recent.frequency_ratio);
                let current = dropped / reach;
                let seen = voltage / current;
                let along_ohm = seen.re - seen.im * reach.re / reach.im;
                let direction_deg = (reference / current).angle_deg();
                let before = recent.before.map_or([Complex::ZERO; 3], |before| before.currents);
                let added: [Complex; 3] = std::array::from_fn(|p| recent.slopes[p] - before[p]);
                // Load is told from the fault by what was before, or by what load does not have.
                let fault_current = match (recent.before, each) {
                    (None, Of::Earth(_)) => residual(recent.slopes),
                    _ => each.of(added),
                } * sign;
                let ahead_deg = if witness.is_some() { AHEAD_WITNESSED_DEG } else { AHEAD_DEG };
                ahead_deg.contains(&direction_deg)
                    && exceeds(fault_current.turned_deg(90.0 - tilt_deg), doubt_v)
                    && along_ohm.abs() < resistance_ohm * scale
            }
        }
    }

    /// By how much the voltage of a loop may be wrong, in V.
    fn doubt_v(&self, each: Of, recent: &Recent) -> f64 {
        let rest_v = match each {
            Of::Earth(phase) => recent.rests_v[phase],
            Of::Phases(first, second) => recent.rests_v[first].hypot(recent.rests_v[second]),
        };
        let young =
            (STEADY_PERIODS - recent.age.max(YOUNG_PERIODS)) / (STEADY_PERIODS - YOUNG_PERIODS);
        let rest_v = rest_v * REST_FACTOR / (recent.span * recent.span);
        if recent.transformers == Transformers::Inductive {
            return rest_v * young.max(0.0);
        }
        let difference_v = (each.of(recent.voltages) - each.of(recent.voltage_slopes)).norm();
        let before = recent.before.and_then(|before| before.voltage);
        let gone_v = before.map_or(0.0, |positive| {
            let before = Sequence { positive, ..Sequence::default() }.phases();
            (each.of(before) - each.of(recent.voltages)).norm()
        });
        let ringing_v = RINGING_SHARE * gone_v * (-recent.age).exp();
        (rest_v + DIFFERENCE_FACTOR * difference_v + ringing_v) * young.max(0.0)
    }
}

/// The part of a phasor that is in phase with another.
fn along(phasor: Complex, reference: Complex) -> f64 {
    (phasor * reference.conj()).re / reference.norm()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent::Before;

    const LINE: Complex = Complex::new(1.0, 10.0);
    const QUADRILATERAL: Shape =
        Shape::Quadrilateral { resistance_ohm: 5.0, earth_resistance_ohm: 8.0, tilt_deg: 5.0 };

    fn element(shape: Shape, way: Way) -> Distance {
        Distance::new(Settings {
            shape,
            reach: LINE * 0.8,
            way,
            earth_factor: Complex::new(0.7, 0.1),
            current_a_min: 100.0,
            healthy_v: 40_000.0,
            delay: Duration::from_millis(20),
            load: None,
        })
    }

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Three,
        Two,
        Earth,
    }

    /// What the relay sees of a fault at `place` times the line ahead (negative: behind), behind a
    /// source of 110 kV and 5 ohm, at a turn of the phasors.
    fn fault(kind: Kind, place: f64, resistance_ohm: f64, turn_deg: f64) -> Recent {
        let source = [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(63_500.0, a + turn_deg));
        let behind = Complex::new(0.5, 5.0);
        let (k0, sign) = (Complex::new(0.7, 0.1), if place < 0.0 { -1.0 } else { 1.0 });
        let ahead = LINE * place.abs() + Complex::new(resistance_ohm, 0.0);
        let mut currents = [Complex::ZERO; 3];
        let mut voltages = source;
        match kind {
            Kind::Three => {
                for phase in 0..3 {
                    currents[phase] = source[phase] / (behind + ahead);
                    voltages[phase] = ahead * currents[phase];
                }
            }
            Kind::Two => {
                let across = (source[1] - source[2]) / ((behind + ahead) * 2.0);
                currents = [Complex::ZERO, across, -across];
                voltages[1] = source[1] - behind * across;
                voltages[2] = source[2] + behind * across;
            }
            Kind::Earth => {
                let loop_ohm = (behind + LINE * place.abs()) * (Complex::ONE + k0)
                    + Complex::new(resistance_ohm, 0.0);
                currents[0] = source[0] / loop_ohm;
                voltages[0] = source[0] - behind * (Complex::ONE + k0) * currents[0];
            }
        }
        Recent::steady(currents.map(|current| current * sign), voltages, source[0])
    }

    /// The time from the fault to operation, in ms, after 200 ms of load.
    fn operates(
        element: &mut Distance,
        kind: Kind,
        place: f64,
        resistance_ohm: f64,
    ) -> Option<u64> {
        (0..400u64).find_map(|ms| {
            let turn_deg = 360.0 * 0.05 * ms as f64;
            let seen = if ms < 200 {
                let voltages =
                    [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(63_500.0, a + turn_deg));
                let currents = voltages.map(|voltage| voltage / Complex::new(120.0, 30.0));
                Recent::steady(currents, voltages, voltages[0])
            } else {
                fault(kind, place, resistance_ohm, turn_deg)
            };
            let decision =
                element.update(SampleTime::from_ns(ms * 1_000_000), Some(Some(&seen)), false);
            assert!(ms >= 200 || !decision.start, "load starts it");
            decision.operate.then(|| ms - 200)
        })
    }

    #[test]
    fn faults_in_the_zone_operate_and_those_beyond_and_behind_do_not() {
        for shape in [Shape::Mho, QUADRILATERAL] {
            for kind in [Kind::Three, Kind::Two, Kind::Earth] {
                for place in [0.0, 0.1, 0.5, 0.77] {
                    let taken = operates(&mut element(shape, Way::Forward), kind, place, 0.0);
                    assert_eq!(taken, Some(20), "{shape:?}, {kind:?} at {place}");
                }
                for place in [0.83, 1.2, -0.01, -0.1, -0.5] {
                    let taken = operates(&mut element(shape, Way::Forward), kind, place, 0.0);
                    assert_eq!(taken, None, "{shape:?}, {kind:?} at {place}");
                }
                let taken = operates(&mut element(shape, Way::Reverse), kind, -0.3, 0.0);
                assert_eq!(taken, Some(20), "{shape:?}, {kind:?} behind");
            }
        }
    }

    #[test]
    fn resistance_at_the_fault_is_covered_by_the_quadrilateral_as_set() {
        let taken = |ohm| operates(&mut element(QUADRILATERAL, Way::Forward), Kind::Two, 0.4, ohm);
        assert_eq!(taken(4.5), Some(20));
        assert_eq!(taken(6.0), None);
        // To earth, what is set is per phase, and the arc 1.7 times that.
        let taken =
            |ohm| operates(&mut element(QUADRILATERAL, Way::Forward), Kind::Earth, 0.4, ohm);
        assert_eq!(taken(8.0 * 1.7 * 0.95), Some(20));
        assert_eq!(taken(8.0 * 1.7 * 1.1), None);
    }

    /// Phase A to earth at a share of the line and B at its end, fed from behind the relay.
    fn at_two_places(place: f64, turn_deg: f64) -> Recent {
        let source = [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(63_500.0, a + turn_deg));
        let (behind, k0) = (Complex::new(0.5, 5.0), Complex::new(0.7, 0.1));
        // Beyond the nearer fault only the current of B returns through earth.
        let mutual = LINE * k0 * place;
        let [own_a, own_b] = [place, 1.0].map(|place| behind + LINE * (Complex::ONE + k0) * place);
        let determinant = own_a * own_b - mutual * mutual;
        let currents = [
            (source[0] * own_b - source[1] * mutual) / determinant,
            (source[1] * own_a - source[0] * mutual) / determinant,
            Complex::ZERO,
        ];
        let voltages = std::array::from_fn(|phase| source[phase] - behind * currents[phase]);
        Recent::steady(currents, voltages, source[0])
    }

    #[test]
    fn of_faults_at_two_places_the_phase_in_the_zone_is_named_alone_and_by_no_single_sample() {
        for shape in [Shape::Mho, QUADRILATERAL] {
            for (place, is_inside) in [(0.3, true), (0.6, true), (0.85, false)] {
                let mut element = element(shape, Way::Forward);
                let mut said = |ms: u64, place: f64| {
                    let seen = at_two_places(place, 360.0 * 0.05 * ms as f64);
                    let now = SampleTime::from_ns(ms * 1_000_000);
                    element.update(now, Some(Some(&seen)), false)
                };
                assert!(!said(0, place).start && !said(1, 0.9).start, "{shape:?} at {place}");
                assert!(!said(2, place).start && !said(3, place).start, "{shape:?} at {place}");
                let operated = (4..100).map(|ms| said(ms, place)).find(|said| said.operate);
                let alone = PhaseSet::phase(0) | PhaseSet::EARTH;
                let phases = operated.map(|said| said.phases);
                assert_eq!(phases, is_inside.then_some(alone), "{shape:?} at {place}");
            }
        }
    }

    #[test]
    fn load_that_is_not_remembered_hides_no_fault_to_earth() {
        let mut seen = fault(Kind::Earth, 0.5, 0.0, 30.0);
        let load = [0.0, -120.0, 120.0].map(|a| Complex::polar_deg(2500.0, a + 10.0));
        assert!(seen.currents[0].norm() < 3.0 * 2500.0, "the load is large");
        seen.currents = std::array::from_fn(|phase| seen.currents[phase] + load[phase]);
        (seen.slopes, seen.before) = (seen.currents, None);
        let selected = element(Shape::Mho, Way::Forward).select(&seen);
        assert_eq!(selected, [false, false, false, true, false, false]);
        // Two phases and earth: phase A is spared.
        let turned = Sequence::of(seen.slopes);
        let two = Sequence { positive: -turned.negative - turned.zero, ..turned }.phases();
        seen.slopes = std::array::from_fn(|phase| two[phase] + load[phase]);
        let selected = element(Shape::Mho, Way::Forward).select(&seen);
        assert_eq!(selected, [false, true, false, false, false, false]);
    }

    #[test]
    fn a_fault_during_a_swing_is_found_and_its_delay_goes_on_when_the_swing_ends() {
        let mut element = element(Shape::Mho, Way::Forward);
        element.settings.delay = Duration::from_millis(300);
        let mut step = |ms: u64, seen: fn(f64) -> (Kind, f64, f64), is_swing| {
            let (kind, place, resistance_ohm) = seen(ms as f64);
            let mut seen = fault(kind, place, resistance_ohm, 360.0 * 0.05 * ms as f64);
            // The swing flows in all phases.
            for (phase, angle_deg) in [0.0, -120.0, 120.0].into_iter().enumerate() {
                let current = Complex::polar_deg(500.0, 360.0 * 0.05 * ms as f64 + angle_deg);
                seen.currents[phase] += current;
                seen.slopes[phase] += current;
                seen.voltages[phase] += current * LINE * place;
            }
            // What was before a swing is no voltage to compare with.
            seen.before = seen.before.map(|before| {
                let voltage = before.voltage.map(|voltage| -voltage);
                Before { voltage, ..before }
            });
            let now = SampleTime::from_ns(ms * 1_000_000);
            // The swing itself looks like an inception for a while.
            element.update(now, Some(Some(&seen).filter(|_| !(300..310).contains(&ms))), is_swing)
        };
        let swing = |ms| (Kind::Three, 0.4, 0.004 * ms - 0.8);
        let drifting = |ms| (Kind::Earth, 0.2 + 0.0005 * ms, 0.0);
        let load = |_| (Kind::Three, 0.5, 100.0);
        for ms in 0..200 {
            assert!(!step(ms, swing, true).start, "{ms} ms of swing");
        }
        let found: Vec<u64> = (200..400).filter(|ms| step(*ms, drifting, true).start).collect();
        assert!((240..250).contains(&found[0]), "{found:?}");
        assert_eq!(found.len() as u64, 400 - found[0], "it drifts and stays");
        let operates = (400..900).find(|ms| {
            let decision = step(*ms, drifting, false);
            assert!(decision.start, "{ms} ms");
            decision.operate
        });
        assert!(operates.is_some_and(|ms| ms <= found[0] + 300), "{operates:?}");
        assert!(!step(600, load, false).start);
        for ms in 610..620 {
            step(ms, |_| (Kind::Three, 0.1, 0.0), false);
        }
        assert!(step(620, |_| (Kind::Three, 0.1, 0.0), false).start, "by the voltage of now");
    }

    #[test]
    fn an_untrusted_stream_blocks_and_forgets() {
        let mut element = element(Shape::Mho, Way::Forward);
        for ms in 0..100u64 {
            let decision = element.update(SampleTime::from_ns(ms * 1_000_000), None, false);
            assert_eq!(decision, Decision::NONE);
        }
    }
}
