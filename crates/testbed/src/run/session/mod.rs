//! The course of a run: prepare, begin, answer until it is over, stop, judge.
//!
//! - [`begin`]: until everything is there
//! - [`programs`]: what becomes of its programs
//! - [`lost`]: what becomes of it when a host is lost
//! - [`conclude`]: what there is to say of it

mod begin;
mod conclude;
mod lost;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use vtime::VirtualSpan;

use crate::nodes::kept::kept;
use crate::nodes::needs::Needs;
use crate::nodes::orders::{Order, PlantAnswer, Report};
use crate::run::account::Account;
use crate::run::agent_process::AgentProcess;
use crate::run::disturbances::{self, Disturbances};
use crate::run::engine;
use crate::run::event::{EventsOf, Happened, RunEvent};
use crate::run::failure::Failure;
use crate::run::far_agent::{self, Capture, Captures};
use crate::run::grid::{AccessError, Grid};
use crate::run::inputs::Inputs;
use crate::run::interrupt::Interrupt;
use crate::run::log::Log;
use crate::run::outputs::Outputs;
use crate::run::parts::{self, Part, Stage};
use crate::run::progress::Progress;
use crate::run::trust;
use network::plan;
use os::signals;
use os::sockets::Folder;
use plant::name::PointName;
use report_kit::machine::Versions;
use results::doubt::Loss;
use results::record::{EndedHow, EventRecord, ProgramEnd, ProgramRecord, RunEnd, ScenarioRecord};
use results::{RunFolder, RunRecord};
use runtime::agent::registry;
use scenario::model::{Event, Happening, Scenario};
use terminal::exit::Exit;

/// How long an agent may take to stop everything.
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
    parts::needs_here(scenario).map_or(Ok(()), Needs::check).map_err(Failure::Setup)?;
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
        Some(plan) => Some(Grid::open(scenario, plan, &engine::folders())?),
        None => None,
    };
    let folder = RunFolder::create(&options.runs, &scenario.name).map_err(Failure::Setup)?;
    let mut inputs = Inputs::of(scenario);
    if options.copy_inputs {
        inputs.copy(&folder).map_err(Failure::Setup)?;
    }
    let parts = start(scenario, &folder, sockets, &sender).map_err(Failure::Setup)?;
    let session =
        Session::new(scenario, grid, (folder, inputs), parts, events).map_err(Failure::Setup)?;
    session.run(options)
}

/// Starts an agent on each host.
fn start(
    scenario: &Scenario,
    folder: &RunFolder,
    sockets: &Path,
    events: &Sender<RunEvent>,
) -> anyhow::Result<Vec<Part>> {
    let hosts = scenario
        .hosts
        .as_ref()
        .map_or_else(|| vec![None], |hosts| hosts.all.iter().cloned().map(Some).collect());
    let is_far = hosts.iter().flatten().any(|host| host.ssh.is_some());
    let carried = is_far.then(far_agent::carried).transpose()?.map(Arc::new);
    let mut parts = Vec::new();
    for (number, host) in hosts.into_iter().enumerate() {
        let nodes = || scenario.nodes_on(number);
        let outputs = Outputs::create(folder, nodes(), scenario.settle)?;
        let events = EventsOf { host: number, to: events.clone() };
        let target = host.as_ref().and_then(|host| host.ssh.as_ref());
        let agent = match target.zip(carried.as_ref()) {
            None => AgentProcess::start(sockets, events, outputs)?,
            Some((target, carried)) => {
                let names = parts::captured(scenario, number).into_iter();
                let wanted =
                    names.filter(|_| scenario.captures && !scenario.network.links.is_empty());
                let wanted = wanted.map(|name| Capture {
                    name: RunFolder::capture_name(name),
                    path: folder.capture_path(name),
                });
                let begin_ns = -scenario.settle.as_ns();
                let host = host.as_ref().map_or_else(String::new, |host| host.name.clone());
                let captures = Captures { wanted: wanted.collect(), begin_ns, host };
                let needs = Needs::of(nodes());
                far_agent::start(target, carried, needs, events, outputs, captures)?
            }
        };
        parts.push(Part::new(host, agent));
    }
    Ok(parts)
}

struct Session<'s> {
    scenario: &'s Scenario,
    grid: Option<Grid>,
    folder: RunFolder,
    parts: Vec<Part>,
    events: Receiver<RunEvent>,
    inputs: Inputs,
    log: Log,
    record: RunRecord,
    account: Account,
    disturbances: Disturbances,
    /// How far the clock had come when an agent last said so, in time of the domain.
    seen_ns: i64,
    /// Whether it goes on: programs run, and it is not over.
    goes_on: bool,
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
        parts: Vec<Part>,
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
        record.environment = kept();
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
        let disturbances = Disturbances::create(&folder, scenario.settle, parts.len())?;
        Ok(Self {
            disturbances,
            scenario,
            grid,
            folder,
            parts,
            events,
            inputs,
            log,
            record,
            account: Account::new(),
            seen_ns: 0,
            goes_on: false,
            cpu_s: BTreeMap::new(),
            begun: Instant::now(),
        })
    }

    fn run(mut self, options: &Options) -> Result<(Exit, bool), Failure> {
        let name = self.folder.name();
        self.log.line(None, &format!("run {name} of {}", self.scenario.file.display()));
        match self.prepare(&name) {
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
        self.goes_on = true;
        self.order_all(&Order::Begin);
        let mut progress =
            Progress::new(seconds(self.scenario.settle), seconds(self.scenario.duration));
        let over = self.attend(&mut progress);
        self.goes_on = false;
        self.log.line(None, &format!("over: {}{}", over.how.words(), colon(&over.reason)));
        let wall_s = self.begun.elapsed().as_secs_f64();
        self.stop();
        self.hear_out();
        progress.finish();
        let exit = self.conclude(over, wall_s, options).map_err(Failure::Setup)?;
        Ok(exit)
    }

    fn not_begun(&mut self, how: EndedHow, reason: String) {
        self.log.line(None, &reason);
        self.record.ended = RunEnd { how, reason };
        // Why there was none is what matters, and the user sees it.
        let _ = self.folder.write_record(&self.record);
    }

    fn attend(&mut self, progress: &mut Progress) -> Over {
        let mut next_look = Instant::now();
        loop {
            self.keep_account();
            if Instant::now() >= next_look {
                self.ask_how_it_stands();
                next_look = Instant::now() + Progress::interval();
            }
            let until = next_look.min(self.account.due());
            let happened =
                match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(happened) => happened,
                    Err(RecvTimeoutError::Timeout) => match self.last_one_is_silent() {
                        Some(over) => return over,
                        None => continue,
                    },
                    Err(RecvTimeoutError::Disconnected) => {
                        return Over::part_failed("the agent has stopped reporting".to_owned());
                    }
                };
            let over = match happened {
                // What it says counts no more.
                RunEvent::At(host, _) if self.parts[host].lost.is_some() => None,
                RunEvent::At(host, Happened::Report(report)) => {
                    match trust::wrong(self.scenario, host, &report) {
                        Some(text) => Some(Over::part_failed(self.parts[host].says(&text))),
                        None => self.heard(host, *report, progress),
                    }
                }
                RunEvent::Lost(loss) => {
                    self.lose(loss);
                    None
                }
                RunEvent::At(host, Happened::AgentGone(how)) => self.gone_at(host, &how),
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

    /// Records what the agent of a host reports while the run goes on; the run is over if it says so.
    fn heard(&mut self, host: usize, report: Report, progress: &mut Progress) -> Option<Over> {
        match report {
            Report::Status(status) => {
                self.seen_ns = self.seen_ns.max(status.clock.virtual_ns);
                self.parts[host].virtual_ns = status.clock.virtual_ns;
                self.parts[host].asked_at = None;
                // Who is last is as far as all are.
                if self.present().all(|part| part.virtual_ns >= status.clock.virtual_ns) {
                    progress.show(&status.clock);
                }
                self.catch_up()
            }
            Report::Ask { ask, points, write, at_ns } => {
                self.seen_ns = self.seen_ns.max(at_ns);
                self.answer((host, ask), &points, write, self.scenario_time(at_ns))
            }
            Report::Arrived => {
                self.parts[host].stage = Stage::Arrived;
                self.have_all_arrived()
            }
            report => self.note(host, report),
        }
    }

    fn have_all_arrived(&self) -> Option<Over> {
        let have = self.present().all(|part| part.stage == Stage::Arrived);
        have.then(|| Over { how: EndedHow::Complete, reason: String::new() })
    }

    /// The agents that are not lost.
    fn present(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.lost.is_none())
    }

    /// Brings the plant on where nobody has asked for it for long; the run is over if it fails.
    fn catch_up(&mut self) -> Option<Over> {
        // Whoever is behind may still ask for what is then.
        let reached_ns = self.present().map(|part| part.virtual_ns).min().unwrap_or(0);
        let now = self.scenario_time(reached_ns);
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
        (host, ask): (usize, u64),
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
        self.parts[host].agent.order(&Order::Answer { ask, outcome });
        over
    }

    /// Records what the agent of a host reports; the run is over if it says so.
    fn note(&mut self, host: usize, report: Report) -> Option<Over> {
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
                if let Some(text) = self.parts[host].warns(&text) {
                    self.warn(None, text);
                }
                None
            }
            Report::Watched { to_ns, disturbances } => {
                if let Some(text) = self.disturbances.note(host, to_ns, disturbances) {
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
            Report::Lost { host: lost, reason, wrong } => {
                let text = self.parts[host].says(&reason);
                self.silent_or_wrong(lost, text, wrong)
            }
            Report::Died { reason } => {
                let text = self.parts[host].says(&reason);
                match self.goes_on_without(host, &text) {
                    Some(over) => over,
                    None => Some(Over::part_failed(text)),
                }
            }
            Report::Failed { reason } => Some(Over::part_failed(self.parts[host].says(&reason))),
            _ => None,
        }
    }

    /// Stops everything, and hears what agents have to report at last, if they still can.
    fn stop(&mut self) {
        self.order_all(&Order::End);
        let nodes = u32::try_from(self.scenario.nodes.len()).unwrap_or(u32::MAX);
        let until = Instant::now() + END_LONGEST + END_LONGEST_PER_NODE * nodes;
        while self.parts.iter().any(Part::is_awaited) {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                // The run is over already, whatever an agent says that cannot be.
                Ok(RunEvent::At(host, Happened::Report(report)))
                    if trust::wrong(self.scenario, host, &report).is_some() => {}
                Ok(RunEvent::At(host, Happened::Report(report))) => match *report {
                    Report::Ended(ended) => self.parts[host].last = Some(*ended),
                    Report::Ask { ask, .. } => {
                        let outcome = PlantAnswer::Error("the run is over".to_owned());
                        self.parts[host].agent.order(&Order::Answer { ask, outcome });
                    }
                    report => {
                        // Whatever it is, the run is over already.
                        let _ = self.note(host, report);
                    }
                },
                Ok(RunEvent::At(host, Happened::AgentGone(_))) => self.parts[host].is_gone = true,
                Ok(RunEvent::Lost(loss)) => self.lose(loss),
                Ok(RunEvent::Signal(_)) => {}
                Err(_) => return self.kill_those_awaited(),
            }
        }
    }

    fn kill_those_awaited(&mut self) {
        let mut texts = Vec::new();
        for part in self.parts.iter_mut().filter(|part| part.is_awaited()) {
            texts.push(part.says("the agent did not stop in time and was killed"));
            part.agent.kill();
            part.is_gone = true;
        }
        texts.into_iter().for_each(|text| self.warn(None, text));
    }

    fn order_all(&mut self, order: &Order) {
        self.parts.iter_mut().for_each(|part| part.agent.order(order));
    }

    fn ask_how_it_stands(&mut self) {
        self.order_all(&Order::Status);
        let now = Instant::now();
        self.parts.iter_mut().for_each(|part| _ = part.asked_at.get_or_insert(now));
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

    /// Notes that an agent is gone. Returns what to say of that.
    fn agent_gone(&mut self, host: usize, how: &str) -> String {
        let part = &mut self.parts[host];
        part.is_gone = true;
        let end = part.agent.end_in_words();
        part.says(&format!("{how}{end}"))
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
