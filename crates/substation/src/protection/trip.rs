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
    matrix: Matrix,
    /// When the trip of each breaker was last asked for, while it lasts.
    asked: BTreeMap<String, Option<SampleTime>>,
}

impl TripLogic {
    /// Logic of this matrix, without a trip so far.
    #[must_use]
    pub fn new(matrix: Matrix) -> Self {
        let breakers = matrix.elements_by_breaker.keys();
        Self { asked: breakers.map(|breaker| (breaker.clone(), None)).collect(), matrix }
    }

    /// Looks at what the elements say, by name, and at which breakers another device wants tripped,
    /// in the order of their names; answers the breakers that are tripped now.
    pub fn update(
        &mut self,
        now: SampleTime,
        decisions: &BTreeMap<String, Decision>,
        ordered: &[bool],
    ) -> impl Iterator<Item = &str> {
        let operates = |name: &String| decisions.get(name).is_some_and(|decision| decision.operate);
        let Matrix { pulse_min, lockout, .. } = self.matrix;
        let rows = self.matrix.elements_by_breaker.values();
        for (index, (asked, elements)) in self.asked.values_mut().zip(rows).enumerate() {
            if ordered.get(index) == Some(&true) || elements.iter().any(operates) {
                *asked = Some(now);
            }
            *asked =
                asked.filter(|asked| lockout || now == *asked || now.since(*asked) < pulse_min);
        }
        let tripped = self.asked.iter().filter(|(_, asked)| asked.is_some());
        tripped.map(|(breaker, _)| breaker.as_str())
    }

    /// Takes back the trip of a breaker, by its place in the order of names, if it stays; an element
    /// that still operates trips it again at once.
    pub fn reset(&mut self, breaker: usize) {
        if let Some(asked) = self.asked.values_mut().nth(breaker).filter(|_| self.matrix.lockout) {
            *asked = None;
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
        TripLogic::new(Matrix {
            elements_by_breaker,
            pulse_min: Duration::from_millis(100),
            lockout,
        })
    }

    fn tripped(logic: &mut TripLogic, ms: u64, operating: &str) -> Vec<String> {
        let operate = Decision { start: true, operate: true };
        let decisions = [(operating.to_owned(), operate)].into();
        let now = SampleTime::from_ns(ms * 1_000_000);
        logic.update(now, &decisions, &[false, false]).map(str::to_owned).collect()
    }

    #[test]
    fn elements_trip_the_breakers_of_their_rows_for_a_while() {
        let mut logic = logic(false);
        assert_eq!(tripped(&mut logic, 0, "I>>"), ["Q0"]);
        assert_eq!(tripped(&mut logic, 10, "Z1"), ["Q0", "Q1"]);
        assert_eq!(tripped(&mut logic, 109, "another"), ["Q0", "Q1"]);
        assert!(tripped(&mut logic, 110, "another").is_empty());
    }

    #[test]
    fn another_device_trips_the_breaker_that_it_names() {
        let mut logic = logic(false);
        let at = |ms: u64| SampleTime::from_ns(ms * 1_000_000);
        assert!(logic.update(at(0), &BTreeMap::new(), &[false, true]).eq(["Q1"]));
        assert!(logic.update(at(99), &BTreeMap::new(), &[false, false]).eq(["Q1"]));
        assert_eq!(logic.update(at(100), &BTreeMap::new(), &[false, false]).count(), 0);
    }

    #[test]
    fn a_lockout_stays_until_it_is_reset() {
        let mut logic = logic(true);
        tripped(&mut logic, 0, "Z1");
        assert_eq!(tripped(&mut logic, 100_000, "none"), ["Q0", "Q1"]);
        logic.reset(0);
        assert_eq!(tripped(&mut logic, 100_001, "none"), ["Q1"]);
        logic.reset(1);
        assert_eq!(tripped(&mut logic, 100_002, "I>>"), ["Q0"], "it still operates");
    }
}
