//! The plant with the events of the scenario: it is brought to a moment when somebody asks, and
//! what the scenario changes on the way takes place at its own time.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use anyhow::Context;
use plant::plan::Plan;
use vtime::VirtualSpan;

use super::failure::Failure;
use plant::name::PointName;
use plant::{Plant, PlantError, PlantStats, PointId};
use results::SeriesWriter;
use results::doubt::{PlantRecord, Refused};
use scenario::model::{Happening, Mention, Scenario, Unchecked};
use settings::Problems;

pub(super) struct Grid {
    plant: Plant,
    /// By name in lower case: points are compared without case.
    points: BTreeMap<String, PointId>,
    /// Changes still to come, in the order of their time.
    changes: VecDeque<(VirtualSpan, PointName, f64)>,
    series: Option<SeriesWriter>,
    reached: VirtualSpan,
    broken: bool,
    step: VirtualSpan,
    unconverged_share: f64,
    /// Reads that had no answer, as the last step did not converge.
    refused: Option<Refused>,
}

/// Why a point has no value, or takes none.
#[derive(Debug)]
pub(super) enum AccessError {
    /// The value is none that a program may write, or there is none to read; the plant goes on.
    Refused(PlantError),
    Broken(anyhow::Error),
}

/// Finds all points, by name in lower case.
fn find_all(
    plant: &mut Plant,
    unchecked: &Unchecked,
) -> Result<BTreeMap<String, PointId>, Problems> {
    let (mut points, mut problems) = (BTreeMap::new(), Vec::new());
    for Mention { point, spot, written, value } in &unchecked.points {
        let id = match plant.resolve(point) {
            Ok(id) => id,
            Err(error) => {
                problems.push((spot, error.fault()));
                continue;
            }
        };
        points.insert(point.0.to_ascii_lowercase(), id);
        if *written && !plant.is_writable(id) {
            problems.push((spot, PlantError::ReadOnly { point: point.0.clone() }.fault()));
        } else if let Some((value, spot)) = value
            && let Err(error) = plant.takes(id, *value)
        {
            problems.push((spot, error.fault()));
        }
    }
    Problems::at_spots(&unchecked.file, problems).map_or(Ok(points), Err)
}

/// What keeps a plant from opening: its circuit and its tables are data of the scenario.
fn wrong(unchecked: &Unchecked, error: PlantError) -> Failure {
    if error.is_of_this_machine() {
        return Failure::Setup(error.into());
    }
    let fault = error.fault();
    let at_circuit = |spot| Problems::at_spots(&unchecked.file, vec![(spot, fault.clone())]);
    let problems = match (&error, &unchecked.circuit) {
        (PlantError::Circuit { .. }, Some(spot)) => at_circuit(spot),
        (PlantError::Profile { file, line, .. }, _) => {
            Some(Problems::of_data(file, (*line > 0).then_some(*line), fault.clone()))
        }
        _ => None,
    };
    let whole = || Problems::of_data(&unchecked.file, None, fault.clone());
    Failure::Scenario(problems.unwrap_or_else(whole))
}

impl Grid {
    /// Opens the plant and finds every point that the scenario names, in all its variants.
    ///
    /// # Errors
    /// That the engine is missing, or all that is wrong with the circuit, points and tables.
    pub(super) fn open(
        scenario: &Scenario,
        plan: &Plan,
        engine: &[PathBuf],
    ) -> Result<Self, Failure> {
        let wrong = |error: PlantError| wrong(&scenario.unchecked, error);
        let mut plant = Plant::open(plan, engine).map_err(wrong)?;
        let points = find_all(&mut plant, &scenario.unchecked).map_err(Failure::Scenario)?;
        plant.begin(plan).map_err(wrong)?;
        let changes = scenario.events.iter().filter_map(|event| match &event.what {
            Happening::Set { point, value } => Some((event.at, point.clone(), *value)),
            _ => None,
        });
        let changes = changes.collect();
        let reached = VirtualSpan::ZERO - scenario.settle;
        Ok(Self {
            plant,
            points,
            changes,
            series: None,
            reached,
            broken: false,
            step: plan.step,
            unconverged_share: plan.unconverged_share,
            refused: None,
        })
    }

    pub(super) fn record_to(&mut self, series: SeriesWriter) {
        self.series = Some(series);
    }

    pub(super) fn engine_version(&mut self) -> String {
        self.plant.engine_version()
    }

    pub(super) const fn reached(&self) -> VirtualSpan {
        self.reached
    }

    /// Whether an error has made further values meaningless.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Brings the plant to a scenario time; a time already reached is no error.
    ///
    /// # Errors
    /// What the engine says; the plant is broken then.
    pub(super) fn advance(&mut self, to: VirtualSpan) -> anyhow::Result<()> {
        let advanced = self.advance_with_changes(to);
        self.broken |= advanced.is_err();
        advanced
    }

    fn advance_with_changes(&mut self, to: VirtualSpan) -> anyhow::Result<()> {
        while let Some((at, point, value)) = self.changes.pop_front_if(|change| change.0 <= to) {
            self.step_to(at)?;
            let id = self.id(&point)?;
            self.plant
                .write(id, value)
                .with_context(|| format!("the event at {at} sets {} to {value}", point.0))?;
        }
        self.step_to(to)
    }

    /// Reads points, or sets them, at a scenario time. Returns their values.
    ///
    /// # Errors
    /// Why not, and whom it concerns: the program that wrote, or the run.
    pub(super) fn access(
        &mut self,
        points: &[PointName],
        write: Option<f64>,
        at: VirtualSpan,
    ) -> Result<Vec<f64>, AccessError> {
        self.advance(at).map_err(AccessError::Broken)?;
        let values = points.iter().map(|point| self.access_one(point, write)).collect();
        if let Err(AccessError::Refused(PlantError::Unsolved { .. })) = &values {
            let refused = self.refused.get_or_insert(Refused { count: 0, first_ns: at.as_ns() });
            refused.count += 1;
        }
        values
    }

    /// What the plant did so far, as far as verdicts need it.
    pub(super) fn record(&self) -> PlantRecord {
        let stats = self.plant.stats();
        let ns = |(from, to): (VirtualSpan, VirtualSpan)| (from.as_ns(), to.as_ns());
        PlantRecord {
            step_ns: self.step.as_ns(),
            steps: stats.steps,
            unconverged: stats.unconverged,
            unconverged_at_rest: stats.unconverged_at_rest,
            unconverged_ns: self.plant.unsolved().iter().map(ns).collect(),
            unconverged_share: self.unconverged_share,
            refused: self.refused,
        }
    }

    fn access_one(&mut self, point: &PointName, write: Option<f64>) -> Result<f64, AccessError> {
        let id = self.id(point).map_err(AccessError::Broken)?;
        let accessed = match write {
            Some(value) => self.plant.write(id, value).map(|()| value),
            None => self.plant.read(id),
        };
        accessed.map_err(|error| match error {
            PlantError::Value { .. }
            | PlantError::Refused { .. }
            | PlantError::ReadOnly { .. }
            | PlantError::Unsolved { .. } => AccessError::Refused(error),
            _ => {
                self.broken = true;
                AccessError::Broken(error.into())
            }
        })
    }

    /// Finishes the recording and answers what the plant did.
    pub(super) fn finish(mut self) -> anyhow::Result<PlantStats> {
        if let Some(series) = self.series.take() {
            series.finish()?;
        }
        Ok(self.plant.stats())
    }

    fn step_to(&mut self, to: VirtualSpan) -> anyhow::Result<()> {
        let Self { plant, series, .. } = self;
        let mut failed = None;
        plant.advance(to, &mut |at, values| {
            if let Some(series) = series
                && let Err(error) = series.row(at.as_ns(), values)
            {
                failed = Some(error);
            }
        })?;
        self.reached = self.reached.max(to);
        failed.map_or(Ok(()), |error| Err(error.context("cannot record the plant")))
    }

    fn id(&self, point: &PointName) -> anyhow::Result<PointId> {
        let id = self.points.get(&point.0.to_ascii_lowercase());
        id.copied().with_context(|| format!("the point `{}` was not announced", point.0))
    }
}
