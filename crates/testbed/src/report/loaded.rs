//! A run as the report sees it: everything read, so that what follows is pure.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Result;

use crate::results::verdict::{RunData, Verdict};
use crate::results::{RunFolder, RunRecord};

/// Lines of a program's output that are shown; the rest is in its log.
const LINES_SHOWN: usize = 14;
/// Bytes read from the end of a log: enough for those lines unless they are very long.
const TAIL_BYTES: u64 = 16 * 1024;

/// A run that was read.
pub(super) struct Loaded {
    /// Its number in the report, which decides its colour.
    pub(super) number: usize,
    /// What it is called in legends: the variant, or what tells it from the others.
    pub(super) label: String,
    /// Name of its folder.
    pub(super) folder: String,
    /// `run.json`.
    pub(super) record: RunRecord,
    /// Series and captures.
    pub(super) data: RunData,
    /// Verdicts: those of the run, or drawn from its files if it was killed before.
    pub(super) verdicts: Vec<Verdict>,
    /// Last lines of each program.
    pub(super) outputs: BTreeMap<String, Vec<String>>,
}

/// Reads runs and finds names that tell them apart.
pub(super) fn load_all(paths: &[&Path]) -> Result<Vec<Loaded>> {
    let mut runs = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        runs.push(load(number, path)?);
    }
    let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
    for run in &mut runs {
        if labels.iter().filter(|label| **label == run.label).count() > 1 {
            run.label.clone_from(&run.folder);
        }
    }
    Ok(runs)
}

fn load(number: usize, path: &Path) -> Result<Loaded> {
    let folder = RunFolder::open(path)?;
    let record = folder.record()?;
    let data = folder.data(&record)?;
    let verdicts = if record.verdicts.is_empty() {
        RunFolder::judge_all(&record, &data)
    } else {
        record.verdicts.clone()
    };
    let names = record.programs.iter().map(|program| program.name.clone());
    let outputs = names.map(|name| (name.clone(), tail(&folder.program_log(&name)))).collect();
    let label = record.scenario.variant.clone().unwrap_or_else(|| record.scenario.name.clone());
    Ok(Loaded { number, label, folder: folder.name(), record, data, verdicts, outputs })
}

/// The last lines of a log; none where there is no log.
fn tail(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].to_vec()
}
