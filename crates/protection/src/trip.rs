//! Trip logic (PTRC): which elements trip which breakers, which poles of them, for how long, and until
//! when.
//!
//! A breaker with a drive for each pole may be tripped in one pole, so that the other two carry power
//! while an arc to earth dies. That is done for a fault of one phase to earth alone, seen by an element
//! that may do so, and only while somebody is ready to close the pole again. Everything else trips all
//! poles, and so does whatever comes on top of it: another phase, another element, another device. What
//! was decided when a trip began stays, though nobody is ready any more once it has.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::SampleTime;

use super::{Decision, PhaseSet};

/// Which elements trip a breaker: rows of the trip matrix, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matrix {
    /// Elements for each breaker.
    pub elements_by_breaker: BTreeMap<String, Vec<String>>,
    /// Elements that may trip a single pole, for each breaker that has a drive for each.
    pub single_pole: BTreeMap<String, Vec<String>>,
    /// How long a trip outlasts its cause, so that a coil sees it.
    pub pulse_min: Duration,
    /// Whether a trip stays until somebody resets it.
    pub lockout: bool,
}

/// What trips breakers, and how many poles of them; each by the place of the breaker.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What all elements say.
    pub decisions: &'a [Decision],
    /// Breakers that another device trips.
    pub ordered: &'a [bool],
    /// Breakers whose pole would be closed again.
    pub closes_pole: &'a [bool],
}

/// Trips as they stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TripLogic {
    pulse_min: Duration,
    lockout: bool,
    breakers: Vec<Row>,
}

/// What trips one breaker, and since when.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    /// Places of its elements, and whether each may trip a single pole.
    elements: Vec<(usize, bool)>,
    /// When its trip was last asked for, while it lasts.
    asked: Option<SampleTime>,
    /// Poles that are tripped.
    poles: PhaseSet,
}

impl TripLogic {
    /// Logic of this matrix, without a trip so far; `place` is that of an element by its name.
    #[must_use]
    pub fn new(matrix: &Matrix, place: impl Fn(&str) -> Option<usize>) -> Self {
        let row = |(breaker, names): (&String, &Vec<String>)| {
            let single = matrix.single_pole.get(breaker);
            let may = |name: &String| single.is_some_and(|single| single.contains(name));
            let elements = names.iter().filter_map(|name| Some((place(name)?, may(name))));
            Row { elements: elements.collect(), asked: None, poles: PhaseSet::NONE }
        };
        Self {
            pulse_min: matrix.pulse_min,
            lockout: matrix.lockout,
            breakers: matrix.elements_by_breaker.iter().map(row).collect(),
        }
    }

    /// Looks at what is asked.
    pub fn update(&mut self, now: SampleTime, asked: &Asked<'_>) {
        for (index, row) in self.breakers.iter_mut().enumerate() {
            let is_ordered = asked.ordered.get(index) == Some(&true);
            let wanted = if is_ordered { PhaseSet::ALL } else { row.wanted(asked.decisions) };
            if !wanted.is_empty() {
                let closes_pole = asked.closes_pole.get(index) == Some(&true);
                row.trip(now, wanted, closes_pole);
            }
            let lasts = |asked: &SampleTime| {
                self.lockout || now == *asked || now.since(*asked) < self.pulse_min
            };
            row.asked = row.asked.filter(lasts);
            if row.asked.is_none() {
                row.poles = PhaseSet::NONE;
            }
        }
    }

    /// Poles of each breaker that are tripped now, in the order of their names.
    pub fn tripped(&self) -> impl Iterator<Item = PhaseSet> {
        self.breakers.iter().map(|row| row.poles)
    }

    /// Takes back the trip of a breaker, by its place in the order of names, if it stays; an element
    /// that still operates trips it again at once.
    pub fn reset(&mut self, breaker: usize) {
        if let Some(row) = self.breakers.get_mut(breaker).filter(|_| self.lockout) {
            (row.asked, row.poles) = (None, PhaseSet::NONE);
        }
    }
}

impl Row {
    /// Poles that its elements want tripped.
    fn wanted(&self, decisions: &[Decision]) -> PhaseSet {
        let said = |(place, may): &(usize, bool)| {
            let said = decisions.get(*place).filter(|said| said.operate)?;
            let is_single = *may && said.phases.count() == 1 && said.phases.has_earth();
            Some(if is_single { said.phases.poles() } else { PhaseSet::ALL })
        };
        self.elements.iter().filter_map(said).fold(PhaseSet::NONE, |poles, more| poles | more)
    }

    fn trip(&mut self, now: SampleTime, wanted: PhaseSet, closes_pole: bool) {
        let is_new = self.asked.is_none();
        let poles = self.poles | wanted;
        let stays_single = poles.count() == 1 && (closes_pole || !is_new);
        self.poles = if stays_single { poles } else { PhaseSet::ALL };
        self.asked = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logic(lockout: bool) -> TripLogic {
        let row = |breaker: &str, elements: &[&str]| {
            (breaker.to_owned(), elements.iter().map(|name| (*name).to_owned()).collect())
        };
        let elements_by_breaker = [row("Q0", &["I>>", "Z1"]), row("Q1", &["Z1"])].into();
        let single_pole = [row("Q1", &["Z1"])].into();
        let pulse_min = Duration::from_millis(100);
        let matrix = Matrix { elements_by_breaker, single_pole, pulse_min, lockout };
        TripLogic::new(&matrix, |name| ["I>>", "Z1"].iter().position(|known| *known == name))
    }

    fn tripped(logic: &mut TripLogic, ms: u64, operating: &str) -> Vec<bool> {
        let decisions = ["I>>", "Z1"].map(|name| Decision::new(true, name == operating));
        update(logic, ms, &decisions, [false; 2], true)
    }

    fn update(
        logic: &mut TripLogic,
        ms: u64,
        decisions: &[Decision],
        ordered: [bool; 2],
        closes_pole: bool,
    ) -> Vec<bool> {
        let closes_pole = &[closes_pole; 2];
        let asked = Asked { decisions, ordered: &ordered, closes_pole };
        logic.update(SampleTime::from_ns(ms * 1_000_000), &asked);
        logic.tripped().map(|poles| !poles.is_empty()).collect()
    }

    /// The poles of Q1 that are tripped when Z1 sees these phases, and I>> something or not.
    fn poles(logic: &mut TripLogic, ms: u64, phases: Option<&str>, closes_pole: bool) -> String {
        let set = |text: &str| {
            let of = PhaseSet::of(["A", "B", "C"].map(|letter| text.contains(letter)));
            if text.contains('N') { of | PhaseSet::EARTH } else { of }
        };
        let z1 =
            phases.map_or(Decision::NONE, |text| Decision::new(true, true).in_phases(set(text)));
        update(logic, ms, &[Decision::NONE, z1], [false; 2], closes_pole);
        logic.tripped().nth(1).unwrap_or_default().to_string()
    }

    #[test]
    fn elements_trip_the_breakers_of_their_rows_for_a_while() {
        let mut logic = logic(false);
        assert_eq!(tripped(&mut logic, 0, "I>>"), [true, false]);
        assert_eq!(tripped(&mut logic, 10, "Z1"), [true, true]);
        assert_eq!(tripped(&mut logic, 109, "another"), [true, true]);
        assert_eq!(tripped(&mut logic, 110, "another"), [false, false]);
    }

    #[test]
    fn another_device_trips_the_breaker_that_it_names() {
        let mut logic = logic(false);
        let mut ordered = |ms: u64, ordered| update(&mut logic, ms, &[], [false, ordered], true);
        assert_eq!(ordered(0, true), [false, true]);
        assert_eq!(ordered(99, false), [false, true]);
        assert_eq!(ordered(100, false), [false, false]);
    }

    #[test]
    fn a_lockout_stays_until_it_is_reset() {
        let mut logic = logic(true);
        tripped(&mut logic, 0, "Z1");
        assert_eq!(tripped(&mut logic, 100_000, "none"), [true, true]);
        logic.reset(0);
        assert_eq!(tripped(&mut logic, 100_001, "none"), [false, true]);
        logic.reset(1);
        assert_eq!(tripped(&mut logic, 100_002, "I>>"), [true, false], "it still operates");
    }

    #[test]
    fn one_phase_to_earth_trips_one_pole_that_would_be_closed_again() {
        for (phases, closes_pole, tripped) in [
            ("AN", true, "A"),
            ("CN", true, "C"),
            ("AN", false, "ABC"),
            ("A", true, "ABC"),
            ("ABN", true, "ABC"),
            ("BC", true, "ABC"),
            ("N", true, "ABC"),
            ("", true, "ABC"),
        ] {
            let mut logic = logic(false);
            let poles = poles(&mut logic, 0, Some(phases), closes_pole);
            assert_eq!(poles, tripped, "{phases} {closes_pole}");
            assert_ne!(logic.tripped().next(), Some(PhaseSet::phase(0)), "Q0 has one drive");
        }
    }

    #[test]
    fn what_comes_on_top_trips_all_poles() {
        let mut logic = logic(false);
        assert_eq!(poles(&mut logic, 0, Some("AN"), true), "A");
        // Once tripped, nobody is ready any more.
        assert_eq!(poles(&mut logic, 10, Some("AN"), false), "A");
        assert_eq!(poles(&mut logic, 20, None, false), "A");
        assert_eq!(poles(&mut logic, 30, Some("BN"), false), "ABC");
        assert_eq!(poles(&mut logic, 130, None, false), "");
        assert_eq!(poles(&mut logic, 200, Some("AN"), true), "A");
        assert_eq!(poles(&mut logic, 300, None, true), "");
        // A second fault while the first pole is open.
        assert_eq!(poles(&mut logic, 400, Some("AN"), false), "ABC");
        assert_eq!(poles(&mut logic, 500, None, true), "");
        assert_eq!(poles(&mut logic, 600, Some("AN"), true), "A");
        update(&mut logic, 610, &[], [false, true], true);
        assert_eq!(logic.tripped().nth(1), Some(PhaseSet::ALL), "another device trips it");
    }
}
