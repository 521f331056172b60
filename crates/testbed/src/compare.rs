//! `qcycle compare`: reads run folders, lets [`results::compare`] decide whether the runs are the
//! same, and prints what it found. All runs are compared with the first. Captures are read frame by
//! frame, so they may be larger than memory.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use network::pcapng::{CapturedFrame, Damage, Frames};
use results::compare::{self, Comparing, Comparison, Rules};
use results::record::EndedHow;
use results::{RunFolder, RunRecord, Series};
use serde::Serialize;
use terminal::exit::Exit;

/// What to compare, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Run folders, two or more.
    pub runs: Vec<PathBuf>,
    pub rules: Rules,
    pub json: bool,
}

/// A run that has ended, and its record.
struct Run {
    folder: RunFolder,
    record: RunRecord,
}

/// All that was found, as JSON has it.
#[derive(Serialize)]
struct Found {
    /// The run that all others are compared with.
    first: String,
    tolerance_ns: u64,
    payload: bool,
    /// What the files of runs lack.
    warnings: Vec<String>,
    runs: Vec<Other>,
}

#[derive(Serialize)]
struct Other {
    run: String,
    same: bool,
    #[serde(flatten)]
    comparison: Comparison,
}

/// Compares runs and prints the result.
///
/// # Errors
/// When a folder is none of a run, a run has not ended, or a file cannot be read or makes no sense.
pub fn run(options: &Options) -> Result<Exit> {
    let paths: Vec<&Path> = options.runs.iter().map(PathBuf::as_path).collect();
    let folders = RunFolder::open_all(&paths)?;
    let runs: Vec<Run> = folders.into_iter().map(Run::read).collect::<Result<_>>()?;
    let warnings: Vec<String> = runs.iter().flat_map(Run::warnings).collect();
    for warning in &warnings {
        terminal::err!("warning: {warning}");
    }
    let Some((first, others)) = runs.split_first() else { bail!("give two runs or more") };
    let found = Found {
        first: first.name(),
        tolerance_ns: options.rules.tolerance_ns,
        payload: options.rules.payload,
        warnings,
        runs: compare_all(options.rules, first, others)?,
    };
    if options.json {
        terminal::print_json(&serde_json::to_string_pretty(&found)?);
    } else {
        terminal::print(format_args!("{}", text(&found)));
    }
    Ok(exit(&found.runs))
}

fn exit(others: &[Other]) -> Exit {
    if others.iter().any(|other| !other.same) {
        Exit::Different
    } else if others.iter().any(|other| other.comparison.is_empty()) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

fn text(found: &Found) -> String {
    if let [other] = &found.runs[..] {
        return compare::pair([&found.first, &other.run], &other.comparison);
    }
    let others = found.runs.iter().map(|other| (other.run.as_str(), &other.comparison));
    compare::several(&found.first, &others.collect::<Vec<_>>())
}

fn compare_all(rules: Rules, first: &Run, others: &[Run]) -> Result<Vec<Other>> {
    let series = first.folder.series()?;
    let compare = |other: &Run| {
        let comparison = compare_with(rules, first, series.as_ref(), other)?;
        Ok(Other { run: other.name(), same: comparison.is_same(), comparison })
    };
    others.iter().map(compare).collect()
}

fn compare_with(
    rules: Rules,
    first: &Run,
    series: Option<&Series>,
    other: &Run,
) -> Result<Comparison> {
    let mut comparing = Comparing::begin(rules, &first.record, &other.record);
    if comparing.is_comparable() {
        comparing.series(series, other.folder.series()?.as_ref());
        let names = [first, other].map(|run| run.folder.capture_names());
        let [ours, theirs] = names;
        for name in comparing.captures(&ours?, &theirs?) {
            comparing.frames(&name, first.frames(&name)?, other.frames(&name)?)?;
        }
    }
    Ok(comparing.finish())
}

impl Run {
    /// Reads the record of a run, which must have ended and been judged.
    fn read(folder: RunFolder) -> Result<Self> {
        let record = folder.record()?;
        let path = folder.path().display();
        if record.ended.how == EndedHow::Unfinished {
            bail!(
                "the run in {path} has not ended: it still goes on, or was killed; compare runs \
                   that have ended"
            );
        }
        if record.verdicts.len() < record.scenario.requirements.len() {
            let how = record.ended.how.words();
            bail!("the run in {path} has no verdicts ({how}); run it again to compare it");
        }
        Ok(Self { folder, record })
    }

    /// Its place, as it was given.
    fn name(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        self.record.losses.iter().map(|loss| format!("{}: {}", self.name(), loss.reason))
    }

    /// The frames of a capture, with its path where it makes no sense.
    fn frames(&self, name: &str) -> Result<impl Iterator<Item = Result<CapturedFrame>>> {
        let path = self.folder.path().join(name);
        let frames: Frames<BufReader<File>> = self.folder.frames(name)?;
        let damaged = move |damage: Damage| {
            let path = path.display();
            Err(anyhow!(
                "{path}: {damage}; such a capture cannot be compared, run the scenario again"
            ))
        };
        Ok(frames.map(move |frame| frame.or_else(&damaged)))
    }
}
