//! A scenario after it was read and checked: what the runner, the plant, the network and the
//! verdicts work from. Nothing here is a text to be parsed again, and every cross reference
//! holds; the reader (`read`) is the only place that makes these.
//!
//! Scenario time is zero when the event clock starts, after `settle`; all times here count from
//! there unless they say otherwise.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vtime::{HostSpan, Tdf, VirtualSpan};

use super::problems::Spot;
use super::told::{self, Statistic};
use crate::domain::Freeze;

/// One scenario, in one variant.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name; letters, digits, `-`.
    pub name: String,
    /// One paragraph for the report.
    pub description: String,
    /// The variant chosen, if the scenario has variants.
    pub variant: Option<String>,
    /// Folder of the file; relative paths count from here.
    pub directory: PathBuf,
    /// The file itself.
    pub file: PathBuf,
    /// Virtual length of the run, from scenario time zero.
    pub duration: VirtualSpan,
    /// Virtual time before zero, in which programs start and the plant rests at its first values.
    pub settle: VirtualSpan,
    /// Seed of what is random in programs.
    pub seed: u64,
    /// Time dilation factor.
    pub tdf: Tdf,
    /// When programs are frozen while the clock stands still.
    pub freeze: Freeze,
    /// How long a processor of the host may be silent before the clock stands still; for ever if
    /// `None`.
    pub stall_guard: Option<HostSpan>,
    /// What `CLOCK_REALTIME` shows at scenario time zero, ns since 1970; the host's if `None`.
    pub realtime_ns: Option<i64>,
    /// The simulated grid.
    pub plant: Option<Plant>,
    /// Where programs run, in the order of the file.
    pub nodes: Vec<Node>,
    /// Switches by name.
    pub switches: Vec<String>,
    /// Hosts without programs that attack.
    pub attackers: Vec<Attacker>,
    /// Links between nodes, switches and attackers.
    pub links: Vec<Link>,
    /// Whether frames are kept.
    pub captures: bool,
    /// What happens at which time, sorted by time.
    pub events: Vec<Event>,
    /// What is demanded of the results.
    pub requirements: Vec<Requirement>,
    /// Where that stands which only the engine of the plant can check.
    pub unchecked: Unchecked,
}

/// What only the engine of the plant can say whether it is right, and where it stands.
#[derive(Clone, Debug)]
pub struct Unchecked {
    /// The scenario as the user named it.
    pub file: PathBuf,
    /// The circuit, if there is a plant.
    pub circuit: Option<Spot>,
    /// Points, in all variants.
    pub points: Vec<Mention>,
}

/// A point that the scenario names.
#[derive(Clone, Debug)]
pub struct Mention {
    /// The point.
    pub point: PointName,
    /// Where.
    pub spot: Spot,
    /// Whether something sets it.
    pub written: bool,
    /// The value that it is set to, and where that stands.
    pub value: Option<(f64, Spot)>,
}

/// The simulated grid: OpenDSS in duty mode.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Circuit file (absolute).
    pub circuit: PathBuf,
    /// Step of the simulation; a whole number of milliseconds.
    pub step: VirtualSpan,
    /// Inputs that follow recorded data.
    pub profiles: Vec<Profile>,
    /// Time between recorded rows; a multiple of `step`.
    pub record_every: VirtualSpan,
    /// Points to record, in the order of the file.
    pub record: Vec<PointName>,
    /// The share of a requirement's window in which the plant may fail to converge.
    pub unconverged_share: f64,
}

/// A table of values over time, each column of which drives a point (sample and hold).
#[derive(Clone, Debug)]
pub struct Profile {
    /// CSV file (absolute).
    pub file: PathBuf,
    /// The column with the time in seconds.
    pub time_column: String,
    /// Column to point.
    pub columns: BTreeMap<String, PointName>,
}

/// One input or output of the plant: `bus.680.v1` (phase-to-neutral volts), `load.d611.kW`,
/// `generator.wind.kW`, `storage.es.kW`. Compared without case; written as in the scenario.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PointName(pub String);

/// A place where programs run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Address and prefix length of its interface `eth0`, if it is linked.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Points served to its programs as files.
    pub files: Vec<PointFile>,
    /// Programs, in the order in which they start.
    pub programs: Vec<Program>,
}

/// A point served as a file below `/plant`: `/plant/<point>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointFile {
    /// The point.
    pub point: PointName,
    /// Whether programs may write it.
    pub writable: bool,
    /// Virtual time that a read takes; the value is that of the moment of asking.
    #[serde(with = "span_ns")]
    pub latency: VirtualSpan,
}

/// A program of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Name, unique in the scenario.
    pub name: String,
    /// Program and arguments; the program is absolute and was there when the scenario was read.
    pub command: Vec<String>,
    /// Variables set in addition to a minimal environment.
    pub environment: BTreeMap<String, String>,
    /// What its end means.
    pub on_exit: OnExit,
}

/// What the end of a program means for the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExit {
    /// The run ends, with the reason.
    Fail,
    /// The run goes on; the report says so.
    Ignore,
}

/// A host without programs that attacks when an event says so.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attacker {
    /// Name.
    pub name: String,
}

/// A link, the same in both directions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    /// One end: the name of a node, switch or attacker.
    pub from: String,
    /// The other end.
    pub to: String,
    /// Propagation delay, each way.
    #[serde(with = "span_ns")]
    pub delay: VirtualSpan,
    /// Rate in bits per virtual second; unlimited if `None`.
    pub rate_bps: Option<u64>,
    /// Frames that may wait in each direction; further ones are dropped and counted.
    pub queue: usize,
}

/// Something that happens to the testbed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Scenario time.
    #[serde(with = "span_ns")]
    pub at: VirtualSpan,
    /// What happens.
    pub what: Happening,
}

/// What an event does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Happening {
    /// The attacker answers ARP for both victims, so that their frames for each other reach it,
    /// and drops them.
    ArpPoison {
        /// Name of the attacker.
        attacker: String,
        /// Names of the two nodes.
        victims: [String; 2],
    },
    /// A point of the plant gets a value.
    Set {
        /// The point.
        point: PointName,
        /// The value, in the point's unit.
        value: f64,
    },
    /// A link goes down or comes up.
    Link {
        /// One end.
        from: String,
        /// The other end.
        to: String,
        /// Whether frames pass from now on.
        up: bool,
    },
}

/// A bound on something measured.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// A sentence for the verdict table.
    pub name: String,
    /// What is measured.
    pub measure: Measure,
    /// Smallest value that meets it, in the unit of the measure.
    pub at_least: Option<f64>,
    /// Largest value that meets it.
    pub at_most: Option<f64>,
    /// What disturbs its verdict.
    pub disturbed: Disturbed,
}

/// What disturbs a verdict.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Disturbed {
    /// How long programs may be kept from acting; a tenth of the requirement's scale if `None`.
    #[serde(default, with = "span_ns_or_none")]
    pub above: Option<VirtualSpan>,
    /// The nodes whose programs count; all if `None`.
    #[serde(default)]
    pub nodes: Option<Vec<String>>,
}

/// What a requirement measures. Windows are `[from, to)` in scenario time.
#[derive(Clone, Debug)]
pub enum Measure {
    /// The smallest value of a point, in its unit.
    Minimum(PointName, Window),
    /// The largest value of a point.
    Maximum(PointName, Window),
    /// The first time (s) at which a point lies below a value.
    FirstBelow(PointName, f64, Window),
    /// The last time (s) at which a point lies below a value.
    LastBelow(PointName, f64, Window),
    /// How many recorded rows differ from the row before (count).
    Changes(PointName, Window),
    /// Frames with TCP or UDP payload from one node that reached another (count).
    Received {
        /// Name of the sending node (by its MAC and address).
        from: String,
        /// Name of the receiving node.
        to: String,
        /// When.
        window: Window,
    },
    /// The longest time (ms) between two frames with payload that one node sends to a TCP or UDP
    /// port of another.
    LongestGap {
        /// Name of the sending node.
        from: String,
        /// Name of the receiving node.
        to: String,
        /// Port at the receiving node.
        port: u16,
        /// Where the frames are looked at.
        at: End,
        /// When.
        window: Window,
    },
    /// A statistic of the numbers that a program tells, in ms where they are times.
    Told {
        /// Member of the JSON objects that it prints.
        member: String,
        /// Name of the program.
        program: String,
        /// What is drawn from them.
        statistic: Statistic,
        /// Only those above this.
        above: Option<f64>,
        /// When they were printed.
        window: Window,
    },
}

/// An end of a flow: what was sent need not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Where the sender is linked.
    #[default]
    Sender,
    /// Where the receiver is linked.
    Receiver,
}

impl End {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// A window of scenario time; open where `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// Begin.
    pub from: Option<VirtualSpan>,
    /// End, not included.
    pub to: Option<VirtualSpan>,
}

impl Measure {
    /// Whether it looks at what this program writes.
    #[must_use]
    pub fn reads(&self, name: &str) -> bool {
        matches!(self, Self::Told { program, .. } if program == name)
    }

    /// The unit of what is measured, as written in reports.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Minimum(point, _) | Self::Maximum(point, _) => point.unit(),
            Self::FirstBelow(..) | Self::LastBelow(..) => "s",
            Self::Changes(..) | Self::Received { .. } => "",
            Self::LongestGap { .. } => "ms",
            Self::Told { statistic: Statistic::Count, .. } => "",
            Self::Told { member, .. } => told::unit(member),
        }
    }
}

impl PointName {
    /// The unit of a point, from its last part.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.0.rsplit('.').next().map(str::to_ascii_lowercase).as_deref() {
            Some("kw") => "kW",
            Some("kvar") => "kvar",
            Some("v1" | "v2" | "v3") => "V",
            Some("i1" | "i2" | "i3") => "A",
            _ => "",
        }
    }
}

/// Spans of virtual time as nanoseconds, in messages to agents.
pub(crate) mod span_ns {
    use serde::{Deserialize, Deserializer, Serializer};
    use vtime::VirtualSpan;

    pub(crate) fn serialize<S: Serializer>(span: &VirtualSpan, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(span.as_ns())
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<VirtualSpan, D::Error> {
        i64::deserialize(from).map(VirtualSpan::from_ns)
    }
}

/// As [`span_ns`], one where there may be none.
pub(crate) mod span_ns_or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use vtime::VirtualSpan;

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<VirtualSpan>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(VirtualSpan::as_ns).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Option<VirtualSpan>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(VirtualSpan::from_ns))
    }
}
