//! The course of a run: prepare, begin, answer until it is over, stop, judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use vtime::{HostSpan, VirtualSpan};

use super::account::Account;
use super::agent_process::AgentProcess;
use super::disturbances::{self, Disturbances};
use super::environment;
use super::grid::{AccessError, Grid};
use super::inputs::Inputs;
use super::interrupt::Interrupt;
use super::last_words;
use super::log::Log;
use super::needs;
use super::outputs::Outputs;
use super::progress::Progress;
use crate::agent::folder::Folder;
use crate::agent::orders::{self, Answer, Exited, Order, Report, Setup};
use crate::agent::protocol::VERSION;
use crate::agent::{registry, signals};
use crate::exit::Exit;
use crate::plant::PlantStats;
use crate::results::doubt::{Loss, PlantRecord};
use crate::results::machine::Versions;
use crate::results::record::{
    Ended, EndedHow, EventRecord, ProgramEnd, ProgramRecord, ScenarioRecord, WallAccount,
};
use crate::results::{self, RunFolder, RunRecord};
use crate::scenario::Problems;
use crate::scenario::model::{Event, Happening, OnExit, PointName, Scenario};

/// How long an agent may take to prepare, and to stop everything.
const PREPARE_LONGEST: Duration = Duration::from_secs(60);
const END_LONGEST: Duration = Duration::from_secs(4);
/// What each node adds to that: the kernel takes its time to take namespaces down.
const END_LONGEST_PER_NODE: Duration = Duration::from_millis(100);
/// How long the agent may take to be gone after its last word.
const GONE_LONGEST: Duration = Duration::from_secs(1);

/// How far the plant may stay behind the clock where no program asks for it: rows of a run that
/// is killed are at most this old, and an event that fails shows as soon.
const PLANT_BEHIND_MAX: VirtualSpan = VirtualSpan::from_ms(1000);

/// How far captures may stay behind the clock; the emulator writes them ten times as often.
const CAPTURES_BEHIND_MAX: VirtualSpan = VirtualSpan::from_ms(1000);

/// How to run a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for run folders.
    pub runs: PathBuf,
    /// Whether to write the series as CSV too.
    pub csv: bool,
    /// Whether to keep copies of the files that the run is made of.
    pub copy_inputs: bool,
    /// Whether to print the record of the run as JSON instead of tables.
    pub json: bool,
    /// How often to run it again while a requirement is disturbed.
    pub repeat_disturbed: u32,
}

/// What the runner hears of.
#[derive(Debug)]
pub(super) enum Happened {
    /// The agent reports.
    Report(Report),
    /// The agent is gone, and how that showed.
    AgentGone(String),
    /// A file of the run lacks something.
    Lost(Loss),
    /// Ctrl-C or a signal.
    Signal(i32),
}

/// Runs a scenario, and again while a requirement is disturbed, as often as was asked for. Must be
/// called while the process has one thread.
///
/// # Errors
/// What kept the run from beginning. Once it has begun, whatever happens is in its record, and
/// the answer is the exit code of the last run.
pub fn run(scenario: &Scenario, options: &Options) -> Result<Exit, Failure> {
    // Signals are blocked before the first thread is started, so that one thread gets them all.
    let arrivals = signals::Signals::block(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
    // Before this process is root of a user namespace, where the folder would be another.
    let sockets = Folder::make().map_err(Failure::Setup)?.path().to_owned();
    // What agents that were killed have left behind. That it stays there does no harm.
    let _ = registry::remove_dead();
    needs::check(scenario).map_err(Failure::Setup)?;
    let interrupt = Interrupt::pass_on(arrivals).map_err(|error| Failure::Setup(error.into()))?;
    let mut left = options.repeat_disturbed;
    loop {
        let (sender, events) = channel();
        if !interrupt.reaches(sender.clone()) {
            return Ok(Exit::Interrupted);
        }
        let options_now = Options { repeat_disturbed: left, ..options.clone() };
        let (exit, disturbed) = run_once(scenario, &options_now, (&sockets, sender, events))?;
        if !disturbed || left == 0 {
            let runs = options.repeat_disturbed - left + 1;
            if runs > 1 {
                say(&format!("the last of {runs} runs counts; those before were disturbed"));
            }
            return Ok(exit);
        }
        say(&format!("it was disturbed and is run again, at most {left} times"));
        left -= 1;
    }
}

fn run_once(
    scenario: &Scenario,
    options: &Options,
    (sockets, sender, events): (&Path, Sender<Happened>, Receiver<Happened>),
) -> Result<(Exit, bool), Failure> {
    let grid = match &scenario.plant {
        Some(plan) => Some(Grid::open(scenario, plan, &needs::engine_folders())?),
        None => None,
    };
    let folder = RunFolder::create(&options.runs, &scenario.name).map_err(Failure::Setup)?;
    let mut inputs = Inputs::of(scenario);
    if options.copy_inputs {
        inputs.copy(&folder).map_err(Failure::Setup)?;
    }
    let outputs = Outputs::create(&folder, scenario).map_err(Failure::Setup)?;
    let agent = AgentProcess::start(sockets, sender, outputs).map_err(Failure::Setup)?;
    let session =
        Session::new(scenario, grid, (folder, inputs), agent, events).map_err(Failure::Setup)?;
    session.run(options)
}

/// What kept a run from beginning.
#[derive(Debug)]
pub enum Failure {
    /// The scenario or its data is wrong.
    Scenario(Problems),
    /// This machine lacks something.
    Setup(anyhow::Error),
}

struct Session<'s> {
    scenario: &'s Scenario,
    grid: Option<Grid>,
    folder: RunFolder,
    agent: AgentProcess,
    events: Receiver<Happened>,
    inputs: Inputs,
    log: Log,
    record: RunRecord,
    account: Account,
    disturbances: Disturbances,
    /// How far the clock had come when the agent last said so, in time of the domain.
    seen_ns: i64,
    /// The agent is gone and reports no more.
    agent_gone: bool,
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
        (folder, inputs): (RunFolder, Inputs),
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
        record.inputs = inputs.record();
        record.environment = environment::kept();
        for node in &scenario.nodes {
            for program in &node.programs {
                record.programs.push(ProgramRecord {
                    name: program.name.clone(),
                    node: node.name.clone(),
                    command: program.command.clone(),
                    end: ProgramEnd::NotStarted,
                    started_ns: None,
                    ended_ns: None,
                    warnings: Vec::new(),
                    last_words: Vec::new(),
                });
            }
        }
        folder.write_record(&record)?;
        let disturbances = Disturbances::create(&folder, scenario.settle)?;
        Ok(Self {
            disturbances,
            scenario,
            grid,
            folder,
            agent,
            events,
            inputs,
            log,
            record,
            account: Account::new(),
            seen_ns: 0,
            agent_gone: false,
            cpu_s: BTreeMap::new(),
            begun: Instant::now(),
        })
    }

    /// Answers whether a verdict was disturbed as well.
    fn run(mut self, options: &Options) -> Result<(Exit, bool), Failure> {
        let name = self.folder.name();
        self.log.line(None, &format!("run {name} of {}", self.scenario.file.display()));
        self.agent.order(&Order::Prepare(Box::new(self.setup(&name))));
        match self.prepared() {
            Ok(None) => {}
            Ok(Some(signal)) => {
                self.not_begun(EndedHow::Interrupted, signal);
                return Ok((Exit::Interrupted, false));
            }
            Err(error) => {
                self.not_begun(EndedHow::Error, format!("{error:#}"));
                return Err(Failure::Setup(error));
            }
        }
        // Written before the first of them can write anything.
        for program in &mut self.record.programs {
            program.end = ProgramEnd::Starting;
        }
        self.folder.write_record(&self.record).map_err(Failure::Setup)?;
        self.begun = Instant::now();
        self.disturbances.begin();
        self.agent.order(&Order::Begin);
        let mut progress =
            Progress::new(seconds(self.scenario.settle), seconds(self.scenario.duration));
        let over = self.attend(&mut progress);
        self.log.line(None, &format!("over: {}{}", over.how.words(), colon(&over.reason)));
        let wall_s = self.begun.elapsed().as_secs_f64();
        let last = self.stop();
        self.hear_out(last.as_ref().map(|ended| &*ended.unheard));
        progress.finish();
        let exit = self.conclude(over, wall_s, last, options).map_err(Failure::Setup)?;
        Ok(exit)
    }

    fn setup(&self, name: &str) -> Setup {
        let scenario = self.scenario;
        let environment = environment::of_all(scenario, name);
        let network = |event: &&Event| !matches!(event.what, Happening::Set { .. });
        Setup {
            version: VERSION,
            name: name.to_owned(),
            title: title(scenario),
            tdf_millionths: scenario.tdf.millionths(),
            freeze: scenario.freeze,
            stall_guard_ns: scenario.stall_guard.map(HostSpan::as_ns),
            delays_told_ns: disturbances::told_ns(scenario),
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
            captures: scenario.captures.then(|| {
                absolute(self.folder.capture_path("x").parent().expect("a folder of them"))
            }),
        }
    }

    /// Takes down why there was no run.
    fn not_begun(&mut self, how: EndedHow, reason: String) {
        self.log.line(None, &reason);
        self.record.ended = Ended { how, reason };
        // Why there was none is what matters, and the user is told.
        let _ = self.folder.write_record(&self.record);
    }

    /// Waits until the agent has made everything, or for a signal, which is the answer.
    fn prepared(&mut self) -> anyhow::Result<Option<String>> {
        let until = Instant::now() + PREPARE_LONGEST;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Happened::Report(Report::Prepared { name, realtime_zero_ns })) => {
                    let folder = self.folder.path().display();
                    self.log.line(None, &format!("the domain is `{name}`"));
                    say(&format!("run folder {folder}, time domain {name}"));
                    self.record.realtime_zero_ns = realtime_zero_ns;
                    self.folder.write_record(&self.record)?;
                    return Ok(None);
                }
                Ok(Happened::Report(Report::Failed { reason })) => anyhow::bail!("{reason}"),
                Ok(Happened::Report(Report::Warning { text })) => self.warn(None, text),
                Ok(Happened::Report(report)) => drop(self.note(report)),
                Ok(Happened::Lost(loss)) => self.lose(loss),
                Ok(Happened::AgentGone(how)) => anyhow::bail!("{how}{}", self.agent_end()),
                Ok(Happened::Signal(number)) => {
                    return Ok(Some(format!("by {} before it began", signal_name(number))));
                }
                Err(_) => anyhow::bail!("the agent was not ready within {PREPARE_LONGEST:?}"),
            }
        }
    }

    /// Answers until the run is over.
    fn attend(&mut self, progress: &mut Progress) -> Over {
        let mut next_look = Instant::now();
        loop {
            self.keep_account();
            if Instant::now() >= next_look {
                self.agent.order(&Order::Status);
                next_look = Instant::now() + Progress::interval();
            }
            let until = next_look.min(self.account.due());
            let happened =
                match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(happened) => happened,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Over::part_failed("nobody reports any more".to_owned());
                    }
                };
            let over = match happened {
                Happened::Report(Report::Status(status)) => {
                    progress.show(&status.clock);
                    self.seen_ns = self.seen_ns.max(status.clock.virtual_ns);
                    self.catch_up()
                }
                Happened::Report(Report::Ask { ask, points, write, at_ns }) => {
                    self.seen_ns = self.seen_ns.max(at_ns);
                    self.answer(ask, &points, write, self.scenario_time(at_ns))
                }
                Happened::Report(Report::Arrived) => {
                    Some(Over { how: EndedHow::Complete, reason: String::new() })
                }
                Happened::Report(report) => self.note(report),
                Happened::Lost(loss) => {
                    self.lose(loss);
                    None
                }
                Happened::AgentGone(how) => {
                    self.agent_gone = true;
                    let end = self.agent_end();
                    Some(Over::part_failed(format!("{how}{end}")))
                }
                Happened::Signal(number) => {
                    let reason = format!("by {}", signal_name(number));
                    Some(Over { how: EndedHow::Interrupted, reason })
                }
            };
            if let Some(over) = over {
                return over;
            }
        }
    }

    /// Brings the plant on where nobody has asked for it for long; the run is over if it fails.
    fn catch_up(&mut self) -> Option<Over> {
        let now = self.scenario_time(self.seen_ns);
        let grid = self.grid.as_mut()?;
        if now - grid.reached() < PLANT_BEHIND_MAX {
            return None;
        }
        let error = grid.advance(now).err()?;
        Some(Over::part_failed(format!("the plant failed before {now}: {error:#}")))
    }

    /// Answers a question to the plant; the run is over if the plant fails.
    fn answer(
        &mut self,
        ask: u64,
        points: &[PointName],
        write: Option<f64>,
        at: VirtualSpan,
    ) -> Option<Over> {
        let grid = self.grid.as_mut().expect("points are checked to belong to a plant");
        let (outcome, over) = match grid.access(points, write, at) {
            Ok(values) => (Answer::Values(values), None),
            Err(AccessError::Refused(error)) => (Answer::Error(error.to_string()), None),
            Err(AccessError::Broken(error)) => {
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
            Report::Started { program, at_ns } => {
                let at = self.scenario_time(at_ns);
                for one in self.record.programs.iter_mut().filter(|one| one.name == program) {
                    one.started_ns = Some(at.as_ns());
                    one.end = ProgramEnd::Running;
                }
                self.account.change();
                None
            }
            Report::Exited(exited) => self.exited(&exited),
            Report::NotStarted { program, reason, at_ns } => {
                let at = self.scenario_time(at_ns);
                self.ended(&program, ProgramEnd::NotStarted, at);
                self.gone(&program, at, format!("cannot start `{program}`: {reason}"))
            }
            Report::Warning { text } => {
                self.warn(None, text);
                None
            }
            Report::Watched { to_ns, disturbances } => {
                if let Some(text) = self.disturbances.note(to_ns, disturbances) {
                    self.warn(None, text);
                }
                None
            }
            Report::Intervention(one) => {
                let at = self.scenario_time(one.at_ns);
                self.log.line(Some(at), &one.to_string());
                let kept = &mut self.record.interventions;
                if let Some(text) = disturbances::intervene(kept, one, self.scenario.settle) {
                    self.warn(Some(at), text);
                }
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
        self.ended(&exited.program, end.clone(), at);
        // Where the scenario allows it to end, only how it ended can be worth a look.
        if end == (ProgramEnd::Exited { code: 0 }) && self.may_end(&exited.program) {
            return None;
        }
        self.gone(&exited.program, at, text)
    }

    /// Takes down how a program ended.
    fn ended(&mut self, name: &str, end: ProgramEnd, at: VirtualSpan) {
        for program in self.record.programs.iter_mut().filter(|program| program.name == name) {
            program.ended_ns = (end != ProgramEnd::NotStarted).then_some(at.as_ns());
            program.end = end.clone();
        }
        self.account.change();
    }

    /// A program is not there; the run is over unless the scenario allows that.
    fn gone(&mut self, name: &str, at: VirtualSpan, why: String) -> Option<Over> {
        if self.may_end(name) {
            self.warn(Some(at), why);
            return None;
        }
        Some(Over::part_failed(why))
    }

    fn may_end(&self, name: &str) -> bool {
        let planned = self.scenario.nodes.iter().flat_map(|node| &node.programs);
        planned.filter(|program| program.name == name).any(|one| one.on_exit == OnExit::Ignore)
    }

    /// Stops everything. Answers what the agent had to tell at last, if it still could.
    fn stop(&mut self) -> Option<orders::Ended> {
        if self.agent_gone {
            return None;
        }
        self.agent.order(&Order::End);
        let nodes = u32::try_from(self.scenario.nodes.len()).unwrap_or(u32::MAX);
        let until = Instant::now() + END_LONGEST + END_LONGEST_PER_NODE * nodes;
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
                Ok(Happened::Lost(loss)) => self.lose(loss),
                Ok(Happened::Signal(_)) => {}
                Ok(Happened::AgentGone(_)) => return None,
                Err(_) => {
                    self.warn(None, "the agent did not stop in time and was killed".to_owned());
                    self.agent.kill();
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
    ) -> anyhow::Result<(Exit, bool)> {
        let last_ns = last.as_ref().map_or(0, |ended| ended.status.clock.virtual_ns);
        let reached = match over.how {
            EndedHow::Complete => self.scenario.duration,
            _ => self.scenario_time(self.seen_ns.max(last_ns)).min(self.scenario.duration),
        };
        let mut over = over;
        let plant = self.finish_plant(reached, &mut over);
        self.settle_programs(&mut over);
        self.record.covered_ns = reached.as_ns().max(0);
        self.record.ended = Ended { how: over.how, reason: over.reason };
        self.record.wall = last.as_ref().map(|ended| self.account(ended, &plant, wall_s));
        if let Some(ended) = last {
            let mut warnings = ended.status.warnings;
            self.record.freeze = serde_json::to_value(&ended.status.freeze)?;
            if let Some(mut network) = ended.network {
                for lost in std::mem::take(&mut network.losses) {
                    let from_ns = lost.realtime_ns.saturating_sub(self.record.realtime_zero_ns);
                    self.record.losses.push(Loss { file: lost.file, from_ns, reason: lost.reason });
                }
                warnings.append(&mut network.warnings);
                self.record.network = serde_json::to_value(network)?;
            }
            // Some of these were told when they arose.
            warnings.retain(|warning| !self.record.warnings.contains(warning));
            self.record.warnings.append(&mut warnings);
        }
        self.warn_of_inputs();
        self.record.disturbances = Some(self.disturbances.record(self.run_cpu_s()));
        last_words::take_down(&mut self.record, &self.folder);
        if options.csv
            && let Err(error) = self.write_csv()
        {
            let (file, reason) =
                ("series.csv".to_owned(), format!("series.csv is not whole: {error:#}"));
            self.lose(Loss { file, from_ns: 0, reason });
        }
        if let Some((at, reason)) = self.log.lost().cloned() {
            let from_ns = at.map_or(0, VirtualSpan::as_ns);
            let reason = format!("log.txt lacks lines: {reason}");
            self.lose(Loss { file: "log.txt".to_owned(), from_ns, reason });
        }
        self.folder.write_record(&self.record)?;
        let data = self.folder.data(&self.record)?;
        self.record.verdicts = RunFolder::judge_all(&self.record, &data);
        self.warn_of_disturbances();
        self.folder.write_record(&self.record)?;
        let exit = match self.record.ended.how {
            EndedHow::Complete => results::exit(&self.record.verdicts),
            EndedHow::Interrupted => Exit::Interrupted,
            _ => Exit::PartFailed,
        };
        // Whoever reads JSON wants one object: that of the run that counts.
        // Whatever the others say, which is no reason to keep a run or to do without it.
        let disturbed = !matches!(exit, Exit::Interrupted | Exit::PartFailed)
            && self.record.verdicts.iter().any(|one| one.outcome == results::Outcome::Disturbed);
        if !(options.json && disturbed && options.repeat_disturbed > 0) {
            self.tell(options)?;
        }
        Ok((exit, disturbed))
    }

    /// Brings the plant to the end and closes the series.
    fn finish_plant(&mut self, reached: VirtualSpan, over: &mut Over) -> PlantStats {
        let Some(mut grid) = self.grid.take() else { return PlantStats::default() };
        if !grid.is_broken()
            && let Err(error) = grid.advance(reached)
        {
            *over = Over::part_failed(format!("the plant failed before {reached}: {error:#}"));
        }
        let plant = grid.record();
        self.warn_of_plant(&plant);
        self.record.plant = Some(plant);
        grid.finish().unwrap_or_else(|error| {
            self.warn(None, format!("the series could not be finished: {error:#}"));
            PlantStats::default()
        })
    }

    /// Says which files are not what they were when the run was set up.
    fn warn_of_inputs(&mut self) {
        let changed: Vec<String> = self.inputs.changed().map(str::to_owned).collect();
        for file in changed {
            self.warn(None, format!("{file} was changed during the run; its hash is of before"));
        }
    }

    /// Says how much of the plant is no result.
    fn warn_of_plant(&mut self, plant: &PlantRecord) {
        if plant.unconverged_at_rest > 0 {
            let text = "the plant did not converge at rest, before scenario time zero";
            self.warn(None, text.to_owned());
        }
        if let Some((first, _)) = plant.unconverged_ns.first() {
            let at = VirtualSpan::from_ns(*first);
            let (count, steps) = (plant.unconverged, plant.steps);
            let text = format!(
                "{count} of {steps} steps of the plant did not converge, the first at {at}: their \
                 figures are left out"
            );
            self.warn(Some(at), text);
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
            stalls: ended.stalls,
            reads: ended.access,
            agent_cpu_s: ended.agent_cpu_s,
            programs_cpu_s: self.cpu_s.clone(),
        }
    }

    fn warn_of_disturbances(&mut self) {
        let record = self.record.disturbances.as_ref();
        let verdicts = &self.record.verdicts;
        if let Some(text) = record.and_then(|record| disturbances::warning(verdicts, record)) {
            self.warn(None, text);
        }
    }

    /// Processor time of all that took part, as far as it is known.
    fn run_cpu_s(&self) -> f64 {
        let wall = self.record.wall.as_ref();
        wall.map_or(0.0, |wall| wall.agent_cpu_s + wall.plant_s) + self.cpu_s.values().sum::<f64>()
    }

    fn write_csv(&self) -> anyhow::Result<()> {
        use std::io::Write;
        let Some(series) = self.folder.series()? else { return Ok(()) };
        let path = self.folder.path().join("series.csv");
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        // Dropping it would write the rest too, but tell nobody that it could not.
        results::csv::write(&series, &mut file)
            .and_then(|()| file.flush())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn tell(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            terminal::print_json(&serde_json::to_string_pretty(&self.record)?);
        } else {
            terminal::print(format_args!("{}", self.summary()));
        }
        Ok(())
    }

    fn summary(&self) -> String {
        use std::fmt::Write;
        let record = &self.record;
        let (how, why) = (record.ended.how.words(), colon(&record.ended.reason));
        let mut text = format!("{}: {how}{why}\n", title(self.scenario));
        let mut line = |line: String| {
            writeln!(text, "{line}").expect("writing to a string cannot fail");
        };
        if let Some(wall) = &record.wall {
            let ratio = wall.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            line(format!(
                "{:.1} s virtual in {:.1} s wall (ratio {ratio}); plant {:.2} s, {} holds {:.2} s",
                wall.virtual_s, wall.total_s, wall.plant_s, wall.holds, wall.holds_s
            ));
        }
        record.warnings.iter().for_each(|warning| line(format!("warning: {warning}")));
        text += &last_words::told(record, &self.folder);
        let table = results::table(&record.verdicts);
        format!("{text}{table}run folder: {}\n", self.folder.path().display())
    }

    /// Writes the record if it is time to.
    fn keep_account(&mut self) {
        let seen_ns = self.scenario_time(self.seen_ns).as_ns();
        if Instant::now() >= self.account.due() {
            self.record.plant = self.grid.as_ref().map(Grid::record);
            self.record.disturbances = Some(self.disturbances.record(self.run_cpu_s()));
        }
        if let Some(text) = self.account.keep(&mut self.record, &self.folder, seen_ns) {
            self.warn(None, text);
        }
    }

    /// Takes down that a file lacks something, and from when on.
    fn lose(&mut self, loss: Loss) {
        let at = VirtualSpan::from_ns(loss.from_ns);
        self.warn(Some(at), format!("from {at} on {}", loss.reason));
        self.record.losses.push(loss);
        self.account.change();
    }

    /// Waits for the last output of programs, and takes down what did not come. `unheard` is of whom
    /// the agent said so, if it still could.
    fn hear_out(&mut self, unheard: Option<&[String]>) {
        const REASON: &str = "the last output is missing";
        let agent_told = unheard.is_some();
        let heard_out = self.agent.outputs_within(GONE_LONGEST);
        let unheard = unheard.filter(|_| heard_out);
        let mut lost = self.agent.last_lines().losses(unheard, REASON);
        if !agent_told && self.scenario.captures {
            let from_ns = (self.scenario_time(self.seen_ns) - CAPTURES_BEHIND_MAX).as_ns();
            lost.extend(self.captures().map(|file| {
                let reason = format!("{file} lacks frames: the agent ended before it wrote them");
                Loss { file, from_ns, reason }
            }));
        }
        lost.into_iter().for_each(|loss| self.lose(loss));
        // What was lost while everything ended.
        while let Ok(happened) = self.events.try_recv() {
            if let Happened::Lost(loss) = happened {
                self.lose(loss);
            }
        }
    }

    /// The names of captures, in the folder.
    fn captures(&self) -> impl Iterator<Item = String> {
        let nodes = self.scenario.nodes.iter().map(|node| &node.name);
        let attackers = self.scenario.attackers.iter().map(|attacker| &attacker.name);
        nodes.chain(attackers).map(|name| RunFolder::capture_name(name))
    }

    /// What runs now was stopped with the run; what nobody has seen start did not, and a run without a
    /// program that it is to have is not the one that was asked for.
    fn settle_programs(&mut self, over: &mut Over) {
        let mut absent = Vec::new();
        for program in &mut self.record.programs {
            match program.end {
                ProgramEnd::Starting => {
                    program.end = ProgramEnd::NotStarted;
                    absent.push((program.name.clone(), program.node.clone()));
                }
                ProgramEnd::Running => program.end = ProgramEnd::Stopped,
                _ => {}
            }
        }
        if over.how != EndedHow::Complete {
            return;
        }
        let planned = self.scenario.nodes.iter().flat_map(|node| &node.programs);
        let needed: BTreeSet<&String> = planned
            .filter(|program| program.on_exit != OnExit::Ignore)
            .map(|program| &program.name)
            .collect();
        for (name, node) in absent {
            let text = format!("program `{name}` in {node} had not begun when the run was over");
            if over.how == EndedHow::Complete && needed.contains(&name) {
                *over = Over::part_failed(text);
            } else {
                self.warn(None, text);
            }
        }
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

fn signal_name(number: i32) -> String {
    match number {
        libc::SIGINT => "SIGINT (Ctrl-C)".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        libc::SIGHUP => "SIGHUP".to_owned(),
        other => format!("signal {other}"),
    }
}

/// Tells the user something on the way.
fn say(text: &str) {
    terminal::err!("{text}");
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
