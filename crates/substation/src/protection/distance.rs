//! Distance (21, PDIS): one zone, all six loops, as a mho circle or a quadrilateral.
//!
//! A loop is a fault between two phases or of one phase to earth; its voltage over its current is
//! the impedance of the line up to the fault. What lies inside the characteristic is in the zone.
//! The direction comes from the voltage of before the fault, which a close fault cannot take away:
//! the circle grows to behind the relay for faults ahead and shrinks for faults behind (memory
//! polarised mho, Calero 2006).
//!
//! It knows nothing of load encroachment; power swings and blown fuses of voltage transformers are
//! seen by elements of their own, which block it.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::complex::{Complex, Degrees};
use super::direction::{Bay, Way};
use super::memory::VoltageMemory;
use super::symmetrical::Sequence;
use super::timing::Delay;

/// Angles of a loop impedance that lie ahead, for the quadrilateral: as usual in the trade.
const AHEAD_DEG: std::ops::RangeInclusive<f64> = -15.0..=115.0;
/// Reach is wider by this once started, so that a fault at the edge does not chatter.
const DROP_OFF_RATIO: f64 = 1.05;
/// Share of the residual current in the largest phase current from which a fault is to earth.
const EARTH_SHARE_MIN: f64 = 0.2;

/// The form of the zone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// A circle through the relay and the end of the zone.
    Mho,
    /// Four lines; how far it reaches along the axis of resistances, in ohm.
    Quadrilateral {
        /// Of phase to phase faults, in ohm of a loop of one phase.
        resistance_ohm: f64,
        /// Of faults to earth, in ohm.
        earth_resistance_ohm: f64,
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
    /// Voltage from which the positive sequence is remembered, in V.
    pub healthy_v: f64,
    pub delay: Duration,
}

/// Voltage, current and polarising voltage of a loop.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Loop {
    voltage: Complex,
    current: Complex,
    reference: Complex,
    is_to_earth: bool,
}

/// A distance element (21).
#[derive(Clone, PartialEq, Debug)]
pub struct Distance {
    settings: Settings,
    memory: VoltageMemory,
    is_started: bool,
    delay: Delay,
}

impl Distance {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            memory: VoltageMemory::new(settings.healthy_v),
            is_started: false,
            delay: Delay::new(settings.delay),
        }
    }

    /// Looks at a bay.
    pub fn update(&mut self, now: SampleTime, bay: Option<&Bay>) -> Decision {
        let positive = bay.map(|bay| Sequence::of(bay.voltages).positive);
        self.memory.update(now, positive);
        let (Some(bay), Some(positive)) = (bay, positive) else {
            self.is_started = false;
            self.delay.reset();
            return Decision::NONE;
        };
        let reference = self.memory.recall(now, bay.frequency_hz).unwrap_or(positive);
        let scale = if self.is_started { DROP_OFF_RATIO } else { 1.0 };
        self.is_started =
            self.loops(bay, reference).iter().flatten().any(|each| self.holds(each, scale));
        self.delay.update(now, self.is_started)
    }

    /// The loops that carry current: phase to phase first, then to earth.
    fn loops(&self, bay: &Bay, reference: Complex) -> [Option<Loop>; 6] {
        let residual: Complex = bay.currents.into_iter().sum();
        let largest = bay.currents.map(Complex::norm).into_iter().fold(0.0, f64::max);
        let is_earth_fault = residual.norm() > EARTH_SHARE_MIN * largest;
        let compensation = self.settings.earth_factor * residual;
        std::array::from_fn(|index| {
            let (first, second) = (index % 3, (index + 1) % 3);
            let of_phase = reference.turned_deg(-120.0 * first as f64);
            let is_to_earth = index >= 3;
            let each = if is_to_earth {
                let current = bay.currents[first] + compensation;
                Loop { voltage: bay.voltages[first], current, reference: of_phase, is_to_earth }
            } else {
                Loop {
                    voltage: bay.voltages[first] - bay.voltages[second],
                    current: bay.currents[first] - bay.currents[second],
                    reference: of_phase - reference.turned_deg(-120.0 * second as f64),
                    is_to_earth,
                }
            };
            let phase_a = bay.currents[first].norm();
            let carries = if is_to_earth {
                is_earth_fault && phase_a > self.settings.current_a_min
            } else {
                each.current.norm() > self.settings.current_a_min
            };
            carries.then_some(each)
        })
    }

    /// Whether the fault of a loop lies in the zone.
    fn holds(&self, each: &Loop, scale: f64) -> bool {
        let current = match self.settings.way {
            Way::Forward => each.current,
            Way::Reverse => -each.current,
        };
        let reach = self.settings.reach * scale;
        match self.settings.shape {
            Shape::Mho => {
                let missing = reach * current - each.voltage;
                (missing * each.reference.conj()).re > 0.0
            }
            Shape::Quadrilateral { resistance_ohm, earth_resistance_ohm } => {
                let resistance_ohm =
                    if each.is_to_earth { earth_resistance_ohm } else { resistance_ohm };
                let seen = each.voltage / current;
                // Left and right of the line's own impedance up to there.
                let along_ohm = seen.re - seen.im * reach.re / reach.im;
                let direction_deg = (each.reference / current).angle_deg();
                AHEAD_DEG.contains(&direction_deg)
                    && seen.im < reach.im
                    && along_ohm.abs() < resistance_ohm * scale
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Complex = Complex::new(1.0, 10.0);
    const QUADRILATERAL: Shape =
        Shape::Quadrilateral { resistance_ohm: 5.0, earth_resistance_ohm: 8.0 };

    fn element(shape: Shape, way: Way) -> Distance {
        Distance::new(Settings {
            shape,
            reach: LINE * 0.8,
            way,
            earth_factor: Complex::new(0.7, 0.1),
            current_a_min: 100.0,
            healthy_v: 40_000.0,
            delay: Duration::from_millis(20),
        })
    }

    fn bay(currents: [Complex; 3], voltages: [Complex; 3]) -> Bay {
        Bay { currents, second_harmonics: [Complex::ZERO; 3], voltages, frequency_hz: 50.0 }
    }

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Three,
        Two,
        Earth,
    }

    /// What the relay sees of a fault at `place` times the line ahead (negative: behind), behind a
    /// source of 110 kV and 5 ohm, at a turn of the phasors.
    fn fault(kind: Kind, place: f64, resistance_ohm: f64, turn_deg: f64) -> Bay {
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
        bay(currents.map(|current| current * sign), voltages)
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
                bay(voltages.map(|voltage| voltage / Complex::new(120.0, 30.0)), voltages)
            } else {
                fault(kind, place, resistance_ohm, turn_deg)
            };
            let decision = element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen));
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
    }

    #[test]
    fn an_untrusted_stream_blocks_and_forgets() {
        let mut element = element(Shape::Mho, Way::Forward);
        for ms in 0..100u64 {
            let decision = element.update(SampleTime::from_ns(ms * 1_000_000), None);
            assert_eq!(decision, Decision::NONE);
        }
    }
}
