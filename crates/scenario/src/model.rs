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

use super::told::{self, Statistic};
use ::network::plan::{self, Plan as Network};
use ::plant::name::PointName;
use runtime::domain::Freeze;
use runtime::span_ns;
use settings::problems::Spot;

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
    /// Path of the scenario's file.
    pub file: PathBuf,
    /// Virtual length of the run, from scenario time zero.
    pub duration: VirtualSpan,
    /// Virtual time before zero, in which programs start and the plant rests at its first values.
    pub settle: VirtualSpan,
    /// Seed of what is random in programs.
    pub seed: u64,
    /// Time dilation factor: host seconds per virtual second.
    pub tdf: Tdf,
    /// When programs are frozen while the clock is stopped.
    pub freeze: Freeze,
    /// How long a processor of the host may be silent before the clock is stopped; for ever if
    /// `None`.
    pub stall_guard: Option<HostSpan>,
    /// What `CLOCK_REALTIME` shows at scenario time zero, ns since 1970; the host's if `None`.
    pub realtime_ns: Option<i64>,
    /// The simulated grid, and what is recorded of it.
    pub plant: Option<::plant::plan::Plan>,
    /// Where programs run, in the order of the file.
    pub nodes: Vec<Node>,
    /// Links between nodes, switches and attackers, and what happens to them.
    pub network: Network,
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
    /// The point that is named.
    pub point: PointName,
    /// Where the scenario names it.
    pub spot: Spot,
    /// Whether something sets it.
    pub written: bool,
    /// The value that it is set to, and where that stands.
    pub value: Option<(f64, Spot)>,
}

/// A place where programs run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Name of the node, also on the network.
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
    /// The point that the file shows.
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

/// Something that happens to the testbed.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// When it happens, in scenario time.
    pub at: VirtualSpan,
    /// What the testbed does then.
    pub what: Happening,
}

/// What an event does.
#[derive(Clone, PartialEq, Debug)]
pub enum Happening {
    /// A point of the plant gets a value.
    Set {
        /// The point that gets the value.
        point: PointName,
        /// The value, in the point's unit.
        value: f64,
    },
    /// Something happens to the network.
    Network(plan::EventKind),
}

/// A bound on something measured.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// A sentence for the verdict table.
    pub name: String,
    /// What is compared with the limits.
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
    #[serde(default, with = "span_ns::or_none")]
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
        /// The part of the run that counts.
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
        /// The part of the run that counts.
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
    /// The word for it in scenarios.
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
    /// Start in scenario time; that of the run if absent.
    pub from: Option<VirtualSpan>,
    /// End in scenario time, not included; that of the run if absent.
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
