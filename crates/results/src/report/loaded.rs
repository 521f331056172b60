//! A run as the report sees it: everything read, so that what follows is pure.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, bail};

use crate::run_data::RunData;
use crate::verdict::Verdict;
use crate::{RunFolder, RunRecord};
use report_kit::figure::figure;

/// Lines of a program's output that are shown; the rest is in its log.
const LINES_SHOWN: usize = 14;
/// Bytes read from the end of a log: enough for those lines unless they are very long.
const TAIL_BYTES: u64 = 16 * 1024;

/// A run that was read.
pub(super) struct Loaded {
    /// Its number in the report, which decides its colour.
    pub(super) number: usize,
    /// What it is called: the variant, and what tells it from the others.
    pub(super) label: String,
    /// Name of its folder.
    pub(super) folder: String,
    /// `run.json`.
    pub(super) record: RunRecord,
    pub(super) data: RunData,
    /// Verdicts: those of the run, or drawn from its files if it was killed before.
    pub(super) verdicts: Vec<Verdict>,
    /// Last lines of each program.
    pub(super) outputs: BTreeMap<String, Vec<String>>,
}

/// Reads runs and finds names that tell them apart.
pub(super) fn load_all(paths: &[&Path]) -> Result<Vec<Loaded>> {
    let (mut runs, mut folders) = (Vec::new(), BTreeSet::new());
    for (number, path) in paths.iter().enumerate() {
        if path.canonicalize().is_ok_and(|folder| !folders.insert(folder)) {
            bail!("{} is given twice; list each run once", path.display());
        }
        runs.push(load(number, path)?);
    }
    let names: Vec<Naming> = runs.iter().map(Naming::of).collect();
    for (run, label) in runs.iter_mut().zip(labels(&names)) {
        run.label = label;
    }
    Ok(runs)
}

/// What can tell a run from others, what people think of first coming first.
#[derive(Clone, PartialEq, Debug)]
struct Naming {
    scenario: String,
    variant: Option<String>,
    seed: u64,
    tdf: f64,
    folder: String,
}

impl Naming {
    fn of(run: &Loaded) -> Self {
        let scenario = &run.record.scenario;
        Self {
            scenario: scenario.name.clone(),
            variant: scenario.variant.clone(),
            seed: scenario.seed,
            tdf: scenario.tdf,
            folder: run.folder.clone(),
        }
    }

    /// The variant, or the scenario, or both.
    fn base(&self, all: &[Self]) -> String {
        let one_scenario = all.iter().all(|other| other.scenario == self.scenario);
        match &self.variant {
            None => self.scenario.clone(),
            Some(variant) if one_scenario => variant.clone(),
            Some(variant) => format!("{} ({variant})", self.scenario),
        }
    }
}

/// What runs are called: as little as tells them apart.
fn labels(all: &[Naming]) -> Vec<String> {
    let bases: Vec<String> = all.iter().map(|run| run.base(all)).collect();
    let named = |run: &Naming, base: &String| {
        let alike = || all.iter().zip(&bases).filter(|(_, other)| *other == base).map(|(of, _)| of);
        let mut label = base.clone();
        if alike().any(|other| other.seed != run.seed) {
            label += &format!(", seed {}", run.seed);
        }
        if alike().any(|other| other.tdf != run.tdf) {
            label += &format!(", tdf {}", figure(run.tdf));
        }
        let same = |other: &&Naming| other.seed == run.seed && other.tdf == run.tdf;
        if alike().filter(same).count() > 1 {
            label += &format!(", {}", run.folder);
        }
        label
    };
    all.iter().zip(&bases).map(|(run, base)| named(run, base)).collect()
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
    Ok(Loaded {
        number,
        label: String::new(),
        folder: folder.name(),
        record,
        data,
        verdicts,
        outputs,
    })
}

/// The last lines of a log; none where there is no log.
fn tail(path: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = os::regular::open(path)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_as_little_as_tells_them_apart() {
        let run = |variant: &str, seed, tdf, folder: &str| Naming {
            scenario: "case".into(),
            variant: Some(variant.into()),
            seed,
            tdf,
            folder: folder.into(),
        };
        let runs = [
            run("normal", 1, 1.0, "case-1"),
            run("attack", 1, 1.0, "case-2"),
            run("attack", 2, 1.0, "case-3"),
            run("attack", 2, 10.0, "case-4"),
            run("attack", 2, 10.0, "case-5"),
        ];
        assert_eq!(labels(&runs[..2]), ["normal", "attack"]);
        let five = labels(&runs);
        assert_eq!(five[0], "normal");
        assert_eq!(five[1], "attack, seed 1, tdf 1");
        assert_eq!(five[4], "attack, seed 2, tdf 10, case-5");
        let mut other = run("normal", 1, 1.0, "x-1");
        other.scenario = "x".into();
        assert_eq!(labels(&[runs[0].clone(), other]), ["case (normal)", "x (normal)"]);
    }
}
