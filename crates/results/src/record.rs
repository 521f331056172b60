//! `run.json`: everything about a run that is not a series, a capture or a log.
//!
//! The runner writes it when the run begins, with `ended.how` = `unfinished`, while it goes on, and
//! at the end. A folder that says `unfinished` is therefore one whose run is still going or was killed,
//! and says how it stood a moment before.
//! Times are scenario time in nanoseconds unless the name says otherwise.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disturbance::Disturbance;
use super::doubt::{Loss, LostHost, PlantRecord};
use super::verdict::Verdict;
use domain::{Keeping, Pace, PaceStatus, Stalls};
use report_kit::figure::figure;
use report_kit::machine::{Machine, Versions};
use runtime::intervention::Intervention;
use scenario::model::{Node, Order, Requirement, Scenario, Sync};

/// Version of the format; raised when old readers would misread a new file.
pub const FORMAT: u32 = 1;

/// All of `run.json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunRecord {
    pub format: u32,
    pub scenario: ScenarioRecord,
    /// Scenario time the run reached; files may end earlier.
    pub covered_ns: i64,
    /// Host time of the start, UTC, RFC 3339.
    pub started: String,
    /// What `CLOCK_REALTIME` showed at scenario time zero, ns since 1970.
    pub realtime_zero_ns: i64,
    pub ended: RunEnd,
    pub versions: Versions,
    pub machine: Machine,
    /// Where wall time went; absent while unfinished.
    pub wall: Option<WallAccount>,
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Variables of the host that programs were given.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The hosts that nodes ran on, if the scenario names some; [`Self::machine`] is where the plant was and the results
    /// came together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
    /// Those of them without which the run went on, as the scenario allows, in the order in which they were lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_hosts: Vec<LostHost>,
    /// Programs, in the order of the scenario.
    pub programs: Vec<ProgramRecord>,
    /// Counters of links and switches, as the network gives them.
    #[serde(default)]
    pub network: serde_json::Value,
    /// How programs were frozen during holds, as the agent gives it.
    #[serde(default)]
    pub freeze: serde_json::Value,
    /// What kept programs from acting in time; absent if nobody watched.
    #[serde(default)]
    pub disturbances: Option<DisturbanceRecord>,
    /// What others did to the domain through its socket, as it happened.
    #[serde(default)]
    pub interventions: Vec<Intervention>,
    /// What the plant did; absent without one.
    #[serde(default)]
    pub plant: Option<PlantRecord>,
    #[serde(default)]
    pub losses: Vec<Loss>,
    /// What one should look at before trusting the result.
    pub warnings: Vec<String>,
    /// Empty while the run is unfinished.
    pub verdicts: Vec<Verdict>,
}

/// A host that nodes ran on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostRecord {
    pub name: String,
    /// What ssh(1) was called with to reach it; absent for the machine where the run was started.
    pub ssh: Option<String>,
    /// Where other hosts reached it; absent where none did.
    pub address: Option<IpAddr>,
    pub machine: Machine,
    /// Variables of it that programs there were given.
    pub environment: BTreeMap<String, String>,
    pub nodes: Vec<String>,
    /// Who saw the edges of the signal bus there: `module`, the kernel module, or `lines`, the agent; absent without
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
}

/// The scenario as far as results need it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScenarioRecord {
    pub name: String,
    pub variant: Option<String>,
    /// What it is about, in one paragraph.
    pub description: String,
    /// The file, as it was named.
    pub file: String,
    /// SHA-256 of its text, in hexadecimal, as `sha256sum` prints it.
    pub sha256: String,
    pub seed: u64,
    /// Time dilation factor that was asked for: host seconds per virtual second. What it was at which
    /// time is known with [`RunRecord::interventions`].
    pub tdf: f64,
    /// How time was to pass.
    #[serde(default)]
    pub pace: Pace,
    /// How the clocks of several hosts were to be kept one.
    #[serde(default)]
    pub sync: Sync,
    /// Which nodes were to run at the same instant, with [`Pace::Events`].
    #[serde(default)]
    pub order: Order,
    /// Virtual time that nodes were to compute at each wake-up, in nanoseconds, with [`Pace::Events`]; of
    /// those that were to compute at all.
    #[serde(default)]
    pub per_wakeup_ns: BTreeMap<String, i64>,
    /// Virtual seconds that each second of processor time was to take, by node, with [`Pace::Events`]; of those
    /// where it was to take any.
    #[serde(default)]
    pub per_processor_time: BTreeMap<String, f64>,
    /// Virtual time before zero.
    pub settle_ns: i64,
    /// Planned virtual length from zero.
    pub duration_ns: i64,
    pub nodes: BTreeMap<String, Option<Ipv4Addr>>,
    /// What happened to the testbed, in the order of time.
    pub events: Vec<EventRecord>,
    pub requirements: Vec<Requirement>,
}

/// Something that happened to the testbed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventRecord {
    pub at_ns: i64,
    /// What, in a few words: they stand beside a marker in charts.
    pub what: String,
}

/// What kept programs from acting in time, in summary; `disturbances.csv` has it in full.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DisturbanceRecord {
    /// Scenario time up to which it is known.
    pub watched_to_ns: i64,
    /// Who was kept from acting and why, most time lost first.
    pub parties: Vec<PartyRecord>,
    /// The longest delays, for a first look.
    pub longest: Vec<Disturbance>,
    /// How busy the host was meanwhile; absent if it does not say.
    pub host: Option<HostLoad>,
}

/// Who was kept from acting, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartyRecord {
    /// Node of the program; `None` for the testbed itself.
    pub node: Option<String>,
    pub who: String,
    pub cause: super::disturbance::Cause,
    /// Number of its lines in `disturbances.csv`.
    pub count: u64,
    /// Virtual time of its longest delay.
    pub longest_ns: i64,
    /// Virtual time of all its delays.
    pub lost_ns: i64,
}

/// Processor time of the host while a run went on.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostLoad {
    pub processors: usize,
    /// How many of them were busy, on average.
    pub busy: f64,
    /// How many of those with this run, on average.
    pub busy_with_run: f64,
    /// How many were taken away by a hypervisor, on average.
    pub stolen: f64,
}

/// A file that a run was made of. Who has all of them with the same hashes can run it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Input {
    /// Where it was, absolute.
    pub file: String,
    pub role: Role,
    /// SHA-256 of its octets, in hexadecimal, as `sha256sum` prints it; absent if it could not be read.
    pub sha256: Option<String>,
    pub octets: u64,
    /// Its copy in the folder of the run, if copies were asked for.
    #[serde(default)]
    pub copy: Option<String>,
}

/// What a file is to the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Scenario,
    /// The circuit, or what it redirects to or reads.
    Circuit,
    /// Values that drive the plant.
    Data,
    /// A program, or what interprets it.
    Program,
    /// An argument of a program that is the name of a file.
    Argument,
}

impl Input {
    /// A file with its hash and length, as far as they could be found.
    pub fn of(file: &Path, role: Role, hash: std::io::Result<(String, u64)>) -> Self {
        let (sha256, octets) = hash.map_or((None, 0), |(hash, octets)| (Some(hash), octets));
        Self { file: file.display().to_string(), role, sha256, octets, copy: None }
    }
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunEnd {
    pub how: EndedHow,
    /// In a sentence; empty when complete.
    pub reason: String,
}

/// How a run ended, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedHow {
    /// It has not: the run still goes on, or was killed.
    #[default]
    Unfinished,
    /// The planned length was reached.
    Complete,
    /// A part died that the scenario needs.
    PartFailed,
    /// Ctrl-C or a signal.
    Interrupted,
    Error,
}

impl EndedHow {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unfinished => "not finished: still running, or killed",
            Self::Complete => "complete",
            Self::PartFailed => "ended early: a part failed",
            Self::Interrupted => "interrupted",
            Self::Error => "ended with an error",
        }
    }
}

/// Where wall time went. The parts may overlap: programs run on several cores, and the plant may
/// compute while the clock is held.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WallAccount {
    /// Host seconds from first to last.
    pub total_s: f64,
    /// Virtual seconds, settle included.
    pub virtual_s: f64,
    /// Host seconds in which the plant computed.
    pub plant_s: f64,
    /// Host seconds in which the clock was held.
    pub holds_s: f64,
    pub holds: u64,
    /// Stalls of the host that were kept out of virtual time, as part of `holds_s` but not of
    /// `holds`; absent without a guard.
    #[serde(default)]
    pub stalls: Option<Stalls>,
    /// How virtual time passed.
    #[serde(default)]
    pub pace: PaceStatus,
    pub reads: Option<ReadAccount>,
    pub agent_cpu_s: f64,
    pub programs_cpu_s: BTreeMap<String, f64>,
}

/// What is not seen of processor time is notable from so many seconds and this share on: each program begins and
/// ends with some milliseconds that are not.
const UNSEEN_MIN_S: f64 = 0.1;
const UNSEEN_SHARE_MIN: f64 = 0.1;

impl WallAccount {
    /// Host seconds per virtual second; `None` for a run that had no time.
    pub fn ratio(&self) -> Option<f64> {
        (self.virtual_s > 0.0).then(|| self.total_s / self.virtual_s)
    }

    /// Nodes whose programs have used notably more processor time than was seen, where that takes virtual time, with
    /// the share that was not: of processes that had ended before they were looked at.
    pub fn unseen(&self, programs: &[ProgramRecord]) -> Vec<(String, f64)> {
        // Whatever the clock ran for, what is used meanwhile is not charged.
        let ran_ns: i64 = self.pace.kept_ns.ns().values().sum();
        let of_node = |node: &str| -> f64 {
            let here = programs.iter().filter(|program| program.node == node);
            here.filter_map(|program| self.programs_cpu_s.get(&program.name)).sum()
        };
        let unseen = self.pace.computed.iter().filter_map(|(node, computed)| {
            let used_s = of_node(node) - ran_ns as f64 / 1e9;
            let unseen_s = used_s - computed.processor_ns as f64 / 1e9;
            (unseen_s > UNSEEN_MIN_S && unseen_s > UNSEEN_SHARE_MIN * used_s)
                .then(|| (node.clone(), unseen_s / used_s))
        });
        unseen.collect()
    }

    /// Seconds of processor time of programs that took no virtual time, at most; `None` where computing takes
    /// time.
    pub fn untimed_s(&self) -> Option<f64> {
        let timed_ns = self.pace.kept_ns.ns().get(&Keeping::Program).copied().unwrap_or(0);
        // The sum of none would be -0.
        let computed_s = self.programs_cpu_s.values().fold(0.0, |sum, each| sum + each);
        let untimed_s = (computed_s - timed_ns as f64 / 1e9).max(0.0);
        let charged_ns: u64 = self.pace.computed.values().map(|one| one.processor_ns).sum();
        let untimed_s = (untimed_s - charged_ns as f64 / 1e9).max(0.0);
        (self.pace.pace == Pace::Events).then_some(untimed_s)
    }
}

/// Host time that reads of plant points took.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReadAccount {
    pub count: u64,
    pub median_us: f64,
    /// 99th percentile, in microseconds.
    pub p99_us: f64,
}

/// A program and how it ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// Its output is in `programs/<name>.log`.
    pub name: String,
    pub node: String,
    pub command: Vec<String>,
    pub end: ProgramEnd,
    /// Scenario time of its start; absent if it was not started, as far as is known.
    #[serde(default)]
    pub started_ns: Option<i64>,
    /// Scenario time of its end, if it ended before the run.
    pub ended_ns: Option<i64>,
    /// What one should look at before trusting the result.
    pub warnings: Vec<String>,
    /// The last lines that it wrote, where it failed; all are in its log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
}

/// How a program ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum ProgramEnd {
    NotStarted,
    /// It was about to be started when this was written.
    Starting,
    /// It ran when this was written.
    Running,
    /// It ran until the runner stopped it at the end of the run.
    Stopped,
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
    },
    /// Its host was lost, and the run went on.
    HostLost,
}

impl std::fmt::Display for ProgramEnd {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotStarted => write!(out, "not started"),
            Self::Starting => write!(out, "about to start when the record was last written"),
            Self::Running => write!(out, "running when the record was last written"),
            Self::Stopped => write!(out, "ran to the end of the run"),
            Self::Exited { code } => write!(out, "exited with {code}"),
            Self::Killed { signal } => write!(out, "ended by signal {signal}"),
            Self::HostLost => write!(out, "gone with its host"),
        }
    }
}

impl RunRecord {
    /// A record of a run that begins now; the caller fills in the rest as it goes.
    pub fn begin(scenario: ScenarioRecord, realtime_zero_ns: i64, versions: Versions) -> Self {
        Self {
            format: FORMAT,
            scenario,
            started: report_kit::machine::utc_now(),
            realtime_zero_ns,
            versions,
            machine: Machine::here(),
            ..Self::default()
        }
    }
}

/// Name of a node that computes at each wake-up, and for how long.
fn per_wakeup_ns(node: &Node) -> Option<(String, i64)> {
    let ns = node.compute.per_wakeup.as_ns();
    (ns > 0).then(|| (node.name.clone(), ns))
}

/// Name of a node where processor time takes virtual time, and how much of it.
fn per_processor_time(node: &Node) -> Option<(String, f64)> {
    let millionths = node.compute.per_processor_time_millionths;
    (millionths > 0).then(|| (node.name.clone(), f64::from(millionths) / 1e6))
}

impl ScenarioRecord {
    /// What results need of a scenario. `text` is the text of its file; `events` are described
    /// in words by the caller, who knows which of them came to pass.
    pub fn new(scenario: &Scenario, text: &[u8], events: Vec<EventRecord>) -> Self {
        let address = |node: &Node| node.address.map(|(address, _)| address);
        Self {
            name: scenario.name.clone(),
            variant: scenario.variant.clone(),
            description: scenario.description.clone(),
            file: scenario.file.display().to_string(),
            sha256: report_kit::machine::sha256(text),
            seed: scenario.seed,
            tdf: scenario.tdf.millionths() as f64 / 1e6,
            pace: scenario.pace,
            sync: scenario.hosts.as_ref().map(|hosts| hosts.sync).unwrap_or_default(),
            order: scenario.order,
            per_wakeup_ns: scenario.nodes.iter().filter_map(per_wakeup_ns).collect(),
            per_processor_time: scenario.nodes.iter().filter_map(per_processor_time).collect(),
            settle_ns: scenario.settle.as_ns(),
            duration_ns: scenario.duration.as_ns(),
            nodes: scenario.nodes.iter().map(|n| (n.name.clone(), address(n))).collect(),
            events,
            requirements: scenario.requirements.clone(),
        }
    }

    /// How time was to pass, in words.
    pub(crate) fn pace_words(&self) -> String {
        let mut words = self.pace.to_string();
        if self.sync == Sync::Free {
            words += ", the clock of each host by itself";
        }
        if self.pace == Pace::Events {
            if self.order == Order::OneNodeAtATime {
                words += ", one node at a time";
            }
            for (node, ns) in &self.per_wakeup_ns {
                let us = figure(*ns as f64 / 1e3);
                words += &format!(", {node} computes {us} us at each wake-up");
            }
            for (node, factor) in &self.per_processor_time {
                let factor = figure(*factor);
                words += &format!(", processor time of {node} takes {factor} times as long");
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Computed;

    #[test]
    fn processor_time_that_nobody_has_seen_is_told_from_a_tenth_on() {
        let program = |name: &str, node: &str| ProgramRecord {
            name: name.into(),
            node: node.into(),
            command: Vec::new(),
            end: ProgramEnd::Running,
            started_ns: None,
            ended_ns: None,
            warnings: Vec::new(),
            last_words: Vec::new(),
        };
        let programs = [program("a", "board"), program("b", "board"), program("c", "other")];
        let mut wall = WallAccount {
            programs_cpu_s: [("a".into(), 0.75), ("b".into(), 0.25), ("c".into(), 5.0)].into(),
            ..WallAccount::default()
        };
        assert_eq!(wall.unseen(&programs), []);
        for (seen_s, expected) in [(0.95, None), (0.75, Some(0.25)), (0.0, Some(1.0))] {
            let computed = Computed { processor_ns: (seen_s * 1e9) as u64, took_ns: 0 };
            wall.pace.computed = [("board".to_owned(), computed)].into();
            let unseen = wall.unseen(&programs);
            assert_eq!(unseen.first().map(|(_, share)| *share), expected, "{unseen:?}");
        }
    }

    #[test]
    fn order_and_computing_are_told_where_they_count() {
        let mut scenario = ScenarioRecord {
            pace: Pace::Events,
            order: Order::OneNodeAtATime,
            per_wakeup_ns: [("board".to_owned(), 50_500)].into(),
            per_processor_time: [("relay".to_owned(), 2.5)].into(),
            ..ScenarioRecord::default()
        };
        let told = "events, one node at a time, board computes 50.5 us at each wake-up, \
                    processor time of relay takes 2.5 times as long";
        assert_eq!(scenario.pace_words(), told);
        scenario.pace = Pace::Skip;
        assert_eq!(scenario.pace_words(), "skip");
    }
}
