//! Trip logic (PTRC): which elements trip which breakers, for how long, and until when.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;

/// Which elements trip a breaker: rows of the trip matrix, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matrix {
    /// Elements for each breaker.
    pub elements_by_breaker: BTreeMap<String, Vec<String>>,
    /// How long a trip lasts at least, so that a coil sees it.
    pub pulse_min: Duration,
    /// Whether a trip stays until somebody resets it.
    pub lockout: bool,
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
    /// Places of its elements.
    elements: Vec<usize>,
    /// When its trip was last asked for, while it lasts.
    asked: Option<SampleTime>,
}

impl TripLogic {
    /// Logic of this matrix, without a trip so far; `place` is that of an element by its name.
    #[must_use]
    pub fn new(matrix: &Matrix, place: impl Fn(&str) -> Option<usize>) -> Self {
        let row = |names: &Vec<String>| Row {
            elements: names.iter().filter_map(|name| place(name)).collect(),
            asked: None,
        };
        Self {
            pulse_min: matrix.pulse_min,
            lockout: matrix.lockout,
            breakers: matrix.elements_by_breaker.values().map(row).collect(),
        }
    }

    /// Looks at what the elements say, and at which breakers another device wants tripped.
    pub fn update(&mut self, now: SampleTime, decisions: &[Decision], ordered: &[bool]) {
        let operates = |place: &usize| decisions.get(*place).is_some_and(|said| said.operate);
        for (index, row) in self.breakers.iter_mut().enumerate() {
            if ordered.get(index) == Some(&true) || row.elements.iter().any(operates) {
                row.asked = Some(now);
            }
            let lasts = |asked: &SampleTime| {
                self.lockout || now == *asked || now.since(*asked) < self.pulse_min
            };
            row.asked = row.asked.filter(lasts);
        }
    }

    /// Whether each breaker is tripped now, in the order of their names.
    pub fn tripped(&self) -> impl Iterator<Item = bool> {
        self.breakers.iter().map(|row| row.asked.is_some())
    }

    /// Takes back the trip of a breaker, by its place in the order of names, if it stays; an element
    /// that still operates trips it again at once.
    pub fn reset(&mut self, breaker: usize) {
        if let Some(row) = self.breakers.get_mut(breaker).filter(|_| self.lockout) {
            row.asked = None;
        }
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
        let matrix = Matrix { elements_by_breaker, pulse_min: Duration::from_millis(100), lockout };
        TripLogic::new(&matrix, |name| ["I>>", "Z1"].iter().position(|known| *known == name))
    }

    fn tripped(logic: &mut TripLogic, ms: u64, operating: &str) -> Vec<bool> {
        let decisions = ["I>>", "Z1"].map(|name| Decision::new(true, name == operating));
        logic.update(SampleTime::from_ns(ms * 1_000_000), &decisions, &[false, false]);
        logic.tripped().collect()
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
        let mut ordered = |ms: u64, ordered| {
            logic.update(SampleTime::from_ns(ms * 1_000_000), &[], &[false, ordered]);
            logic.tripped().collect::<Vec<_>>()
        };
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
}
