//! The course of a run: prepare, begin, answer until it is over, stop, judge.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use vtime::VirtualSpan;

use super::agent_process::AgentProcess;
use super::grid::Grid;
use super::log::Log;
use super::needs;
use super::progress::Progress;
use crate::agent::orders::{self, Answer, Exited, Order, Report, Setup};
use crate::agent::protocol::VERSION;
use crate::agent::signals;
use crate::exit::Exit;
use crate::plant::PlantStats;
use crate::results::machine::Versions;
use crate::results::output::{Channel, OutputLine};
use crate::results::record::{
    Ended, EndedHow, EventRecord, ProgramEnd, ProgramRecord, ReadAccount, ScenarioRecord,
    WallAccount,
};
use crate::results::{self, RunFolder, RunRecord};
use crate::scenario::model::{Event, Happening, OnExit, PointName, Scenario};

/// How long an agent may take to prepare, and to stop everything.
const PREPARE_LONGEST: Duration = Duration::from_secs(60);
const END_LONGEST: Duration = Duration::from_secs(4);

/// How to run a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for run folders.
    pub runs: PathBuf,
    /// Whether to write the series as CSV too.
    pub csv: bool,
    /// Whether to print the record of the run as JSON instead of tables.
    pub json: bool,
}

/// What the runner hears of.
#[derive(Debug)]
pub(super) enum Happened {
    /// The agent reports.
    Report(Report),
    /// The agent is gone, and how that showed.
    AgentGone(String),
    /// Ctrl-C or a signal.
    Signal(i32),
}

/// Runs a scenario. Must be called while the process has one thread.
///
/// # Errors
/// What kept the run from beginning. Once it has begun, whatever happens is in its record, and
/// the answer is the exit code.
pub fn run(scenario: &Scenario, options: &Options) -> Result<Exit, Failure> {
    // Signals are blocked before the first thread is started, so that one thread gets them all.
    let arrivals = signals::Signals::block(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
    needs::check(scenario).map_err(Failure::Setup)?;
    let grid = match &scenario.plant {
        Some(plan) => {
            Some(Grid::open(scenario, plan, &needs::engine_folders()).map_err(Failure::of_plant)?)
        }
        None => None,
    };
    let folder = RunFolder::create(&options.runs, &scenario.name).map_err(Failure::Setup)?;
    let (sender, events) = channel();
    let signals = sender.clone();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || while signals.send(Happened::Signal(arrivals.next().number)).is_ok() {})
        .map_err(|error| Failure::Setup(error.into()))?;
    let agent = AgentProcess::start(sender).map_err(Failure::Setup)?;
    let session = Session::new(scenario, grid, folder, agent, events).map_err(Failure::Setup)?;
    session.run(options)
}

/// What kept a run from beginning.
#[derive(Debug)]
pub enum Failure {
    /// The scenario or its data is wrong.
    Scenario(anyhow::Error),
    /// This machine lacks something.
    Setup(anyhow::Error),
}

impl Failure {
    /// A plant that does not open is wrong data, unless the engine itself is missing.
    fn of_plant(error: anyhow::Error) -> Self {
        use crate::plant::PlantError;
        match error.downcast_ref::<PlantError>() {
            Some(
                PlantError::LibraryNotFound { .. }
                | PlantError::LibraryVariable { .. }
                | PlantError::LibraryUnusable { .. },
            ) => Self::Setup(error),
            _ => Self::Scenario(error),
        }
    }
}

struct Session<'s> {
    scenario: &'s Scenario,
    grid: Option<Grid>,
    folder: RunFolder,
    agent: AgentProcess,
    events: Receiver<Happened>,
    log: Log,
    record: RunRecord,
    outputs: BTreeMap<String, fs::File>,
    cpu_s: BTreeMap<String, f64>,
    begun: Instant,
}

/// Why the main part of a run is over.
struct Over {
    how: EndedHow,
    reason: String,
}

impl<'s> Session<'s> {
    fn new(
        scenario: &'s Scenario,
        mut grid: Option<Grid>,
        folder: RunFolder,
        agent: AgentProcess,
        events: Receiver<Happened>,
    ) -> anyhow::Result<Self> {
        let log = Log::create(&folder.log_path())?;
        if let (Some(grid), Some(plant)) = (&mut grid, &scenario.plant)
            && !plant.record.is_empty()
        {
            grid.record_to(folder.series_writer(&plant.record)?);
        }
        let text = fs::read(&scenario.file)?;
        let events_in_words = scenario.events.iter().map(describe).collect();
        let about = ScenarioRecord::new(scenario, &text, events_in_words);
        let engine = grid.as_mut().map(Grid::engine_version);
        let mut record = RunRecord::begin(about, 0, Versions::here(engine));
        let mut outputs = BTreeMap::new();
        for node in &scenario.nodes {
            for program in &node.programs {
                record.programs.push(ProgramRecord {
                    name: program.name.clone(),
                    node: node.name.clone(),
                    command: program.command.clone(),
                    end: ProgramEnd::NotStarted,
                    ended_ns: None,
                    warnings: Vec::new(),
                });
                let path = folder.program_log(&program.name);
                let file = fs::File::create(&path)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                outputs.insert(program.name.clone(), file);
            }
        }
        folder.write_record(&record)?;
        Ok(Self {
            scenario,
            grid,
            folder,
            agent,
            events,
            log,
            record,
            outputs,
            cpu_s: BTreeMap::new(),
            begun: Instant::now(),
        })
    }

    fn run(mut self, options: &Options) -> Result<Exit, Failure> {
        let name = self.folder.name();
        self.log.line(None, &format!("run {name} of {}", self.scenario.file.display()));
        self.agent.order(&Order::Prepare(Box::new(self.setup(&name))));
        if let Err(error) = self.prepared() {
            let reason = format!("{error:#}");
            self.log.line(None, &reason);
            self.record.ended = Ended { how: EndedHow::Error, reason };
            // The error is what matters, and it is told.
            let _ = self.folder.write_record(&self.record);
            return Err(Failure::Setup(error));
        }
        // What could not be started by now could not be started at all.
        for program in &mut self.record.programs {
            program.end = ProgramEnd::Stopped;
        }
        self.begun = Instant::now();
        self.agent.order(&Order::Begin);
        let mut progress =
            Progress::new(seconds(self.scenario.settle), seconds(self.scenario.duration));
        let over = self.attend(&mut progress);
        self.log.line(None, &format!("over: {}{}", over.how.words(), colon(&over.reason)));
        let wall_s = self.begun.elapsed().as_secs_f64();
        let last = self.stop();
        progress.finish();
        let exit = self.conclude(over, wall_s, last, options).map_err(Failure::Setup)?;
        Ok(exit)
    }

    fn setup(&self, name: &str) -> Setup {
        let scenario = self.scenario;
        let kept = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV"];
        let environment = kept
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        let network = |event: &&Event| !matches!(event.what, Happening::Set { .. });
        Setup {
            version: VERSION,
            name: name.to_owned(),
            title: title(scenario),
            tdf_millionths: scenario.tdf.millionths(),
            realtime_zero_ns: scenario.realtime_ns,
            settle: scenario.settle,
            duration: scenario.duration,
            directory: scenario.directory.clone(),
            environment,
            nodes: scenario.nodes.clone(),
            switches: scenario.switches.clone(),
            attackers: scenario.attackers.clone(),
            links: scenario.links.clone(),
            events: scenario.events.iter().filter(network).cloned().collect(),
            captures: absolute(self.folder.capture_path("x").parent().expect("a folder of them")),
        }
    }

    /// Waits until the agent has made everything.
    fn prepared(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + PREPARE_LONGEST;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Happened::Report(Report::Prepared { realtime_zero_ns })) => {
                    self.record.realtime_zero_ns = realtime_zero_ns;
                    self.folder.write_record(&self.record)?;
                    return Ok(());
                }
                Ok(Happened::Report(Report::Failed { reason })) => anyhow::bail!("{reason}"),
                Ok(Happened::Report(Report::Warning { text })) => self.warn(None, text),
                Ok(Happened::Report(_)) => {}
                Ok(Happened::AgentGone(how)) => anyhow::bail!("{how}{}", self.agent_end()),
                Ok(Happened::Signal(_)) => anyhow::bail!("interrupted before it began"),
                Err(_) => anyhow::bail!("the agent was not ready within {PREPARE_LONGEST:?}"),
            }
        }
    }

    /// Answers until the run is over.
    fn attend(&mut self, progress: &mut Progress) -> Over {
        let mut next_look = Instant::now();
        loop {
            if Instant::now() >= next_look {
                self.agent.order(&Order::Status);
                next_look += Progress::interval();
            }
            let happened =
                match self.events.recv_timeout(next_look.saturating_duration_since(Instant::now()))
                {
                    Ok(happened) => happened,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Over::part_failed("nobody reports any more".to_owned());
                    }
                };
            let over = match happened {
                Happened::Report(Report::Status(status)) => {
                    progress.show(&status.clock);
                    None
                }
                Happened::Report(Report::Ask { ask, point, write, at_ns }) => {
                    self.answer(ask, &point, write, self.scenario_time(at_ns))
                }
                Happened::Report(Report::Arrived) => {
                    Some(Over { how: EndedHow::Complete, reason: String::new() })
                }
                Happened::Report(report) => self.note(report),
                Happened::AgentGone(how) => {
                    let end = self.agent_end();
                    Some(Over::part_failed(format!("{how}{end}")))
                }
                Happened::Signal(number) => {
                    let reason = format!("by signal {number}");
                    Some(Over { how: EndedHow::Interrupted, reason })
                }
            };
            if let Some(over) = over {
                return over;
            }
        }
    }

    /// Answers a question to the plant; the run is over if the plant fails.
    fn answer(
        &mut self,
        ask: u64,
        point: &PointName,
        write: Option<f64>,
        at: VirtualSpan,
    ) -> Option<Over> {
        let grid = self.grid.as_mut().expect("points are checked to belong to a plant");
        let (outcome, over) = match grid.access(point, write, at) {
            Ok(value) => (Answer::Value(value), None),
            Err(error) if refused(&error) => (Answer::Error(format!("{error:#}")), None),
            Err(error) => {
                let reason = format!("the plant failed at {at}: {error:#}");
                (Answer::Error(reason.clone()), Some(Over::part_failed(reason)))
            }
        };
        self.agent.order(&Order::Answer { ask, outcome });
        over
    }

    /// Takes down what the agent reports; the run is over if it says so.
    fn note(&mut self, report: Report) -> Option<Over> {
        match report {
            Report::Output { program, error, at_ns, text } => {
                use std::io::Write;
                let at = self.scenario_time(at_ns);
                let channel = if error { Channel::Err } else { Channel::Out };
                let line = OutputLine::new(at.as_ns(), channel, text.as_bytes());
                if let Some(file) = self.outputs.get_mut(&program) {
                    // A full disk shows in results that matter.
                    let _ = writeln!(file, "{line}");
                }
                None
            }
            Report::Exited(exited) => self.exited(&exited),
            Report::Warning { text } => {
                self.warn(None, text);
                None
            }
            Report::Failed { reason } => Some(Over::part_failed(reason)),
            _ => None,
        }
    }

    fn exited(&mut self, exited: &Exited) -> Option<Over> {
        self.cpu_s.insert(exited.program.clone(), exited.cpu_s);
        if exited.stopped {
            return None;
        }
        let at = self.scenario_time(exited.at_ns);
        let end = match (exited.code, exited.signal) {
            (Some(code), _) => ProgramEnd::Exited { code },
            (None, signal) => ProgramEnd::Killed { signal: signal.unwrap_or(0) },
        };
        let text = format!("program `{}` {end} at {at}", exited.program);
        self.log.line(Some(at), &text);
        let programs = self.record.programs.iter_mut();
        for program in programs.filter(|program| program.name == exited.program) {
            program.end = end.clone();
            program.ended_ns = Some(at.as_ns());
        }
        let planned = self.scenario.nodes.iter().flat_map(|node| &node.programs);
        let on_exit = planned
            .filter(|program| program.name == exited.program)
            .map(|program| program.on_exit)
            .next();
        match on_exit {
            Some(OnExit::Ignore) => {
                self.warn(Some(at), text);
                None
            }
            _ => Some(Over::part_failed(text)),
        }
    }

    /// Stops everything. Answers what the agent had to tell at last, if it still could.
    fn stop(&mut self) -> Option<orders::Ended> {
        self.agent.order(&Order::End);
        let until = Instant::now() + END_LONGEST;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Happened::Report(Report::Ended(ended))) => return Some(*ended),
                Ok(Happened::Report(Report::Ask { ask, .. })) => {
                    let outcome = Answer::Error("the run is over".to_owned());
                    self.agent.order(&Order::Answer { ask, outcome });
                }
                Ok(Happened::Report(report)) => {
                    // Whatever it is, the run is over already.
                    let _ = self.note(report);
                }
                Ok(Happened::Signal(_)) => {}
                Ok(Happened::AgentGone(_)) => return None,
                Err(_) => {
                    self.warn(None, "the agent did not stop in time and was killed".to_owned());
                    return None;
                }
            }
        }
    }

    /// Writes everything down, judges it and tells the user.
    fn conclude(
        mut self,
        over: Over,
        wall_s: f64,
        last: Option<orders::Ended>,
        options: &Options,
    ) -> anyhow::Result<Exit> {
        let last_ns = last.as_ref().map(|ended| ended.status.clock.virtual_ns);
        let reached = match (over.how, last_ns) {
            (EndedHow::Complete, _) => self.scenario.duration,
            (_, Some(ns)) => self.scenario_time(ns),
            (_, None) => VirtualSpan::ZERO,
        };
        let mut over = over;
        let plant = self.finish_plant(reached, &mut over);
        self.record.covered_ns = reached.as_ns().max(0);
        self.record.ended = Ended { how: over.how, reason: over.reason };
        self.record.wall = last.as_ref().map(|ended| self.account(ended, &plant, wall_s));
        if let Some(mut ended) = last {
            self.record.warnings.append(&mut ended.status.warnings);
            if let Some(mut network) = ended.network {
                self.record.warnings.append(&mut network.warnings);
                self.record.network = serde_json::to_value(network)?;
            }
        }
        self.folder.write_record(&self.record)?;
        let data = self.folder.data(&self.record)?;
        self.record.verdicts = RunFolder::judge_all(&self.record, &data);
        self.folder.write_record(&self.record)?;
        if options.csv {
            self.write_csv()?;
        }
        self.tell(options)?;
        Ok(match self.record.ended.how {
            EndedHow::Complete => results::exit(&self.record.verdicts),
            EndedHow::Interrupted => Exit::Interrupted,
            _ => Exit::PartFailed,
        })
    }

    /// Brings the plant to the end and closes the series.
    fn finish_plant(&mut self, reached: VirtualSpan, over: &mut Over) -> PlantStats {
        let Some(mut grid) = self.grid.take() else { return PlantStats::default() };
        if over.how != EndedHow::PartFailed
            && let Err(error) = grid.advance(reached)
        {
            *over = Over::part_failed(format!("the plant failed before {reached}: {error:#}"));
        }
        match grid.finish() {
            Ok(stats) => {
                if let Some(first) = stats.unconverged_first {
                    let count = stats.unconverged;
                    self.warn(
                        Some(first),
                        format!("{count} solutions of the plant did not converge"),
                    );
                }
                stats
            }
            Err(error) => {
                self.warn(None, format!("the series could not be finished: {error:#}"));
                PlantStats::default()
            }
        }
    }

    fn account(&self, ended: &orders::Ended, plant: &PlantStats, wall_s: f64) -> WallAccount {
        let clock = &ended.status.clock;
        WallAccount {
            total_s: wall_s,
            virtual_s: clock.virtual_ns as f64 / 1e9,
            plant_s: plant.wall_ns as f64 / 1e9,
            holds_s: clock.paused_ns as f64 / 1e9,
            holds: clock.stops,
            reads: read_account(&ended.access_ns),
            agent_cpu_s: ended.agent_cpu_s,
            programs_cpu_s: self.cpu_s.clone(),
        }
    }

    fn write_csv(&self) -> anyhow::Result<()> {
        let Some(series) = self.folder.series()? else { return Ok(()) };
        let path = self.folder.path().join("series.csv");
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        results::csv::write(&series, &mut file)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn tell(&self, options: &Options) -> anyhow::Result<()> {
        let record = &self.record;
        if options.json {
            println!("{}", serde_json::to_string_pretty(record)?);
            return Ok(());
        }
        println!(
            "{}: {}{}",
            title(self.scenario),
            record.ended.how.words(),
            colon(&record.ended.reason)
        );
        if let Some(wall) = &record.wall {
            let ratio = wall.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            println!(
                "{:.1} s virtual in {:.1} s wall (ratio {ratio}); plant {:.2} s, {} holds {:.2} s",
                wall.virtual_s, wall.total_s, wall.plant_s, wall.holds, wall.holds_s
            );
        }
        for warning in &record.warnings {
            println!("warning: {warning}");
        }
        print!("{}", results::table(&record.verdicts));
        println!("run folder: {}", self.folder.path().display());
        Ok(())
    }

    fn warn(&mut self, at: Option<VirtualSpan>, text: String) {
        self.log.line(at, &format!("warning: {text}"));
        self.record.warnings.push(text);
    }

    fn agent_end(&mut self) -> String {
        let status = self.agent.end_within(Duration::from_secs(1));
        status.map_or_else(String::new, |status| format!(" ({status})"))
    }

    fn scenario_time(&self, domain_ns: i64) -> VirtualSpan {
        VirtualSpan::from_ns(domain_ns) - self.scenario.settle
    }
}

impl Over {
    fn part_failed(reason: String) -> Self {
        Self { how: EndedHow::PartFailed, reason }
    }
}

/// Whether the plant refused a value, which concerns the program that wrote it only.
fn refused(error: &anyhow::Error) -> bool {
    use crate::plant::PlantError;
    matches!(
        error.downcast_ref::<PlantError>(),
        Some(PlantError::Value { .. } | PlantError::ReadOnly { .. })
    )
}

fn describe(event: &Event) -> EventRecord {
    let what = match &event.what {
        Happening::ArpPoison { attacker, victims: [a, b] } => {
            format!("{attacker} poisons ARP of {a} and {b}")
        }
        Happening::Set { point, value } => format!("{} = {value} {}", point.0, point.unit()),
        Happening::Link { from, to, up } => {
            format!("link {from} to {to} {}", if *up { "up" } else { "down" })
        }
    };
    EventRecord { at_ns: event.at.as_ns(), what }
}

fn read_account(access_ns: &[u64]) -> Option<ReadAccount> {
    let mut sorted = access_ns.to_vec();
    sorted.sort_unstable();
    let rank =
        |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize] as f64 / 1e3;
    (!sorted.is_empty()).then(|| ReadAccount {
        count: sorted.len() as u64,
        median_us: rank(0.5),
        p99_us: rank(0.99),
    })
}

fn title(scenario: &Scenario) -> String {
    match &scenario.variant {
        Some(variant) => format!("{} ({variant})", scenario.name),
        None => scenario.name.clone(),
    }
}

fn seconds(span: VirtualSpan) -> f64 {
    span.as_ns() as f64 / 1e9
}

fn colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
