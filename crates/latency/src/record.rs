//! `run.json`: how a run of a matrix stands, cell by cell.
//!
//! It is written again, as a whole, whenever a cell begins or ends, so that a killed run tells how far
//! it came and is resumed there. The samples are in the folders of the cells.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::matrix::{self, Matrix};
use super::report::{Absent, Run};
use super::run_folder::CELLS;
use report_kit::machine::{Machine, Versions, utc_now};

/// The record in the folder of a run.
pub const RECORD: &str = "run.json";
/// The matrix in the folder of a run.
pub const MATRIX: &str = "matrix.yaml";
/// What a probe said, in the folder of a cell, until it is a cell.
pub const STREAM: &str = "stream.qcs";

/// Of `run.json`; a reader refuses another one.
const FORMAT: u32 = 1;

/// A run of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyRun {
    pub format: u32,
    pub matrix: String,
    pub description: String,
    /// When it began first, UTC.
    pub started: String,
    pub machine: Machine,
    pub versions: Versions,
    /// What one must know before trusting any figure of it, with what to do about it.
    pub warnings: Vec<Warning>,
    pub cells: Vec<CellState>,
}

/// A setting of this machine that costs latency.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Warning {
    pub name: String,
    pub found: String,
    #[serde(rename = "remedy")]
    pub fix: String,
}

/// How a cell stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CellState {
    pub platform: String,
    pub profile: String,
    pub state: State,
    /// Why, where there is something to say.
    #[serde(default)]
    pub reason: String,
    #[serde(rename = "way_out", default)]
    pub fix: String,
    #[serde(default)]
    pub samples: u64,
}

/// How a cell stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum State {
    Waiting,
    /// It is being measured, or was when the run was killed.
    Running,
    Done,
    /// Measured for a part of its time.
    Cut,
    #[strum(serialize = "not measured")]
    NotMeasured,
    Failed,
}

impl State {
    /// As tables write it.
    pub fn words(self) -> &'static str {
        self.into()
    }
}

impl CellState {
    /// Its name, and that of its folder.
    pub fn name(&self) -> String {
        format!("{}.{}", self.platform, self.profile)
    }
}

impl LatencyRun {
    /// A run that begins now.
    pub fn begin(matrix: &Matrix, warnings: Vec<Warning>, versions: Versions) -> Self {
        let cell = |cell: matrix::Coordinates<'_>| CellState {
            platform: cell.platform.name.clone(),
            profile: cell.profile.name.clone(),
            state: State::Waiting,
            reason: String::new(),
            fix: String::new(),
            samples: 0,
        };
        Self {
            format: FORMAT,
            matrix: matrix.name.clone(),
            description: matrix.description.clone(),
            started: utc_now(),
            machine: Machine::here(),
            versions,
            warnings,
            cells: matrix.cells().map(cell).collect(),
        }
    }

    /// What a report is to know besides the cells.
    pub fn for_report(&self) -> Run {
        let has_none = |cell: &&CellState| {
            matches!(cell.state, State::NotMeasured | State::Failed) && cell.samples == 0
        };
        let absent = |cell: &CellState| {
            let words = [cell.reason.as_str(), cell.fix.as_str()];
            let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
            Absent { name: cell.name(), reason: words.join("; ") }
        };
        Run {
            order: self.cells.iter().map(CellState::name).collect(),
            absent: self.cells.iter().filter(has_none).map(absent).collect(),
        }
    }

    /// Reads the record of a run.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(RECORD);
        let text = fs::read_to_string(&path).with_context(|| {
            format!("{} is not the run of a matrix: {RECORD} cannot be read", folder.display())
        })?;
        let wrong = || format!("{} is not valid", path.display());
        let value: serde_json::Value = serde_json::from_str(&text).with_context(wrong)?;
        // Runs of scenarios have a record of this name too.
        if value.get("matrix").is_none() {
            bail!(
                "{} is not the run of a matrix; give a folder that `qcycle latency` made \
                 (`qcycle report` shows those of `qcycle run`)",
                folder.display()
            );
        }
        let run: Self = serde_json::from_value(value).with_context(wrong)?;
        if run.format != FORMAT {
            bail!("{} has format {}, but this program reads {FORMAT}", path.display(), run.format);
        }
        Ok(run)
    }

    /// Writes it: readers find all of the old one or all of the new one.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        os::files::replace(&folder.join(RECORD), |to| to.write_all(text.as_bytes()))
    }
}

/// The folder of a cell.
pub fn cell_folder(run: &Path, name: &str) -> PathBuf {
    run.join(CELLS).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = "matrix: m\nplatforms: {native: }\nprofiles: {tp1: , tp2: }\n";
        let matrix = matrix::read_text(text, Path::new("m.yaml")).unwrap();
        let mut run = LatencyRun::begin(&matrix, Vec::new(), Versions::default());
        run.cells[0].state = State::NotMeasured;
        run.write(folder.path()).unwrap();
        assert_eq!(LatencyRun::read(folder.path()).unwrap(), run);
        assert_eq!(run.cells[1].name(), "native.tp2");
        run.format = 2;
        run.write(folder.path()).unwrap();
        let error = LatencyRun::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("format 2"), "{error}");
        fs::write(folder.path().join(RECORD), "{\"format\": 1, \"scenario\": {}}").unwrap();
        let error = LatencyRun::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a folder that `qcycle latency` made"), "{error}");
        let error = LatencyRun::read(&folder.path().join("x")).unwrap_err().to_string();
        assert!(error.contains("not the run of a matrix"), "{error}");
    }
}
