//! What to do between two moments of the simulation: when to set recorded inputs, how many
//! quiet steps to solve in one call, when to record a row. Pure arithmetic on step numbers.
//!
//! The simulation is quasi-static: while no input changes, every step has the same equations, so
//! the engine is asked for as many steps at once as lie before the next change or row. Step j
//! covers the time from (j-1) to j; inputs that change at j are set before step j is solved, so
//! a row recorded at j shows inputs and voltages that belong together.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// Set the recorded inputs to what holds at this step.
    Set(i64),
    /// Solve this many steps.
    Solve(i64),
    /// Record a row at this step.
    Record(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    done: i64,
    set: i64,
    record: i64,
    record_every: i64,
}

/// Most steps asked of the engine in one call, so that its count stays a 32-bit number and a
/// runner that must stop gets a word in.
const SOLVE_MAX: i64 = 60_000;

impl Position {
    /// At time zero, with the inputs of time zero set and nothing recorded.
    pub(super) fn start(record_every: i64) -> Self {
        assert!(record_every > 0, "rows lie at least one step apart");
        Self { done: 0, set: 0, record: 0, record_every }
    }

    pub(super) fn done(&self) -> i64 {
        self.done
    }

    /// The next thing to do on the way to step `to`, which counts as done; `None` once there.
    /// `next_change` is the first step after the given one for which recorded inputs change.
    pub(super) fn next(
        &mut self,
        to: i64,
        next_change: impl FnOnce(i64) -> Option<i64>,
    ) -> Option<Move> {
        if self.record == self.done && self.done <= to {
            self.record += self.record_every;
            return Some(Move::Record(self.done));
        }
        if self.done >= to {
            return None;
        }
        // Inputs of all steps up to `set` are in force.
        let change = next_change(self.set).unwrap_or(i64::MAX);
        assert!(change > self.set, "the next change comes later");
        if change == self.done + 1 {
            self.set = change;
            return Some(Move::Set(change));
        }
        let end = to.min(self.record).min(change - 1).min(self.done + SOLVE_MAX);
        let count = end - self.done;
        self.done = end;
        self.set = self.set.max(end);
        Some(Move::Solve(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moves(position: &mut Position, to: i64, changes: &[i64]) -> Vec<Move> {
        let next = |after: i64| changes.iter().copied().find(|change| *change > after);
        std::iter::from_fn(|| position.next(to, next)).collect()
    }

    #[test]
    fn quiet_steps_go_in_one_call_up_to_the_next_change_or_row() {
        let mut position = Position::start(10);
        let made = moves(&mut position, 12, &[4, 5, 11]);
        let expected = [
            Move::Record(0),
            Move::Solve(3),
            Move::Set(4),
            Move::Solve(1),
            Move::Set(5),
            Move::Solve(6),
            Move::Record(10),
            Move::Set(11),
            Move::Solve(2),
        ];
        assert_eq!(made, expected);
        assert_eq!(moves(&mut position, 12, &[4, 5, 11]), []);
    }

    #[test]
    fn time_zero_has_a_row_of_its_own() {
        let mut position = Position::start(1);
        assert_eq!(moves(&mut position, 0, &[]), [Move::Record(0)]);
        assert_eq!(moves(&mut position, 1, &[]), [Move::Solve(1), Move::Record(1)]);
    }

    proptest! {
        /// However the way is cut into pieces, each step is solved once, with the inputs that
        /// hold at it, and each row is recorded once, right after its step.
        #[test]
        fn each_step_sees_its_inputs_and_each_row_its_step(
            changes in prop::collection::btree_set(1i64..500, 0..40),
            stops in prop::collection::vec(0i64..600, 1..20),
            record_every in 1i64..50,
        ) {
            let changes: Vec<i64> = changes.into_iter().collect();
            let mut position = Position::start(record_every);
            let (mut solved, mut inputs, mut rows) = (0, 0, Vec::new());
            let mut reached = 0;
            for stop in &stops {
                for step in moves(&mut position, *stop, &changes) {
                    match step {
                        Move::Set(at) => inputs = at,
                        Move::Record(at) => {
                            prop_assert_eq!(at, solved);
                            rows.push(at);
                        }
                        Move::Solve(count) => {
                            prop_assert!(count > 0);
                            for j in solved + 1..=solved + count {
                                let due = changes.iter().copied().filter(|c| *c <= j).max();
                                prop_assert_eq!(inputs, due.unwrap_or(0), "step {}", j);
                            }
                            solved += count;
                        }
                    }
                }
                reached = reached.max(*stop);
                prop_assert_eq!(solved, reached);
                prop_assert_eq!(position.done(), reached);
            }
            let expected: Vec<i64> = (0..=reached).step_by(usize::try_from(record_every).unwrap()).collect();
            prop_assert_eq!(rows, expected);
        }
    }
}
