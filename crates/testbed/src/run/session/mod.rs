//! The course of a run: prepare, begin, answer until it is over, stop, judge.
//!
//! - [`programs`]: what becomes of its programs
//! - [`conclude`]: what there is to say of it

mod conclude;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use vtime::{HostSpan, VirtualSpan};

use crate::nodes::orders::{self, Order, PlantAnswer, Report, Setup};
use crate::run::account::Account;
use crate::run::agent_process::AgentProcess;
use crate::run::disturbances::{self, Disturbances};
use crate::run::environment;
use crate::run::event::RunEvent;
use crate::run::failure::Failure;
use crate::run::grid::{AccessError, Grid};
use crate::run::inputs::Inputs;
use crate::run::interrupt::Interrupt;
use crate::run::log::Log;
use crate::run::needs;
use crate::run::outputs::Outputs;
use crate::run::progress::Progress;
use network::plan;
use os::signals;
use os::sockets::Folder;
use plant::name::PointName;
use report_kit::machine::Versions;
use results::doubt::Loss;
use results::record::{EndedHow, EventRecord, ProgramEnd, ProgramRecord, RunEnd, ScenarioRecord};
use results::{RunFolder, RunRecord};
use runtime::agent::protocol::VERSION;
use runtime::agent::registry;
use scenario::model::{Event, Happening, Scenario};
use terminal::exit::Exit;

/// How long an agent may take to prepare, and to stop everything.
const PREPARE_LONGEST: Duration = Duration::from_secs(60);
const END_LONGEST: Duration = Duration::from_secs(4);
/// What each node adds to that: the kernel takes its time to take namespaces down.
const END_LONGEST_PER_NODE: Duration = Duration::from_millis(100);
/// How far the plant may stay behind the clock where no program asks for it: rows of a run that
/// is killed are at most this old, and an event that fails shows as soon.
const PLANT_BEHIND_MAX: VirtualSpan = VirtualSpan::from_ms(1000);

/// How to run a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    pub runs: PathBuf,
    pub csv: bool,
    /// Whether to keep copies of the files that the run is made of.
    pub copy_inputs: bool,
    /// Whether to print the record of the run as JSON instead of tables.
    pub json: bool,
    /// How often to run it again while a requirement is disturbed.
    pub repeat_disturbed: u32,
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
                progress_line(&format!(
                    "the last of {runs} runs counts; the earlier ones were disturbed"
                ));
            }
            return Ok(exit);
        }
        let times = if left == 1 { "once" } else { &format!("{left} times") };
        progress_line(&format!("the run was disturbed and is repeated, at most {times} more"));
        left -= 1;
    }
}

fn run_once(
    scenario: &Scenario,
    options: &Options,
    (sockets, sender, events): (&Path, Sender<RunEvent>, Receiver<RunEvent>),
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

struct Session<'s> {
    scenario: &'s Scenario,
    grid: Option<Grid>,
    folder: RunFolder,
    agent: AgentProcess,
    events: Receiver<RunEvent>,
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
        events: Receiver<RunEvent>,
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
        let mut record = RunRecord::begin(about, 0, Versions::of(crate::BUILD, engine));
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
        Setup {
            version: VERSION,
            name: name.to_owned(),
            title: title(scenario),
            tdf_millionths: scenario.tdf.millionths(),
            pace: scenario.pace,
            kernel_timers: scenario.kernel_timers,
            order_of_nodes: scenario.order,
            seed: scenario.seed,
            freeze: scenario.freeze,
            stall_guard_ns: scenario.stall_guard.map(HostSpan::as_ns),
            delays_least_ns: disturbances::least_reported_ns(scenario),
            realtime_zero_ns: scenario.realtime_ns,
            settle: scenario.settle,
            duration: scenario.duration,
            directory: scenario.directory.clone(),
            environment,
            nodes: scenario.nodes.clone(),
            network: scenario.network.clone(),
            captures: scenario.captures.then(|| {
                absolute(self.folder.capture_path("x").parent().expect("a folder of them"))
            }),
            hosts: None,
        }
    }

    fn not_begun(&mut self, how: EndedHow, reason: String) {
        self.log.line(None, &reason);
        self.record.ended = RunEnd { how, reason };
        // Why there was none is what matters, and the user sees it.
        let _ = self.folder.write_record(&self.record);
    }

    /// Waits until the agent has made everything, or for a signal, which is the answer.
    fn prepared(&mut self) -> anyhow::Result<Option<String>> {
        let until = Instant::now() + PREPARE_LONGEST;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(RunEvent::Report(Report::Prepared { name, realtime_zero_ns, .. })) => {
                    let folder = self.folder.path().display();
                    self.log.line(None, &format!("the domain is `{name}`"));
                    progress_line(&format!("run folder {folder}, time domain {name}"));
                    self.record.realtime_zero_ns = realtime_zero_ns;
                    self.folder.write_record(&self.record)?;
                    return Ok(None);
                }
                Ok(RunEvent::Report(Report::Failed { reason })) => anyhow::bail!("{reason}"),
                Ok(RunEvent::Report(Report::Warning { text })) => self.warn(None, text),
                Ok(RunEvent::Report(report)) => drop(self.note(report)),
                Ok(RunEvent::Lost(loss)) => self.lose(loss),
                Ok(RunEvent::AgentGone(how)) => anyhow::bail!("{how}{}", self.agent_end()),
                Ok(RunEvent::Signal(number)) => {
                    return Ok(Some(format!("by {} before it started", signal_name(number))));
                }
                Err(_) => anyhow::bail!("the agent was not ready within {PREPARE_LONGEST:?}"),
            }
        }
    }

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
                        return Over::part_failed("the agent has stopped reporting".to_owned());
                    }
                };
            let over = match happened {
                RunEvent::Report(Report::Status(status)) => {
                    progress.show(&status.clock);
                    self.seen_ns = self.seen_ns.max(status.clock.virtual_ns);
                    self.catch_up()
                }
                RunEvent::Report(Report::Ask { ask, points, write, at_ns }) => {
                    self.seen_ns = self.seen_ns.max(at_ns);
                    self.answer(ask, &points, write, self.scenario_time(at_ns))
                }
                RunEvent::Report(Report::Arrived) => {
                    Some(Over { how: EndedHow::Complete, reason: String::new() })
                }
                RunEvent::Report(report) => self.note(report),
                RunEvent::Lost(loss) => {
                    self.lose(loss);
                    None
                }
                RunEvent::AgentGone(how) => {
                    self.agent_gone = true;
                    let end = self.agent_end();
                    Some(Over::part_failed(format!("{how}{end}")))
                }
                RunEvent::Signal(number) => {
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

    /// Returns a question to the plant; the run is over if the plant fails.
    fn answer(
        &mut self,
        ask: u64,
        points: &[PointName],
        write: Option<f64>,
        at: VirtualSpan,
    ) -> Option<Over> {
        let grid = self.grid.as_mut().expect("points are checked to belong to a plant");
        let (outcome, over) = match grid.access(points, write, at) {
            Ok(values) => (PlantAnswer::Values(values), None),
            Err(AccessError::Refused(error)) => (PlantAnswer::Error(error.to_string()), None),
            Err(AccessError::Broken(error)) => {
                let reason = format!("the plant failed at {at}: {error:#}");
                (PlantAnswer::Error(reason.clone()), Some(Over::part_failed(reason)))
            }
        };
        self.agent.order(&Order::Answer { ask, outcome });
        over
    }

    /// Records what the agent reports; the run is over if it says so.
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

    /// Stops everything. Returns what the agent had to report at last, if it still could.
    fn stop(&mut self) -> Option<orders::FinalReport> {
        if self.agent_gone {
            return None;
        }
        self.agent.order(&Order::End);
        let nodes = u32::try_from(self.scenario.nodes.len()).unwrap_or(u32::MAX);
        let until = Instant::now() + END_LONGEST + END_LONGEST_PER_NODE * nodes;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(RunEvent::Report(Report::Ended(ended))) => return Some(*ended),
                Ok(RunEvent::Report(Report::Ask { ask, .. })) => {
                    let outcome = PlantAnswer::Error("the run is over".to_owned());
                    self.agent.order(&Order::Answer { ask, outcome });
                }
                Ok(RunEvent::Report(report)) => {
                    // Whatever it is, the run is over already.
                    let _ = self.note(report);
                }
                Ok(RunEvent::Lost(loss)) => self.lose(loss),
                Ok(RunEvent::Signal(_)) => {}
                Ok(RunEvent::AgentGone(_)) => return None,
                Err(_) => {
                    self.warn(None, "the agent did not stop in time and was killed".to_owned());
                    self.agent.kill();
                    return None;
                }
            }
        }
    }

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

    /// Records that a file lacks something, and from when on.
    fn lose(&mut self, loss: Loss) {
        let at = VirtualSpan::from_ns(loss.from_ns);
        self.warn(Some(at), format!("from {at} on {}", loss.reason));
        self.record.losses.push(loss);
        self.account.change();
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
        Happening::Network(plan::EventKind::ArpPoison { attacker, victims: [a, b] }) => {
            format!("{attacker} poisons ARP of {a} and {b}")
        }
        Happening::Set { point, value } => format!("{} = {value} {}", point.0, point.unit()),
        Happening::Network(plan::EventKind::Link { from, to, up }) => {
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

fn progress_line(text: &str) {
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
