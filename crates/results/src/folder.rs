//! The folder of a run: `<root>/<case>-<n>/` with
//!
//! - `run.json`: what was run, where, how it ended, the verdicts ([`RunRecord`])
//! - `series.parquet`: points of the plant over scenario time (`series.csv.part` meanwhile)
//! - `programs/<program>.log`: what programs wrote, with the time
//! - `captures/<node>.pcapng`: frames at a node's interface, stamped in virtual time
//! - `disturbances.csv`: what kept programs from acting in time
//! - `log.txt`: what the runner did
//!
//! Everything is written as the run goes on, so that a killed run keeps what it had.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vtime::VirtualSpan;

use super::capture::Capture;
use super::disturbance::Watched;
use super::disturbance_file::{self, DisturbanceWriter};
use super::journal::{self, SeriesWriter};
use super::measure::RunData;
use super::record::{EndedHow, FORMAT, RunRecord};
use super::series::Series;
use super::table_file;
use super::told::{self, ReportedValues};
use super::verdict::{Verdict, judge};
use crate::rate;
use network::pcapng::Frames;
use os::files;
use os::regular;
use plant::name::PointName;
use scenario::model::MeasureKind;

const RECORD: &str = "run.json";
const PROGRAMS: &str = "programs";
const CAPTURES: &str = "captures";
const CAPTURE_ENDING: &str = "pcapng";
const INPUTS: &str = "inputs";
const LOG: &str = "log.txt";

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run, with the number after the highest there is. Two runs that
    /// start at once get two folders.
    ///
    /// # Errors
    /// When `case` is no plain name, or the folder cannot be made.
    pub fn create(root: &Path, case: &str) -> Result<Self> {
        if !is_plain_name(case) {
            bail!("`{case}` is not a valid case name: use letters, digits, `-`, `_` and `.`");
        }
        files::refuse_file(root)?;
        fs::create_dir_all(root).with_context(|| format!("creating {}", root.display()))?;
        let mut number = highest_number(root, case)? + 1;
        let path = loop {
            let path = root.join(format!("{case}-{number}"));
            match files::make_private(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    return Err(error).with_context(|| format!("creating {}", path.display()));
                }
            }
        };
        for part in [PROGRAMS, CAPTURES] {
            fs::create_dir(path.join(part)).with_context(|| format!("in {}", path.display()))?;
        }
        Ok(Self { path })
    }

    /// Opens the folder of a run that was made before.
    ///
    /// # Errors
    /// When there is no `run.json`.
    pub fn open(path: &Path) -> Result<Self> {
        let record = path.join(RECORD);
        match fs::metadata(&record) {
            Ok(found) if found.is_file() => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                bail!("{} cannot be read ({error}); ask its owner for access", record.display())
            }
            _ => bail!(
                "{} is not a run folder: it has no {RECORD}; give a folder that `qcycle run` made",
                path.display()
            ),
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Opens the folders of runs, as [`Self::open`].
    ///
    /// # Errors
    /// Also when a folder is given twice.
    pub fn open_all(paths: &[&Path]) -> Result<Vec<Self>> {
        let mut seen = BTreeSet::new();
        let open = |path: &&Path| {
            if path.canonicalize().is_ok_and(|folder| !seen.insert(folder)) {
                bail!("{} is given twice; list each run once", path.display());
            }
            Self::open(path)
        };
        paths.iter().map(open).collect()
    }

    /// Its place, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, which tells runs apart.
    pub fn name(&self) -> String {
        let whole = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Writes `run.json`; readers see the old one or the new one.
    pub fn write_record(&self, record: &RunRecord) -> Result<()> {
        self.put_record(record, true)
    }

    /// As [`Self::write_record`], without waiting until the disk has it: it survives the end of this
    /// process, and not that of the machine.
    pub fn replace_record(&self, record: &RunRecord) -> Result<()> {
        self.put_record(record, false)
    }

    fn put_record(&self, record: &RunRecord, sync: bool) -> Result<()> {
        let (path, temporary) = (self.path.join(RECORD), self.path.join("run.json.tmp"));
        let write = || -> Result<()> {
            let mut text = serde_json::to_string_pretty(record)?;
            text.push('\n');
            let mut file = File::create(&temporary)?;
            file.write_all(text.as_bytes())?;
            if sync {
                file.sync_all()?;
            }
            Ok(fs::rename(&temporary, &path)?)
        };
        write()
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Reads `run.json`.
    pub fn record(&self) -> Result<RunRecord> {
        let path = self.path.join(RECORD);
        let context = || format!("reading {}", path.display());
        let value: serde_json::Value =
            serde_json::from_slice(&regular::read(&path).with_context(context)?)
                .with_context(context)?;
        // The version first: an unknown format fails by its number and not by a missing field.
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if format != Some(u64::from(FORMAT)) {
            let format = format.map_or("no format".into(), |number| format!("format {number}"));
            bail!("{} has {format}, and this qcycle reads {FORMAT}", path.display());
        }
        // Runs of matrices have a record of this name too.
        if value.get("matrix").is_some() {
            let folder = self.path.display();
            bail!("{folder} is a run of `qcycle latency`; use `qcycle latency report {folder}`");
        }
        serde_json::from_value(value).with_context(context)
    }

    /// The name of the copy of a file that the run is made of, in the folder; makes the folder for it.
    /// Files with the same name have different hashes, or are the same.
    pub fn input_copy(&self, sha256: &str, file: &Path) -> Result<String> {
        let folder = self.path.join(INPUTS);
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let hash = sha256.get(..12).unwrap_or(sha256);
        Ok(format!("{INPUTS}/{hash}-{}", as_file_name(&name.unwrap_or_default())))
    }

    /// Starts to record points.
    pub fn series_writer(&self, points: &[PointName]) -> Result<SeriesWriter> {
        SeriesWriter::create(&self.path, points)
    }

    /// The recorded points; `None` if none were. Turns the journal of a killed run into the table
    /// where the folder can be written to, and reads it in any case.
    pub fn series(&self) -> Result<Option<Series>> {
        let table = self.path.join(journal::TABLE);
        if table.exists() {
            return table_file::read(&table).map(Some);
        }
        let abandoned = journal::is_abandoned(&self.path);
        let series = journal::read(&self.path)?;
        if let Some(series) = series.as_ref().filter(|_| abandoned) {
            // A folder that cannot be written to still has its journal.
            let _ = journal::settle(&self.path, series);
        }
        Ok(series)
    }

    /// The file that [`Self::series`] reads now.
    pub fn series_file(&self) -> &'static str {
        let table = self.path.join(journal::TABLE).exists();
        if table { journal::TABLE } else { journal::JOURNAL }
    }

    /// The name of the file with the lines of a program, in the folder.
    pub fn log_name(program: &str) -> String {
        format!("{PROGRAMS}/{}.log", as_file_name(program))
    }

    /// Where the lines of a program go.
    pub fn program_log(&self, program: &str) -> PathBuf {
        self.path.join(Self::log_name(program))
    }

    /// The name of the file with the frames of a node, in the folder.
    pub fn capture_name(node: &str) -> String {
        format!("{CAPTURES}/{}.{CAPTURE_ENDING}", as_file_name(node))
    }

    /// Where the frames of a node go.
    pub fn capture_path(&self, node: &str) -> PathBuf {
        self.path.join(Self::capture_name(node))
    }

    /// Where the runner says what it does.
    pub fn log_path(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// The capture of a node; `None` if there is none.
    pub fn capture(&self, node: &str) -> Result<Option<Capture>> {
        let parse = |octets: &[u8]| Capture::parse(octets).map_err(anyhow::Error::msg);
        journal::read_if_there(&self.capture_path(node), parse)
    }

    /// The names of all captures, such as `captures/relay.pcapng`, in order.
    pub fn capture_names(&self) -> Result<Vec<String>> {
        let folder = self.path.join(CAPTURES);
        let context = || format!("reading {}", folder.display());
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(context)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.with_context(context)?.file_name();
            if Path::new(&name).extension().is_some_and(|end| end == CAPTURE_ENDING) {
                let name = name.to_str().with_context(|| format!("{name:?} is not UTF-8"));
                names.push(format!("{CAPTURES}/{}", name.with_context(context)?));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The frames of a capture, one at a time, however large it is. `name` is one of
    /// [`Self::capture_names`].
    pub fn frames(&self, name: &str) -> Result<Frames<BufReader<File>>> {
        let path = self.path.join(name);
        let file = regular::open(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(Frames::new(BufReader::new(file)))
    }

    /// What programs reported of the members that requirements name.
    fn reported(&self, record: &RunRecord) -> Result<BTreeMap<(String, String), ReportedValues>> {
        let mut all = BTreeMap::new();
        for demand in &record.scenario.requirements {
            let MeasureKind::Told { member, program, .. } = &demand.measure.kind else { continue };
            let key = (program.clone(), member.clone());
            let path = self.program_log(program);
            if all.contains_key(&key) || !path.exists() {
                continue;
            }
            let log = regular::open(&path).map(BufReader::new);
            let reported = log.and_then(|log| told::read(&Self::log_name(program), log, member));
            let reported = reported.with_context(|| format!("reading {}", path.display()))?;
            all.insert(key, reported);
        }
        Ok(all)
    }

    /// Starts to record what keeps programs from acting in time.
    pub fn disturbance_writer(&self) -> Result<DisturbanceWriter> {
        let path = self.path.join(disturbance_file::NAME);
        // What others cut off leaves no gap behind that would hide it.
        let file = File::create(&path).and_then(|_| File::options().append(true).open(&path));
        let writer = file.and_then(DisturbanceWriter::begin);
        writer.with_context(|| format!("cannot write {}", path.display()))
    }

    /// What kept programs from acting in time; `None` if nobody watched.
    fn watched(&self, record: &RunRecord) -> Result<Option<Watched>> {
        let Some(summary) = &record.disturbances else { return Ok(None) };
        let path = self.path.join(disturbance_file::NAME);
        let file = regular::open(&path).map(BufReader::new);
        let read = file.and_then(disturbance_file::read);
        let mut disturbances = read.with_context(|| format!("reading {}", path.display()))?;
        let programs = record.programs.iter();
        let nodes = programs.map(|program| (&*program.name, &*program.node)).collect();
        let tdf = (record.scenario.tdf * 1e6).round() as u64;
        disturbances.extend(rate::rate_changes(&record.interventions, tdf, &nodes));
        Ok(Some(Watched { to_ns: summary.watched_to_ns, disturbances }))
    }

    /// Everything that verdicts are drawn from.
    pub fn data(&self, record: &RunRecord) -> Result<RunData> {
        let series = self.series()?;
        let mut captures = BTreeMap::new();
        for node in record.scenario.nodes.keys() {
            if let Some(capture) = self.capture(node)? {
                captures.insert(node.clone(), capture);
            }
        }
        let reached = match record.ended.how {
            // Of a run that was killed before it first wrote down how far it came, its rows say.
            EndedHow::Unfinished if record.covered_ns == 0 => {
                series.as_ref().and_then(Series::covered_ns).unwrap_or(0)
            }
            _ => record.covered_ns,
        };
        Ok(RunData {
            reported: self.reported(record)?,
            watched: self.watched(record)?,
            series_file: self.series_file().to_owned(),
            series,
            captures,
            addresses: record.scenario.nodes.clone(),
            plant: record.plant.clone(),
            losses: record.losses.clone(),
            lost_hosts: record.lost_hosts.clone(),
            realtime_zero_ns: record.realtime_zero_ns,
            planned_to: VirtualSpan::from_ns(record.scenario.duration_ns),
            covered_to: VirtualSpan::from_ns(reached),
            failed: record.ended.how == EndedHow::PartFailed,
        })
    }

    /// Judges the requirements of a run from its folder alone.
    pub fn judge_all(record: &RunRecord, data: &RunData) -> Vec<Verdict> {
        let demands = record.scenario.requirements.iter();
        demands.map(|demand| judge(demand, data)).collect()
    }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && as_file_name(name) == name
}

/// A name that came out of a file must not lead out of the folder.
fn as_file_name(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    name.chars().map(|character| if plain(character) { character } else { '_' }).collect()
}

fn highest_number(root: &Path, case: &str) -> Result<u64> {
    let mut highest = 0;
    for entry in fs::read_dir(root).with_context(|| format!("reading {}", root.display()))? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(case)?.strip_prefix('-'));
        highest = highest.max(number.and_then(|digits| digits.parse().ok()).unwrap_or(0));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::super::record::{RunEnd, ScenarioRecord};
    use super::*;
    use report_kit::machine::Versions;
    use report_kit::outcome::Outcome;
    use scenario::model::{Disturbed, Measure, Requirement, Window};

    fn record() -> RunRecord {
        let kind = MeasureKind::Minimum { point: PointName("bus.680.v1".into()) };
        let demand = Requirement {
            name: "it holds".into(),
            measure: Measure { kind, window: Window::default() },
            at_least: Some(2375.0),
            at_most: None,
            disturbed: Disturbed::default(),
        };
        let scenario = ScenarioRecord {
            name: "vt".into(),
            variant: Some("attack".into()),
            tdf: 1.0,
            duration_ns: 10_000_000,
            nodes: [("sensor".to_owned(), None)].into(),
            requirements: vec![demand],
            ..ScenarioRecord::default()
        };
        RunRecord::begin(scenario, 0, Versions::default())
    }

    #[test]
    fn runs_that_start_at_once_get_a_folder_each() {
        let root = tempfile::tempdir().unwrap();
        let start = || RunFolder::create(root.path(), "vt-attack").unwrap().name();
        let names: BTreeSet<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(names.len(), 8);
        assert!(names.contains("vt-attack-1") && names.contains("vt-attack-8"), "{names:?}");
    }

    #[test]
    fn numbers_go_on_after_the_highest_so_that_later_runs_have_higher_ones() {
        let root = tempfile::tempdir().unwrap();
        for there in ["vt-1", "vt-7", "vt-attack-9", "vt-x"] {
            fs::create_dir(root.path().join(there)).unwrap();
        }
        assert_eq!(RunFolder::create(root.path(), "vt").unwrap().name(), "vt-8");
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        for case in ["", "../x", "a/b", ".hidden", "a b"] {
            assert!(RunFolder::create(root.path(), case).is_err(), "{case}");
        }
        let folder = RunFolder::create(root.path(), "vt").unwrap();
        assert!(folder.program_log("../../etc/x").ends_with("programs/.._.._etc_x.log"));
    }

    #[test]
    fn the_record_comes_back_and_other_formats_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "vt").unwrap();
        assert!(RunFolder::open(folder.path()).unwrap_err().to_string().contains("run.json"));
        folder.write_record(&record()).unwrap();
        assert_eq!(RunFolder::open(folder.path()).unwrap().record().unwrap(), record_like(&folder));
        fs::write(folder.path().join(RECORD), "{\"format\": 2}").unwrap();
        let error = format!("{:#}", folder.record().unwrap_err());
        assert!(error.contains("format 2") && error.contains("run.json"), "{error}");
        fs::write(folder.path().join(RECORD), "{\"format\": 1,\n x").unwrap();
        let error = format!("{:#}", folder.record().unwrap_err());
        assert!(error.contains("line 2"), "{error}");
    }

    /// The record of a folder but for the moment at which it was made.
    fn record_like(folder: &RunFolder) -> RunRecord {
        RunRecord { started: folder.record().unwrap().started, ..record() }
    }

    #[test]
    fn a_killed_run_keeps_its_rows_and_is_judged_by_them() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "vt").unwrap();
        folder.write_record(&record()).unwrap();
        let mut writer = folder.series_writer(&[PointName("bus.680.v1".into())]).unwrap();
        writer.row(0, &[2400.0]).unwrap();
        writer.row(1_000_000, &[2320.0]).unwrap();
        assert_eq!(folder.series().unwrap().unwrap().time_ns.len(), 2);
        assert_eq!(folder.series_file(), journal::JOURNAL, "its writer lives");

        drop(writer);
        let series = folder.series().unwrap().unwrap();
        assert_eq!((series.time_ns.len(), folder.series_file()), (2, journal::TABLE));
        let record = folder.record().unwrap();
        let data = folder.data(&record).unwrap();
        assert_eq!(data.covered_to, VirtualSpan::from_ms(2));
        let verdicts = RunFolder::judge_all(&record, &data);
        assert_eq!(verdicts[0].outcome, Outcome::Missed);
        assert_eq!(verdicts[0].source.file, "series.parquet");
    }

    #[test]
    fn a_run_that_ended_says_how_far_it_came() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "vt").unwrap();
        let mut record = record();
        record.ended = RunEnd { how: EndedHow::Interrupted, reason: "Ctrl-C".into() };
        record.covered_ns = 5_000_000;
        assert_eq!(folder.data(&record).unwrap().covered_to, VirtualSpan::from_ms(5));
    }
}
