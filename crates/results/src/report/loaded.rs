//! A run as the report sees it: everything read, so that what follows is pure.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Result;

use crate::record::ScenarioRecord;
use crate::verdict::Verdict;
use crate::{RunData, RunFolder, RunRecord};
use report_kit::figure::figure;

/// Lines of a program's output that are shown; the rest is in its log.
const LINES_SHOWN: usize = 14;
/// Bytes read from the end of a log: enough for those lines unless they are very long.
const TAIL_BYTES: u64 = 16 * 1024;

pub(super) struct Loaded {
    /// Its number in the report, which decides its colour.
    pub(super) number: usize,
    /// What it is called: the variant, and what tells it from the others.
    pub(super) label: String,
    pub(super) folder: String,
    pub(super) record: RunRecord,
    pub(super) data: RunData,
    /// Verdicts: those of the run, or drawn from its files if it was killed before.
    pub(super) verdicts: Vec<Verdict>,
    pub(super) outputs: BTreeMap<String, Vec<String>>,
}

/// Reads runs and finds names that tell them apart.
pub(super) fn load_all(paths: &[&Path]) -> Result<Vec<Loaded>> {
    let folders = RunFolder::open_all(paths)?;
    let runs = folders.iter().enumerate().map(|(number, folder)| load(number, folder));
    let mut runs = runs.collect::<Result<Vec<_>>>()?;
    let records = runs.iter().map(|run| (&run.record.scenario, run.folder.as_str()));
    let labels = labels(&records.collect::<Vec<_>>());
    for (run, label) in runs.iter_mut().zip(labels) {
        run.label = label;
    }
    Ok(runs)
}

/// What runs are called: as little as tells them apart, what people think of first coming first. Of each
/// its scenario and the name of its folder.
fn labels(all: &[(&ScenarioRecord, &str)]) -> Vec<String> {
    let one_scenario = all.iter().all(|(run, _)| run.name == all[0].0.name);
    let base = |run: &ScenarioRecord| match &run.variant {
        None => run.name.clone(),
        Some(variant) if one_scenario => variant.clone(),
        Some(variant) => format!("{} ({variant})", run.name),
    };
    let named = |(run, folder): &(&ScenarioRecord, &str)| {
        let mut label = base(run);
        let alike: Vec<_> =
            all.iter().map(|(other, _)| *other).filter(|other| base(other) == label).collect();
        if alike.iter().any(|other| other.seed != run.seed) {
            label += &format!(", seed {}", run.seed);
        }
        if alike.iter().any(|other| other.tdf != run.tdf) {
            label += &format!(", tdf {}", figure(run.tdf));
        }
        if alike.iter().any(|other| other.pace != run.pace) {
            label += &format!(", pace {}", run.pace);
        }
        let same = |other: &&&ScenarioRecord| {
            (other.seed, other.tdf, other.pace) == (run.seed, run.tdf, run.pace)
        };
        if alike.iter().filter(same).count() > 1 {
            label += &format!(", {folder}");
        }
        label
    };
    all.iter().map(named).collect()
}

fn load(number: usize, folder: &RunFolder) -> Result<Loaded> {
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
        let run = |name: &str, variant: &str, seed, tdf| ScenarioRecord {
            name: name.into(),
            variant: Some(variant.into()),
            seed,
            tdf,
            ..ScenarioRecord::default()
        };
        let normal = run("case", "normal", 1, 1.0);
        let [attack, again] = [1, 2].map(|seed| run("case", "attack", seed, 1.0));
        let slow = run("case", "attack", 2, 10.0);
        let runs = [
            (&normal, "case-1"),
            (&attack, "case-2"),
            (&again, "case-3"),
            (&slow, "case-4"),
            (&slow, "case-5"),
        ];
        assert_eq!(labels(&runs[..2]), ["normal", "attack"]);
        let five = labels(&runs);
        assert_eq!(five[0], "normal");
        assert_eq!(five[1], "attack, seed 1, tdf 1");
        assert_eq!(five[4], "attack, seed 2, tdf 10, case-5");
        let other = run("x", "normal", 1, 1.0);
        assert_eq!(labels(&[runs[0], (&other, "x-1")]), ["case (normal)", "x (normal)"]);
    }
}
