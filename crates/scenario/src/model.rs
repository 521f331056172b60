//! A scenario after it was read and checked: what the runner, the plant, the network and the
//! verdicts work from. Nothing here is a text to be parsed again, and every cross reference
//! holds; the reader (`read`) is the only place that makes these.
//!
//! Scenario time is zero when the event clock starts, after `settle`; all times here count from
//! there unless they say otherwise.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use remote::Target;
use serde::{Deserialize, Serialize};
use signal_bus::Wiring;
use vtime::{HostSpan, Tdf, VirtualSpan};

use super::told::{self, Statistic};
pub use ::hosts::Sync;
use ::network::placement::Placement;
use ::network::plan::{self, Plan as Network};
use ::plant::name::PointName;
use domain::{Freeze, KernelTimers, Pace, span_ns};
use settings::problems::Spot;

/// One scenario, in one variant.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    pub description: String,
    /// The variant chosen, if the scenario has variants.
    pub variant: Option<String>,
    /// Folder of the file; relative paths count from here.
    pub directory: PathBuf,
    pub file: PathBuf,
    /// Virtual length of the run, from scenario time zero.
    pub duration: VirtualSpan,
    /// Virtual time before zero, in which programs start and the plant rests at its first values.
    pub settle: VirtualSpan,
    pub seed: u64,
    /// Time dilation factor: host seconds per virtual second.
    pub tdf: Tdf,
    /// Whether time in which no program can run is jumped over.
    pub pace: Pace,
    /// What happens while a kernel may be about to send something.
    pub kernel_timers: KernelTimers,
    /// Which nodes may run at the same instant, with [`Pace::Events`].
    pub order: Order,
    /// When programs are frozen while the clock is stopped.
    pub freeze: Freeze,
    /// How long a processor of the host may be silent before the clock is stopped; for ever if
    /// `None`.
    pub stall_guard: Option<HostSpan>,
    /// What `CLOCK_REALTIME` shows at scenario time zero, ns since 1970; the host's if `None`.
    pub realtime_ns: Option<i64>,
    pub plant: Option<::plant::plan::Plan>,
    pub nodes: Vec<Node>,
    pub network: Network,
    /// The hosts that nodes are on, if they are named; otherwise all are on this machine.
    pub hosts: Option<Hosts>,
    pub captures: bool,
    /// Those of the variant and of all, sorted by time.
    pub events: Vec<Event>,
    pub requirements: Vec<Requirement>,
    /// Where that stands which only the engine of the plant can check.
    pub unchecked: Unchecked,
}

impl Scenario {
    /// The number of the host that a node is on; 0 where no hosts are named.
    #[must_use]
    pub fn host_of(&self, node: usize) -> usize {
        self.hosts.as_ref().map_or(0, |hosts| hosts.of_nodes[node])
    }

    /// The nodes that are on a host.
    pub fn nodes_on(&self, host: usize) -> impl Iterator<Item = &Node> {
        let all = self.nodes.iter().enumerate();
        all.filter(move |(node, _)| self.host_of(*node) == host).map(|(_, node)| node)
    }

    /// Whether a host is this machine.
    #[must_use]
    pub fn is_here(&self, host: usize) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.all[host].ssh.is_none())
    }
}

/// What only the engine of the plant can say whether it is right, and where it stands.
#[derive(Clone, Debug)]
pub struct Unchecked {
    /// The scenario as the user named it.
    pub file: PathBuf,
    pub circuit: Option<Spot>,
    pub points: Vec<Mention>,
}

/// A point that the scenario names.
#[derive(Clone, Debug)]
pub struct Mention {
    pub point: PointName,
    pub spot: Spot,
    /// Whether something sets it.
    pub written: bool,
    /// The value that it is set to, and where that stands.
    pub value: Option<(f64, Spot)>,
}

/// Which nodes may run at the same instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All whose time has come.
    #[default]
    Together,
    /// Each has instants of its own, nanoseconds later than those before it in the scenario.
    OneNodeAtATime,
}

/// The machines that nodes run on.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Those that ssh reaches come first.
    pub all: Vec<Host>,
    /// By node, in the order of the scenario, the number of its host.
    pub of_nodes: Vec<usize>,
    /// Where each part of the network is.
    pub placement: Placement,
    /// How their clocks are kept one.
    pub sync: Sync,
}

impl Hosts {
    /// The host of a node or an attacker; `None` if it is on no network.
    #[must_use]
    pub fn of_station(&self, network: &Network, name: &str) -> Option<usize> {
        let number = network.stations.iter().position(|station| station.name == name)?;
        Some(self.placement.host_of(plan::Place::Station(number)))
    }
}

/// A machine that nodes run on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    pub name: String,
    /// How it is reached; `None` for this machine.
    pub ssh: Option<Target>,
    /// Where other hosts reach it, if that is not where ssh does.
    pub address: Option<IpAddr>,
    /// What stands for the folder of the scenario there.
    pub directory: PathBuf,
    /// Its place on a signal bus.
    pub bus: Option<Wiring>,
    pub on_loss: OnLoss,
}

/// What it means for the run that a host dies or is not heard any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLoss {
    /// The run ends, with the reason.
    #[default]
    End,
    /// The others go on without it; the report says so.
    GoOn,
}

/// A place where programs run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    pub name: String,
    /// Address and prefix length of its interface `eth0`, if it is linked.
    pub address: Option<(Ipv4Addr, u8)>,
    pub files: Vec<PointFile>,
    pub compute: Compute,
    /// Programs, in the order in which they start.
    pub programs: Vec<Program>,
}

/// What computing takes on a node, with [`Pace::Events`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compute {
    /// Virtual time that it computes whenever it wakes.
    #[serde(with = "span_ns")]
    pub per_wakeup: VirtualSpan,
    /// Virtual time for each second of processor time, in millionths; 0 for none.
    pub per_processor_time_millionths: u32,
}

/// A point served as a file below `/plant`: `/plant/<point>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointFile {
    pub point: PointName,
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
    /// Program and arguments. The program is absolute and was there when the scenario was read; on a host that
    /// ssh reaches it is as it was written.
    pub command: Vec<String>,
    /// Variables set in addition to a minimal environment.
    pub environment: BTreeMap<String, String>,
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
    pub what: Happening,
}

/// What an event does.
#[derive(Clone, PartialEq, Debug)]
pub enum Happening {
    Set {
        point: PointName,
        /// In the point's unit.
        value: f64,
    },
    Network(plan::EventKind),
}

/// A bound on something measured. `run.json` keeps it, so that a run can be judged again from its
/// folder alone: after a kill, or by someone who has the results and not the scenario.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Requirement {
    pub name: String,
    pub measure: Measure,
    /// Smallest value that meets it, in the unit of the measure.
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    #[serde(default)]
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

/// What a requirement measures, and in which window.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measure {
    #[serde(flatten)]
    pub kind: MeasureKind,
    pub window: Window,
}

/// What is measured in a window.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MeasureKind {
    /// The smallest value of a point, in its unit.
    Minimum { point: PointName },
    /// The largest value of a point.
    Maximum { point: PointName },
    /// The first time (s) at which a point lies below a value.
    FirstBelow { point: PointName, value: f64 },
    /// The last time (s) at which a point lies below a value.
    LastBelow { point: PointName, value: f64 },
    /// How many recorded rows differ from the row before (count).
    Changes { point: PointName },
    /// Frames with TCP or UDP payload from one node (by its MAC and address) that reached another
    /// (count).
    Received { from: String, to: String },
    /// The longest time (ms) between two frames with payload that one node sends to a TCP or UDP
    /// port of another.
    LongestGap {
        from: String,
        to: String,
        port: u16,
        /// Absent in records of versions that looked at the sender only.
        #[serde(default)]
        at: End,
    },
    /// A statistic of the numbers that a program reports, in ms where they are times.
    Told {
        /// Member of the JSON objects that it prints.
        member: String,
        program: String,
        statistic: Statistic,
        /// Only values above this count.
        above: Option<f64>,
    },
}

/// An end of a flow: what was sent need not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    #[default]
    Sender,
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

/// A window `[from, to)` of scenario time, open where `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    #[serde(default, rename = "from_ns", with = "span_ns::or_none")]
    pub from: Option<VirtualSpan>,
    #[serde(default, rename = "to_ns", with = "span_ns::or_none")]
    pub to: Option<VirtualSpan>,
}

/// A window with both ends, in scenario time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub from_ns: i64,
    /// The first moment that is not in it any more.
    pub to_ns: i64,
}

impl Bounds {
    /// An open begin is scenario time zero, an open end the planned end of the run.
    pub fn of(window: Window, planned_to: VirtualSpan) -> Self {
        Self {
            from_ns: window.from.unwrap_or(VirtualSpan::ZERO).as_ns(),
            to_ns: window.to.unwrap_or(planned_to).as_ns(),
        }
    }

    /// Whether a moment lies in it.
    pub fn holds(self, time_ns: i64) -> bool {
        (self.from_ns..self.to_ns).contains(&time_ns)
    }
}

impl Measure {
    /// The unit of what is measured, as written in reports.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match &self.kind {
            MeasureKind::Minimum { point } | MeasureKind::Maximum { point } => point.unit(),
            MeasureKind::FirstBelow { .. } | MeasureKind::LastBelow { .. } => "s",
            MeasureKind::Changes { .. } | MeasureKind::Received { .. } => "",
            MeasureKind::LongestGap { .. } => "ms",
            MeasureKind::Told { statistic: Statistic::Count, .. } => "",
            MeasureKind::Told { member, .. } => told::unit(member),
        }
    }

    /// The point that is measured, if it is one.
    pub fn point(&self) -> Option<&PointName> {
        match &self.kind {
            MeasureKind::Minimum { point }
            | MeasureKind::Maximum { point }
            | MeasureKind::FirstBelow { point, .. }
            | MeasureKind::LastBelow { point, .. }
            | MeasureKind::Changes { point } => Some(point),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_an_old_record_was_measured_at_the_sender() {
        let old = r#"{"kind": "longest-gap", "from": "a", "to": "b", "port": 1,
            "window": {"from_ns": null, "to_ns": null}}"#;
        let read: Measure = serde_json::from_str(old).unwrap();
        assert!(matches!(read.kind, MeasureKind::LongestGap { at: End::Sender, .. }), "{read:?}");
    }

    #[test]
    fn every_measure_survives_the_way_through_json() {
        let point = || PointName("bus.680.v1".into());
        let (from, to) = (String::from("controller"), String::from("sensor"));
        let kinds = [
            MeasureKind::Minimum { point: point() },
            MeasureKind::Maximum { point: point() },
            MeasureKind::FirstBelow { point: point(), value: 2325.0 },
            MeasureKind::LastBelow { point: point(), value: 2325.0 },
            MeasureKind::Changes { point: point() },
            MeasureKind::Received { from: from.clone(), to: to.clone() },
            MeasureKind::LongestGap { from, to, port: 502, at: End::Receiver },
            MeasureKind::Told {
                member: "latency_us".into(),
                program: "drive".into(),
                statistic: Statistic::Percentile(0.999),
                above: Some(4.167),
            },
        ];
        let windows =
            [Window::default(), Window { from: Some(VirtualSpan::from_ms(22_500)), to: None }];
        for (kind, window) in kinds.iter().flat_map(|kind| windows.map(|window| (kind, window))) {
            let above = Some(VirtualSpan::from_ms(5));
            let requirement = Requirement {
                name: "r".into(),
                measure: Measure { kind: kind.clone(), window },
                at_least: Some(1.0),
                at_most: None,
                disturbed: Disturbed { above, nodes: Some(vec!["sensor".into()]) },
            };
            let text = serde_json::to_string(&requirement).unwrap();
            assert_eq!(serde_json::from_str::<Requirement>(&text).unwrap(), requirement, "{text}");
        }
        let kind = MeasureKind::FirstBelow { point: point(), value: 2325.0 };
        assert_eq!(
            serde_json::to_string(&Measure { kind, window: windows[1] }).unwrap(),
            r#"{"kind":"first-below","point":"bus.680.v1","value":2325.0,"window":{"from_ns":22500000000,"to_ns":null}}"#
        );
    }
}
