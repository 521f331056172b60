//! A run of a matrix: cell after cell, each written down before the next one begins.
//!
//! A cell that is complete is never measured again, so that a run that was interrupted, killed, or cut
//! off with its machine is resumed where it stood; one that was cut is measured again, and the longer
//! of both is kept. What goes wrong with one cell, or is missing for it, is written down and keeps no
//! other cell from being measured.

mod interrupt;
mod measure;
mod progress;
mod pump;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use probe::Cores;
use report_kit::machine::{Build, Versions};

use super::cell::{Cell, Mark, MarkKind};
use super::matrix::{self, Matrix, PlatformSpec};
use super::platform::{self, Binary, Platform};
use super::record::{CellState, LatencyRun, MATRIX, RECORD, STREAM, State, Warning, cell_folder};
use os::files;

pub(crate) use interrupt::Interrupt;

use measure::{Measurement, Outcome};
use progress::Progress;

/// A run in its folder.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) folder: PathBuf,
    pub(crate) matrix: Matrix,
    pub(crate) run: LatencyRun,
}

impl Session {
    /// A new run, in a new folder.
    pub(crate) fn begin(folder: &Path, matrix: Matrix, build: Build) -> Result<Self> {
        let wrong = || format!("cannot make {}", folder.display());
        files::refuse_file(folder)?;
        files::make_private_all(folder).with_context(wrong)?;
        if fs::read_dir(folder).with_context(wrong)?.next().is_some() {
            let folder = folder.display();
            bail!("{folder} is not empty; use a different --output, or --resume {folder}");
        }
        let path = folder.join(MATRIX);
        fs::write(&path, matrix.text())
            .with_context(|| format!("cannot write {}", path.display()))?;
        let run = LatencyRun::begin(&matrix, warnings(), Versions::of(build, None));
        run.write(folder)?;
        Ok(Self { folder: folder.to_owned(), matrix, run })
    }

    /// A run that has not come to its end.
    ///
    /// # Errors
    /// If the folder holds no run, or its matrix was changed so that its cells are others.
    pub(crate) fn resume(folder: &Path) -> Result<Self> {
        let run = LatencyRun::read(folder)?;
        let path = folder.join(MATRIX);
        let matrix = matrix::read(&path)?;
        let now: Vec<String> = matrix.cells().map(|cell| cell.name()).collect();
        let then: Vec<String> = run.cells.iter().map(CellState::name).collect();
        if now != then {
            let (now, then) = (now.join(", "), then.join(", "));
            bail!(
                "{} has the cells {now}, but {RECORD} has {then}; restore the matrix, or start a \
                 new run",
                path.display()
            );
        }
        Ok(Self { folder: folder.to_owned(), matrix, run })
    }

    /// Measures all cells that are not there yet, or as many as there are before `interrupt`.
    pub(crate) fn measure(&mut self, binary: &Binary, interrupt: &Interrupt) -> Result<()> {
        let matrix = self.matrix.clone();
        let mut progress = Progress::new(self.run.cells.len());
        self.recover()?;
        let mut site: Option<Site> = None;
        for (index, cell) in matrix.cells().enumerate() {
            if interrupt.is_asked() {
                break;
            }
            if self.run.cells[index].state == State::Done {
                continue;
            }
            let samples_before = self.run.cells[index].samples;
            let folder = cell_folder(&self.folder, &cell.name());
            let duration = Duration::from_nanos(matrix.duration_ns(cell));
            progress.begin(index + 1, &cell.name(), duration);
            self.note(index, Outcome::new(State::Running, "", samples_before))?;
            // The one before is dropped first: they may want the same cores.
            if site.as_ref().is_none_or(|site| site.name != cell.platform.name) {
                drop(site.take());
                site = Some(Site::prepare(cell.platform, binary));
            }
            let site = site.as_mut().expect("it was prepared just now");
            let outcome = match &mut site.prepared {
                Ok((platform, cores)) => {
                    let (matrix, folder) = (&matrix, &folder);
                    let what =
                        Measurement { matrix, cell, cores, folder, samples_before, interrupt };
                    let measured = measure::measure(&what, platform.as_mut(), &mut progress);
                    measured.unwrap_or_else(Outcome::refused)
                }
                // What it answered is said again for each of its cells.
                Err(refused) => refused.clone(),
            };
            self.note(index, outcome)?;
            progress.end(&self.run.cells[index]);
        }
        Ok(())
    }

    /// Cells that were being measured when the run was killed: what their journal holds is kept.
    fn recover(&mut self) -> Result<()> {
        for index in 0..self.run.cells.len() {
            let state = self.run.cells[index].clone();
            if state.state != State::Running {
                continue;
            }
            let folder = cell_folder(&self.folder, &state.name());
            let Ok(file) = fs::File::open(folder.join(STREAM)) else { continue };
            let stream = std::io::BufReader::new(file);
            let Ok(measured) = Cell::from_stream(stream, &state.platform, &state.profile) else {
                continue;
            };
            let mut cell = measured.cell;
            // One that was cut before may have more.
            if cell.count() <= state.samples {
                continue;
            }
            if !cell.is_marked(MarkKind::Cut) {
                cell.mark(Mark::from(MarkKind::Cut));
            }
            cell.write(&folder)?;
            fs::remove_file(folder.join(STREAM)).context("cannot remove a journal")?;
            let reason = "the run was killed meanwhile";
            self.note(index, Outcome::new(State::Cut, reason, cell.count()))?;
        }
        Ok(())
    }

    fn note(&mut self, index: usize, outcome: Outcome) -> Result<()> {
        let cell = &mut self.run.cells[index];
        cell.state = outcome.state;
        (cell.reason, cell.fix, cell.samples) = (outcome.reason, outcome.fix, outcome.samples);
        self.run.write(&self.folder)
    }
}

/// A platform that was asked to get ready, and what it answered.
struct Site {
    name: String,
    prepared: Result<(Box<dyn Platform>, Cores), Outcome>,
}

impl Site {
    fn prepare(spec: &PlatformSpec, binary: &Binary) -> Self {
        let prepare = || {
            let mut platform = platform::of(spec, binary);
            let cores = platform.prepare()?;
            Ok((platform, cores))
        };
        Self { name: spec.name.clone(), prepared: prepare().map_err(Outcome::refused) }
    }
}

/// Settings of this machine that cost latency, as `qcycle check` names them, for the user at the
/// terminal before anything is measured. The cells are marked by what the probe finds where it runs.
fn warnings() -> Vec<Warning> {
    let warning = |item: readiness::Item| {
        let readiness::Finding { grade, found, fix } = item.finding;
        let warning = Warning { name: item.name.to_owned(), found, fix: fix.unwrap_or_default() };
        (grade > readiness::Grade::NotMeasured).then_some(warning)
    };
    let items = readiness::power_and_throttling().unwrap_or_default();
    items.into_iter().filter_map(warning).collect()
}
