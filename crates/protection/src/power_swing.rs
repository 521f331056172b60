//! Power swing (68, RPSB): generators rock against each other, and the impedance that a relay sees
//! wanders into its zones, slowly, through all three phases alike. A fault makes it jump.
//!
//! Two rectangles round the zones: what takes its time between the outer and the inner one is a
//! swing. While it lasts, the zones that name it look for nothing but faults that a swing cannot be taken for
//! (`swing_fault.rs`). It ends when the impedance leaves both, balanced (an unbalanced fault moves it), or
//! when it lasts too long.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::complex::Complex;
use super::direction::Bay;
use super::symmetrical::Sequence;

/// Share of the positive sequence current in the negative sequence that is a fault.
const UNBALANCE_SHARE_MAX: f64 = 0.25;
/// The same during a swing.
const FAULT_SHARE: f64 = 0.1;
/// Rectangles and times of a power swing element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How far the inner rectangle reaches along the axis of resistances, to both sides, in ohm.
    pub resistance_ohm: f64,
    /// How far it reaches along the axis of reactances, up and down, in ohm.
    pub reactance_ohm: f64,
    /// How much further the outer one reaches, in ohm.
    pub band_ohm: f64,
    /// Time between both from which it is a swing.
    pub crossing_min: Duration,
    /// How long a swing blocks at most.
    pub hold_max: Duration,
    /// Current of the positive sequence below which nothing is looked at, in A.
    pub current_a_min: f64,
}

/// Where the impedance is, and how it came there.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Outside,
    /// Between both, since then.
    Between(SampleTime),
    /// A swing since then.
    Swing(SampleTime),
    /// Something else, until it has left both.
    Fault,
}

/// A power swing element (68).
#[derive(Clone, PartialEq, Debug)]
pub struct PowerSwing {
    settings: Settings,
    place: Place,
}

impl PowerSwing {
    /// An element at rest.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, place: Place::Outside }
    }

    /// Looks at a bay; both parts of the answer say whether there is a swing.
    pub fn update(&mut self, now: SampleTime, bay: Option<&Bay>) -> Decision {
        self.place = bay.map_or(Place::Outside, |bay| self.follow(now, bay));
        let is_swing = matches!(self.place, Place::Swing(_));
        Decision::new(is_swing, is_swing)
    }

    fn follow(&self, now: SampleTime, bay: &Bay) -> Place {
        let (voltages, currents) = (Sequence::of(bay.voltages), Sequence::of(bay.currents));
        let current_a = currents.positive.norm();
        if current_a < self.settings.current_a_min {
            return Place::Outside;
        }
        let seen = voltages.positive / currents.positive;
        let is_balanced = currents.negative.norm() <= UNBALANCE_SHARE_MAX * current_a;
        if let Place::Swing(begin) = self.place
            && currents.negative.norm() > FAULT_SHARE * current_a
        {
            return self.swing(now, begin);
        }
        if !self.is_within(seen, self.settings.band_ohm) {
            return Place::Outside;
        }
        let is_inside = self.is_within(seen, 0.0);
        match self.place {
            Place::Swing(begin) => self.swing(now, begin),
            Place::Fault => Place::Fault,
            _ if !is_balanced => Place::Fault,
            Place::Outside if is_inside => Place::Fault,
            Place::Outside => Place::Between(now),
            Place::Between(begin) if now.since(begin) >= self.settings.crossing_min => {
                Place::Swing(now)
            }
            Place::Between(_) if is_inside => Place::Fault,
            Place::Between(begin) => Place::Between(begin),
        }
    }

    fn swing(&self, now: SampleTime, begin: SampleTime) -> Place {
        if now.since(begin) > self.settings.hold_max { Place::Fault } else { Place::Swing(begin) }
    }

    fn is_within(&self, seen: Complex, band_ohm: f64) -> bool {
        seen.re.abs() <= self.settings.resistance_ohm + band_ohm
            && seen.im.abs() <= self.settings.reactance_ohm + band_ohm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element() -> PowerSwing {
        PowerSwing::new(Settings {
            resistance_ohm: 12.0,
            reactance_ohm: 15.0,
            band_ohm: 5.0,
            crossing_min: Duration::from_millis(30),
            hold_max: Duration::from_secs(2),
            current_a_min: 100.0,
        })
    }

    /// A bay that sees this impedance in all phases, with so much negative sequence current.
    fn bay(seen: Complex, unbalance_share: f64) -> Bay {
        let current = Complex::new(1000.0, 0.0);
        let negative = current * unbalance_share;
        let currents = Sequence { positive: current, negative, zero: Complex::ZERO }.phases();
        let voltages = Sequence { positive: current * seen, ..Sequence::default() }.phases();
        Bay { currents, second_harmonics: [Complex::ZERO; 3], voltages, frequency_hz: 50.0 }
    }

    /// Impedances, one each millisecond; the milliseconds in which there is a swing.
    fn swings(element: &mut PowerSwing, path: impl Iterator<Item = (Complex, f64)>) -> Vec<u64> {
        let each = (0u64..).zip(path).filter(|(ms, (seen, unbalance))| {
            let seen = bay(*seen, *unbalance);
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(&seen)).start
        });
        each.map(|(ms, _)| ms).collect()
    }

    /// The path of a swing of this slip between two machines of equal voltage, 20 ohm apart, with
    /// the relay in the middle: a straight line along the resistances.
    fn swing(slip_hz: f64) -> impl Iterator<Item = (Complex, f64)> {
        let angle =
            move |ms: u32| std::f64::consts::PI * (0.25 + 2.0 * slip_hz * f64::from(ms) / 1e3);
        let path = move |ms| Complex::new(10.0 / (angle(ms) / 2.0).tan(), 1.0);
        (0..10_000).map(path).map(|seen| (seen, 0.0)).take_while(|(seen, _)| seen.re > -40.0)
    }

    #[test]
    fn swings_of_all_slips_block_as_long_as_they_are_inside() {
        for slip_hz in [0.2, 0.5, 1.0, 1.5] {
            let path: Vec<(Complex, f64)> = swing(slip_hz).collect();
            let inside = path.iter().positions_within(12.0);
            let said = swings(&mut element(), path.iter().copied());
            // For slow ones the longest time ends it.
            let until = inside.1.min(said[0] + 2000);
            assert!(said[0] <= inside.0 && *said.last().unwrap() >= until, "{slip_hz} Hz");
        }
    }

    trait Positions {
        fn positions_within(self, resistance_ohm: f64) -> (u64, u64);
    }

    impl<'p, I: Iterator<Item = &'p (Complex, f64)>> Positions for I {
        /// First and last millisecond within a resistance.
        fn positions_within(self, resistance_ohm: f64) -> (u64, u64) {
            let inside =
                (0u64..).zip(self).filter(|(_, (seen, _))| seen.re.abs() <= resistance_ohm);
            let inside: Vec<u64> = inside.map(|(ms, _)| ms).collect();
            (inside[0], inside[inside.len() - 1])
        }
    }

    #[test]
    fn a_fault_jumps_and_blocks_nothing() {
        let (load, fault) = (Complex::new(60.0, 10.0), Complex::new(1.0, 8.0));
        // The filter shows it over a period.
        let path = (0..400u32).map(|ms| {
            let shown = (f64::from(ms.saturating_sub(100)) / 20.0).min(1.0);
            (load + (fault - load) * shown, 0.0)
        });
        assert!(swings(&mut element(), path).is_empty());
    }

    #[test]
    fn a_fault_does_not_end_the_swing_but_that_it_lasts_too_long_does() {
        // Unbalanced, wherever it moves the impedance to; balanced, where it is inside.
        let (near, far) = (Complex::new(1.0, 6.0), Complex::new(40.0, 6.0));
        for (fault, unbalance, lasts_ms) in [
            (near, 0.6, 2000),
            (far, 0.6, 2000),
            (far, 0.15, 2000),
            (near, 0.0, 2000),
            (far, 0.0, 0),
        ] {
            let mut element = element();
            let before: Vec<(Complex, f64)> =
                swing(0.5).take_while(|(seen, _)| seen.re > 5.0).collect();
            let begin = before.len() as u64;
            let path = before.into_iter().chain(std::iter::repeat_n((fault, unbalance), 3000));
            let said = swings(&mut element, path);
            let until = if lasts_ms == 0 { begin - 1 } else { said[0] + lasts_ms };
            assert_eq!(said.last(), Some(&until), "{fault} {unbalance}");
        }
    }

    #[test]
    fn load_that_grows_slowly_and_goes_again_leaves_no_block() {
        let path = (0..2000).map(|ms| {
            let share = (f64::from(ms) / 1000.0 - 1.0).abs();
            (Complex::new(14.0 + 40.0 * share, 3.0), 0.0)
        });
        let mut element = element();
        assert!(!swings(&mut element, path).is_empty());
        let away = bay(Complex::new(60.0, 3.0), 0.0);
        assert_eq!(element.update(SampleTime::from_ns(3_000_000_000), Some(&away)), Decision::NONE);
        assert_eq!(element.update(SampleTime::from_ns(3_001_000_000), None), Decision::NONE);
    }
}
