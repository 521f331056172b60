//! The simulated grid: OpenDSS in quasi-static steps, driven by recorded inputs, read and
//! written by programs through points.
//!
//! Step j covers the scenario time from (j-1) to j steps. Advancing to a time solves all whole
//! steps up to it; what is written then takes effect from the next step; recorded inputs take
//! effect at their own time. Before scenario time zero the grid rests at the first recorded
//! values: it can be read and written, but no time passes for it and storage keeps its energy.
//!
//! One thread owns a plant. What it does not do: electromagnetic transients and machine swings,
//! which last shorter than the changes it is made for.

mod engine;
mod error;
mod library;
pub mod name;
mod number;
pub mod plan;
mod point;
mod profile;
mod spans;
mod stepping;

use std::path::{Path, PathBuf};

use vtime::VirtualSpan;

use crate::name::PointName;
use engine::{Engine, Place};
use profile::Table;
use stepping::{Move, Position};

pub use error::PlantError;
pub use library::find as find_library;
pub use spans::Spans;

/// Names the file of the library, before all folders.
pub const LIBRARY_VARIABLE: &str = "QCYCLE_DSS_LIBRARY";

/// Largest value a point accepts, either way: a terawatt in kW, far beyond any grid, and far
/// below what drives the solver into overflow.
pub const VALUE_MAX: f64 = 1e9;

/// A point of one plant, found at its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PointId(usize);

/// What a plant did so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PlantStats {
    /// Steps that the engine has solved.
    pub steps: u64,
    /// Calls of the solver; fewer than steps, since quiet steps go together.
    pub solves: u64,
    /// Host nanoseconds spent in the engine.
    pub wall_ns: u64,
    /// Steps that are no solutions: they did not converge, controls did not settle, or voltages are
    /// no numbers.
    pub unconverged: u64,
    /// Solutions at rest, before scenario time zero, that are none either.
    pub unconverged_at_rest: u64,
}

/// A grid under simulation.
#[derive(Debug)]
pub struct Plant {
    engine: Engine,
    points: Vec<(PointName, Place)>,
    profiles: Vec<(Table, Vec<PointId>)>,
    record: Vec<PointId>,
    row: Vec<f64>,
    step: VirtualSpan,
    position: Position,
    phase: Phase,
    stats: PlantStats,
    /// When its state was no solution, from scenario time zero on.
    unsolved: Spans,
    /// Whether its state is a solution now.
    is_solved: bool,
    /// Whether each step since the last row was one.
    row_is_solved: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// At rest; `stale` if something was written since it was last solved.
    Rest {
        stale: bool,
    },
    Run,
}

impl Plant {
    /// Opens the engine and compiles the circuit: from now on points can be found, and
    /// [`Self::begin`] makes it ready for the first step. The engine is looked for in `search`
    /// (see [`find_library`]) unless [`LIBRARY_VARIABLE`] names it.
    ///
    /// # Errors
    /// When the engine is missing, or the circuit or the steps are wrong.
    pub fn open(plan: &plan::Plan, search: &[PathBuf]) -> Result<Self, PlantError> {
        let variable = std::env::var_os(LIBRARY_VARIABLE).filter(|value| !value.is_empty());
        let file = library::find(variable.as_ref().map(Path::new), search)?;
        let record_every = steps_between_rows(plan)?;
        let context = library::Context::open(&file)?;
        Ok(Self {
            engine: Engine::compile(context, &plan.circuit)?,
            points: Vec::new(),
            profiles: Vec::new(),
            record: Vec::new(),
            row: Vec::new(),
            step: plan.step,
            position: Position::start(record_every),
            phase: Phase::Rest { stale: true },
            stats: PlantStats::default(),
            unsolved: Spans::default(),
            is_solved: true,
            row_is_solved: true,
        })
    }

    /// Finds all points of the plan and solves the grid at the first recorded values.
    ///
    /// # Errors
    /// When a table or a point is wrong.
    pub fn begin(&mut self, plan: &plan::Plan) -> Result<(), PlantError> {
        for profile in &plan.profiles {
            self.add_profile(profile)?;
        }
        self.record = self.resolve_all(&plan.record)?;
        self.set_profiles(VirtualSpan::ZERO)?;
        self.refresh()
    }

    /// Name and version of the engine, in its own words.
    pub fn engine_version(&mut self) -> String {
        self.engine.version()
    }

    /// Finds a point. Asked for all points at the start, so that a wrong name is an error before
    /// anything runs.
    ///
    /// # Errors
    /// When the circuit has no such point; names that come near are listed.
    pub fn resolve(&mut self, point: &PointName) -> Result<PointId, PlantError> {
        let known = |(name, _): &(PointName, Place)| name.0.eq_ignore_ascii_case(&point.0);
        if let Some(index) = self.points.iter().position(known) {
            return Ok(PointId(index));
        }
        let place = self.engine.place(point)?;
        self.points.push((point.clone(), place));
        Ok(PointId(self.points.len() - 1))
    }

    /// Whether a point can be written.
    pub fn is_writable(&self, point: PointId) -> bool {
        self.points[point.0].1.is_writable()
    }

    /// Advances to scenario time `to`, solving all whole steps up to it, and records a row of
    /// the plan's points at each multiple of its `record_every` from zero on. Before zero
    /// nothing moves; a time already reached is no error.
    ///
    /// # Errors
    /// When the engine reports one. A step that does not converge is none: it is noted, and a row is
    /// one of no numbers (NaN) unless all steps since the row before have converged.
    pub fn advance(
        &mut self,
        to: VirtualSpan,
        record: &mut dyn FnMut(VirtualSpan, &[f64]),
    ) -> Result<(), PlantError> {
        if to < VirtualSpan::ZERO {
            return Ok(());
        }
        if self.phase != Phase::Run {
            self.refresh()?;
            self.engine.step_mode(self.step)?;
            self.phase = Phase::Run;
            if !self.is_solved {
                // What was at rest is the state until the first step.
                self.unsolved.add(VirtualSpan::ZERO, self.step);
            }
        }
        let to = to.as_ns() / self.step.as_ns();
        while let Some(next) = self.next_move(to) {
            match next {
                Move::Set(step) => self.set_profiles(self.time_of(step))?,
                Move::Solve(count) => self.solve(count)?,
                Move::Record(step) => self.record(step, record)?,
            }
        }
        Ok(())
    }

    /// The value of a point as of the last step; before zero, of the grid at rest.
    ///
    /// # Errors
    /// When the engine reports one, or there is no value: the last step did not converge.
    pub fn read(&mut self, point: PointId) -> Result<f64, PlantError> {
        self.refresh()?;
        let value = self.engine.read(self.points[point.0].1)?;
        if self.is_solved && value.is_finite() {
            Ok(value)
        } else {
            Err(PlantError::Unsolved { point: self.points[point.0].0.0.clone() })
        }
    }

    /// Sets a point; it takes effect from the next step.
    ///
    /// # Errors
    /// When the point is a result, the value is not one a grid can have, or the engine refuses.
    pub fn write(&mut self, point: PointId, value: f64) -> Result<(), PlantError> {
        self.takes(point, value)?;
        self.set(point, value).map_err(|error| match error {
            PlantError::Engine { message, .. } => {
                PlantError::Refused { point: self.points[point.0].0.0.clone(), value, message }
            }
            other => other,
        })
    }

    /// Whether a point takes a value, as far as can be said before it is written.
    pub fn takes(&self, point: PointId, value: f64) -> Result<(), PlantError> {
        let (name, place) = &self.points[point.0];
        let point = || name.0.clone();
        if !place.is_writable() {
            return Err(PlantError::ReadOnly { point: point() });
        }
        let wanted = if value.is_nan() || value.abs() > VALUE_MAX {
            Some(format!("a finite number from -{VALUE_MAX:e} to {VALUE_MAX:e}"))
        } else {
            place.refuses(value).map(str::to_owned)
        };
        match wanted {
            Some(wanted) => Err(PlantError::Value { point: point(), value, wanted }),
            None => Ok(()),
        }
    }

    /// What was done so far.
    pub fn stats(&self) -> PlantStats {
        let wall_ns = u64::try_from(self.engine.wall.as_nanos()).unwrap_or(u64::MAX);
        PlantStats { solves: self.engine.solves, wall_ns, ..self.stats }
    }

    /// When its state was no solution of the grid, from scenario time zero on: figures of then are
    /// none.
    pub fn unsolved(&self) -> &Spans {
        &self.unsolved
    }

    fn resolve_all<'p>(
        &mut self,
        names: impl IntoIterator<Item = &'p PointName>,
    ) -> Result<Vec<PointId>, PlantError> {
        names.into_iter().map(|name| self.resolve(name)).collect()
    }

    fn add_profile(&mut self, profile: &plan::Profile) -> Result<(), PlantError> {
        let columns: Vec<String> = profile.columns.keys().cloned().collect();
        let table = Table::read(&profile.file, &profile.time_column, &columns)?;
        let points = self.resolve_all(profile.columns.values())?;
        table.check(|column, value| self.takes(points[column], value))?;
        self.profiles.push((table, points));
        Ok(())
    }

    fn next_move(&mut self, to: i64) -> Option<Move> {
        let (step, profiles) = (self.step, &self.profiles);
        self.position.next(to, |after| {
            let changes = profiles.iter().filter_map(|(table, _)| {
                let ns = table.next_change_after(time_of(after, step))?.as_ns();
                Some(ns.div_euclid(step.as_ns()) + i64::from(ns % step.as_ns() != 0))
            });
            changes.min()
        })
    }

    fn set_profiles(&mut self, when: VirtualSpan) -> Result<(), PlantError> {
        let profiles = std::mem::take(&mut self.profiles);
        let values = profiles
            .iter()
            .flat_map(|(table, points)| points.iter().copied().zip(table.values_at(when)));
        let set = values.into_iter().try_for_each(|(point, value)| self.set(point, *value));
        self.profiles = profiles;
        set
    }

    fn set(&mut self, point: PointId, value: f64) -> Result<(), PlantError> {
        let changed = self.engine.write(self.points[point.0].1, value)?;
        if let Phase::Rest { stale } = &mut self.phase {
            *stale |= changed;
        }
        Ok(())
    }

    /// Solves the grid at rest if something was written to it.
    fn refresh(&mut self) -> Result<(), PlantError> {
        if self.phase == (Phase::Rest { stale: true }) {
            self.is_solved = self.engine.solve(1)?.is_empty();
            self.row_is_solved = self.is_solved;
            self.stats.unconverged_at_rest += u64::from(!self.is_solved);
            self.phase = Phase::Rest { stale: false };
        }
        Ok(())
    }

    fn solve(&mut self, count: i64) -> Result<(), PlantError> {
        let failed = self.engine.solve(count)?;
        self.stats.steps += count.unsigned_abs();
        let first = self.position.done() - count + 1;
        for steps in &failed {
            // The state of a step is that of the plant until the next one.
            let (from, to) = (first + steps.start, first + steps.end);
            self.unsolved.add(self.time_of(from), self.time_of(to));
            self.stats.unconverged += (steps.end - steps.start).unsigned_abs();
        }
        self.is_solved = failed.last().is_none_or(|last| last.end < count);
        self.row_is_solved &= failed.is_empty();
        Ok(())
    }

    fn record(
        &mut self,
        step: i64,
        record: &mut dyn FnMut(VirtualSpan, &[f64]),
    ) -> Result<(), PlantError> {
        self.row.clear();
        for point in &self.record {
            let value = self.engine.read(self.points[point.0].1)?;
            self.row.push(if self.row_is_solved { value } else { f64::NAN });
        }
        self.row_is_solved = true;
        record(self.time_of(step), &self.row);
        Ok(())
    }

    fn time_of(&self, step: i64) -> VirtualSpan {
        time_of(step, self.step)
    }
}

fn time_of(steps: i64, step: VirtualSpan) -> VirtualSpan {
    VirtualSpan::from_ns(steps.saturating_mul(step.as_ns()))
}

/// Steps between recorded rows, once the times of the plan are found to fit each other.
fn steps_between_rows(plan: &plan::Plan) -> Result<i64, PlantError> {
    let (step, every) = (plan.step.as_ns(), plan.record_every.as_ns());
    let wrong = |message: String| Err(PlantError::Steps { message });
    if step <= 0 || step % VirtualSpan::from_ms(1).as_ns() != 0 {
        let what = format!("the plant's step is {}; it must be a whole number of ms", plan.step);
        return wrong(what);
    }
    if every <= 0 || every % step != 0 {
        return wrong(format!(
            "rows are {} apart; this must be a multiple of the plant's step of {}",
            plan.record_every, plan.step
        ));
    }
    Ok(every / step)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unsolved_tests;
